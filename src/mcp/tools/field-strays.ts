import { holdsTextOf, STRAYS_COLUMN, stepsOf, strayCountsSql, strayRead } from '../../contract/strays.ts';
import { ancestorsOf, identifier, isAnyOf } from './infer.ts';
import type { TypePlace } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

const STRAYS_MAX = 10;
/** Different places that are counted. */
const PLACES_MAX = 1_000;
const EXAMPLE_CHARS_MAX = 40;

/** Values that do not fit, by their path. */
export interface StraysOfField {
  path: string;
  /** SQL that reads them, as text; absent: they have a place each. */
  read?: string;
  values: number;
  example: unknown;
}

/**
 * The wanted paths of values that do not fit, and how many more there are: those with the most first. Not those of times that are only spelled otherwise than
 * most of their column.
 */
export async function straysOf(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  places: readonly TypePlace[],
  isWanted: (path: string) => boolean,
): Promise<{ strays: StraysOfField[]; more: number }> {
  const rowsOf = async (query: string) => (await client.runQuery({ sql: { query } }, { signal })).results ?? [];
  // A plain read does not show the column.
  const column = `SELECT true AS has_strays FROM (DESCRIBE ${table}) WHERE column_name = '${STRAYS_COLUMN}' AND column_type = 'JSON'`;
  if ((await rowsOf(column))[0]?.['has_strays'] !== true) return { strays: [], more: 0 };
  const items = places.filter(({ path }) => path.endsWith('[]') || isAnyOf(path));
  const counts = strayCountsSql(table, { items: items.map(({ place }) => place) });
  const query = `SELECT count(*) OVER () AS "all", place, type, "values", left(example, ${EXAMPLE_CHARS_MAX}) AS example FROM ${counts} ORDER BY 4 DESC, 2 LIMIT ${PLACES_MAX}`;
  const known = new Map(places.map((one) => [one.place, one]));
  const found = new Map<string, StraysOfField>();
  const rows = await rowsOf(query);
  for (const { place, type, values, example } of rows) {
    const at = known.get(String(place));
    if (holdsTextOf(at?.type ?? null, type === null ? null : String(type))) continue;
    const path = at?.path ?? stepsOf(String(place)).map(identifier).join('.');
    if (!isWanted(path)) continue;
    const before = found.get(path);
    const isOne = ![...ancestorsOf(path), path].some((one) => one.endsWith('[]') || isAnyOf(one));
    found.set(path, {
      path,
      ...(isOne ? { read: strayRead(String(place)) } : {}),
      values: Number(values) + (before?.values ?? 0),
      example: before?.example ?? example,
    });
  }
  const strays = [...found.values()].sort((a, b) => b.values - a.values);
  const uncounted = Number(rows[0]?.['all'] ?? 0) - rows.length;
  return { strays: strays.slice(0, STRAYS_MAX), more: Math.max(0, strays.length - STRAYS_MAX) + uncounted };
}
