import { resume } from '../connections/sessions.ts';
import { isText } from '../gate/field-origins.ts';
import type { EpochUse } from '../gate/text-orders.ts';
import {
  epochCall,
  mixedCall,
  SECONDS_MAX,
  UNITS_FROM,
  type Unit,
  unitOf,
  unitTaken,
} from '../sql/corrections/epochs.ts';
import { type Data, fieldSql, ROWS_MAX } from './text-values.ts';

/*
 * Whether numbers that a statement takes for time since 1970 are in the unit that its function takes, judging by those of
 * some documents.
 */

export const SINCE_1970 = ' since 1970';

/** Of smaller numbers no unit can be told. */
const EPOCH_LEAST = 1e8;

/** What makes a time of a field, and why. */
export interface EpochReading {
  sql: string;
  said: string;
}

/** What to write for a call, if its numbers are in another unit, or in several. Undefined: it is right, or that is not clear. */
export async function epochReading(use: EpochUse, data: Data): Promise<EpochReading | undefined> {
  const { call, written, isApart } = use;
  const taken = unitTaken(call);
  // Where all are as they should be, nothing else is asked.
  const [least = 0, most = 0] = (await firstRow(use, data, ['min(v)', 'max(v)'])).map(Number);
  if (!isText(use) && least >= EPOCH_LEAST && unitOf(least) === taken && unitOf(most) === taken) return undefined;
  const units = await unitsOf(use, data);
  const [first, second] = units;
  if (first === undefined || taken === undefined) return undefined;
  if (second === undefined) {
    if (first.unit === taken) return undefined;
    const sql = epochCall(first.unit, written, isText(use));
    const said = `${written} is ${first.unit}${SINCE_1970}, such as ${first.example}, and ${call} takes ${taken}: ${sql} is the time.`;
    return { sql, said };
  }
  if (isApart) return undefined;
  const of = units.map(({ unit }) => unit);
  const sql = mixedCall(of, written, isText(use));
  const such = units.map(({ unit, example }) => `${unit} (${example})`).join(' and ');
  return { sql, said: `${written} is partly ${such}${SINCE_1970}, and ${call} takes ${taken}: ${sql} is the time.` };
}

async function unitsOf(field: EpochUse, data: Data): Promise<{ unit: Unit; example: string }[]> {
  const number = isText(field) ? 'TRY_CAST(v AS DOUBLE)' : 'v';
  const least = UNITS_FROM.map(([at], index) => {
    const below = index === 0 ? '' : ` AND abs(${number}) < ${UNITS_FROM[index - 1]?.[0] ?? 0}`;
    return `min(${number}) FILTER (WHERE abs(${number}) >= ${at}${below})`;
  });
  // Times of the years around 1970 in a smaller unit look like seconds.
  const isUnclear = `abs(${number}) > ${SECONDS_MAX} AND abs(${number}) < ${UNITS_FROM[2]?.[0] ?? 0}`;
  const unclear = `count(*) FILTER (WHERE ${isUnclear} OR ${number} <= -${EPOCH_LEAST})`;
  const row = await firstRow(field, data, [...least, unclear]);
  const units = UNITS_FROM.flatMap(([, unit], at) => {
    const example = row[at];
    if (example === null || example === undefined) return [];
    return [{ unit, example: BigInt(Math.trunc(Number(example))).toString() }];
  }).reverse();
  return units.length > 1 && Number(row.at(-1)) > 0 ? [] : units;
}

/** SQL of aggregates over the values `v` of some documents. */
async function firstRow({ path, table }: EpochUse, data: Data, of: readonly string[]): Promise<readonly unknown[]> {
  const sql = `SELECT ${of.join(', ')} FROM (${fieldSql(path, data.viewOf(table), ROWS_MAX)}) WHERE v IS NOT NULL`;
  try {
    return (await data.connection.runAndReadAll(sql)).getRows()[0] ?? [];
  } catch {
    // It only serves a hint.
    await resume(data.connection);
    return [];
  }
}
