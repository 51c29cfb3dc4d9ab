import { foldName } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textsOf } from '../sql/tree.ts';

/** A SELECT, or a lambda, and what is around it. */
export interface Scope {
  select?: Node;
  /** The lambda's first name, folded, and the list of whose items it is. */
  item?: { name: string; list: unknown };
  outer: Scope | undefined;
}

/** Every node, with the SELECT and the lambdas that it is in. */
export function* nodesWithScope(root: Node): Generator<readonly [Node, Scope | undefined]> {
  const left: (readonly [unknown, Scope | undefined])[] = [[root, undefined]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [value, scope] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (isNode(value)) yield [value, scope];
    const inner = isNode(value) && value['type'] === 'SELECT_NODE' ? { select: value, outer: scope } : scope;
    const [list, lambda] = isNode(value) && value['class'] === 'FUNCTION' ? nodesOf(value['children']) : [];
    const name = lambda?.['class'] === 'LAMBDA' ? nameIn(lambda) : undefined;
    if (name !== undefined) left.push([lambda, { item: { name, list }, outer: scope }]);
    for (const child of Object.values(value)) {
      if (name === undefined || !Array.isArray(child)) left.push([child, inner]);
      else left.push([child.filter((one) => one !== lambda), inner]);
    }
  }
}

/** The first name of a lambda, folded. */
export function nameIn({ lhs }: Node): string | undefined {
  const first = isNode(lhs) && lhs['class'] === 'FUNCTION' ? nodesOf(lhs['children'])[0] : lhs;
  return isNode(first) ? foldName(textsOf(first['column_names'])[0] ?? '') : undefined;
}
