import { conditionIn } from '../sql/conditions.ts';
import { isNode, type Node, nodesOf, subqueryOf, textOf, textsOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
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
import { castIn } from './text-casts.ts';

/** Two fields of text, or numbers that are cast to it, that have to be the same for rows to be put together. */
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
    add(keysIn(origins, x, scope), keysIn(origins, other, scope), by);
  if (node['type'] === 'JOIN' && isNode(left))
    for (const name of textsOf(node['using_columns']))
      add(leavesInSide(origins, left, name), leavesInSide(origins, right, name), 'USING');
  const query = node['subquery_type'] === 'ANY' ? subqueryOf(node) : undefined;
  if (query !== undefined && /^(?:COMPARE_EQUAL)?$/.test(textOf(node['comparison_type'])))
    add(keysIn(origins, node['child'], scope), selectedIn(origins, query, scope), 'IN');
}

/** The fields that a side is, also as the text of a number. */
function keysIn(origins: Origins, side: unknown, scope: Scope | undefined): readonly Leaf[] {
  const cast = isNode(side) ? castIn(side) : undefined;
  if (cast?.type !== 'VARCHAR') return leavesOf(origins, side, scope);
  return leavesOf(origins, cast.operand, scope).map((leaf) =>
    isField(leaf) && isNumberType(leaf.type)
      ? { ...leaf, type: 'VARCHAR', written: `CAST(${leaf.written} AS VARCHAR)` }
      : leaf,
  );
}

function selectedIn(origins: Origins, query: Node, outer: Scope | undefined): readonly Leaf[] {
  const found = originsInQuery(origins, query, { at: 0 });
  const [item] = nodesOf(query['select_list']);
  return found.length > 0 ? found : keysIn(origins, item, { select: query, outer });
}
