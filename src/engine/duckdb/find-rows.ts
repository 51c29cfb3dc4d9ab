import { dataTable, type Table } from './catalog.ts';
import { HASH_COLUMN, hashOf, ID_COLUMN, TIME_COLUMN } from './columns.ts';
import { foldName, quoteName } from './names.ts';
import { oldestKeptMicros } from './retention.ts';
import type { Run, Sql } from './store.ts';

/** A document in its table. */
export interface FoundRow {
  id: string;
  /** Where it lies, until the transaction that found it ends (see `findRows`); 0 in a table whose `RowKey` is another one. */
  place: bigint;
  eventTimeMicros: bigint;
}

/**
 * So many rows are looked up one by one in a statement, by the engine's `dynamic_or_filter_threshold`; of more,
 * everything between the first and the last is read.
 */
const PIECE = 50;
/** Measured: reading everything between is cheaper than more pieces. */
const PIECES_MAX = 4;

/** Of so many ids, where they lie is looked up first, and then what is there: of more, all that is read at once. */
const NESTED_MAX = 200;

/** The strings of `$1`, a JSON array. */
export const LISTED = `SELECT unnest(from_json($1, '["VARCHAR"]'))`;

/** What tells the rows of a table apart in statements. */
export interface RowKey {
  column: string;
  /** As in the second argument of `from_json`. */
  type: 'BIGINT' | 'VARCHAR';
  of(row: FoundRow): bigint | string;
}

/** The engine's numbers of rows; a table with a column of that name has none. */
const PLACE: RowKey = { column: 'rowid', type: 'BIGINT', of: ({ place }) => place };
const ID: RowKey = { column: quoteName(ID_COLUMN), type: 'VARCHAR', of: ({ id }) => id };

export function rowKeyOf({ shape }: Table): RowKey {
  return [...shape.columns.keys()].some((name) => foldName(name) === PLACE.column) ? ID : PLACE;
}

/**
 * The rows that have these ids, also those past the retention, in no order. `sql` is a transaction that may write.
 *
 * A checkpoint gives rows other numbers, between two statements of a transaction that has only read, too. Beside one that
 * writes, which a transaction is from its first such statement on, whatever that finds, it leaves them where they are. No
 * checkpoint of ours runs beside a transaction that may write; this holds whoever asks for one, for 5 % of a small write.
 */
export async function findRows(sql: Sql, table: Table, ids: readonly string[]): Promise<FoundRow[]> {
  if (ids.length === 0) return [];
  const key = rowKeyOf(table);
  if (key === PLACE) await sql(`DELETE FROM ${dataTable(table.id)} WHERE false`);
  const place = key === PLACE ? PLACE.column : '0::BIGINT';
  const rows = await sql(
    `SELECT ${quoteName(ID_COLUMN)}, ${place}, epoch_us(${quoteName(TIME_COLUMN)})
     FROM ${dataTable(table.id)} WHERE ${mayHave(table, ids.length)}`,
    JSON.stringify(ids),
  );
  const wanted = new Set(ids);
  return rows
    .map(([id, at, time]) => ({ id: String(id), place: at as bigint, eventTimeMicros: time as bigint }))
    .filter(({ id }) => wanted.has(id));
}

/** Whether any row may have one of these ids, also one past the retention; where not, none has. `select` need be no transaction. */
export async function mayExist(select: Run, table: Table, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false;
  const found = await select(
    `SELECT 1 FROM ${dataTable(table.id)} WHERE ${mayHave(table, ids.length)} LIMIT 1`,
    JSON.stringify(ids),
  );
  return found.length > 0;
}

/** SQL for the rows whose ids have the hashes of the ids in `$1`, a JSON array of so many. */
function mayHave(table: Table, count: number): string {
  const column = quoteName(HASH_COLUMN);
  if (count === 1) return `${column} = ${hashOf(`from_json($1, '["VARCHAR"]')[1]`)}`;
  const hashes = `SELECT ${hashOf('id')} FROM (${LISTED} AS id)`;
  const key = rowKeyOf(table);
  if (key === ID || count > NESTED_MAX) return `${column} IN (${hashes})`;
  return `${key.column} IN (SELECT ${key.column} FROM ${dataTable(table.id)} WHERE ${column} IN (${hashes}))`;
}

/** Those of the rows that are there to see, now. */
export function visibleOf(table: Table, rows: readonly FoundRow[]): readonly FoundRow[] {
  const oldest = oldestKeptMicros(table.retentionSecs);
  return oldest === null ? rows : rows.filter(({ eventTimeMicros }) => eventTimeMicros >= oldest);
}

/** Rows of a table in a statement on it: `condition` holds for those that `$1` lists. */
export interface RowsCondition {
  condition: string;
  /** Values for `$1`, each for a statement of its own: of a few rows far apart it takes several. */
  lists: string[];
}

/** By their places: what lies before and after them is not read, whatever the ids are. */
export function conditionOf(table: Table, rows: readonly FoundRow[]): RowsCondition {
  const key = rowKeyOf(table);
  const listed = `from_json($1, '["${key.type}"]')`;
  // A list of one would be joined, which takes twice as long.
  const condition = rows.length === 1 ? `${key.column} = ${listed}[1]` : `${key.column} IN (SELECT unnest(${listed}))`;
  if (key === ID) {
    return { condition, lists: rows.length === 0 ? [] : [JSON.stringify(rows.map(({ id }) => id))] };
  }
  const places = BigInt64Array.from(rows, ({ place }) => place).sort();
  const size = places.length <= PIECE * PIECES_MAX ? PIECE : places.length;
  const lists: string[] = [];
  for (let from = 0; from < places.length; from += size)
    lists.push(`[${places.subarray(from, from + size).join(',')}]`);
  return { condition, lists };
}

/** By their places, too: looking for their ids again takes three times as long. */
export async function deleteRows(sql: Sql, table: Table, rows: readonly FoundRow[]): Promise<void> {
  const { condition, lists } = conditionOf(table, rows);
  let deleted = 0;
  for (const list of lists) {
    const [counted] = await sql(`DELETE FROM ${dataTable(table.id)} WHERE ${condition}`, list);
    deleted += Number(counted?.[0]);
  }
  requireAll(rows, deleted);
}

/** Throws, so that nothing of the transaction is done, where a statement by places met more or fewer rows than were found. */
export function requireAll(rows: readonly unknown[], met: number): void {
  if (met !== rows.length) throw new Error(`${met} rows were met in the places of ${rows.length} documents`);
}
