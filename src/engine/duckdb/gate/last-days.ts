import { constantText, isNode, type Node } from '../sql/tree.ts';
import { createOrigins, isText, type Origin, sourcesOf } from './field-origins.ts';
import { nodesWithScope } from './node-scopes.ts';
import type { Relations } from './query-columns.ts';
import { type Other, otherOf } from './text-alike.ts';
import { castType } from './time-types.ts';

/** A field of times, or of text that may be some, with what it may be at most. */
export interface LastDay extends Origin {
  most: Other;
}

const LOOKS_MAX = 500;
const FOUND_MAX = 3;

/** `x <= '2024-01-31'`, and BETWEEN, which of times leave out all of that day but its first moment. */
export function lastDays(tree: Node, relations: Relations): LastDay[] {
  const found: LastDay[] = [];
  const origins = createOrigins(relations, LOOKS_MAX);
  for (const [node, scope] of nodesWithScope(tree)) {
    const [x, at] = boundIn(node);
    const most = at === undefined ? undefined : dayOf(at);
    if (most === undefined || found.length >= FOUND_MAX) continue;
    const { fields, isComputed } = sourcesOf(origins, x, scope);
    const [field] = fields;
    if (field === undefined || isComputed || fields.length > 1) continue;
    if (isText(field) || field.type.startsWith('TIMESTAMP')) found.push({ ...field, most });
  }
  return found;
}

function boundIn(node: Node): [x?: unknown, most?: unknown] {
  if (node['class'] === 'BETWEEN' && node['type'] !== 'COMPARE_NOT_BETWEEN') return [node['input'], node['upper']];
  if (node['type'] === 'COMPARE_LESSTHANOREQUALTO') return [node['left'], node['right']];
  return node['type'] === 'COMPARE_GREATERTHANOREQUALTO' ? [node['right'], node['left']] : [];
}

const A_DAY = /^\d{4}-\d\d-\d\d$/;

function dayOf(node: unknown): Other | undefined {
  const isCast = isNode(node) && node['class'] === 'CAST' && castType(node['cast_type']) === 'DATE';
  const other = otherOf(isCast ? node['child'] : node);
  return constantText(node) === undefined || (other !== undefined && 'text' in other && A_DAY.test(other.text))
    ? other
    : undefined;
}
