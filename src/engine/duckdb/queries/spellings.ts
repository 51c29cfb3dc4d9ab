import type { ApiError } from '../../../contract/errors.ts';
import { readEngineError } from '../connections/engine-error.ts';
import { isMark, wordOf } from '../sql/forms/edit.ts';
import { hasSecondSpelling } from '../sql/forms.ts';
import { endsOperand } from '../sql/placeholders.ts';
import { isReserved } from '../sql/syntax-hints.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { isOfSql, isUnparsed, type Way } from './again.ts';

/** A statement has hardly more names without AS. */
const ATTEMPTS_MAX = 100;
/** Attempts after which all words that are left get their second spelling at once. */
const ONE_BY_ONE_MAX = 4;

/** Messages about a call, or an operator, that takes no such types, and about casts that are nested too deeply. */
const UNFIT = /^(?:No function matches|Could not choose a best candidate|The SQL grows too large)/;

/**
 * The way of a statement of which the engine refuses a word that has a second spelling: a cast to INT that must not be wide
 * (`DATE '2024-01-01' + x::INT`), LENGTH of an object, a column's name without AS that is a word of the engine's
 * (`count(*) year`).
 */
export const secondSpellings: Way = {
  isFor({ error, errors }) {
    if (!isOfSql(error)) return false;
    // What one word is written like, others of the statement may have to be: `GROUP BY` the same cast.
    const mayBeUnfit = isUnfit(error.message) || (errors.some(({ message }) => isUnfit(message)) && isOfBinder(error));
    return mayBeUnfit || isUnparsed(error);
  },
  next({ sql, second, error, errors }) {
    if (!isOfSql(error) || errors.length >= ATTEMPTS_MAX) return null;
    const all = [...errors, error];
    const isOneByOne = isUnfit(error.message) && all.filter(({ message }) => isUnfit(message)).length < ONE_BY_ONE_MAX;
    const words = isUnparsed(error) ? bareName(sql, error, second) : wordsToSpell(sql, error, second, isOneByOne);
    if (words.length === 0) return null;
    return { sql, second: new Set([...second, ...words]), statement: undefined, errors: all };
  },
};

function isOfBinder({ cause }: Error): boolean {
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
export function tokenAt(sql: string, list: TokenList, { details: { line, column } }: ApiError): number {
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
