import type { Edit } from '../forms/edit.ts';
import { isMark, wordOf } from '../forms/edit.ts';
import { AGGREGATES } from '../functions.ts';
import { nameOfToken } from '../paths.ts';
import type { TokenList } from '../token-list.ts';
import { conjunctsIn, type Range, topLevel } from '../token-ranges.ts';
import { type Correct, type Faulty, instead, textOf } from './faulty.ts';

/** Clauses of a SELECT that are missing, or hold what belongs into another one. */

/** A clause from its first token up to `end`. */
interface Clause {
  word: string;
  start: number;
  end: number;
}

const ORDER = ['select', 'from', 'where', 'group', 'having', 'window', 'qualify', 'order', 'limit', 'offset'];

/** The clauses of the SELECT that a token is in, as they are written; empty if it is in none. */
export function clausesAround(list: TokenList, at: number): Clause[] {
  let first = startOf(list, at);
  while (first > 0 && !/^(?:select|from)$/.test(wordOf(list[first])) && isMark(list[first - 1], '('))
    first = startOf(list, first - 1);
  const clauses: Clause[] = [];
  let index = first;
  for (; index < list.length && !isEnd(list, index); index = list.closeOf(index) + 1) {
    if (!begins(list, index)) continue;
    const last = clauses.at(-1);
    if (last !== undefined) last.end = index;
    clauses.push({ word: wordOf(list[index]), start: index, end: index });
  }
  const last = clauses.at(-1);
  if (last !== undefined) last.end = index;
  return clauses;
}

const SET = /^(?:union|except|intersect)$/;

/** The first token behind the bracket, or the set operator, that a token is in or behind. */
function startOf(list: TokenList, at: number): number {
  let index = at;
  while (index > 0) {
    const before = list[index - 1];
    if (before?.kind === 'punctuation' && '([{;'.includes(before.text)) return index;
    if (SET.test(wordOf(before))) return /^(?:all|distinct)$/.test(wordOf(list[index])) ? index + 1 : index;
    index = list.openOf(index - 1);
  }
  return 0;
}

function isEnd(list: TokenList, index: number): boolean {
  return isMark(list[index], ')') || isMark(list[index], ';') || SET.test(wordOf(list[index]));
}

function begins(list: TokenList, index: number): boolean {
  const word = wordOf(list[index]);
  if (!ORDER.includes(word) || isMark(list[index - 1], '.')) return false;
  if (word === 'group' || word === 'order') return wordOf(list[index + 1]) === 'by';
  // IS DISTINCT FROM
  return word !== 'from' || wordOf(list[index - 1]) !== 'distinct';
}

/** A column beside aggregates, without GROUP BY or not in it. */
const grouped: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('column ') || !said.includes(' must appear in the GROUP BY clause') || at === -1) return [];
  const clauses = clausesAround(list, at);
  const group = clauses.find(({ word }) => word === 'group');
  const column = said.split('"')[1] ?? '';
  const added = group && after(list, group.end - 1, `, ${written(faulty, column)}`);
  const select = clauses.find(({ word }) => word === 'select');
  if (select !== undefined && isChosen(faulty, select)) return [];
  if (added !== undefined) return [...(select === undefined ? [] : ofExtreme(faulty, select)), [added]];
  const before = clauses.findLast(({ word }) => ['select', 'from', 'where'].includes(word));
  return before === undefined ? [] : [[after(list, before.end - 1, ' GROUP BY ALL')]];
};

/**
 * Whether a SELECT has an aggregate of the column at an error, or one that chooses a row, as max_by() does: then one more group for
 * each of its values is hardly meant, and what is, is not clear.
 */
function isChosen(faulty: Faulty, { start, end }: Clause): boolean {
  const { list, at } = faulty;
  const column = written(faulty, nameOfToken(list[at]) ?? '');
  for (let call = start; call < end; call++) {
    const name = wordOf(list[call]);
    if (!AGGREGATES.has(name) || !isMark(list[call + 1], '(')) continue;
    if (/^(?:arg_(?:min|max)|(?:min|max)_by)/.test(name)) return true;
    const close = list.closeOf(call + 1);
    if (textOf(faulty, call + 2, close) === column) return true;
  }
  return false;
}

