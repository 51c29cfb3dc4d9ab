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

/** Of fewer deleted rows the space is left to a later merge. */
const DELETED_ROWS = 50_000;
/** So long nobody must have read before rows move: whoever comes meanwhile waits, up to seconds if rows are wide. */
export const UNREAD_LONG_MS = 60_000;

/** Rows that large tables take space for, and how many of these are deleted. */
export interface TakenRows {
  rows: number;
  deleted: number;
}

/** Counts only tables that are large enough to matter: the engine knows their number of rows without reading them. */
export async function takenRows(sql: Sql): Promise<TakenRows> {
  const tables = await sql(
    `SELECT schema_name, table_name, estimated_size::DOUBLE FROM duckdb_tables()
      WHERE database_name = ${quoteText(CATALOG)} AND estimated_size >= ${DELETED_ROWS}`,
  );
  const taken = { rows: 0, deleted: 0 };
  for (const [schema, table, rows] of tables) {
    const name = [CATALOG, String(schema), String(table)].map(quoteName).join('.');
    const [left] = await sql(`SELECT count(*)::DOUBLE FROM ${name}`);
    taken.rows += Number(rows);
    taken.deleted += Number(rows) - Number(left?.[0]);
  }
  return taken;
}

/**
 * Decides which merges move rows, which reclaims the space of deleted ones while queries wait: of many deleted rows, when
 * nobody has read for a while, or once they take as much space as all others.
 */
export class Reclaiming {
  #taken: TakenRows = { rows: 0, deleted: 0 };
  /** Deleted rows whose space the engine did not reclaim although it could have. */
  #stuck = 0;

  /** Whether there is space to reclaim, at some time. */
  get isWorthIt(): boolean {
    return this.#taken.deleted - this.#stuck >= DELETED_ROWS;
  }

  /** Whether to reclaim it now, if nothing was read for the last `unreadMs`. */
  isDue(unreadMs: number): boolean {
    if (!this.isWorthIt) return false;
    return unreadMs >= UNREAD_LONG_MS || (this.#taken.deleted - this.#stuck) * 2 >= this.#taken.rows;
  }

  /** To be called before each merge. */
  look(taken: TakenRows): void {
    this.#taken = taken;
    this.#stuck = Math.min(this.#stuck, taken.deleted);
  }

  /** To be called after a merge that was allowed to move rows; there may be more for the next one. */
  moved(taken: TakenRows): void {
    const hasReclaimed = this.#taken.deleted - taken.deleted >= DELETED_ROWS;
    this.#taken = taken;
    this.#stuck = hasReclaimed ? 0 : taken.deleted;
  }
}
