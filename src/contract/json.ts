import { parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/** A JSON value; an integer that a double cannot hold is a `bigint`. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type JsonObject = { [key: string]: JsonValue };

/** Whether a value is an object, and neither null nor an array. */
export function isObject(value: JsonValue | undefined): value is JsonObject;
export function isObject(value: unknown): value is Record<string, unknown>;
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// A double represents every integer of up to 15 digits exactly, so only longer ones need the slow, exact parser.
// Fractions are doubles whatever their length. A text that only looks like such a number costs time, but is harmless.
const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;

function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return INTEGER.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/**
 * Parses JSON text; integers beyond 2^53 become `bigint`, so that no digits are lost. Numbers too large for a double
 * become `Infinity`, which the caller has to refuse. Throws `SyntaxError`.
 */
export function parseJson(text: string): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  if (!LONG_INTEGER.test(text)) return value;
  try {
    // As in JSON.parse, the last of several equal keys counts.
    return parseLossless(text, null, {
      parseNumber: exactNumber,
      onDuplicateKey: ({ newValue }) => newValue,
    }) as JsonValue;
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('the JSON is nested too deeply');
    throw error;
  }
}

/** Values in one message or request: 20,000 documents of 50 fields. */
export const VALUES_MAX = 1_000_000;
const COMMA = 0x2c;

/**
 * Whether JSON text may hold more values than that: it has as many commas. Many tiny values take far longer to read, and
 * far more memory, than their bytes tell.
 */
export function isCrowd(bytes: Buffer): boolean {
  let commas = 0;
  for (let at = bytes.indexOf(COMMA); at >= 0 && commas <= VALUES_MAX; at = bytes.indexOf(COMMA, at + 1)) commas += 1;
  return commas > VALUES_MAX;
}

/** The JSON text of a value that may contain `bigint`s, which are written as numbers with all their digits. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError && /BigInt/.test(error.message)) return stringifyLossless(value) ?? 'null';
    throw error;
  }
}
