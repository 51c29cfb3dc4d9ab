import { foldName, quoteText } from '../sql/names.ts';
import { constantOf, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isField, isText, leavesOf, type Origin, type Origins, pathText } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';

/*
 * What a statement takes of the text of a field with functions of text and constants, such as the digits of a code.
 */

/** A text that is taken of a field of text; `written` is all of it. */
export interface TextPart extends Origin {
  /** The same of a value that is called `v`, as SQL. */
  of: string;
}

const CALLS = /^(?:split_part|regexp_extract|regexp_replace|replace|substr|substring|left|right|trim|ltrim|rtrim)$/;
const DEPTH_MAX = 4;

/** The text that an expression takes of one field; none: it is something else. */
export function textPartsOf(origins: Origins, node: unknown, scope: Scope | undefined): readonly TextPart[] {
  const [leaf, ...more] = isNode(node) ? leavesOf(origins, node, scope) : [];
  if (!isNode(node) || leaf === undefined || more.length > 0 || isField(leaf) || leaf.rest.length > 0) return [];
  const { inner, around } = callsIn(leaf.node, 0) ?? {};
  const [field, ...others] = inner === undefined ? [] : leavesOf(origins, inner, leaf.scope);
  if (around === undefined || field === undefined || others.length > 0 || !isField(field) || !isText(field)) return [];
  return [
    { ...field, of: around('v'), written: (node['class'] === 'COLUMN_REF' && pathText(node)) || around(field.written) },
  ];
}

interface Calls {
  inner: Node;
  around(x: string): string;
}

function callsIn(node: Node, depth: number): Calls | undefined {
  const call = foldName(textOf(node['function_name']));
  if (node['class'] !== 'FUNCTION' || !CALLS.test(call) || depth > DEPTH_MAX) return undefined;
  const [first, ...args] = nodesOf(node['children']);
  const values = args.map(constantOf).map((value) => {
    if (typeof value === 'string') return value.includes('\0') ? undefined : quoteText(value);
    return Number.isInteger(value) ? String(value) : undefined;
  });
  if (first === undefined || values.includes(undefined)) return undefined;
  const within = callsIn(first, depth + 1) ?? { inner: first, around: (x: string) => x };
  return { inner: within.inner, around: (x) => `${call}(${[within.around(x), ...values].join(', ')})` };
}
