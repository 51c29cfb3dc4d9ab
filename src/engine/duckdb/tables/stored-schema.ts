import { ApiError } from '../../../contract/errors.ts';
import type { Transaction } from '../connections/store.ts';

/** Version of the stored schema, which is raised with each change of it: the one that this program writes and reads. */
export const STORED_VERSION = 11;

const SCHEMA: readonly string[] = [
  'CREATE SCHEMA "_data"',
  'CREATE TABLE "_meta"."records" (kind VARCHAR, key VARCHAR, value JSON)',
  'CREATE TABLE "_meta"."workspaces" (name VARCHAR)',
  // A trashed table keeps its documents and has no view.
  'CREATE TABLE "_meta"."tables" (id VARCHAR, workspace VARCHAR, name VARCHAR, shape JSON, retention_secs BIGINT, trashed BOOLEAN)',
  // `tables` is a JSON list of table ids.
  'CREATE TABLE "_meta"."aliases" (workspace VARCHAR, name VARCHAR, tables JSON)',
  // Documents in the trash stay in their table, with the deletion's number in place of the hash of their id. Those of
  // tables that were dropped since are text in `trash_documents`: they have no `table_id`, and `shape` is that of their
  // table when it was dropped. `bytes` is the size of their text.
  'CREATE TABLE "_meta"."trash" (id VARCHAR, shape JSON, table_id VARCHAR, number UBIGINT)',
  'CREATE TABLE "_meta"."trash_documents" (trash VARCHAR, id VARCHAR, event_time TIMESTAMP WITH TIME ZONE, fields JSON, extra JSON, bytes BIGINT, strays JSON)',
  'CREATE TABLE "_meta"."memory" (table_id VARCHAR, source INTEGER, key VARCHAR, value VARCHAR)',
];

/** Why data of another version is not opened, and what to do; undefined for this version. */
export function otherVersion(version: number): string | undefined {
  if (version === STORED_VERSION) return undefined;
  const its = `its schema version is ${version}, and this program reads ${STORED_VERSION}`;
  return version > STORED_VERSION
    ? `${its}: a newer version wrote it. Install a newer colloquy.`
    : `${its}: a development version from before the first release wrote it. Export its documents with that one, and load them here.`;
}

/** Gives an empty database its tables. Rejects `internal` for one of another version, which is left as it is. */
export async function createSchema(transaction: Transaction): Promise<void> {
  const version = await transaction(async (sql) => {
    await sql('CREATE SCHEMA IF NOT EXISTS "_meta"');
    await sql('CREATE TABLE IF NOT EXISTS "_meta"."versions" (version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE)');
    const [row] = await sql('SELECT max(version) FROM "_meta"."versions"');
    return row?.[0] == null ? undefined : Number(row[0]);
  });
  if (version === undefined) {
    await transaction(async (sql) => {
      for (const statement of SCHEMA) await sql(statement);
      await sql('INSERT INTO "_meta"."versions" VALUES ($1, now())', STORED_VERSION);
    });
    return;
  }
  const why = otherVersion(version);
  if (why !== undefined) throw new ApiError('internal', `Cannot open the database: ${why}`);
}
