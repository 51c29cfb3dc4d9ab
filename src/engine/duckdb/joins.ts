import { isNode } from './tree.ts';

/**
 * Most joins in one FROM. To look for their best order cannot be interrupted; measured, a chain of 25 takes 0.05 s of
 * processor time, of 50 one second, and of 100 more than 20.
 */
const JOINS_MAX = 50;

/** Why a FROM is refused, for whoever wrote it; null where it is not. Subqueries in it are questions of their own. */
export function joinsRefusal(from: unknown): string | null {
  let joins = 0;
  const open = [from];
  while (open.length > 0) {
    const node = open.pop();
    if (!isNode(node) || node['type'] !== 'JOIN') continue;
    joins += 1;
    open.push(node['left'], node['right']);
  }
  if (joins <= JOINS_MAX) return null;
  return `One FROM has ${joins} joins, commas included; the limit is ${JOINS_MAX}. Join some of them in a WITH ... AS MATERIALIZED first.`;
}
