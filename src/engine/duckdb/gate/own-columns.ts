import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import { AGGREGATES } from '../sql/functions.ts';
import { EXTRA_COLUMN, foldName, ID_COLUMN, type NamedTable, quoteName, TIME_COLUMN } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import { tokens } from '../sql/tokens.ts';
import { isNode, listOf, type Node, nodesIn, nodesOf, offsetOf, textOf, textsOf } from '../sql/tree.ts';

/*
 * What other services read otherwise where a column of the select list has a name that the table has too. Beside a star the
 * explicit column wins: `SELECT *, CAST(x AS INT) AS x` has one `x`. GROUP BY takes the select list's own column if it has
 * the name of a special field, or the last name of a path: `SELECT o.country … GROUP BY country`.
 */

/** What the relations of a query are, as the gate has found them. */
export interface Relations {
  tables: ReadonlyMap<Node, NamedTable>;
  /** The entry of WITH that a name stands for. */
  queries: ReadonlyMap<Node, Node>;
  /** The columns of queries, once they are known. */
  columns: Map<Node, ReadonlySet<string> | undefined>;
}

/** Changes the tree of a SELECT, whose FROM has been walked, and returns what its text needs. */
export function preferOwnColumns(bytes: Buffer, select: Node, relations: Relations): Splice[] {
  const list = nodesOf(select['select_list']);
  return [...hideBehind(bytes, list, select['from_table'], relations), ...groupByOwn(bytes, select, list, relations)];
}

/** The name that an item of a select list has in the result, folded; empty without one. */
function nameOf(item: Node): string {
  const alias = textOf(item['alias']);
  const path = item['class'] === 'COLUMN_REF' ? textsOf(item['column_names']) : [];
  return foldName(alias === '' ? (path.at(-1) ?? '') : alias);
}

function hideBehind(bytes: Buffer, list: readonly Node[], from: unknown, relations: Relations): Splice[] {
  const own = new Set(list.filter((item) => item['class'] !== 'STAR').map(nameOf));
  own.delete('');
  if (own.size === 0) return [];
  return list.filter(isPlainStar).flatMap((star) => {
    const relation = foldName(textOf(star['relation_name']));
    const there = relationsIn(from, relations).filter(({ name }) => relation === '' || name === relation);
    const hidden = [...own].filter((name) => there.some(({ columns }) => columns?.has(name)));
    const at = offsetOf(star);
    const end = at === undefined ? undefined : starEnd(bytes, at);
    if (hidden.length === 0 || end === undefined) return [];
    star['exclude_list'] = hidden;
    return [{ at: end, length: 0, text: ` EXCLUDE (${hidden.map(quoteName).join(', ')})` }];
  });
}

const STAR_KEYS: ReadonlySet<string> = new Set(['class', 'type', 'relation_name', 'query_location']);
const isPlainStar = (item: Node) => item['class'] === 'STAR' && Object.keys(item).every((key) => STAR_KEYS.has(key));

function starEnd(bytes: Buffer, at: number): number | undefined {
  const text = bytes.toString('utf8', at, at + 512);
  for (const token of tokens(text)) if (token.text === '*') return at + Buffer.byteLength(text.slice(0, token.end));
  return undefined;
}

interface Relation {
  /** Folded. */
  name: string;
  /** Undefined: they are not known. */
  columns: ReadonlySet<string> | undefined;
}

/** The relations that a FROM brings columns of. */
function relationsIn(from: unknown, relations: Relations): Relation[] {
  if (!isNode(from) || from['type'] === 'EMPTY') return [];
  if (from['type'] === 'JOIN') {
    const hidesRight = /^(?:SEMI|ANTI)$/.test(textOf(from['join_type']));
    const sides = hidesRight ? [from['left']] : [from['left'], from['right']];
    return sides.flatMap((side) => relationsIn(side, relations));
  }
  const name = foldName(textOf(from['alias']) || textOf(from['table_name']));
  return [{ name, columns: columnsIn(from, relations) }];
}

function columnsIn(from: Node, relations: Relations): ReadonlySet<string> | undefined {
  // Renamed by t(a, b).
  if (from['column_name_alias'] !== undefined) return undefined;
  const table = relations.tables.get(from);
  if (table !== undefined) return new Set(table.columns().map(foldName));
  const entry = from['type'] === 'SUBQUERY' ? from['subquery'] : relations.queries.get(from);
  return isNode(entry) ? columnsOf(entry, relations) : undefined;
}

