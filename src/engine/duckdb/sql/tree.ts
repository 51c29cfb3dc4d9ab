/** A node of the tree that the engine's parser makes of a statement. */
export type Node = { [key: string]: unknown };

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text of the tree; empty if there is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export const nodesOf = (value: unknown): Node[] => listOf(value).filter(isNode);
export const textsOf = (value: unknown): string[] => listOf(value).map(String);

/** Where a node stands in the text, or undefined: the engine writes 2^64 - 1 if there is no position. */
export function offsetOf(node: Node): number | undefined {
  const offset = Number(node['query_location'] ?? Number.NaN);
  return Number.isSafeInteger(offset) ? offset : undefined;
}

/** The value of a literal; undefined for any other node. */
export function constantOf(node: unknown): unknown {
  const held = isNode(node) && node['class'] === 'CONSTANT' ? node['value'] : undefined;
  return isNode(held) ? held['value'] : undefined;
}

/** The number that a literal is, also one with decimals; undefined for any other node. */
export function constantNumber(node: unknown): number | undefined {
  const value = constantOf(node);
  const type = isNode(node) && isNode(node['value']) ? node['value']['type'] : undefined;
  const info = isNode(type) && isNode(type['type_info']) ? type['type_info'] : {};
  return typeof value === 'number' ? value / 10 ** Number(info['scale'] ?? 0) : undefined;
}

/** The value of a literal that the tree holds as a text; undefined for any other node. */
export function constantText(node: unknown): string | undefined {
  const text = constantOf(node);
  return typeof text === 'string' ? text : undefined;
}

/** The query of a subquery, as IN asks one; undefined for any other node. */
export function subqueryOf({ subquery }: Node): Node | undefined {
  return isNode(subquery) && isNode(subquery['node']) ? subquery['node'] : undefined;
}

const QUERIES = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE']);

export const isQuery = (node: Node): boolean => QUERIES.has(textOf(node['type']));

/** Whether a call is about the names of columns, which are few and short: `* LIKE 'a%'`, `COLUMNS(lambda c: …)`. */
export function isOfNames(call: Node): boolean {
  const [first] = listOf(call['children']);
  // COLUMNS(*) stands for the values.
  return isNode(first) && first['class'] === 'STAR' && first['columns'] !== true;
}

/**
 * Whether two trees of the engine's parser are the same except for positions in the text.
 *
 * The text that runs is the text that the gate saw, with schemas inserted at positions that the engine reported. If one
 * of these were wrong, for whatever reason, the tree of the result would differ from the one that the gate let through.
 */
export function isSameTree(a: unknown, b: unknown): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isSameTree(item, b[index]));
  }
  if (!isNode(a)) return Object.is(a, b);
  if (!isNode(b)) return false;
  return (
    partsOf(a) === partsOf(b) &&
    Object.keys(a).every((key) => key === 'query_location' || (Object.hasOwn(b, key) && isSameTree(a[key], b[key])))
  );
}

/** How many keys a node has, without its position. */
function partsOf(node: Node): number {
  return Object.keys(node).length - (Object.hasOwn(node, 'query_location') ? 1 : 0);
}

/** Every node, without recursion: trees may be deep. */
export function* nodesIn(root: unknown): Generator<Node> {
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (isNode(value)) yield value;
    for (const child of Object.values(value)) left.push(child);
  }
}

const BARE_SELECT = new Set(['type', 'select_list', 'from_table', 'aggregate_handling']);

/** The clauses of a SELECT besides its columns and FROM, by the keys of the tree. */
export function clausesOf(select: Node): string[] {
  const isAggregated = (select['aggregate_handling'] ?? 'STANDARD_HANDLING') !== 'STANDARD_HANDLING';
  const more = Object.keys(select).filter((key) => !BARE_SELECT.has(key));
  return isAggregated ? [...more, 'aggregate_handling'] : more;
}

/** ORDER BY, LIMIT and DISTINCT of a query. */
export function modifiersOf(query: Node): Node[] {
  return Array.isArray(query['modifiers']) ? query['modifiers'].filter(isNode) : [];
}
