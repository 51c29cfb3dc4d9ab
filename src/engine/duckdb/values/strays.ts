import { isObject, type JsonObject, type JsonValue, parseJson, setField } from '../../../contract/json/json.ts';
import { foldName } from '../sql/names.ts';
import { isTypedShape, typedIn } from './declared.ts';
import { storedText } from './exact-text.ts';
import { ITEMS, inside, type Path, type Step, VALUES } from './paths.ts';
import { isListShape, isMapKey, isMapShape, isObjectShape, type Shape } from './shape.ts';

/*
 * A value that does not fit the type of its column, or of its place within one, is a stray: the column has NULL there
 * (in a text column the value's text, in one of doubles an integer rounded), and the exact value lies beside all columns
 * in one JSON object, by its place. A place is a JSON pointer without the first slash: `n`, `user/zip`, `tags/3`.
 */

/** The strays of one document, or of one row, by place. */
export type Strays = ReadonlyMap<string, JsonValue>;

/** A document's fields as its columns hold them, and the rest. */
export interface Split {
  fields: JsonObject;
  strays: Strays;
}

/** Divides a document's fields, as far as they have columns. */
export function split(fields: JsonObject, columns: ReadonlyMap<string, Shape>): Split {
  const strays = new Map<string, JsonValue>();
  const fitted: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) {
    const shape = columns.get(key);
    setField(fitted, key, shape === undefined ? value : fitValue(value, shape, placeOf([key]), strays));
  }
  return { fields: fitted, strays };
}

/** What a place of this shape holds of a value. */
function fitValue(value: JsonValue, shape: Shape, place: string, strays: Map<string, JsonValue>): JsonValue {
  if (value === null || shape === 'json') return value;
  if (isTypedShape(shape)) {
    const own = typedIn(value, shape) ?? null;
    if (own !== value) strays.set(place, value);
    return own;
  }
  if (typeof value !== 'object') {
    if (isScalarOf(value, shape)) return value;
  } else if (Array.isArray(value)) {
    if (isListShape(shape)) return value.map((item, at) => fitValue(item, shape.element, `${place}/${at}`, strays));
  } else if (isObject(value) && (isMapShape(shape) || isObjectShape(shape))) {
    return fitMembers(value, shape, place, strays);
  }
  strays.set(place, value);
  if (shape === 'string') return typeof value === 'string' ? value : storedText(value);
  return shape === 'double' && typeof value === 'bigint' ? Number(value) : null;
}

function fitMembers(value: JsonObject, shape: Shape, place: string, strays: Map<string, JsonValue>): JsonObject {
  const fitted: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue;
    const part = isMapShape(shape) && isMapKey(key) ? shape.values : inside(shape, key);
    const at = `${place}/${escaped(key)}`;
    if (part === undefined) strays.set(at, member);
    else setField(fitted, key, fitValue(member, part, at, strays));
  }
  return fitted;
}

/** The shape has been widened for every value that it can hold. */
export function isScalarOf(value: boolean | number | bigint | string, shape: Shape): boolean {
  if (isTypedShape(shape)) return typedIn(value, shape) === value;
  if (typeof value === 'string') return shape === 'string';
  if (typeof value === 'boolean') return shape === 'boolean';
  if (shape === 'double') return typeof value === 'number' || Number.isSafeInteger(Number(value));
  if (shape === 'int53' || shape === 'int64') return isBetween(value, 63n);
  return shape === 'hugeint' && isBetween(value, 127n);
}

function isBetween(value: number | bigint, bits: bigint): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return value >= (bits === 127n ? 1n - (1n << bits) : -(1n << bits)) && value < 1n << bits;
}

/** Puts strays into the document that they are from. */
export function merge(document: JsonObject, strays: Strays): void {
  for (const [place, value] of inOrder(strays)) put(document, stepsOf(place), value);
}

/** The same for the value of one place: a row's column, say. An alias may spell a column in another letter case. */
export function mergeAt(given: JsonValue, at: string, strays: Strays): JsonValue {
  const holder: JsonObject = { value: given };
  const wanted = foldedStart(at);
  for (const [spelled, value] of inOrder(strays)) {
    const place = foldedStart(spelled);
    if (place === wanted) holder['value'] = value;
    else if (place.startsWith(`${wanted}/`)) put(holder, ['value', ...stepsOf(place.slice(wanted.length + 1))], value);
  }
  return holder['value'] ?? null;
}

function foldedStart(place: string): string {
  const end = place.indexOf('/');
  return end < 0 ? foldName(place) : foldName(place.slice(0, end)) + place.slice(end);
}

/** A column that changed its type may have a stray for its whole value, and others within it. */
function inOrder(strays: Strays): (readonly [string, JsonValue])[] {
  return strays.size < 2 ? [...strays] : [...strays].sort(([a], [b]) => a.length - b.length);
}

function put(root: JsonObject, steps: readonly string[], value: JsonValue): void {
  let holder: JsonValue = root;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    if (Array.isArray(holder)) {
      if (isLast) holder[Number(step)] = value;
      else holder = holder[Number(step)] ?? null;
    } else if (isObject(holder)) {
      if (isLast) setField(holder, step, value);
      else holder = (Object.hasOwn(holder, step) ? holder[step] : undefined) ?? null;
    }
  }
}

/** What is stored of a row's strays; null if it has none. */
export function straysText(strays: Strays): string | null {
  if (strays.size === 0) return null;
  return `{${[...strays].map(([place, value]) => `${JSON.stringify(place)}:${storedText(value)}`).join(',')}}`;
}

/** Reads what `straysText` wrote. */
export function straysFrom(text: string): Strays {
  return new Map(Object.entries(parseJson(text) as JsonObject));
}

export function placeOf(steps: readonly string[]): string {
  return steps.map(escaped).join('/');
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function stepsOf(place: string): string[] {
  return place.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The path of a place: all items of a list have one, and all values of a map. */
export function pathOf(place: string, columns: ReadonlyMap<string, Shape>): Path {
  const path: Step[] = [];
  let shape: Shape | undefined = { fields: columns };
  for (const name of stepsOf(place)) {
    const step: Step = shape && isListShape(shape) ? ITEMS : shape && isMapShape(shape) ? VALUES : name;
    path.push(step);
    shape = inside(shape, step);
  }
  return path;
}
