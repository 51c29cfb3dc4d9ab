import { ANY_KEY, identifier, quotedText } from './infer.ts';
import type { TypePlace } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

/** The column for values that do not fit theirs, which `SELECT *` puts in their places. */
export const STRAYS_COLUMN = '_strays';
const STRAYS_MAX = 10;
/** Different places that are counted. */
const PLACES_MAX = 1_000;
/** Columns with times whose spelling is looked at. */
const TIMED_MAX = 50;
const EXAMPLE_CHARS_MAX = 40;

const DAY = '\\d{4}-\\d\\d-\\d\\d';
const CLOCK = '[T ][\\d:.]+';
/** SQL for the type of the time that a text `t` is, by its look. */
const TIME_TYPE = `CASE WHEN regexp_full_match(t, '${DAY}') THEN 'DATE' WHEN regexp_full_match(t, '${DAY}${CLOCK}') THEN 'TIMESTAMP'
  WHEN regexp_full_match(t, '${DAY}${CLOCK}(Z|[+-][\\d:]+)') THEN 'TIMESTAMP WITH TIME ZONE' END`;

interface Column {
  name?: string | null | undefined;
  type?: string | null | undefined;
}

/** Values that do not fit, by their path. */
export interface StraysOfField {
  path: string;
  values: number;
  example: unknown;
}

/**
 * The paths of values that do not fit, those with the most first. Not those of times that are only spelled otherwise than
 * most of their column.
 */
export async function straysOf(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  columns: readonly Column[],
  places: readonly TypePlace[],
): Promise<StraysOfField[]> {
  const rowsOf = async (query: string) => (await client.runQuery({ sql: { query } }, { signal })).results ?? [];
  // A plain read does not show the column.
  const column = `SELECT true AS has_strays FROM (DESCRIBE ${table}) WHERE column_name = '${STRAYS_COLUMN}' AND column_type = 'JSON'`;
  if ((await rowsOf(column))[0]?.['has_strays'] !== true) return [];
  const pointer = `'/' || replace(replace(p, '~', '~0'), '/', '~1')`;
  const timed = columns.filter(({ type }) => /TIMESTAMP|DATE/.test(type ?? '')).slice(0, TIMED_MAX);
  const isSpelling = timed.map(({ name, type }) => {
    const place = quotedText((name ?? '').replaceAll('~', '~0').replaceAll('/', '~1'));
    return `((p = ${place} OR starts_with(p, ${place} || '/')) AND contains(${quotedText(type ?? '')}, ${TIME_TYPE}))`;
  });
  const query = `SELECT regexp_replace(p, '/[0-9]+\\b', '/[]', 'g') AS place, count(*) AS "values",
       left(any_value(v::VARCHAR), ${EXAMPLE_CHARS_MAX}) AS example
     FROM (SELECT p, json_extract(s, ${pointer}) AS v, (v->>'$') AS t
       FROM (SELECT ${STRAYS_COLUMN} AS s, unnest(json_keys(${STRAYS_COLUMN})) AS p FROM ${table} WHERE ${STRAYS_COLUMN} IS NOT NULL))
     WHERE NOT coalesce(${[...isSpelling, 'false'].join(' OR ')}, false)
     GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${PLACES_MAX}`;
  const known = new Set(places.map(({ path }) => path));
  const found = new Map<string, StraysOfField>();
  for (const { place, values, example } of await rowsOf(query)) {
    const path = pathOf(String(place), known);
    const before = found.get(path);
    found.set(path, { path, values: Number(values) + (before?.values ?? 0), example: before?.example ?? example });
  }
  return [...found.values()].sort((a, b) => b.values - a.values).slice(0, STRAYS_MAX);
}

/** The path of a place, as `typePlaces` spells it. */
function pathOf(place: string, known: ReadonlySet<string>): string {
  const [first = '', ...steps] = place.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce((path, step) => {
    if (known.has(`${path}.${ANY_KEY}`)) return `${path}.${ANY_KEY}`;
    return step === '[]' ? `${path}[]` : `${path}.${identifier(step)}`;
  }, identifier(first));
}
