import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { resume } from '../connections/sessions.ts';
import { isMark, wordOf } from '../sql/forms/edit.ts';
import { hasSecondSpelling } from '../sql/forms.ts';
import { endsOperand } from '../sql/placeholders.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { isReserved } from '../sql/syntax-hints.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { withTimeCasts } from './time-casts.ts';

/** Attempts after which all words that are left get their second spelling at once. */
const ATTEMPTS_MAX = 32;

/** Messages of the binder about a call, or an operator, that takes no such types. */
const UNFIT = /^(?:No function matches|Could not choose a best candidate)/;
const UNPARSED = /^syntax error at or near "/;

/**
 * Attempts the statement of a text, and again where the engine refuses a word of it that has a second spelling: a cast to
 * INT that must not be wide (`DATE '2024-01-01' + x::INT`), LENGTH of an object, a column's name without AS that is a word of
 * the engine's (`count(*) year`). If none of them helps, the error is that of the first attempt.
 */
export async function withSpellings<T>(
  connection: DuckDBConnection,
  sql: string,
  known: Statement | undefined,
  attempt: (statement: Statement) => Promise<T>,
): Promise<T> {
  let second: ReadonlySet<number> = new Set();
  let first: ApiError | undefined;
  for (let attempts = 1; ; attempts++) {
    try {
      const statement = (attempts === 1 ? known : undefined) ?? (await readStatement(sql, second));
      return await withTimeCasts(connection, statement, attempt);
    } catch (error) {
      if (!isOfSpelling(error)) throw error;
      first ??= error;
      const words = attempts > ATTEMPTS_MAX ? [] : wordsToSpell(sql, error, second);
      if (words.length === 0) throw first;
      second = new Set([...second, ...words]);
      await resume(connection);
    }
  }
}

/** Where the words with two spellings begin, in UTF-16 units. */
export function spelledTwice(sql: string): Set<number> {
  const list = tokenList(sql);
  return new Set(list.flatMap(({ start }, place) => (hasSecondSpelling(list, place) ? [start] : [])));
}

/** Whether an error is about a call, or an operator, that takes no such types. */
export function isUnfit(message: string): boolean {
  return UNFIT.test(message);
}

function isOfSpelling(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.code !== 'query_error') return false;
  return UNFIT.test(error.message) || UNPARSED.test(error.message);
}

/** Where words begin that may be spelled otherwise because of an error, in UTF-16 units. */
function wordsToSpell(sql: string, { message, details }: ApiError, second: ReadonlySet<number>): number[] {
  const list = tokenList(sql);
  const at = indexAt(sql, details.line, details.column);
  const index = list.findIndex(({ start, end }) => start <= at && at < end);
  if (UNPARSED.test(message)) return index !== -1 && isBareName(list, index, second) ? [list[index]?.start ?? 0] : [];
  const left = list.flatMap((token, place) =>
    hasSecondSpelling(list, place) && !second.has(token.start) ? [{ place, start: token.start }] : [],
  );
  const [from, to] = index === -1 ? [0, list.length] : reachOf(list, index);
  const near = left.filter(({ place }) => place >= from && place <= to);
  const depths = near.map(({ place }) => depthOf(list, place));
  const least = Math.min(...depths);
  const nearest = near.filter((_, place) => depths[place] === least);
  return (nearest.length > 0 ? nearest : left).map(({ start }) => start);
}

/** A word after an operand, where the next column or clause begins behind it: it can only be the operand's name. */
function isBareName(list: TokenList, index: number, second: ReadonlySet<number>): boolean {
  const [before, token, next] = [list[index - 1], list[index], list[index + 1]];
  if (token?.kind !== 'word' || isReserved(token) || second.has(token.start) || !endsOperand(before)) return false;
  return (
    next === undefined ||
    isMark(next, ',') ||
    isMark(next, ')') ||
    isMark(next, ';') ||
    /^(?:from|where|union|order|limit)$/.test(wordOf(next))
  );
}

/** Indexes between which the operands of the call or the operator at `index` are. */
function reachOf(list: TokenList, index: number): [from: number, to: number] {
  if (list[index]?.kind === 'word' && isMark(list[index + 1], '(')) return [index, list.closeOf(index + 1)];
  const isEnd = (at: number) => list[at] === undefined || isMark(list[at], ',') || BETWEEN.test(wordOf(list[at]));
  let [from, to] = [index, index];
  while (!isEnd(from - 1) && list.closeOf(from - 1) <= index) from = list.openOf(from - 1);
  while (!isEnd(to + 1) && !')]}'.includes(list[to + 1]?.text ?? '')) to = list.closeOf(to + 1);
  return [Math.max(0, from), to];
}

/** Words between expressions. */
const BETWEEN = /^(?:select|from|where|and|or|not|on|by|having|when|then|else|case|as|limit|with|union)$/;

/** How many brackets are open at `index`; that of a cast is part of it. */
function depthOf(list: TokenList, index: number): number {
  let depth = 0;
  for (let at = 0; at < index; at++) {
    if (list.closeOf(at) > index && list.closeOf(at) !== at && !/cast$/.test(wordOf(list[at - 1]))) depth += 1;
  }
  return depth;
}

/** The UTF-16 unit at a position of which both numbers count from 1, and a column is a character. */
function indexAt(sql: string, line = 0, column = 0): number {
  let start = 0;
  for (let number = 1; number < line; number++) start = sql.indexOf('\n', start) + 1;
  return start + [...sql.slice(start)].slice(0, Math.max(0, column - 1)).join('').length;
}
