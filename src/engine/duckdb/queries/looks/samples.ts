import type { DuckDBConnection } from '@duckdb/node-api';
import { answerOf } from '../../connections/answers.ts';
import { resume } from '../../connections/sessions.ts';
import type { Place } from '../../gate/field-origins.ts';
import type { TextField } from '../../gate/value-uses.ts';
import { isTime } from '../../sql/corrections/casts.ts';
import type { Sampled } from '../../sql/corrections/readings.ts';
import { SHORT_YEAR } from '../../sql/corrections/times.ts';
import { ITEM, type NamedTable, type Names, quoteName, quoteText } from '../../sql/names.ts';
import { viewOf } from '../stray-warnings.ts';

/**
 * Values of a field that are looked at before a cast of it is said to be right, of its first documents: so that it costs
 * milliseconds, however many there are and however few of them have it.
 */
const VALUES_MAX = 1_000;
export const ROWS_MAX = 20_000;
/** So much fewer documents are read for values within lists, each of which is read as a whole. */
const LIST_COST = 10;
/** Documents that are looked at first, and values of which no more are needed. */
const FEW_ROWS = 500;
const FEW_VALUES = 100;
/** Longer texts are none that a cast reads. */
export const TEXT_CHARS_MAX = 64;
/** Documents, and different texts of them, that are compared with a text that none has: of each empty answer that asks for one. */
const NEAR_ROWS = 5_000;
const DISTINCT_MAX = 2_000;

/** The engine's type for one in the SQL of a caller: INT is wide here. */
export const engineType = (type: string): string => (/^int(?:eger)?$/i.test(type) ? 'BIGINT' : type);

/** Where fields are read. */
export interface Data {
  connection: DuckDBConnection;
  /** SQL for what a table is there. */
  viewOf(table: NamedTable): string;
}

/** The collections, as SQL sees them. */
export const dataOf = (names: Names, connection: DuckDBConnection): Data => ({
  connection,
  viewOf: ({ workspace, name }) => viewOf(names, workspace, name),
});

/** A text of a field. */
export interface SeenText {
  text: string;
  /** Whether a cast to each of the types reads it, in their order. */
  reads: readonly boolean[];
}

/** A field whose texts are read, and the types to which casts are tried. */
export interface Sample {
  field: TextField;
  /** The path of what is read within the field, which holds JSON: the texts are those of JSON. */
  within?: string;
  /** Whether these are without the quotes that JSON has around a text. */
  isText?: boolean;
  /** What reads a value `v` in place of a cast to the first type, as SQL. */
  tried?: string | undefined;
  types: readonly string[];
}

/** A text with whether a cast to the first type reads it. */
export const sampled = ({ text, reads }: SeenText): Sampled => ({ text, isRead: reads[0] === true });

/** Texts of fields, of as many documents as a cast of them may need. */
export async function textsOf(samples: readonly Sample[], data: Data): Promise<SeenText[][]> {
  return readTexts(samples, data, ROWS_MAX);
}

/**
 * Texts of fields: of some documents if these have enough of them, which takes a third of the time, for what is asked of any
 * query. One statement reads all of them, and one those of which there are few.
 */
export async function fewTextsOf(samples: readonly Sample[], data: Data): Promise<SeenText[][]> {
  const few = await readTexts(samples, data, FEW_ROWS);
  const isFew = (at: number) => (few[at]?.length ?? 0) < FEW_VALUES;
  const more = await readTexts(
    samples.filter((_, at) => isFew(at)),
    data,
    ROWS_MAX,
  );
  return few.map((texts, at) => (isFew(at) ? (more.shift() ?? []) : texts));
}

/** What an expression of text has in some of the first documents that meet a condition. */
export async function textsWhere(
  expression: string,
  condition: string,
  table: NamedTable,
  { connection, ...data }: Data,
): Promise<string[]> {
  const from = `(SELECT * FROM ${data.viewOf(table)} LIMIT ${ROWS_MAX})`;
  const sql = `SELECT ${expression}[:${TEXT_CHARS_MAX}] AS v FROM ${from} WHERE ${condition} AND v IS NOT NULL LIMIT ${FEW_VALUES}`;
  return (await rowsOf(connection, sql)).map(([text]) => String(text));
}

