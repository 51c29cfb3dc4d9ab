import {
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  SQLNULL,
  TIME,
  TIMESTAMP,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { isObject, type JsonValue, parseJson, stringifyJson } from '../../../contract/json.ts';
import type { Parameter } from '../../engine.ts';
import { integer, type Typed, typedJson } from '../values/typed-json.ts';

/** Undefined if the type does not accept the value: the caller of a conversion names the parameter. */
type Conversion = (value: JsonValue) => Typed | undefined;

const INTEGER_TEXT = /^\s*[+-]?\d+\s*$/;
const NUMBER_TEXT = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;
const UNBOUNDED = new Map([
  ['nan', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['+infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
]);
const DATE_TEXT = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*$/;
const TIME_TEXT = /^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*$/;
const ZONED_TEXT =
  /^\s*(\d{4}-\d{1,2}-\d{1,2})(?:[T\s]\s*(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s*(Z|z|UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?\s*$/;

const DAY_MS = 86_400_000;
const DAY_MICROS = 86_400_000_000n;

function toInteger(value: JsonValue): Typed | undefined {
  if (typeof value === 'bigint') return integer(value);
  if (typeof value === 'number') return Number.isInteger(value) ? integer(BigInt(value)) : undefined;
  return typeof value === 'string' && INTEGER_TEXT.test(value) && value.length <= 64
    ? integer(BigInt(value.trim().replace(/^\+/, '')))
    : undefined;
}

function toDouble(value: JsonValue): Typed | undefined {
  if (typeof value === 'number') return { type: DOUBLE, value };
  const text = typeof value === 'bigint' ? value.toString() : value;
  if (typeof text !== 'string') return undefined;
  const unbounded = UNBOUNDED.get(text.trim().toLowerCase());
  if (unbounded !== undefined) return { type: DOUBLE, value: unbounded };
  return NUMBER_TEXT.test(text) && !losesDigits(text) ? { type: DOUBLE, value: Number(text) } : undefined;
}

/**
 * Whether a number is too large for a double, or an integer that a double cannot hold. Fractions are rounded as
 * everywhere.
 */
function losesDigits(text: string): boolean {
  const double = Number(text);
  if (!Number.isFinite(double)) return true;
  if (Number.isSafeInteger(double) || !INTEGER_TEXT.test(text)) return false;
  const integer = BigInt(text.trim().replace(/^\+/, ''));
  // The shortest text of a double, as JavaScript writes it, denotes that double.
  return BigInt(double) !== integer && String(double) !== integer.toString();
}

function toBoolean(value: JsonValue): Typed | undefined {
  const text = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (text === true || text === 'true' || text === 1 || text === '1') return { type: BOOLEAN, value: true };
  if (text === false || text === 'false' || text === 0 || text === '0') return { type: BOOLEAN, value: false };
  return undefined;
}

function toText(value: JsonValue): Typed | undefined {
  return typeof value === 'object' ? undefined : { type: VARCHAR, value: String(value) };
}

/** Days since the epoch; undefined for a date that does not exist. */
function daysOf(text: string): number | undefined {
  const [, year, month, day] = DATE_TEXT.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() / DAY_MS : undefined;
}

/** Microseconds since midnight. */
function microsOfDay(text: string): bigint | undefined {
  const match = TIME_TEXT.exec(text);
  if (match === null) return undefined;
  const [hours, minutes, seconds] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const fraction = (match[4] ?? '').padEnd(6, '0').slice(0, 6);
  return BigInt((hours * 60 + minutes) * 60 + seconds) * 1_000_000n + BigInt(fraction);
}

function offsetMinutes(zone: string): number {
  const match = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone);
  if (match === null) return 0;
  return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3] ?? 0));
}

/** Converts ISO-8601 text to microseconds since the epoch; without an offset it is UTC. */
function microsOf(text: string): bigint | undefined {
  const match = ZONED_TEXT.exec(text);
  const days = match === null ? undefined : daysOf(match[1] ?? '');
  const time = microsOfDay(match?.[2] ?? '00:00');
  if (days === undefined || time === undefined) return undefined;
  return BigInt(days) * DAY_MICROS + time - BigInt(offsetMinutes(match?.[3] ?? '')) * 60_000_000n;
}

function toDate(value: JsonValue): Typed | undefined {
  const days = typeof value === 'string' ? daysOf(value) : undefined;
  return days === undefined ? undefined : { type: DATE, value: new DuckDBDateValue(days) };
}

function toTime(value: JsonValue): Typed | undefined {
  const micros = typeof value === 'string' ? microsOfDay(value) : undefined;
  return micros === undefined ? undefined : { type: TIME, value: new DuckDBTimeValue(micros) };
}

function toDatetime(value: JsonValue): Typed | undefined {
  const micros = typeof value === 'string' ? microsOf(value) : undefined;
  return micros === undefined ? undefined : { type: TIMESTAMP, value: new DuckDBTimestampValue(micros) };
}

/** An integer counts microseconds since the epoch, as in `_event_time`. */
function toTimestamp(value: JsonValue): Typed | undefined {
  const whole = toInteger(value)?.value;
  const micros = typeof value === 'string' && typeof whole !== 'bigint' ? microsOf(value) : whole;
  if (typeof micros !== 'bigint' || BigInt.asIntN(64, micros) !== micros) return undefined;
  return { type: TIMESTAMPTZ, value: new DuckDBTimestampTZValue(micros) };
}

function fromJson(isExpected: (value: JsonValue) => boolean): Conversion {
  return (value) => {
    const json = typeof value === 'string' ? parsed(value) : value;
    return json !== undefined && isExpected(json) ? typedJson(json) : undefined;
  };
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Each value in a list or an object is converted by itself, while nobody else is served. */
export const PARAMETER_VALUES_MAX = 100_000;

/** How many values the lists and objects of a parameter hold, or one more than `max`. */
function countValues({ type, value = null }: Parameter, max: number): number {
  const isText = typeof value === 'string' && (type === 'array' || type === 'object');
  const open: JsonValue[] = [(isText ? parsed(value) : value) ?? null];
  let count = -1;
  for (let one = open.pop(); one !== undefined && count <= max; one = open.pop()) {
    count += 1;
    if (typeof one !== 'object' || one === null) continue;
    const inner = Array.isArray(one) ? (one as readonly JsonValue[]) : Object.values(one);
    if (count + inner.length > max) return max + 1;
    for (const item of inner) open.push(item);
  }
  return count;
}

const CONVERSIONS = new Map<string, { convert: Conversion; expects: string }>([
  ['string', { convert: toText, expects: 'text' }],
  ['int', { convert: toInteger, expects: 'an integer of at most 128 bits' }],
  [
    'float',
    { convert: toDouble, expects: 'a number that a double holds, NaN or Infinity; an integer beyond 2^53 is an int' },
  ],
  ['bool', { convert: toBoolean, expects: 'true or false' }],
  ['date', { convert: toDate, expects: 'a date as YYYY-MM-DD' }],
  ['time', { convert: toTime, expects: 'a time as HH:MM:SS, with up to 6 decimals' }],
  ['datetime', { convert: toDatetime, expects: 'a date and time as YYYY-MM-DDTHH:MM:SS' }],
  ['timestamp', { convert: toTimestamp, expects: 'ISO-8601 such as 2026-01-31T12:00:00Z, or microseconds since 1970' }],
  ['array', { convert: fromJson(Array.isArray), expects: 'a JSON array' }],
  [
    'object',
    {
      convert: fromJson((value) => isObject(value)),
      expects: 'a JSON object',
    },
  ],
  ['null', { convert: () => ({ type: SQLNULL, value: null }), expects: 'nothing' }],
  ['', { convert: typedJson, expects: 'a JSON value' }],
]);

const SHOWN_MAX = 80;

/** Converts a value to its declared type. Throws `invalid_input` naming parameter, type and value. */
export function convertParameter({ name, type = '', value = null }: Parameter): Typed {
  const conversion = CONVERSIONS.get(type);
  if (conversion === undefined) {
    const types = [...CONVERSIONS.keys()].filter((known) => known !== '').join(', ');
    throw new ApiError('invalid_input', `Parameter "${name}" has the unknown type "${type}". Types are ${types}.`);
  }
  if (value === null) return { type: SQLNULL, value: null };
  const converted = conversion.convert(value);
  if (converted !== undefined) return converted;
  const text = stringifyJson(value);
  const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
  throw new ApiError(
    'invalid_input',
    `Parameter "${name}" of type "${type}" cannot have the value ${shown}. It takes ${conversion.expects}.`,
  );
}

/** Whether a value was given: the type `null` needs none. */
function hasValue(parameter: Parameter): boolean {
  return parameter.value !== undefined || parameter.type === 'null';
}

/**
 * The values of the parameters that a statement uses, by name; unused ones are left out.
 *
 * Throws `invalid_input` for a value that its type does not accept, a name given twice or too many values, and
 * `query_error` for a parameter without a value, unless `allowMissing`: then it is left out.
 */
export function bindParameters(
  used: readonly string[],
  given: readonly Parameter[],
  allowMissing = false,
): Map<string, Typed> {
  const byName = new Map<string, Parameter>();
  for (const parameter of given) {
    // `:name` is an unambiguous slip.
    const name = parameter.name.replace(/^[:$]/, '');
    if (byName.has(name)) throw new ApiError('invalid_input', `Parameter "${name}" is given twice.`);
    byName.set(name, parameter);
  }
  const bound = new Map<string, Typed>();
  let room = PARAMETER_VALUES_MAX;
  for (const name of used) {
    // The engine folds parameter names like all others.
    const parameter = byName.get(name) ?? given.find((other) => other.name.toLowerCase() === name.toLowerCase());
    if (parameter !== undefined && hasValue(parameter)) {
      room -= countValues(parameter, room);
      if (room < 0) throw tooManyValues(name);
      bound.set(name, convertParameter({ ...parameter, name }));
    } else if (!allowMissing) {
      throw new ApiError(
        'query_error',
        `Parameter ":${name}" is used by the SQL and has no value. ` +
          `Add {"name": "${name}", "value": …} to the parameters.`,
      );
    }
  }
  return bound;
}

function tooManyValues(name: string): ApiError {
  const most = PARAMETER_VALUES_MAX.toLocaleString('en-US');
  return new ApiError(
    'invalid_input',
    `With parameter "${name}" the parameters have more than ${most} values in lists and objects. Send fewer at once, or add them to a collection as documents and join that.`,
  );
}
