import { foldName, ITEM } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textsOf } from '../sql/tree.ts';
import { type Found, find, type Scope, within } from './json-lookup.ts';

/** Finds the JSON field from which an expression's value comes unchanged. */

/** Functions that return one of their arguments, or one of its values over rows. */
const PASSING =
  /^(coalesce|ifnull|nvl|if|nullif|any_value|arbitrary|first|last|mode|lag|lead|(first|last|nth)_value|min|max|greatest|least|arg_?(min|max)(_null)?|(min|max)_by)$/;
/** Functions that return a part of the list in their first argument. */
const SLICING =
  /^(list|array)_(filter|sort|reverse_sort|reverse|distinct|slice|concat|cat|append|push_back|resize|where|grade_up)$|^(filter|slice|array_remove|array_except|array_intersect)$/;
/** Functions that return an item of that list. */
const EXTRACTING = /^((list|array)_(extract|element|first|last|min|max|any_value)|element_at|unnest)$/;
/** Functions that make a list of their arguments, or of these over rows. */
const LISTING = /^(list|array_agg|list_value|array_create|list_distinct_agg)$/;

const OPERATORS = new Set(['OPERATOR_COALESCE', 'OPERATOR_NULLIF', 'OPERATOR_TRY']);

export function functionOf(node: Node): string {
  const isCall = node['class'] === 'FUNCTION' || node['class'] === 'WINDOW';
  return isCall ? foldName(String(node['function_name'])) : '';
}

/** The value of a text constant; undefined for anything else. */
export function textConstant(node: unknown): string | undefined {
  const value = isNode(node) && node['class'] === 'CONSTANT' ? node['value'] : undefined;
  if (!isNode(value) || !isNode(value['type']) || value['type']['id'] !== 'VARCHAR') return undefined;
  return typeof value['value'] === 'string' ? value['value'] : undefined;
}

/** The expressions of which a node returns one; empty if it makes a new value. */
export function passedOn(node: Node): unknown[] {
  if (node['class'] === 'CASE') {
    return [...nodesOf(node['case_checks']).map((check) => check['then_expr']), node['else_expr']];
  }
  if (OPERATORS.has(String(node['type']))) return nodesOf(node['children']);
  const name = functionOf(node);
  if (!PASSING.test(name)) return [];
  const children = nodesOf(node['children']);
  return /^(arg_|(min|max)_by|arg(min|max)|nullif|lag|lead|nth_value)/.test(name) ? children.slice(0, 1) : children;
}

/** The step by which a node reaches into its first operand: the name of a field, or `ITEM`; null if it does not. */
export function stepOf(node: Node): string | null {
  const [, key] = nodesOf(node['children']);
  const name = functionOf(node);
  const isAccess = node['type'] === 'ARRAY_EXTRACT' || node['type'] === 'STRUCT_EXTRACT' || name === 'struct_extract';
  if (isAccess || EXTRACTING.test(name)) return textConstant(key) ?? ITEM;
  return null;
}

/** The JSON field, or what contains one, that an expression returns; null if it returns none or is hard to tell. */
export function foundIn(value: unknown, scope: Scope): Found | null {
  if (!isNode(value)) return null;
  const known = found.get(scope) ?? new WeakMap<Node, Found | null>();
  found.set(scope, known);
  const before = known.get(value);
  if (before !== undefined) return before;
  const now = searchIn(value, scope);
  known.set(value, now);
  return now;
}

/** What was found already: calls stand in each other, and each asks for what its operands return. */
const found = new WeakMap<Scope, WeakMap<Node, Found | null>>();

function searchIn(value: Node, scope: Scope): Found | null {
  if (value['class'] === 'COLUMN_REF') return find(scope, textsOf(value['column_names']));
  const [first] = nodesOf(value['children']);
  const step = stepOf(value);
  if (step !== null) {
    const of = foundIn(first, scope);
    return of === null || of.json === 'json' ? of : within(of, [step]);
  }
  const name = functionOf(value);
  if (value['type'] === 'ARRAY_SLICE' || SLICING.test(name)) return foundIn(first, scope);
  if (LISTING.test(name) || value['type'] === 'ARRAY_CONSTRUCTOR') {
    const of = firstIn(nodesOf(value['children']), scope);
    return of === null ? null : { ...of, json: new Map([[ITEM, of.json]]) };
  }
  return firstIn(passedOn(value), scope);
}

function firstIn(values: readonly unknown[], scope: Scope): Found | null {
  for (const value of values) {
    const one = foundIn(value, scope);
    if (one !== null) return one;
  }
  return null;
}

/** The item of the list that an expression returns. */
export function itemOf(list: unknown, scope: Scope): Found | null {
  const whole = foundIn(list, scope);
  return whole === null || whole.json === 'json' ? null : within(whole, [ITEM]);
}
