import { isObject, type JsonObject, type JsonValue, setField } from '../../contract/json/json.ts';

/** The path of a field in a document: `a.b` is `b` in the object `a`. Never empty. */
export type FieldPath = readonly string[];

/** The path for a name with dots; undefined if a part of it is empty. */
export function fieldPath(name: string): FieldPath | undefined {
  const path = name.split('.');
  return path.includes('') ? undefined : path;
}

/** The value at a path, or null if there is none. */
export function valueAt(document: JsonObject, path: FieldPath): JsonValue {
  let value: JsonValue = document;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return null;
    value = value[key] ?? null;
  }
  return value;
}

/**
 * A copy of the document with a value at a path; missing objects on the way are created. Undefined if something on the
 * way is not an object.
 */
export function withValue(document: JsonObject, path: FieldPath, value: JsonValue): JsonObject | undefined {
  const [key = '', ...rest] = path;
  if (rest.length === 0) return withKey(document, key, value);
  const inner = Object.hasOwn(document, key) ? (document[key] ?? null) : null;
  if (inner !== null && !isObject(inner)) return undefined;
  const changed = withValue(inner ?? {}, rest, value);
  return changed === undefined ? undefined : withKey(document, key, changed);
}

/** A copy of the document without what is at a path. An object that becomes empty stays. */
export function withoutValue(document: JsonObject, path: FieldPath): JsonObject {
  const [key = '', ...rest] = path;
  if (!Object.hasOwn(document, key)) return document;
  if (rest.length === 0) {
    const copy = { ...document };
    delete copy[key];
    return copy;
  }
  const inner = document[key];
  return isObject(inner) ? withKey(document, key, withoutValue(inner, rest)) : document;
}

function withKey(object: JsonObject, key: string, value: JsonValue): JsonObject {
  const copy = { ...object };
  setField(copy, key, value);
  return copy;
}
