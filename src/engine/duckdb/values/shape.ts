import { isObject, type JsonObject, type JsonValue } from '../../../contract/json/json.ts';
import type { DeclaredType } from '../../engine.ts';
import { foldName } from '../sql/names.ts';
import { isDecimal, isDeclaredShape, isShortDecimal, isTypedShape, type TypedShape, typedIn } from './declared.ts';
import { isTimeShape, timeShapeOf, timeType } from './time-text.ts';

/**
 * What the documents of a collection have in common at one place: the narrowest type that keeps every value exactly.
 *
 * - `null`: nothing but null so far.
 * - `int53`: integers that a double holds exactly; `int64` and `hugeint`: larger ones, up to 2^63-1 and 2^127-1.
 * - `json`: values that have no common type, kept as JSON text.
 */
export type Scalar = 'null' | 'boolean' | 'int53' | 'int64' | 'hugeint' | 'double' | 'string' | 'json';
export interface ListShape {
  readonly element: Shape;
}
export interface ObjectShape {
  readonly fields: ReadonlyMap<string, Shape>;
}
/** An object whose keys are data: `tables/maps.ts` says when it is one. */
export interface MapShape {
  /** What all its values have in common. */
  readonly values: Shape;
  /** The keys that any document has had; undefined once there are too many to list. */
  readonly keys: ReadonlySet<string> | undefined;
}
export type Shape = Scalar | TypedShape | ListShape | ObjectShape | MapShape;

/** Most fields of a struct; an object with more keys is a map, or JSON if its values have nothing in common. */
const FIELDS_MAX = 256;
/** More keys of a map are not listed. */
const KEYS_MAX = 1_000;
/** Objects and lists nested deeper than this inside a column stay JSON. */
const LEVELS_MAX = 16;
const KEY_LENGTH_MAX = 255;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const HUGEINT_MAX = 2n ** 127n - 1n;

const EMPTY_OBJECT: ObjectShape = { fields: new Map() };
const EMPTY_LIST: ListShape = { element: 'null' };

/**
 * Whether a key can be the name of a column or of a struct's field; the caller has to check for names differing only in
 * case.
 */
export function isFieldName(key: string): boolean {
  return key !== '' && key.length <= KEY_LENGTH_MAX && !key.includes('\0');
}

export function isObjectShape(shape: Shape): shape is ObjectShape {
  return typeof shape === 'object' && 'fields' in shape;
}

export function isListShape(shape: Shape): shape is ListShape {
  return typeof shape === 'object' && 'element' in shape;
}

export function isMapShape(shape: Shape): shape is MapShape {
  return typeof shape === 'object' && 'values' in shape;
}

/** What a value is, whatever its width and what it holds; `typed`: text, or a number, that its column holds as another type. */
export type Kind = 'boolean' | 'number' | 'text' | 'typed' | 'list' | 'object';

/** The kind of all values of a shape; undefined if they have none in common. */
export function kindOf(shape: Shape): Kind | undefined {
  if (isListShape(shape)) return 'list';
  if (isMapShape(shape) || isObjectShape(shape)) return 'object';
  if (shape === 'string') return 'text';
  // As doubles, longer decimals would lose digits.
  if (isDecimal(shape)) return isShortDecimal(shape) ? 'number' : 'typed';
  if (isTypedShape(shape)) return 'typed';
  if (shape === 'null' || shape === 'json') return undefined;
  return shape === 'boolean' ? 'boolean' : 'number';
}

/** The names of the fields of each object in a shape. */
export function objectsIn(shape: Shape): string[][] {
  if (isListShape(shape)) return objectsIn(shape.element);
  if (isMapShape(shape)) return objectsIn(shape.values);
  if (!isObjectShape(shape)) return [];
  return [[...shape.fields.keys()], ...[...shape.fields.values()].flatMap(objectsIn)];
}

/** How documents are taken in. */
export interface Intake {
  /** The number of values that did not fit so far: see `strays.ts`. */
  misfits: number;
  /** Whether text that is a time makes a column of times. */
  times: boolean;
  /** The type that this field has been given, if its value fits it. */
  declared?: DeclaredType | undefined;
}

/**
 * The narrowest shape that holds `value` and everything that `shape` holds; `shape` itself if it holds `value` already.
 * With `intake`, values that have nothing in common with the shape of their place are counted there and do not change
 * it; without, that place becomes JSON, and text is text.
 */
