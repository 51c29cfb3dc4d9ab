import type { Asked, Look } from './look.ts';

/** What makes a time of a number; each takes another unit. */
const OF_NUMBERS = /to_timestamp|make_timestamp|epoch_ms/i;
const ROWS_MAX = 100;

/** What makes a time of text. */
const OF_TEXT = /\bstrptime\s*\(|\bcast\s*\(|::/i;
const IS_TIME = /^(?:DATE|TIMESTAMP)/;

export const farTimes: Look = (_, asked) =>
  OF_NUMBERS.test(asked.sql) || OF_TEXT.test(asked.sql)
    ? [{ kind: 'farTime', samples: [], said: () => farTimeSaid(asked) }]
    : [];

/**
 * Says that numbers were taken for seconds, or the like, that are in a smaller unit: their times are far in the future; and
 * that text with two digits of a year was read as if they were all of it.
 */
function farTimeSaid({ sql, columns, rows }: Asked): string | undefined {
  const [isOfNumbers, isOfText] = [OF_NUMBERS.test(sql), OF_TEXT.test(sql)];
  for (const row of rows.slice(0, ROWS_MAX)) {
    for (const [at, value] of row.entries()) {
      if (typeof value !== 'string') continue;
      const { name = 'A column', type = '' } = columns[at] ?? {};
      const year = isOfNumbers ? /^\+?(\d{5,6})-\d\d-\d\d[T ]/.exec(value)?.[1] : undefined;
      if (year !== undefined)
        return `${name} has times in the year ${Number(year)}: to_timestamp takes seconds since 1970. Of milliseconds epoch_ms(x) makes a time, of microseconds make_timestamp(x).`;
      const short = isOfText && IS_TIME.test(type) ? /^00(\d\d)-\d\d-\d\d/.exec(value)?.[1] : undefined;
      // The first day of the first year stands for none.
      if (short !== undefined && !value.startsWith('0001-01-01'))
        return `${name} has times in the year ${Number(short)}: strptime reads a year of two digits by %y, as in strptime(x, '%d/%m/%y').`;
    }
  }
  return undefined;
}
