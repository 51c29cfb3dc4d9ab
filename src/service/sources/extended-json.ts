import { isObject, type JsonObject, parseJson, stringifyJson } from '../../contract/json/json.ts';
import { decimalValue } from './decimals.ts';

/*
 * MongoDB's Extended JSON: objects of one key, such as {"$oid": "…"}, that stand for values which JSON lacks. What they
 * become is what the same values of BSON become. Times of the oplog, regular expressions, code, and the least and the
 * greatest key are these objects there, too, and stay.
 */

/** The first and the last millisecond of the years that ISO 8601 writes with four digits. */
const TIME_MIN = -62_167_219_200_000n;
const TIME_MAX = 253_402_300_799_999n;
const UUID_SUBTYPE = 4;
const UUID_BYTES = 16;

/** JSON has no infinities and no NaN: they are text. Digits alone would be an integer. */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
}

/** ISO 8601 in UTC; outside of its years Extended JSON. */
export function dateText(ms: bigint): string {
  if (ms < TIME_MIN || ms > TIME_MAX) return `{"$date":{"$numberLong":"${ms}"}}`;
  return `"${new Date(Number(ms)).toISOString()}"`;
}

const INTEGER = /^-?\d{1,19}$/;
const DOUBLE = /^(?:-?(?:\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?|Infinity)|NaN)$/;
const DECIMAL = /^(?:-?(?:\d{1,40}(?:\.\d{1,40})?(?:E[+-]?\d{1,4})?|Infinity)|NaN)$/;

/** A day, with a time or without, and what is behind that: its zone. */
const DATE = /^[+-]?\d{4,6}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

type Meaning = (value: unknown, form: JsonObject) => string | undefined;

const textMeant: Meaning = (value) => (typeof value === 'string' ? JSON.stringify(value) : undefined);
const integerMeant: Meaning = (value) =>
  typeof value === 'string' && INTEGER.test(value) ? String(BigInt(value)) : undefined;

/** By the first key: the JSON text of what a form means; undefined if it is none. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['$oid', (value, form) => (value === '' ? undefined : textMeant(value, form))],
  ['$date', dateMeant],
  ['$numberInt', integerMeant],
  ['$numberLong', integerMeant],
  [
    '$numberDouble',
    (value) => (typeof value === 'string' && DOUBLE.test(value) ? doubleText(Number(value)) : undefined),
  ],
  [
    '$numberDecimal',
    (value) => (typeof value === 'string' && DECIMAL.test(value) ? stringifyJson(decimalValue(value)) : undefined),
  ],
  ['$binary', binaryMeant],
  ['$uuid', textMeant],
  ['$symbol', textMeant],
  ['$undefined', (value) => (value === true ? 'null' : undefined)],
]);

/** The one that has a second key beside the first, in files of earlier versions. */
const TYPE_KEY = '$type';

/** Whether an object whose first key this is may be one of the forms. */
export function isFormKey(key: string): boolean {
  return MEANINGS.has(key) || key === TYPE_KEY;
}

/** What an object means that is exactly one of the forms, as JSON text; undefined if it is none. */
export function meaningOf(form: JsonObject): string | undefined {
  const keys = Object.keys(form);
  const key = keys.length === 1 ? keys[0] : keys.includes('$binary') && keys.includes(TYPE_KEY) ? '$binary' : undefined;
  if (key === undefined || keys.length > 2) return undefined;
  return MEANINGS.get(key)?.(form[key], form);
}

/** Time zones are written without a colon by some versions, milliseconds as a number by the earliest. */
function dateMeant(value: unknown): string | undefined {
  if (isObject(value)) {
    const long = Object.keys(value).length === 1 ? (value as JsonObject)['$numberLong'] : undefined;
    return typeof long === 'string' && INTEGER.test(long) ? dateText(BigInt(long)) : undefined;
  }
  const ms = typeof value === 'string' ? msOf(value) : value;
  return typeof ms === 'number' && Number.isSafeInteger(ms) ? dateText(BigInt(ms)) : undefined;
}

/** One without a zone is of UTC, as MongoDB has it, wherever this runs. */
function msOf(text: string): number | undefined {
  const parts = DATE.exec(text);
  if (parts === null) return undefined;
  return Date.parse(text.includes('T') && parts[1] === undefined ? `${text}Z` : text);
}

function binaryMeant(value: unknown, form: JsonObject): string | undefined {
  const { base64, subType } = isObject(value)
    ? (value as JsonObject)
    : { base64: value, subType: form[TYPE_KEY] ?? null };
  if (typeof base64 !== 'string' || (typeof subType !== 'string' && typeof subType !== 'number')) return undefined;
  const bytes = Number.parseInt(String(subType), 16) === UUID_SUBTYPE ? Buffer.from(base64, 'base64') : undefined;
  if (bytes?.length !== UUID_BYTES) return JSON.stringify(base64);
  return JSON.stringify(bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
}

/** The JSON text of what the text of an object means; undefined if it is none of the forms. */
export function meaningOfText(text: string): string | undefined {
  try {
    const form = parseJson(text);
    return isObject(form) ? meaningOf(form as JsonObject) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
