import { isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { createOrigins, pathText, type Sources, sourcesOf } from './field-origins.ts';
import { nodesWithScope } from './node-scopes.ts';
import { isAccess, type Relations } from './query-columns.ts';

/*
 * NULL that is compared with something, which is never true.
 */

/** `x NOT IN (SELECT y …)`, which holds for nothing once a y is NULL. */
export interface NotIn {
  /** What is selected, as SQL; undefined: it is no field. */
  written: string | undefined;
  sources: Sources;
}

const LOOKS_MAX = 500;
const NOT_INS_MAX = 3;

export function notIns(tree: Node, relations: Relations): NotIn[] {
  const found: NotIn[] = [];
  const origins = createOrigins(relations, LOOKS_MAX);
  for (const [node, outer] of nodesWithScope(tree)) {
    const [query, ...more] = node['type'] === 'OPERATOR_NOT' ? nodesOf(node['children']) : [];
    if (query?.['subquery_type'] !== 'ANY' || more.length > 0 || found.length >= NOT_INS_MAX) continue;
    const select = isNode(query['subquery']) && isNode(query['subquery']['node']) ? query['subquery']['node'] : {};
    const [value] = nodesOf(select['select_list']);
    // Of a list that was given, its author knows.
    const isOfRows = isNode(select['from_table']) && select['from_table']['type'] !== 'EMPTY';
    if (value === undefined || !isOfRows || hasInstead(value) || isRuledOut(value, select)) continue;
    const written = fieldText(value);
    const { fields, isComputed } = sourcesOf(origins, value, { select, outer });
    found.push({ written, sources: { fields, isComputed: isComputed || written === undefined } });
  }
  return found;
}

/** Whether a value has something to be where it would be NULL. */
const hasInstead = (value: Node) => value['type'] === 'OPERATOR_COALESCE';

function isRuledOut(value: Node, select: Node): boolean {
  const name = textsOf(value['column_names']).join('.');
  return [...nodesIn(select['where_clause'])].some(
    (one) =>
      one['type'] === 'OPERATOR_IS_NOT_NULL' &&
      nodesOf(one['children']).some((child) => textsOf(child['column_names']).join('.') === name),
  );
}

/** A column or a path into one, as SQL. */
function fieldText(node: Node): string | undefined {
  return node['class'] === 'COLUMN_REF' || isAccess(node) ? pathText(node, fieldText) : undefined;
}

const isNull = (node: unknown): boolean =>
  isNode(node) &&
  (node['class'] === 'CAST' ? isNull(node['child']) : isNode(node['value']) && node['value']['is_null'] === true);

/** What is to be said of `x = NULL`, `x IN (1, NULL)` and the like. */
export function comparedWithNull(node: Node): string | undefined {
  const type = textOf(node['type']);
  if (type === 'COMPARE_EQUAL' || type === 'COMPARE_NOTEQUAL') {
    const [x, ...more] = nodesOf([node['left'], node['right']]).filter((side) => !isNull(side));
    if (x === undefined || more.length > 0 || x['class'] === 'CONSTANT') return undefined;
    const [sign, is] = type === 'COMPARE_EQUAL' ? ['=', 'IS NULL'] : ['<>', 'IS NOT NULL'];
    return `${sign} NULL is never true: write ${fieldText(x) ?? 'x'} ${is}.`;
  }
  const [x, ...list] = type === 'COMPARE_IN' || type === 'COMPARE_NOT_IN' ? nodesOf(node['children']) : [];
  if (x === undefined || !list.some(isNull)) return undefined;
  const shown = fieldText(x) ?? 'x';
  if (type === 'COMPARE_NOT_IN')
    return `NOT IN (…, NULL) is never true: leave NULL out, and add AND ${shown} IS NOT NULL if that is meant.`;
  // IN (NULL) is how programs write an empty list.
  return list.every(isNull)
    ? undefined
    : `IN (…, NULL) does not find those that are NULL: leave it out, and add OR ${shown} IS NULL if that is meant.`;
}
