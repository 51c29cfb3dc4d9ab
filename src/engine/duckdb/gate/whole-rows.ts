import { foldName, ID_COLUMN, type NamedTable, OWN_COLUMNS as OWN, TIME_COLUMN } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { isNode, listOf, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { allIn, isUnnest, queryIn, type Relations, relationsIn } from './query-columns.ts';

/*
 * Documents that a statement compares or groups as wholes. Each has an `_id` and an `_event_time` of its own, which a star
 * brings: no two are alike, so DISTINCT leaves all of them, and a join by all that they share is empty.
 */

/** How deeply queries are looked into. */
const DEPTH_MAX = 30;
const LEFT_OUT = `* EXCLUDE (${OWN.join(', ')}) leaves them out.`;
const EACH_ITS_OWN = 'each has its own _id and its own _event_time';

const OF_TIME = `* EXCLUDE (${ID_COLUMN}) has ${TIME_COLUMN}, which is when each was stored unless its document says another: ${LEFT_OUT}`;

/** The collections of whose documents queries are found to be. */
export interface WholeRows {
  relations: Relations;
  found: Map<Node, ReadonlySet<NamedTable> | undefined>;
  depth: number;
}

/** What is to be said of a node. */
export const ofWholeRows = (walk: WholeRows, node: Node): string | undefined =>
  walk.relations.tables.size === 0
    ? undefined
    : (ofSelect(walk, node) ?? ofSet(walk, node) ?? ofNatural(node, walk.relations) ?? ofPivot(walk, node));

function ofSelect(walk: WholeRows, select: Node): string | undefined {
  if (select['type'] !== 'SELECT_NODE') return undefined;
  const items = nodesOf(select['select_list']);
  const isDistinct = nodesOf(select['modifiers']).some(
    ({ type, distinct_on_targets }) => type === 'DISTINCT_MODIFIER' && listOf(distinct_on_targets).length === 0,
  );
  const byAll = isDistinct || select['aggregate_handling'] === 'FORCE_AGGREGATES';
  const { from_table: from, group_expressions: groups } = select;
  const isRow = (node: unknown) => isRowOf(walk, node, from);
  const counted = items.find((item) => item['distinct'] === true && isRow(nodesOf(item['children'])[0]));
  const isStarTaken = byAll && !items.some(isUnnest) && items.some(bringsOwn);
  const isTaken = counted !== undefined || isStarTaken || [...nodesOf(groups), ...(byAll ? items : [])].some(isRow);
  if (!isTaken || documentsOf(walk, from) === undefined) return undefined;
  if (!items.some(bringsAll) && isStarTaken) return OF_TIME;
  if (isStarTaken)
    return isDistinct
      ? `SELECT DISTINCT * compares whole documents, and no two are alike, since ${EACH_ITS_OWN}: ${LEFT_OUT}`
      : `GROUP BY ALL groups by _id and _event_time, too, which * brings, so each document is a group: ${LEFT_OUT}`;
  const written = counted && `${textOf(counted['function_name'])}(DISTINCT …)`;
  return `${written ?? (isDistinct ? 'SELECT DISTINCT' : 'GROUP BY')} of whole documents finds no two alike, since ${EACH_ITS_OWN}: SELECT DISTINCT * EXCLUDE (${OWN.join(', ')}) gives those that differ otherwise.`;
}

/** Whether an expression is the name of what a FROM reads, which stands for a row of it if no column has the name. */
function isRowOf({ relations }: WholeRows, node: unknown, from: unknown): boolean {
  if (!isNode(node) || node['class'] !== 'COLUMN_REF' || !isNode(from)) return false;
  const [name = '', ...more] = textsOf(node['column_names']).map(foldName);
  if (more.length > 0 || name !== foldName(textOf(from['alias']) || textOf(from['table_name']))) return false;
  const [{ columns } = {}] = relationsIn(from, relations);
  return columns !== undefined && !columns.some((one) => foldName(one) === name);
}

/** Whether an item is a star with the columns that each document has of its own, or without its id only. */
const bringsOwn = (item: Node): boolean => {
  const named = namedOf(item);
  const isWithoutId = named?.includes(ID_COLUMN) === true && textsOf(item['exclude_list']).length === named.length;
  return named !== undefined && !named.includes(TIME_COLUMN) && (isWithoutId || !named.includes(ID_COLUMN));
};

const bringsAll = (item: Node): boolean => bringsOwn(item) && !namedOf(item)?.includes(ID_COLUMN);

/** The columns that a star names, folded; undefined: it is none. */
function namedOf(item: Node): string[] | undefined {
  if (item['class'] !== 'STAR' || item['expr'] !== undefined) return undefined;
  const named = [
    ...textsOf(item['exclude_list']),
    ...nodesOf(item['replace_list']).map(({ key }) => textOf(key)),
    ...nodesOf(item['qualified_exclude_list']).map(({ column }) => textOf(column)),
    ...nodesOf(item['rename_list']).map(({ key }) => (isNode(key) ? textOf(key['column']) : '')),
  ];
  return named.map(foldName);
}

/** UNION, INTERSECT and EXCEPT of documents of different collections. */
function ofSet(walk: WholeRows, node: Node): string | undefined {
  const word = node['type'] === 'SET_OPERATION_NODE' ? textOf(node['setop_type']).replaceAll('_', ' ') : '';
  if (word === '' || (word.startsWith('UNION') && node['setop_all'] !== false)) return undefined;
  // Those of one collection are told apart by their ids, as is meant.
  if (bothOf(walk, node) === undefined) return undefined;
  if (![node['left'], node['right']].some(bringsIds)) return OF_TIME;
  return `${word} compares whole documents, and ${EACH_ITS_OWN}, unless it is a copy: ${LEFT_OUT}`;
}

/** Whether a side has ids, unless it is more than a SELECT. */
function bringsIds(side: unknown): boolean {
  const { query } = isNode(side) ? queryIn(side) : { query: undefined };
  return !isNode(query) || query['type'] !== 'SELECT_NODE' || nodesOf(query['select_list']).some(bringsAll);
}

/** Those of both sides, if no collection is on both. */
function bothOf(walk: WholeRows, { left, right }: Node): ReadonlySet<NamedTable> | undefined {
  const [one, other] = [documentsIn(walk, left), documentsIn(walk, right)];
  if (one === undefined || other === undefined || [...one].some((table) => other.has(table))) return undefined;
  return new Set([...one, ...other]);
}

/** The collections of whose documents the rows of a query are all they have; undefined: they may be something else. */
function documentsIn(walk: WholeRows, entry: unknown): ReadonlySet<NamedTable> | undefined {
  if (!isNode(entry) || walk.depth > DEPTH_MAX) return undefined;
  if (walk.found.has(entry)) return walk.found.get(entry);
  walk.found.set(entry, undefined);
  walk.depth += 1;
  const { query, aliases } = queryIn(entry);
  const found = isNode(query) && aliases.length === 0 ? documentsOfQuery(walk, query) : undefined;
  walk.depth -= 1;
  walk.found.set(entry, found);
  return found;
}

function documentsOfQuery(walk: WholeRows, query: Node): ReadonlySet<NamedTable> | undefined {
  if (query['type'] === 'SET_OPERATION_NODE')
    return textOf(query['setop_type']).startsWith('UNION') ? bothOf(walk, query) : undefined;
  const items = nodesOf(query['select_list']);
  if (query['type'] !== 'SELECT_NODE' || items.some(isUnnest) || !items.some(bringsOwn)) return undefined;
  return documentsOf(walk, query['from_table']);
}

/** Those of a FROM that joins nothing. */
function documentsOf(walk: WholeRows, from: unknown): ReadonlySet<NamedTable> | undefined {
  if (!isNode(from) || from['column_name_alias'] !== undefined) return undefined;
  const table = walk.relations.tables.get(from);
  if (table === undefined) return documentsIn(walk, walk.relations.queries.get(from) ?? from['subquery']);
  const columns = new Set(table.columns().map(foldName));
  return OWN.every((name) => columns.has(name)) ? new Set([table]) : undefined;
}

/** Columns that are named. */
const SHOWN_MAX = 8;

function ofNatural(join: Node, relations: Relations): string | undefined {
  if (join['type'] !== 'JOIN' || join['ref_type'] !== 'NATURAL') return undefined;
  const [left, right] = [join['left'], join['right']].map((side) => allIn(side, relations));
  const there = new Set(right?.map(foldName));
  const shared = left?.filter((name) => there.has(foldName(name))) ?? [];
  if (!OWN.every((name) => shared.some((one) => foldName(one) === name))) return undefined;
  const [one, other] = [join['left'], join['right']].map((side) => new Set(tablesIn(side, relations)));
  // Of the same documents each finds itself.
  if (one?.size === other?.size && [...(one ?? [])].every((table) => other?.has(table))) return undefined;
  const names = shared.filter((name) => !OWN.includes(foldName(name))).map(fieldName);
  const more = names.length > SHOWN_MAX ? ', …' : '';
  const instead =
    names.length === 0
      ? 'the two share nothing else, so say in ON what belongs together'
      : `JOIN … USING (${names.slice(0, SHOWN_MAX).join(', ')}${more}) joins by the others that both have`;
  return `NATURAL JOIN joins by _id and _event_time, too, which each document has of its own: ${instead}.`;
}

const tablesIn = (side: unknown, { tables }: Relations) => [...nodesIn(side)].flatMap((node) => tables.get(node) ?? []);

/** A PIVOT without GROUP BY, which groups by all columns that it does not name. */
function ofPivot(walk: WholeRows, { type, source, aggregates, pivots, groups }: Node): string | undefined {
  if (type !== 'PIVOT' || listOf(aggregates).length === 0 || listOf(groups).length > 0) return undefined;
  if (documentsOf(walk, source) === undefined) return undefined;
  const used = new Set(
    [...nodesIn([aggregates, pivots])].map((node) => foldName(textsOf(node['column_names']).at(-1) ?? '')),
  );
  const left = OWN.filter((name) => !used.has(name));
  if (left.length === 0) return undefined;
  const all = allIn(source, walk.relations)?.filter((name) => ![...used, ...OWN].includes(foldName(name))) ?? [];
  const some = all.slice(0, SHOWN_MAX).map(fieldName).join(', ');
  const by =
    all.length === 0
      ? 'what a row is to be'
      : `those that a row is to be of (${some}${all.length > SHOWN_MAX ? ', …' : ''})`;
  return `PIVOT without GROUP BY groups by all columns that it does not name, ${left.join(' and ')} among them, so each document is a row: end with GROUP BY and ${by}.`;
}