const DISTINCT = /^(?:select|distinct|all)$/;

/** `SELECT city, name, max(temp) … GROUP BY city`: a column that is an item of its own beside max() or min() is that of its row. */
function ofExtreme(faulty: Faulty, { start, end }: Clause): Edit[][] {
  const { list, at } = faulty;
  const extremes = list.slice(start, end).flatMap((token, index) => {
    const isCall = /^(?:max|min)$/.test(wordOf(token)) && isMark(list[start + index + 1], '(');
    return isCall ? [start + index] : [];
  });
  const [call] = extremes;
  const [close, ...more] = call === undefined ? [] : list.endsOf(call + 1);
  const isOne = extremes.every((index) => wordOf(list[index]) === wordOf(list[call ?? 0]));
  if (call === undefined || close === undefined || more.length > 0 || !isOne || at < start || at >= end) return [];
  let last = at;
  while (isMark(list[last + 1], '.')) last += 2;
  const next = list[last + 1];
  const isItem = isMark(list[at - 1], ',') || DISTINCT.test(wordOf(list[at - 1]));
  const isNamed = wordOf(next) === 'as';
  if (!isItem || !(isNamed || isMark(next, ',') || last + 1 === end)) return [];
  const extreme = `arg_${wordOf(list[call])}(${textOf(faulty, at, last + 1)}, ${textOf(faulty, call + 2, close)})`;
  return [[instead(faulty, at, last + 1, isNamed ? extreme : `${extreme} AS ${list[last]?.text ?? ''}`)]];
}

const EXTREMES = /\barg_(max|min)\(/gi;

/** What to say of a corrected text in which a column beside max() or min() is that of its row. */
export function extremeSaid(sql: string, text: string): string | undefined {
  const countIn = (one: string) => one.match(EXTREMES)?.length ?? 0;
  if (countIn(text) <= countIn(sql)) return undefined;
  return 'what stands beside max() or min() is that of the row that has it; to have a row for each instead, name it in GROUP BY';
}

/** A column as it is written at the place of the error. */
function written({ sql, list, at }: Faulty, column: string): string {
  let end = at;
  while (isMark(list[end + 1], '.')) end += 2;
  return nameOfToken(list[at]) === undefined ? column : sql.slice(list[at]?.start, list[end]?.end);
}

function after(list: TokenList, index: number, text: string): Edit {
  const end = list[index]?.end ?? 0;
  return { start: end, end, text };
}

/** Aggregates in WHERE, which belong into HAVING, and windows, which belong into QUALIFY. */
const moved: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const to = said.startsWith('WHERE clause cannot contain aggregates')
    ? 'having'
    : said.startsWith('WHERE clause cannot contain window')
      ? 'qualify'
      : undefined;
  if (to === undefined || at === -1) return [];
  const clauses = clausesAround(list, at);
  const where = clauses.find(({ word }) => word === 'where');
  if (where === undefined || clauses.some(({ word }) => word === to)) return [];
  const conditions = conditionsOf(list, where);
  // The error is at the aggregate, which may be that of a name in SELECT.
  const name = at < where.start ? aliasBehind(list, at) : undefined;
  const isMoved = ([start, end]: [number, number]) =>
    name === undefined ? start <= at && at < end : list.slice(start, end).some((token) => nameOfToken(token) === name);
  const moves = conditions.filter(isMoved);
  if (moves.length === 0) return [];
  const stay = conditions.filter((one) => !isMoved(one)).map(([start, end]) => textOf(faulty, start, end));
  const place = clauses.findLast(({ word }) => ORDER.indexOf(word) < ORDER.indexOf(to)) ?? where;
  const clause = `${to.toUpperCase()} ${moves.map(([start, end]) => textOf(faulty, start, end)).join(' AND ')}`;
  const left = stay.length === 0 ? '' : `WHERE ${stay.join(' AND ')}`;
  if (place === where) return [[instead(faulty, where.start, where.end, left === '' ? clause : `${left} ${clause}`)]];
  const cut = instead(faulty, where.start, where.end, left);
  // The space behind a clause that goes, goes too.
  const end = left === '' ? (list[where.end]?.start ?? cut.end) : cut.end;
  return [[{ ...cut, end }, after(list, place.end - 1, ` ${clause}`)]];
};

