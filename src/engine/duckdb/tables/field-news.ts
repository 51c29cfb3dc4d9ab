import type { JsonValue } from '../../../contract/json/json.ts';
import { placeOf, strayRead } from '../../../contract/strays.ts';
import type { FieldNews, NewSpelling, TypeChange } from '../../field-news.ts';
import { EXTRA_COLUMN, foldName, jsonPath, quoteName, quoteText } from '../sql/names.ts';
import { changedIn } from '../values/paths.ts';
import { isMapShape, kindOf, type Shape } from '../values/shape.ts';
import { typeOf } from '../values/types.ts';
import type { TableShape } from './columns.ts';
import { type Earlier, fieldOf, pathText, straysIn, type Written } from './places.ts';

/** Maximum number of fields that are named. */
const FIELDS_MAX = 5;

/** The news of a write that made a table's shape `after`; undefined: none. `earlier`: see `straysIn`. */
export async function fieldNewsOf(
  before: TableShape,
  after: TableShape,
  documents: readonly Written[],
  earlier?: Earlier['documents'],
): Promise<FieldNews | undefined> {
  // What was JSON had no type.
  const changes = typeChanges(before, after).filter((change) => change.before !== 'JSON');
  const spellings = newSpellings(after, before);
  const strays = await straysIn(after.columns, documents, earlier && { columns: before.columns, documents: earlier });
  if (changes.length === 0 && spellings.length === 0 && strays.length === 0) return undefined;
  return {
    changed: changes.length,
    changes: changes.slice(0, FIELDS_MAX),
    strayed: strays.length,
    strays: strays.slice(0, FIELDS_MAX).map(({ path, count, first: { id, value } }) => ({
      ...fieldOf(after.columns, path),
      count,
      sql: path.every((step) => typeof step === 'string') ? strayRead(placeOf(path)) : null,
      example: { id, value: inWords(value) },
    })),
    spellings,
  };
}

/** Also whether an object has become a map. */
function isOfKind(from: Shape, to: Shape): boolean {
  return kindOf(from) === kindOf(to) && isMapShape(from) === isMapShape(to);
}

/** The fields that have a type of another kind than before. */
export function typeChanges(before: TableShape, after: TableShape): TypeChange[] {
  if (before === after) return [];
  const changed = changedIn({ fields: before.columns }, { fields: after.columns });
  return [...changed].flatMap(({ path, from, to }) =>
    from === undefined || isOfKind(from, to) ? [] : [{ path: pathText(path), before: typeOf(from), after: typeOf(to) }],
  );
}

/** The spellings of fields that `before` does not have, some of them at most. */
export function newSpellings(after: TableShape, before?: TableShape): NewSpelling[] {
  const added = [...(after.spellings ?? [])].filter((key) => !before?.spellings?.has(key)).slice(0, FIELDS_MAX);
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

function inWords(value: JsonValue): string {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'an integer' : 'a fraction';
  if (typeof value === 'bigint') return 'an integer beyond 2^53';
  return Array.isArray(value) ? 'a list' : 'an object';
}