/** Texts of a field that meet a condition on `v`, with how many of the first documents have them; `texts` are looked for first. */
export async function nearTexts(
  { table, path }: Place,
  texts: readonly string[],
  condition: string,
  { connection, ...data }: Data,
): Promise<{ text: string; count: number }[]> {
  const from = fieldSql(path, data.viewOf(table), NEAR_ROWS);
  const isSame = `v IN (${texts.map(quoteText).join(', ')})`;
  const few = `SELECT v, count(*) AS n FROM (${from}) WHERE length(v) <= ${TEXT_CHARS_MAX} GROUP BY v ORDER BY ${isSame} DESC LIMIT ${DISTINCT_MAX}`;
  const sql = `SELECT v, n FROM (${few}) WHERE ${condition} ORDER BY n DESC, v LIMIT ${FEW_VALUES}`;
  return (await rowsOf(connection, sql)).map(([text, count]) => ({ text: String(text), count: Number(count) }));
}

/** Documents all of whose values are looked at: without LIMIT, which takes ten times as long, that costs what a query's own cast does. */
const ALL_ROWS_MAX = 200_000;
const LOST_MAX = 100;

/** How many documents there are, if these are so few that all are looked at; undefined: more, or of lists. */
async function fewDocuments(field: TextField, { connection, viewOf }: Data): Promise<number | undefined> {
  if (field.path.includes(ITEM)) return undefined;
  const [[count] = []] = await rowsOf(connection, `SELECT count(*) FROM ${fromOf(field, viewOf)}`);
  const documents = Number(count ?? 0);
  return documents === 0 || documents > ALL_ROWS_MAX ? undefined : documents;
}

/** What a cast makes NULL of the values of all documents. */
export interface Lost {
  /** Different texts, those with a digit first. */
  texts: string[];
  /** The values with a digit. */
  count: number;
  documents: number;
}

/** Which values of a field a cast to a type makes NULL; undefined: none, or there are too many documents to look at all. */
export async function lostOf(
  field: TextField,
  type: string,
  { connection, viewOf }: Data,
  tried = `TRY_CAST(v AS ${engineType(type)})`,
): Promise<Lost | undefined> {
  // What functions make of each value takes several times as long.
  const documents = field.of === undefined ? await fewDocuments(field, { connection, viewOf }) : undefined;
  if (documents === undefined) return undefined;
  const lost = `v IS NOT NULL AND ${tried} IS NULL`;
  const texts = `SELECT v[:${TEXT_CHARS_MAX}] AS v, regexp_matches(v, '[0-9]') AS d, count(*) AS n FROM (${fieldSql(field.path, fromOf(field, viewOf))}) WHERE ${lost} GROUP BY ALL`;
  const sql = `SELECT v, sum(n) FILTER (WHERE d) OVER () FROM (${texts}) ORDER BY d DESC, v LIMIT ${LOST_MAX}`;
  const rows = await rowsOf(connection, sql);
  if (rows.length === 0) return undefined;
  return { texts: rows.map(([text]) => String(text)), count: Number(rows[0]?.[1] ?? 0), documents };
}

/** Documents of which one is looked for whose field meets a condition, where there are too many to look at all. */
export const SOUGHT_ROWS = 200_000;

/** The SELECT of a field's values as `v`, of all documents, or of `SOUGHT_ROWS` where there are too many. */
export async function allValuesSql(field: TextField, data: Data): Promise<string> {
  const isAll = (await fewDocuments(field, data)) !== undefined;
  return valuesSql(field, fromOf(field, data.viewOf), isAll ? undefined : SOUGHT_ROWS);
}

/** Whether the field of one of so many documents meets a condition on `v`; default: of all, or of `SOUGHT_ROWS` of more. */
export async function isAny(field: TextField, condition: string, data: Data, rows?: number): Promise<boolean> {
  const values =
    rows === undefined ? await allValuesSql(field, data) : valuesSql(field, fromOf(field, data.viewOf), rows);
  return (await rowsOf(data.connection, `SELECT 1 FROM (${values}) WHERE ${condition} LIMIT 1`)).length > 0;
}

