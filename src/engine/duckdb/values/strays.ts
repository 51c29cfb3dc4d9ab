import { isObject, type JsonObject, type JsonValue, parseJson, setField } from '../../../contract/json/json.ts';
import { placeOf, stepsOf } from '../../../contract/strays.ts';
import { foldName } from '../sql/names.ts';
import { isLongDecimal, isTypedShape, typedIn } from './declared.ts';
import { storedText } from './exact-text.ts';
import { ITEMS, inside, type Path, type Step, VALUES } from './paths.ts';
import { isListShape, isMapKey, isMapShape, isObjectShape, type Shape } from './shape.ts';

/*
 * A value that does not fit the type of its column, or of its place within one, is a stray: the column has NULL there
 * (in a text column the value's text, in one of doubles an integer, or a long decimal, rounded), and the exact value lies beside all columns
 * in one JSON object, by its place. A place is a JSON pointer without the first slash: `n`, `user/zip`, `tags/3`.
 */

/** The strays of one document, or of one row, by place. */
export type Strays = ReadonlyMap<string, JsonValue>;

/** A document's fields as its columns hold them, and the rest. */
export interface Split {
  fields: JsonObject;
  strays: Strays;
}

/** Most strays within the columns of one row: whoever reads the row takes them all in one go. */
const STRAYS_MAX = 10_000;

/**
 * Divides a document's fields, as far as they have columns. If a row has more strays than `max`, a column's value becomes
 * one as a whole.
 */
export function split(fields: JsonObject, columns: ReadonlyMap<string, Shape>, max = STRAYS_MAX): Split {
  const strays = new Map<string, JsonValue>();
  const fitted: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) {
    const shape = columns.get(key);
    const place = placeOf([key]);
    const own = new Map<string, JsonValue>();
    const held = shape === undefined ? value : fitValue(value, shape, place, own);
    const isTooMany = own.size > 1 && strays.size + own.size > max;
    setField(fitted, key, isTooMany ? null : held);
    for (const [at, stray] of isTooMany ? [[place, value] as const] : own) strays.set(at, stray);
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
  return shape === 'double' && (typeof value === 'bigint' || isLongDecimal(value)) ? Number(value) : null;
}

function fitMembers(value: JsonObject, shape: Shape, place: string, strays: Map<string, JsonValue>): JsonObject {
  const fitted: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue;
    const part = isMapShape(shape) && isMapKey(key) ? shape.values : inside(shape, key);
    const at = `${place}/${placeOf([key])}`;
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

/** Puts strays into the document that they are from. One for a whole column comes before those within it. */
export function merge(document: JsonObject, strays: Strays): void {
  for (const [place, value] of strays) put(document, stepsOf(place), value);
}

/** What the columns of a row show: their indexes and places, by the place with its letters folded. */
export type ShownAt = ReadonlyMap<string, readonly { index: number; place: string }[]>;

/** `places`: those that the columns show, as the query spells them; null for a column without. */
export function shownAt(places: readonly (string | null)[]): ShownAt {
  const found = new Map<string, { index: number; place: string }[]>();
  for (const [index, place] of places.entries()) {
    if (place === null) continue;
    const key = foldName(place);
    found.set(key, [...(found.get(key) ?? []), { index, place: withFoldedColumn(place) }]);
  }
  return found;
}

/** SQL does not tell the letter case of columns. */
function withFoldedColumn(place: string): string {
  const [column = '', ...steps] = place.split('/');
  return [foldName(column), ...steps].join('/');
}

/**
 * Puts strays into a row, in time that depends on their number alone. `fieldAt` gives the place of the field that SQL reads
 * by a name: a key that differs from it only in case is shown where a row has no other value.
 */
export function mergeIntoRow(
  row: JsonValue[],
  shown: ShownAt,
  strays: Strays,
  fieldAt: (place: string) => string = (place) => place,
): void {
  for (const [place, value] of strays) {
    const steps = stepsOf(place);
    let at = '';
    for (const [index, step] of place.split('/').entries()) {
      at = index === 0 ? step : `${at}/${step}`;
      for (const column of shown.get(foldName(at)) ?? []) {
        const isSame = column.place === withFoldedColumn(at);
        if (!isSame) {
          const field = fieldAt(at);
          if (field !== fieldAt(column.place)) continue;
          const isTaken = field === at ? strays.has(column.place) : (row[column.index] ?? null) !== null;
          if (isTaken) continue;
        }
        put(row, [String(column.index), ...steps.slice(index + 1)], value);
      }
    }
  }
}

function put(root: JsonObject | JsonValue[], steps: readonly string[], value: JsonValue): void {
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
