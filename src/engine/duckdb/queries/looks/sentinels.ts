import type { Bound, Measure } from '../../gate/measures.ts';
import type { TextField } from '../../gate/value-uses.ts';
import { quoteText } from '../../sql/names.ts';
import { rowsWithoutTries } from '../../sql/own-rows.ts';
import { isNumberType } from '../../sql/type-kinds.ts';
import type { Look } from './look.ts';
import { allValuesSql, type Data, rowsOf } from './samples.ts';

/*
 * Numbers and days that stand for none, such as -999 and 9999-12-31, and that sums, averages and extremes take for values.
 */

const NUMBERS: ReadonlySet<number> = new Set([-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999]);
const DAYS = /^(9999-12-31|2999-12-31|1900-01-01|1899-12-30|1970-01-01|0001-01-01)(?: 00:00:00(?:\+00)?)?$/;
/** A number that occurs once may be an outlier. */
const COUNT_MIN = 2;
/** How many times as far as the others are from one another it is: above them are more values that are meant. */
const FAR = { below: 1, above: 2 };
/** Different others: of fewer nothing says how far is far. */
const OTHERS_MIN = 3;
/** Nines above the others end many prices and limits: such a number is this many times any of several whole others. */
const NINES = { times: 5, othersMin: 5 };
const IS_MONEY =
  /price|cost|fee|amount|amt|budget|salary|wage|mrr|arr|deposit|revenue|value|balance|limit|preis|betrag|kosten/i;

export const sentinels: Look = ({ measures }, { data, ran }) => {
  // Those that WHERE leaves out are not aggregated.
  const from = measures.length > 0 ? rowsWithoutTries(ran) : undefined;
  return measures.map((one) => ({ kind: 'sentinel', samples: [], said: () => sentinelSaid({ ...one, from }, data) }));
};

async function sentinelSaid(field: Measure & Pick<TextField, 'from'>, data: Data): Promise<string | undefined> {
  const from = await allValuesSql(field, data);
  const ends = `SELECT CAST(min(v) AS VARCHAR), CAST(max(v) AS VARCHAR) FROM (${from})`;
  const [found = []] = await rowsOf(data.connection, ends);
  const [least, most] = found.map((text) => sentinelIn(field, String(text)));
  const all = [...new Set([least, most])].flatMap((one) => one ?? []);
  if (all.length === 0) return undefined;
  const isNumber = isNumberType(field.type);
  const literals = all.map((one) => (isNumber ? one : quoteText(one)));
  const number = isNumber ? 'CAST(v AS DOUBLE)' : 'CAST(epoch(v) AS DOUBLE)';
  const others = `v NOT IN (${literals.join(', ')})`;
  const seen = [
    `CAST(min(v) FILTER (WHERE ${others}) AS VARCHAR)`,
    `CAST(max(v) FILTER (WHERE ${others}) AS VARCHAR)`,
    `min(${number}) FILTER (WHERE ${others})`,
    `max(${number}) FILTER (WHERE ${others})`,
    `min(${number})`,
    `max(${number})`,
    `approx_count_distinct(v) FILTER (WHERE ${others})`,
    isNumber ? `count(*) FILTER (WHERE ${number} <> trunc(${number}))` : '0',
    ...literals.map((one) => `count(*) FILTER (WHERE v = ${one})`),
  ];
  const [[low, high, ...numbers] = []] = await rowsOf(data.connection, `SELECT ${seen.join(', ')} FROM (${from})`);
  const [first = 0, last = 0, start = 0, end = 0, different = 0, broken = 0, ...counts] = numbers.map(Number);
  if (different < OTHERS_MIN && isNumber) return undefined;
  const range = last - first;
  const mayBeNines = broken === 0 && different >= NINES.othersMin && !IS_MONEY.test(field.written);
  const odd = all.filter((one, at) => {
    const isFar = one === least ? first - start > FAR.below * range : end - last > FAR.above * range;
    const isNines = isNumber && Number(one) > 0;
    // Beside another one below it is one, too.
    const isOne = (least?.startsWith('-') ?? false) || (mayBeNines && end >= NINES.times * last);
    if (isNines && !isOne) return false;
    return (counts[at] ?? 0) >= COUNT_MIN && isFar && (one !== '-1' || (first >= 0 && broken === 0));
  });
  if (odd.length === 0 || !odd.every((one) => mayBe(one, field.bounds))) return undefined;
  const shown = odd
    .map((one) => `${one} (${(counts[all.indexOf(one)] ?? 0).toLocaleString('en-US')} times)`)
    .join(' and ');
  const sql = odd.reduce((x, one) => `nullif(${x}, ${isNumber ? one : quoteText(one)})`, field.written);
  return `${field.written} has ${shown} far from all its other values (${String(low)} to ${String(high)}), as what stands for no value often is: then ${sql} leaves it out.`;
}

/** The usual sentinel that a value is, as SQL writes it. */
function sentinelIn({ type }: Measure, text: string): string | undefined {
  if (!isNumberType(type)) return DAYS.exec(text)?.[1];
  return NUMBERS.has(Number(text)) ? String(Number(text)) : undefined;
}

/** Whether a statement neither leaves a value out nor names it. */
const mayBe = (text: string, bounds: readonly Bound[]) =>
  bounds.every(({ by, values = [] }) => {
    const [first, last] = values;
    if (first === undefined) return false;
    const value = typeof first === 'number' ? Number(text) : text;
    switch (by) {
      case '<':
        return value < first;
      case '<=':
        return value <= first;
      case '>':
        return value > first;
      case '>=':
        return value >= first;
      case 'BETWEEN':
        return last !== undefined && value >= first && value <= last;
      case '<>':
      case 'NOT IN':
        return !values.includes(value);
      default:
        return false;
    }
  });
