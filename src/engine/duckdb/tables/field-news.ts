import type { JsonObject, JsonValue } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { FieldNews, NewSpelling, NewStrays, TypeChange } from '../../field-news.ts';
import { EXTRA_COLUMN, foldName, jsonPath, quoteName, quoteText } from '../sql/names.ts';
import { changedIn, ITEMS, type Path, shapeAt, VALUES } from '../values/paths.ts';
import { isListShape, isMapShape, isObjectShape, type Shape } from '../values/shape.ts';
import { pathOf, split } from '../values/strays.ts';
import { typeOf } from '../values/types.ts';
import type { TableShape } from './columns.ts';

/** A document of a write; `hasStrays` as in `Fitting`. */
export interface Written {
  id: string;
  fields: JsonObject;
  hasStrays: boolean;
}

/** Maximum number of fields that are named. */
const FIELDS_MAX = 5;

/** The news of a write that made a table's shape `after`; undefined: none. */
export async function fieldNewsOf(
  before: TableShape,
  after: TableShape,
  documents: readonly Written[],
): Promise<FieldNews | undefined> {
  const changes = changesOf(before, after);
  const spellings = newSpellings(before, after);
  const strays = await newStrays(after, documents);
  if (changes.length === 0 && spellings.length === 0 && strays.length === 0) return undefined;
  return {
    changed: changes.length,
    changes: changes.slice(0, FIELDS_MAX),
    strayed: strays.length,
    strays: strays.toSorted((a, b) => b.count - a.count).slice(0, FIELDS_MAX),
    spellings,
  };
}

/** The fields that had a type, and have one of another kind. */
function changesOf(before: TableShape, after: TableShape): TypeChange[] {
  if (before === after) return [];
  const changed = changedIn({ fields: before.columns }, { fields: after.columns });
  return [...changed].flatMap(({ path, from, to }): TypeChange[] => {
    const isOther = from !== undefined && typeOf(from) !== 'JSON' && kindOf(from) !== kindOf(to);
    return isOther ? [{ path: pathText(path), before: typeOf(from), after: typeOf(to) }] : [];
  });
}

/** What widens without losing anything, and without a lambda's noticing, is of one kind. */
function kindOf(shape: Shape): string {
  if (isListShape(shape)) return 'list';
  if (isMapShape(shape)) return 'map';
  if (isObjectShape(shape)) return 'object';
  return ['int53', 'int64', 'hugeint', 'double'].includes(shape) ? 'number' : shape;
}

async function newStrays({ columns }: TableShape, documents: readonly Written[]): Promise<NewStrays[]> {
  const pace = createPace();
  const found = new Map<string, NewStrays>();
  for (const { id, fields, hasStrays } of documents) {
    if (!hasStrays) continue;
    for (const [place, value] of split(fields, columns).strays) {
      const path = pathOf(place, columns);
      const text = pathText(path);
      const before = found.get(text);
      const shape = shapeAt(columns, path);
      const type = shape === undefined ? null : typeOf(shape);
      found.set(text, before ? { ...before, count: before.count + 1 } : strayOf(id, text, type, value));
    }
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return [...found.values()];
}

function strayOf(id: string, path: string, type: string | null, value: JsonValue): NewStrays {
  return { path, type, count: 1, example: { id, value: inWords(value) } };
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

export function pathText([column, ...path]: Path): string {
  const parts = path.map((step) => (step === ITEMS ? '[]' : `.${step === VALUES ? '<key>' : quoteName(step)}`));
  return [quoteName(String(column)), ...parts].join('');
}

function inWords(value: JsonValue): string {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'an integer' : 'a fraction';
  if (typeof value === 'bigint') return 'an integer beyond 2^53';
  return Array.isArray(value) ? 'a list' : 'an object';
}
