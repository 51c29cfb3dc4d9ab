import { foldName, type NamedTable } from '../sql/names.ts';
import { constantText, isNode, listOf, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { type References, WIDTH_MAX } from './widths.ts';

/*
 * What the columns of queries and of relations in FROM are called, in their order.
 */

/** Names of columns that are held of a statement: of more, which no result may have, none are known. */
const NAMES_MAX = 1_000_000;

/** What the relations of a statement are, as the gate has found them. */
export interface Relations extends References {
  /** The names of the columns of queries, and of stars, once they are known. */
  readonly columns: Map<Node, readonly string[] | undefined>;
  namesLeft: number;
}

/** Those of a statement of which nothing is known yet. */
export function createRelations() {
  return {
    tables: new Map<Node, NamedTable>(),
    queries: new Map<Node, Node>(),
    columns: new Map<Node, readonly string[] | undefined>(),
    namesLeft: NAMES_MAX,
  } satisfies Relations;
}

export interface Relation {
  /** Folded. */
  name: string;
  /** Undefined: they are not known. */
  columns: readonly string[] | undefined;
}

/** The query of an entry of WITH, or of a subquery, with the names that it gives to its columns. */
export function queryIn(node: Node): { query: unknown; aliases: readonly string[] } {
  const value = isNode(node['value']) ? node['value'] : node;
  const query = isNode(value['query']) ? value['query'] : value;
  return { query: query['node'] ?? query, aliases: textsOf(value['aliases']) };
}

/** The names of a query's columns; undefined: they are not known. */
export function columnsOf(entry: unknown, relations: Relations): readonly string[] | undefined {
  return isNode(entry) ? once(entry, relations, () => columnsIn(entry, relations)) : undefined;
}

/** What is found of a node, found once: queries may name each other again and again, each with twice the columns of the last. */
function once(
  node: Node,
  relations: Relations,
  find: () => readonly string[] | undefined,
): readonly string[] | undefined {
  if (relations.columns.has(node)) return relations.columns.get(node);
  // A recursive one does not know its own.
  relations.columns.set(node, undefined);
  const found = relations.namesLeft > 0 ? find() : undefined;
  if (found === undefined || found.length > WIDTH_MAX) return undefined;
  relations.namesLeft -= found.length;
  relations.columns.set(node, found);
  return found;
}

function columnsIn(entry: Node, relations: Relations): readonly string[] | undefined {
  const { query, aliases } = queryIn(entry);
  if (query !== entry) {
    const own = columnsOf(query, relations);
    return own && [...aliases, ...own.slice(aliases.length)];
  }
  if (entry['type'] !== 'SELECT_NODE') {
    const first =
      entry['setop_type'] === 'UNION_BY_NAME' ? undefined : (entry['left'] ?? nodesOf(entry['children'])[0]);
    return columnsOf(first, relations);
  }
  const names: string[] = [];
  for (const item of nodesOf(entry['select_list'])) {
    const own = columnsOfItem(item, entry['from_table'], relations);
    if (own === undefined || names.length > WIDTH_MAX) return undefined;
    names.push(...own);
  }
  return names;
}

/** The names that an item of a select list has in the result; undefined: they are not known. */
export function columnsOfItem(item: Node, from: unknown, relations: Relations): readonly string[] | undefined {
  if (item['class'] === 'STAR') return once(item, relations, () => columnsOfStar(item, from, relations));
  // Of an object it gives all fields.
  return isUnnest(item) && textOf(item['alias']) === '' ? undefined : [nameOf(item)];
}

/** Whether an expression is a call of unnest(). */
export const isUnnest = (node: Node): boolean => foldName(textOf(node['function_name'])) === 'unnest';

/** The name of an item that is one column; empty: it has one of the engine's, which nothing else is called. */
export function nameOf(item: Node): string {
  const path = item['class'] === 'COLUMN_REF' ? textsOf(item['column_names']) : [];
  const [, key] = isAccess(item) ? nodesOf(item['children']) : [];
  return textOf(item['alias']) || (path.at(-1) ?? constantText(key) ?? '');
}

export const isAccess = ({ type }: Node): boolean => type === 'ARRAY_EXTRACT' || type === 'STRUCT_EXTRACT';

/** What makes other columns of those that a star stands for. */
const CHANGES = ['qualified_exclude_list', 'rename_list'];

function columnsOfStar(star: Node, from: unknown, relations: Relations): readonly string[] | undefined {
  if (star['columns'] === true || star['expr'] !== undefined) return undefined;
  if (CHANGES.some((key) => listOf(star[key]).length > 0)) return undefined;
  const of = foldName(textOf(star['relation_name']));
  const [first, ...more] = relationsIn(from, relations).filter(({ name }) => name === of);
  const all = of === '' ? allIn(from, relations) : more.length === 0 ? first?.columns : undefined;
  const excluded = new Set(textsOf(star['exclude_list']).map(foldName));
  return all?.filter((name) => !excluded.has(foldName(name)));
}

/** All columns that a FROM brings, those that a join has once by USING once. */
export function allIn(from: unknown, relations: Relations): readonly string[] | undefined {
  if (!isNode(from) || from['type'] !== 'JOIN') return relationsIn(from, relations)[0]?.columns;
  const left = allIn(from['left'], relations);
  if (left === undefined || isHalf(from)) return left;
  if (left.length > WIDTH_MAX) return undefined;
  const shared = new Set((from['ref_type'] === 'NATURAL' ? left : textsOf(from['using_columns'])).map(foldName));
  const right = allIn(from['right'], relations);
  return right && [...left, ...right.filter((name) => !shared.has(foldName(name)))];
}

/** Whether a join brings columns of its left side only. */
const isHalf = (join: Node) => /^(?:SEMI|ANTI)$/.test(textOf(join['join_type']));

/** The relations that a FROM brings columns of. */
export function relationsIn(from: unknown, relations: Relations): readonly Relation[] {
  if (!isNode(from) || from['type'] === 'EMPTY') return [];
  if (from['type'] === 'JOIN') {
    const left = relationsIn(from['left'], relations);
    return isHalf(from) ? left : [...left, ...relationsIn(from['right'], relations)];
  }
  const table = relations.tables.get(from);
  const own = table?.columns() ?? columnsOf(relations.queries.get(from) ?? from['subquery'], relations);
  // Renamed by t(a, b).
  const isRenamed = from['column_name_alias'] !== undefined;
  const name = foldName(textOf(from['alias']) || textOf(from['table_name']));
  return [{ name, columns: isRenamed ? undefined : own }];
}
