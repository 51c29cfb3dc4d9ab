import { isNode, type Node } from '../sql/tree.ts';

/**
 * Most joins in one FROM. The search for their best order cannot be interrupted; measured, a chain of 25 takes 0.05 s
 * of processor time, one of 50 a second, and one of 100 more than 20 s.
 */
const JOINS_MAX = 50;

/** Number of joins in one FROM, commas included. Subqueries in it are counted on their own. */
export function joinsIn(from: unknown): number {
  let joins = 0;
  const open = [from];
  while (open.length > 0) {
    const node = open.pop();
    if (!isNode(node) || node['type'] !== 'JOIN') continue;
    joins += 1;
    open.push(node['left'], node['right']);
  }
  return joins;
}

/** Estimated time to find the order of this many joins, in seconds of processor time. */
export function joinsCost(joins: number): number {
  return (joins / JOINS_MAX) ** 4;
}

/** The limit on that time for a whole statement. */
const JOINS_COST_MAX = 3;

/** Why a FROM is refused, worded for the author of the SQL; null if it is not. `cost`: of all FROMs so far. */
export function joinsRefusal(joins: number, cost: number): string | null {
  if (joins > JOINS_MAX) {
    return `One FROM has ${joins} joins, commas included; the limit is ${JOINS_MAX}. Join some of them in a WITH ... AS MATERIALIZED first.`;
  }
  return cost > JOINS_COST_MAX
    ? 'The SQL has too many FROMs with many joins each. Ask for parts of it by themselves.'
    : null;
}

/** Fewer values in an IN are compared one by one; this many become a table that is joined. */
const IN_VALUES_MIN = 5;
/** Most of these tables in one query: planning cannot be interrupted, and takes 1.5 s for 100, four seconds for 150. */
const IN_LISTS_MAX = 150;

function inListsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + inListsIn(item), 0);
  if (!isNode(value) || value['class'] === 'SUBQUERY' || value['class'] === 'CONSTANT') return 0;
  const isIn = value['type'] === 'COMPARE_IN' || value['type'] === 'COMPARE_NOT_IN';
  const values = isIn && Array.isArray(value['children']) ? value['children'].length - 1 : 0;
  return inListsIn(Object.values(value)) + (values >= IN_VALUES_MIN ? 1 : 0);
}

/** Why a query is refused for its IN lists; null if it is not. */
export function inListsRefusal({ from_table, cte_map, ...rest }: Node): string | null {
  const lists = inListsIn(Object.values(rest));
  if (lists <= IN_LISTS_MAX) return null;
  return `One query has ${lists} IN with long lists; the limit is ${IN_LISTS_MAX}. Join (VALUES ...) instead, or write list_contains([...], x).`;
}
