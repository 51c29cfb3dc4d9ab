import { conditionIn, conjuncts, hasTwoSides, isInList } from '../sql/conditions.ts';
import { foldName } from '../sql/names.ts';
import { isNode, type Node, nodesOf, subqueryOf, textsOf } from '../sql/tree.ts';
import { isText, type Origin, type Origins, originsOf, pathText, type Sources, sourcesOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { isAccess, nameOf, queryIn, type Relations, relationsIn } from './query-columns.ts';

/*
 * NULL that is compared with something, which is never true, or that is taken for an empty text.
 */

/** `x NOT IN (SELECT y …)`, which holds for nothing once a y is NULL. */
export interface NotIn {
  /** What is selected, as SQL; undefined: it is no field. */
  written: string | undefined;
  sources: Sources;
}

/** A field of text that is asked for having no value, in one of two ways. */
export interface Blank extends Origin {
  /** `IS NULL`; otherwise `= ''`. */
  isNull: boolean;
}

/** What of these is found in a statement. */
export interface NullUses {
  origins: Origins;
  notIns: NotIn[];
  blanks: Blank[];
}

const BLANKS_MAX = 8;

/** `x IS NULL`, and `x = ''`. */
export function noteBlank({ origins, blanks }: NullUses, node: Node, scope: Scope | undefined): void {
  const isNull = node['type'] === 'OPERATOR_IS_NULL';
  const { x, by, others = [] } = conditionIn(node) ?? {};
  const sides = isNull ? nodesOf(node['children']) : by === '=' ? nodesOf([x, ...others]) : [];
  const [field, ...more] = sides.filter((side) => isNull || !isEmptyText(side));
  // Behind an outer join NULL says that there is no match.
  const isOuter = isNull && hasOuterJoin(scope?.select?.['from_table']);
  if (field === undefined || more.length > 0 || (!isNull && sides.length < 2) || isOuter) return;
  if (blanks.length >= BLANKS_MAX || fieldText(field) === undefined) return;
  blanks.push(
    ...originsOf(origins, field, scope)
      .filter(isText)
      .map((origin) => ({ ...origin, isNull })),
  );
}

/** The tree has no value for it. */
function isEmptyText(node: Node): boolean {
  const held = node['class'] === 'CONSTANT' && isNode(node['value']) ? node['value'] : {};
  const isOfText = isNode(held['type']) && held['type']['id'] === 'VARCHAR';
  return isOfText && held['is_null'] !== true && (held['value'] ?? '') === '';
}

const hasOuterJoin = (from: unknown): boolean =>
  isNode(from) &&
  from['type'] === 'JOIN' &&
  (from['join_type'] !== 'INNER' || hasOuterJoin(from['left']) || hasOuterJoin(from['right']));

const NOT_INS_MAX = 3;

export function noteNotIn({ origins, notIns }: NullUses, node: Node, outer: Scope | undefined): void {
  const [query, ...more] = node['type'] === 'OPERATOR_NOT' ? nodesOf(node['children']) : [];
  if (query?.['subquery_type'] !== 'ANY' || more.length > 0 || notIns.length >= NOT_INS_MAX) return;
  const select = subqueryOf(query) ?? {};
  const [value] = nodesOf(select['select_list']);
  // Of a list that was given, its author knows.
  const isOfRows = isNode(select['from_table']) && select['from_table']['type'] !== 'EMPTY';
  if (value === undefined || !isOfRows || hasInstead(value) || isRuledOut(value, select, origins)) return;
  const written = fieldText(value);
  const { fields, isComputed } = sourcesOf(origins, value, { select, outer });
  notIns.push({ written, sources: { fields, isComputed: isComputed || written === undefined } });
}

/** Whether a value has something to be where it would be NULL. */
const hasInstead = (value: Node) => value['type'] === 'OPERATOR_COALESCE';

/** How deeply queries in FROM are looked into. */
const DEPTH_MAX = 10;

/** Whether no row of a SELECT has NULL for a field, by its conditions or by those of the query that it reads. */
function isRuledOut(value: Node, select: Node, relations: Relations, depth = 0): boolean {
  const from = isNode(select['from_table']) ? select['from_table'] : {};
  const names = new Set(relationsIn(from, relations).map(({ name }) => name));
  const asked = nameWithin(value, names);
  if (asked === undefined) return false;
  const joins = innerJoins(from);
  if (joins.some((join) => textsOf(join['using_columns']).some((one) => foldName(one) === asked))) return true;
  const conditions = [select['where_clause'], ...joins.map((join) => join['condition'])].flatMap(conjuncts);
  if (conditions.some((one) => refusesNull(one).some((side) => nameWithin(side, names) === asked))) return true;
  const { query } = queryIn(relations.queries.get(from) ?? (isNode(from['subquery']) ? from['subquery'] : {}));
  const inner = isNode(query) && depth < DEPTH_MAX ? query : {};
  const item = nodesOf(inner['select_list']).find((one) => foldName(nameOf(one)) === asked);
  return item !== undefined && isRuledOut(item, inner, relations, depth + 1);
}

/** What a field is called, folded, without the name of what it is of. */
function nameWithin(node: unknown, relations: ReadonlySet<string>): string | undefined {
  const [first = '', ...rest] = foldName((isNode(node) ? fieldText(node) : undefined) ?? '').split('.');
  return (rest.length > 0 && relations.has(first) ? rest : [first, ...rest]).join('.') || undefined;
}

function innerJoins(from: unknown): Node[] {
  if (!isNode(from) || from['type'] !== 'JOIN' || from['join_type'] !== 'INNER') return [];
  return [from, ...innerJoins(from['left']), ...innerJoins(from['right'])];
}

/** Those parts of a condition that are not NULL where it holds. */
function refusesNull(condition: Node): unknown[] {
  const { x, by, others = [] } = conditionIn(condition) ?? {};
  if (by !== undefined) return by.includes('DISTINCT') ? [] : hasTwoSides(by) ? [x, ...others] : [x];
  if (condition['subquery_type'] === 'ANY') return [condition['child']];
  // Such as LIKE.
  if (condition['is_operator'] === true) return nodesOf(condition['children']);
  return condition['type'] === 'OPERATOR_IS_NOT_NULL' ? nodesOf(condition['children']) : [];
}

/** A column or a path into one, as SQL; undefined: it is something else. */
export function fieldText(node: Node): string | undefined {
  return node['class'] === 'COLUMN_REF' || isAccess(node) ? pathText(node, fieldText) : undefined;
}

/** Whether an expression is NULL itself. */
export const isNull = (node: unknown): boolean =>
  isNode(node) &&
  (node['class'] === 'CAST' ? isNull(node['child']) : isNode(node['value']) && node['value']['is_null'] === true);

/** What is to be said of `x = NULL`, `x IN (1, NULL)` and the like. */
export function comparedWithNull(node: Node): string | undefined {
  const condition = conditionIn(node);
  if (condition === undefined) return undefined;
  const { x: first, by, others } = condition;
  if (by === '=' || by === '<>') {
    const [x, ...more] = [first, ...others].filter((side) => !isNull(side));
    if (x === undefined || more.length > 0 || x['class'] === 'CONSTANT') return undefined;
    return `${by} NULL is never true: write ${fieldText(x) ?? 'x'} ${by === '=' ? 'IS NULL' : 'IS NOT NULL'}.`;
  }
  if (!isInList(by) || !others.some(isNull)) return undefined;
  const shown = fieldText(first) ?? 'x';
  if (by === 'NOT IN')
    return `NOT IN (…, NULL) is never true: leave NULL out, and add AND ${shown} IS NOT NULL if that is meant.`;
  // IN (NULL) is how programs write an empty list.
  return others.every(isNull)
    ? undefined
    : `IN (…, NULL) does not find those that are NULL: leave it out, and add OR ${shown} IS NULL if that is meant.`;
}
