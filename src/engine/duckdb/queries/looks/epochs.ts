import { isText, type Origin } from '../../gate/field-origins.ts';
import type { EpochUse } from '../../gate/value-uses.ts';
import {
  epochCall,
  mixedCall,
  SECONDS_MAX,
  UNIT_LEAST,
  UNITS_FROM,
  type Unit,
  unitTaken,
} from '../../sql/corrections/epochs.ts';
import type { Look } from './look.ts';
import { type Data, fieldSql, ROWS_MAX, rowsOfEach } from './samples.ts';

/*
 * Whether numbers that a statement takes for time since 1970 are in the unit that its function takes, judging by those of
 * some documents.
 */

const SINCE_1970 = ' since 1970';

export const epochUnits: Look = ({ epochs }, { data }) =>
  epochs.map((use) => ({ kind: 'time', samples: [], said: async () => (await epochReading(use, data))?.said }));

/** What makes a time of a field, and why. */
export interface EpochReading {
  sql: string;
  said: string;
}

/** A unit that some numbers are in, with one of them. */
interface UnitSeen {
  unit: Unit;
  example: string;
}

/** What to write for a call, if its numbers are in another unit, or in several. Undefined: it is right, or that is not clear. */
export async function epochReading(use: EpochUse, data: Data): Promise<EpochReading | undefined> {
  const { call, written, fields, isApart } = use;
  const taken = unitTaken(call);
  const units = await unitsOf(fields, data);
  const [first, second] = units;
  if (first === undefined || taken === undefined) return undefined;
  const isOfText = fields.some(isText);
  if (second === undefined) {
    if (first.unit === taken) return undefined;
    const sql = epochCall(first.unit, written, isOfText);
    const said = `${written} is ${first.unit}${SINCE_1970}, such as ${first.example}, and ${call} takes ${taken}: ${sql} is the time.`;
    return { sql, said };
  }
  if (isApart) return undefined;
  const of = units.map(({ unit }) => unit);
  const sql = mixedCall(of, written, isOfText);
  const such = units.map(({ unit, example }) => `${unit} (${example})`).join(' and ');
  return { sql, said: `${written} is partly ${such}${SINCE_1970}, and ${call} takes ${taken}: ${sql} is the time.` };
}

/** The units of all that feeds a call, larger ones first; empty: none is clear. */
async function unitsOf(fields: readonly Origin[], data: Data): Promise<UnitSeen[]> {
  const selects = fields.map((field) => {
    const from = fieldSql(field.path, data.viewOf(field.table), ROWS_MAX);
    return `SELECT ${figuresOf(field).join(', ')} FROM (${from}) WHERE v IS NOT NULL`;
  });
  const rows = (await rowsOfEach(data.connection, selects)).flat();
  const all = UNITS_FROM.flatMap(([, unit], at) => {
    // `nan` and `inf` are numbers for a cast, and of no unit.
    const example = rows.map((row) => Number(row[at] ?? Number.NaN)).find((number) => Number.isFinite(number));
    return example === undefined ? [] : [{ unit, example: BigInt(Math.trunc(example)).toString() }];
  }).reverse();
  return all.length > 1 && rows.some((row) => Number(row.at(-1)) > 0) ? [] : all;
}

/** SQL for the least value `v` in each unit, and for how many are in none that is clear. */
function figuresOf(field: Origin): string[] {
  const number = `CAST(${isText(field) ? 'TRY_CAST(v AS DOUBLE)' : 'v'} AS DOUBLE)`;
  const least = UNITS_FROM.map(([at], index) => {
    const below = index === 0 ? '' : ` AND abs(${number}) < ${UNITS_FROM[index - 1]?.[0] ?? 0}`;
    return `min(${number}) FILTER (WHERE abs(${number}) >= ${at}${below})`;
  });
  // Times of the years around 1970 in a smaller unit look like seconds.
  const isUnclear = `abs(${number}) > ${SECONDS_MAX} AND abs(${number}) < ${UNITS_FROM[2]?.[0] ?? 0}`;
  return [...least, `count(*) FILTER (WHERE ${isUnclear} OR ${number} <= -${UNIT_LEAST})`];
}
