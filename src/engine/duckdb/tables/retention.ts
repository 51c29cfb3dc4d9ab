import { quoteName, TIME_COLUMN } from '../sql/names.ts';

/** SQL condition for a document within the retention at a time; in a view, `now()` is the time of each read. */
export function isKept(retentionSecs: number, now = 'now()'): string {
  return `${quoteName(TIME_COLUMN)} >= ${now} - to_seconds(${retentionSecs})`;
}

/** The same after other conditions; empty if nothing is ever too old. */
export function andKept(retentionSecs: number | null): string {
  return retentionSecs === null ? '' : ` AND ${isKept(retentionSecs)}`;
}

/** The oldest event time currently within the retention; null if nothing is ever too old. */
export function oldestKeptMicros(retentionSecs: number | null): bigint | null {
  return retentionSecs === null ? null : BigInt(Date.now()) * 1_000n - BigInt(retentionSecs) * 1_000_000n;
}
