import { RESERVED_WORDS } from '../../../../contract/reserved-words.ts';
import { pathStart } from '../paths.ts';
import type { TokenList } from '../token-list.ts';
import { closing, type Edit, isMark, wordOf } from './edit.ts';

/*
 * `a AND o->>'k' = 'x'`, as PostgreSQL and MySQL read it. To the engine `->>` takes all that stands before it, `a AND o`, and
 * `->` also all behind it, `'k' = 'x'`: it is the mark of its lambdas. What takes a key goes into brackets.
 */

/** Words that are no name, and behind which an operand may begin. */
const BEFORE: ReadonlySet<string> = new Set([
  ...RESERVED_WORDS,
  ...[
    'and',
    'or',
    'like',
    'ilike',
    'glob',
    'between',
    'is',
    'by',
    'escape',
    'similar',
    'interval',
    'distinct',
    'qualify',
  ],
]);
/** Words that go on with what stands before them. */
const BEHIND: ReadonlySet<string> = new Set(['filter', 'over', 'group', 'by', 'end']);

/** Whether an arrow is at an index: its tokens stand together. */
export function isArrow(list: TokenList, index: number): boolean {
  return isMark(list[index], '-') && isMark(list[index + 1], '>') && list[index]?.end === list[index + 1]?.start;
}

/** `starts` has where the operand before each key begins, by the index of the key's last token. */
export function arrowEdits(list: TokenList, index: number, starts: Map<number, number>): Edit[] {
  const isText = isMark(list[index + 2], '>') && list[index + 1]?.end === list[index + 2]?.start;
  const last = endOfKey(list, index + (isText ? 3 : 2));
  const end = list[last]?.end;
  // A cast binds tighter, and belongs to the key.
  if (end === undefined || /^(?:::|[.([])$/.test(list[last + 1]?.text ?? '')) return [];
  const start = starts.get(index - 1) ?? operandStart(list, index);
  if (start === undefined || (!isText && mayBeLambda(list, start, index))) return [];
  starts.set(last, start);
  const from = list[start]?.start ?? 0;
  return [{ start: from, end: from, text: '(' }, closing(end, ')')];
}

/** The last token of the key that begins at an index: a text, a number, a parameter, or a name; -1: it is more than that. */
function endOfKey(list: TokenList, index: number): number {
  const key = list[index];
  const isName = key?.kind === 'quoted' || (key?.kind === 'word' && !BEFORE.has(wordOf(key)));
  if (isName || key?.kind === 'string' || key?.kind === 'number' || key?.kind === 'parameter') return index;
  return isMark(key, ':') && list[index + 1]?.kind === 'word' ? index + 1 : -1;
}

/** Where the operand before an operator begins: a path, a call, a bracket, a text, or one of these with its cast. */
export function operandStart(list: TokenList, end: number): number | undefined {
  const last = list[end - 1];
  let start: number;
  if (last?.kind === 'string' || last?.kind === 'parameter') start = end - 1;
  else if (isMark(last, ')')) {
    start = list.openOf(end - 1);
    const name = wordOf(list[start - 1]);
    if (BEHIND.has(name)) return undefined;
    if (!BEFORE.has(name)) start = pathStart(list, start);
  } else start = pathStart(list, end);
  if (start >= end) return undefined;
  // A path into what a call gives.
  if (isMark(list[start], '.')) return operandStart(list, start);
  if (isParameter(list, start - 1)) return start - 1;
  if (isMark(list[start - 1], '::')) return operandStart(list, start - 1);
  const first = wordOf(list[start]);
  return BEFORE.has(first) || BEHIND.has(first) ? undefined : start;
}

/** Whether the colon at an index begins `:name`: behind what ends an operand it is that of a slice, `l[1:n]`. */
function isParameter(list: TokenList, index: number): boolean {
  const [before, colon, name] = [list[index - 1], list[index], list[index + 1]];
  if (!isMark(colon, ':') || colon?.end !== name?.start) return false;
  if (before === undefined) return true;
  if (before.kind === 'word') return BEFORE.has(wordOf(before)) || BEHIND.has(wordOf(before));
  return before.kind === 'punctuation' && !')]'.includes(before.text);
}

/** Functions that take a lambda. */
const TAKES_LAMBDA = /^(?:columns|(?:list_|array_)?(?:transform|apply|filter|reduce))$/;

/** Whether one name before `->`, or several in brackets, may be parameters: they begin an argument of such a call. */
function mayBeLambda(list: TokenList, start: number, index: number): boolean {
  if (index - start > 1 && !isMark(list[start], '(')) return false;
  let open = start - 1;
  while (isMark(list[open], '(') && wordOf(list[open - 1]) === '') open -= 1;
  if (!isMark(list[open], ',') && !isMark(list[open], '(')) return false;
  while (open >= 0 && !isMark(list[open], '(')) open = list.openOf(open) - 1;
  return TAKES_LAMBDA.test(wordOf(list[open - 1]));
}
