import { isText, type Origin } from '../../gate/field-origins.ts';
import type { EpochUse } from '../../gate/value-uses.ts';
import {
  epochCall,
  mixedCall,
  SECONDS_MAX,
  UNIT_LEAST,
  UNITS_FROM,
  type Unit,
  unitOf,
} from '../../sql/corrections/epochs.ts';
import type { Look } from './look.ts';
import { type Data, fieldSql, ROWS_MAX, rowsOf } from './samples.ts';

/*
 * Whether numbers that a statement takes for time since 1970 are in the unit that its function takes, judging by those of
 * some documents.
 */

const SINCE_1970 = ' since 1970';

export const epochUnits: Look = ({ epochs }, { data }) =>
  epochs.map((use) => ({ kind: 'time', samples: [], said: () => epochSaid(use, data) }));

/** A unit that some numbers are in, with one of them. */
interface UnitSeen {
  unit: Unit;
  example: string;
}

/** What to write for a call, if its numbers are in another unit, or in several. Undefined: it is right, or that is not clear. */
async function epochSaid(use: EpochUse, data: Data): Promise<string | undefined> {
  const { call, taken, written, fields, isApart } = use;
  const units = await unitsOf(fields, taken, data);
  const [first, second] = units;
  if (first === undefined) return daysSaid(use, data);
  const isOfText = fields.some(isText);
  if (second === undefined) {
    const sql = epochCall(first.unit, written, isOfText);
    return first.unit === taken
      ? undefined
      : `${written} is ${first.unit}${SINCE_1970}, such as ${first.example}, and ${call} takes ${taken}: ${sql} is the time.`;
  }
  if (isApart) return undefined;
  const of = units.map(({ unit }) => unit);
  const sql = mixedCall(of, written, isOfText);
  const such = units.map(({ unit, example }) => `${unit} (${example})`).join(' and ');
  return `${written} is partly ${such}${SINCE_1970}, and ${call} takes ${taken}: ${sql} is the time.`;
}

/** What to write for a call whose numbers are days such as 20240105; undefined: they are something else. */
async function daysSaid({ call, taken, written, fields }: EpochUse, data: Data): Promise<string | undefined> {
  const text = 'CAST(v AS VARCHAR)';
  const isDay = `length(${text}) = 8 AND try_strptime(${text}, '%Y%m%d') BETWEEN TIMESTAMP '1900-01-01' AND TIMESTAMP '2100-01-01'`;
  const rows: unknown[][] = [];
  for (const field of fields)
    rows.push(await firstRow(field, data, ['count(*)', `count(*) FILTER (WHERE ${isDay})`, 'min(v)']));
  const example = rows.find(([, , least]) => least != null)?.[2];
  if (example === undefined || rows.some(([all, days]) => all !== days)) return undefined;
  const sql = `strptime(${fields.every(isText) ? written : `CAST(${written} AS VARCHAR)`}, '%Y%m%d')`;
  return `${written} is days, such as ${String(example)}, and ${call} takes ${taken}${SINCE_1970}: ${sql} is the time.`;
}

/** The units of all that feeds a call, larger ones first; empty: none is clear. */
async function unitsOf(fields: readonly Origin[], taken: Unit | undefined, data: Data): Promise<UnitSeen[]> {
  const rows: (readonly unknown[])[] = [];
  for (const field of fields) rows.push((await rightFigures(field, taken, data)) ?? (await figuresOf(field, data)));
  const all = UNITS_FROM.flatMap(([, unit], at) => {
    // `nan` and `inf` are numbers for a cast, and of no unit.
    const example = rows.map((row) => Number(row[at] ?? Number.NaN)).find((number) => Number.isFinite(number));
    return example === undefined ? [] : [{ unit, example: BigInt(Math.trunc(example)).toString() }];
  }).reverse();
  return all.length > 1 && rows.some((row) => Number(row.at(-1)) > 0) ? [] : all;
}

/** The figures of a field of numbers all of which are in one unit, which takes half the time; undefined: they may not be. */
async function rightFigures(field: Origin, taken: Unit | undefined, data: Data): Promise<unknown[] | undefined> {
  if (isText(field)) return undefined;
  const [least, most] = (await firstRow(field, data, ['min(v)', 'max(v)'])).map((one) => Number(one ?? 0));
  if (least === undefined || most === undefined || least < UNIT_LEAST) return undefined;
  const isRight = unitOf(least) === taken && unitOf(most) === taken;
  return isRight ? [...UNITS_FROM.map(([, unit]) => (unit === taken ? least : null)), 0] : undefined;
}

/** The least value of a field in each unit, and how many are in none that is clear. */
function figuresOf(field: Origin, data: Data): Promise<unknown[]> {
  const number = `CAST(${isText(field) ? 'TRY_CAST(v AS DOUBLE)' : 'v'} AS DOUBLE)`;
  const least = UNITS_FROM.map(([at], index) => {
    const below = index === 0 ? '' : ` AND abs(${number}) < ${UNITS_FROM[index - 1]?.[0] ?? 0}`;
    return `min(${number}) FILTER (WHERE abs(${number}) >= ${at}${below})`;
  });
  // Times of the years around 1970 in a smaller unit look like seconds.
  const isUnclear = `abs(${number}) > ${SECONDS_MAX} AND abs(${number}) < ${UNITS_FROM[2]?.[0] ?? 0}`;
  const unclear = `count(*) FILTER (WHERE ${isUnclear} OR ${number} <= -${UNIT_LEAST})`;
  return firstRow(field, data, [...least, unclear]);
}

/** SQL of aggregates over the values `v` of some documents. */
async function firstRow({ path, table }: Origin, data: Data, of: readonly string[]): Promise<unknown[]> {
  const sql = `SELECT ${of.join(', ')} FROM (${fieldSql(path, data.viewOf(table), ROWS_MAX)}) WHERE v IS NOT NULL`;
  return (await rowsOf(data.connection, sql))[0] ?? [];
}
