import { conditionIn, isOrder } from '../sql/conditions.ts';
import { type NamedTable, quoteName } from '../sql/names.ts';
import { type Node, nodesIn, nodesOf, offsetOf, textOf, textsOf } from '../sql/tree.ts';
import type { Scope } from './node-scopes.ts';
import { type Known, type TimeType, type TimeTypes, typeInSide, typeOf } from './time-types.ts';

/*
 * Text that is compared with a time. With `<` the engine refuses that; with `=`, and JSON with either, it casts to the type
 * of the time without a word: the hours are gone beside a DATE, and the zone beside a TIMESTAMP.
 */

export interface TimeComparison {
  /** The names of the text as far as it is a column, as the tree has them, and the byte offset of the first. */
  name: readonly string[] | undefined;
  at: number | undefined;
  /** What it is to be cast to. */
  type: 'TIMESTAMPTZ' | 'TIME';
  /** Set if it is compared with a time only if this parameter is one; a folded name. */
  parameter: string | undefined;
  /** Set if it is compared by USING or NATURAL, where no cast can be written. */
  using: string | undefined;
}

/** Calls whose arguments are compared one by one, if both sides are such a call. */
const TUPLES: ReadonlySet<string> = new Set(['row', 'struct_pack', 'list_value']);

/** Notes the comparisons of text with times in a node that the engine would do its own way. */
export function noteTimeComparison(
  { types, found }: { types: TimeTypes; found: TimeComparison[] },
  node: Node,
  scope: Scope | undefined,
): void {
  for (const [a, b, isOrder] of pairsIn(node)) {
    const [one, other] = [typeOf(types, a, scope), typeOf(types, b, scope)];
    const comparison = ofSides(a, one, other, isOrder) ?? ofSides(b, other, one, isOrder);
    if (comparison !== undefined) found.push({ ...comparison, at: comparison.at ?? offsetOf(node) });
  }
  for (const name of node['type'] === 'JOIN' ? sharedBy(node, types.origins.tables) : []) {
    const [one, other] = [typeInSide(types, node['left'], name), typeInSide(types, node['right'], name)];
    const type = castFor(one, other, false) ?? castFor(other, one, false);
    if (type !== undefined)
      found.push({ name: undefined, at: offsetOf(node), type, parameter: undefined, using: name });
  }
}

type Pair = readonly [a: Node, b: Node, isOrder: boolean];

function pairsIn(node: Node): Pair[] {
  const condition = conditionIn(node);
  if (condition !== undefined)
    return condition.others.flatMap((other) => pairsOf(condition.x, other, isOrder(condition.by)));
  if (node['class'] !== 'FUNCTION' || textOf(node['function_name']).toLowerCase() !== 'nullif') return [];
  const [first, ...rest] = nodesOf(node['children']);
  return first === undefined ? [] : rest.flatMap((one) => pairsOf(first, one, false));
}

function pairsOf(a: Node, b: Node, isOrder: boolean): Pair[] {
  // They take the type of what they are compared with.
  if (a['class'] === 'CONSTANT' || b['class'] === 'CONSTANT') return [];
  const [one, other] = [a, b].map((node) => textOf(node['function_name']));
  if (one === undefined || one !== other || !TUPLES.has(one)) return [[a, b, isOrder]];
  const others = nodesOf(b['children']);
  return nodesOf(a['children']).flatMap((item, at) => {
    const beside = others[at];
    return beside === undefined ? [] : pairsOf(item, beside, isOrder);
  });
}

/** The columns that a join compares without naming them twice. */
function sharedBy(join: Node, tables: ReadonlyMap<Node, NamedTable>): string[] {
  const named = textsOf(join['using_columns']);
  if (named.length > 0 || join['ref_type'] !== 'NATURAL') return named;
  const columns = [...nodesIn(join['left'])].flatMap((node) => tables.get(node)?.columns() ?? []);
  return [...new Set(columns)];
}

/** The comparison of `node`, if that is text, and what is beside it a time. */
function ofSides(node: Node, own: Known, other: Known, isOrder: boolean): TimeComparison | undefined {
  const parameter = typeof other === 'object' ? other.parameter : undefined;
  const type = castFor(own, parameter === undefined ? other : 'time', isOrder);
  if (type === undefined) return undefined;
  const isName = node['class'] === 'COLUMN_REF' && own === (own as string).replace('[]', '');
  return {
    name: isName ? textsOf(node['column_names']) : undefined,
    at: isName ? offsetOf(node) : undefined,
    type,
    parameter,
    using: undefined,
  };
}

/** What text has to be cast to beside a time; undefined if it is none, or the engine refuses the comparison itself. */
function castFor(own: Known, other: Known, isOrder: boolean): TimeComparison['type'] | undefined {
  if (typeof own !== 'string' || typeof other !== 'string') return undefined;
  const [base, lists] = baseOf(own);
  const [time, around] = baseOf(other);
  if (lists !== around || (base !== 'json' && (base !== 'text' || isOrder))) return undefined;
  if (time !== 'time' && time !== 'clock') return undefined;
  return time === 'time' ? 'TIMESTAMPTZ' : 'TIME';
}

function baseOf(type: TimeType): [base: string, lists: string] {
  const [base = '', ...lists] = type.split('[]');
  return [base, '[]'.repeat(lists.length)];
}

/** Says what to write instead. */
export function refusalFor({ name, type, using }: TimeComparison): string {
  if (using !== undefined) {
    const column = quoteName(using);
    return `${column} is text on one side of the join, and a time on the other: write ON CAST(a.${column} AS ${type}) = b.${column}, with the names of the two instead of a and b.`;
  }
  const written = name?.map((part) => (/^[a-z_]\w*$/i.test(part) ? part : quoteName(part))).join('.');
  const cast = `CAST(${written ?? 'x'} AS ${type})`;
  return `${written ?? 'One side'} is text, and compared with a time: write ${cast}, or TRY_${cast} if some values are no times.`;
}
