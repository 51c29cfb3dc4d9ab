import type { ColumnType } from '../../../contract/column-types.ts';
import { type JsonValue, parseJson } from '../../../contract/json/json.ts';
import { isNumeral, NUMERAL_CHARS_MAX } from '../../../contract/text.ts';
import { quoteText } from '../sql/names.ts';
import type { Shape } from '../values/shape.ts';
import { isTimeShape, type TimeShape, timeType } from '../values/time-text.ts';
import { isTime, timeKindOf } from './csv-times.ts';

/*
 * What the cells of CSV are. A cell is a number only if JSON would write it so and a column of numbers gives back each of
 * its digits, and a time only if a column of times gives back its text. The engine's own guesses lose some of that: it
 * makes 10 of 9.5, and takes 01-02-2024 for the first of February.
 */

/** What all cells of a column are, narrower kinds first; none: text. */
export type CellKind = 'integer' | 'huge' | 'double' | 'boolean' | TimeShape;

/** What a column of several kinds is: its values are of this kind, but for some words. */
export interface Mixed {
  kind: CellKind;
  /** How many cells are words, and the first of them. */
  others: number;
  line: number;
  cell: string;
}

/** Digits that a double gives back, whatever the number is. */
const DIGITS_MAX = 15;
/** An exponent without a dot or a sign is that of a code, such as 12E5: no program writes a number so. */
const NUMBER = '-?(0|[1-9][0-9]*)(\\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-][0-9]+)?';
const SHORT_NUMBER = `-?(0|[1-9][0-9]{0,${DIGITS_MAX - 1}})(\\.[0-9]{1,${DIGITS_MAX}})?`;
/** Below this, doubles have fewer digits. */
const DOUBLE_MIN = '2.3e-308';

/** SQL condition for a cell, not NULL, that is of a kind. */
export function isOfKind(cell: string, kind: CellKind): string {
  if (isTimeShape(kind)) return isTime(cell, kind);
  if (kind === 'boolean') return `${cell} IN (${[...BOOLEANS.keys()].map(quoteText).join(', ')})`;
  // What is written otherwise comes back otherwise: 007, +1, -0, 1.5.
  if (kind === 'integer') return `coalesce(CAST(TRY_CAST(${cell} AS BIGINT) AS VARCHAR) = ${cell}, false)`;
  if (kind === 'huge') return `coalesce(CAST(TRY_CAST(${cell} AS HUGEINT) AS VARCHAR) = ${cell}, false)`;
  const mantissa = `regexp_replace(${cell}, '[eE].*$', '')`;
  const significant = (number: string) => `trim(regexp_replace(${number}, '[-.]', '', 'g'), '0')`;
  const digits = `length(${significant(mantissa)})`;
  const value = `TRY_CAST(${cell} AS DOUBLE)`;
  const isExact = `isfinite(${value}) AND (abs(${value}) >= ${DOUBLE_MIN} OR ${digits} = 0)`;
  // What a program writes of a double has up to 17 digits, and comes back with them.
  const written = `regexp_replace(CAST(${value} AS VARCHAR), '[eE].*$', '')`;
  const isHeld = `(${digits} <= ${DIGITS_MAX} OR ${significant(written)} = ${significant(mantissa)})`;
  // The engine computes both sides of an AND, of a CASE only what a row comes to: most cells are short, or no numbers.
  const isShort = `length(${cell}) <= ${DIGITS_MAX + 1} AND regexp_full_match(${cell}, ${quoteText(SHORT_NUMBER)})`;
  const isLong = `regexp_full_match(${cell}, ${quoteText(NUMBER)})`;
  return `CASE WHEN ${isShort} THEN true WHEN ${isLong} THEN coalesce(${isHeld} AND ${isExact}, false) ELSE false END`;
}

/** SQL for the value of a cell that is of a kind. */
export function cellSql(cell: string, kind: CellKind): string {
  if (isTimeShape(kind)) return `TRY_CAST(${cell} AS ${timeType(kind)})`;
  return `TRY_CAST(${cell} AS ${{ integer: 'BIGINT', huge: 'HUGEINT', double: 'DOUBLE', boolean: 'BOOLEAN' }[kind]})`;
}

/** SQL condition for an integer that a double holds. */
export function isSafe(sql: string): string {
  return `${sql} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;
}

/** The kinds that a cell may be of, narrower ones first; the engine decides whether it is. */
export function possibleKinds(text: string, times: boolean): readonly CellKind[] {
  if (BOOLEANS.has(text)) return ['boolean'];
  if (DOCUMENT_NUMBER.test(text)) return INTEGER.test(text) ? ['integer', 'huge', 'double'] : ['double'];
  const time = times ? timeKindOf(text) : undefined;
  return time === undefined ? [] : [time];
}

const INTEGER = /^-?\d+$/;

/** What a document has of a cell of a column: of this kind, or given this type. */
export function cellValue(text: string, kind: CellKind | undefined): JsonValue {
  if (kind === undefined || isTimeShape(kind)) return text;
  return kind === 'boolean' ? (BOOLEANS.get(text) ?? text) : parseJson(text);
}

/** As programs write them; spreadsheets and R in capitals. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map(
  ['true', 'TRUE', 'True', 'false', 'FALSE', 'False'].map((text) => [text, text.toLowerCase() === 'true']),
);

const DOCUMENT_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]\d+)?$/;

/** The same in a column of text, as the collection's column for it has it: a number may be one of those there. */
export function cellValueFor(text: string, held: Shape): JsonValue {
  if (held === 'boolean') return BOOLEANS.get(text) ?? text;
  const isNumbers = held === 'int53' || held === 'int64' || held === 'hugeint' || held === 'double';
  if (!isNumbers || !isNumeral(text) || !DOCUMENT_NUMBER.test(text)) return text;
  const value = parseJson(text);
  const digits = digitsOf(text);
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return value;
  if (typeof value !== 'number' || !Number.isFinite(value)) return text;
  return digits.length <= DIGITS_MAX || digitsOf(String(value)) === digits ? value : text;
}

function digitsOf(number: string): string {
  const [mantissa = ''] = number.split(/[eE]/, 1);
  return withoutZeros(mantissa.replace(/[-.]/g, ''));
}

/** Without those at either end. */
function withoutZeros(digits: string): string {
  let [start, end] = [0, digits.length];
  while (digits[start] === '0') start += 1;
  while (end > start && digits[end - 1] === '0') end -= 1;
  return digits.slice(start, end);
}

const GIVEN_PATTERNS = {
  INTEGER: '[+-]?[0-9]{1,38}',
  FLOAT: '[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?',
  BOOLEAN: '(?i)true|false',
} as const;
const GIVEN_SQL_TYPES = { INTEGER: 'HUGEINT', FLOAT: 'DOUBLE', BOOLEAN: 'BOOLEAN' } as const;

/** SQL for the value of a cell in a column that was given a type, and for whether it has none. */
export function givenValue(cell: string, type: Exclude<ColumnType, 'STRING'>): { value: string; isNone: string } {
  const text = `trim(${cell})`;
  const value = `TRY_CAST(ltrim(${text}, '+') AS ${GIVEN_SQL_TYPES[type]})`;
  const fits = `regexp_full_match(${text}, ${quoteText(GIVEN_PATTERNS[type])})`;
  const isHeld =
    type === 'FLOAT'
      ? ` AND length(${text}) <= ${NUMERAL_CHARS_MAX} AND coalesce(isfinite(${value}), false)`
      : ` AND ${value} IS NOT NULL`;
  return { value, isNone: `(${cell} IS NOT NULL AND ${text} <> '' AND NOT (${fits}${isHeld}))` };
}
