import { isObject, type JsonObject } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import { type Changed, changedIn, type Path, partsOf, shapeAt, valuesAt, withShape } from '../values/paths.ts';
import {
  isListShape,
  isMapShape,
  isObjectShape,
  joinShapes,
  type Kind,
  kindOf,
  type MapShape,
  type ObjectShape,
  type Shape,
  toMap,
} from '../values/shape.ts';
import { dataTable, type Table } from './catalog.ts';
import type { Retyped, TableShape } from './columns.ts';
import { NO_VALUES, prevailing } from './majority.ts';
import { fieldSql, storedAt } from './stored-values.ts';

/*
 * An object whose keys are data (currencies, years, user ids) is a MAP: as a STRUCT every document would have the keys of
 * all others.
 */

/** Objects with fewer keys are structs. */
const KEYS_MIN = 16;
/** The most of an object's keys that one document has on average, if they are data. */
const SHARE_MAX = 1 / 4;
/** The least of the fields of all its values that one value has on average, if the values are objects. */
const ALIKE_MIN = 1 / 2;
/** Documents of the table that are looked at, at most, and items of their lists. */
const ROWS_MAX = 20_000;
/** Structs that one write can turn into maps: each is looked for in all its documents. */
const CANDIDATES_MAX = 20;

/**
 * Most documents of a table times the fields of an object that becomes a map: nobody can read the table meanwhile, some
 * ten seconds for so many. A larger table keeps its struct.
 */
const CELLS_MAX = 30_000_000;

/** How many objects there are in a place, and how many keys they have together. */
interface Counts {
  objects: number;
  keys: number;
}

/** A struct that grew, and may be a map. */
interface Candidate {
  path: Path;
  /** Its shape before, if it had one. */
  before: ObjectShape | undefined;
}

function changed(before: TableShape, after: TableShape): Changed[] {
  return [...changedIn({ fields: before.columns }, { fields: after.columns })];
}

/** The structs that grew, and whose values are alike: they may be maps. */
function candidatesIn(parts: readonly Changed[]): Candidate[] {
  return parts.flatMap(({ path, from, to }) => {
    const before = from && isObjectShape(from) ? from : undefined;
    const hasGrown = isObjectShape(to) && to.fields.size > (before?.fields.size ?? 0);
    return hasGrown && mapOf(to) !== undefined ? [{ path, before }] : [];
  });
}

/** Whether a wider shape has a map where the earlier one has none, or may have one. */
export function hasNewMaps(before: TableShape, after: TableShape): boolean {
  if (before === after) return false;
  const parts = changed(before, after);
  const isNew = ({ from, to }: Changed) => isMapShape(to) && !(from && isMapShape(from));
  return parts.some(isNew) || candidatesIn(parts).length > 0;
}

/** A struct as a map, if it has many keys and its values are alike; these may be maps, too. */
export function mapOf(object: ObjectShape): MapShape | undefined {
  const map = object.fields.size < KEYS_MIN ? undefined : toMap(object);
  if (map === undefined || map.values === 'null') return undefined;
  if (!isObjectShape(map.values)) return map;
  const all = map.values.fields.size * object.fields.size;
  let own = 0;
  for (const field of object.fields.values()) if (isObjectShape(field)) own += field.fields.size;
  if (own < all * ALIKE_MIN) {
    const values = mapOf(map.values);
    return values && { ...map, values };
  }
  return { ...map, values: valuesOf([...object.fields.values()]) };
}

/** What most values of a map have in common: within objects, one key may have text where another has a number. */
function valuesOf(shapes: readonly Shape[], isWithin = false): Shape {
  const some = shapes.filter((shape) => shape !== 'null');
  const joined = some.reduce(joinShapes, 'null');
  if (joined === 'null') return joined;
  if (some.every(isListShape))
    return {
      element: valuesOf(
        some.map(({ element }) => element),
        isWithin,
      ),
    };
  if (isObjectShape(joined) && some.every(isObjectShape)) {
    const fieldsAt = (key: string) => some.map(({ fields }) => fields.get(key) ?? 'null');
    return { fields: new Map([...joined.fields.keys()].map((key) => [key, valuesOf(fieldsAt(key), true)])) };
  }
  if (joined !== 'json' || !isWithin || some.includes('json')) return joined;
  const counts = { ...NO_VALUES };
  const kindAt = (shape: Shape): Kind => kindOf(shape) ?? 'object';
  for (const shape of some) counts[kindAt(shape)] += 1;
  const kind = prevailing(counts);
  if (kind === 'json') return kind;
  const alike = some.filter((shape) => kindAt(shape) === kind);
  if (alike.length === some.length) return kind === 'number' ? 'double' : joined;
  return kind === undefined ? 'string' : valuesOf(alike, isWithin);
}

