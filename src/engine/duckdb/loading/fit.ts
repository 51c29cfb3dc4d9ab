import { placeOf, STRAYS_COLUMN } from '../../../contract/strays.ts';
import { EXTRA_COLUMN, quoteText } from '../sql/names.ts';
import { convert, toJson } from '../tables/alter.ts';
import { type TableShape, widenTable } from '../tables/columns.ts';
import { isShortDecimal, isTypedShape } from '../values/declared.ts';
import { INTEGERS, isListShape, isMapShape, isObjectShape, joinShapes, type Shape } from '../values/shape.ts';
import { isTimeShape, spelledSql, templateOf, timeType } from '../values/time-text.ts';
import { typeOf } from '../values/types.ts';
import { type CellKind, cellSql, isOfKind, isSafe } from './csv-cells.ts';
import { BESIDE_MAX, isAlike, strayOf } from './csv-mixed.ts';
import { noneOf, type RowColumn, type RowKey } from './relation.ts';

/** How rows go into a table. */
export interface RowsPlan {
  shape: TableShape;
  /** Its columns and what they hold of a row, as SQL. */
  targets: readonly (readonly [column: string, sql: string])[];
  /** SQL condition for the rows of which every value fits; undefined: all do. The others have to become documents. */
  fits: string | undefined;
  /** Columns of which some cells, words, are beside them. */
  strayed: readonly RowColumn[];
}

/** What a column holds of the values of rows. */
interface Fit {
  shape: Shape;
  value: string;
  /** SQL condition for the rows whose value fits; undefined: all do. */
  fits?: string;
  /** SQL for the text that is beside the column as its value does not give it back, given SQL for a cell; undefined: there is none. */
  stray?(cell: string): string;
}

/** How rows go into a table of this shape, so that the table is as with documents of the same rows. */
export function planRows(before: TableShape, columns: readonly RowColumn[], key: RowKey): RowsPlan {
  const widening = widenTable(before);
  // One by one: an object has keys that are whole numbers before all others.
  const extra = new Set(columns.flatMap(({ name }) => widening.add({ [name]: null }).extraKeys));
  const placed = widening.result();
  const shapes = new Map(placed.columns);
  const targets: [string, string][] = [];
  const conditions: string[] = [];
  const extras: RowColumn[] = [];
  const strays = new Map<string, Member>();
  const strayed: RowColumn[] = [];
  for (const column of columns) {
    if (extra.has(column.name)) extras.push(column);
    const held = shapes.get(column.name);
    if (extra.has(column.name) || held === undefined) continue;
    const fit = fitColumn(column, held);
    shapes.set(column.name, fit.shape);
    targets.push([column.name, fit.value]);
    if (fit.fits !== undefined) conditions.push(`NOT coalesce(${fit.fits}, false)`);
    if (fit.stray === undefined) continue;
    strays.set(column.name, { key: placeOf([column.name]), cell: column.cell?.sql, json: jsonTextOf(fit.stray) });
    if ((column.cell?.mixed?.others ?? 0) > 0) strayed.push(column);
  }
  if (strays.size > 0) targets.push([STRAYS_COLUMN, objectSql([...strays.values()])]);
  if (extras.length > 0) targets.push([EXTRA_COLUMN, extraSql(extras)]);
  for (const { isUntyped, sql } of extras) if (isUntyped === true) conditions.push(`(${sql} IS NOT NULL)`);
  const isSame =
    placed === before &&
    targets.every(([name]) => shapes.get(name) === before.columns.get(name)) &&
    [...strays.keys()].every((name) => before.strays.has(name));
  const withStrays = new Set([...placed.strays, ...strays.keys()]);
  return {
    shape: isSame ? before : { ...placed, columns: shapes, strays: withStrays },
    strayed,
    targets,
    fits: noneOf([key.isUnsure, ...conditions]),
  };
}

/** A member of a JSON object. */
interface Member {
  key: string;
  /** The cell that it is made of. */
  cell: string | undefined;
  /** SQL for its JSON text, given SQL for a cell; without a value NULL. */
  json(cell: string): string;
}

/** Keys without a value are missing ones. */
function extraSql(columns: readonly RowColumn[]): string {
  return objectSql(columns.map((column) => ({ key: column.name, cell: column.cell?.sql, json: jsonOf(column) })));
}

/**
 * SQL for a JSON object; without any value NULL. As text, since planning as many arguments of `json_object` takes much longer,
 * and that of many cells in a list, in which those of one kind are planned once.
 */
