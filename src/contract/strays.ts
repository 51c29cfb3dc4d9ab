/*
 * A value that does not fit the type of its column, or of its place within one, is a stray: it lies in the column
 * `_strays`, a JSON object, by its place. A place is a JSON pointer without the first slash: `n`, `user/zip`, `tags/3`.
 */

/** Column of the values that do not fit theirs, if there are any. */
export const STRAYS_COLUMN = '_strays';

export function placeOf(steps: readonly string[]): string {
  return steps.map(escaped).join('/');
}

export function stepsOf(place: string): string[] {
  return place.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function escaped(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** SQL for the stray at a place, as text. */
export function strayRead(place: string): string {
  // What is no plain key has to be written as a pointer.
  const key = /^[$/]|["\\]/.test(place) ? `/${escaped(place)}` : place;
  return `(${STRAYS_COLUMN}->>'${key.replaceAll("'", "''")}')`;
}

/** A text as a regular expression of SQL. */
export function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/**
 * SQL for the strays in the rows of a table that meet `condition`: their place `p`, `v`, JSON, and `t`, if it is text. It takes time in
 * proportion to their number; to extract each by its place would take its square.
 */
export function straysSql(table: string, condition = 'true'): string {
  return `(SELECT p, v, CASE WHEN starts_with(CAST(v AS VARCHAR), '"') THEN v->>'$' END AS t FROM (
    SELECT e.key AS p, e.value AS v FROM (
    SELECT unnest(map_entries(TRY_CAST("${STRAYS_COLUMN}" AS MAP(VARCHAR, JSON)))) AS e
    FROM ${table} WHERE "${STRAYS_COLUMN}" IS NOT NULL AND ${condition})))`;
}

/** Lists and maps beyond these keep a place for each item or key, and so do those whose pattern would be longer. */
const ITEMS_MAX = 500;
const PATTERN_CHARS_MAX = 20_000;

/**
 * SQL for the strays of a table with a place `p` that is the same for all items of a list, and all values of a map, as for
 * the first: 0; `items` are such places.
 */
function foldedStraysSql(strays: string, items: readonly string[]): string {
  const levels: string[][] = [];
  const some = items.slice(0, ITEMS_MAX);
  for (const place of some) {
    const level = some.filter((one) => place.startsWith(`${one}/`)).length;
    levels[level] = [...(levels[level] ?? []), literally(place.slice(0, place.lastIndexOf('/')))];
  }
  const patterns = levels.map((around) => around.join('|')).filter(({ length }) => length <= PATTERN_CHARS_MAX);
  return patterns.reduce(
    (from, around) =>
      `(SELECT regexp_replace(p, '^(${around.replaceAll("'", "''")})/[^/]*', '\\1/0') AS p, v, t FROM ${from})`,
    strays,
  );
}

/** Which strays are counted, and how they are told apart. */
interface Counted {
  /** Of rows, as for `straysSql`; and of places `p`. */
  condition?: string;
  where?: string;
  /** As for `foldedStraysSql`. */
  items?: readonly string[];
  /** Without, no text says a type. */
  areTyped?: boolean;
}

/**
 * SQL for how many strays a table has by place: `place`; `json`, as the engine's `json_type`; `type`, which their text says
 * (`textTypeSql`); `"values"`, how many these are; `items`, of lists; one of them, `example`; and whether their texts differ
 * in length, `uneven`.
 */
export function strayCountsSql(table: string, counted: Counted = {}): string {
  const { condition, where = 'true', items = [], areTyped = true } = counted;
  return `(SELECT p AS place, json_type(v) AS json, ${areTyped ? textTypeSql('t') : 'NULL'} AS type, count(*) AS "values",
    sum(CASE WHEN json_type(v) = 'ARRAY' THEN json_array_length(v) ELSE 0 END) AS items, any_value(CAST(v AS VARCHAR)) AS example,
    min(length(CAST(v AS VARCHAR))) < max(length(CAST(v AS VARCHAR))) AS uneven
    FROM ${foldedStraysSql(`(FROM ${straysSql(table, condition)} WHERE ${where})`, items)} GROUP BY 1, 2, 3)`;
}

const DAY = '\\d{4}-\\d\\d-\\d\\d';
const CLOCK = '([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,9})?)?';
const ZONE = '(Z|[+-](0\\d|1[0-8])(:?[0-5]\\d)?)';
/** In UTC, the first and the last day may be of another year. */
const BEYOND = '(0001-01-01|9999-12-31).+[+-]';
const NOT_OFF = '[+-]00(:?00)?$';
const SPELLED = [
  ['DATE', DAY],
  ['TIMESTAMP', `${DAY}[T ]${CLOCK}`],
  ['TIMESTAMP WITH TIME ZONE', `${DAY}[T ]${CLOCK}${ZONE}`],
  ['TIME', CLOCK.replace('1,9', '1,6')],
  ['UUID', '(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'],
] as const;

/** A decimal of more digits than a double has: a column of doubles holds it rounded. */
const LONG_DECIMAL = (text: string) =>
  `regexp_full_match(${text}, '-?\\d{1,40}\\.\\d{1,40}') AND length(trim(replace(replace(${text}, '-', ''), '.', ''), '0')) > 15`;

/**
 * SQL for the type, other than text, whose columns hold what a text says; NULL for everything else. It is that of
 * `typedIn` in `engine/duckdb/values/declared.ts`, and a test compares the two.
 */
function textTypeSql(text: string): string {
  const type = SPELLED.map(([name, pattern]) => `WHEN regexp_full_match(${text}, '${pattern}') THEN '${name}'`);
  const isNoDay = `regexp_matches(${text}, '^${DAY}') AND TRY_CAST(left(${text}, 10) AS DATE) IS NULL`;
  const isBeyond = `regexp_matches(${text}, '^${BEYOND}') AND NOT regexp_matches(${text}, '${NOT_OFF}')`;
  const decimal = `WHEN ${LONG_DECIMAL(text)} THEN 'DECIMAL'`;
  return `CASE WHEN (${isNoDay}) OR starts_with(${text}, '0000-') OR (${isBeyond}) THEN NULL ${type.join(' ')} ${decimal} END`;
}

/** Whether a column of a type has what texts of another say: then these strays are only spelled otherwise. */
export function holdsTextOf(column: string | null, stray: string | null): boolean {
  return stray !== null && (column === stray || (column === 'TIMESTAMP' && stray === 'DATE'));
}
