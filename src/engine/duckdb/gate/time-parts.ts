import { type Condition, conditionsIn, conjuncts } from '../sql/conditions.ts';
import { foldName, quoteText } from '../sql/names.ts';
import { constantOf, constantText, isNode, isSameTree, type Node, nodesOf, textOf } from '../sql/tree.ts';

/*
 * Parts of times and their formats that are another thing than is meant: ISO weeks beside calendar years, numbers that no
 * part has, and formats without the engine's codes.
 */

const LAST_DAYS = '2024-12-30 is in week 1 of 2025';
const OF_ISO = `Weeks are ISO weeks, and year(x) is not their year: ${LAST_DAYS}. Beside week(x) use isoyear(x).`;

/** What is to be said of a node. */
export const ofTimeParts = (node: Node): string | undefined =>
  groupedByWeek(node) ?? filteredByWeek(node) ?? yearOfWeekText(node) ?? noCodes(node) ?? neverSo(node);

/** The part that an expression takes of a time, and that. */
function partIn(node: unknown): { part: string; of: Node } | undefined {
  if (!isNode(node)) return undefined;
  if (node['class'] === 'CAST') return partIn(node['child']);
  const call = foldName(textOf(node['function_name']));
  const [first, second] = nodesOf(node['children']);
  const isNamed = /^date_?part$/.test(call);
  const of = isNamed ? second : first;
  const part = isNamed ? foldName(constantText(first) ?? '') : call;
  return of === undefined || !(part in RANGES) ? undefined : { part, of: uncast(of) };
}

/** A time is the same day whatever it is cast to. */
function uncast(node: Node): Node {
  return node['class'] === 'CAST' && isNode(node['child']) ? uncast(node['child']) : node;
}

/** What a condition compares with what, the constants on the right. */
function comparisonIn(node: Node): Condition | undefined {
  const [own, turned] = conditionsIn(node);
  if (own === undefined || own.by.includes('DISTINCT')) return undefined;
  return turned !== undefined && constantOf(own.x) !== undefined ? turned : own;
}

/** The least and the greatest number of each part; years have none. */
const RANGES: Readonly<Record<string, readonly [number, number] | undefined>> = {
  year: undefined,
  isoyear: undefined,
  quarter: [1, 4],
  month: [1, 12],
  week: [1, 53],
  weekofyear: [1, 53],
  day: [1, 31],
  dayofmonth: [1, 31],
  dayofyear: [1, 366],
  doy: [1, 366],
  dow: [0, 6],
  dayofweek: [0, 6],
  weekday: [0, 6],
  isodow: [1, 7],
  hour: [0, 23],
  minute: [0, 59],
  second: [0, 59],
};

/** `dayofweek(x) = 7`, `hour(x) IN (22, 23, 24)`. */
function neverSo(node: Node): string | undefined {
  const { x, by = '', others = [] } = comparisonIn(node) ?? {};
  const isDayAfter = x !== undefined && x['function_name'] === '+' && constantOf(nodesOf(x['children'])[1]) === 1;
  // EXTRACT(DAYOFWEEK …) counts from 1 here.
  const found = partIn(isDayAfter ? nodesOf(x['children'])[0] : x);
  const range = found && RANGES[found.part];
  if (found === undefined || range === undefined || (isDayAfter && found.part !== 'dayofweek')) return undefined;
  const isOfWeek = range[1] === 6;
  if (!/^(?:=|<>|(?:NOT )?IN)$/.test(by) && !(by === 'BETWEEN' && isOfWeek)) return undefined;
  const [least, most] = isDayAfter ? [1, 7] : range;
  const never = others
    .map(constantOf)
    .find((n) => typeof n === 'number' && Number.isInteger(n) && (n < least || n > most));
  if (never === undefined) return undefined;
  const days = isDayAfter
    ? `${least} (Sunday) to ${most}`
    : `${least} (Sunday) to ${most}, and isodow(x) 1 (Monday) to 7`;
  const all = isOfWeek ? days : found.part === 'isodow' ? '1 (Monday) to 7 (Sunday)' : `${least} to ${most}`;
  return `${found.part}(x) is never ${String(never)}: it is ${all}.`;
}

