import { foldName } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { constantText, isNode, type Node, nodesIn, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { type Relations, relationsIn } from './query-columns.ts';

/*
 * What is answered without a word, and is another question than is meant.
 */

const WARNINGS_MAX = 3;

/** What is to be said of them. */
export function slips(tree: Node, relations: Relations): string[] {
  const warnings = new Set<string>();
  for (const node of nodesIn(tree)) {
    if (warnings.size >= WARNINGS_MAX) break;
    const said = ofOuter(node, relations) ?? countOfCondition(node) ?? yearOfWeek(node) ?? yearOfWeekText(node);
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
    columns === undefined || foldName(name) === of || columns.some((one) => foldName(one) === foldName(name));
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
  // `count(x = 1 OR NULL)`, as which COUNT_IF is read, counts those where it holds.
  const isNullElse = of['type'] === 'CONJUNCTION_OR' && nodesOf(of['children']).some(isNull);
  const isCondition = !isNullElse && (CONDITIONS.has(textOf(of['class'])) || OPERATORS.test(textOf(of['type'])));
  const results = of['class'] === 'CASE' ? nodesOf(of['case_checks']).map((check) => check['then_expr']) : [];
  const isCase = results.length > 0 && [...results, of['else_expr']].every(isValue);
  if (!isCondition && !isCase) return undefined;
  return `count(${isCase ? 'CASE … ELSE …' : 'condition'}) counts the rows where it does not hold, too: count(*) FILTER (WHERE condition) counts those where it does.`;
}

const isConstant = (node: unknown, isNullWanted: boolean) =>
  isNode(node) &&
  node['class'] === 'CONSTANT' &&
  isNode(node['value']) &&
  (node['value']['is_null'] === true) === isNullWanted;
const isNull = (node: unknown) => isConstant(node, true);
const isValue = (node: unknown) => isConstant(node, false);

const WEEKS = /^week(?:ofyear)?$/;
const LAST_DAYS = '2024-12-30 is in week 1 of 2025';

/** Groups by year(x) and week(x). */
function yearOfWeek(select: Node): string | undefined {
  if (select['type'] !== 'SELECT_NODE') return undefined;
  const isGrouped = select['aggregate_handling'] === 'FORCE_AGGREGATES' || select['group_expressions'] !== undefined;
  if (!isGrouped) return undefined;
  const parts = new Map<string, Set<string>>();
  for (const item of [...nodesOf(select['select_list']), ...nodesOf(select['group_expressions'])]) {
    const [part, of] = partIn(item);
    if (of === undefined || !(part === 'year' || WEEKS.test(part))) continue;
    const text = JSON.stringify(of, (key, value: unknown) =>
      key === 'query_location' || key === 'alias' ? undefined : value,
    );
    const known = parts.get(text) ?? new Set();
    parts.set(text, known.add(part));
  }
  const isMixed = [...parts.values()].some((names) => names.has('year') && names.size > 1);
  return isMixed
    ? `Weeks are ISO weeks, and year(x) is not their year: ${LAST_DAYS}. Beside week(x) use isoyear(x).`
    : undefined;
}

/** The part that an item takes of a time, and that. */
function partIn(item: Node): [part: string, of?: Node] {
  const call = foldName(textOf(item['function_name']));
  const [first, second] = nodesOf(item['children']);
  if (!/^date_?part$/.test(call)) return first === undefined ? [call] : [call, first];
  return second === undefined ? [call] : [foldName(constantText(first) ?? ''), second];
}

/** `strftime(x, '%Y-%V')`. */
function yearOfWeekText(node: Node): string | undefined {
  const format =
    foldName(textOf(node['function_name'])) === 'strftime' ? nodesOf(node['children']).map(constantText) : [];
  const text = format.find((one) => one !== undefined) ?? '';
  if (!text.includes('%V') || !text.includes('%Y') || /%[GmdjbBeFxcD]/.test(text)) return undefined;
  return `%V is the ISO week, and %Y not its year: ${LAST_DAYS}. Write %G instead of %Y.`;
}
