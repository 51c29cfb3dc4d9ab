import { foldName, ID_COLUMN } from '../sql/names.ts';
import { isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import {
  createOrigins,
  isField,
  isText,
  leavesOf,
  type Origin,
  type Origins,
  pathText,
  sourcesOf,
} from './field-origins.ts';
import { nodesWithScope, type Scope } from './node-scopes.ts';
import type { Relations } from './query-columns.ts';
import { type Other, otherOf } from './text-alike.ts';
import { castType } from './time-types.ts';

/** A field of times, or of text that may be some, that is compared with days, of which the engine takes the first moment. */
export interface WholeDay extends Origin {
  by: '<=' | '>' | '=' | '<>' | 'IN' | 'NOT IN';
  /** The days; or what has them, as SQL. */
  days: readonly Other[] | string;
  /** The day at the first moment of which the times of `<=` begin, or those of `>` end. */
  end?: Other | undefined;
}

interface Walk {
  origins: Origins;
  /** The operands of the AND that a node is in. */
  beside: Map<Node, readonly Node[]>;
}

const LOOKS_MAX = 500;
/** Of which those with parameters may turn out to be no days. */
const FOUND_MAX = 20;

/** `x <= '2024-01-31'`, BETWEEN, `>`, `=`, `<>` and IN, which of times take a day for its first moment. */
export function wholeDays(tree: Node, relations: Relations): WholeDay[] {
  const found: WholeDay[] = [];
  const walk: Walk = { origins: createOrigins(relations, LOOKS_MAX), beside: new Map() };
  for (const [node, scope] of nodesWithScope(tree)) {
    const operands = node['type'] === 'CONJUNCTION_AND' ? nodesOf(node['children']) : [];
    for (const one of operands) walk.beside.set(one, operands);
    if (found.length < FOUND_MAX) found.push(...(upTo(walk, node, scope) ?? sameAs(walk, node, scope)));
  }
  return found;
}

function upTo(walk: Walk, node: Node, scope: Scope | undefined): WholeDay[] | undefined {
  const [x, at] = boundIn(node);
  const [after, from] = beginIn(node);
  const day = dayOf(at ?? from);
  if (day === undefined) return undefined;
  const field = timeIn(walk.origins, at === undefined ? after : x, scope);
  if (field === undefined) return [];
  const [end] = (walk.beside.get(node) ?? []).flatMap((one) => {
    const [y, other] = at === undefined ? endIn(one) : beginIn(one);
    const its = dayOf(other);
    return its !== undefined && timeIn(walk.origins, y, scope)?.written === field.written ? [its] : [];
  });
  return [{ ...field, by: at === undefined ? '>' : '<=', days: [day], end }];
}

const beginIn = (node: Node) => sidesOf(node, 'COMPARE_GREATERTHAN', 'COMPARE_LESSTHAN');

function endIn(node: Node): readonly [x?: unknown, most?: unknown] {
  const [x, most] = sidesOf(node, 'COMPARE_LESSTHAN', 'COMPARE_GREATERTHAN');
  return most === undefined ? boundIn(node) : [x, most];
}

function boundIn(node: Node): readonly [x?: unknown, most?: unknown] {
  if (node['class'] === 'BETWEEN' && node['type'] !== 'COMPARE_NOT_BETWEEN') return [node['input'], node['upper']];
  return sidesOf(node, 'COMPARE_LESSTHANOREQUALTO', 'COMPARE_GREATERTHANOREQUALTO');
}

/** The sides of a comparison, which may be written the other way round. */
function sidesOf({ type, left, right }: Node, own: string, turned: string): readonly [x?: unknown, other?: unknown] {
  return type === own ? [left, right] : type === turned ? [right, left] : [];
}

const BY: ReadonlyMap<string, WholeDay['by']> = new Map([
  ['COMPARE_EQUAL', '='],
  ['COMPARE_NOTEQUAL', '<>'],
  ['COMPARE_IN', 'IN'],
  ['COMPARE_NOT_IN', 'NOT IN'],
]);

function sameAs({ origins }: Walk, node: Node, scope: Scope | undefined): WholeDay[] {
  const by = BY.get(textOf(node['type']));
  if (by === undefined) return [];
  const sides = nodesOf(by.endsWith('IN') ? node['children'] : [node['left'], node['right']]);
  const days = sides.flatMap((side) => dayOf(side) ?? []);
  const [x, ...more] = sides.filter((side) => dayOf(side) === undefined);
  const [other] = more;
  if (other !== undefined) return by === '=' && days.length === 0 ? sameAsColumn(origins, [x, other], scope) : [];
  const field = days.length === 0 ? undefined : timeIn(origins, x, scope);
  return field === undefined || foldName(field.path[0] ?? '') === ID_COLUMN ? [] : [{ ...field, by, days }];
}

/** `o.at = e.day`, of a time and a DATE. */
function sameAsColumn(origins: Origins, sides: readonly unknown[], scope: Scope | undefined): WholeDay[] {
  for (const [x, other] of [sides, sides.toReversed()]) {
    const days = dateIn(origins, other, scope);
    const field = days === undefined ? undefined : timeIn(origins, x, scope);
    if (days !== undefined && field !== undefined && !isText(field)) return [{ ...field, by: '=', days }];
  }
  return [];
}

/** A DATE as SQL, as far as it is a column or the cast of one. */
function dateIn(origins: Origins, node: unknown, scope: Scope | undefined): string | undefined {
  if (!isNode(node)) return undefined;
  const leaves = leavesOf(origins, node, scope);
  const isDate = leaves.every((leaf) => (isField(leaf) ? leaf.type === 'DATE' : isDateCast(leaf.node)));
  if (leaves.length === 0 || !isDate) return undefined;
  if (!isDateCast(node)) return pathText(node);
  const path = isNode(node['child']) ? pathText(node['child']) : undefined;
  return path === undefined ? undefined : `CAST(${path} AS DATE)`;
}

const isDateCast = (node: Node) => node['class'] === 'CAST' && castType(node['cast_type']) === 'DATE';

/** The one field of times, or of text, that an expression is. */
function timeIn(origins: Origins, x: unknown, scope: Scope | undefined): Origin | undefined {
  const { fields, isComputed } = sourcesOf(origins, x, scope);
  const [field] = fields;
  if (field === undefined || isComputed || fields.length > 1) return undefined;
  return isText(field) || field.type.startsWith('TIMESTAMP') ? field : undefined;
}

export const A_DAY = /^\d{4}-\d\d-\d\d$/;

function dayOf(node: unknown): Other | undefined {
  const other = otherOf(isNode(node) && isDateCast(node) ? node['child'] : node);
  return other === undefined || 'parameter' in other || A_DAY.test(other.text) ? other : undefined;
}
