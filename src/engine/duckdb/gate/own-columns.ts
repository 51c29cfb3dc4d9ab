import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import { AGGREGATES } from '../sql/functions.ts';
import { EXTRA_COLUMN, foldName, ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import type { Splice } from '../sql/splices.ts';
import { tokens } from '../sql/tokens.ts';
import { isNode, type Node, nodesIn, nodesOf, offsetOf, textOf, textsOf } from '../sql/tree.ts';
import { nameOf, type Relation, type Relations, relationsIn } from './query-columns.ts';

/*
 * What other services read otherwise where a column of the select list has a name that the table has too. Beside a star the
 * explicit column wins: `SELECT *, CAST(x AS INT) AS x` has one `x`. GROUP BY takes the select list's own column if it has
 * the name of a special field, or the last name of a path: `SELECT o.country … GROUP BY country`.
 */

/** Changes the tree of a SELECT, whose FROM has been walked, and returns what its text needs. */
export function preferOwnColumns(bytes: Buffer, select: Node, relations: Relations): Splice[] {
  const list = nodesOf(select['select_list']);
  return [...hideBehind(bytes, list, select['from_table'], relations), ...groupByOwn(bytes, select, list, relations)];
}

function hideBehind(bytes: Buffer, list: readonly Node[], from: unknown, relations: Relations): Splice[] {
  const own = new Set(list.filter((item) => item['class'] !== 'STAR').map(ownName));
  own.delete('');
  if (own.size === 0) return [];
  return list.filter(isPlainStar).flatMap((star) => {
    const relation = foldName(textOf(star['relation_name']));
    const there = relationsIn(from, relations).filter(({ name }) => relation === '' || name === relation);
    const hidden = [...own].filter((name) => there.some((one) => hasColumn(one, name)));
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

const hasColumn = ({ columns = [] }: Relation, name: string) => columns.some((one) => foldName(one) === name);
const ownName = (item: Node) => foldName(nameOf(item));

const SPECIAL: ReadonlySet<string> = new Set([ID_COLUMN, TIME_COLUMN, EXTRA_COLUMN, STRAYS_COLUMN, '_meta']);

function groupByOwn(bytes: Buffer, select: Node, list: readonly Node[], relations: Relations): Splice[] {
  const groups = Array.isArray(select['group_expressions']) ? select['group_expressions'] : [];
  if (groups.length === 0 || list.some((item) => item['class'] === 'STAR')) return [];
  const names = list.map(ownName);
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
  return there.filter((one) => hasColumn(one, name)).length !== 1;
}

function aggregates(item: Node): boolean {
  for (const node of nodesIn(item)) {
    if (node['class'] === 'WINDOW' || AGGREGATES.has(foldName(textOf(node['function_name'])))) return true;
  }
  return false;
}
