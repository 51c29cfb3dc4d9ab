import type { ApiError } from '../../../contract/errors.ts';
import { AGGREGATES } from '../sql/functions.ts';
import { foldName } from '../sql/names.ts';
import { errorAt, type Statement } from '../sql/statement.ts';
import type { Token } from '../sql/tokens.ts';
import { clausesOf, isNode, modifiersOf, type Node, nodesIn, nodesOf, offsetOf, textOf } from '../sql/tree.ts';

/** The name of the document in a query that makes a document of each. */
export const INPUT = '_input';

/** A query over one document, in the engine's tree. */
export interface TransformShape {
  items: readonly Node[];
  from: Node;
  condition: Node | undefined;
  /** Names of the document, folded: a field may be written behind them. */
  names: ReadonlySet<string>;
}

const LATER = 'Store the documents, and do it when you query them, or in a lambda';
const ONE_BY_ONE = `documents are computed one by one. ${LATER}`;

const CLAUSES: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  group_expressions: ['GROUP BY', ONE_BY_ONE],
  group_sets: ['GROUP BY', ONE_BY_ONE],
  aggregate_handling: ['GROUP BY ALL', ONE_BY_ONE],
  having: ['HAVING', ONE_BY_ONE],
  qualify: ['QUALIFY', ONE_BY_ONE],
  sample: ['a sample', 'each document is taken or not by itself: use a condition'],
  cte_map: ['WITH', 'write the expressions where they are used'],
};
const MODIFIERS: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  ORDER_MODIFIER: ['ORDER BY', 'documents of a collection have no order. Sort when you query them'],
  LIMIT_MODIFIER: ['LIMIT', ONE_BY_ONE],
  LIMIT_PERCENT_MODIFIER: ['LIMIT', ONE_BY_ONE],
  DISTINCT_MODIFIER: ['DISTINCT', 'of documents with the same _id the last one stays: make one, as in md5(a) AS _id'],
};
const FROMS: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  EMPTY: ['no FROM', `write FROM ${INPUT}`],
  JOIN: ['a join', `it sees one document, and no collection. ${LATER}`],
  SUBQUERY: ['a subquery in FROM', `write the expressions where they are used, over ${INPUT}`],
  TABLE_FUNCTION: ['a function in FROM', `one document becomes at most one. ${LATER}`],
};
const EXPRESSIONS: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  SUBQUERY: ['a subquery', `it sees one document, and no collection. ${LATER}`],
  WINDOW: ['a window function', ONE_BY_ONE],
  POSITIONAL_REFERENCE: ['a column by its position', 'name the field'],
  PARAMETER: ['a parameter', 'fields are written by their names alone'],
};
const UNNESTS: ReadonlySet<string> = new Set(['unnest', 'unlist']);
const FROM_KEYS: ReadonlySet<string> = new Set(['type', 'table_name', 'alias', 'query_location']);
const STAR_KEYS: ReadonlySet<string> = new Set(
  'class type query_location relation_name exclude_list replace_list'.split(' '),
);

/** The error for a query that is none over one document. */
export function notTransform(
  statement: Statement,
  at: Node | number | undefined,
  what: string,
  instead: string,
): ApiError {
  const offset = typeof at === 'object' ? offsetOf(at) : at;
  return errorAt(
    statement,
    offset,
    `The query must be SELECT ... FROM ${INPUT} WHERE ..., and this has ${what}: ${instead}.`,
  );
}

/** CLUSTER BY is no SQL of the engine. */
export function refuseClusters(statement: Statement, list: readonly Token[]): void {
  const found = list.find((token, index) => isWord(token, 'cluster') && isWord(list[index + 1], 'by'));
  if (found === undefined) return;
  const instead = 'give the fields as clustering_key of the collection';
  throw notTransform(statement, statement.offsetOf(found.start), 'CLUSTER BY', instead);
}

export const isWord = (token: Token | undefined, word: string) =>
  token?.kind === 'word' && token.text.toLowerCase() === word;

