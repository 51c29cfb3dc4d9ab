import { quoteText } from '../sql/names.ts';
import { type TimeShape, templateOf, timeShapeOf, type timeType } from '../values/time-text.ts';

/*
 * How times in cells of CSV are spelled, as patterns and conditions of SQL: as a column of times gives them back, and in any way of
 * ISO 8601.
 */

export type TimeType = ReturnType<typeof timeType>;

const DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
const DATE_CHARS = 10;
const MINUTES = '([01][0-9]|2[0-3]):[0-5][0-9]';
const SECONDS = ':[0-5][0-9]';
const CLOCK_CHARS = 8;
const ANY_CLOCK = `${MINUTES}(${SECONDS}([.][0-9]{1,9})?)?`;
const ANY_ZONE = '(Z|[+-]((0[0-9]|1[0-7])(:?[0-5][0-9])?|18(:?00)?))';

/** Narrower ones first: a date is the first moment of its day, too. */
const ANY: Readonly<Record<TimeType, string>> = {
  DATE,
  TIMESTAMP: `${DATE}([T ]${ANY_CLOCK})?`,
  'TIMESTAMP WITH TIME ZONE': `${DATE}[T ]${ANY_CLOCK}${ANY_ZONE}`,
};
export const TIME_TYPES = Object.keys(ANY) as TimeType[];

/** The times that a text is one of, if a column of them gives it back. */
export function timeKindOf(text: string): TimeShape | undefined {
  const shape = timeShapeOf(text);
  return shape !== undefined && text.length === templateOf(shape).length ? shape : undefined;
}

/** SQL condition for a cell that is spelled as a column of times gives it back, if it is a time. */
export function isSpelledAs(cell: string, shape: TimeShape): string {
  return `regexp_full_match(${cell}, ${quoteText(spellingOf(shape).pattern)})`;
}

/** SQL condition for a cell, not NULL, that is a time which such a column gives back. */
export function isTime(cell: string, shape: TimeShape): string {
  const { zone } = spellingOf(shape);
  // In UTC, the first and the last day may be of another year.
  const isInside = /[1-9]/.test(zone) ? ` AND left(${cell}, ${DATE_CHARS}) NOT IN ('0001-01-01', '9999-12-31')` : '';
  return `(${isSpelledAs(cell, shape)} AND ${isDay(cell)}${isInside})`;
}

/** SQL condition for a cell that is a time of a type, however it is spelled, and that the engine reads. */
export function isAnyTime(cell: string, type: TimeType): string {
  // In UTC, the first and the last day may be of another year.
  const isInside =
    type === 'TIMESTAMP WITH TIME ZONE'
      ? ` AND NOT regexp_matches(${cell}, '^(0001-01-01|9999-12-31).*([+-](0[1-9]|1)|[+-]00:?([1-5]|0[1-9]))')`
      : '';
  const isRead = `${isDay(cell)}${isInside} AND TRY_CAST(${readable(cell)} AS ${type}) IS NOT NULL`;
  return `CASE WHEN regexp_full_match(${cell}, ${quoteText(ANY[type])}) THEN ${isRead} ELSE false END`;
}

/** SQL for a time as the engine reads it: it needs seconds before a zone, and a colon in that, and it rounds the seventh digit. */
export function readable(cell: string): string {
  const withSeconds = `regexp_replace(${cell}, '^(.{10}[T ].{5})([Z+-].*)$', '\\1:00\\2')`;
  const withColon = `regexp_replace(${withSeconds}, '(:.*[+-][0-9]{2})([0-9]{2})$', '\\1:\\2')`;
  return `regexp_replace(${withColon}, '([.][0-9]{6})[0-9]{1,3}', '\\1')`;
}

function isDay(cell: string): string {
  return `TRY_CAST(left(${cell}, ${DATE_CHARS}) AS DATE) IS NOT NULL AND NOT starts_with(${cell}, '0000')`;
}

function spellingOf(shape: TimeShape): { pattern: string; zone: string } {
  const template = templateOf(shape);
  if (template.length === DATE_CHARS) return { pattern: DATE, zone: '' };
  const rest = template.slice(DATE_CHARS + 1 + CLOCK_CHARS);
  const fraction = /^\.0+/.exec(rest)?.[0] ?? '';
  const zone = rest.slice(fraction.length);
  const digits = fraction === '' ? '' : `\\.[0-9]{${fraction.length - 1}}`;
  const pattern = `${DATE}${template[DATE_CHARS]}${MINUTES}${SECONDS}${digits}${zone.replace('+', '[+]')}`;
  return { pattern, zone };
}
