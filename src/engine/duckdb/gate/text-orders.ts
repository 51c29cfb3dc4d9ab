import { TRY_TO_INT } from '../sql/compat/casts.ts';
import { isNumber, isTime } from '../sql/corrections/casts.ts';
import { foldName, ID_COLUMN, type NamedTable } from '../sql/names.ts';
import { constantOf, constantText, isNode, isQuery, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { createOrigins, type Origin, type Origins, originsInQuery, originsOf } from './field-origins.ts';
import { nodesWithScope, type Scope } from './node-scopes.ts';
import { castType, createTimeTypes, typeOf } from './time-types.ts';

/** A field of text. */
export type TextField = Pick<Origin, 'table' | 'path'>;

/**
 * A field of text whose values are put in order as text, which for numbers and for most spellings of days is another one; or
 * one of objects.
 */
export interface TextOrder extends Origin {
  /** What it is compared with; undefined: its values with one another, by ORDER BY, min or max. */
  other: { text: string } | { parameter: string } | undefined;
}

/** A field of text that TRY_CAST reads. */
export interface TextCast extends Origin {
  /** As SQL writes it. */
  type: string;
}

/** What a statement does with fields of text that only their values can tell to be wrong. */
export interface TextUses {
  orders: readonly TextOrder[];
  casts: readonly TextCast[];
}

/** Fields whose values are looked at. */
const ORDERS_MAX = 6;
const CASTS_MAX = 3;
/** Functions that order the values of an argument, by its place; undefined: of all of them. */
const FIRST = /^(?:min|max|median|quantile(?:_disc)?|list_(?:sort|reverse_sort|min|max)|array_(?:sort|reverse_sort))$/;
const SECOND = /^(?:arg_(?:min|max)(?:_null)?|(?:min|max)_by)$/;
const ALL = /^(?:greatest|least)$/;
const OF_LISTS = /^(?:list|array)_/;
const IS_ORDER = /^COMPARE_(?:GREATERTHAN|LESSTHAN)/;

interface Walk {
  origins: Origins;
  /** Whether an expression is text, though it is no field. */
  isText(node: unknown, scope: Scope | undefined): boolean;
  found: TextOrder[];
  casts: TextCast[];
  /** The fields, as they are written, of which the author asks what no cast reads. */
  known: Set<string>;
}

/** The fields of text that a statement orders, or casts. Whether that is what is meant, only their values say. */
export function textUses(
  tree: Node,
  tables: ReadonlyMap<Node, NamedTable>,
  queries: ReadonlyMap<Node, Node>,
): TextUses {
  // Nothing is stored that could be ordered.
  if (tables.size === 0) return { orders: [], casts: [] };
  const types = createTimeTypes(tables, queries);
  const walk: Walk = {
    origins: createOrigins(tables, queries),
    isText: (node, scope) => isNode(node) && typeOf(types, node, scope) === 'text',
    found: [],
    casts: [],
    known: new Set(),
  };
  for (const [node, scope] of nodesWithScope(tree)) {
    if (walk.origins.looksLeft < 0) break;
    if (isQuery(node)) noteSorted(walk, node, scope);
    else noteCall(walk, node, scope);
    noteCast(walk, node, scope);
    for (const { operand } of castsAsked(node))
      for (const { written } of originsOf(walk.origins, operand, scope)) walk.known.add(written);
    for (const [side, other] of comparisonsIn(node)) noteCompared(walk, side, other, scope);
  }
  const casts = walk.casts.filter(({ written }) => !walk.known.has(written));
  return { orders: walk.found, casts: casts.slice(0, CASTS_MAX) };
}

function note(walk: Walk, found: readonly Origin[], other?: TextOrder['other']): void {
  for (const origin of found) {
    const { table, path } = origin;
    // Ids are sorted for some order, whichever.
    if (walk.found.length >= ORDERS_MAX || foldName(path[0] ?? '') === ID_COLUMN) continue;
    const at = walk.found.findIndex((one) => one.table === table && one.path.join('\n') === path.join('\n'));
    // What it is compared with says more.
    if (at === -1) walk.found.push({ ...origin, other });
    else if (walk.found[at]?.other === undefined && other !== undefined) walk.found[at] = { ...origin, other };
  }
}

/** Of others the fields are put in order as a whole. */
export const isOfText = ({ type }: Pick<Origin, 'type'>) => type === 'VARCHAR';

/** What a TRY_CAST casts, and to which type. */
function triedIn(node: Node): { operand: unknown; type: string } | undefined {
  if (foldName(textOf(node['function_name'])) === TRY_TO_INT)
    return { operand: nodesOf(node['children'])[0], type: 'INT' };
  return node['try_cast'] === true ? { operand: node['child'], type: castType(node['cast_type']) } : undefined;
}

function noteCast(walk: Walk, node: Node, scope: Scope | undefined): void {
  const { operand, type = '' } = triedIn(node) ?? {};
  if (!isNumber(type) && !isTime(type)) return;
  for (const origin of originsOf(walk.origins, operand, scope).filter(isOfText)) {
    const isNoted = walk.casts.some(({ written, type: other }) => written === origin.written && other === type);
    if (!isNoted && walk.casts.length < ORDERS_MAX) walk.casts.push({ ...origin, type });
  }
}

/** The casts of which a node asks whether they read a value, or has something else to read it where they do not. */
function castsAsked(node: Node) {
  const children = nodesOf(node['children']);
  const type = textOf(node['type']);
  const isAsked =
    /^OPERATOR_IS_(?:NOT_)?NULL$/.test(type) ||
    (type === 'OPERATOR_COALESCE' && children.filter((one) => one['class'] !== 'CONSTANT').length > 1);
  return isAsked ? children.flatMap((one) => triedIn(one) ?? []) : [];
}

/** What a query is sorted by: an item by its number, its alias, or something else. */
function noteSorted(walk: Walk, query: Node, outer: Scope | undefined): void {
  const isSelect = query['type'] === 'SELECT_NODE';
  const scope = isSelect ? { select: query, outer } : outer;
  const items = nodesOf(query['select_list']);
  for (const { orders } of nodesOf(query['modifiers'])) {
    for (const { expression } of nodesOf(orders)) {
      const number = constantOf(expression);
      if (number !== undefined) note(walk, originsInQuery(walk.origins, query, { at: Number(number) - 1 }));
      else if (isNode(expression) && expression['class'] === 'STAR')
        // Whoever orders by all has objects among them.
        for (const item of items.slice(0, ORDERS_MAX))
          note(walk, originsOf(walk.origins, item, scope).filter(isOfText));
      else note(walk, sortedBy(walk, expression, query, scope));
    }
  }
}

/** An alias comes before a column here. */
function sortedBy(walk: Walk, expression: unknown, query: Node, scope: Scope | undefined): readonly Origin[] {
  const names = isNode(expression) && expression['class'] === 'COLUMN_REF' ? textsOf(expression['column_names']) : [];
  const [name = ''] = names;
  if (query['type'] !== 'SELECT_NODE') return originsInQuery(walk.origins, query, { name });
  const isItem = ({ alias }: Node) => foldName(textOf(alias)) === foldName(name);
  const item = names.length === 1 ? nodesOf(query['select_list']).find(isItem) : undefined;
  return originsOf(walk.origins, item ?? expression, scope);
}

function noteCall(walk: Walk, node: Node, scope: Scope | undefined): void {
  if (node['class'] !== 'FUNCTION' && node['class'] !== 'WINDOW') return;
  const name = foldName(textOf(node['function_name']));
  const children = nodesOf(node['children']);
  const ordered = FIRST.test(name)
    ? children.slice(0, 1)
    : SECOND.test(name)
      ? children.slice(1, 2)
      : ALL.test(name)
        ? children
        : [];
  // A list is what gives its items.
  const isOfList = OF_LISTS.test(name) && ordered.length > 0;
  for (const one of isOfList ? [{ class: 'FUNCTION', function_name: 'unnest', children: ordered }] : ordered)
    note(walk, originsOf(walk.origins, one, scope));
  const { orders = isNode(node['order_bys']) ? node['order_bys']['orders'] : [] } = node;
  for (const { expression } of nodesOf(orders)) note(walk, originsOf(walk.origins, expression, scope));
}

/** What a comparison by order puts beside what. */
function comparisonsIn(node: Node): [unknown, unknown][] {
  const { left, right, input, lower, upper } = node;
  if (node['class'] === 'BETWEEN')
    return [
      [input, lower],
      [input, upper],
      [lower, input],
      [upper, input],
    ];
  if (node['class'] === 'SUBQUERY' && IS_ORDER.test(textOf(node['comparison_type'])))
    return [[node['child'], { ...node, subquery_type: 'SCALAR' }]];
  if (node['class'] !== 'COMPARISON' || !IS_ORDER.test(textOf(node['type']))) return [];
  return [
    [left, right],
    [right, left],
  ];
}

function noteCompared(walk: Walk, side: unknown, other: unknown, scope: Scope | undefined): void {
  if (!isNode(side) || side['class'] === 'CONSTANT') return;
  const found = originsOf(walk.origins, side, scope);
  if (found.length === 0) return;
  const text = constantText(other);
  const parameter = isNode(other) && other['class'] === 'PARAMETER' ? foldName(textOf(other['identifier'])) : '';
  if (text !== undefined) note(walk, found, { text });
  else if (parameter !== '') note(walk, found, { parameter });
  // Beside a number it is cast to one, and beside a time refused.
  else if (originsOf(walk.origins, other, scope).length > 0 || walk.isText(other, scope)) note(walk, found);
}

/** The field of text that a path names, with or without what its collection is called before it. */
export function fieldOfText(written: readonly string[], tables: readonly NamedTable[]): TextField | undefined {
  for (const from of [0, 1, 2]) {
    const path = written.slice(from);
    const table = path.length === 0 ? undefined : tables.find((one) => one.typeAt?.(path) === 'VARCHAR');
    if (table !== undefined) return { table, path };
  }
  return undefined;
}
