import { foldName } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { isNull } from './nulls.ts';
import { type Relations, relationsIn } from './query-columns.ts';
import { ofTimeParts } from './time-parts.ts';

/*
 * What is answered without a word, and is another question than is meant.
 */

const WARNINGS_MAX = 3;

/** What is to be said of them. */
export function slips(tree: Node, relations: Relations): string[] {
  const warnings = new Set<string>();
  for (const node of nodesIn(tree)) {
    if (warnings.size >= WARNINGS_MAX) break;
    const said = ofOuter(node, relations) ?? countOfCondition(node) ?? ofTimeParts(node);
    if (said !== undefined) warnings.add(said);
  }
  return [...warnings];
}

/** `x IN (SELECT y FROM t)` where t has no y, and the query around it has. */
function ofOuter(node: Node, relations: Relations): string | undefined {
  if (node['class'] !== 'SUBQUERY' || node['subquery_type'] !== 'ANY') return undefined;
  const select = isNode(node['subquery']) && isNode(node['subquery']['node']) ? node['subquery']['node'] : {};
  const [item, ...others] = nodesOf(select['select_list']);
  const [name = '', ...more] = item?.['class'] === 'COLUMN_REF' ? textsOf(item['column_names']) : [];
  if (name === '' || more.length > 0 || others.length > 0) return undefined;
  const there = relationsIn(select['from_table'], relations);
  const isThere = ({ name: of, columns }: (typeof there)[number]) =>
    foldName(name) === of || (columns?.some((one) => one === '' || foldName(one) === foldName(name)) ?? true);
  if (there.length === 0 || there.some(isThere)) return undefined;
  const y = fieldName(name);
  return `${y} in IN (SELECT ${y} …) is a field of the query around it, since what that SELECT reads has none of this name: IN holds for all that have one. Name a field of it.`;
}

const CONDITIONS: ReadonlySet<string> = new Set(['COMPARISON', 'CONJUNCTION', 'BETWEEN']);
const OPERATORS = /^(?:COMPARE_(?:NOT_)?IN|OPERATOR_(?:IS_(?:NOT_)?NULL|NOT))$/;

/** `count(x = 1)` and `count(CASE WHEN x = 1 THEN 1 ELSE 0 END)`. */
function countOfCondition(node: Node): string | undefined {
  const [of, ...more] = foldName(textOf(node['function_name'])) === 'count' ? nodesOf(node['children']) : [];
  if (of === undefined || more.length > 0 || node['distinct'] === true) return undefined;
  // `x = 1 OR NULL` is NULL where it does not hold.
  if (of['type'] === 'CONJUNCTION_OR' && nodesOf(of['children']).some(isNull)) return undefined;
  const isCondition = CONDITIONS.has(textOf(of['class'])) || OPERATORS.test(textOf(of['type']));
  const results = of['class'] === 'CASE' ? nodesOf(of['case_checks']).map((check) => check['then_expr']) : [];
  const isCase = results.length > 0 && [...results, of['else_expr']].every(isValue);
  if (!isCondition && !isCase) return undefined;
  return `count(${isCase ? 'CASE … ELSE …' : 'condition'}) counts the rows where it does not hold, too: count(*) FILTER (WHERE condition) counts those where it does.`;
}

const isValue = (node: unknown) => isNode(node) && node['class'] === 'CONSTANT' && !isNull(node);
