import { isMark, wordOf } from '../forms/edit.ts';
import { nameOfToken, pathStart } from '../paths.ts';
import { type TokenList, tokenList } from '../token-list.ts';
import type { Range } from '../token-ranges.ts';
import { type Faulty, textOf } from './faulty.ts';

/** A cast of an expression. */
export interface Cast {
  operand: string;
  type: string;
}

/** A cast, as it is written. */
export interface WrittenCast extends Cast {
  /** Its tokens. */
  range: Range;
}

const A_NUMBER = /^(?:double|float|real|decimal|numeric|hugeint|bigint|integer|int)\b/i;
const A_TIME = /^(?:date|timestamp|timestamptz|datetime)\b/i;

export const isNumber = (type: string) => A_NUMBER.test(type);
export const isTime = (type: string) => A_TIME.test(type);

/** The cast that the token at an index is: CAST, TRY_CAST or `::`. */
export function castAt(written: Pick<Faulty, 'sql' | 'list'>, at: number): WrittenCast | undefined {
  const { list } = written;
  if (/^(?:try_)?cast$/.test(wordOf(list[at])) && isMark(list[at + 1], '(')) {
    const close = list.closeOf(at + 1);
    let as = close - 1;
    while (as > at && wordOf(list[as]) !== 'as') as = list.openOf(as) - 1;
    if (as <= at + 2) return undefined;
    const [operand, type] = [textOf(written, at + 2, as), textOf(written, as + 1, close)];
    return { operand, type, range: [at, close + 1] };
  }
  if (list[at]?.text !== '::' || wordOf(list[at + 1]) === '') return undefined;
  const start = operandStart(list, at);
  if (start >= at) return undefined;
  const end = isMark(list[at + 2], '(') ? list.closeOf(at + 2) + 1 : at + 2;
  return { operand: textOf(written, start, at), type: textOf(written, at + 1, end), range: [start, end] };
}

/** The expression that is cast by `::` at an index, from its first token. */
function operandStart(list: TokenList, mark: number): number {
  const isBracket = isMark(list[mark - 1], ')');
  const open = isBracket ? list.openOf(mark - 1) : pathStart(list, mark);
  return isBracket && wordOf(list[open - 1]) !== '' ? open - 1 : open;
}

/** All casts in a text. */
export function castsIn(written: Pick<Faulty, 'sql' | 'list'>): WrittenCast[] {
  return written.list.flatMap((_, at) => castAt(written, at) ?? []);
}

/** The names of a path: `a."b c"`; undefined: an expression is something else. */
export function pathOf(expression: string): string[] | undefined {
  const list = tokenList(expression);
  const names = list.flatMap((token, at) => (at % 2 === 0 ? (nameOfToken(token) ?? []) : []));
  const isPath = list.length % 2 === 1 && list.every(({ text }, at) => at % 2 === 0 || text === '.');
  return isPath && names.length === (list.length + 1) / 2 ? names : undefined;
}
