import {
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBTypeId,
  SQLNULL,
  TIME,
  TIMESTAMP,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { isObject, type JsonValue, parseJson, stringifyJson } from '../../../contract/json/json.ts';
import { cut, isNumeral } from '../../../contract/text.ts';
import type { Parameter } from '../../engine.ts';
import { conditionIn, isInList } from '../sql/conditions.ts';
import { type Unit, unitOf } from '../sql/corrections/epochs.ts';
import { hasOffset } from '../sql/forms/casts.ts';
import { foldName } from '../sql/names.ts';
import { nodesIn, textOf } from '../sql/tree.ts';
import { integer, type Typed, typedJson } from '../values/typed-json.ts';

/** Undefined if the type does not accept the value: the caller of a conversion names the parameter. */
type Conversion = (value: JsonValue) => Typed | undefined;

const INTEGER_TEXT = /^[+-]?\d{1,64}$/;
const UNBOUNDED = new Map([
  ['nan', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['+infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
]);
const DATE_TEXT = /^(\d{4})-(\d{1,2})-(\d{1,2})$/;
const TIME_TEXT = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;
/** What begins with a date, and the rest. */
const DATED_TEXT = /^(\d{4}-\d{1,2}-\d{1,2})(?:[T\s]\s*(\d[\d:.]*)\s*([^\s\d:.]\S*)?)?$/;
const ZONE_TEXT = /^(?:Z|z|UTC|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;

const DAY_MS = 86_400_000;
const DAY_MICROS = 86_400_000_000n;

function toInteger(value: JsonValue): Typed | undefined {
  if (typeof value === 'bigint') return integer(value);
  if (typeof value === 'number') return Number.isInteger(value) ? integer(BigInt(value)) : undefined;
  const text = typeof value === 'string' ? value.trim() : '';
  return INTEGER_TEXT.test(text) ? integer(BigInt(text.replace('+', ''))) : undefined;
}

function toDouble(value: JsonValue): Typed | undefined {
  if (typeof value === 'number') return { type: DOUBLE, value };
  if (typeof value !== 'string' && typeof value !== 'bigint') return undefined;
  const text = value.toString().trim();
  const unbounded = text.length <= 'Infinity'.length + 1 ? UNBOUNDED.get(text.toLowerCase()) : undefined;
  if (unbounded !== undefined) return { type: DOUBLE, value: unbounded };
  return isNumeral(text) && !losesDigits(text) ? { type: DOUBLE, value: Number(text) } : undefined;
}

/**
 * Whether a number is too large for a double, or an integer that a double cannot hold. Fractions are rounded as
 * everywhere.
 */
function losesDigits(text: string): boolean {
  const double = Number(text);
  if (!Number.isFinite(double)) return true;
  if (Number.isSafeInteger(double) || /[.eE]/.test(text)) return false;
  const integer = BigInt(text.replace('+', ''));
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

/** Minutes ahead of UTC. */
function offsetMinutes(zone: string): number | undefined {
  const match = ZONE_TEXT.exec(zone);
  if (match === null) return undefined;
  return (match[1] === '-' ? -1 : 1) * (Number(match[2] ?? 0) * 60 + Number(match[3] ?? 0));
}

/** Converts ISO-8601 text to microseconds since the epoch; without an offset it is UTC. */
function microsOf(text: string): bigint | undefined {
  const [, date = '', clock = '00:00', zone = ''] = DATED_TEXT.exec(text.trim()) ?? [];
  const [days, time, offset] = [daysOf(date), microsOfDay(clock), offsetMinutes(zone)];
  if (days === undefined || time === undefined || offset === undefined) return undefined;
  return BigInt(days) * DAY_MICROS + time - BigInt(offset) * 60_000_000n;
}

function toDate(value: JsonValue): Typed | undefined {
  const days = typeof value === 'string' ? daysOf(value.trim()) : undefined;
  return days === undefined ? undefined : { type: DATE, value: new DuckDBDateValue(days) };
}

function toTime(value: JsonValue): Typed | undefined {
  const micros = typeof value === 'string' ? microsOfDay(value.trim()) : undefined;
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

/** The value of a list or object that was given as its JSON text; any other as it is. */
function read({ type, value = null }: Parameter): JsonValue {
  if (typeof value !== 'string' || (type !== 'array' && type !== 'object')) return value;
  try {
    return parseJson(value);
  } catch {
    // Not of the type, as the conversion will say.
    return value;
  }
}

/** Each value in a list or an object is converted by itself, while nobody else is served. */
export const PARAMETER_VALUES_MAX = 20_000;
/** Most parameters given with a statement. */
export const PARAMETERS_MAX = 10_000;
/** Most levels of lists and objects in one parameter: types nest as deeply, and are worked on level by level. */
export const PARAMETER_DEPTH_MAX = 100;

/** How many values the lists and objects of a parameter hold. Throws if they are more than `max`, or too deep. */
function countValues(name: string, value: JsonValue, max: number): number {
  let level: readonly JsonValue[] = [value];
  let count = -1;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (count > max) throw tooManyValues(name);
    if (depth > PARAMETER_DEPTH_MAX) throw tooDeep(name);
    const inner: JsonValue[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      const items = Array.isArray(one) ? (one as readonly JsonValue[]) : Object.values(one);
      if (count + inner.length + items.length > max) throw tooManyValues(name);
      for (const item of items) inner.push(item);
    }
    level = inner;
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
  ['array', { convert: (value) => (Array.isArray(value) ? typedJson(value) : undefined), expects: 'a JSON array' }],
  ['object', { convert: (value) => (isObject(value) ? typedJson(value) : undefined), expects: 'a JSON object' }],
  ['null', { convert: () => ({ type: SQLNULL, value: null }), expects: 'nothing' }],
  ['', { convert: typedJson, expects: 'a JSON value' }],
]);

const SHOWN_MAX = 80;

/** Converts a value, as `read`, to its declared type. Throws `invalid_input` naming parameter, type and value. */
function convert({ name, type = '' }: Parameter, value: JsonValue): Typed {
  const conversion = CONVERSIONS.get(type);
  if (conversion === undefined) {
    const types = [...CONVERSIONS.keys()].filter((known) => known !== '').join(', ');
    throw new ApiError('invalid_input', `Parameter "${name}" has the unknown type "${type}". Types are ${types}.`);
  }
  if (value === null) return { type: SQLNULL, value: null };
  const converted = conversion.convert(value);
  if (converted !== undefined) return converted;
  const text = stringifyJson(value);
  const shown = cut(text, SHOWN_MAX);
  throw new ApiError(
    'invalid_input',
    `Parameter "${name}" of type "${type}" cannot have the value ${shown}. ${noSuchDay(type, value) ?? `It takes ${conversion.expects}.`}`,
  );
}

/** What is wrong with a date that is written as one, and that no calendar has. */
function noSuchDay(type: string, value: JsonValue): string | undefined {
  const isDated = type === 'date' || type === 'datetime' || type === 'timestamp';
  const day = isDated && typeof value === 'string' ? /^\s*(\d{4}-\d{1,2}-\d{1,2})(?:\D|$)/.exec(value)?.[1] : undefined;
  return day === undefined || daysOf(day) !== undefined ? undefined : `There is no day ${day}.`;
}

/** Milliseconds of the year 2100, which as microseconds are of the first weeks of 1970: larger numbers may be meant. */
const MILLIS_MAX = 4_102_444_800_000n;
const MICROS_IN: ReadonlyMap<Unit | undefined, bigint> = new Map([
  ['seconds', 1_000_000n],
  ['milliseconds', 1_000n],
]);

/** Warns of timestamps that are integers of another unit, most likely; `used` are the names in the statement. */
export function unitWarnings(used: readonly string[], given: readonly Parameter[] = []): string[] {
  const names = new Set(used.map((name) => name.toLowerCase()));
  return given.flatMap(({ name, type, value = null }) => {
    const micros = type === 'timestamp' ? toInteger(value)?.value : undefined;
    if (typeof micros !== 'bigint' || micros < 0n || micros > MILLIS_MAX) return [];
    const unit = unitOf(Number(micros));
    const factor = MICROS_IN.get(unit);
    if (unit === undefined || factor === undefined) return [];
    if (!names.has(name.replace(/^[:$]/, '').toLowerCase())) return [];
    return [
      `Parameter "${name}" is ${new Date(Number(micros / 1_000n)).toISOString()}: a timestamp counts microseconds. If these are ${unit}, give ${micros * factor}, or ISO text.`,
    ];
  });
}

/** Names, in lower case, of the parameters that are text of a time with an offset. */
export function momentsOf(given: readonly Parameter[]): ReadonlySet<string> {
  const isMoment = ({ type = '', value }: Parameter) =>
    (type === '' || type === 'string') && typeof value === 'string' && hasOffset(value);
  return new Set(given.filter(isMoment).map(({ name }) => name.replace(/^[:$]/, '').toLowerCase()));
}

/** What is to be said of `x IN (:list)`, which fails once it runs. */
export function listsInIn(tree: unknown, values: ReadonlyMap<string, Typed>): string[] {
  const lists = new Map<string, string>();
  for (const [name, { type }] of values) if (type.typeId === DuckDBTypeId.LIST) lists.set(foldName(name), name);
  const found = new Set<string>();
  for (const node of lists.size === 0 ? [] : nodesIn(tree)) {
    const { by, others = [] } = conditionIn(node) ?? {};
    for (const one of by !== undefined && isInList(by) ? others : []) {
      const name = one['class'] === 'PARAMETER' ? lists.get(foldName(textOf(one['identifier']))) : undefined;
      if (name === undefined) continue;
      const [sign, each] = by === 'IN' ? ['=', 'ANY'] : ['<>', 'ALL'];
      found.add(`IN (:${name}) takes values one by one, and "${name}" is a list: write x ${sign} ${each}(:${name}).`);
    }
  }
  return [...found];
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
  if (given.length > PARAMETERS_MAX) throw tooMany(given.length);
  const byName = new Map<string, Parameter>();
  const byFolded = new Map<string, Parameter>();
  for (const parameter of given) {
    // `:name` is an unambiguous slip.
    const name = parameter.name.replace(/^[:$]/, '');
    if (byName.has(name)) throw new ApiError('invalid_input', `Parameter "${name}" is given twice.`);
    byName.set(name, parameter);
    const folded = name.toLowerCase();
    if (!byFolded.has(folded)) byFolded.set(folded, parameter);
  }
  const bound = new Map<string, Typed>();
  let room = PARAMETER_VALUES_MAX;
  for (const name of used) {
    // The engine folds parameter names like all others.
    const parameter = byName.get(name) ?? byFolded.get(name.toLowerCase());
    if (parameter !== undefined && hasValue(parameter)) {
      const value = read(parameter);
      room -= countValues(name, value, room);
      bound.set(name, convert({ ...parameter, name }, value));
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

function tooMany(count: number): ApiError {
  const [most, given] = [PARAMETERS_MAX, count].map((number) => number.toLocaleString('en-US'));
  return new ApiError(
    'invalid_input',
    `There are ${given} parameters; at most ${most} may be given. Send lists as one parameter each.`,
  );
}

function tooDeep(name: string): ApiError {
  return new ApiError(
    'invalid_input',
    `Parameter "${name}" has lists and objects more than ${PARAMETER_DEPTH_MAX} levels deep, which is the limit. Send it as text, and read it with json functions.`,
  );
}

function tooManyValues(name: string): ApiError {
  const most = PARAMETER_VALUES_MAX.toLocaleString('en-US');
  return new ApiError(
    'invalid_input',
    `With parameter "${name}" the parameters have more than ${most} values in lists and objects. Send fewer at once, or add them to a collection as documents and join that.`,
  );
}