/** The names of a query's columns; found once, since queries may name each other again and again. */
function columnsOf(entry: Node, relations: Relations): ReadonlySet<string> | undefined {
  if (relations.columns.has(entry)) return relations.columns.get(entry);
  // A recursive one does not know its own.
  relations.columns.set(entry, undefined);
  const select = selectIn(entry);
  const columns = select && namesIn(nodesOf(select['select_list']), select['from_table'], relations);
  relations.columns.set(entry, columns);
  return columns;
}

/** The names of the columns of a select list; undefined if they are not known. */
function namesIn(list: readonly Node[], from: unknown, relations: Relations): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const item of list) {
    if (item['class'] !== 'STAR') names.add(nameOf(item));
    else {
      const isOfColumns = Object.keys(item).every((key) => STAR_KEYS.has(key) || key === 'exclude_list');
      const of = foldName(textOf(item['relation_name']));
      const there = relationsIn(from, relations).filter(({ name }) => of === '' || name === of);
      if (!isOfColumns || there.some(({ columns }) => columns === undefined)) return undefined;
      const left = new Set(textsOf(item['exclude_list']).map(foldName));
      for (const name of there.flatMap(({ columns = [] }) => [...columns])) if (!left.has(name)) names.add(name);
    }
  }
  return names;
}

/** The SELECT of an entry of WITH, or of a subquery, that has no other names for its columns. */
function selectIn(entry: Node): Node | undefined {
  for (let at: unknown = entry; isNode(at); at = at['value'] ?? at['query'] ?? at['node']) {
    if (listOf(at['aliases']).length > 0) return undefined;
    if (at['type'] === 'SELECT_NODE') return at;
  }
  return undefined;
}

const SPECIAL: ReadonlySet<string> = new Set([ID_COLUMN, TIME_COLUMN, EXTRA_COLUMN, STRAYS_COLUMN, '_meta']);

function groupByOwn(bytes: Buffer, select: Node, list: readonly Node[], relations: Relations): Splice[] {
  const groups = Array.isArray(select['group_expressions']) ? select['group_expressions'] : [];
  if (groups.length === 0 || list.some((item) => item['class'] === 'STAR')) return [];
  const names = list.map(nameOf);
  return groups.flatMap((group, index) => {
    const [name, ...more] = isNode(group) && group['class'] === 'COLUMN_REF' ? textsOf(group['column_names']) : [];
    const at = isNode(group) ? offsetOf(group) : undefined;
    if (name === undefined || more.length > 0 || at === undefined || !isNode(group)) return [];
    const folded = foldName(name);
    const place = names.indexOf(folded);
    const item = list[place];
    if (item === undefined || names.lastIndexOf(folded) !== place || !isOwn(item, folded, select, relations)) return [];
    const text = bytes.toString('utf8', at, at + 512);
    const [token] = tokens(text);
    if (token === undefined || foldName(token.text.replaceAll('"', '')) !== folded) return [];
    const value = { type: { id: 'INTEGER' }, is_null: false, value: place + 1 };
    groups[index] = { class: 'CONSTANT', type: 'VALUE_CONSTANT', query_location: at, value };
    return [{ at, length: Buffer.byteLength(token.text), text: String(place + 1) }];
  });
}

/** Whether GROUP BY means the item and not a column of the tables. */
function isOwn(item: Node, name: string, select: Node, relations: Relations): boolean {
  if (textOf(item['alias']) !== '') return SPECIAL.has(name) && !aggregates(item);
  if (textsOf(item['column_names']).length < 2) return false;
  // A path: the engine takes its last name for a column if one relation has it, and for an error otherwise.
  const there = relationsIn(select['from_table'], relations);
  if (there.some(({ columns }) => columns === undefined)) return false;
  return there.filter(({ columns }) => columns?.has(name)).length !== 1;
}

function aggregates(item: Node): boolean {
  for (const node of nodesIn(item)) {
    if (node['class'] === 'WINDOW' || AGGREGATES.has(foldName(textOf(node['function_name'])))) return true;
  }
  return false;
}
