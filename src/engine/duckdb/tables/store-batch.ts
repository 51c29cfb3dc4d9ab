import type { Batch, BatchOutcome } from '../../batches.ts';
import type { Sql } from '../connections/store.ts';
import { acceptDocuments, outcomesOf } from './accept.ts';
import type { Table } from './catalog.ts';
import { deleteVisible } from './find-rows.ts';
import { storeMemory } from './memory.ts';
import { storeRecord } from './records.ts';
import { storeDocuments, type WritesContext } from './store-documents.ts';

/** Stores what a source yields; the caller holds the table's lock. */
export async function storeBatch(context: WritesContext, table: Table, batch: Batch): Promise<BatchOutcome> {
  const acceptance = await acceptDocuments(batch.documents);
  const documents = [...acceptance.documents.values()];
  const outcome: BatchOutcome = { documents: [], deleted: 0 };
  const finish = async (sql: Sql, after: Table, existed: ReadonlyMap<string, unknown>) => {
    outcome.deleted = await deleteVisible(sql, after, [...new Set(batch.deletes)]);
    outcome.documents = outcomesOf(batch.documents, acceptance, existed);
    if (batch.memory !== undefined) await storeMemory(sql, table.id, batch.memory);
    for (const change of batch.records(outcome)) await storeRecord(sql, change);
  };
  if (documents.length === 0) await context.transaction((sql) => finish(sql, table, new Map()));
  else await storeDocuments(context, table, documents, { finish, onNews: batch.onNews });
  return outcome;
}
