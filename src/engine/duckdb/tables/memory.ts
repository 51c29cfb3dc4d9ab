import type { Batch } from '../../batches.ts';
import type { Sql } from '../connections/store.ts';
import { opaqueText } from '../sql/opaque-text.ts';

/*
 * What the sources of tables remember of single items at the other end. It may be millions of entries, so it is neither
 * read at the start, as records are, nor held in memory.
 */

/** Entries that one statement stores. */
const AT_ONCE = 10_000;

export async function storeMemory(sql: Sql, table: string, memory: NonNullable<Batch['memory']>): Promise<void> {
  const { source, put, forget } = memory;
  const entries = [...put];
  const gone = [...forget, ...put.keys()];
  for (let at = 0; at < gone.length; at += AT_ONCE) {
    await sql(
      `DELETE FROM "_meta"."memory" WHERE table_id = $1 AND source = $2 AND ${opaqueText('key')} IN (SELECT unnest(from_json($3, '["VARCHAR"]')))`,
      table,
      source,
      JSON.stringify(gone.slice(at, at + AT_ONCE)),
    );
  }
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    await sql(
      `INSERT INTO "_meta"."memory" SELECT $1, $2, pair[1], pair[2] FROM (SELECT unnest(from_json($3, '[["VARCHAR"]]')) AS pair)`,
      table,
      source,
      JSON.stringify(entries.slice(at, at + AT_ONCE)),
    );
  }
}

export async function readMemory(
  sql: Sql,
  table: string,
  source: number,
  after: string | null,
  max: number,
): Promise<[string, string][]> {
  const rows = await sql(
    `SELECT key, value FROM "_meta"."memory" WHERE table_id = $1 AND source = $2 AND key > $3 ORDER BY key LIMIT ${max}`,
    table,
    source,
    // No entry has an empty key.
    after ?? '',
  );
  return rows.map(([key, value]) => [String(key), String(value)]);
}

/** Of one source, or of all of a table. */
export async function forgetMemory(sql: Sql, table: string, source?: number): Promise<void> {
  if (source === undefined) await sql('DELETE FROM "_meta"."memory" WHERE table_id = $1', table);
  else await sql('DELETE FROM "_meta"."memory" WHERE table_id = $1 AND source = $2', table, source);
}
