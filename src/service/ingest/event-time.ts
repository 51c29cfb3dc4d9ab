import type { JsonValue } from '../../contract/json/json.ts';

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/;
// The years 1 to 9999.
const MICROS_MIN = -62_135_596_800_000_000n;
const MICROS_MAX = 253_402_300_799_999_999n;

/** The rule for an `_event_time`, as a clause. */
export const EVENT_TIME_RULE =
  '"_event_time" must be an ISO-8601 string such as "2026-11-20T18:00:00Z", or an integer of microseconds since 1970, of the years 1 to 9999';

/**
 * An `_event_time` in microseconds since the epoch: from an ISO-8601 string (UTC if it names no zone; digits beyond the
 * sixth are dropped) or an integer of microseconds. Undefined if it is neither, or outside the years 1 to 9999.
 */
export function eventTimeMicros(value: JsonValue): bigint | undefined {
  const micros = typeof value === 'string' ? isoTime(value)?.micros : integerOf(value);
  return micros !== undefined && isEventTime(micros) ? micros : undefined;
}

const YEAR_MICROS = 31_536_000_000_000;

/** Whether an `_event_time` is a number within a year of 1970; present times in seconds or milliseconds are. */
export function isNear1970(value: JsonValue | undefined): boolean {
  return typeof value === 'number' && Math.abs(value) < YEAR_MICROS;
}

/** Whether these microseconds since the epoch are within the years 1 to 9999. */
export function isEventTime(micros: bigint): boolean {
  return micros >= MICROS_MIN && micros <= MICROS_MAX;
}

function integerOf(value: JsonValue): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}

/** An ISO-8601 text in microseconds since the epoch, in UTC if it names no zone, and whether it names one. */
export function isoTime(text: string): { micros: bigint; hasZone: boolean } | undefined {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day ?? 0);
  date.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0);
  // Date turns 30 February into a day in March, and 25:00 into the next day; such texts are mistakes.
  if (date.getUTCMonth() + 1 !== month || date.getUTCDate() !== day) return undefined;
  if (date.getUTCHours() !== hour || date.getUTCMinutes() !== minute || date.getUTCSeconds() !== second)
    return undefined;
  const offset = offsetMinutes(match[8]);
  if (offset === undefined) return undefined;
  const fraction = BigInt((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
  const micros = (BigInt(date.getTime()) - BigInt(offset) * 60_000n) * 1_000n + fraction;
  return { micros, hasZone: match[8] !== undefined };
}

/** The minutes by which an offset such as `+02:00` or `Z` is ahead of UTC; undefined if there is no such offset. */
export function offsetMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', ''));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
