import { stringifyJson } from '../../../contract/json/json.ts';
import type { RecordChange } from '../../engine.ts';
import type { Sql } from '../connections/store.ts';

/** Stores records together with documents, and has the service know of them before anybody else can change them. */
export type StoreRecords = (sql: Sql, changes: readonly RecordChange[]) => Promise<void>;

/** Stores a metadata record, replacing the one of its kind and key, or deletes that one. */
export async function storeRecord(sql: Sql, change: RecordChange): Promise<void> {
  const { kind, key } = change;
  await sql('DELETE FROM "_meta"."records" WHERE kind = $1 AND key = $2', kind, key);
  if (change.do === 'deleteRecord') return;
  await sql('INSERT INTO "_meta"."records" VALUES ($1, $2, $3)', kind, key, stringifyJson(change.value));
}
