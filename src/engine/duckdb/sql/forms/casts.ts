import { TO_INT, TRY_TO_INT } from '../compat/casts.ts';
import { endsOperand } from '../placeholders.ts';
import type { TokenList } from '../token-list.ts';
import type { Token } from '../tokens.ts';
import { type Edit, isMark, replacing, wordOf } from './edit.ts';

/*
 * Other SQL services know one kind of integer and one of number with a fraction, both of 64 bits, and call them INT and
 * FLOAT: the engine's own of these names have 32.
 */

const WIDE: ReadonlyMap<string, string> = new Map([
  ['int', 'BIGINT'],
  ['integer', 'BIGINT'],
  ['float', 'DOUBLE'],
  ['real', 'DOUBLE'],
]);
const isInteger = (token: Token | undefined) => WIDE.get(wordOf(token)) === 'BIGINT';

/** Words before a bracket that is no call. */
const NO_CALL = new Set(
  `all and any as between by case distinct else except from having ilike in intersect is join like limit not offset on or
  over qualify returning select some then union using values when where with`.split(/\s+/),
);
/** Words before a bracket that belongs to the call in front of them. */
const AFTER_CALL = new Set(['filter', 'group', 'over']);

/** Index of the first token of the operand whose last one is at `last`: `a.b[1]`, `f(x) FILTER (WHERE y)`, `CASE … END`. */
function operandStart(list: TokenList, last: number): number {
  let at = last;
  for (;;) {
    at = partStart(list, at);
    const before = list[at - 1];
    if (isMark(before, '.') || isMark(before, '::')) at -= 2;
    else return at;
    if (at < 0) return 0;
  }
}

function partStart(list: TokenList, last: number): number {
  const token = list[last];
  if (wordOf(token) === 'end') return caseStart(list, last);
  if (isMark(token, ')')) return callStart(list, list.openOf(last));
  if (isMark(token, ']')) {
    const open = list.openOf(last);
    const isItem = endsOperand(list[open - 1]) && wordOf(list[open - 1]) !== 'array';
    return isItem ? partStart(list, open - 1) : wordOf(list[open - 1]) === 'array' ? open - 1 : open;
  }
  if (isMark(token, '}'))
    return wordOf(list[list.openOf(last) - 1]) === 'map' ? list.openOf(last) - 1 : list.openOf(last);
  // A parameter, :name; a text with its type, DATE '…'.
  if (isMark(list[last - 1], ':') && !endsOperand(list[last - 2])) return last - 1;
  if (token?.kind === 'string' && /^(?:date|time|timestamp|timestamptz|interval)$/.test(wordOf(list[last - 1])))
    return last - 1;
  return wordOf(list[last - 1]) === 'over' ? partStart(list, last - 2) : last;
}

function callStart(list: TokenList, open: number): number {
  const before = list[open - 1];
  const word = wordOf(before);
  if (AFTER_CALL.has(word)) {
    const isWithin = word === 'group' && wordOf(list[open - 2]) === 'within';
    return word === 'group' && !isWithin ? open : partStart(list, open - (isWithin ? 3 : 2));
  }
  const isCall = before?.kind === 'quoted' || (word !== '' && !NO_CALL.has(word));
  return isCall ? open - 1 : open;
}

function caseStart(list: TokenList, end: number): number {
  let depth = 0;
  for (let at = end; at >= 0; at--) {
    const word = wordOf(list[at]);
    if (word === 'end') depth += 1;
    else if (word === 'case') depth -= 1;
    if (depth === 0) return at;
  }
  return end;
}

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

/** `x::int` and `x::int[]`; the type begins at `index`. */
export function shortCastEdits(list: TokenList, index: number, isAsWritten: boolean): Edit[] {
  const mark = list[index - 1];
  if (!isMark(mark, '::') || isAsWritten || !endsOperand(list[index - 2])) return [];
  const next = list[index + 1];
  if (!isInteger(list[index]) || isMark(next, '[') || isMark(next, '('))
    return wideWords(list, index, isMark(next, '(') ? list.closeOf(index + 1) : index);
  const first = operandStart(list, index - 2);
  // `x:a::int` of another dialect.
  if (isMark(list[first - 1], ':') && endsOperand(list[first - 2])) return wideWords(list, index, index);
  const start = list[first]?.start;
  if (start === undefined) return [];
  return [{ start, end: start, text: `${TO_INT}(` }, ...replacing(mark, list[index], ')')];
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
  if (isAsWritten(type)) return plain;
  if (as + 2 !== close || !isInteger(type)) return [...plain, ...wideWords(list, as + 1, close - 1)];
  return [...replacing(call, call, name === 'cast' ? TO_INT : TRY_TO_INT), ...replacing(list[as], type, '')];
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