/** A text of which one expression on `v` makes another number than the other does, by more than its decimals; undefined: none. */
export async function otherNumber(
  { path, table }: Place,
  one: string,
  other: string,
  { connection, viewOf }: Data,
): Promise<{ text: string; one: number; other: number } | undefined> {
  const values = `SELECT v FROM (${fieldSql(path, viewOf(table), ROWS_MAX)}) WHERE length(v) <= ${TEXT_CHARS_MAX} LIMIT ${VALUES_MAX}`;
  const numbers = `SELECT v, CAST(${one} AS DOUBLE) AS one, CAST(${other} AS DOUBLE) AS other FROM (${values})`;
  const sql = `SELECT * FROM (${numbers}) WHERE trunc(one) <> trunc(other) OR sign(one) <> sign(other) LIMIT 1`;
  const [[text, first, second] = []] = await rowsOf(connection, sql);
  return text === undefined ? undefined : { text: String(text), one: Number(first), other: Number(second) };
}

/** The rows of a SELECT; none if it fails. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<unknown[][]> {
  try {
    return await answerOf(connection, sql);
  } catch {
    // It only serves a hint, and must not hide what there is to tell.
    await resume(connection);
    return [];
  }
}

async function readTexts(
  samples: readonly Sample[],
  { connection, viewOf: view }: Data,
  rows: number,
): Promise<SeenText[][]> {
  const isShort = `length(v) <= ${TEXT_CHARS_MAX}`;
  const isWhole = `NOT regexp_matches(v, ${quoteText(SHORT_YEAR)})`;
  const most = Math.max(...samples.map(({ types }) => types.length));
  const selects = samples.map(({ field, types, within, tried, isText = false }, at) => {
    const reads = types.map((type) =>
      tried === undefined
        ? `${isShort}${isTime(type) ? ` AND ${isWhole}` : ''} AND TRY_CAST(v AS ${engineType(type)}) IS NOT NULL`
        : `${tried} IS NOT NULL`,
    );
    const columns = [at, `v[:${TEXT_CHARS_MAX}]`, ...reads, ...Array<string>(most - reads.length).fill('NULL')];
    const values = valuesSql(field, fromOf(field, view), rows);
    const from =
      within === undefined
        ? values
        : `SELECT CAST(TRY_CAST(v AS JSON)${isText ? '->>' : '->'}${quoteText(within)} AS VARCHAR) AS v FROM (${values})`;
    return `(SELECT ${columns.join(', ')} FROM (${from}) WHERE v IS NOT NULL LIMIT ${VALUES_MAX})`;
  });
  const found: SeenText[][] = samples.map(() => []);
  if (selects.length === 0) return found;
  for (const [at, text, ...reads] of await rowsOf(connection, selects.join(' UNION ALL ')))
    found[Number(at)]?.push({ text: String(text), reads: reads.map((one) => one === true) });
  return found;
}

const fromOf = ({ from, table }: TextField, viewOf: Data['viewOf']) => from ?? viewOf(table);

/** The SELECT of what is read of a field's values as `v`. */
function valuesSql({ path, of }: TextField, view: string, rows?: number): string {
  const values = fieldSql(path, view, rows);
  return of === undefined ? values : `SELECT ${of} AS v FROM (${values})`;
}

/** The SELECT of a field's values as `v`, of the first documents; default: of all. */
export function fieldSql(path: readonly string[], view: string, rows?: number): string {
  const [first = '', ...rest] = path;
  const limit = rows === undefined ? '' : ` LIMIT ${path.includes(ITEM) ? Math.ceil(rows / LIST_COST) : rows}`;
  let from = `(SELECT ${quoteName(first)} AS v FROM ${view}${limit})`;
  let steps = '';
  for (const step of rest) {
    if (step === ITEM) from = `(SELECT unnest(v${steps}) AS v FROM ${from})`;
    steps = step === ITEM ? '' : `${steps}[${quoteText(step)}]`;
  }
  return `SELECT v${steps} AS v FROM ${from}`;
}
