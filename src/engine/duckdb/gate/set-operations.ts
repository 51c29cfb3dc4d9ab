import { foldName, type NamedTable } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';

/*
 * UNION, INTERSECT and EXCEPT put columns together by their places, whatever they are called: collections that have the same
 * fields in another order give one column of two fields.
 */

/** What set operations of a statement do with columns of one name. */
export interface SetOperations {
  /** What is to be said; empty: they have the same names at the same places, as far as is known. */
  warnings: readonly string[];
  /** The names that are at different places, as SQL writes them. */
  misplaced: readonly string[];
  /** Whether all of them are a UNION that BY NAME would put right, or leave as it is. */
  fitByName: boolean;
}

/** How deeply subqueries are looked into, and how many columns are compared. */
const DEPTH_MAX = 20;
const COLUMNS_MAX = 2_000;

/** Where nodes of FROM come from. */
interface Sources {
  tables: ReadonlyMap<Node, NamedTable>;
  /** What names of WITH stand for. */
  queries: ReadonlyMap<Node, Node>;
}

export function setOperations(tree: Node, sources: Sources): SetOperations {
  const [warnings, misplaced] = [new Set<string>(), new Set<string>()];
  let fitByName = true;
  for (const node of sources.tables.size === 0 ? [] : nodesIn(tree)) {
    const word = node['type'] === 'SET_OPERATION_NODE' ? textOf(node['setop_type']) : '';
    if (word === '' || word === 'UNION_BY_NAME') continue;
    const name = misplacedIn(node, sources);
    if (name !== undefined) {
      misplaced.add(fieldName(name));
      warnings.add(warningOf(word, name, node['setop_all'] === false ? '' : ' ALL'));
    } else if (!isSame(node, sources)) fitByName = false;
    if (word !== 'UNION') fitByName = false;
  }
  return { warnings: [...warnings], misplaced: [...misplaced], fitByName: fitByName && misplaced.size > 0 };
}

function warningOf(word: string, name: string, all: string): string {
  const how =
    word === 'UNION'
      ? `UNION${all} BY NAME puts columns together by their names`
      : 'name the columns of both in the same order';
  return `${word} puts columns together by their places, and ${fieldName(name)} has another place in each SELECT: ${how}.`;
}

const sidesOf = ({ left, right }: Node, sources: Sources) =>
  [left, right].map((side) => columnsOf(side, sources, 0)?.map(foldName));

/** Whether both sides have the same names at the same places. */
function isSame(node: Node, sources: Sources): boolean {
  const [left, right] = sidesOf(node, sources);
  return left !== undefined && left.join('\n') === right?.join('\n');
}

/** A name that both sides have, at different places; undefined: there is none, or it may be meant. */
function misplacedIn(node: Node, sources: Sources): string | undefined {
  const [left, right] = sidesOf(node, sources);
  if (left === undefined || right === undefined || isTurned(node, sources)) return undefined;
  const places = new Map(right.map((name, at) => [name, at]));
  const isOnce = new Set(left).size === left.length && places.size === right.length;
  const at = left.findIndex((name, place) => (places.get(name) ?? place) !== place);
  return isOnce && at !== -1 ? columnsOf(node['left'], sources, 0)?.[at] : undefined;
}

/** Whether columns of one collection are named in both orders, as of edges that go both ways. */
function isTurned({ left, right }: Node, { tables }: Sources): boolean {
  const [one, other] = [left, right].map((side) => {
    const select = isNode(side) && side['type'] === 'SELECT_NODE' ? side : {};
    const isNamed = nodesOf(select['select_list']).every((item) => item['class'] !== 'STAR');
    return isNamed && isNode(select['from_table']) ? tables.get(select['from_table']) : undefined;
  });
  return one !== undefined && one === other;
}

/** The names of a query's columns; undefined: they are not known. */
function columnsOf(query: unknown, sources: Sources, depth: number): readonly string[] | undefined {
  if (!isNode(query) || depth > DEPTH_MAX) return undefined;
  if (query['type'] !== 'SELECT_NODE')
    return query['type'] === 'SET_OPERATION_NODE' && query['setop_type'] !== 'UNION_BY_NAME'
      ? columnsOf(query['left'] ?? nodesOf(query['children'])[0], sources, depth + 1)
      : undefined;
  const names: string[] = [];
  for (const item of nodesOf(query['select_list'])) {
    const more = item['class'] === 'STAR' ? columnsOfStar(item, query['from_table'], sources, depth) : nameOf(item);
    if (more === undefined || names.length > COLUMNS_MAX) return undefined;
    names.push(...more);
  }
  return names;
}

function nameOf(item: Node): readonly string[] | undefined {
  const path = item['class'] === 'COLUMN_REF' ? textsOf(item['column_names']) : [];
  const name = textOf(item['alias']) || path.at(-1);
  // A column without a name has one of the engine's, which nothing else is called.
  return item['class'] === 'FUNCTION' && item['function_name'] === 'unnest' ? undefined : [name ?? ''];
}

function columnsOfStar(star: Node, from: unknown, sources: Sources, depth: number): readonly string[] | undefined {
  if (!isNode(from) || star['columns'] === true || nodesOf(star['rename_list']).length > 0) return undefined;
  if (textsOf(from['column_name_alias']).length > 0 || nodesOf(star['qualified_exclude_list']).length > 0)
    return undefined;
  const query = sources.queries.get(from) ?? from['subquery'];
  const all =
    sources.tables.get(from)?.columns() ?? (isNode(query) ? columnsOf(queryIn(query), sources, depth + 1) : undefined);
  const excluded = new Set(textsOf(star['exclude_list']).map(foldName));
  return all?.filter((name) => !excluded.has(foldName(name)));
}

/** The query of an entry of WITH, or of a subquery; undefined: it gives its columns other names. */
function queryIn(node: Node): unknown {
  const value = isNode(node['value']) ? node['value'] : node;
  if (textsOf(value['aliases']).length > 0) return undefined;
  const query = isNode(value['query']) ? value['query'] : value;
  return query['node'] ?? query;
}
