import { ApiError } from '../../../contract/errors.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import { ID_COLUMN, quoteName } from '../sql/names.ts';
import { dataTable } from './catalog.ts';
import { HASH_COLUMN, hashOf } from './columns.ts';

/**
 * What each version of the stored schema adds to the previous one; version 1 starts from nothing. A released entry
 * never changes: a newer one is appended. Within an entry, `ALTER` comes before `INSERT`, `UPDATE` and `DELETE` on its
 * table.
 */
const MIGRATIONS: readonly (readonly (string | ((sql: Sql) => Promise<void>))[])[] = [
  [
    'CREATE SCHEMA "_data"',
    'CREATE TABLE "_meta"."records" (kind VARCHAR, key VARCHAR, value JSON)',
    'CREATE TABLE "_meta"."workspaces" (name VARCHAR)',
    'CREATE TABLE "_meta"."tables" (id VARCHAR, workspace VARCHAR, name VARCHAR, shape JSON)',
  ],
  ['ALTER TABLE "_meta"."tables" ADD COLUMN retention_secs BIGINT'],
  // `tables` is a JSON list of table ids.
  ['CREATE TABLE "_meta"."aliases" (workspace VARCHAR, name VARCHAR, tables JSON)'],
  // A trashed table keeps its documents and has no view. For documents in the trash, `shape` is the shape of their
  // table when they were deleted, `bytes` the size of their text.
  [
    'ALTER TABLE "_meta"."tables" ADD COLUMN trashed BOOLEAN',
    'CREATE TABLE "_meta"."trash" (id VARCHAR, shape JSON)',
    'CREATE TABLE "_meta"."trash_documents" (trash VARCHAR, id VARCHAR, event_time TIMESTAMP WITH TIME ZONE, fields JSON, extra JSON, bytes BIGINT)',
  ],
  [addHashes],
  // Documents in the trash stay in their table, with the deletion's number in place of the hash of their id. Those of
  // earlier versions, and of tables that were dropped since, are text in `trash_documents`: they have no `table_id`.
  [
    markHashes,
    'ALTER TABLE "_meta"."trash" ADD COLUMN table_id VARCHAR',
    'ALTER TABLE "_meta"."trash" ADD COLUMN number UBIGINT',
  ],
  // A `shape` may have maps, which earlier programs cannot read.
  [],
  // A table may have strays.
  ['ALTER TABLE "_meta"."trash_documents" ADD COLUMN strays JSON'],
  // A `shape` may have times.
  [],
  // A `shape` may have declared types.
  [],
  ['CREATE TABLE "_meta"."memory" (table_id VARCHAR, source INTEGER, key VARCHAR, value VARCHAR)'],
];

/** Adds the hashes of its ids to every collection's table, also in the trash; about a second per million documents. */
async function addHashes(sql: Sql): Promise<void> {
  const column = quoteName(HASH_COLUMN);
  for (const [id] of await sql('SELECT id FROM "_meta"."tables"')) {
    const table = dataTable(String(id));
    await sql(`ALTER TABLE ${table} ADD COLUMN ${column} UBIGINT`);
    const hash = hashOf(quoteName(ID_COLUMN));
    await sql(`ALTER TABLE ${table} ALTER COLUMN ${column} SET DATA TYPE UBIGINT USING ${hash}`);
  }
}

/** Sets the highest bit of every hash; takes as long as adding them. */
async function markHashes(sql: Sql): Promise<void> {
  const column = quoteName(HASH_COLUMN);
  for (const [id] of await sql('SELECT id FROM "_meta"."tables"')) {
    const marked = `${column} | 9223372036854775808::UBIGINT`;
    await sql(`ALTER TABLE ${dataTable(String(id))} ALTER COLUMN ${column} SET DATA TYPE UBIGINT USING ${marked}`);
  }
}

/** Version of the stored schema that this program writes, and the latest that it can open. */
export const STORED_VERSION = MIGRATIONS.length;

/** Migrates a database of any earlier version to this program's. Rejects `internal` for a later version. */
export async function migrate(transaction: Transaction): Promise<void> {
  const version = await transaction(async (sql) => {
    await sql('CREATE SCHEMA IF NOT EXISTS "_meta"');
    await sql('CREATE TABLE IF NOT EXISTS "_meta"."versions" (version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE)');
    const [row] = await sql('SELECT coalesce(max(version), 0) FROM "_meta"."versions"');
    return Number(row?.[0]);
  });
  if (version > MIGRATIONS.length) {
    throw new ApiError(
      'internal',
      `Cannot open the database: its schema version ${version} is newer than ${MIGRATIONS.length}, the latest that this program knows. Update this program.`,
    );
  }
  const pending = MIGRATIONS.map((_, index) => index + 1).slice(version);
  // A new database gets all at once: each transaction waits for the disk.
  const steps = version === 0 ? [pending] : pending.map((one) => [one]);
  for (const versions of steps) await transaction((sql) => migrateTo(versions, sql));
}

async function migrateTo(versions: readonly number[], sql: Sql): Promise<void> {
  for (const version of versions) {
    for (const step of MIGRATIONS[version - 1] ?? []) await (typeof step === 'string' ? sql(step) : step(sql));
    await sql('INSERT INTO "_meta"."versions" VALUES ($1, now())', version);
  }
}
