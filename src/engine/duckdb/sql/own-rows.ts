import type { QueryRequest } from '../../queries.ts';
import { isMark, wordOf } from './forms/edit.ts';
import { foldName, quoteName } from './names.ts';
import { nameOfToken } from './paths.ts';
import { type TokenList, tokenList } from './token-list.ts';
import { conjunctsIn, topLevel } from './token-ranges.ts';

/*
 * Which rows a statement of one SELECT over one table reads, as its text says: so that what is told of values can be asked of
 * these alone.
 */

const SELECTS = /^(?:select|with|union|intersect|except|from|join|pivot|unpivot)$/;
const BEHIND_WHERE = /^(?:group|having|order|limit|offset|qualify|window|sample|using)$/;
/** What makes NULL of what it does not read: whether it does is what is asked. */
const TRIES = /try/i;
/** What makes another answer of the same data: what is asked of these rows is kept until they change. */
const CHANGES = /random|uuid|now|today|current_|localtime|nextval/i;

/** What stands behind FROM, and WHERE. Undefined: it reads several tables, or has another query in it, or no WHERE. */
function readRows(sql: string): { from: string; where: string } | undefined {
  const list = tokenList(sql);
  const words = list.map(wordOf);
  const [select, from, ...more] = words.flatMap((word, at) => (SELECTS.test(word) ? [at] : []));
  const where = words.indexOf('where', from);
  if (select !== 0 || from === undefined || words[from] !== 'from' || more.length > 0 || where === -1) return undefined;
  if (!isTop(list, from) || !isTable(list, from + 1, where)) return undefined;
  const end = topLevel(list, where + 1, list.length).find(
    (at) => BEHIND_WHERE.test(words[at] ?? '') || isMark(list[at], ';'),
  );
  return { from: textIn(sql, list, from + 1, where), where: textIn(sql, list, where + 1, end ?? list.length) };
}

/** A condition that puts values in order, or casts them, as may be wrong. */
export const ORDERS_OR_CASTS = /try|cast|::|\bbetween\b|(?<!<)>|<(?!>)/i;

/**
 * The same as what stands behind FROM, without conditions that have parameters, name what is computed or one of `columns`, or are
 * like `odd`, default: try to read values.
 */
export function rowsWithoutTries(sql: string, odd = TRIES, columns: Iterable<string> = []): string | undefined {
  const { from, where } = readRows(sql) ?? {};
  if (from === undefined || where === undefined || CHANGES.test(where)) return undefined;
  const aliases = aliasesIn(sql);
  for (const column of columns) aliases.add(foldName(column));
  const list = tokenList(where);
  if (topLevel(list, 0, list.length).some((at) => /^(?:or|case)$/.test(wordOf(list[at])))) return undefined;
  const kept = conjunctsIn(list, 0, list.length).flatMap(([first, to]) => {
    const text = textIn(where, list, first, to);
    const hasParameter = list.slice(first, to).some(({ kind }) => kind === 'parameter');
    const hasAlias = list.slice(first, to).some((one) => aliases.has(foldName(nameOfToken(one) ?? '')));
    return hasParameter || hasAlias || odd.test(text) ? [] : [`(${text})`];
  });
  return kept.length === 0 ? undefined : `${from} WHERE ${kept.join(' AND ')}`;
}

/** The SQL of a request, over the rows alone that it may read: a WITH in which these have the names of the collection. */
export function overRows({ sql, only }: Pick<QueryRequest, 'sql' | 'only'>): string {
  const path = only?.names[0]?.map(quoteName).join('.');
  if (only === undefined || path === undefined) return sql;
  const list = tokenList(sql);
  const nameAt = (at: number) => foldName(nameOfToken(list[at]) ?? '');
  const full = new Set(only.names.map((names) => names.map(foldName).join('\0')));
  const parts: string[] = [];
  let from = 0;
  for (const [at, { start }] of list.entries()) {
    if (!isMark(list[at + 1], '.') || isMark(list[at - 1], '.') || !full.has(`${nameAt(at)}\0${nameAt(at + 2)}`))
      continue;
    parts.push(sql.slice(from, start));
    from = list[at + 2]?.start ?? start;
  }
  const end = list.findLast((token) => !isMark(token, ';'))?.end;
  const rows = `(SELECT * FROM ${path} WHERE ${only.where})`;
  const tables = only.names.map(([, name]) => `${quoteName(name)} AS ${rows}`);
  return `WITH ${tables.join(', ')} SELECT * FROM (${parts.join('')}${sql.slice(from, end)})`;
}

/** What the items of a select list are called, in lower case: WHERE may name these. */
function aliasesIn(sql: string): Set<string> {
  const list = tokenList(sql);
  const top = topLevel(list, 0, list.length);
  const names = top.flatMap((at, index): string[] => {
    const next = list[top[index + 1] ?? -1];
    const isEnd = isMark(next, ',') || wordOf(next) === 'from';
    const before = list[at - 1];
    const isItem = isMark(before, ',') || isMark(before, '.') || /^(?:select|distinct|all)$/.test(wordOf(before));
    const name = isMark(next, ':') || (isEnd && !isItem) ? list[at] : undefined;
    const called = nameOfToken(name);
    return called === undefined ? [] : [foldName(called)];
  });
  return new Set(names);
}

/** Whether tokens name a table: a path, and what it is called. */
function isTable(list: TokenList, from: number, to: number): boolean {
  const some = list.slice(from, to);
  return some.length > 0 && some.every((one) => one.kind === 'word' || one.kind === 'quoted' || isMark(one, '.'));
}

const isTop = (list: TokenList, at: number) => topLevel(list, 0, list.length).includes(at);

/** The text from one token to before another. */
function textIn(sql: string, list: TokenList, from: number, to: number): string {
  return sql.slice(list[from]?.start ?? sql.length, list[to - 1]?.end ?? 0);
}
