import { isMissing, missingSql } from '../sql/missing.ts';
import { isTimeShape, type TimeShape, timeShapeOf, timeType } from '../values/time-text.ts';
import { type CellKind, cellSql, isOfKind, isSafe, type Mixed } from './csv-cells.ts';
import { isAnyTime, isSpelledAs, readable, TIME_TYPES, type TimeType } from './csv-times.ts';
import type { Ask } from './relation.ts';

/*
 * Columns of CSV of which nearly all cells are of one kind. Times may be spelled in any way of ISO 8601; beside numbers and
 * times there may be words, such as those for a missing value. A column has the type of the many then, as it has of documents,
 * and each other cell is beside it as it is. What has digits and is no number is never such a word: of `007`, `1.2.3` and
 * `12 %` beside numbers nobody knows what the column is, and it stays text.
 */

/** What most cells of a column are. */
export type Most = 'number' | 'time' | 'boolean';

/** As much of a column may be other words. */
const FEW = 1 / 20;

const NUMBERS: readonly CellKind[] = ['integer', 'huge', 'double'];

/** Other words would make times and numbers of themselves: `epoch`, `nan`. */
export const hasDigits = (cell: string) => `regexp_matches(${cell}, '[0-9]')`;

/** SQL for what a column of a kind has of a cell that is of that kind, or a word: NULL then. */
export function mixedSql(cell: string, kind: CellKind): string {
  if (isTimeShape(kind)) return `CASE WHEN ${hasDigits(cell)} THEN ${cellSql(readable(cell), kind)} END`;
  const value = cellSql(cell, kind);
  return kind === 'double' ? `CASE WHEN isfinite(${value}) THEN ${value} END` : value;
}

/** SQL for the text of such a cell that a column of a kind does not give back; NULL of others. */
export function strayOf(cell: string, kind: CellKind): string {
  const isOther = isTimeShape(kind) ? `NOT ${isSpelledAs(cell, kind)}` : `${mixedSql(cell, kind)} IS NULL`;
  return `CASE WHEN ${isOther} THEN ${cell} END`;
}

/** Whether a column of another kind takes the cells of one of this kind. */
export function isAlike(kind: CellKind, held: TimeShape): boolean {
  return isTimeShape(kind) && timeType(kind) === timeType(held);
}

/** With codes such as 007. */
const NUMBER = /^-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]\d+)?$/;
const DIGITS = /^\d+$/;
/**
 * Among digits of the same width it says that these are codes, such as those of places: text, as whoever wrote them means it.
 * Among others, such as 007 between 6 and 1000, it may be a slip.
 */
const ZERO_FIRST = /^0\d+$/;

/** Whether most of some cells are numbers, or times, but for words for missing ones; undefined: neither, or codes. */
export function mostOf(cells: readonly unknown[], times: boolean): Most | undefined {
  const texts = cells.filter((cell) => typeof cell === 'string' && !isMissing(cell)) as string[];
  const areCodes = texts.every((text) => DIGITS.test(text) && text.length === texts[0]?.length);
  if (areCodes && texts.some((text) => ZERO_FIRST.test(text))) return undefined;
  const isMost = (is: (text: string) => boolean) => texts.length > 0 && 2 * texts.filter(is).length > texts.length;
  if (isMost((text) => NUMBER.test(text))) return 'number';
  return times && isMost((text) => timeShapeOf(text) !== undefined) ? 'time' : undefined;
}

/** Cells of a column that are not of the kind of most. */
export interface Others {
  kind: CellKind;
  count: number;
  /** All cells that are not empty. */
  all: number;
  /** The first of the others. */
  line: number;
  cell: string;
}

/** What a column turns out to be: `mixed`, or text, and then what keeps it from being of one kind. */
export interface Looked {
  mixed?: Mixed;
  /** Whether all integers are such that a double holds them. */
  isSmall?: boolean;
  others?: Others;
}

/** Codes of words: those for a missing value, and others; of anything else 0, and of kinds their place from 1 on. */
const [WORD_MISSING, WORD_OTHER, OTHER] = [8, 9, 0];
const SHOWN_CHARS = 100;

/** A double gives back the digits of shorter ones. */
const SHORT_CHARS = 15;

function conditionsOf(most: Most): string[] {
  if (most === 'number') return NUMBERS.map((kind) => isOfKind('c', kind));
  return most === 'boolean' ? [isOfKind('c', 'boolean')] : TIME_TYPES.map((type) => isAnyTime('c', type));
}

/**
 * Of more columns than this, nothing but their values is computed for each: to plan what tries patterns takes as long for one
 * as it takes to try some hundred thousand cells.
 */
export const BESIDE_MAX = 24;

/** SQL for the cells of columns below one another: `c` of the column at `i`, in line `l`. */
export function belowOneAnother(from: string, columns: readonly string[]): string {
  const places = columns.map((_, at) => at);
  return `(SELECT l, unnest([${columns.join(', ')}]) AS c, unnest([${places.join(', ')}]) AS i FROM ${from})`;
}

