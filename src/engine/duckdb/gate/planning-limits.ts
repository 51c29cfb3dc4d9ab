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

/**
 * Most columns of one SELECT, and most terms of one DISTINCT ON or PARTITION BY: planning takes time that grows with the
 * square of their number and cannot be interrupted. For so many it takes one to three seconds, for 19,000 columns of the
 * same name in a subquery 20 s, for 10,000 of a SELECT DISTINCT 13 s, for 9,000 terms of a PARTITION BY more than 25 s.
 */
const COLUMNS_MAX = 5_000;
const TERMS_MAX = 1_000;

/** Why a part of a query is refused for the length of a list in it; null if it is not. */
export function longListRefusal(node: Node): string | null {
  const lists = [
    ['SELECT', 'columns', node['select_list'], COLUMNS_MAX],
    ['DISTINCT ON', 'terms', node['distinct_on_targets'], TERMS_MAX],
    ['PARTITION BY', 'terms', node['partitions'], TERMS_MAX],
  ] as const;
  for (const [clause, what, list, most] of lists) {
    if (!Array.isArray(list) || list.length <= most) continue;
    return `One ${clause} has ${list.length} ${what}; the limit is ${most}. Name fewer, or ask in several statements.`;
  }
  return null;
}
