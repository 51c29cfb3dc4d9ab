import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts';

/** A field of a document, or one within: `a.b` is `b` in the object `a`. Never empty. */
export type FieldPath = readonly string[];

/** The path that a name with dots means; undefined if a part of it is empty. */
export function fieldPath(name: string): FieldPath | undefined {
  const path = name.split('.');
  return path.includes('') ? undefined : path;
}

/** The value at a path; null where there is none, which is the same. */
export function valueAt(document: JsonObject, path: FieldPath): JsonValue {
  let value: JsonValue = document;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return null;
    value = value[key] ?? null;
  }
  return value;
}

/**
 * The document with a value at a path; objects on the way are made, and the given ones stay as they are. Undefined where
 * something else than an object is in the way.
 */
export function withValue(document: JsonObject, path: FieldPath, value: JsonValue): JsonObject | undefined {
  const [key = '', ...rest] = path;
  if (rest.length === 0) return withKey(document, key, value);
  const inner = Object.hasOwn(document, key) ? (document[key] ?? null) : null;
  if (inner !== null && !isObject(inner)) return undefined;
  const changed = withValue(inner ?? {}, rest, value);
  return changed === undefined ? undefined : withKey(document, key, changed);
}

/** The document without what is at a path; the given one stays as it is. An object that it empties stays, too. */
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

/** Plain assignment of a key `__proto__` would set the prototype. */
function withKey(object: JsonObject, key: string, value: JsonValue): JsonObject {
  const copy = { ...object };
  Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}
