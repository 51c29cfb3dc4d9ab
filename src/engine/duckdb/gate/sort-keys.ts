import { isNode, isSameTree, listOf, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isField, isSameField, leavesOf, type Origin, type Origins, type Place } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { isAccess } from './query-columns.ts';

/*
 * Which of the keys of an ORDER BY say how its author wants rows to be ordered. Behind one that is computed, or that puts the
 * most first, a key only settles which of equal rows comes first, and any order does that.
 */

/** A key, as the list has it, and what it means: an item of the select list by its number or its alias. */
export interface SortKey {
  expression: Node;
  meant: Node;
  /** The fields that are ordered before it. */
  before: readonly Place[];
}

/** The keys up to the first that is no plain field in ascending order. `meant`: what a key stands for. */
export function keysThatOrder(
  origins: Origins,
  orders: unknown,
  scope: Scope | undefined,
  meant: (expression: Node) => Node = (expression) => expression,
): SortKey[] {
  const found: SortKey[] = [];
  const before: Origin[] = [];
  for (const { expression, type } of nodesOf(orders)) {
    if (!isNode(expression)) break;
    const own = meant(expression);
    found.push({ expression, meant: own, before: [...before] });
    const leaves = isPlain(own) ? leavesOf(origins, own, scope) : [];
    if (textOf(type) === 'DESCENDING' || leaves.length === 0 || !leaves.every(isField)) break;
    before.push(...leaves.filter(isField));
  }
  return found;
}

const isPlain = (node: Node) => node['class'] === 'COLUMN_REF' || isAccess(node);

export const isAmong = (field: Place, fields: readonly Place[]) => fields.some((one) => isSameField(one, field));

/** The keys of a query's ORDER BY without those with which DISTINCT ON has it begin. */
export function ordersOf(query: Node): Node[] {
  const modifiers = nodesOf(query['modifiers']);
  const targets = modifiers.flatMap((one) => listOf(one['distinct_on_targets']));
  const orders = modifiers.flatMap((one) => nodesOf(one['orders']));
  const own = orders.findIndex(({ expression }) => !targets.some((one) => isSameTree(one, expression)));
  return own < 0 ? (targets.length > 0 ? [] : orders) : orders.slice(own);
}

/** The keys of a query that leave out none of its rows. */
export function keysOfAllRows(query: Node): Node[] {
  const modifiers = nodesOf(query['modifiers']);
  const isPart = modifiers.some(
    (one) => /^LIMIT/.test(textOf(one['type'])) || listOf(one['distinct_on_targets']).length > 0,
  );
  return isPart
    ? []
    : modifiers
        .flatMap((one) => nodesOf(one['orders']))
        .map(({ expression }) => expression)
        .filter(isNode);
}
