import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../connections/writer.ts';
import { CATALOG, quoteName, quoteText } from '../sql/names.ts';
import { isHeldUp } from './storage-errors.ts';

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

/** So long nobody must have read before rows move: whoever comes meanwhile waits, up to seconds if rows are wide. */
export const UNREAD_LONG_MS = 60_000;
/** Deleted rows of a table whose space is worth reclaiming, however many others it has. */
const MANY_ROWS = 50_000;
/** And if they are half of them: a large document takes much space in few rows. */
const SOME_ROWS = 100;
/** Tables counted by one statement. */
const TABLES_AT_ONCE = 200;

/** Rows that a table takes space for, and how many of these are deleted. */
export interface TakenRows {
  rows: number;
  deleted: number;
}

/** Of each table that is not small, by its name. The engine knows the numbers without reading the tables. */
export async function takenRows(sql: Sql): Promise<Map<string, TakenRows>> {
  const tables = await sql(
    `SELECT schema_name, table_name, estimated_size::DOUBLE FROM duckdb_tables()
      WHERE database_name = ${quoteText(CATALOG)} AND estimated_size >= ${SOME_ROWS}`,
  );
  const taken = new Map<string, TakenRows>();
  for (let from = 0; from < tables.length; from += TABLES_AT_ONCE) {
    const some = tables.slice(from, from + TABLES_AT_ONCE).map(([schema, table, rows]) => ({
      name: [CATALOG, String(schema), String(table)].map(quoteName).join('.'),
      rows: Number(rows),
    }));
    const counts = some.map(({ name }, index) => `SELECT ${index}, count(*)::DOUBLE FROM ${name}`);
    for (const [index, left] of await sql(counts.join(' UNION ALL '))) {
      const one = some[Number(index)];
      if (one !== undefined) taken.set(one.name, { rows: one.rows, deleted: one.rows - Number(left) });
    }
  }
  return taken;
}

/**
 * Decides which merges move rows, which reclaims the space of deleted ones while queries wait: of many deleted rows, when
 * nobody has read for a while, or once they take as much space as all others.
 */
export class Reclaiming {
  #taken: ReadonlyMap<string, TakenRows> = new Map();
  /** Deleted rows whose space the engine did not reclaim although it could have, by table. */
  readonly #stuck = new Map<string, number>();

  /** Whether there is space to reclaim, at some time. */
  get isWorthIt(): boolean {
    return [...this.#taken].some(([table, { rows, deleted }]) => {
      const more = deleted - (this.#stuck.get(table) ?? 0);
      return more >= MANY_ROWS || (more >= SOME_ROWS && deleted * 2 >= rows);
    });
  }

  /** Whether to reclaim it now, if nothing was read for the last `unreadMs`. */
  isDue(unreadMs: number): boolean {
    if (!this.isWorthIt) return false;
    if (unreadMs >= UNREAD_LONG_MS) return true;
    const sum = { rows: 0, deleted: 0 };
    for (const [table, { rows, deleted }] of this.#taken) {
      sum.rows += rows;
      sum.deleted += deleted - (this.#stuck.get(table) ?? 0);
    }
    return sum.deleted >= MANY_ROWS && sum.deleted * 2 >= sum.rows;
  }

  /** To be called before each merge. */
  look(taken: ReadonlyMap<string, TakenRows>): void {
    this.#taken = taken;
    for (const [table, stuck] of this.#stuck) {
      const deleted = taken.get(table)?.deleted ?? 0;
      if (deleted < stuck) this.#stuck.set(table, deleted);
    }
  }

  /** To be called after a merge that was allowed to move rows; there may be more for the next one. */
  moved(taken: ReadonlyMap<string, TakenRows>): void {
    for (const [table, { deleted }] of taken) {
      const isLess = deleted < (this.#taken.get(table)?.deleted ?? 0);
      this.#stuck.set(table, isLess ? 0 : deleted);
    }
    this.#taken = taken;
  }
}
