import { TIME_COLUMN } from './columns.ts';
import { quoteName } from './names.ts';

/** SQL that holds for a document within the retention, now; for a view, whose every reading has its own now. */
export function isKept(retentionSecs: number): string {
  return `${quoteName(TIME_COLUMN)} >= now() - to_seconds(${retentionSecs})`;
}

/** The oldest event time within the retention, now; null where nothing is ever too old. */
export function oldestKeptMicros(retentionSecs: number | null): bigint | null {
  return retentionSecs === null ? null : BigInt(Date.now()) * 1_000n - BigInt(retentionSecs) * 1_000_000n;
}
