import { quoteText } from '../sql/names.ts';
import { isTimeShape, type TimeShape, timeShapeOf, timeType } from '../values/time-text.ts';
import { type CellKind, cellSql, isOfKind } from './csv-cells.ts';

/*
 * Columns of CSV of which nearly all cells are of one kind. Times may be spelled in any way of ISO 8601; beside numbers and
 * times there may be words, such as those for a missing value. A column has the type of the many then, as it has of documents,
 * and each other cell is beside it as it is. What has digits and is no number is never such a word: of `007`, `1.2.3` and
 * `12 %` beside numbers nobody knows what the column is, and it stays text.
 */

/** What a column of several kinds is: its values are of this kind, but for some words. */
export interface Mixed {
  kind: CellKind;
  /** How many cells are words, and the first of them. */
  others: number;
  line: number;
  cell: string;
}

/** Words for a value that is missing, in small letters: any number of them is less than the values. */
const MISSING = ['', '-', '--', '.', '?', '#n/a', 'n/a', 'na', 'nan', 'nil', 'none', 'null', 'missing', 'unknown'];
/** As much of a column may be other words. */
const FEW = 1 / 20;

const NUMBERS: readonly CellKind[] = ['integer', 'huge', 'double'];

const CLOCK = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?';
/** Up to 17:59, so that no more has to be looked at. */
const ZONE = '(Z|[+-](0[0-9]|1[0-7])(:?[0-5][0-9])?)';
const DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** Narrower ones first: a date is the first moment of its day, too. */
const TIMES = {
  DATE,
  TIMESTAMP: `${DATE}([T ]${CLOCK})?`,
  'TIMESTAMP WITH TIME ZONE': `${DATE}[T ]${CLOCK}${ZONE}`,
} as const;

/** SQL condition for a cell that is a time of a type, however it is spelled. */
function isAnyTime(cell: string, type: keyof typeof TIMES): string {
  const day = `left(${cell}, 10)`;
  const isDay = `TRY_CAST(${day} AS DATE) IS NOT NULL AND NOT starts_with(${cell}, '0000')`;
  // In UTC, the first and the last day may be of another year.
  const isInside = type === 'TIMESTAMP WITH TIME ZONE' ? ` AND ${day} NOT IN ('0001-01-01', '9999-12-31')` : '';
  return `(regexp_full_match(${cell}, ${quoteText(TIMES[type])}) AND ${isDay}${isInside})`;
}

/** SQL condition for a cell that a column of a kind has a value of. */
function isMixedKind(cell: string, kind: CellKind): string {
  return isTimeShape(kind) ? isAnyTime(cell, timeType(kind)) : isOfKind(cell, kind);
}

/** SQL for what a column of a kind has of a cell: NULL of a word. */
export function mixedSql(cell: string, kind: CellKind): string {
  // The engine reads zones with a colon alone.
  const text = isTimeShape(kind) ? `regexp_replace(${cell}, '([+-][0-9]{2})([0-9]{2})$', '\\1:\\2')` : cell;
  return `CASE WHEN ${isMixedKind(cell, kind)} THEN ${cellSql(text, kind)} END`;
}

/** SQL for the text of a cell that a column of a kind does not give back; NULL of others. */
export function strayOf(cell: string, kind: CellKind): string {
  return `CASE WHEN NOT coalesce(${isOfKind(cell, kind)}, true) THEN ${cell} END`;
}

/** Whether a column of another kind takes the cells of one of this kind. */
export function isAlike(kind: CellKind, held: TimeShape): boolean {
  return isTimeShape(kind) && timeType(kind) === timeType(held);
}

/** Whether most of some cells are numbers, or times; undefined: neither. */
export function mostOf(cells: readonly unknown[], times: boolean): 'number' | 'time' | undefined {
  const texts = cells.filter((cell) => typeof cell === 'string');
  const isMost = (is: (text: string) => boolean) => texts.length > 0 && 2 * texts.filter(is).length > texts.length;
  if (isMost((text) => /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text))) return 'number';
  return times && isMost((text) => timeShapeOf(text) !== undefined) ? 'time' : undefined;
}

/** What is looked at to tell what the cells of a column are. */
interface Look {
  /** SQL of figures. */
  figures: string[];
  mixed(values: readonly unknown[]): Mixed | undefined;
}

/** How to look at all cells of a column of which most are numbers, or times. */
export function mixedLook(cell: string, most: 'number' | 'time'): Look {
  const types = Object.keys(TIMES) as (keyof typeof TIMES)[];
  const conditions =
    most === 'number' ? NUMBERS.map((kind) => isOfKind(cell, kind)) : types.map((type) => isAnyTime(cell, type));
  const any = `(${conditions.map((one) => `coalesce(${one}, false)`).join(' OR ')})`;
  const isWord = `(${cell} IS NOT NULL AND NOT regexp_matches(${cell}, '[0-9]'))`;
  const isMissing = `lower(trim(${cell})) IN (${MISSING.map(quoteText).join(', ')})`;
  const figures = [
    `count(${cell})`,
    `count(*) FILTER (${isWord})`,
    `count(*) FILTER (${isWord} AND NOT ${isMissing})`,
    `min(l) FILTER (${isWord})`,
    `arg_min(${cell}, l) FILTER (${isWord})`,
    `arg_min(${cell}, l) FILTER (${any})`,
    ...conditions.map((one) => `count(*) FILTER (${one})`),
  ];
  return {
    figures,
    mixed([all, words, unusual, line, word, first, ...counts]) {
      const values = Number(all) - Number(words);
      if (Number(words) >= values || Number(unusual) > Number(all) * FEW) return undefined;
      const at = counts.findIndex((count) => Number(count) === values);
      const own = most === 'number' ? NUMBERS[at] : shapeLike(String(first), types[at]);
      return own && { kind: own, others: Number(words), line: Number(line), cell: String(word) };
    },
  };
}

/** The shape of a column of times of a type, of which the first is spelled so. */
function shapeLike(text: string, type: keyof typeof TIMES | undefined): TimeShape | undefined {
  const shape = timeShapeOf(text);
  if (shape === undefined || type === undefined) return undefined;
  // The first one is a date.
  return type === 'TIMESTAMP' && timeType(shape) === 'DATE' ? `${shape}T00:00:00` : shape;
}

/** What a column of a kind is called. */
export function kindName(kind: CellKind): string {
  if (isTimeShape(kind)) return timeType(kind);
  return { integer: 'BIGINT', huge: 'HUGEINT', double: 'DOUBLE', boolean: 'BOOLEAN' }[kind];
}
