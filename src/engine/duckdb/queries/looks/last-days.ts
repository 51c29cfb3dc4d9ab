import { isText } from '../../gate/field-origins.ts';
import type { LastDay } from '../../gate/last-days.ts';
import { quoteText } from '../../sql/names.ts';
import { type Look, otherText } from './look.ts';
import { type Data, fieldSql, rowsOf, type SeenText } from './samples.ts';

/*
 * Times of a last day that is meant as a whole, and of which only midnight is taken.
 */

/** Documents that are looked at. */
const ROWS_MAX = 200_000;
const A_DAY = /^\d{4}-\d\d-\d\d$/;
const A_MOMENT = /^\d{4}-\d\d-\d\d[T ]\d/;

export const restsOfDays: Look = ({ lastDays }, { values, data }) =>
  lastDays.flatMap((one) => {
    const day = otherText(one.most, values);
    const next = day !== undefined && A_DAY.test(day) ? dayAfter(day) : undefined;
    if (day === undefined || next === undefined) return [];
    const said = `${one.written} up to '${day}' ends at its first moment, and leaves out the rest of that day: ${one.written} < '${next}' has all of it.`;
    // Texts that are days, as the first ones tell, are not looked through.
    const samples = isText(one) ? [{ field: one, types: [] }] : [];
    const mayRest = (texts: readonly SeenText[] | undefined) => texts?.some(({ text }) => A_MOMENT.test(text)) ?? true;
    return [
      {
        kind: 'time',
        samples,
        said: async ([texts]) => (mayRest(texts) && (await hasRest(one, day, next, data)) ? said : undefined),
      },
    ];
  });

async function hasRest({ table, path, ...field }: LastDay, day: string, next: string, data: Data): Promise<boolean> {
  const type = isText(field) ? 'VARCHAR' : field.type;
  const [from, to] = [day, next].map((text) => `CAST(${quoteText(text)} AS ${type})`);
  const isTime = isText(field) ? `regexp_matches(v[11:12], '^[T ]\\d')` : 'true';
  const values = fieldSql(path, data.viewOf(table), ROWS_MAX);
  const sql = `SELECT 1 FROM (${values}) WHERE v > ${from} AND v < ${to} AND ${isTime} LIMIT 1`;
  return (await rowsOf(data.connection, sql)).length > 0;
}

function dayAfter(day: string): string | undefined {
  const time = Date.parse(`${day}T00:00:00Z`) + 86_400_000;
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 10);
}