/** What columns are of which most cells are numbers, times or booleans, by all of their cells. */
export async function lookAtMixed(
  ask: Ask,
  from: string,
  columns: readonly string[],
  most: Most,
): Promise<readonly Looked[]> {
  const whens = conditionsOf(most).map((one, at) => `WHEN ${one} THEN ${at + 1}`);
  const word = `if(${missingSql('c')}, ${WORD_MISSING}, ${WORD_OTHER})`;
  const words = `WHEN NOT ${hasDigits('c')} THEN ${word}`;
  // Booleans are words themselves.
  const cases = most === 'boolean' ? [...whens, words] : [words, ...whens];
  const isHeld = most === 'number' ? `bool_and(length(c) <= ${SHORT_CHARS} OR ${isOfKind('c', 'double')})` : 'true';
  const rows = await ask(
    `SELECT i, CASE ${cases.join(' ')} ELSE ${OTHER} END AS k,
       count(*), min(l), arg_min(left(c, ${SHOWN_CHARS}), l), bool_and(coalesce(${isSafe('TRY_CAST(c AS BIGINT)')}, true)), ${isHeld},
       if(min(length(c)) = max(length(c)), min(length(c)), 0)
     FROM ${belowOneAnother(from, columns)}
     WHERE c IS NOT NULL GROUP BY i, k`,
  );
  return columns.map((_, place) => {
    const own = rows.filter(([at]) => Number(at) === place);
    const groupOf = (code: number): Group => {
      const row = own.find(([, k]) => Number(k) === code) ?? [];
      const [, , count = 0, line = 0, cell = '', isSmall = true, held = true, width = 0] = row;
      return {
        count: Number(count),
        line: Number(line),
        cell: String(cell),
        isSmall: isSmall === true,
        isHeld: held === true,
        width: Number(width),
      };
    };
    return lookedAt(most, groupOf);
  });
}

interface Group {
  count: number;
  /** The first of them. */
  line: number;
  cell: string;
  isSmall: boolean;
  /** Whether a double gives back all of them, if they are numbers. */
  isHeld: boolean;
  /** Characters of each; 0: not all have as many. */
  width: number;
}

function lookedAt(most: Most, groupOf: (code: number) => Group): Looked {
  const firstOf = (groups: readonly Group[]) =>
    groups.filter(({ count }) => count > 0).sort((a, b) => a.line - b.line)[0];
  const [missing, unusual, other] = [WORD_MISSING, WORD_OTHER, OTHER].map(groupOf) as [Group, Group, Group];
  const kinds = [1, 2, 3].map(groupOf);
  const values = kinds.reduce((sum, { count }) => sum + count, 0);
  const words = missing.count + unusual.count;
  const all = values + words + other.count;
  // Each takes what narrower ones do, but for times with a zone, and integers that a double does not give back.
  const at = kinds.findLastIndex(({ count }) => count > 0);
  const narrower = at === 2 ? kinds.slice(0, at) : [];
  const aside = narrower.filter(({ count, isHeld }) => count > 0 && (most === 'time' || !isHeld));
  const kind = kindAt(most, at, firstOf(kinds)?.cell ?? '');
  if (kind === undefined) return {};
  const isOne = aside.length === 0 && most !== 'boolean';
  if (!isOne || other.count > 0 || words >= values || unusual.count > all * FEW) {
    const rest = [missing, unusual, other, ...aside];
    const count = rest.reduce((sum, one) => sum + one.count, 0);
    const { line = 0, cell = '' } = firstOf(rest) ?? {};
    const isOneWidth = other.width > 0 && other.width === kinds[0]?.width;
    if (kind === 'integer' && isOneWidth && ZERO_FIRST.test(other.cell)) return {};
    const others = { kind: most === 'number' ? 'double' : kind, count, all, line, cell } as const;
    return 2 * count < all && count > 0 ? { others } : {};
  }
  const { line = 0, cell = '' } = firstOf([missing, unusual]) ?? {};
  return { mixed: { kind, others: words, line, cell }, isSmall: kinds[0]?.isSmall !== false };
}

function kindAt(most: Most, at: number, first: string): CellKind | undefined {
  if (most === 'number') return NUMBERS[at];
  if (most === 'boolean') return at < 0 ? undefined : 'boolean';
  return shapeLike(first, TIME_TYPES[at]);
}

/** The shape of a column of times of a type, of which the first is spelled so. */
function shapeLike(text: string, type: TimeType | undefined): TimeShape | undefined {
  const shape = timeShapeOf(text);
  if (shape === undefined || type === undefined) return undefined;
  // The first one is a date.
  return type === 'TIMESTAMP' && timeType(shape) === 'DATE' ? `${shape}T00:00:00` : shape;
}
