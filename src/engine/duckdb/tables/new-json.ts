import type { JsonObject, JsonValue } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { NewJson, NewJsonField, NewSpelling } from '../../new-json.ts';
import { EXTRA_COLUMN, foldName, jsonPath, quoteName, quoteText } from '../sql/names.ts';
import { changedIn, ITEMS, type Path, VALUES, valuesAt } from '../values/paths.ts';
import { isMapShape, isObjectShape, type Shape, widen } from '../values/shape.ts';
import { typeOf } from '../values/types.ts';
import type { TableShape } from './columns.ts';

/** A field that had a type, and is JSON or a map in a wider shape. */
export interface TurnedField {
  path: Path;
  from: Shape;
  to: Shape;
}

interface Written {
  id: string;
  fields: JsonObject;
}

/** Maximum number of fields for which the documents are searched again. */
const FIELDS_MAX = 5;

/**
 * The fields of a table that are JSON, or a map, in a wider shape of it; those that never held a value of a type are not
 * included.
 */
export function turnedFields(before: TableShape, after: TableShape): TurnedField[] {
  if (before === after) return [];
  const changed = changedIn({ fields: before.columns }, { fields: after.columns });
  return [...changed].flatMap(({ path, from, to }): TurnedField[] => {
    if (from === undefined) return [];
    const isTurned = to === 'json' ? typeOf(from) !== 'JSON' : isMapShape(to) && isObjectShape(from);
    return isTurned ? [{ path, from, to }] : [];
  });
}

/** What a wider shape of a table turns into JSON or a map, given the documents that widened it, in order; undefined: nothing. */
export async function newJsonOf(
  before: TableShape,
  after: TableShape,
  documents: readonly Written[],
): Promise<NewJson | undefined> {
  const turned = turnedFields(before, after);
  const spellings = newSpellings(before, after);
  if (turned.length === 0 && spellings.length === 0) return undefined;
  const fields: NewJsonField[] = [];
  for (const { path, from, to } of turned.slice(0, FIELDS_MAX)) {
    const cause = to === 'json' ? await causeOf(path, from, documents) : null;
    fields.push({ path: pathText(path), before: typeOf(from), after: typeOf(to), cause });
  }
  return { count: turned.length, fields, ...(spellings.length > 0 ? { spellings } : {}) };
}

function newSpellings(before: TableShape, after: TableShape): NewSpelling[] {
  const added = [...(after.spellings ?? [])].filter((key) => !before.spellings?.has(key)).slice(0, FIELDS_MAX);
  return added.flatMap((field) => {
    const [column, shape] = [...after.columns].find(([key]) => foldName(key) === foldName(field)) ?? [];
    if (column === undefined || shape === undefined) return [];
    return [{ field, column, sql: `coalesce(${quoteName(column)}, ${extraValue(field, typeOf(shape))})` }];
  });
}

/** SQL for a key of `_extra`, as a type. */
function extraValue(key: string, type: string): string {
  const path = quoteText(jsonPath(key));
  if (type === 'VARCHAR') return `${EXTRA_COLUMN}->>${path}`;
  const value = `${EXTRA_COLUMN}->${path}`;
  return type === 'JSON' ? value : `TRY_CAST(${value} AS ${type})`;
}

function pathText([column, ...path]: Path): string {
  const parts = path.map((step) => (step === ITEMS ? '[]' : `.${step === VALUES ? '<key>' : quoteName(step)}`));
  return [quoteName(String(column)), ...parts].join('');
}

/** Goes through the values at a path again, as they widened it. */
async function causeOf(path: Path, from: Shape, documents: readonly Written[]): Promise<NewJsonField['cause']> {
  const pace = createPace();
  let shape = from;
  for (const { id, fields } of documents) {
    const turn = pace();
    if (turn !== undefined) await turn;
    for (const value of valuesAt(fields, path)) {
      shape = widen(shape, value, path.length - 1);
      if (shape === 'json') return { id, value: inWords(value, from) };
    }
  }
  return null;
}

function inWords(value: JsonValue, from: Shape): string {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'an integer' : 'a fraction';
  if (typeof value === 'bigint') return 'an integer beyond 2^53';
  if (Array.isArray(value)) return 'a list';
  return isObjectShape(from) ? 'an object with too many keys, or keys that differ only in case,' : 'an object';
}