function objectSql(members: readonly Member[]): string {
  const cells = members.flatMap(({ cell }) => cell ?? []);
  const begun = members.map(({ key }) => quoteText(`${JSON.stringify(key)}:`));
  const isList = members.length > BESIDE_MAX && cells.length === members.length;
  const texts = isList
    ? `array_to_string(${listSql(members, begun, cells)}, ',')`
    : `concat_ws(',', ${members.map(({ cell = '', json }, at) => `${begun[at]} || ${json(cell)}`).join(', ')})`;
  return `CAST('{' || nullif(${texts}, '') || '}' AS JSON)`;
}

function listSql(members: readonly Member[], begun: readonly string[], cells: readonly string[]): string {
  const forms = members.map(({ json }) => json('e[2]'));
  const kinds = [...new Set(forms)];
  const of = new Map(kinds.map((form, at) => [form, at]));
  const lists = [begun, cells, forms.map((form) => of.get(form) ?? 0)].map((list) => `[${list.join(', ')}]`);
  const json = kinds.map((form, at) => `WHEN ${at} THEN ${form}`).join(' ');
  return `list_transform(list_zip(${lists.join(', ')}), lambda e: e[1] || CASE e[3] ${json} END)`;
}

/** SQL for the value of a column as JSON text. */
function jsonOf({ shape, sql, cell }: RowColumn): Member['json'] {
  const value = (one: string) => `CAST(${toJson(shape, one)} AS VARCHAR)`;
  if (cell === undefined) return () => value(sql);
  const { mixed, valueFor } = cell;
  if (mixed === undefined) return (text) => value(valueFor(text));
  const asText = jsonTextOf((text) => text);
  return isTimeShape(shape) ? asText : (text) => `coalesce(${value(valueFor(text))}, ${asText(text)})`;
}

function jsonTextOf(text: (cell: string) => string): Member['json'] {
  return (cell) => `CAST(to_json(${text(cell)}) AS VARCHAR)`;
}

/** The same plan where a column has become another one that holds all of its values: a map. */
export function withColumns(plan: RowsPlan, columns: readonly RowColumn[], shape: TableShape): RowsPlan {
  const targets = plan.targets.map(([name, sql]): [string, string] => {
    const [before, after] = [plan.shape.columns.get(name), shape.columns.get(name)];
    const column = columns.find((one) => one.name === name);
    if (column === undefined || before === undefined || after === undefined || before === after) return [name, sql];
    return [name, convert(before, after, sql)];
  });
  return { ...plan, shape, targets };
}

function fitColumn(column: RowColumn, held: Shape): Fit {
  const { shape, sql, cell } = column;
  if (cell?.mixed !== undefined) return fitMixed(column, cell, held);
  if (shape === 'null') return { shape: held, value: `CAST(NULL AS ${typeOf(held)})` };
  if (column.isUntyped === true) return asDocuments(held, sql);
  if (held === 'null') return { shape, value: sql };
  if (cell !== undefined && cell.given === undefined) {
    const fit = shape === 'int53' && held === 'double' ? undefined : fitCell(cell.sql, cell.kind, held);
    if (fit !== undefined) return fit;
  }
  return fitValue(column, held);
}

/** Rows with a value become documents. */
function asDocuments(held: Shape, sql: string): Fit {
  return { shape: held, value: `CAST(NULL AS ${typeOf(held)})`, fits: `(${sql}) IS NULL` };
}

/** A cell of CSV is what its collection's column has, if it can be; undefined: it is what all the cells are. */
function fitCell(cell: string, kind: CellKind | undefined, held: Shape): Fit | undefined {
  if (held === 'string') return { shape: held, value: cell };
  if (kind !== undefined && !isTimeShape(kind)) return undefined;
  const wanted = kindFor(held);
  if (wanted === undefined || kind === wanted) return undefined;
  // Longer integers would widen the column.
  const isShort = wanted === 'integer' ? ` AND length(${cell}) <= 15` : '';
  return {
    shape: held,
    value: cellSql(cell, wanted),
    fits: `(${cell} IS NULL OR (${isOfKind(cell, wanted)}${isShort}))`,
  };
}

/** What a column has of cells of several kinds, of which nearly all are what its values are. */
function fitMixed(column: RowColumn, { sql: cell, kind }: NonNullable<RowColumn['cell']>, held: Shape): Fit {
  const { shape, sql } = column;
  if (held === 'string') return { shape: held, value: cell };
  if (kind !== undefined && (held === 'null' || held === shape))
    return { shape, value: sql, stray: (one) => strayOf(one, kind) };
  if (kind !== undefined && isTimeShape(held) && isAlike(kind, held))
    return { shape: held, value: sql, stray: (one) => strayOf(one, held) };
  const areNumbers = [shape, held].every((one) => one === 'double' || INTEGERS.includes(one));
  if (kind !== undefined && areNumbers) return { ...fitValue(column, held), stray: (one) => strayOf(one, kind) };
  return asDocuments(held, cell);
}

