import type { Blank } from '../../gate/nulls.ts';
import type { Look } from './look.ts';
import { allValuesSql, type Data, rowsOf } from './samples.ts';

/*
 * Documents without a value, that a statement asks for as empty texts where they are NULL, or the other way round.
 */

const FIELDS_MAX = 3;

export const blanks: Look = ({ blanks: all }, { data }) =>
  [...new Map(all.map((one) => [one.written, one])).values()]
    .slice(0, FIELDS_MAX)
    .map((one) => ({ kind: 'null', samples: [], said: () => blankSaid(one, data) }));

async function blankSaid(field: Blank, data: Data): Promise<string | undefined> {
  const { written: x } = field;
  const sql = `SELECT count(*) FILTER (WHERE v = ''), count(*) FILTER (WHERE v IS NULL) FROM (${await allValuesSql(field, data)})`;
  const [counts = []] = await rowsOf(data.connection, sql);
  const [empty = 0, none = 0] = counts.map(Number);
  if (field.isNull)
    return empty === 0
      ? undefined
      : `${x} is '' in ${empty.toLocaleString('en-US')}, which is not NULL: coalesce(${x}, '') = '' has both.`;
  return empty > 0 || none === 0
    ? undefined
    : `${x} is '' nowhere, and NULL in ${none.toLocaleString('en-US')}: ${x} IS NULL has those.`;
}
