import type { JsonValue } from '../../../contract/json/json.ts';

/** What makes a time of a number; each takes another unit. */
const OF_NUMBERS = /\b(?:to_timestamp|make_timestamp(?:_ms|_ns|tz)?|epoch_ms)\s*\(/i;
const ROWS_MAX = 100;

/** Says that numbers were taken for seconds, or the like, that are in a smaller unit: their times are far in the future. */
export function farTimeWarnings(
  sql: string,
  { columns, rows }: { columns: readonly { name: string }[]; rows: readonly (readonly JsonValue[])[] },
): string[] {
  if (!OF_NUMBERS.test(sql)) return [];
  for (const row of rows.slice(0, ROWS_MAX)) {
    for (const [at, value] of row.entries()) {
      const year = typeof value === 'string' ? /^\+?(\d{5,6})-\d\d-\d\d[T ]/.exec(value)?.[1] : undefined;
      if (year === undefined) continue;
      return [
        `${columns[at]?.name ?? 'A column'} has times in the year ${Number(year)}: to_timestamp takes seconds since 1970. Of milliseconds epoch_ms(x) makes a time, of microseconds make_timestamp(x).`,
      ];
    }
  }
  return [];
}
