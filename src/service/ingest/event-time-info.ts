import type { EventTimeInfo } from '../../contract/collections.ts';
import { ApiError } from '../../contract/errors.ts';
import { type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { nearest } from '../../contract/nearest.ts';
import { cut } from '../../contract/text.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EventTimeRecord } from '../catalog/records.ts';
import type { Draft } from './drafts.ts';
import { eventTimeMicros, isEventTime, isNear1970, isoTime, offsetMinutes } from './event-time.ts';
import type { Refuse } from './field-mappings.ts';
import { fieldPath, valueAt } from './field-path.ts';

const ISO = 'ISO-8601';
/** Units of a count since 1970, in nanoseconds. */
const UNITS: Readonly<Record<string, bigint>> = {
  seconds_since_epoch: 1_000_000_000n,
  milliseconds_since_epoch: 1_000_000n,
  microseconds_since_epoch: 1_000n,
  nanoseconds_since_epoch: 1n,
};
const FORMATS = `"${ISO}" (the default), ${Object.keys(UNITS)
  .map((unit) => `"${unit}"`)
  .join(', ')}, or a pattern of strptime such as "%Y-%m-%d %H:%M:%S"`;
const UTC = 'UTC';
const OFFSET = /^[+-]\d\d:?\d\d$/;
const DECIMAL = /^([+-]?)(\d{1,30})(?:\.(\d{1,30}))?$/;
const SHOWN_MAX = 80;
const TEXTS_MAX = 200;

/** A time without a zone, as a pattern for the engine. */
const LOCAL_PATTERN = '%Y-%m-%d %H:%M:%S.%f';

/**
 * The event time settings of a new collection, checked and with defaults filled in (ISO-8601, UTC). Throws the error
 * that `refuse` makes, listing the known formats.
 */
export async function readEventTimeInfo(
  engine: Pick<Engine, 'readTimes'>,
  given: EventTimeInfo,
  refuse: Refuse,
): Promise<EventTimeRecord> {
  const field = given.field ?? '';
  const path = fieldPath(field);
  if (field === '') throw refuse('"event_time_info.field" is missing; it names the field that holds the event time');
  if (path === undefined || path[0] === '_meta' || path[0] === '_id') {
    throw refuse(`"event_time_info.field" is "${field}", which cannot hold an event time`);
  }
  const format = readFormat(given.format ?? ISO, refuse);
  const timeZone = readTimeZone(given.time_zone ?? UTC, refuse);
  const pattern = isPattern(format) ? format : LOCAL_PATTERN;
  try {
    await engine.readTimes(['a text'], { pattern, timeZone: OFFSET.test(timeZone) ? UTC : timeZone });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_input') throw error;
    throw refuse(`"event_time_info" is refused: ${error.message} Formats are ${FORMATS}`);
  }
  return { field, format, timeZone };
}

function isPattern(format: string): boolean {
  return format.includes('%');
}

function readFormat(given: string, refuse: Refuse): string {
  if (isPattern(given)) return given;
  const known = [ISO, ...Object.keys(UNITS)];
  const found = known.find((format) => format.toLowerCase() === given.toLowerCase());
  if (found !== undefined) return found;
  throw refuse(`"event_time_info.format" is "${given}", which is no format; formats are ${FORMATS}`);
}

/** The zone's name in IANA's spelling, or an offset. */
function readTimeZone(given: string, refuse: Refuse): string {
  if (given === 'Z') return UTC;
  if (OFFSET.test(given) && offsetMinutes(given) !== undefined) return given;
  const zones = Intl.supportedValuesOf('timeZone');
  const found = [UTC, ...zones].find((zone) => zone.toLowerCase() === given.toLowerCase());
  // Names outside the list may still be older aliases of a zone, such as US/Pacific.
  if (found !== undefined || (!OFFSET.test(given) && isTimeZone(given))) return found ?? given;
  const close = nearest(given, zones).map((zone) => `"${zone}"`);
  const hint = close.length === 0 ? '' : `; did you mean ${close.join(' or ')}?`;
  throw refuse(
    `"event_time_info.time_zone" is "${given}", which is no time zone; it takes a name of the IANA list such as "Europe/Berlin", an offset such as "+02:00", or "UTC"${hint}`,
  );
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The field that holds the event time, if the times in it can be read one by one; undefined: they cannot. */
export function plainTimeField({ field, format }: EventTimeRecord): string | undefined {
  return isPattern(format) || fieldPath(field)?.length !== 1 || field === '_event_time' ? undefined : field;
}

/** One such time, in microseconds since 1970; undefined if it needs a closer look. */
export function plainTime({ format, timeZone }: EventTimeRecord, value: string | number): bigint | undefined {
  const unit = UNITS[format];
  const local = typeof value === 'string' && timeZone !== UTC && isoTime(value)?.hasZone === false;
  const micros = unit === undefined ? (local ? undefined : eventTimeMicros(value)) : countedTime(value, unit);
  return micros !== undefined && micros !== null && isEventTime(micros) ? micros : undefined;
}

/** As `isNear1970`, of a value in the field that the settings name: a number is of microseconds unless they say otherwise. */
export function isFieldNear1970({ format }: EventTimeRecord, value: JsonValue | undefined): boolean {
  return format === ISO && isNear1970(value);
}

/**
 * Event times in microseconds, in the order of `drafts`, from the field that the collection's settings name: as the
 * mappings left it, or else as received. Null if the document has none. If a value does not fit the format, its draft
 * gets a `problem`: with the time of arrival instead, queries about time, and retention, would treat it wrongly.
 */
export async function readEventTimes(
  engine: Pick<Engine, 'readTimes' | 'timeFormats'>,
  info: EventTimeRecord,
  drafts: readonly Draft[],
): Promise<(bigint | null)[]> {
  const path = fieldPath(info.field) ?? [];
  const values = drafts.map((draft) => {
    if (draft.problem !== null || draft.isDropped === true) return null;
    return valueAt(draft.fields, path) ?? valueAt(draft.given, path);
  });
  const found = await timesOf(engine, info, values);
  let others: readonly string[] | undefined;
  return drafts.map((draft, index) => {
    const value = values[index] ?? null;
    if (value === null) return null;
    const micros = found[index] ?? null;
    if (isFieldNear1970(info, value)) draft.isNear1970 = true;
    if (micros !== null && isEventTime(micros)) return micros;
    others ??= otherFormats(
      engine,
      values.filter((_, at) => found[at] === null),
    );
    const shown = cut(stringifyJson(value), SHOWN_MAX);
    draft.problem = `the event time in "${info.field}" is ${shown}, which is no time of the format "${info.format}" in the years 1 to 9999${formatHint(others)}`;
    if (others.some(isPattern)) draft.kind = 'other_time_format';
    return null;
  });
}

/** The formats that values may have in place of the one that they should; none: it is not known. */
function otherFormats(engine: Pick<Engine, 'timeFormats'>, values: readonly JsonValue[]): readonly string[] {
  const texts = values.filter((value) => typeof value === 'string').slice(0, TEXTS_MAX);
  return texts.length === 0 ? [] : engine.timeFormats(texts);
}

function formatHint(formats: readonly string[]): string {
  return formats.length === 0 ? '' : `; it has the format ${formats.map((one) => JSON.stringify(one)).join(' or ')}`;
}

async function timesOf(
  engine: Pick<Engine, 'readTimes'>,
  info: EventTimeRecord,
  values: readonly JsonValue[],
): Promise<(bigint | null)[]> {
  const unit = UNITS[info.format];
  if (unit !== undefined) return values.map((value) => countedTime(value, unit));
  if (!isPattern(info.format)) return isoTimes(engine, info, values);
  return inZone(engine, info.timeZone, info.format, values.map(textOf));
}

/** A number counts as its digits, for patterns such as `%Y%m%d`. */
function textOf(value: JsonValue): string | null {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : null;
}

/** The times of texts in a zone; for an offset they are read as UTC and then moved. */
async function inZone(
  engine: Pick<Engine, 'readTimes'>,
  timeZone: string,
  pattern: string,
  texts: readonly (string | null)[],
): Promise<(bigint | null)[]> {
  const given = texts.filter((text) => text !== null);
  if (given.length === 0) return texts.map(() => null);
  const isOffset = OFFSET.test(timeZone);
  const times = await engine.readTimes(given, { pattern, timeZone: isOffset ? UTC : timeZone });
  // A pattern that contains the zone already gives the right time.
  const ahead = isOffset && !/%[zZ]/.test(pattern.replaceAll('%%', '')) ? (offsetMinutes(timeZone) ?? 0) : 0;
  let next = 0;
  return texts.map((text) => {
    const time = text === null ? null : (times[next++] ?? null);
    return time === null ? null : time - BigInt(ahead) * 60_000_000n;
  });
}

/** ISO-8601, or an integer of microseconds, like `_event_time`; a text without a zone is in that of the settings. */
async function isoTimes(
  engine: Pick<Engine, 'readTimes'>,
  { timeZone }: EventTimeRecord,
  values: readonly JsonValue[],
): Promise<(bigint | null)[]> {
  const read = values.map((value) => (typeof value === 'string' ? isoTime(value) : undefined));
  const local = read.map((time) =>
    time === undefined || time.hasZone || timeZone === UTC ? null : localText(time.micros),
  );
  const moved = await inZone(engine, timeZone, LOCAL_PATTERN, local);
  return values.map((value, index) => {
    if (local[index] !== null) return moved[index] ?? null;
    return eventTimeMicros(value) ?? null;
  });
}

/** Null for years that such a text cannot express. */
function localText(micros: bigint): string | null {
  if (!isEventTime(micros)) return null;
  const inMs = ((micros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((micros - inMs) / 1_000n)).toISOString();
  return `${text.slice(0, -1).replace('T', ' ')}${String(inMs).padStart(3, '0')}`;
}

/** Exact for every count, also as text; digits below a microsecond are dropped. */
function countedTime(value: JsonValue, unit: bigint): bigint | null {
  const match = DECIMAL.exec(textOf(value)?.trim() ?? '');
  if (match === null) return null;
  const fraction = (match[3] ?? '').slice(0, 9).padEnd(9, '0');
  const nanos = BigInt(match[2] ?? 0) * unit + (BigInt(fraction) * unit) / 1_000_000_000n;
  const signed = match[1] === '-' ? -nanos : nanos;
  const rest = ((signed % 1_000n) + 1_000n) % 1_000n;
  return (signed - rest) / 1_000n;
}
