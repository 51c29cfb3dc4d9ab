import { type JsonValue, parseJson } from '../../../contract/json/json.ts';
import { holdsTextOf, literally, placeOf, strayCountsSql, straysSql } from '../../../contract/strays.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { isLongDecimal, isTypedShape, typedIn } from '../values/declared.ts';
import { changedIn, ITEMS, type Path, type Step, shapeAt, VALUES, valuesAt, withShape } from '../values/paths.ts';
import { type Intake, type Kind, kindOf, type Shape, widen } from '../values/shape.ts';
import { isScalarOf } from '../values/strays.ts';
import { isTimeShape, timeShapeOf, timeType } from '../values/time-text.ts';
import { typeOf } from '../values/types.ts';
import { dataTable, type Table } from './catalog.ts';
import { HASH_COLUMN, IS_LIVE, type TableShape } from './columns.ts';
import { LISTED_HASHES } from './find-rows.ts';
import { straysIn, type Written } from './places.ts';

/*
 * The majority of a field's values decides its type. A type changes only when more values disagree with it than agree:
 * to the kind that three quarters of them have, or else to text, or to JSON if more than a quarter are objects and lists.
 * So one that has just changed needs as many other values again before it changes back. Numbers are one kind: integers
 * beyond 2^53 become DOUBLE with the first fraction, which rounds them, since NULL would be worse.
 */

const AGREE_MIN = 1 / 2;
const KIND_MIN = 3 / 4;
const NESTED_MAX = 1 / 4;
/** Places that one write can change, those with the most strays: each is counted in all documents. */
const PLACES_MAX = 20;

type Counts = Readonly<Record<Kind, number>>;
export const NO_VALUES: Counts = { boolean: 0, number: 0, text: 0, typed: 0, list: 0, object: 0 };

/**
 * The columns of `after` whose type, or that of a place within, is not that of most values any more, with the types that
 * they should have. `after` holds the documents of a write, with strays.
 */
export async function withMajority(
  read: Transaction,
  table: Table,
  after: TableShape,
  writing: Writing,
): Promise<ReadonlyMap<string, Shape>> {
  const paths = await strayedPaths(after, writing.documents);
  const retyped = { ...after, columns: await majorityAt(read, table, after, { ...writing, paths }) };
  return changedColumns(after, await withFirstTimes(table, retyped, writing.documents));
}

/**
 * Whether a write changes a type as `withMajority` would have it, of which only those documents are known that may have strays:
 * the paths where it does unless the others have enough values that fit.
 */
export async function mayRetype(
  read: Transaction,
  table: Table,
  after: TableShape,
  writing: Writing,
): Promise<'yes' | 'no' | readonly Path[]> {
  if ((await withFirstTimes(table, after, writing.documents)) !== after.columns) return 'yes';
  const paths = await strayedPaths(after, writing.documents);
  const columns = await majorityAt(read, table, after, { ...writing, paths });
  if (columns === after.columns) return 'no';
  // A wider type of the same kind holds all of them, whatever the others are.
  const isWider = paths.some((path) => {
    const [from, to] = [shapeAt(after.columns, path), shapeAt(columns, path)];
    return from !== undefined && to !== undefined && from !== to && kindOf(from) === kindOf(to);
  });
  return isWider ? 'yes' : paths;
}

/** Whether the values of a table at some paths are of the types that these have. */
export async function areOfMajority(read: Transaction, table: Table, paths: readonly Path[]): Promise<boolean> {
  const { columns } = table.shape;
  return (await majorityAt(read, table, table.shape, { documents: [], ids: [], paths })) === columns;
}

function changedColumns({ columns: before }: TableShape, columns: TableShape['columns']): ReadonlyMap<string, Shape> {
  return new Map([...columns].filter(([name, shape]) => shape !== before.get(name)));
}

/** Those of a write's strays; what is around a place first: a change there changes what is in it. */
async function strayedPaths({ columns }: TableShape, documents: readonly Written[]): Promise<Path[]> {
  const most = (await straysIn(columns, documents)).slice(0, PLACES_MAX);
  return most.map(({ path }) => path).sort((a, b) => a.length - b.length);
}

/** The columns with the types that most values have at some paths; the same if these are theirs. */
async function majorityAt(
  read: Transaction,
  table: Table,
  { columns: before }: TableShape,
  { documents, ids, paths }: Writing & { paths: readonly Path[] },
): Promise<TableShape['columns']> {
  if (paths.length === 0) return before;
  return read(async (sql) => {
    let columns = before;
    const others = { sql, table, ids: JSON.stringify(ids) };
    const stored = await storedAtPaths(others, paths);
    for (const [index, path] of paths.entries()) {
      const shape = shapeAt(columns, path);
      // Keys that cannot be fields have none.
      if (shape === undefined || shape === 'json') continue;
      const wanted = await wantedAt(others, { path, shape }, documents, stored[index]);
      if (wanted !== undefined) columns = withShape(columns, path, wanted);
    }
    return columns;
  });
}

