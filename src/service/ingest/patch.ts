import { PATCH_OPERATIONS, type PatchOperation } from '../../contract/documents.ts';
import { isObject, type JsonObject, type JsonValue, setField } from '../../contract/json/json.ts';
import { messageOf } from '../../contract/text.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { parsePointer } from './pointer.ts';

// Why not the npm package `rfc6902`: version 5.4.0 skips `__proto__` and `constructor` in paths, sees inherited
// properties (`/list/length` removes the first item), lets `move` and `copy` write outside an array, drops fields named
// `__proto__`, and compares arrays in quadratic time.

type Name = (typeof PATCH_OPERATIONS)[number];
type Container = JsonValue[] | JsonObject;

/** The target of an operation: `key` in `parent`, or null for the whole document. */
type Place = { parent: Container; key: string } | null;

/** Fields that a patch may read but not write. */
const FIXED: Readonly<Record<string, string>> = {
  _id: '"_id" names the document and cannot be patched; add the document under the other "_id" and delete this one',
  _event_time: '"_event_time" cannot be patched; add the document again with the other "_event_time"',
  _meta: '"_meta" is not stored and cannot be patched',
};

/**
 * Returns a patched copy of the document after all operations (RFC 6902, plus `increment`; `op` in any letter case). If
 * one fails, throws an `Error` whose message names the operation, its path and why.
 */
export function applyPatch(document: JsonObject, operations: readonly PatchOperation[]): JsonObject {
  const root: Root = { '': null, room: WORK_MAX };
  root[''] = copyOf(root, document);
  operations.forEach((operation, index) => {
    try {
      applyOne(root, operation);
    } catch (error) {
      const why = messageOf(error);
      throw new Error(`patch[${index}] (${operation.op} "${operation.path}") failed: ${why}`, { cause: error });
    }
  });
  return root[''] as JsonObject;
}

/** Values that a patch may copy, and items that it may move to make room for one; it is applied in one go. */
const WORK_MAX = 1_000_000;
/** Items that are moved in the time of copying one value. */
const MOVED_AT_ONCE = 100;

/** The document, and how much more work may be done on it. */
interface Root {
  '': JsonValue;
  room: number;
}

function work(root: Root, amount: number): void {
  root.room -= amount;
  if (root.room < 0) throw new Error('the patch copies or moves too many values; send it in several');
}

/** A copy of a value; text is shared, and its length counts because a copy may be copied again. */
function copyOf(root: Root, value: JsonValue): JsonValue {
  work(root, typeof value === 'string' ? 1 + value.length / MOVED_AT_ONCE : 1);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copyOf(root, item));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(root, member)]));
}

/** The fields that the operations of patches read or write; undefined if one concerns a whole document. */
export async function fieldsOf(
  patches: readonly { patch: readonly PatchOperation[] }[],
): Promise<Set<string> | undefined> {
  const fields = new Set<string>();
  const pace = createPace();
  for (const { patch } of patches) {
    for (const { path, from } of patch) {
      for (const pointer of from === undefined ? [path] : [path, from]) {
        const field = parsePointer(pointer)?.[0];
        if (field === undefined) return undefined;
        if (!Object.hasOwn(FIXED, field)) fields.add(field);
      }
    }
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return fields;
}

function applyOne(root: Root, operation: PatchOperation): void {
  const name = operation.op.toLowerCase() as Name;
  if (!PATCH_OPERATIONS.includes(name)) {
    throw new Error(`"${operation.op}" is no operation; there are ${PATCH_OPERATIONS.join(', ')}`);
  }
  const path = pointerOf('path', operation.path);
  if (name !== 'test') refuseFixed(path);
  switch (name) {
    case 'test':
      requireEqual(get(root, path), operandOf(operation));
      break;
    case 'add':
      add(root, path, copyOf(root, operandOf(operation)));
      break;
    case 'replace':
      get(root, path);
      set(root, path, copyOf(root, operandOf(operation)));
      break;
    case 'remove':
      removeAt(root, path);
      break;
    case 'copy':
      add(root, path, copyOf(root, get(root, fromOf(operation))));
      break;
    case 'move':
      move(root, fromOf(operation), path);
      break;
    case 'increment':
      set(root, path, sum(get(root, path), operandOf(operation)));
  }
}

function move(root: Root, from: readonly string[], path: readonly string[]): void {
  refuseFixed(from);
  const value = get(root, from);
  if (from.length < path.length && from.every((token, index) => token === path[index])) {
    throw new Error('a value cannot be moved into itself');
  }
  if (from.length === path.length && from.every((token, index) => token === path[index])) return;
  removeAt(root, from);
  add(root, path, value);
}

function add(root: Root, path: readonly string[], value: JsonValue): void {
  const place = placeOf(root, path);
  if (place === null) {
    set(root, path, value);
    return;
  }
  if (!Array.isArray(place.parent)) {
    setField(place.parent, place.key, value);
    return;
  }
  const index = place.key === '-' ? place.parent.length : indexOf(place.key);
  if (index > place.parent.length)
    throw new Error(`the array has ${place.parent.length} items, so "${place.key}" is past its end`);
  work(root, (place.parent.length - index) / MOVED_AT_ONCE);
  place.parent.splice(index, 0, value);
}

function removeAt(root: Root, path: readonly string[]): void {
  get(root, path);
  const place = placeOf(root, path);
  if (place === null) throw new Error('the whole document cannot be removed by a patch; use deleteDocuments');
  if (Array.isArray(place.parent)) {
    const index = indexOf(place.key);
    work(root, (place.parent.length - index) / MOVED_AT_ONCE);
    place.parent.splice(index, 1);
  } else delete place.parent[place.key];
}

/** Sets an existing value, or the whole document. */
function set(root: Root, path: readonly string[], value: JsonValue): void {
  const place = placeOf(root, path);
  if (place !== null) {
    if (Array.isArray(place.parent)) place.parent[indexOf(place.key)] = value;
    else setField(place.parent, place.key, value);
    return;
  }
  if (!isObject(value)) throw new Error('a document must be a JSON object');
  root[''] = withFixedOf(root[''] as JsonObject, value);
}

/** A new whole document keeps the fields that no patch may write; repeating them with the same values is allowed. */
function withFixedOf(before: JsonObject, after: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const [field, why] of Object.entries(FIXED)) {
    if (Object.hasOwn(after, field) && !isEqual(after[field], before[field])) throw new Error(why);
    if (Object.hasOwn(before, field)) kept[field] = before[field] as JsonValue;
  }
  return { ...kept, ...after };
}

