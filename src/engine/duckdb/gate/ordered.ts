import { foldName } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';

/** Functions that order the values of an argument, by its place; of the last all of them. */
const FIRST = /^(?:min|max|median|quantile(?:_disc)?|list_(?:sort|reverse_sort|min|max)|array_(?:sort|reverse_sort))$/;
const SECOND = /^(?:arg_?(?:min|max)(?:_null)?|(?:min|max)_by)$/;
const ALL = /^(?:greatest|least)$/;
const OF_LISTS = /^(?:list|array)_/;

/** What a call puts in order, by what it is or by its ORDER BY: values, and what gives the items of a list. */
export function orderedIn(call: Node): { values: readonly unknown[]; items: readonly Node[] } {
  if (call['class'] !== 'FUNCTION' && call['class'] !== 'WINDOW') return { values: [], items: [] };
  const name = foldName(textOf(call['function_name']));
  const children = nodesOf(call['children']);
  const { orders = isNode(call['order_bys']) ? call['order_bys']['orders'] : [] } = call;
  const by = nodesOf(orders).map(({ expression }) => expression);
  if (FIRST.test(name) && OF_LISTS.test(name))
    return { values: by, items: [{ class: 'FUNCTION', function_name: 'unnest', children: children.slice(0, 1) }] };
  const own = FIRST.test(name) ? children.slice(0, 1) : SECOND.test(name) ? children.slice(1, 2) : children;
  return { values: FIRST.test(name) || SECOND.test(name) || ALL.test(name) ? [...own, ...by] : by, items: [] };
}
