import { AGGREGATES } from '../sql/functions.ts';
import { foldName, ID_COLUMN } from '../sql/names.ts';
import { isNode, type Node, textOf } from '../sql/tree.ts';
import { type Origin, type Origins, pathText, sourcesOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { isAccess } from './query-columns.ts';

/*
 * The fields that have to have values for a statement to answer something: those of WHERE and of aggregates, unless it asks
 * for their NULL.
 */

/** What of these is found in a statement. */
export interface SoughtUses {
  origins: Origins;
  /** What is within a WHERE or an aggregate, and what is asked whether it is NULL. */
  sought: { within: Set<unknown>; asking: Set<unknown>; fields: Map<string, Origin>; asked: Set<string> };
}

export const noneSought = () => ({
  within: new Set<unknown>(),
  asking: new Set<unknown>(),
  fields: new Map<string, Origin>(),
  asked: new Set<string>(),
});

const FIELDS_MAX = 6;
const ASKS = /^(?:OPERATOR_IS_(?:NOT_)?NULL|OPERATOR_COALESCE|COMPARE_(?:NOT_)?DISTINCT_FROM)$/;
const ASKING_CALLS = /^(?:coalesce|ifnull|nvl|isnull|zeroifnull)$/;

export function noteSought({ origins, sought }: SoughtUses, node: Node, scope: Scope | undefined): void {
  const { within, asking, fields, asked } = sought;
  const call = foldName(textOf(node['function_name']));
  if (node['type'] === 'SELECT_NODE') within.add(node['where_clause']);
  if (AGGREGATES.has(call)) within.add(node);
  if (ASKS.test(textOf(node['type'])) || ASKING_CALLS.test(call)) asking.add(node);
  const isPath = node['class'] === 'COLUMN_REF' || (isAccess(node) && pathText(node) !== undefined);
  if (!isPath) {
    for (const marks of [within, asking]) if (marks.has(node)) markWithin(marks, node);
    return;
  }
  if (!within.has(node) && !asking.has(node)) return;
  for (const field of sourcesOf(origins, node, scope).fields) {
    const key = `${field.table.workspace}.${field.table.name} ${field.path.join('\n')}`;
    if (asking.has(node)) asked.add(key);
    else if (fields.size < FIELDS_MAX && foldName(field.path[0] ?? '') !== ID_COLUMN) fields.set(key, field);
  }
}

/** Those that are never asked whether they are NULL. */
export const soughtFields = ({ sought: { fields, asked } }: SoughtUses): Origin[] =>
  [...fields].flatMap(([key, field]) => (asked.has(key) ? [] : [field]));

function markWithin(marks: Set<unknown>, node: Node): void {
  for (const child of Object.values(node))
    for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) marks.add(one);
}