/** What a tree of the engine's parser is as a query over one document. Throws `query_error`. */
export function transformShape(statement: Statement, tree: unknown): TransformShape {
  const refuse = (node: Node | undefined, [what, instead]: readonly [string, string]) => {
    throw notTransform(statement, node, what, instead);
  };
  const node = isNode(tree) && isNode(tree['node']) ? tree['node'] : {};
  if (statement.explain !== '') refuse(undefined, ['EXPLAIN', 'leave it out']);
  if (node['type'] === 'CTE_NODE') refuse(undefined, CLAUSES['cte_map'] ?? ['WITH', '']);
  if (node['type'] === 'SET_OPERATION_NODE')
    refuse(undefined, ['UNION, INTERSECT or EXCEPT', 'one document becomes at most one']);
  const from = isNode(node['from_table']) ? node['from_table'] : {};
  if (node['type'] !== 'SELECT_NODE') refuse(undefined, ['another form', 'write a SELECT']);
  const names = requireInput(from, refuse);
  for (const modifier of modifiersOf(node))
    refuse(modifier, MODIFIERS[textOf(modifier['type'])] ?? ['this', 'leave it out']);
  for (const key of clausesOf(node)) {
    if (key === 'where_clause') continue;
    refuse(undefined, CLAUSES[key] ?? [`a clause ${key}`, 'leave it out']);
  }
  const items = nodesOf(node['select_list']);
  const condition = isNode(node['where_clause']) ? node['where_clause'] : undefined;
  const stars = new Set(items.filter((item) => item['class'] === 'STAR'));
  for (const star of stars) requirePlainStar(star, names, refuse);
  for (const part of nodesIn([items, condition])) {
    if (part['class'] === 'STAR' && !stars.has(part))
      refuse(part, ['"*" in an expression', 'it stands for all fields only by itself']);
    refuseExpression(part, refuse);
  }
  return { items, from, condition, names };
}

type Refuse = (node: Node | undefined, why: readonly [what: string, instead: string]) => void;

/** The names that the document has. */
function requireInput(from: Node, refuse: Refuse): ReadonlySet<string> {
  const type = textOf(from['type']);
  const isUnnest = (node: Node) => UNNESTS.has(foldName(textOf(node['function_name'])));
  if (type !== 'BASE_TABLE' && [...nodesIn(from)].some(isUnnest))
    refuse(from, ['UNNEST', `one document becomes at most one. ${LATER}`]);
  if (type !== 'BASE_TABLE') refuse(from, FROMS[type] ?? ['another kind of FROM', `write FROM ${INPUT}`]);
  const path = [from['catalog_name'], from['schema_name'], from['table_name']]
    .map(textOf)
    .filter((name) => name !== '');
  if (path.length !== 1 || foldName(path[0] ?? '') !== INPUT)
    refuse(from, [`FROM ${path.join('.')}`, `the document is ${INPUT}, and no collection can be read`]);
  if (from['sample'] !== undefined) refuse(from, CLAUSES['sample'] ?? ['a sample', '']);
  const other = Object.keys(from).find((key) => !FROM_KEYS.has(key));
  if (other !== undefined) refuse(from, [`FROM ${INPUT} with more (${other})`, `write FROM ${INPUT}`]);
  return new Set([INPUT, foldName(textOf(from['alias'])) || INPUT]);
}

function requirePlainStar(star: Node, names: ReadonlySet<string>, refuse: Refuse): void {
  const relation = textOf(star['relation_name']);
  if (relation !== '' && !names.has(foldName(relation)))
    refuse(star, [`"${relation}.*"`, `write ${INPUT}.*, or name the fields of "${relation}"`]);
  const other = Object.keys(star).find((key) => !STAR_KEYS.has(key));
  if (other === undefined) return;
  refuse(star, [
    'COLUMNS, or "*" with LIKE, RENAME or paths',
    'name the fields, or use * EXCEPT (a) or * REPLACE (b AS a)',
  ]);
}

function refuseExpression(part: Node, refuse: Refuse): void {
  const found = EXPRESSIONS[textOf(part['class'])];
  if (found !== undefined) refuse(part, found);
  if (part['class'] !== 'FUNCTION') return;
  const name = textOf(part['function_name']);
  const [catalog, schema] = [textOf(part['catalog']), textOf(part['schema'])];
  if (catalog !== '' || (schema !== '' && schema !== 'main')) {
    const on = [catalog, schema].filter((one) => one !== '').join('.');
    refuse(part, [`"${on}.${name}()"`, `write ${name}(${on})`]);
  }
  if (UNNESTS.has(foldName(name))) refuse(part, ['UNNEST', `one document becomes at most one. ${LATER}`]);
  if (AGGREGATES.has(foldName(name))) refuse(part, [`the aggregate ${name.replace(/_star$/, '')}()`, ONE_BY_ONE]);
}
