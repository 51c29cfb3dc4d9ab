import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { readEngineError } from '../connections/engine-error.ts';
import { resume } from '../connections/sessions.ts';
import { isMark, wordOf } from '../sql/forms/edit.ts';
import { hasSecondSpelling } from '../sql/forms.ts';
import { endsOperand } from '../sql/placeholders.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { isReserved } from '../sql/syntax-hints.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { withTimeCasts } from './time-casts.ts';

/** A statement has hardly more names without AS. */
const ATTEMPTS_MAX = 100;
/** Attempts after which all words that are left get their second spelling at once. */
const ONE_BY_ONE_MAX = 4;

/** Messages about a call, or an operator, that takes no such types, and about casts that are nested too deeply. */
const UNFIT = /^(?:No function matches|Could not choose a best candidate|The SQL grows too large)/;
const UNPARSED = /^syntax error at or near "/;

/**
 * Attempts the statement of a text, and again where the engine refuses a word of it that has a second spelling: a cast to
 * INT that must not be wide (`DATE '2024-01-01' + x::INT`), LENGTH of an object, a column's name without AS that is a word of
 * the engine's (`count(*) year`). If none of them helps, the error is that of the first attempt that could be parsed.
 */
export async function withSpellings<T>(
  connection: DuckDBConnection,
  sql: string,
  known: Statement | undefined,
  attempt: (statement: Statement) => Promise<T>,
): Promise<T> {
  let second: ReadonlySet<number> = new Set();
  let first: unknown;
  let unfit = 0;
  for (let attempts = 1; ; attempts++) {
    try {
      const statement = (attempts === 1 ? known : undefined) ?? (await readStatement(sql, second));
      return await withTimeCasts(connection, statement, attempt);
    } catch (error) {
      if (!isOfSql(error)) throw error;
      const isUnparsed = UNPARSED.test(error.message);
      // What one word is written like, others of the statement may have to be: `GROUP BY` the same cast.
      const mayBeUnfit = UNFIT.test(error.message) || (unfit > 0 && isOfBinder(error));
      if (!isUnparsed && !mayBeUnfit) throw error;
      first ??= isUnparsed ? undefined : error;
      if (!isUnparsed) unfit += 1;
      const isOneByOne = UNFIT.test(error.message) && unfit < ONE_BY_ONE_MAX;
      const words =
        attempts > ATTEMPTS_MAX
          ? []
          : isUnparsed
            ? bareName(sql, error, second)
            : wordsToSpell(sql, error, second, isOneByOne);
      if (words.length === 0) throw first ?? error;
      second = new Set([...second, ...words]);
      await resume(connection);
    }
  }
}

function isOfSql(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'query_error';
}

function isOfBinder({ cause }: ApiError): boolean {
  return cause !== undefined && readEngineError(cause).kind === 'Binder';
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

/** Where the word at an error begins, in UTF-16 units, if it can only be the name of what stands before it. */
function bareName(sql: string, error: ApiError, second: ReadonlySet<number>): number[] {
  const list = tokenList(sql);
  const index = tokenAt(sql, list, error);
  return index !== -1 && isBareName(list, index, second) ? [list[index]?.start ?? 0] : [];
}

/** Where words begin that may be spelled otherwise because of an error: those nearest to it, or all. */
function wordsToSpell(sql: string, error: ApiError, second: ReadonlySet<number>, isOneByOne: boolean): number[] {
  const list = tokenList(sql);
  const left = list.flatMap(({ start }, place) =>
    hasSecondSpelling(list, place) && !second.has(start) ? [{ place, start }] : [],
  );
  const index = tokenAt(sql, list, error);
  if (!isOneByOne || index === -1) return left.map(({ start }) => start);
  const [from, to] = reachOf(list, index);
  const depths = depthsOf(list);
  const near = left.filter(({ place }) => place >= from && place <= to);
  const least = near.reduce((depth, { place }) => Math.min(depth, depths[place] ?? 0), Number.POSITIVE_INFINITY);
  const nearest = near.filter(({ place }) => depths[place] === least);
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

/** How many brackets are open at each token; that of a cast is part of it. */
function depthsOf(list: TokenList): number[] {
  const depths: number[] = [];
  const open: number[] = [];
  let depth = 0;
  for (let at = 0; at < list.length; at++) {
    const text = list[at]?.kind === 'punctuation' ? (list[at]?.text ?? '') : '';
    if (text !== '' && ')]}'.includes(text)) depth -= open.pop() ?? 0;
    depths.push(depth);
    if (text === '' || !'([{'.includes(text)) continue;
    open.push(/cast$/.test(wordOf(list[at - 1])) ? 0 : 1);
    depth += open.at(-1) ?? 0;
  }
  return depths;
}

/** Index of the token at the place of an error; -1 if it has none. */
function tokenAt(sql: string, list: TokenList, { details: { line, column } }: ApiError): number {
  if (line === undefined) return -1;
  const at = indexAt(sql, line, column);
  return list.findIndex(({ start, end }) => start <= at && at < end);
}

/** The UTF-16 unit at a position of which both numbers count from 1, and a column is a character. */
function indexAt(sql: string, line: number, column = 0): number {
  let start = 0;
  for (let number = 1; number < line; number++) start = sql.indexOf('\n', start) + 1;
  return start + [...sql.slice(start)].slice(0, Math.max(0, column - 1)).join('').length;
}