function get(root: Root, path: readonly string[]): JsonValue {
  let value: JsonValue = root[''];
  for (const token of path) {
    const next = childOf(value, token);
    if (next === undefined) throw new Error(`there is no value at "${token}"`);
    value = next;
  }
  return value;
}

function placeOf(root: Root, path: readonly string[]): Place {
  const key = path.at(-1);
  if (key === undefined) return null;
  const parent = get(root, path.slice(0, -1));
  if (!Array.isArray(parent) && !isObject(parent)) throw new Error('the parent is neither an object nor an array');
  return { parent, key };
}

function childOf(value: JsonValue, token: string): JsonValue | undefined {
  if (Array.isArray(value)) return token === '-' ? undefined : value[indexOf(token)];
  return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

function indexOf(token: string): number {
  if (!/^(?:0|[1-9]\d{0,15})$/.test(token)) throw new Error(`"${token}" is no index of an array`);
  return Number(token);
}

function requireEqual(actual: JsonValue, expected: JsonValue): void {
  if (!isEqual(actual, expected)) throw new Error('the value there is another one');
}

/** Equality as JSON: numbers by value, whether doubles or bigints, and keys in any order. */
function isEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (typeof a === 'number' || typeof a === 'bigint') {
    // biome-ignore lint/suspicious/noDoubleEquals: across number and bigint, == compares the exact mathematical values.
    return (typeof b === 'number' || typeof b === 'bigint') && a == b;
  }
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item: JsonValue, index) => isEqual(item, b[index]));
  }
  if (a !== undefined && isObject(a)) {
    if (b === undefined || !isObject(b)) return false;
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
    );
  }
  return a === b;
}

/** Exact for integers; with fractions, a double's sum. */
function sum(value: JsonValue, by: JsonValue): JsonValue {
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Error('the value there is no number');
  if (typeof by !== 'number' && typeof by !== 'bigint') throw new Error('"value" must be a number');
  if (isWhole(value) && isWhole(by)) {
    const total = BigInt(value) + BigInt(by);
    const number = Number(total);
    return Number.isSafeInteger(number) ? number : total;
  }
  const total = Number(value) + Number(by);
  if (!Number.isFinite(total)) throw new Error('the sum is too large');
  return total;
}

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

function operandOf(operation: PatchOperation): JsonValue {
  if (operation.value === undefined) throw new Error('"value" is missing');
  return operation.value;
}

function fromOf(operation: PatchOperation): string[] {
  if (operation.from === undefined) throw new Error('"from" is missing');
  return pointerOf('from', operation.from);
}

function pointerOf(field: string, text: string): string[] {
  const tokens = parsePointer(text);
  if (tokens === undefined)
    throw new Error(`"${field}" is no JSON pointer: it starts with "/", and "~" is written "~0"`);
  return tokens;
}

function refuseFixed(path: readonly string[]): void {
  const field = path[0];
  if (field !== undefined && Object.hasOwn(FIXED, field)) throw new Error(FIXED[field]);
}
