import { isNode, type Node, nodesOf, textOf } from './tree.ts';

/** How a condition compares, as SQL writes it. The engine's parser makes NOT of `NOT BETWEEN`. */
export type Sign = Equality | Order | 'IS DISTINCT FROM' | 'IS NOT DISTINCT FROM';
export type Equality = '=' | '<>' | InList;
type Order = '<' | '<=' | '>' | '>=' | 'BETWEEN';
type InList = 'IN' | 'NOT IN';

/** A condition that compares `x`: with one expression, with each of a list, or with the two bounds of BETWEEN. */
export interface Condition {
  x: Node;
  by: Sign;
  others: readonly Node[];
}

const SIGNS: ReadonlyMap<string, Sign> = new Map([
  ['COMPARE_EQUAL', '='],
  ['COMPARE_NOTEQUAL', '<>'],
  ['COMPARE_LESSTHAN', '<'],
  ['COMPARE_LESSTHANOREQUALTO', '<='],
  ['COMPARE_GREATERTHAN', '>'],
  ['COMPARE_GREATERTHANOREQUALTO', '>='],
  ['COMPARE_DISTINCT_FROM', 'IS DISTINCT FROM'],
  ['COMPARE_NOT_DISTINCT_FROM', 'IS NOT DISTINCT FROM'],
  ['COMPARE_IN', 'IN'],
  ['COMPARE_NOT_IN', 'NOT IN'],
  ['COMPARE_BETWEEN', 'BETWEEN'],
]);
const TURNED: Partial<Readonly<Record<Sign, Sign>>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };
const ORDERS: ReadonlySet<Sign> = new Set(['<', '<=', '>', '>=', 'BETWEEN']);

/** What a node compares, as it is written; undefined: it is no such condition. */
export function conditionIn(node: Node): Condition | undefined {
  const by = SIGNS.get(textOf(node['type']));
  if (by === undefined) return undefined;
  const { left, right, input, lower, upper, children } = node;
  const [x, ...others] = nodesOf(isInList(by) ? children : by === 'BETWEEN' ? [input, lower, upper] : [left, right]);
  return x === undefined ? undefined : { x, by, others };
}

/** The same, of each side: `a < b` and `b > a`; of IN and BETWEEN there is one way. */
export function conditionsIn(node: Node): Condition[] {
  const own = conditionIn(node);
  if (own === undefined) return [];
  const [other] = own.others;
  if (!hasTwoSides(own.by) || other === undefined) return [own];
  return [own, { x: other, by: TURNED[own.by] ?? own.by, others: [own.x] }];
}

/** Whether it compares two expressions that may change places. */
export const hasTwoSides = (by: Sign): boolean => by !== 'BETWEEN' && !isInList(by);

export const isInList = (by: Sign): by is InList => by === 'IN' || by === 'NOT IN';

/** Whether it asks for the same value, or another, and is NULL for NULL. */
export const isEquality = (by: Sign): by is Equality => by === '=' || by === '<>' || isInList(by);

/** Whether it asks which value comes first. */
export const isOrder = (by: Sign): boolean => ORDERS.has(by);

/** The conditions that all have to hold for one to hold; none if there is none. */
export function conjuncts(condition: unknown): Node[] {
  if (!isNode(condition)) return [];
  return condition['type'] === 'CONJUNCTION_AND' ? nodesOf(condition['children']).flatMap(conjuncts) : [condition];
}