/** `strftime(x, 'YYYY-MM')`. */
function noCodes(node: Node): string | undefined {
  const call = foldName(textOf(node['function_name']));
  if (call !== 'strftime' && call !== 'try_strptime') return undefined;
  const text = textIn(call === 'strftime' ? node['children'] : nodesOf(node['children']).slice(1));
  if (text.trim() === '' || text.includes('%')) return undefined;
  const is = call === 'strftime' ? 'that text in each row' : 'NULL but for that text';
  return `${call}(x, ${quoteText(text)}) is ${is}, since codes begin with %: ${call}(x, '%Y-%m-%d %H:%M:%S').`;
}

/** The first text of some arguments. */
const textIn = (children: unknown): string =>
  nodesOf(children)
    .map(constantText)
    .find((one) => one !== undefined) ?? '';

const isWeek = (part: string) => part === 'week' || part === 'weekofyear';

/** Groups by year(x) and week(x). */
function groupedByWeek(select: Node): string | undefined {
  if (select['type'] !== 'SELECT_NODE') return undefined;
  const isGrouped = select['aggregate_handling'] === 'FORCE_AGGREGATES' || select['group_expressions'] !== undefined;
  if (!isGrouped) return undefined;
  const parts = [...nodesOf(select['select_list']), ...nodesOf(select['group_expressions'])].flatMap(
    (item) => partIn(item) ?? [],
  );
  const week = parts.find(({ part }) => isWeek(part));
  const isMixed = week !== undefined && parts.some(({ part, of }) => part === 'year' && isSameTree(of, week.of));
  return isMixed && !isInsideYear(select['where_clause'], week.of) ? OF_ISO : undefined;
}

/** Whether a WHERE leaves of a time only days whose ISO week is of their year: of February to November, or between two days. */
function isInsideYear(where: unknown, time: Node): boolean {
  let [from, to] = ['', ''];
  for (const condition of conjuncts(where)) {
    const { x, by = '', others = [] } = comparisonIn(condition) ?? {};
    const found = partIn(x);
    if (found?.part === 'month' && isSameTree(found.of, time) && isWithin(by, others.map(constantOf), 1, 12))
      return true;
    if (x === undefined || !isSameTree(uncast(x), time)) continue;
    const [first = '', last = first] = others.map(dayOf);
    if (by.startsWith('>') || by === 'BETWEEN') from = first;
    if (by.startsWith('<') || by === 'BETWEEN') to = last;
  }
  return from !== '' && from.slice(0, 4) === to.slice(0, 4) && from.slice(5) > '01-03' && to.slice(5) < '12-29';
}

/** The day that a constant begins with; empty: it is none. */
function dayOf(constant: Node): string {
  const text = constantText(uncast(constant)) ?? '';
  return /^\d{4}-\d\d-\d\d/.test(text) ? text.slice(0, 10) : '';
}

/** Whether a condition leaves nothing but numbers between these two. */
function isWithin(by: string, numbers: readonly unknown[], least: number, most: number): boolean {
  return /^(?:=|IN|BETWEEN)$/.test(by) && numbers.every((one) => typeof one === 'number' && one > least && one < most);
}

/** `strftime(x, '%Y-%V')`. */
function yearOfWeekText(node: Node): string | undefined {
  if (foldName(textOf(node['function_name'])) !== 'strftime') return undefined;
  const text = textIn(node['children']);
  if (!text.includes('%V') || !text.includes('%Y') || /%[GmdjbBeFxcD]/.test(text)) return undefined;
  return `%V is the ISO week, and %Y not its year: ${LAST_DAYS}. Write %G instead of %Y.`;
}

/** `year(x) = 2025 AND week(x) = 1`: days of another year are in that week, or one of that year is not. */
function filteredByWeek(node: Node): string | undefined {
  if (node['type'] !== 'CONJUNCTION_AND') return undefined;
  const parts = nodesOf(node['children']).flatMap((condition) => {
    const { x, by = '', others = [] } = comparisonIn(condition) ?? {};
    const found = partIn(x);
    return found === undefined ? [] : [{ ...found, by, numbers: others.map(constantOf) }];
  });
  const weeks = parts.filter(({ part }) => isWeek(part));
  const [week] = weeks;
  if (week === undefined || !parts.some(({ part, of }) => part === 'year' && isSameTree(of, week.of))) return undefined;
  const bounds = (sign: string) =>
    weeks.filter(({ by }) => by.startsWith(sign)).map(({ numbers }) => Number(numbers[0]));
  // The weeks between the first and the last two are all of one year.
  const isInside =
    weeks.some(({ by, numbers }) => isWithin(by, numbers, 1, 52)) ||
    (bounds('>').some((one) => one > 1) && bounds('<').some((one) => one < 52));
  return isInside ? undefined : OF_ISO;
}