function kindFor(held: Shape): CellKind | undefined {
  if (held === 'int53' || held === 'int64') return 'integer';
  if (held === 'hugeint') return 'huge';
  if (held === 'double' || held === 'boolean') return held;
  return isTimeShape(held) ? held : undefined;
}

function fitValue(column: RowColumn, held: Shape): Fit {
  const { shape, sql } = column;
  if (shape === held) return { shape, value: sql };
  if (held === 'json') return { shape: held, value: toJson(shape, sql) };
  const [rank, heldRank] = [INTEGERS.indexOf(shape), INTEGERS.indexOf(held)];
  if (rank >= 0 && heldRank >= 0) {
    const wider = rank > heldRank ? shape : held;
    return { shape: wider, value: `CAST(${sql} AS ${typeOf(wider)})` };
  }
  if (rank >= 0 && held === 'double') {
    const value = `CAST(${sql} AS DOUBLE)`;
    return rank === 0 ? { shape: held, value } : { shape: held, value, fits: `(${sql} IS NULL OR ${isSafe(sql)})` };
  }
  if (shape === 'double' && heldRank >= 0) return fitDouble(column, held);
  if (isShortDecimal(shape) && (held === 'double' || held === 'int53')) {
    return { shape: 'double', value: `CAST(${sql} AS DOUBLE)` };
  }
  if (isTypedShape(shape)) return fitTyped(column, held);
  if (isNested(shape) && isNested(held)) {
    const joined = isMapShape(shape) && !isMapShape(held) ? 'json' : joinShapes(held, shape);
    if (
      joined !== 'json' &&
      jsonPlaces(joined) <= Math.min(jsonPlaces(held), jsonPlaces(shape)) &&
      isExact(held, shape)
    ) {
      return { shape: joined, value: convert(shape, joined, sql) };
    }
  }
  return asDocuments(held, sql);
}

function fitDouble({ sql, isWhole }: RowColumn, held: Shape): Fit {
  const whole = `CAST(${sql} AS ${typeOf(held)})`;
  if (isWhole === true) return { shape: held, value: whole };
  if (held === 'int53') return { shape: 'double', value: sql };
  return {
    shape: held,
    value: `TRY_CAST(${sql} AS ${typeOf(held)})`,
    fits: `(${sql} IS NULL OR (${sql} = trunc(${sql}) AND ${isSafe(sql)}))`,
  };
}

/** Values that documents have as text: a column of times takes those that it can spell, as the file spells none. */
function fitTyped({ shape, sql, cell }: RowColumn, held: Shape): Fit {
  if (held === 'string' && isTimeShape(shape)) return { shape: held, value: spelledSql(sql, shape) };
  if (held === 'string' && shape === 'binary') return { shape: held, value: `base64(${sql})` };
  if (held === 'string' && (shape === 'uuid' || shape === 'clock')) {
    return { shape: held, value: `CAST(${sql} AS VARCHAR)` };
  }
  if (cell === undefined && isTimeShape(held) && isTimeShape(shape) && timeType(held) === timeType(shape)) {
    const digits = (/\.(0+)/.exec(templateOf(held))?.[1] ?? '').length;
    return { shape: held, value: sql, fits: `(${sql} IS NULL OR epoch_us(${sql}) % ${10 ** (6 - digits)} = 0)` };
  }
  return asDocuments(held, sql);
}

function isNested(shape: Shape): boolean {
  return isListShape(shape) || isObjectShape(shape) || isMapShape(shape);
}

function jsonPlaces(shape: Shape): number {
  if (shape === 'json') return 1;
  if (isListShape(shape)) return jsonPlaces(shape.element);
  if (isMapShape(shape)) return jsonPlaces(shape.values);
  if (!isObjectShape(shape)) return 0;
  return [...shape.fields.values()].reduce((sum, part) => sum + jsonPlaces(part), 0);
}

/** Whether values of both have no scalars, at the same place, of which one type would have to lose something. */
function isExact(held: Shape, shape: Shape): boolean {
  if (held === 'null' || shape === 'null' || held === shape) return true;
  if (isListShape(held) && isListShape(shape)) return isExact(held.element, shape.element);
  if (isMapShape(held) && isMapShape(shape)) return isExact(held.values, shape.values);
  if (isMapShape(held) && isObjectShape(shape))
    return [...shape.fields.values()].every((one) => isExact(held.values, one));
  if (isObjectShape(held) && isObjectShape(shape)) {
    return [...shape.fields].every(([key, part]) => isExact(held.fields.get(key) ?? 'null', part));
  }
  const [rank, heldRank] = [INTEGERS.indexOf(shape), INTEGERS.indexOf(held)];
  if (rank >= 0 && heldRank >= 0) return true;
  return (shape === 'double' && held === 'int53') || (rank === 0 && held === 'double');
}
