import { type Field, numberAt, placeFields, pointAt, valueAt } from './fields.ts';
import type { Aggregate, Plan } from './plan.ts';
import { bucketMs, niceStep, timeLabel } from './scale.ts';
import { plainText } from './values.ts';

type Rows = readonly (readonly unknown[])[];

export interface Mark {
  x: number;
  y: number;
  /** The value that a map shows by the size of the mark. */
  size?: number | undefined;
}

export interface Bar {
  label: string;
  value: number;
  rows: number;
}

/** Numbers ready to be drawn. */
export type Series = (
  | { shape: 'line'; marks: readonly Mark[]; isTime: boolean; bucket: string | undefined }
  | { shape: 'bars'; bars: readonly Bar[]; others: number }
  | { shape: 'histogram'; bins: readonly { from: number; to: number; rows: number }[] }
  | { shape: 'scatter'; marks: readonly Mark[]; isTime: boolean }
  | { shape: 'map'; marks: readonly Mark[] }
) & {
  /** Number of rows without a value to draw. */
  skipped: number;
};

const BARS_MAX = 20;
const BINS = 24;
const BUCKETS = 60;
const DAY_MS = 86_400_000;

/** The series that a plan makes of the rows. */
export function seriesOf(plan: Plan, fields: readonly Field[], rows: Rows): Series {
  const { kind, x, y } = plan;
  if (kind === 'map') return mapOf(fields, y, rows);
  if (x === undefined) return { shape: 'bars', bars: [], others: 0, skipped: rows.length };
  if (kind === 'bars') return barsOf(x, plan, rows);
  if (kind === 'histogram') return histogramOf(x, rows);
  const isTime = x.kind === 'time';
  if (kind === 'scatter') return { shape: 'scatter', isTime, ...marksOf(x, y, rows) };
  return lineOf(x, plan, rows);
}

function marksOf(x: Field, y: Field | undefined, rows: Rows): { marks: Mark[]; skipped: number } {
  const marks = rows.flatMap((row) => {
    const [across, up] = [numberAt(x, row), y === undefined ? 1 : numberAt(y, row)];
    return across === undefined || up === undefined ? [] : [{ x: across, y: up }];
  });
  return { marks, skipped: rows.length - marks.length };
}

function lineOf(x: Field, { y, aggregate }: Plan, rows: Rows): Series {
  const { marks, skipped } = marksOf(x, y, rows);
  marks.sort((a, b) => a.x - b.x);
  const isTime = x.kind === 'time';
  if (aggregate === 'each row') return { shape: 'line', marks, isTime, bucket: undefined, skipped };
  const [first, last] = [marks[0]?.x ?? 0, marks.at(-1)?.x ?? 0];
  const isFew = new Set(marks.map((mark) => mark.x)).size <= BUCKETS;
  const width = isFew ? 0 : isTime ? bucketMs(first, last, BUCKETS) : niceStep((last - first) / BUCKETS);
  const groups = new Map<number, number[]>();
  for (const mark of marks) {
    const at = width === 0 ? mark.x : Math.floor(mark.x / width) * width;
    push(groups, at, mark.y);
  }
  const gathered = [...groups].map(([at, values]) => ({ x: at, y: aggregated(values, aggregate) }));
  return {
    shape: 'line',
    marks: gathered,
    isTime,
    bucket: width === 0 ? undefined : bucketLabel(width, isTime),
    skipped,
  };
}

function bucketLabel(width: number, isTime: boolean): string {
  if (!isTime) return `${width}`;
  const units: [number, string][] = [
    [DAY_MS, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1_000, 'second'],
  ];
  const [unitMs, name] = units.find(([ms]) => width >= ms) ?? [1, 'millisecond'];
  const count = Math.round(width / unitMs);
  return count === 1 ? name : `${count} ${name}s`;
}

function push<K>(groups: Map<K, number[]>, key: K, value: number): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [value]);
  else group.push(value);
}

function aggregated(values: readonly number[], aggregate: Aggregate): number {
  if (aggregate === 'count') return values.length;
  const sum = values.reduce((total, value) => total + value, 0);
  if (aggregate === 'average') return sum / values.length;
  if (aggregate === 'least') return values.reduce((least, value) => Math.min(least, value), Infinity);
  if (aggregate === 'greatest') return values.reduce((most, value) => Math.max(most, value), -Infinity);
  return sum;
}

/** Bars in the order of the rows if each category occurs once, otherwise the largest first. */
function barsOf(x: Field, { y, aggregate }: Plan, rows: Rows): Series {
  const groups = new Map<string, number[]>();
  let skipped = 0;
  for (const row of rows) {
    const value = y === undefined ? 1 : numberAt(y, row);
    if (value === undefined) skipped++;
    else push(groups, labelOf(x, row), value);
  }
  const isOnce = groups.size === rows.length - skipped && y !== undefined;
  const bars = [...groups].map(([label, values]) => ({
    label,
    value: aggregated(values, aggregate),
    rows: values.length,
  }));
  if (!isOnce) bars.sort((a, b) => b.value - a.value);
  const shown = bars.length <= BARS_MAX ? bars : bars.slice(0, BARS_MAX);
  return { shape: 'bars', bars: shown, others: bars.length - shown.length, skipped };
}

function labelOf(x: Field, row: readonly unknown[]): string {
  const value = valueAt(x, row);
  if (value === null || value === undefined) return 'NULL';
  if (value === '') return '(empty text)';
  if (x.unitMs === undefined) return plainText(value);
  const time = numberAt(x, row);
  return time === undefined ? plainText(value) : timeLabel(time, 5 * DAY_MS);
}

function histogramOf(x: Field, rows: Rows): Series {
  const values = rows.flatMap((row) => numberAt(x, row) ?? []);
  const skipped = rows.length - values.length;
  if (values.length === 0) return { shape: 'histogram', bins: [], skipped };
  const [min, max] = boundsOf(values);
  const isWhole = values.every(Number.isInteger);
  const wanted = niceStep((max - min) / BINS);
  const width = isWhole ? Math.max(1, Math.ceil(wanted)) : wanted;
  const start = Math.floor(min / width);
  const counts = new Array<number>(Math.floor(max / width) - start + 1).fill(0);
  for (const value of values) {
    const at = Math.min(counts.length - 1, Math.max(0, Math.floor(value / width) - start));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const bins = counts.map((count, index) => {
    const [from, to] = [start + index, start + index + 1].map((edge) => Number((edge * width).toPrecision(12)));
    return { from: from ?? 0, to: to ?? 0, rows: count };
  });
  return { shape: 'histogram', bins, skipped };
}

function mapOf(fields: readonly Field[], y: Field | undefined, rows: Rows): Series {
  const place = placeFields(fields);
  if (place === undefined) return { shape: 'map', marks: [], skipped: rows.length };
  const marks = rows.flatMap((row) => {
    const point = pointAt(place, row);
    const size = y === undefined ? undefined : numberAt(y, row);
    return point === undefined ? [] : [{ x: point.longitude, y: point.latitude, size }];
  });
  return { shape: 'map', marks, skipped: rows.length - marks.length };
}

/** Minimum and maximum; 0 and 0 for an empty list. */
export function boundsOf(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 0];
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return [min, max];
}
