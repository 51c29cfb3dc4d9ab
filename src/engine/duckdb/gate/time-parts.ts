import { type Condition, conditionsIn } from '../sql/conditions.ts';
import { formatHere } from '../sql/corrections/format-codes.ts';
import { foldName, quoteText } from '../sql/names.ts';
import { constantOf, constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { pathText } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { castType } from './time-types.ts';

/*
 * Parts of times and their formats that are another thing than is meant: ISO weeks beside calendar years, numbers that no
 * part has, and formats without the engine's codes.
 */

const LAST_DAYS = '2024-12-30 is in week 1 of 2025';
const OF_ISO = `Weeks are ISO weeks, and year(x) is not their year: ${LAST_DAYS}. Beside week(x) use isoyear(x).`;

/** What of one statement may still be asked about each day. */
export interface Weeks {
  left: number;
}

export const WEEKS_MAX = 50;

/** What is to be said of a node. */
export const ofTimeParts = (node: Node, scope: Scope | undefined, weeks: Weeks): string | undefined =>
  (weeks.left > 0
    ? (groupedByWeek(node, weeks) ?? filteredByWeek(node, weeks) ?? yearOfWeekText(node, scope, weeks))
    : undefined) ??
  noCodes(node) ??
  neverSo(node);

/** The part that an expression takes of a time, and that. */
function partIn(node: unknown): { part: string; of: Node } | undefined {
  if (!isNode(node)) return undefined;
  if (node['class'] === 'CAST') return partIn(node['child']);
  const call = foldName(textOf(node['function_name']));
  const [first, second] = nodesOf(node['children']);
  const isNamed = /^date_?part$/.test(call);
  const of = isNamed ? second : first;
  const part = isNamed ? foldName(constantText(first) ?? '') : call;
  return of === undefined || !(part in RANGES) ? undefined : { part, of };
}

/** What a condition compares with what, the constants on the right. */
function comparisonIn(node: Node): Condition | undefined {
  const [own, turned] = conditionsIn(node);
  if (own === undefined || own.by.includes('DISTINCT')) return undefined;
  return turned !== undefined && (constantOf(own.x) ?? dayText(own.x)) !== undefined ? turned : own;
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
  const meant = formatHere('', quoteText(text)) ?? "'%Y-%m-%d'";
  const is = call === 'strftime' ? 'that text in each row' : 'NULL but for that text';
  return `${call}(x, ${quoteText(text)}) is ${is}, since codes begin with %: ${call}(x, ${meant}).`;
}

/** The first text of some arguments. */
const textIn = (children: unknown): string =>
  nodesOf(children)
    .map(constantText)
    .find((one) => one !== undefined) ?? '';

const isWeek = (part: string) => part === 'week' || part === 'weekofyear';

/** Groups by year(x) and week(x). */
function groupedByWeek(select: Node, weeks: Weeks): string | undefined {
  if (select['type'] !== 'SELECT_NODE') return undefined;
  const isGrouped = select['aggregate_handling'] === 'FORCE_AGGREGATES' || select['group_expressions'] !== undefined;
  if (!isGrouped) return undefined;
  const parts = [...nodesOf(select['select_list']), ...nodesOf(select['group_expressions'])].flatMap(
    (item) => partIn(item) ?? [],
  );
  const week = parts.find(({ part }) => isWeek(part));
  const mixed = week && parts.find(({ part, of }) => part === 'year' && isSame(of, week.of));
  return mixed !== undefined && mayBeOfOtherYear(select, mixed.of, weeks) ? OF_ISO : undefined;
}

/** `strftime(x, '%Y-%V')`. */
function yearOfWeekText(node: Node, scope: Scope | undefined, weeks: Weeks): string | undefined {
  if (foldName(textOf(node['function_name'])) !== 'strftime') return undefined;
  const children = nodesOf(node['children']);
  const text = textIn(children);
  if (!text.includes('%V') || !text.includes('%Y') || /%[GmdjbBeFxcD]/.test(text)) return undefined;
  const x = children.find((one) => constantText(one) === undefined);
  if (!mayBeOfOtherYear(scope?.select ?? {}, x, weeks)) return undefined;
  return `%V is the ISO week, and %Y not its year: ${LAST_DAYS}. Write %G instead of %Y.`;
}

/** `year(x) = 2025 AND week(x) = 1`, where a day of another year is in that week, or one of that year is not. */
function filteredByWeek(node: Node, weeks: Weeks): string | undefined {
  if (node['type'] !== 'CONJUNCTION_AND') return undefined;
  const conditions = nodesOf(node['children']).slice(0, CONDITIONS_MAX);
  const parts = conditions.flatMap((one) => partIn(comparisonIn(one)?.x) ?? []);
  const week = parts.find(({ part }) => isWeek(part));
  const years = conditions.filter((one) => {
    const { part, of } = partIn(comparisonIn(one)?.x) ?? {};
    return part === 'year' && isSame(of, week?.of);
  });
  if (years.length === 0) return undefined;
  weeks.left -= 1;
  const holds = holdsFor(conditions, week?.of);
  // The year may be that of a parameter, or of now.
  const isKnown = years.every((one) => comparisonIn(one)?.others.every((other) => constantOf(other) !== undefined));
  const isWrong = (day: Day) => (isKnown ? holds(day) !== holds({ ...day, year: day.isoyear }) : holds(day));
  return BORDER_DAYS.some(isWrong) ? OF_ISO : undefined;
}

/** Whether a WHERE leaves days of a time whose ISO week is of another year. */
function mayBeOfOtherYear({ where_clause: where }: Node, x: unknown, weeks: Weeks): boolean {
  weeks.left -= 1;
  const isAnd = isNode(where) && where['type'] === 'CONJUNCTION_AND';
  return BORDER_DAYS.some(holdsFor(nodesOf(isAnd ? where['children'] : [where]).slice(0, CONDITIONS_MAX), x));
}

const CONDITIONS_MAX = 20;

/** A day, by what it is compared by. */
interface Day {
  text: string;
  year: number;
  isoyear: number;
  quarter: number;
  month: number;
  week: number;
}

const DAY_MS = 86_400_000;
const FIRST_YEAR = 1970;
const YEARS = 130;

/** Days whose ISO week is of another year than they are. */
const BORDER_DAYS: readonly Day[] = Array.from({ length: YEARS }, (_, at) => FIRST_YEAR + at).flatMap((first) =>
  [-3, -2, -1, 0, 1, 2].flatMap((days): Day[] => {
    const at = Date.UTC(first, 0, 1) + days * DAY_MS;
    const date = new Date(at);
    // A week is of the year that its Thursday is in.
    const thursday = at + (4 - (date.getUTCDay() || 7)) * DAY_MS;
    const [year, isoyear] = [date.getUTCFullYear(), new Date(thursday).getUTCFullYear()];
    const month = date.getUTCMonth() + 1;
    const week = Math.floor((thursday - Date.UTC(isoyear, 0, 1)) / (7 * DAY_MS)) + 1;
    const text = date.toISOString().slice(0, 10);
    return year === isoyear ? [] : [{ text, year, isoyear, quarter: Math.ceil(month / 3), month, week }];
  }),
);

/** Whether conditions hold for a day, as far as they are about that day of `x`. */
function holdsFor(conditions: readonly Node[], x: unknown): (day: Day) => boolean {
  const rules = conditions.flatMap((condition) => {
    const { x: asked, by = '', others = [] } = comparisonIn(condition) ?? {};
    const found = partIn(asked);
    const key = found === undefined ? 'text' : isWeek(found.part) ? 'week' : found.part;
    const values = others.flatMap((other) => (found === undefined ? dayText(other) : constantOf(other)) ?? []);
    const isKnown = others.length > 0 && values.length === others.length && isSame(found?.of ?? asked, x);
    return isKnown ? [{ key, by, values }] : [];
  });
  return (day) =>
    rules.every(({ key, by, values }) => {
      const own = Object.hasOwn(day, key) ? day[key as keyof Day] : undefined;
      return (
        own === undefined || values.some((one) => typeof one !== typeof own) || mayHold(own, by, values as Value[])
      );
    });
}

/** The day of a literal. */
function dayText(other: unknown): string | undefined {
  const isTime = isNode(other) && /^(?:DATE|TIMESTAMP)/.test(castType(other['cast_type']));
  const text = constantText(isTime ? other['child'] : other);
  return text !== undefined && /^\d{4}-\d\d-\d\d(?:$|[ T])/.test(text) ? text.slice(0, 10) : undefined;
}

type Value = string | number;

function mayHold(own: Value, by: string, [first = own, last = own, ...more]: readonly Value[]): boolean {
  switch (by) {
    case '=':
      return own === first;
    case '<':
      return own < first;
    case '<=':
      return own <= first;
    // Of a day there are times behind its first moment.
    case '>':
      return own > first || (own === first && typeof own === 'string');
    case '>=':
      return own >= first;
    case 'BETWEEN':
      return own >= first && own <= last;
    case 'IN':
      return [first, last, ...more].includes(own);
    default:
      return true;
  }
}

/** Whether two expressions are the same field, or the same call of it, whatever it is cast to. */
function isSame(one: unknown, other: unknown): boolean {
  const key = keyOf(one, 0);
  return key !== undefined && key === keyOf(other, 0);
}

const KEY_DEPTH_MAX = 4;

function keyOf(node: unknown, depth: number): string | undefined {
  if (!isNode(node) || depth > KEY_DEPTH_MAX) return undefined;
  if (node['class'] === 'CAST') return keyOf(node['child'], depth + 1);
  const constant = constantOf(node);
  if (constant !== undefined) return JSON.stringify(constant);
  if (node['class'] === 'COLUMN_REF') return pathText(node);
  const children = nodesOf(node['children']).slice(0, KEY_DEPTH_MAX);
  const keys = children.map((one) => keyOf(one, depth + 1));
  const name = foldName(textOf(node['function_name']) || textOf(node['type']));
  return keys.length === 0 || keys.includes(undefined) ? undefined : `${name}(${keys.join(', ')})`;
}
