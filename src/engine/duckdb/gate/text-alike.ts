import { conditionIn, isEquality } from '../sql/conditions.ts';
import { foldName, ID_COLUMN } from '../sql/names.ts';
import { constantOf, constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isText, type Origin, type Origins, originsOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';

/*
 * The fields of text whose values a statement compares for being the same.
 */

/** What a field is compared with. */
export type Other = { text: string } | { parameter: string };

/** A field of text that has to be one of some texts. */
export interface TextEquality extends Origin {
  others: readonly Other[];
  /** Whether it has to be none of them. */
  isNot: boolean;
  /** Whether rows of an answer show that there is such a text: it is a condition of all of them. */
  isSeen: boolean;
  /** Whether the field is also compared with texts in another spelling, as by lower(). */
  isSpelled: boolean;
}

/** A field of text by which rows are grouped, or made distinct. */
export interface TextGroup extends Origin {
  /** What is taken of a value that is called `v`, as SQL: trim() and the like; undefined: the value. */
  of: string | undefined;
  /** The place of its values in the rows of the answer; undefined: they are not there, or not known where. */
  column: number | undefined;
}

/** What of these is found in a statement. */
export interface AlikeUses {
  outermost: Node;
  origins: Origins;
  equalities: Omit<TextEquality, 'isSpelled'>[];
  /**
   * The fields, as they are written, that are compared in another spelling, too, with texts or with fields: whoever does that
   * knows how their values are spelled.
   */
  spelled: { texts: Set<string>; fields: Set<string> };
  /** The conditions that each row of the answer meets, as far as they have been walked. */
  met: Set<unknown>;
  groups: TextGroup[];
}

/** Fields that are noted, of each kind. */
const FIELDS_MAX = 24;

/** The text or the parameter that an expression is. */
export function otherOf(node: unknown): Other | undefined {
  const text = constantText(node);
  if (text !== undefined) return { text };
  const isParameter = isNode(node) && node['class'] === 'PARAMETER';
  return isParameter ? { parameter: foldName(textOf(node['identifier'])) } : undefined;
}

/** What WHERE and AND demand of each row. */
export function noteMet({ met, outermost }: AlikeUses, node: Node): void {
  if (node === outermost && node['type'] === 'SELECT_NODE') met.add(node['where_clause']);
  if (node['type'] === 'CONJUNCTION_AND' && met.has(node)) for (const one of nodesOf(node['children'])) met.add(one);
}

/** `x = 'a'`, `x <> 'a'`, `x IN ('a', 'b')`. */
export function noteEqual(walk: AlikeUses, node: Node, scope: Scope | undefined): void {
  const condition = conditionIn(node);
  if (condition === undefined || !isEquality(condition.by)) return;
  const sides = [condition.x, ...condition.others];
  const others = sides.flatMap((side) => otherOf(side) ?? []);
  const [field] = sides.filter((side) => otherOf(side) === undefined);
  if (others.length === 0 || others.length !== sides.length - 1) return;
  const isNot = condition.by === '<>' || condition.by === 'NOT IN';
  const isSeen = !isNot && others.length === 1 && walk.met.has(node);
  for (const origin of originsOf(walk.origins, field, scope))
    if (isText(origin) && walk.equalities.length < FIELDS_MAX && foldName(origin.path[0] ?? '') !== ID_COLUMN)
      walk.equalities.push({ ...origin, others, isNot, isSeen });
}

const SPELLS = /^(?:lower|upper|lcase|ucase|trim|ltrim|rtrim|nfc_normalize|strip_accents)$/;
const SPELLS_MAX = 4;

/** `lower(x) = 'a'`, `lower(x) = lower(y)`, `trim(x) IN (SELECT …)`. */
export function noteSpelled({ origins, spelled }: AlikeUses, node: Node, scope: Scope | undefined): void {
  const { x = node['child'], by, others = [] } = conditionIn(node) ?? {};
  if (by === undefined ? node['subquery_type'] !== 'ANY' : !isEquality(by)) return;
  // Texts of IN are many, and no calls.
  const sides = nodesOf([x, ...others.slice(0, 1)]);
  const isOfTexts = sides.some((side) => otherOf(side) !== undefined);
  for (const side of sides) {
    const inner = withoutSpelling(side);
    if (inner === side) continue;
    for (const { written } of originsOf(origins, inner, scope)) spelled[isOfTexts ? 'texts' : 'fields'].add(written);
  }
}

/** What calls of such functions, or of those with so many arguments, are of. */
function withoutSpelling(node: Node, most = SPELLS_MAX): Node {
  let inner = node;
  for (let calls = 0; calls < SPELLS_MAX && SPELLS.test(foldName(textOf(inner['function_name']))); calls++)
    if (nodesOf(inner['children']).length <= most) inner = nodesOf(inner['children'])[0] ?? inner;
  return inner;
}

/** What a query groups its rows by, or makes distinct. */
export function noteGroups(walk: AlikeUses, query: Node, outer: Scope | undefined): void {
  if (query['type'] !== 'SELECT_NODE') return;
  const scope = { select: query, outer };
  const items = nodesOf(query['select_list']);
  const isDistinct = nodesOf(query['modifiers']).some(({ type }) => type === 'DISTINCT_MODIFIER');
  const isAll = isDistinct || query['aggregate_handling'] === 'FORCE_AGGREGATES';
  const counted = items.filter((item) => item['distinct'] === true).flatMap((item) => nodesOf(item['children']));
  const fields = isAll ? items.filter((item) => item['class'] !== 'FUNCTION') : nodesOf(query['group_expressions']);
  const hasStar = items.some((item) => item['class'] === 'STAR');
  const isAnswer = query === walk.outermost && !hasStar && fields.length > 0;
  const shown = isAnswer ? items.map((item) => fieldsShown(walk, item, scope)) : [];
  for (const field of [...fields, ...counted]) {
    const number = constantOf(field);
    const grouped = number === undefined ? field : items[Number(number) - 1];
    for (const origin of grouped === undefined ? [] : spelledIn(walk, grouped, scope)) {
      if (!isText(origin) || walk.groups.length >= FIELDS_MAX || foldName(origin.path[0] ?? '') === ID_COLUMN) continue;
      const at = shown.findIndex((names) => names.includes(origin.written));
      walk.groups.push({ ...origin, column: at < 0 ? undefined : at });
    }
  }
}

/** The fields that an item of SELECT has as they are, or in another spelling, as SQL writes them. */
const fieldsShown = (walk: AlikeUses, item: Node, scope: Scope | undefined) =>
  item['class'] === 'FUNCTION' && withoutSpelling(item) === item
    ? []
    : spelledIn(walk, item, scope).map(({ written }) => written);

/** The fields that an expression is, or the other spelling of. */
function spelledIn({ origins }: AlikeUses, node: Node, scope: Scope | undefined): Omit<TextGroup, 'column'>[] {
  const inner = withoutSpelling(node, 1);
  const spelled = (x: string, one: Node = node): string =>
    one === inner ? x : `${foldName(textOf(one['function_name']))}(${spelled(x, nodesOf(one['children'])[0])})`;
  return originsOf(origins, inner, scope).map((origin) => ({
    ...origin,
    written: spelled(origin.written),
    of: inner === node ? undefined : spelled('v'),
  }));
}