/** The columns with times where a new field has them: its first text alone does not say whether it has. */
async function withFirstTimes(
  table: Table,
  { columns: before, times }: TableShape,
  documents: readonly Written[],
): Promise<TableShape['columns']> {
  let columns = before;
  const texts = times ? [...changedIn({ fields: table.shape.columns }, { fields: columns })] : [];
  for (const { path, from, to } of texts) {
    if (to !== 'string' || (from !== undefined && from !== 'null')) continue;
    const place = { path, shape: to };
    const wanted = await shapeOf(undefined, place, 'text', { documents, times });
    if (wanted !== undefined) columns = withShape(columns, path, wanted);
  }
  return columns;
}

/** What a write stores. */
interface Writing {
  /** The documents that may have strays, or widened the table. */
  documents: readonly Written[];
  /** The ids of all that it may replace. */
  ids: readonly string[];
}

interface Place {
  path: Path;
  shape: Shape;
}

/** What a table has beside the documents of these ids, a JSON list. */
interface Others {
  sql: Sql;
  table: Table;
  ids: string;
}

const IS_OTHER = `${IS_LIVE} AND ${quoteName(HASH_COLUMN)} NOT IN (${LISTED_HASHES})`;

/** The shape that a place should have; undefined: it has it. */
async function wantedAt(
  others: Others,
  place: Place,
  documents: readonly Written[],
  stored: Stored | undefined,
): Promise<Shape | undefined> {
  const { table } = others;
  const { path, shape } = place;
  const own = kindOf(shape);
  const pace = createPace();
  const all = { ...NO_VALUES };
  /** The type that holds all values of the column's kind, if it is another. */
  let wider: Shape | undefined;
  for (const { fields } of documents) {
    const turn = pace();
    if (turn !== undefined) await turn;
    for (const value of valuesAt(fields, path)) {
      if (value === null) continue;
      const held = heldIn(value, shape);
      const isRounded = shape === 'double' && isLongDecimal(value);
      const kind = held !== undefined ? (own ?? 'typed') : isRounded ? 'number' : kindOfValue(value);
      all[kind] += 1;
      if (kind === 'number' && !isRounded && typeof value !== 'object' && !isScalarOf(value, shape)) wider = 'double';
      if (held !== undefined && held !== shape) wider = held;
    }
  }
  for (const { type, time, count } of stored?.strays ?? []) {
    const isRounded = shape === 'double' && time === 'DECIMAL';
    const kind = holdsTextOf(typeOf(shape), time) ? 'typed' : isRounded ? 'number' : kindOfType(type);
    // Their text stands for them in a column of text, and a time spelled otherwise in one of times.
    if (own === 'text') all.text -= count;
    if (kind === 'typed' || (shape === 'double' && kind === 'number')) continue;
    all[kind] += count;
    if (kind === 'number') wider = 'double';
  }
  if (own !== undefined && stored !== undefined) all[own] += stored.values;
  const total = Object.values(all).reduce((sum, count) => sum + count, 0);
  if (wider !== undefined && wider !== shape && own === kindOf(wider)) return wider;
  if (own !== undefined && all[own] >= total * AGREE_MIN) return undefined;
  const kind = prevailing(all);
  if (kind === 'json') return 'json';
  if (kind !== undefined) return shapeOf(stored && others, place, kind, { documents, times: table.shape.times });
  return shape === 'string' ? undefined : 'string';
}

/** The kind of three quarters of the values; or else JSON, if they are not scalars, and undefined for text. */
export function prevailing(counts: Counts): Kind | 'json' | undefined {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const [kind, most = 0] = (Object.entries(counts) as [Kind, number][]).toSorted((a, b) => b[1] - a[1])[0] ?? [];
  if (most >= total * KIND_MIN) return kind;
  return counts.list + counts.object > total * NESTED_MAX ? 'json' : undefined;
}

/** The shape of all values of a kind at a place; undefined: it has it. Without `others`, none of them is stored. */
async function shapeOf(
  others: Others | undefined,
  { path, shape: before }: Place,
  kind: Kind,
  { documents, times }: { documents: readonly Written[]; times: boolean },
): Promise<Shape | undefined> {
  if (kind === 'text' && !times) return before === 'string' ? undefined : 'string';
  const intake: Intake = { misfits: 0, times };
  const texts = new Map<string, { count: number; shape: Shape }>();
  let all = 0;
  const pace = createPace();
  const level = path.length - 1;
  let shape: Shape = 'null';
  const add = async (value: JsonValue) => {
    const turn = pace();
    if (turn !== undefined) await turn;
    if (value === null || kindOfValue(value) !== kind) return;
    if (typeof value === 'string') {
      const found = timeShapeOf(value) ?? 'string';
      const known = texts.get(typeOf(found)) ?? { count: 0, shape: found };
      texts.set(typeOf(found), { ...known, count: known.count + 1 });
      all += 1;
      return;
    }
    shape = widenKind(kind, shape, value, { intake, level });
  };
  for (const { fields } of documents) for (const value of valuesAt(fields, path)) await add(value);
  for (const text of others === undefined ? [] : await readStrays(others, path)) await add(parseJson(text));
  if (kind === 'text') shape = [...texts.values()].find(({ count }) => count >= all * KIND_MIN)?.shape ?? 'string';
  return shape === 'null' || shape === before ? undefined : shape;
}

