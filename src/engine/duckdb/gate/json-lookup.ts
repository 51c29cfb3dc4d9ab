import { foldName, ITEM, isMapField, type JsonField } from '../sql/names.ts';

/** Finds the JSON field that a name in SQL refers to. In cases that are hard to tell, it finds none. */

/** A JSON field, or an object that contains one. */
export interface Found {
  path: string;
  /** The collection or alias that it belongs to. */
  table: string;
  json: JsonField;
  /** It is a key that no document has had in the map at this path. */
  unknown?: { key: string; keys: ReadonlySet<string> };
}

/** An entry of FROM. */
export interface Relation {
  /** Its names, folded: its alias, or its name both alone and with its schema (`keyOf`). */
  names: readonly string[];
  /** By folded name; null for a column that is not JSON. */
  columns: ReadonlyMap<string, Found | null>;
  /** Whether it may have other columns. */
  isOpen: boolean;
}

export interface Scope {
  relations: readonly Relation[];
  outer: Scope | null;
}

export function keyOf(schema: unknown, name: unknown): string {
  return `${foldName(String(schema))}\n${foldName(String(name))}`;
}

/** The JSON field of a column reference; null if it refers to none. */
export function find(from: Scope, path: readonly string[]): Found | null {
  const [first = '', ...more] = path.map(foldName);
  for (let scope: Scope | null = from; scope !== null; scope = scope.outer) {
    const { relations } = scope;
    const named = relations.find(({ names }) => more.length > 0 && names.includes(first));
    const owner = relations.find(({ columns }) => columns.has(first));
    // In `UNNEST(list) x`, the item is the column `x` of `x`.
    const isItem = named !== undefined && named === owner && !named.columns.has(more[0] ?? '');
    if (named !== undefined && !isItem) return inRelation(named, path.slice(1));
    const inSchema = relations.find(({ names }) => more.length > 1 && names.includes(keyOf(first, more[0])));
    if (inSchema !== undefined) return inRelation(inSchema, path.slice(2));
    if (owner !== undefined) return inRelation(owner, path);
    if (relations.some(({ isOpen }) => isOpen)) return null;
  }
  return null;
}

function inRelation({ columns }: Relation, [first = '', ...more]: readonly string[]): Found | null {
  const found = columns.get(foldName(first)) ?? null;
  return found && within(found, more);
}

const NOTHING: JsonField = new Map();

/** What lies below a field, step by step; everything inside a JSON field counts as that field. */
export function within(from: Found, steps: readonly string[]): Found | null {
  let found: Found = from;
  for (const step of steps) {
    const { json, path } = found;
    if (json === 'json' || found.unknown !== undefined) break;
    if (isMapField(json)) {
      if (step === ITEM) return null;
      const { keys, values } = json;
      if (keys !== undefined && !keys.has(step)) return { ...found, json: NOTHING, unknown: { key: step, keys } };
      if (values === null) return null;
      found = { ...found, path: `${path}.${step}`, json: values };
      continue;
    }
    const field = json.get(step === ITEM ? ITEM : foldName(step));
    if (field === undefined) return null;
    found = { ...found, path: step === ITEM ? `${path}${ITEM}` : `${path}.${foldName(step)}`, json: field };
  }
  return found;
}
