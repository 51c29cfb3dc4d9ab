import { TO_INT, TRY_TO_INT } from '../compat/casts.ts';
import { TIME_OF, TRY_TIME_OF } from '../compat/times.ts';
import { parameterAt } from '../placeholders.ts';
import type { TokenList } from '../token-list.ts';
import type { Token } from '../tokens.ts';
import { operandStart } from './arrows.ts';
import { closing, type Edit, isMark, replacing, wordOf } from './edit.ts';

/*
 * Other SQL services know one kind of integer and one of number with a fraction, both of 64 bits, and call them INT and
 * FLOAT: the engine's own of these names have 32. `CAST(x AS int)` leaves out the fraction there; `x::int`, which they do
 * not know, rounds as the engine does.
 */

const WIDE: ReadonlyMap<string, string> = new Map([
  ['int', 'BIGINT'],
  ['integer', 'BIGINT'],
  ['float', 'DOUBLE'],
  ['real', 'DOUBLE'],
]);

/** The words of a type, from its first token to its last, that have a wider one. */
function wideWords(list: TokenList, first: number, last: number): Edit[] {
  const edits: Edit[] = [];
  for (let at = first; at <= last; at++) {
    const wide = WIDE.get(wordOf(list[at]));
    // A field of that name: STRUCT(int VARCHAR).
    const isField = list[at + 1]?.kind === 'word' && at < last;
    if (wide !== undefined && !isField) edits.push(...replacing(list[at], list[at], wide));
  }
  return edits;
}

/** `x::int`, `x::int[]`, `x::STRUCT(a int)`; the type begins at `index`. */
export function shortCastEdits(list: TokenList, index: number, isAsWritten: boolean): Edit[] {
  if (!isMark(list[index - 1], '::') || isAsWritten) return [];
  return wideWords(list, index, isMark(list[index + 1], '(') ? list.closeOf(index + 1) : index);
}

/** `CAST(x AS int)`, `TRY_CAST(…)`, and the same under the names STATIC_CAST and TRY_STATIC_CAST. */
export function castEdits(list: TokenList, index: number, isAsWritten: (token: Token) => boolean): Edit[] {
  const call = list[index];
  const close = list.closeOf(index + 1);
  const name = wordOf(call).replace('static_', '');
  const as = list.endsOf(index + 1).length === 1 ? asOf(list, index + 1, close) : -1;
  const type = list[as + 1];
  if (!isMark(list[index + 1], '(') || as === -1 || type === undefined || list[close] === undefined) return [];
  const plain = name === wordOf(call) ? [] : replacing(call, call, name);
  if (as + 2 === close && wordOf(type) === 'time')
    return [...plain, ...timeEdits(list, index + 2, as, name === 'cast' ? TIME_OF : TRY_TIME_OF)];
  if (isAsWritten(type)) return plain;
  if (as + 2 !== close || WIDE.get(wordOf(type)) !== 'BIGINT') return [...plain, ...wideWords(list, as + 1, close - 1)];
  return [...replacing(call, call, name === 'cast' ? TO_INT : TRY_TO_INT), ...replacing(list[as], type, '')];
}

/** `x::TIME`; the type is at `index`. */
export function shortTimeEdits(list: TokenList, index: number): Edit[] {
  const next = list[index + 1];
  const isWhole = !isMark(next, '[') && !isMark(next, '(') && !['with', 'without'].includes(wordOf(next));
  const start = isMark(list[index - 1], '::') && isWhole ? operandStart(list, index - 1) : undefined;
  return start === undefined ? [] : timeEdits(list, start, index - 1, TIME_OF);
}

/** The time of day of what stands from one token to another, within the cast: a text or a parameter is cast as it is. */
function timeEdits(list: TokenList, first: number, behind: number, macro: string): Edit[] {
  const [from, last] = [list[first], list[behind - 1]];
  const isPlain = from?.kind === 'string' || from?.kind === 'parameter' || isMark(from, ':');
  if (from === undefined || last === undefined || isPlain) return [];
  return [{ start: from.start, end: from.start, text: `${macro}(` }, closing(last.end, ')')];
}

/** Index of the AS before the type of a cast: the last one in its bracket, not in one inside. */
function asOf(list: TokenList, open: number, close: number): number {
  let found = -1;
  for (let at = open + 1; at < close; at++) {
    if (wordOf(list[at]) === 'as') found = at;
    else if (list.closeOf(at) > at) at = list.closeOf(at);
  }
  return found;
}

/** Whether the word is the type of a cast that has a wider one; `index` is that of the word. */
export function isWideType(list: TokenList, index: number): boolean {
  const before = list[index - 1];
  return WIDE.has(wordOf(list[index])) && (isMark(before, '::') || wordOf(before) === 'as');
}

const CAST = /^(?:try_)?(?:static_)?cast$/;
/** A time with an offset, as text. */
const WITH_OFFSET =
  /^\s*\d{4,6}-\d{1,2}-\d{1,2}[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,12})?)?\s*(?:Z|UTC|[-+]\d{2}(?::?\d{2})?)\s*$/i;
const TIME_CHARS_MAX = 100;
export const hasOffset = (text: string) => text.length <= TIME_CHARS_MAX && WITH_OFFSET.test(text);

/**
 * `TIMESTAMP '2024-03-01T12:00:00+01:00'`, and a cast of such a text or of a parameter that has one (`moments`, in lower
 * case): elsewhere TIMESTAMP is a moment, and the engine's own would drop the offset. A cast of a column stays: what its
 * texts are is not known here. A DATETIME has no zone, so it is that moment's in UTC.
 */
export function momentEdits(list: TokenList, index: number, moments: ReadonlySet<string>): Edit[] {
  const [before, word, next] = [list[index - 1], list[index], list[index + 1]];
  // Behind `::` a type may have more words, or be a list.
  const isWhole = !['with', 'without'].includes(wordOf(next)) && !isMark(next, '[');
  const start = isMark(before, '::') && isWhole ? operandBefore(list, index - 1) : castOperand(list, index);
  const text = start === undefined ? next : list[start];
  if (isMark(before, '.')) return [];
  const isMoment =
    text?.kind === 'string'
      ? text.text.startsWith("'") && hasOffset(text.text.slice(1, -1))
      : start !== undefined && moments.has(parameterAt(list, start)?.name ?? '');
  if (!isMoment) return [];
  const moment = replacing(word, word, 'TIMESTAMPTZ');
  if (wordOf(word) === 'timestamp') return moment;
  const last = isMark(before, '::') ? word : next;
  return [...moment, closing(last?.end ?? 0, '::TIMESTAMP')];
}

/** Index of what `CAST(… AS` has in it, of which the type is at `index`, if that is one word. */
function castOperand(list: TokenList, index: number): number | undefined {
  if (wordOf(list[index - 1]) !== 'as' || !isMark(list[index + 1], ')')) return undefined;
  const start = operandBefore(list, index - 1);
  return isMark(list[start - 1], '(') && CAST.test(wordOf(list[start - 2])) ? start : undefined;
}

/** Index of the word, or of the parameter, that ends before a token. */
const operandBefore = (list: TokenList, index: number) =>
  parameterAt(list, index - 2)?.end === index ? index - 2 : index - 1;