export function widen(shape: Shape, value: JsonValue | undefined, intake?: Intake, level = 0): Shape {
  if (shape === 'json' || value === null || value === undefined) return shape;
  if (typeof value !== 'object') {
    if (intake !== undefined) {
      const typed = shape === 'null' ? typedFor(value, intake) : shape;
      if (isTypedShape(typed)) return typedIn(value, typed) === value ? typed : misfit(typed, intake);
    }
    const joined = joinScalars(shape, scalarOf(value));
    return joined === 'json' ? misfit(shape, intake) : joined;
  }
  if (level >= LEVELS_MAX) return shape === 'null' ? 'json' : misfit(shape, intake);
  if (Array.isArray(value)) return widenList(shape, value, intake, level);
  return widenObject(shape, value as JsonObject, intake, level);
}

/** The type, if it is none of JSON, that the first value of a place gives it. */
function typedFor(value: JsonValue, { times, declared }: Intake): TypedShape | undefined {
  if (isDeclaredShape(declared) && typedIn(value, declared) !== undefined) return declared;
  return typeof value === 'string' && (times || declared === 'time' || declared === 'datetime')
    ? timeShapeOf(value)
    : undefined;
}

function misfit(shape: Shape, intake: Intake | undefined): Shape {
  if (intake === undefined) return 'json';
  intake.misfits += 1;
  return shape;
}

function scalarOf(value: boolean | number | bigint | string): Scalar {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int53' : 'double';
  if (Number.isSafeInteger(Number(value))) return 'int53';
  if (value >= INT64_MIN && value <= INT64_MAX) return 'int64';
  return value >= -HUGEINT_MAX && value <= HUGEINT_MAX ? 'hugeint' : 'json';
}

export const INTEGERS: readonly Shape[] = ['int53', 'int64', 'hugeint'];

function joinScalars(shape: Shape, scalar: Scalar | TypedShape): Shape {
  if (shape === scalar || shape === 'null') return scalar;
  if (isTimeShape(shape) && isTimeShape(scalar)) return timeType(shape) === timeType(scalar) ? shape : 'json';
  const rank = INTEGERS.indexOf(shape);
  const otherRank = INTEGERS.indexOf(scalar);
  if (rank >= 0 && otherRank >= 0) return rank > otherRank ? shape : scalar;
  return fitsDouble(shape) && fitsDouble(scalar) ? 'double' : 'json';
}

/** It would lose digits of larger integers, and of longer decimals. */
function fitsDouble(shape: Shape): boolean {
  return shape === 'double' || shape === 'int53' || isShortDecimal(shape);
}

function widenList(shape: Shape, value: readonly JsonValue[], intake: Intake | undefined, level: number): Shape {
  const list = shape === 'null' ? EMPTY_LIST : shape;
  if (!isListShape(list)) return misfit(shape, intake);
  let element = list.element;
  for (const item of value) {
    // JSON holds everything, so no further item can change it.
    if (element === 'json') break;
    element = widen(element, item, intake, level + 1);
  }
  return element === list.element ? list : { element };
}

function widenObject(shape: Shape, value: JsonObject, intake: Intake | undefined, level: number): Shape {
  if (isMapShape(shape)) return widenMap(shape, value, intake, level);
  const object = shape === 'null' ? EMPTY_OBJECT : shape;
  if (!isObjectShape(object)) return misfit(shape, intake);
  let changed: Map<string, Shape> | undefined;
  let names: Set<string> | undefined;
  for (const key of Object.keys(value)) {
    const before = (changed ?? object.fields).get(key);
    if (before === undefined && intake !== undefined) {
      names ??= new Set([...(changed ?? object.fields).keys()].map(foldName));
      if (!isFieldName(key) || names.has(foldName(key))) {
        if (value[key] !== null) intake.misfits += 1;
        continue;
      }
      names.add(foldName(key));
    }
    const after = widen(before ?? 'null', value[key], intake, level + 1);
    if (after === before) continue;
    changed ??= new Map(object.fields);
    changed.set(key, after);
  }
  if (changed === undefined) return object;
  if (changed.size === object.fields.size || areFieldNames(changed)) return { fields: changed };
  return toMap({ fields: changed }) ?? 'json';
}

function widenMap(map: MapShape, value: JsonObject, intake: Intake | undefined, level: number): Shape {
  let { values } = map;
  let added: string[] | undefined;
  for (const key of Object.keys(value)) {
    const one = value[key];
    if (one === null) continue;
    if (!isMapKey(key)) {
      if (intake === undefined) return 'json';
      intake.misfits += 1;
      continue;
    }
    values = widen(values, one, intake, level + 1);
    if (map.keys === undefined || map.keys.has(key)) continue;
    added ??= [];
    added.push(key);
  }
  if (added === undefined) return values === map.values ? map : { values, keys: map.keys };
  return { values, keys: keysOf([...(map.keys ?? []), ...added]) };
}