/** Widens the shape of values of one kind: beside fractions, larger integers are strays. */
export function widenKind(
  kind: Kind,
  shape: Shape,
  value: JsonValue,
  { intake, level }: { intake: Intake; level: number },
): Shape {
  const { misfits } = intake;
  const wider = widen(shape, value, intake, level);
  return kind === 'number' && intake.misfits > misfits ? 'double' : wider;
}

/**
 * The shape of a column, of another type than text, that holds a value and what it has; undefined: there is none. A date
 * becomes a time at midnight.
 */
function heldIn(value: JsonValue, shape: Shape): Shape | undefined {
  if (isTypedShape(shape) && typedIn(value, shape) !== undefined) return shape;
  if (!isTimeShape(shape) || typeof value !== 'string') return undefined;
  const own = timeShapeOf(value);
  return own !== undefined && timeType(own) === 'TIMESTAMP' && timeType(shape) === 'DATE' ? own : undefined;
}

/** What a table has at a place. */
interface Stored {
  /** How many values are not NULL. */
  values: number;
  /** How many strays have each type of the engine's `json_type`, and of times. */
  strays: { type: string; time: string | null; count: number }[];
}

/** What is stored at each of some paths; undefined: the table does not have it. */
async function storedAtPaths(others: Others, paths: readonly Path[]): Promise<(Stored | undefined)[]> {
  const { sql, table, ids } = others;
  const known = paths.filter((path) => shapeAt(table.shape.columns, path) !== undefined);
  const stored = new Map(known.map((path): [Path, Stored] => [path, { values: 0, strays: [] }]));
  if (known.length === 0) return paths.map(() => undefined);
  const counts = known.map((path) => `coalesce(sum(${valuesAtSql(path)}), 0)::BIGINT`);
  const [values = []] = await sql(`SELECT ${counts.join(', ')} FROM ${dataTable(table.id)} WHERE ${IS_OTHER}`, ids);
  for (const [index, one] of [...stored.values()].entries()) one.values = Number(values[index] ?? 0);
  if (table.shape.strays.size > 0) {
    const where = known.map((path) => isAt(path, 'p')).join(' OR ');
    const which = known.map((path, index) => `WHEN ${isAt(path, 'place')} THEN ${index}`).join(' ');
    const strays = strayCountsSql(dataTable(table.id), { condition: IS_OTHER, where });
    const rows = await sql(`SELECT CASE ${which} END, json, type, sum("values") FROM ${strays} GROUP BY 1, 2, 3`, ids);
    for (const [index, type, time, count] of rows) {
      const path = known[Number(index)];
      const one = path && stored.get(path);
      one?.strays.push({ type: String(type), time: time === null ? null : String(time), count: Number(count) });
    }
  }
  return paths.map((path) => stored.get(path));
}

/** The stored strays of a place, as JSON text. */
async function readStrays({ sql, table, ids }: Others, path: Path): Promise<string[]> {
  if (table.shape.strays.size === 0) return [];
  const from = straysSql(dataTable(table.id), IS_OTHER);
  return (await sql(`SELECT v::VARCHAR FROM ${from} WHERE ${isAt(path, 'p')}`, ids)).map(([text]) => String(text));
}

/** SQL for whether a place is one of a path. */
function isAt(path: Path, place: string): string {
  const pattern = path.map((step) => {
    if (step === ITEMS) return '[0-9]+';
    return step === VALUES ? '[^/]*' : literally(placeOf([step]));
  });
  return `regexp_full_match(${place}, ${quoteText(pattern.join('/'))})`;
}

/** SQL for how many values a row has at a path that are not NULL. */
function valuesAtSql([column, ...steps]: Path): string {
  return valuesIn(quoteName(String(column)), steps);
}

function valuesIn(value: string, [step, ...steps]: readonly Step[]): string {
  if (step === undefined) return `(CASE WHEN ${value} IS NULL THEN 0 ELSE 1 END)`;
  if (typeof step === 'string') return valuesIn(`struct_extract(${value}, ${quoteText(step)})`, steps);
  const list = step === ITEMS ? value : `map_values(${value})`;
  const item = `x${steps.length}`;
  return `coalesce(list_sum(list_transform(${list}, lambda ${item}: ${valuesIn(item, steps)})), 0)`;
}

function kindOfValue(value: NonNullable<JsonValue>): Kind {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value !== 'object') return 'number';
  return Array.isArray(value) ? 'list' : 'object';
}

/** The kind of the values of a type of the engine's `json_type`. */
export function kindOfType(type: string): Kind {
  if (type === 'VARCHAR') return 'text';
  if (type === 'BOOLEAN') return 'boolean';
  if (type === 'ARRAY') return 'list';
  return type === 'OBJECT' ? 'object' : 'number';
}
