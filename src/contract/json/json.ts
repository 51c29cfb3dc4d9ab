import { createPace } from '../turns/turns.ts';
import { createJsonReader, type ReadNumber } from './json-reader.ts';
import type { JsonValue } from './value.ts';

export { isObject, type JsonObject, type JsonValue, setField } from './value.ts';

// A double represents every integer of up to 15 digits exactly, so only longer ones need the slow, exact parser.
// Fractions are doubles whatever their length. A text that only looks like such a number costs time, but is harmless.
const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16}/;
const INTEGER = /^-?\d+$/;

/** A number, exact if it is an integer. */
export function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return INTEGER.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/**
 * Parses JSON text; integers beyond 2^53 become `bigint`, so that no digits are lost. Numbers too large for a double
 * become `Infinity`, which the caller has to refuse. Throws `SyntaxError`.
 */
export function parseJson(text: string): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  return LONG_INTEGER.test(text) ? readExactly(text) : value;
}

/** What `parseJson` gives; undefined for text that is not JSON. */
export function jsonIn(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function readExactly(text: string): JsonValue {
  const reader = createJsonReader(text, exactNumber);
  reader.read(Number.POSITIVE_INFINITY);
  return reader.value;
}

/** Texts up to this length are parsed in one go: `JSON.parse` takes a few milliseconds. */
const AT_ONCE_CHARS = 128 * 1024;
/** How much of a longer one is read between two looks at the clock. */
const STEP_CHARS = 16 * 1024;

/** As `parseJson`, while others get their turn. Throws `JsonTextError` with the position of what is wrong. */
export async function parseJsonInTurns(text: string): Promise<JsonValue> {
  if (text.length > AT_ONCE_CHARS) return readInTurns(text, exactNumber);
  try {
    return parseJson(text);
  } catch (error) {
    // The built-in parser does not always say where.
    if (error instanceof SyntaxError) return readExactly(text);
    throw error;
  }
}

/** Throws `JsonTextError` if a text is not JSON, while others get their turn. */
export async function checkJson(text: string): Promise<void> {
  await readInTurns(text, undefined);
}

async function readInTurns(text: string, readNumber: ReadNumber | undefined): Promise<JsonValue> {
  const reader = createJsonReader(text, readNumber);
  const pace = createPace();
  while (!reader.read(STEP_CHARS)) {
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return reader.value;
}

/** The JSON text of a value that may contain `bigint`s, which are written as numbers with all their digits. */
export function stringifyJson(value: unknown): string {
  return textWithoutBigints(value) ?? textWithNumbers(value, JSON.stringify) ?? 'null';
}

/** The same, if there is no `bigint` in it. */
export function textWithoutBigints(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError && /BigInt/.test(error.message)) return undefined;
    throw error;
  }
}

/** As `JSON.stringify`, which has no way to write a `bigint`, with numbers as `textOf` writes them. */
export function textWithNumbers(value: unknown, textOf: (number: number) => string): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return textOf(value);
  if (typeof value !== 'object' || value === null || hasOwnText(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => textWithNumbers(item, textOf) ?? 'null').join(',')}]`;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = textWithNumbers(member, textOf);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

function hasOwnText(value: { toJSON?: unknown }): boolean {
  return typeof value.toJSON === 'function';
}
