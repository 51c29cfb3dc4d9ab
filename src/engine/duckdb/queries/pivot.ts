import { ApiError } from '../../../contract/errors.ts';
import type { JsonValue } from '../../../contract/json/json.ts';
import { isMark, wordOf } from '../sql/forms/edit.ts';
import { quoteText } from '../sql/names.ts';
import { PIVOT_UNLISTED } from '../sql/syntax-hints.ts';
import { tokenList } from '../sql/token-list.ts';
import { isOfSql, type Way, withoutPlace } from './again.ts';

/** Ours, and the engine's if there are parameters. */
const UNLISTED = new RegExp(`^(?:${PIVOT_UNLISTED}|PIVOT statements with pivot elements extracted from the data)`);

/** Columns that a PIVOT makes by itself. */
const VALUES_MAX = 200;

/**
 * The way of a PIVOT that does not list its values: with those that there are. The engine finds them itself, but in a second
 * statement, which the gate does not see. `valuesOf` runs a query and gives its first column.
 */
export function pivotValues(valuesOf: (sql: string) => Promise<JsonValue[]>): Way {
  return {
    isFor: ({ error, sql }) => isOfSql(error) && UNLISTED.test(error.message) && pivotIn(sql) !== undefined,
    async next({ sql }) {
      const pivot = pivotIn(sql);
      if (pivot === undefined) return null;
      const { before, source, column, at } = pivot;
      const query = `${before} SELECT DISTINCT CAST((${column}) AS VARCHAR) FROM ${source} WHERE (${column}) IS NOT NULL ORDER BY 1 LIMIT ${VALUES_MAX + 1}`;
      const values = await valuesOf(query).catch((error: Error) => {
        throw withoutPlace(error);
      });
      if (values.length === 0) throw new ApiError('query_error', `There is no value of ${column} to make a column of.`);
      const list = values.map((value) => quoteText(String(value)));
      if (values.length > VALUES_MAX) {
        throw new ApiError(
          'query_error',
          `PIVOT would make more than ${VALUES_MAX} columns of ${column}. List those that are wanted: ON ${column} IN (${list.slice(0, 2).join(', ')}).`,
        );
      }
      const listed = `${sql.slice(0, at)} IN (${list.join(', ')}) ${sql.slice(at)}`;
      return { sql: listed, second: new Set(), statement: undefined, errors: [] };
    },
  };
}

/** The parts of `… PIVOT source ON column …`, in no brackets, and where the list of values belongs, in UTF-16 units. */
function pivotIn(sql: string): { before: string; source: string; column: string; at: number } | undefined {
  const list = tokenList(sql);
  const find = (from: number, words: RegExp): number => {
    let at = from;
    while (at < list.length && !words.test(wordOf(list[at])) && !isMark(list[at], ';')) at = list.closeOf(at) + 1;
    return at;
  };
  const pivot = find(0, /^pivot(?:_wider)?$/);
  const on = find(pivot + 1, /^on$/);
  const end = find(on + 1, /^(?:using|group|order|limit|in)$/);
  const [first, last] = [list[on + 1], list[end - 1]];
  const isMany = list
    .slice(on + 1, end)
    .some((token, index) => isMark(token, ',') && isOutside(list, on + 1, on + 1 + index));
  if (list[on] === undefined || first === undefined || last === undefined || isMany || wordOf(list[end]) === 'in')
    return undefined;
  return {
    before: sql.slice(0, list[pivot]?.start),
    source: sql.slice(list[pivot]?.end, list[on]?.start),
    column: sql.slice(first.start, last.end),
    at: last.end,
  };
}

/** Whether a token is in no bracket that opens from `from` on. */
function isOutside(list: ReturnType<typeof tokenList>, from: number, index: number): boolean {
  let at = from;
  while (at < index) at = list.closeOf(at) + 1;
  return at === index;
}