/** The engine has no text with this character. */
export function isMapKey(key: string): boolean {
  return !key.includes('\0');
}

function keysOf(keys: readonly string[]): MapShape['keys'] {
  return keys.length > KEYS_MAX ? undefined : new Set(keys);
}

/** An object as a map, if all its values have something in common. */
export function toMap({ fields }: ObjectShape): MapShape | undefined {
  let values: Shape = 'null';
  for (const [key, field] of fields) {
    if (!isMapKey(key) || field === 'json') return undefined;
    values = joinShapes(values, field);
    if (values === 'json') return undefined;
  }
  return { values, keys: keysOf([...fields.keys()]) };
}

/** The narrowest shape that holds everything that either holds. */
export function joinShapes(a: Shape, b: Shape): Shape {
  if (a === 'null' || b === 'null') return a === 'null' ? b : a;
  if (isListShape(a) && isListShape(b)) return { element: joinShapes(a.element, b.element) };
  if (isObjectShape(a) && isObjectShape(b)) {
    const fields = new Map(a.fields);
    for (const [key, field] of b.fields) fields.set(key, joinShapes(fields.get(key) ?? 'null', field));
    return areFieldNames(fields) ? { fields } : 'json';
  }
  const [map, other] = isMapShape(a) ? [a, b] : [b, a];
  if (isMapShape(map)) return joinMaps(map, other);
  return typeof a === 'string' && typeof b === 'string' ? joinScalars(a, b) : 'json';
}

function joinMaps(map: MapShape, other: Shape): Shape {
  const as = isObjectShape(other) ? toMap(other) : other;
  if (as === undefined || !isMapShape(as)) return 'json';
  const keys = map.keys && as.keys && keysOf([...new Set([...map.keys, ...as.keys])]);
  return { values: joinShapes(map.values, as.values), keys };
}

/** Whether these keys can be fields of one struct: no two may differ only in case. */
function areFieldNames(fields: ReadonlyMap<string, Shape>): boolean {
  if (fields.size > FIELDS_MAX) return false;
  const folded = new Set<string>();
  for (const key of fields.keys()) {
    if (!isFieldName(key)) return false;
    folded.add(foldName(key));
  }
  return folded.size === fields.size;
}

/**
 * A shape as JSON, to be stored: scalars as they are, `{list: …}`, `{object: [[key, …], …]}` in field order, and
 * `{map: …, keys: […]}`, without `keys` if there are too many.
 */
export function shapeToJson(shape: Shape): JsonValue {
  if (typeof shape === 'string') return shape;
  if (isListShape(shape)) return { list: shapeToJson(shape.element) };
  if (isMapShape(shape)) {
    return { map: shapeToJson(shape.values), ...(shape.keys === undefined ? {} : { keys: [...shape.keys] }) };
  }
  return { object: [...shape.fields].map(([key, field]) => [key, shapeToJson(field)]) };
}

const SCALARS: readonly string[] = ['null', 'boolean', 'int53', 'int64', 'hugeint', 'double', 'string', 'json'];

/** Reads what `shapeToJson` wrote. Throws `TypeError` on anything else. */
export function shapeFromJson(json: JsonValue | undefined): Shape {
  if (typeof json === 'string' && SCALARS.includes(json)) return json as Scalar;
  if (isTypedShape(json)) return json;
  if (isObject(json)) {
    if ('list' in json) return { element: shapeFromJson(json['list']) };
    if (Array.isArray(json['object'])) return { fields: fieldsFromJson(json['object']) };
    if ('map' in json) {
      const keys = Array.isArray(json['keys']) ? new Set(json['keys'].map(String)) : undefined;
      return { values: shapeFromJson(json['map']), keys };
    }
  }
  throw new TypeError('a stored shape is malformed');
}

/** Reads `[[key, shape], …]`. Throws `TypeError` on anything else. */
export function fieldsFromJson(entries: readonly JsonValue[]): Map<string, Shape> {
  const fields = new Map<string, Shape>();
  for (const entry of entries) {
    if (!Array.isArray(entry) || typeof entry[0] !== 'string') throw new TypeError('a stored shape is malformed');
    fields.set(entry[0], shapeFromJson(entry[1]));
  }
  return fields;
}
