import {
  type DuckDBDateValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
} from '@duckdb/node-api';

const DAY_MS = 86_400_000;
/** The range of Date, on either side of the epoch. */
const DATE_MS_MAX = 8_640_000_000_000_000;
const INFINITY_DAYS = 2_147_483_647;
const INFINITY_TICKS = 9_223_372_036_854_775_807n;

/** `YYYY-MM-DD`, or `infinity`. */
export function dateText(date: DuckDBDateValue): string {
  if (Math.abs(date.days) === INFINITY_DAYS) return date.days < 0 ? '-infinity' : 'infinity';
  const ms = date.days * DAY_MS;
  return Math.abs(ms) <= DATE_MS_MAX ? new Date(ms).toISOString().replace(/T.*/, '') : date.toString();
}

type Timestamp =
  | DuckDBTimestampValue
  | DuckDBTimestampTZValue
  | DuckDBTimestampSecondsValue
  | DuckDBTimestampMillisecondsValue
  | DuckDBTimestampNanosecondsValue;

/** Ticks of a timestamp, and nanoseconds per tick. */
function ticksOf(value: Timestamp): [bigint, bigint] {
  if (value instanceof DuckDBTimestampNanosecondsValue) return [value.nanos, 1n];
  if (value instanceof DuckDBTimestampMillisecondsValue) return [value.millis, 1_000_000n];
  if (value instanceof DuckDBTimestampSecondsValue) return [value.seconds, 1_000_000_000n];
  return [value.micros, 1_000n];
}

function isoText(micros: bigint, lastDigits: string): string | undefined {
  const near = Number(micros);
  const ms = Number.isSafeInteger(near) ? Math.floor(near / 1_000) : Number((micros - modulo(micros)) / 1_000n);
  if (Math.abs(ms) > DATE_MS_MAX) return undefined;
  const rest = Number.isSafeInteger(near) ? near - ms * 1_000 : Number(modulo(micros));
  return `${new Date(ms).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}${lastDigits}`;
}

/** The remainder below 1,000, never negative. */
function modulo(value: bigint): bigint {
  return ((value % 1_000n) + 1_000n) % 1_000n;
}

/**
 * ISO-8601 with microseconds (nanoseconds if there are any), or `infinity`. Only an instant has a `Z`: a time without a zone
 * may be that of any place, such as what AT TIME ZONE gives.
 */
export function timestampText(value: Timestamp): string {
  const [ticks, nanosPerTick] = ticksOf(value);
  if (ticks === INFINITY_TICKS) return 'infinity';
  if (ticks === -INFINITY_TICKS) return '-infinity';
  const text = digitsText(ticks, nanosPerTick);
  if (text === undefined) return value.toString();
  return value instanceof DuckDBTimestampTZValue ? `${text}Z` : text;
}

function digitsText(ticks: bigint, nanosPerTick: bigint): string | undefined {
  if (nanosPerTick !== 1n) return isoText(ticks * (nanosPerTick / 1_000n), '');
  const nanos = modulo(ticks);
  const lastDigits = nanos === 0n ? '' : String(nanos).padStart(3, '0');
  return isoText((ticks - nanos) / 1_000n, lastDigits);
}
