import { exactNumber, type JsonValue } from '../../../contract/json/json.ts';
import { createJsonReader, KEYS_MAX, type ReadLimits } from '../../../contract/json/json-reader.ts';
import { withoutNulls } from './exact-text.ts';

/** A value that is read bit by bit: yields about how many bytes of JSON text each bit takes. */
export type Bits = Generator<number, JsonValue>;

/** How numbers in JSON are converted: integers beyond 2^53, and doubles, which may be infinite. */
export interface FromJson {
  integer: (value: bigint) => JsonValue;
  double: (value: number) => JsonValue;
}

/** Longer JSON text is read bit by bit where it can be. */
export const AT_ONCE_CHARS = 64 * 1024;
const STEP_CHARS = 16 * 1024;

/**
 * JSON that is deeper stays text, because both the writer and the readers of the answer walk it recursively; and so does
 * an object of more keys than are listed in a moment, and a number of thousands of digits.
 */
export const JSON_LIMITS: ReadLimits = { depthMax: 1_000, keysMax: KEYS_MAX, withoutNulls: true };

/** The value of a JSON column, bit by bit, without keys whose value is null. */
export function* jsonBits(text: string, numbers: FromJson, limits = JSON_LIMITS): Bits {
  const reader = createJsonReader(
    text,
    (digits) => {
      const number = exactNumber(digits);
      return typeof number === 'bigint' ? numbers.integer(number) : numbers.double(number as number);
    },
    limits,
  );
  try {
    for (let at = 0; !reader.read(STEP_CHARS); at = reader.position) yield reader.position - at;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
  return reader.value;
}

/** Matches whatever in JSON text may be a number that a double does not hold. */
const UNUSUAL_NUMBER = /\d{16}|\d[eE]/;

/** As `jsonBits`, in one go. */
export function jsonInOneGo(text: string, numbers: FromJson, limits = JSON_LIMITS): JsonValue {
  // What is shorter cannot be too deep, and the built-in parser is faster.
  if (text.length < 2 * limits.depthMax && !UNUSUAL_NUMBER.test(text)) {
    try {
      const value = JSON.parse(text) as JsonValue;
      return text.includes('null') ? withoutNulls(value) : value;
    } catch {
      return text;
    }
  }
  return finish(jsonBits(text, numbers, limits));
}

export function finish(bits: Bits | undefined): JsonValue {
  for (let bit = bits?.next(); ; bit = bits?.next())
    if (bit === undefined || bit.done === true) return bit?.value ?? null;
}
