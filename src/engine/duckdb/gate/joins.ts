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

/** Most sets of one GROUP BY, each of which is grouped by itself: half a second for this many, however few rows. */
const GROUPING_SETS_MAX = 256;

/** Why a query is refused for its GROUPING SETS, CUBE and ROLLUP, which the parser has written out; null if it is not. */
export function groupsRefusal({ group_sets: sets }: Node): string | null {
  if (!Array.isArray(sets) || sets.length <= GROUPING_SETS_MAX) return null;
  return `One GROUP BY has ${sets.length} grouping sets; the limit is ${GROUPING_SETS_MAX}. CUBE makes 2 to the power of its columns, and several lists multiply.`;
}

/** Fewer values in an IN are compared one by one; this many become a table that is joined. */
const IN_VALUES_MIN = 5;
/** Most of these tables in one query: planning cannot be interrupted, and takes 1.5 s for 100, four seconds for 150. */
const IN_LISTS_MAX = 150;

/** Whether an expression is an IN with so many values. */
export function isLongIn({ type, children }: Node): boolean {
  const isIn = type === 'COMPARE_IN' || type === 'COMPARE_NOT_IN';
  return isIn && Array.isArray(children) && children.length > IN_VALUES_MIN;
}

/** Why a query with this many such expressions is refused; null if it is not. */
export function longInsRefusal(count: number): string | null {
  if (count <= IN_LISTS_MAX) return null;
  return `One query has ${count} IN with long lists; the limit is ${IN_LISTS_MAX}. Join (VALUES ...) instead, or write list_contains([...], x).`;
}
