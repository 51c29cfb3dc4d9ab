import { isMark, wordOf } from '../sql/forms/edit.ts';
import type { Statement } from '../sql/statement.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { itemsIn } from '../sql/token-ranges.ts';
import { isQuery, type Node, nodesIn, nodesOf, textOf } from '../sql/tree.ts';

/**
 * What a result's columns are called that the statement does not name: `?` and the function's name as it is written for a
 * call (`?COUNT`), `?field0` by place for any other expression, as clients of other services expect it. Inside a statement
 * they have the engine's names.
 */

/** For each item of the outermost select list: the name that it gets, null if it has one, or `MANY` columns. */
export type ColumnName = string | null | typeof MANY;
const MANY = Symbol('many columns');

/** Written like calls. */
const NO_CALLS: ReadonlySet<string> = new Set(
  'all any array case cast distinct exists in interval not static_cast struct try_cast try_static_cast'.split(' '),
);
/** What may stand behind the brackets of a call. */
const AFTER_CALL: ReadonlySet<string> = new Set(['filter', 'over', 'within']);

/** The names for the columns of a statement whose tree this is; empty if they have the engine's. */
export function columnNames(statement: Statement, node: Node): readonly ColumnName[] {
  const list = nodesOf(firstSelect(node)['select_list']);
  if (statement.explain !== '' || !list.some(isUnnamed)) return [];
  const tokens = tokenList(statement.written);
  const items = itemsOf(tokens);
  if (items.length !== list.length) return [];
  return list.map((item, place) => {
    if (isMany(item)) return MANY;
    if (!isUnnamed(item)) return null;
    return `?${callIn(tokens, items[place] ?? [0, 0]) ?? `field${place}`}`;
  });
}

/**
 * The names of a result's columns, given the engine's: beside two or more stars, those between them are the engine's.
 * `hidden` is the number of columns at the end that no item stands for.
 */
export function withColumnNames(
  names: readonly string[],
  own: readonly ColumnName[],
  hidden: number,
): readonly string[] {
  const first = own.indexOf(MANY);
  if (own.length === 0) return names;
  const renamed = [...names];
  const behind = first === -1 ? 0 : own.length - 1 - own.lastIndexOf(MANY);
  for (const [place, name] of own.slice(0, first === -1 ? own.length : first).entries())
    renamed[place] = nameOr(name, names[place]);
  for (let back = 1; back <= behind; back++) {
    const place = names.length - hidden - back;
    renamed[place] = nameOr(own.at(-back), names[place]);
  }
  return renamed;
}

function nameOr(name: ColumnName | undefined, given = ''): string {
  return typeof name === 'string' ? name : given;
}

function isUnnamed(item: Node): boolean {
  return textOf(item['alias']) === '' && item['class'] !== 'COLUMN_REF' && !isMany(item);
}

/** Stars, COLUMNS(…), and unnest(object). */
export function isMany(item: Node): boolean {
  if (item['class'] === 'STAR') return true;
  if (textOf(item['function_name']) === 'unnest') return true;
  for (const node of nodesIn(item)) if (node['columns'] === true) return true;
  return false;
}

/** The SELECT that names the columns: the leftmost one. */
function firstSelect(node: Node): Node {
  let at = node;
  for (const key of ['left', 'child', 'left', 'child']) {
    const next = at[key];
    if (typeof next === 'object' && next !== null && isQuery(next as Node)) at = next as Node;
  }
  return at;
}

const ENDS: ReadonlySet<string> = new Set(
  'except fetch from group having intersect limit offset order qualify union using where window'.split(' '),
);

/** First and last token of each item of the first select list that is in no brackets. */
export function itemsOf(list: TokenList): [first: number, last: number][] {
  let at = 0;
  while (isMark(list[at], '(')) at += 1;
  while (at < list.length && wordOf(list[at]) !== 'select') at = next(list, at);
  at += 1;
  if (/^(?:distinct|all)$/.test(wordOf(list[at]))) at += 1;
  if (wordOf(list[at]) === 'on') at = next(list, at + 1);
  let end = at;
  while (end < list.length && !isEnd(list, end)) end = next(list, end);
  return itemsIn(list, at, end).map(([first, behind]) => [first, behind - 1]);
}

function isEnd(list: TokenList, at: number): boolean {
  const before = list[at - 1];
  if (isMark(list[at], ';') || isMark(list[at], ')')) return true;
  if (!ENDS.has(wordOf(list[at])) || isMark(before, '.') || wordOf(before) === 'as') return false;
  if (wordOf(list[at]) === 'group') return wordOf(before) !== 'within';
  if (wordOf(list[at]) === 'from') return wordOf(before) !== 'distinct' || wordOf(list[at - 2]) === 'select';
  return wordOf(list[at]) !== 'except' || !isMark(before, '*');
}

/** Index after a token, or after the bracket that it opens. */
function next(list: TokenList, at: number): number {
  return list.closeOf(at) + 1;
}

/** The function whose call the item is, as it is written; undefined if it is more or less than a call. */
function callIn(list: TokenList, [first, last]: [number, number]): string | undefined {
  let at = first;
  while (isMark(list[at + 1], '.')) at += 2;
  const name = list[at];
  if (!isMark(list[at + 1], '(') || NO_CALLS.has(wordOf(name))) return undefined;
  if (name?.kind !== 'word' && name?.kind !== 'quoted') return undefined;
  let end = list.closeOf(at + 1);
  while (end < last && AFTER_CALL.has(wordOf(list[end + 1]))) {
    const open = wordOf(list[end + 1]) === 'within' ? end + 3 : end + 2;
    end = list.closeOf(open);
  }
  return end === last ? name.text.replaceAll('"', '') : undefined;
}
