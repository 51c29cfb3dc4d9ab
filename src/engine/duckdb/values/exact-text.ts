import { type JsonValue, stringifyJson } from '../../../contract/json/json.ts';

const LONG_INTEGER = /\d{17}/;

/**
 * JSON text that keeps the value of every number. `JSON.stringify` alone does not: it writes a double from 2^53 to
 * 10^21 as 16 or 17 digits followed by zeros, which is a different integer to a reader with more digits than a double.
 */
export function exactText(value: JsonValue): string {
  const text = stringifyJson(value);
  return LONG_INTEGER.test(text) ? stringifyJson(withExactIntegers(value)) : text;
}

function withExactIntegers(value: JsonValue): JsonValue {
  if (typeof value === 'number') {
    const isWrittenInFull = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
    return isWrittenInFull ? BigInt(value) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withExactIntegers);
  // Unlike assignment, this keeps a key `__proto__`.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, withExactIntegers(member)]),
  );
}

const NULL_MEMBER = /":null/;

/**
 * The same for what is stored of a document, without keys whose value is null: such a key is the same as one that is
 * missing.
 */
export function storedText(value: JsonValue): string {
  const text = exactText(value);
  return NULL_MEMBER.test(text) ? exactText(withoutNulls(value)) : text;
}

function withoutNulls(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
}