/** Whether all values of a struct fit it as a map: in a place that is not JSON in the map, some may not. */
function fitsAll(object: ObjectShape, { values }: MapShape): boolean {
  return jsonPlaces(toMap(object)?.values ?? 'null') === jsonPlaces(values);
}

function jsonPlaces(shape: Shape): number {
  if (shape === 'json') return 1;
  return partsOf(shape).reduce((sum, [, part]) => sum + jsonPlaces(part), 0);
}

/** A map of which it is not known what keys documents have: some were strays beside the fields. */
function unlisted({ values }: MapShape): MapShape {
  return { values: isMapShape(values) ? unlisted(values) : values, keys: undefined };
}

function putMap({ shape, retyped }: Retyped, path: Path, object: ObjectShape, found: MapShape): Retyped {
  const column = String(path[0]);
  const map = shape.strays.has(column) ? unlisted(found) : found;
  const columns = withShape(shape.columns, path, map);
  if (fitsAll(object, map)) return { shape: { ...shape, columns }, retyped };
  const strays = new Set([...shape.strays, column]);
  return { shape: { ...shape, columns, strays }, retyped: [...new Set([...retyped, column])] };
}

/**
 * The wider shape of a table, in which objects whose keys are data are maps. `documents` are those that widened it;
 * those of the table are counted where there are any.
 */
export async function withMaps(
  read: Transaction,
  table: Table,
  after: TableShape,
  documents: readonly { fields: JsonObject }[],
): Promise<Retyped> {
  let mapped: Retyped = { shape: after, retyped: [] };
  for (const { path, before } of candidatesIn(changed(table.shape, after)).slice(0, CANDIDATES_MAX)) {
    const object = shapeAt(mapped.shape.columns, path);
    // What is in a map that was found just now is no struct of its own any more.
    if (object === undefined || !isObjectShape(object)) continue;
    const map = mapOf(object);
    if (map === undefined) continue;
    if (!isObjectShape(map.values)) {
      const stored = before === undefined ? NONE : await read((sql) => countStored(sql, table, path, before));
      const added = await countIn(documents, path);
      const objects = stored.objects + added.objects;
      if (stored.keys + added.keys > objects * object.fields.size * SHARE_MAX) continue;
    }
    if (before === undefined || !(await isTooLarge(read, table, before))) mapped = putMap(mapped, path, object, map);
  }
  return mapped;
}

async function isTooLarge(read: Transaction, table: Table, { fields }: ObjectShape): Promise<boolean> {
  const [row] = await read((sql) => sql(`SELECT count(*) FROM ${dataTable(table.id)}`));
  return Number(row?.[0] ?? 0) * fields.size > CELLS_MAX;
}

const NONE: Counts = { objects: 0, keys: 0 };

async function countIn(documents: readonly { fields: JsonObject }[], path: Path): Promise<Counts> {
  const pace = createPace();
  const counts = { ...NONE };
  for (const { fields } of documents) {
    const turn = pace();
    if (turn !== undefined) await turn;
    for (const value of valuesAt(fields, path)) {
      if (!isObject(value)) continue;
      counts.objects += 1;
      for (const one of Object.values(value)) if (one !== null) counts.keys += 1;
    }
  }
  return counts;
}

/** The same for the documents of a table, or some of them. */
async function countStored(sql: Sql, table: Table, path: Path, { fields }: ObjectShape): Promise<Counts> {
  const from = storedAt(table, path, ROWS_MAX);
  const keys = [...fields.keys()].map((key) => `count(${fieldSql(key)})`);
  const [row = []] = await sql(`SELECT count(v), ${keys.join(' + ') || '0'} FROM ${from}`);
  return { objects: Number(row[0] ?? 0), keys: Number(row[1] ?? 0) };
}
