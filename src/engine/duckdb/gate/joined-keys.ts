import { conditionIn } from '../sql/conditions.ts';
import { isNode, type Node, subqueryOf, textOf, textsOf } from '../sql/tree.ts';
import {
  isField,
  isSameField,
  isText,
  type Leaf,
  leavesInSide,
  leavesOf,
  type Origin,
  type Origins,
  originsInQuery,
} from './field-origins.ts';
import type { Scope } from './node-scopes.ts';

/** Two fields of text that have to be the same for rows to be put together. */
export interface JoinedKeys {
  one: Origin;
  other: Origin;
  /** What says it: of IN the second is what is selected. */
  by: '=' | 'USING' | 'IN';
}

/** What of these is found in a statement. */
export interface KeyUses {
  origins: Origins;
  joinedKeys: JoinedKeys[];
}

const FOUND_MAX = 3;

/** The pairs of fields by which a statement joins, in ON, USING or WHERE. */
export function noteJoined({ origins, joinedKeys }: KeyUses, node: Node, scope: Scope | undefined): void {
  if (origins.tables.size < 2 || joinedKeys.length >= FOUND_MAX) return;
  const add = (left: readonly Leaf[] | 'none', right: readonly Leaf[] | 'none', by: JoinedKeys['by']) => {
    const [one, other] = [left, right].map((leaves) =>
      leaves === 'none' || leaves.length > 1 ? undefined : leaves[0],
    );
    if (one === undefined || other === undefined || !isField(one) || !isField(other)) return;
    if (isText(one) && isText(other) && !isSameField(one, other)) joinedKeys.push({ one, other, by });
  };
  const { left, right } = node;
  const { x, by, others: [other] = [] } = conditionIn(node) ?? {};
  if (by === '=' && ![x, other].some((side) => side?.['class'] === 'CONSTANT'))
    add(leavesOf(origins, x, scope), leavesOf(origins, other, scope), by);
  if (node['type'] === 'JOIN' && isNode(left))
    for (const name of textsOf(node['using_columns']))
      add(leavesInSide(origins, left, name), leavesInSide(origins, right, name), 'USING');
  const query = node['subquery_type'] === 'ANY' ? subqueryOf(node) : undefined;
  if (query !== undefined && /^(?:COMPARE_EQUAL)?$/.test(textOf(node['comparison_type'])))
    add(leavesOf(origins, node['child'], scope), originsInQuery(origins, query, { at: 0 }), 'IN');
}