/** The conditions that a WHERE joins by AND; none if it has an OR. */
function conditionsOf(list: TokenList, { start, end }: Clause): Range[] {
  const hasOr = topLevel(list, start + 1, end).some((at) => wordOf(list[at]) === 'or');
  return hasOr ? [] : conjunctsIn(list, start + 1, end);
}

/** The name that SELECT gives to what is at a token. */
function aliasBehind(list: TokenList, at: number): string | undefined {
  let index = at;
  while (index < list.length && !isMark(list[index], ',') && wordOf(list[index]) !== 'from')
    index = list.closeOf(index) + 1;
  return nameOfToken(list[index - 1]);
}

/**
 * UNNEST where rows cannot be made: it goes into FROM. A condition is one of the document, which the rows of several items would
 * count several times: it asks whether there is such an item.
 */
const unnested: Correct = (faulty) => {
  const { said, list, at } = faulty;
  if (!said.startsWith('UNNEST not supported here') || wordOf(list[at]) !== 'unnest' || !isMark(list[at + 1], '('))
    return [];
  const from = clausesAround(list, at).find(({ word }) => word === 'from');
  if (from === undefined) return [];
  const call = textOf(faulty, at, list.closeOf(at + 1) + 1);
  const uses = list.flatMap((token, index): Range[] => {
    const end = wordOf(token) === 'unnest' ? list.closeOf(index + 1) + 1 : index;
    return end > index && textOf(faulty, index, end) === call ? [[index, end]] : [];
  });
  const where = clausesAround(list, at).find(({ word }) => word === 'where');
  if (where !== undefined && uses.every(([start]) => start > where.start && start < where.end))
    return uses.length === 1 ? hasItem(faulty, where) : [];
  const items = uses.map(([start, end]) => instead(faulty, start, end, 'item'));
  return [[...items, after(list, from.end - 1, `, ${call} AS u(item)`)]];
};

/** `UNNEST(l) = x`, on the left side of a condition. */
function hasItem(faulty: Faulty, where: Clause): Edit[][] {
  const { list, at } = faulty;
  const condition = conditionsOf(list, where).find(([start]) => start === at);
  if (condition === undefined) return [];
  const end = list.closeOf(at + 1);
  const items = textOf(faulty, at + 2, end);
  const isEqual = isMark(list[end + 1], '=') && !isMark(list[end + 2], '=');
  const text = isEqual
    ? `list_contains(${items}, ${textOf(faulty, end + 2, condition[1])})`
    : `len(list_filter(${items}, lambda item: item${isMark(list[end + 1], '.') ? '' : ' '}${textOf(faulty, end + 1, condition[1])})) > 0`;
  return [[instead(faulty, at, condition[1], text)]];
}

/** LIMIT with two numbers, and TOP. */
const limited: Correct = (faulty) => {
  const { said, list, at } = faulty;
  const limit = said.startsWith('LIMIT ') ? list.findIndex((token) => wordOf(token) === 'limit') : -1;
  if (limit !== -1) {
    const [skip, take] = [list[limit + 1]?.text, list[limit + 3]?.text];
    return [[instead(faulty, limit, limit + 4, `LIMIT ${take} OFFSET ${skip}`)]];
  }
  const top =
    said.startsWith('syntax error') && wordOf(list[at - 1]) === 'top' && list[at]?.kind === 'number' ? at : -1;
  const last = clausesAround(list, top).at(-1);
  if (top === -1 || last === undefined || last.word === 'limit') return [];
  const cut = { start: list[top - 1]?.start ?? 0, end: list[top + 1]?.start ?? 0, text: '' };
  return [[cut, after(list, last.end - 1, ` LIMIT ${list[top]?.text}`)]];
};

export const CORRECT: readonly Correct[] = [grouped, moved, unnested, limited];
