import type { Sql } from '../connections/store.ts';
import { foldName, ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { opaqueText } from '../sql/opaque-text.ts';
import { dataTable, type Table } from './catalog.ts';
import { COMPARED_ID, HASH_COLUMN, hashOf, hasId, IS_LIVE } from './columns.ts';
import { andKept, oldestKeptMicros } from './retention.ts';

/** A document's row in its table. */
export interface FoundRow {
  id: string;
  /**
   * Valid until the transaction that found it ends (see `findRows`); 0 in a table with another
   * `RowKey`.
   */
  rowNumber: bigint;
  eventTimeMicros: bigint;
}

/**
 * Up to this many rows are looked up one by one in a statement, by the engine's `dynamic_or_filter_threshold`; for
 * more, everything between the first and the last is read.
 */
const PIECE = 50;
/** Measured: beyond this many pieces, reading everything in between is cheaper. */
const PIECES_MAX = 4;

/**
 * For up to this many ids, the row numbers are looked up first and then the rows; for more, everything is read at once.
 */
const NESTED_MAX = 200;

/** The strings of `$1`, a JSON array. */
export const LISTED = `SELECT unnest(from_json($1, '["VARCHAR"]'))`;

/** Their hashes. */
export const LISTED_HASHES = `SELECT ${hashOf('id')} FROM (${LISTED} AS id)`;

/** The first of them; a list of one item would be joined, which takes twice as long. */
const FIRST_LISTED = `from_json($1, '["VARCHAR"]')[1]`;

/** What identifies the rows of a table in statements. */
export interface RowKey {
  column: string;
  /** The same, to be compared with; `of` stands before the column. */
  compared(of?: string): string;
  /** As in the second argument of `from_json`. */
  type: 'BIGINT' | 'VARCHAR';
  of(row: FoundRow): bigint | string;
}

/** The engine's row numbers; a table with a column of that name does not have them. */
const ROW_NUMBER: RowKey = {
  column: 'rowid',
  compared: (of = '') => `${of}rowid`,
  type: 'BIGINT',
  of: ({ rowNumber }) => rowNumber,
};
const ID: RowKey = {
  column: quoteName(ID_COLUMN),
  compared: (of = '') => opaqueText(`${of}${quoteName(ID_COLUMN)}`),
  type: 'VARCHAR',
  of: ({ id }) => id,
};

export function rowKeyOf({ shape }: Table): RowKey {
  return [...shape.columns.keys()].some((name) => foldName(name) === ROW_NUMBER.column) ? ID : ROW_NUMBER;
}

/** A row's key as JSON. */
export function keyText(key: unknown): string {
  return typeof key === 'bigint' ? String(key) : JSON.stringify(key);
}

/**
 * The rows that have these ids, including those past the retention but not those in the trash, in no particular order.
 * `sql` is a transaction that may write.
 */
export async function findRows(sql: Sql, table: Table, ids: readonly string[]): Promise<FoundRow[]> {
  if (ids.length === 0) return [];
  const rows = await rowsWhere(sql, table, mayHave(table, ids), JSON.stringify(ids));
  const wanted = new Set(ids);
  return rows.filter(({ id }) => wanted.has(id));
}

/**
 * The rows of one deletion that are within the retention, in the trash: by id, at most `max` of those after one. `sql` is a
 * transaction that may write.
 */
export function findDeleted(
  sql: Sql,
  table: Table,
  deletion: bigint,
  { after, max }: { after: string | undefined; max: number },
): Promise<FoundRow[]> {
  const id = quoteName(ID_COLUMN);
  const isOf = `${quoteName(HASH_COLUMN)} = ${deletion}::UBIGINT${andKept(table.retentionSecs)}`;
  const page = `ORDER BY ${id} LIMIT ${max}`;
  return after === undefined
    ? rowsWhere(sql, table, `${isOf} ${page}`)
    : rowsWhere(sql, table, `${isOf} AND ${COMPARED_ID} > $1 ${page}`, after);
}

/**
 * The rows that meet a condition, in which `$1` may be a value. A checkpoint may renumber rows, even between two statements of a transaction;
 * none runs beside a transaction that may write (`FileStore`).
 */
async function rowsWhere(sql: Sql, table: Table, condition: string, ...values: string[]): Promise<FoundRow[]> {
  const key = rowKeyOf(table);
  const rowNumber = key === ROW_NUMBER ? ROW_NUMBER.column : '0::BIGINT';
  const rows = await sql(
    `SELECT ${quoteName(ID_COLUMN)}, ${rowNumber}, epoch_us(${quoteName(TIME_COLUMN)})
     FROM ${dataTable(table.id)} WHERE ${condition}`,
    ...values,
  );
  return rows.map(([id, at, time]) => ({ id: String(id), rowNumber: at as bigint, eventTimeMicros: time as bigint }));
}

/** SQL condition for the rows that are visible now and have one of these ids, which are `$1`, a JSON array. */
export function isVisible(table: Table, ids: readonly string[]): string {
  const listed = ids.length === 1 ? `= ${FIRST_LISTED}` : `IN (${LISTED})`;
  return `${mayHave(table, ids)} AND ${COMPARED_ID} ${listed}${andKept(table.retentionSecs)}`;
}

/** Deletes the visible rows with these ids for good; returns their number. */
export async function deleteVisible(sql: Sql, table: Table, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const statement = `DELETE FROM ${dataTable(table.id)} WHERE ${isVisible(table, ids)}`;
  const [counted] = await sql(statement, JSON.stringify(ids));
  return Number(counted?.[0]);
}

/** SQL for the rows whose ids have the hashes of these ids, which are `$1`, a JSON array. */
function mayHave(table: Table, ids: readonly string[]): string {
  const column = quoteName(HASH_COLUMN);
  const [id] = ids;
  if (id !== undefined && ids.length === 1) {
    return id.includes('\0') ? `${column} = ${hashOf(FIRST_LISTED)}` : hasId(FIRST_LISTED);
  }
  const key = rowKeyOf(table);
  if (key === ID || ids.length > NESTED_MAX) return `${column} IN (${LISTED_HASHES})`;
  return `${key.column} IN (SELECT ${key.column} FROM ${dataTable(table.id)} WHERE ${column} IN (${LISTED_HASHES}))`;
}

/** The rows that are visible now. */
export function visibleOf(table: Table, rows: readonly FoundRow[]): readonly FoundRow[] {
  const oldest = oldestKeptMicros(table.retentionSecs);
  return oldest === null ? rows : rows.filter(({ eventTimeMicros }) => eventTimeMicros >= oldest);
}

/** Selects rows of a table in a statement: `condition` holds for those listed in `$1`. */
export interface RowsCondition {
  condition: string;
  /** Values for `$1`, one statement each: a few rows far apart take several. */
  lists: string[];
}

/**
 * By row number: rows before and after them are not read, whatever the ids are. By id, only those that meet the
 * condition `among`: rows in the trash may have the same ids.
 */
export function conditionOf(table: Table, rows: readonly FoundRow[], among = IS_LIVE): RowsCondition {
  const key = rowKeyOf(table);
  const listed = `from_json($1, '["${key.type}"]')`;
  // A list of one item would be joined, which takes twice as long.
  const condition =
    rows.length === 1 ? `${key.compared()} = ${listed}[1]` : `${key.compared()} IN (SELECT unnest(${listed}))`;
  if (key === ID) {
    const lists = rows.length === 0 ? [] : [JSON.stringify(rows.map(({ id }) => id))];
    return { condition: `${condition} AND ${among}`, lists };
  }
  const numbers = BigInt64Array.from(rows, ({ rowNumber }) => rowNumber).sort();
  const size = numbers.length <= PIECE * PIECES_MAX ? PIECE : numbers.length;
  const lists: string[] = [];
  for (let from = 0; from < numbers.length; from += size)
    lists.push(`[${numbers.subarray(from, from + size).join(',')}]`);
  return { condition, lists };
}

/** Deletes by row number, too: looking up the ids again takes three times as long. */
export async function deleteRows(sql: Sql, table: Table, rows: readonly FoundRow[]): Promise<void> {
  const { condition, lists } = conditionOf(table, rows);
  let deleted = 0;
  for (const list of lists) {
    const [counted] = await sql(`DELETE FROM ${dataTable(table.id)} WHERE ${condition}`, list);
    deleted += Number(counted?.[0]);
  }
  requireAll(rows, deleted);
}

/** Throws, so that the transaction is undone, if a statement by row number met more or fewer rows than were found. */
export function requireAll(rows: readonly unknown[], met: number): void {
  if (met !== rows.length) throw new Error(`${met} rows were met by the numbers of ${rows.length} documents`);
}
