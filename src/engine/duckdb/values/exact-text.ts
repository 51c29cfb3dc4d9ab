import { type JsonValue, textWithNumbers, textWithoutBigints } from '../../../contract/json/json.ts';

const LONG_INTEGER = /\d{17}/;

/**
 * JSON text that keeps the value of every number. `JSON.stringify` alone does not: it writes a double from 2^53 to
 * 10^21 as 16 or 17 digits followed by zeros, which is a different integer to a reader with more digits than a double.
 */
export function exactText(value: JsonValue): string {
  const text = textWithoutBigints(value);
  const isExact = text !== undefined && !LONG_INTEGER.test(text);
  return isExact ? text : (textWithNumbers(value, digitsOf) ?? 'null');
}

/** With all of its digits, as far as `JSON.stringify` writes no exponent. */
function digitsOf(number: number): string {
  const isWrittenInFull = Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21;
  return isWrittenInFull ? BigInt(number).toString() : JSON.stringify(number);
}

/** A copy with other values in it; a member of an object whose value becomes undefined is left out. */
function rewritten(value: JsonValue, rewrite: (leaf: JsonValue) => JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return rewrite(value);
  if (Array.isArray(value)) return value.map((item) => rewritten(item, rewrite) ?? null);
  // Unlike assignment, this keeps a key `__proto__`.
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, rewritten(member, rewrite)])
      .filter(([, member]) => member !== undefined),
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

/** A copy in which no object has a key whose value is null. */
export function withoutNulls(value: JsonValue): JsonValue {
  return rewritten(value, (leaf) => leaf ?? undefined) ?? null;
}
