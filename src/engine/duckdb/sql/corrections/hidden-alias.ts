import { isMark, wordOf } from '../forms/edit.ts';
import { foldName } from '../names.ts';
import { nameOfToken } from '../paths.ts';
import type { TokenList } from '../token-list.ts';
import { itemsIn } from '../token-ranges.ts';
import { clausesAround } from './clauses.ts';
import { type Correct, instead } from './faulty.ts';

/** An item of a GROUP BY that was meant for one of SELECT, and names a field, which the engine takes. */
export interface HiddenAlias {
  /** Index of its token. */
  at: number;
  name: string;
  /** The number of the item of SELECT that has this name. */
  item: number;
}

const MISSING = /^column "([^"]+)" must appear in the GROUP/;

/** The names that an error of the engine may be due to, in the statement of which `said` names a column; `names` are those of fields. */
export function hiddenAliases(said: string, list: TokenList, names: readonly string[]): HiddenAlias[] {
  const column = MISSING.exec(said)?.[1];
  if (column === undefined) return [];
  const known = new Set(names.map(foldName));
  return list.flatMap((_, index) => {
    if (wordOf(list[index]) !== 'group' || wordOf(list[index + 1]) !== 'by') return [];
    const clauses = clausesAround(list, index);
    const [select, group] = ['select', 'group'].map((clause) => clauses.find(({ word }) => word === clause));
    if (select === undefined || group?.start !== index) return [];
    const items = itemsIn(list, select.start + 1, select.end);
    // Behind a star the number of an item is not known.
    if (items.some(([start, end]) => isMark(list[end - 1], '*') && end - start <= 3)) return [];
    const own = items.map((item) => aliasWith(list, item, foldName(column)));
    return itemsIn(list, group.start + 2, group.end).flatMap(([at, end]) => {
      const name = end === at + 1 ? nameOfToken(list[at]) : undefined;
      const item = name === undefined ? -1 : own.indexOf(foldName(name));
      return name !== undefined && item !== -1 && known.has(foldName(name)) ? [{ at, name, item: item + 1 }] : [];
    });
  });
}

/** The name, folded, that an item has been given which reads a column and is not that alone. */
function aliasWith(list: TokenList, [start, end]: readonly [number, number], column: string): string | undefined {
  const alias = nameOfToken(list[end - 1]);
  const before = list[end - 2];
  const isGiven =
    wordOf(before) === 'as' || isMark(before, ')') || isMark(before, ']') || nameOfToken(before) !== undefined;
  if (alias === undefined || end - start < 2 || !isGiven) return undefined;
  for (let at = start; at < end - 1; at++) if (foldName(nameOfToken(list[at]) ?? '') === column) return foldName(alias);
  return undefined;
}

/** GROUP BY takes the numbers of the items that were meant. */
const numbered: Correct = ({ said, list, tables }) => {
  const names = tables.flatMap((table) => table.columns());
  const found = hiddenAliases(said, list, names);
  return found.length === 0 ? [] : [found.map(({ at, item }) => instead({ list }, at, at + 1, String(item)))];
};

export const CORRECT: readonly Correct[] = [numbered];
