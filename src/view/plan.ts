import { type Field, placeFields } from './fields.ts';

export const CHART_KINDS = ['line', 'bars', 'histogram', 'scatter', 'map'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];
export const AGGREGATES = ['each row', 'count', 'sum', 'average', 'least', 'greatest'] as const;
export type Aggregate = (typeof AGGREGATES)[number];

/** What to draw, and how. */
export interface Plan {
  kind: ChartKind;
  /** Undefined on a map, whose positions follow from the fields. */
  x: Field | undefined;
  /** Undefined: rows are counted; on a map, all marks have the same size. */
  y: Field | undefined;
  aggregate: Aggregate;
}

/** More distinct values than this, each occurring about once, are names of rows rather than categories. */
const NAMES_MAX = 40;
const ID_NAME = /(^|[._])(id|uuid|code|ids|net|sources)$|Id$/;
const YEAR_NAME = /(^|[._ ])(year|yr)$/i;

const isNumber = ({ kind }: Field) => kind === 'number';
const isMeasure = (field: Field) => isNumber(field) && !ID_NAME.test(field.label) && !YEAR_NAME.test(field.label);
const isTimeLike = (field: Field) => field.kind === 'time' || (isNumber(field) && YEAR_NAME.test(field.label));

/** The fields that are possible as x of a kind of chart. */
export function xFields(kind: ChartKind, fields: readonly Field[]): Field[] {
  if (kind === 'map') return [];
  if (kind === 'bars') return fields.filter((field) => field.kind !== 'point');
  if (kind === 'histogram') return fields.filter(isNumber);
  return fields.filter((field) => isNumber(field) || field.kind === 'time');
}

/** The fields that are possible as y of a kind of chart. */
export function yFields(kind: ChartKind, fields: readonly Field[]): Field[] {
  return kind === 'histogram' ? [] : fields.filter(isNumber);
}

export function aggregatesFor(plan: Plan): readonly Aggregate[] {
  if (plan.kind !== 'line' && plan.kind !== 'bars') return [];
  if (plan.y === undefined) return ['count'];
  return plan.kind === 'line' ? AGGREGATES.filter((one) => one !== 'count') : ['sum', 'average', 'least', 'greatest'];
}

/** The kinds of chart that are possible with these fields. */
export function kindsFor(fields: readonly Field[]): ChartKind[] {
  return CHART_KINDS.filter((kind) => {
    if (kind === 'map') return placeFields(fields) !== undefined;
    if (kind === 'scatter') return xFields(kind, fields).length > 1;
    return xFields(kind, fields).length > 0;
  });
}

/** The most useful plan of a kind; undefined if there is nothing to draw in this way. */
export function planOf(kind: ChartKind, fields: readonly Field[], rowCount: number): Plan | undefined {
  if (!kindsFor(fields).includes(kind)) return undefined;
  const measures = fields.filter(isMeasure);
  if (kind === 'map')
    return { kind, x: undefined, y: measures.find((field) => !isOfPlace(field)), aggregate: 'each row' };
  const xs = xFields(kind, fields);
  if (kind === 'histogram') return { kind, x: measures[0] ?? xs[0], y: undefined, aggregate: 'count' };
  if (kind === 'scatter') {
    const [x = xs[0], y = yFields(kind, fields).find((field) => field !== x)] = measures;
    return x === undefined || y === undefined ? undefined : { kind, x, y, aggregate: 'each row' };
  }
  if (kind === 'line') {
    const x = xs.find(isTimeLike) ?? xs[0];
    const y = measures.find((field) => field !== x);
    const isOnce = x !== undefined && x.distinct >= rowCount * 0.95;
    return { kind, x, y, aggregate: y === undefined ? 'count' : isOnce ? 'each row' : 'average' };
  }
  const x = categoryOf(fields, rowCount) ?? xs.find(({ kind: of }) => of === 'text') ?? xs[0];
  const isOnce = x !== undefined && x.distinct >= rowCount;
  const y = isOnce ? measures.find((field) => field !== x) : undefined;
  return { kind, x, y, aggregate: y === undefined ? 'count' : 'sum' };
}

function isOfPlace({ label }: Field): boolean {
  return /(^|\.)(lat|lon|lng|long|latitude|longitude)$/i.test(label);
}

/** The field whose values best divide the rows into a few groups. */
function categoryOf(fields: readonly Field[], rowCount: number): Field | undefined {
  const texts = fields.filter(({ kind, distinct }) => kind === 'text' && (distinct > 1 || rowCount === 1));
  const grouping = texts.find(
    ({ label, distinct }) => distinct <= rowCount / 2 && distinct <= NAMES_MAX && !ID_NAME.test(label),
  );
  return grouping ?? texts.find(({ distinct }) => distinct === rowCount && rowCount <= NAMES_MAX);
}

/** What is drawn at first; undefined if no chart would tell more than the table. */
export function defaultPlan(fields: readonly Field[], rowCount: number): Plan | undefined {
  if (rowCount < 2) return undefined;
  const measures = fields.filter(isMeasure);
  if (placeFields(fields) !== undefined) return planOf('map', fields, rowCount);
  if (fields.some((field) => isTimeLike(field) && field.distinct > 1)) return planOf('line', fields, rowCount);
  if (categoryOf(fields, rowCount) !== undefined) return planOf('bars', fields, rowCount);
  if (measures.length >= 2) return planOf('scatter', fields, rowCount);
  if (measures.length === 1) return planOf('histogram', fields, rowCount);
  return undefined;
}
