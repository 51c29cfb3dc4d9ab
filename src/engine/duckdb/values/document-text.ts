import { isObject, type JsonObject, type JsonValue } from '../../../contract/json/json.ts';
import { byBytes } from '../../../contract/text.ts';
import { decimalText, isDecimal } from './declared.ts';
import { storedText } from './exact-text.ts';
import { inside, VALUES } from './paths.ts';
import { isListShape, isMapShape, type Shape } from './shape.ts';

/**
 * The JSON text of a document's fields as they are stored. The keys of a map come in order, since two maps are equal only
 * if theirs do; an object in JavaScript could not hold them so, as it puts numbers first. What was split has null in a map
 * for a stray: its key is one of the map.
 */
export function documentText(fields: JsonObject, columns: ReadonlyMap<string, Shape>, isSplit = false): string {
  return textOf(fields, { fields: columns }, isSplit);
}

function textOf(value: JsonValue, shape: Shape | undefined, isSplit: boolean): string {
  if (shape === undefined || !needsCare(shape) || value === null) return storedText(value);
  if (isDecimal(shape)) return decimalText(value);
  if (typeof value !== 'object') return storedText(value);
  if (isListShape(shape) && Array.isArray(value)) {
    return `[${value.map((item) => textOf(item, shape.element, isSplit)).join(',')}]`;
  }
  if (!isObject(value)) return storedText(value);
  const isMap = isMapShape(shape);
  const keys = Object.keys(value).filter((key) => (value[key] ?? null) !== null || (isMap && isSplit));
  if (isMap) keys.sort(byBytes);
  const partAt = (key: string) => inside(shape, isMap ? VALUES : key);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${textOf(value[key] ?? null, partAt(key), isSplit)}`).join(',')}}`;
}

/** Shapes never change. */
const known = new WeakMap<object, boolean>();

function needsCare(shape: Shape): boolean {
  if (typeof shape === 'string') return isDecimal(shape);
  if (isMapShape(shape)) return true;
  if (isListShape(shape)) return needsCare(shape.element);
  const before = known.get(shape.fields);
  if (before !== undefined) return before;
  const found = [...shape.fields.values()].some(needsCare);
  known.set(shape.fields, found);
  return found;
}
