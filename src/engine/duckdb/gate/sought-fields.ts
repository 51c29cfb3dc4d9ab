import { AGGREGATES } from '../sql/functions.ts';
import { foldName, ID_COLUMN } from '../sql/names.ts';
import { isNode, type Node, textOf } from '../sql/tree.ts';
import { createOrigins, type Origin, pathText, sourcesOf } from './field-origins.ts';
import { nodesWithScope } from './node-scopes.ts';
import { isAccess, type Relations } from './query-columns.ts';

/*
 * The fields that have to have values for a statement to answer something: those of WHERE and of aggregates, unless it asks
 * for their NULL.
 */

const LOOKS_MAX = 500;
const FIELDS_MAX = 6;
const ASKS = /^(?:OPERATOR_IS_(?:NOT_)?NULL|OPERATOR_COALESCE|COMPARE_(?:NOT_)?DISTINCT_FROM)$/;
const ASKING_CALLS = /^(?:coalesce|ifnull|nvl|isnull|zeroifnull)$/;

export function soughtFields(tree: Node, relations: Relations): Origin[] {
  const origins = createOrigins(relations, LOOKS_MAX);
  /** What is within a WHERE or an aggregate, and what is asked whether it is NULL. */
  const [sought, asking] = [new Set<unknown>(), new Set<unknown>()];
  const found = new Map<string, Origin>();
  const asked = new Set<string>();
  for (const [node, scope] of nodesWithScope(tree)) {
    const call = foldName(textOf(node['function_name']));
    if (node['type'] === 'SELECT_NODE') sought.add(node['where_clause']);
    if (AGGREGATES.has(call)) sought.add(node);
    if (ASKS.test(textOf(node['type'])) || ASKING_CALLS.test(call)) asking.add(node);
    const isPath = node['class'] === 'COLUMN_REF' || (isAccess(node) && pathText(node) !== undefined);
    if (!isPath) {
      for (const marks of [sought, asking]) if (marks.has(node)) markWithin(marks, node);
      continue;
    }
    if (!sought.has(node) && !asking.has(node)) continue;
    for (const field of sourcesOf(origins, node, scope).fields) {
      const key = `${field.table.workspace}.${field.table.name} ${field.path.join('\n')}`;
      if (asking.has(node)) asked.add(key);
      else if (found.size < FIELDS_MAX && foldName(field.path[0] ?? '') !== ID_COLUMN) found.set(key, field);
    }
  }
  return [...found].flatMap(([key, field]) => (asked.has(key) ? [] : [field]));
}

function markWithin(marks: Set<unknown>, node: Node): void {
  for (const child of Object.values(node))
    for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) marks.add(one);
}
