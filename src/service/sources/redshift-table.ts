import pg from 'pg';
import type { JsonObject } from '../../contract/json/json.ts';
import type { DeclaredType } from '../../engine/engine.ts';
import { type Column, type ColumnReader, columnReader, declaredTypes, quoted, rowWriter } from './redshift-rows.ts';
import { SourceError } from './source.ts';

/** A table with what is needed to read it. */
export interface Table {
  /** As it is written in SQL. */
  name: string;
  /** As it is written in names of items. */
  label: string;
  readers: ColumnReader[];
  /** The columns that tell its rows apart, at least one. */
  key: string[];
  incremental: Column | undefined;
  /** Whether the server is PostgreSQL, with its hashes of texts and infinite times. */
  isPostgres: boolean;
  /** The types of columns that JSON lacks. */
  declared: ReadonlyMap<string, DeclaredType>;
}

function tableName(settings: JsonObject): { schema: string; table: string } {
  return { schema: String(settings['schema'] ?? 'public'), table: String(settings['table_name']) };
}

/** The columns of the table, and those of its key. Rejects a `SourceError` for what is not there. */
export async function describe(client: pg.Client, settings: JsonObject): Promise<Table> {
  const { schema, table } = tableName(settings);
  const { rows } = await client.query<{
    name: string;
    type: string;
    category: string;
    modifier: string;
    is_postgres: string;
  }>({
    text: `SELECT a.attname AS name, t.typname AS type, ${CATEGORY} AS category, a.atttypmod AS modifier,
        EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'hashtextextended') AS is_postgres
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_type t ON t.oid = a.atttypid
      WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    values: [schema, table],
  });
  const columns = rows.map(
    ({ name, type, category, modifier }): Column => ({ name, type, category, modifier: Number(modifier) }),
  );
  if (columns.length === 0) {
    throw new SourceError(
      'settings',
      `There is no table "${schema}"."${table}" in the database "${String(settings['database'])}", or its user may not see it.`,
    );
  }
  const named = (name: string, setting: string) => {
    const found = columns.find((column) => column.name === name);
    if (found !== undefined) return found;
    const all = columns.map((column) => `"${column.name}"`).join(', ');
    throw new SourceError(
      'settings',
      `The table "${schema}"."${table}" has no column "${name}", which "${setting}" names. Its columns: ${all}.`,
    );
  };
  const { primary_key: given, incremental_field: field } = settings;
  const key = given === undefined ? await primaryKey(client, schema, table) : [given].flat().map(String);
  for (const name of key) named(name, 'primary_key');
  if (key.length === 0) {
    throw new SourceError(
      'settings',
      `The table "${schema}"."${table}" has no primary key. Name the columns that tell its rows apart in "primary_key".`,
    );
  }
  const readers = columns.map(columnReader);
  return {
    name: `${quoted(schema)}.${quoted(table)}`,
    label: table,
    readers,
    declared: declaredTypes(readers),
    key,
    incremental: field === undefined ? undefined : named(String(field), 'incremental_field'),
    isPostgres: rows[0]?.is_postgres === 't',
  };
}

/** Redshift's catalog is that of PostgreSQL 8.0, which has no categories. */
const CATEGORY =
  "CASE WHEN t.typelem <> 0 AND t.typlen = -1 AND t.typname LIKE '\\_%' THEN 'A' WHEN t.typtype = 'c' THEN 'C' ELSE '' END";

async function primaryKey(client: pg.Client, schema: string, table: string): Promise<string[]> {
  // The information schema shows keys to those who own the table only.
  const { rows } = await client.query<{ key: string; number: string; name: string }>({
    text: `SELECT k.conkey AS key, a.attnum AS number, a.attname AS name
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE k.contype = 'p' AND n.nspname = $1 AND c.relname = $2 AND a.attnum = ANY (k.conkey)`,
    values: [schema, table],
  });
  const places = (rows[0]?.key ?? '').replace(/[{}]/g, '').split(',');
  return rows.toSorted((a, b) => places.indexOf(a.number) - places.indexOf(b.number)).map(({ name }) => name);
}

/** A row as it is read. */
export interface Row {
  id: string;
  key: Key;
  /** The incremental field; null: there is none. */
  field: string | null;
  /** The document as JSON text. */
  text: string;
}

/** Text of the columns of the key, in order. */
export type Key = string[];

/** How rows are read: the columns of a document, and the incremental field and the key as text that can be given back. */
export interface RowReader {
  /** SQL, without what follows its FROM. */
  select: string;
  read(values: readonly (string | null)[]): Row;
}

export function rowReader({ name, readers, key, incremental }: Table): RowReader {
  const columns = readers.map(({ sql }) => sql);
  const write = rowWriter(readers);
  const placeOf = (one: string) => {
    const own = readers.findIndex((reader) => reader.name === one && reader.isText === true);
    return own < 0 ? columns.push(`${quoted(one)}::varchar`) - 1 : own;
  };
  const fieldAt = incremental === undefined ? -1 : placeOf(incremental.name);
  const keyAt = key.map(placeOf);
  const [firstAt = 0] = keyAt;
  return {
    // ORDER BY prefers names of the result to those of the table.
    select: `SELECT ${columns.map((sql, at) => `${sql} AS c${at}`).join(', ')} FROM ${name}`,
    read(values) {
      const texts = keyAt.length === 1 ? [values[firstAt] ?? ''] : keyAt.map((at) => values[at] ?? '');
      return { id: idOf(texts), key: texts, field: values[fieldAt] ?? null, text: write(values) };
    },
  };
}

/** One column's text; of several a JSON list of these. */
function idOf(key: Key): string {
  return key.length === 1 ? (key[0] ?? '') : JSON.stringify(key);
}

export function rowOf(columns: readonly string[]): string {
  return `(${columns.map(quoted).join(', ')})`;
}

/** Hands over each row as it comes: to keep the values of all until the last one is there takes longer than to read them. */
export async function eachRow(
  client: pg.Client,
  text: string,
  given: readonly string[],
  take: (values: readonly (string | null)[]) => void,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const query = new RowQuery(text, [...given], (error) => (error ? reject(error) : resolve()));
    query.handleDataRow = ({ fields }) => take(fields);
    client.query(query);
  });
}

/** The driver's query, which keeps rows unless this takes them, as its own cursors do. */
const RowQuery = pg.Query as unknown as new (
  text: string,
  values: string[],
  callback: (error: Error | null) => void,
) => pg.Submittable & { handleDataRow(message: { fields: (string | null)[] }): void };

async function rowsOf(client: pg.Client, text: string, given: string[] = []): Promise<(string | null)[][]> {
  const { rows } = await client.query<(string | null)[]>({ text, values: given, rowMode: 'array' });
  return rows;
}

export async function latest(client: pg.Client, { name, incremental, isPostgres }: Table): Promise<string | null> {
  if (incremental === undefined) return null;
  // Redshift knows no infinite times.
  const finite = isPostgres && isTime(incremental) ? `WHERE isfinite(${quoted(incremental.name)})` : '';
  const [row] = await rowsOf(client, `SELECT max(${quoted(incremental.name)})::varchar FROM ${name} ${finite}`);
  return row?.[0] ?? null;
}

/** Nothing is later than that, so nothing would be new behind it. */
export function isInfinite(value: string): boolean {
  return value === 'infinity' || value === '-infinity';
}

const TIMES: ReadonlySet<string> = new Set(['timestamp', 'timestamptz']);

export function isTime({ type }: Column): boolean {
  return TIMES.has(type);
}

/**
 * Rows that were committed late have an older time than others that were read: those of this time before the latest are
 * looked at again each time, in seconds.
 */
export const OVERLAP_SECONDS = 60;

/** SQL for whether a row's incremental field is as large as the latest that was read, or nearly; null: none was. */
export function isFrom(field: Column, position: string | null): { condition: string; given: string[] } {
  const column = quoted(field.name);
  if (position === null) return { condition: `${column} IS NOT NULL`, given: [] };
  const floor = isTime(field) ? `$1::${field.type} - interval '${OVERLAP_SECONDS} seconds'` : '$1';
  return { condition: `${column} >= ${floor}`, given: [position] };
}

/**
 * A text that is another one as soon as such rows are others, or one has another value in any column, which may change
 * twice in what is one value of the incremental field, such as a day: most times there is nothing to be read, however many
 * they are. Undefined where the server cannot tell, as Redshift.
 */
export async function digest(client: pg.Client, table: Table, position: string | null): Promise<string | undefined> {
  const { name, incremental, readers, isPostgres } = table;
  if (incremental === undefined || !isPostgres) return undefined;
  const { condition, given } = isFrom(incremental, position);
  const row = rowOf(readers.map((reader) => reader.name));
  const hashes = `SELECT count(*), sum(hashtextextended(ROW${row}::text, 0)) FROM ${name} WHERE ${condition}`;
  const [told = []] = await rowsOf(client, hashes, given);
  return told.join(' ');
}

/** How many rows there are, as the server believes. */
export async function estimated(client: pg.Client, settings: JsonObject): Promise<number | undefined> {
  const { schema, table } = tableName(settings);
  const [row] = await rowsOf(
    client,
    'SELECT c.reltuples::bigint::varchar FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2',
    [schema, table],
  );
  const count = Number(row?.[0] ?? -1);
  return count > 0 ? count : undefined;
}
