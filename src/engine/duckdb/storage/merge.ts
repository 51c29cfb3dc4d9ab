import { setTimeout as sleep } from 'node:timers/promises';
import { quoteName, quoteText } from '../sql/names.ts';
import { CATALOG } from './database.ts';
import { isHeldUp } from './storage-errors.ts';
import type { Sql } from './writer.ts';

/** How often a merge that is held up by queries is retried. */
const HELD_UP_MS = 10;

/** Merges the log into the main file; while queries are in the way, it retries as long as `mayGoOn` allows. */
export async function checkpoint(sql: Sql, mayGoOn: () => boolean): Promise<void> {
  for (;;) {
    try {
      await sql(`CHECKPOINT ${quoteName(CATALOG)}`);
      return;
    } catch (error) {
      if (!isHeldUp(error) || !mayGoOn()) throw error;
    }
    await sleep(HELD_UP_MS);
  }
}

/** Runs a merge that moves no rows: beside any writing transaction, the engine leaves them where they are. */
export async function withRowsInPlace(sql: Sql, work: () => Promise<void>): Promise<void> {
  const [found] = await sql(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ${quoteText(CATALOG)} LIMIT 1`,
  );
  if (found === undefined) return work();
  await sql('BEGIN TRANSACTION');
  try {
    await sql(`DELETE FROM ${found.map((name) => quoteName(String(name))).join('.')} WHERE false`);
    await work();
  } finally {
    await sql('ROLLBACK').catch(() => undefined);
  }
}

/** Of fewer deleted rows the space is left to a later merge: queries wait while rows move, up to seconds. */
export const FREED_ROWS = 50_000;

/** Runs a merge that may move rows; returns whether it reclaimed so much space of deleted ones that there may be more. */
export async function hasMoved(sql: Sql, work: () => Promise<void>): Promise<boolean> {
  const before = await rowsWithDeleted(sql);
  await work();
  return before - (await rowsWithDeleted(sql)) >= FREED_ROWS;
}

/** Rows of all tables, including deleted ones that still take up space. */
async function rowsWithDeleted(sql: Sql): Promise<number> {
  const [row] = await sql(
    `SELECT sum(estimated_size)::DOUBLE FROM duckdb_tables() WHERE database_name = ${quoteText(CATALOG)}`,
  );
  return Number(row?.[0] ?? 0);
}
