import { isMark, wordOf } from '../forms/edit.ts';
import { AGGREGATES } from '../functions.ts';
import { foldName } from '../names.ts';
import { nameOfToken } from '../paths.ts';
import { isReserved } from '../syntax-hints.ts';
import type { TokenList } from '../token-list.ts';
import { itemsIn, type Range } from '../token-ranges.ts';
import { clausesAround } from './clauses.ts';
import { type Correct, instead } from './faulty.ts';

/** A GROUP BY ALL that fails, as items of its SELECT have a column beside an aggregate. */
export interface MixedGroups {
  /** Index of the token ALL. */
  all: number;
  /** The first such column, and the index of its token. */
  at: number;
  column: string;
  /** What GROUP BY names instead: the numbers of the items without an aggregate, and the columns that are none of these. */
  groups: string[];
}

/** The first of them in a text; `names` are those of columns. */
export function mixedGroups(sql: string, list: TokenList, names: readonly string[]): MixedGroups | undefined {
  const known = new Set(names.map(foldName));
  for (let group = 0; group < list.length; group++) {
    const isAll = wordOf(list[group]) === 'group' && wordOf(list[group + 2]) === 'all';
    const select = isAll ? clausesAround(list, group).find(({ word }) => word === 'select') : undefined;
    if (select === undefined) continue;
    const items = itemsIn(list, select.start + 1, select.end);
    const read = items.map((item) => readItem(list, item, known));
    const columns = read.flatMap((item) => (item.hasAggregate ? item.columns : []));
    const [first] = columns;
    if (first === undefined) continue;
    const textOf = ([start, end]: Range) => sql.slice(list[start]?.start, list[end - 1]?.end);
    const plain = read.flatMap(({ hasAggregate }, index) => (hasAggregate ? [] : [index]));
    const texts = new Set(plain.map((index) => textOf(items[index] ?? [0, 0])));
    const others = new Set(columns.map(textOf).filter((text) => !texts.has(text)));
    const groups = [...plain.map((index) => String(index + 1)), ...others];
    return { all: group + 2, at: first[0], column: textOf(first), groups };
  }
  return undefined;
}

/** Whether an item calls an aggregate, and the columns that it reads outside of these. */
function readItem(list: TokenList, [start, end]: Range, known: ReadonlySet<string>) {
  const columns: Range[] = [];
  let hasAggregate = false;
  for (let index = start; index < end; index++) {
    const token = list[index];
    // A subquery has columns of its own.
    if (isMark(token, '(') && wordOf(list[index + 1]) === 'select') index = list.closeOf(index);
    const name = nameOfToken(token);
    if (name === undefined || wordOf(list[index - 1]) === 'as') continue;
    if (isMark(list[index + 1], '(')) {
      if (!AGGREGATES.has(foldName(name))) continue;
      hasAggregate = true;
      index = list.closeOf(index + 1);
      continue;
    }
    if (token?.kind === 'word' && isReserved(token)) continue;
    const last = endOfPath(list, index);
    const next = isMark(list[index + 1], '.') ? nameOfToken(list[index + 2]) : undefined;
    if ([name, next].some((one) => one !== undefined && known.has(foldName(one)))) columns.push([index, last]);
    index = last - 1;
  }
  return { hasAggregate, columns };
}

/** Index behind the path that begins at a token. */
function endOfPath(list: TokenList, start: number): number {
  let end = start + 1;
  for (;;) {
    if (isMark(list[end], '[')) end = list.closeOf(end) + 1;
    else if (isMark(list[end], '.') && nameOfToken(list[end + 1]) !== undefined && !isMark(list[end + 2], '('))
      end += 2;
    else return end;
  }
}

/** What an error of the engine says that names neither the column nor its place. */
export const isMixed = (message: string) => message.startsWith('Cannot mix aggregates with non-aggregated columns');

/** GROUP BY ALL groups by whole items: what it should group by is named. */
const named: Correct = ({ said, sql, list, tables }) => {
  const names = tables.flatMap((table) => table.columns());
  const found = isMixed(said) ? mixedGroups(sql, list, names) : undefined;
  return found === undefined ? [] : [[instead({ list }, found.all, found.all + 1, found.groups.join(', '))]];
};

export const CORRECT: readonly Correct[] = [named];
