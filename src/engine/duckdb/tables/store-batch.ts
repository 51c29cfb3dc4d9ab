import type { Batch, BatchOutcome } from '../../batches.ts';
import { type DocumentsText, lineCount, type NewDocument } from '../../documents.ts';
import type { OnFieldNews } from '../../field-news.ts';
import type { RowsPart } from '../../rows.ts';
import type { Sql } from '../connections/store.ts';
import type { ScannedText } from '../shortcuts/unparsed.ts';
import { type Acceptance, outcomesOf } from './accept.ts';
import type { Table } from './catalog.ts';
import type { TableShape } from './columns.ts';
import { deleteVisible } from './find-rows.ts';
import { storeMemory } from './memory.ts';
import type { StoreRecords } from './records.ts';
import { storeDocuments, storeLines, storeText, type WritesContext } from './store-documents.ts';

/** What a source yields, looked at. */
interface DocumentsBatch extends Batch {
  storeRecords: StoreRecords;
  documents: readonly NewDocument[];
  acceptance: Acceptance;
}

/** The same as rows of a file. */
interface RowsBatch extends Batch {
  storeRecords: StoreRecords;
  documents: StorableRows;
}

/** Rows of a file that know how they get into a table. */
export abstract class StorableRows implements RowsPart {
  abstract readonly first: number;
  abstract readonly last: number;
  abstract readonly refused: RowsPart['refused'];
  abstract readonly ids: RowsPart['ids'];
  /** Stores them, and does in the same transaction what else is to be done; the caller holds the table's lock. */
  abstract store(
    context: WritesContext,
    table: Table,
    finish: (sql: Sql, table: Table, rows: NonNullable<BatchOutcome['rows']>) => Promise<void>,
    onNews: OnFieldNews | undefined,
  ): Promise<void>;
}

export function storable(rows: RowsPart): StorableRows {
  if (rows instanceof StorableRows) return rows;
  throw new Error('these rows are of no file that the engine has opened');
}

/** The same as text, scanned for a table of this shape. */
interface TextBatch extends Batch {
  storeRecords: StoreRecords;
  documents: DocumentsText;
  shape: TableShape;
  scanned: ScannedText;
}

/** The same as numbered lines of a text. */
interface LinesBatch extends Batch {
  storeRecords: StoreRecords;
  documents: DocumentsText;
}

/** Stores what a source yields; the caller holds the table's lock. */
export async function storeBatch(context: WritesContext, table: Table, batch: DocumentsBatch): Promise<BatchOutcome> {
  const { acceptance, onNews } = batch;
  const documents = [...acceptance.documents.values()];
  const outcome: BatchOutcome = { documents: [], deleted: 0 };
  const finish = (sql: Sql, after: Table, existed: ReadonlyMap<string, unknown>) => {
    outcome.documents = outcomesOf(batch.documents, acceptance, existed);
    return storeRest(sql, after, batch, outcome);
  };
  if (documents.length === 0) await context.transaction((sql) => finish(sql, table, new Map()));
  else await storeDocuments(context, table, documents, { finish, onNews });
  return outcome;
}

/** The same, given as text; undefined: nothing is stored, since it needs a closer look. */
export async function storeBatchText(
  context: WritesContext,
  table: Table,
  batch: TextBatch,
): Promise<BatchOutcome | undefined> {
  const { documents: text, shape, onNews } = batch;
  const scanned = table.shape === shape ? batch.scanned : await context.shortcuts.unparsed.try(text, table.shape);
  if (scanned === undefined) return undefined;
  const outcome: BatchOutcome = { documents: [], deleted: 0 };
  const finish = (sql: Sql, after: Table, existed: ReadonlyMap<string, unknown>) => {
    outcome.documents = scanned.documents.map(({ id, start, end }) => ({
      status: existed.has(id) ? 'replaced' : 'added',
      bytes: end - start,
    }));
    return storeRest(sql, after, batch, outcome);
  };
  return (await storeText(context, table, text, scanned, { finish, onNews })) && outcome;
}

/** The same, given as numbered lines of which all fit the table. */
export async function storeBatchLines(context: WritesContext, table: Table, batch: LinesBatch): Promise<BatchOutcome> {
  const { documents: text } = batch;
  const outcome: BatchOutcome = { documents: [], deleted: 0 };
  await storeLines(context, table, text, (sql, { size: replaced }) => {
    outcome.rows = { added: lineCount(text.numbered ?? []) - replaced, replaced, others: [] };
    return storeRest(sql, table, batch, outcome);
  });
  return outcome;
}

/** The same, given as rows of a file. */
export async function storeBatchRows(context: WritesContext, table: Table, batch: RowsBatch): Promise<BatchOutcome> {
  const outcome: BatchOutcome = { documents: [], deleted: 0 };
  const finish = (sql: Sql, after: Table, rows: NonNullable<BatchOutcome['rows']>) => {
    outcome.rows = rows;
    return storeRest(sql, after, batch, outcome);
  };
  await batch.documents.store(context, table, finish, batch.onNews);
  return outcome;
}

/** What a batch has beside its documents. */
async function storeRest(
  sql: Sql,
  table: Table,
  batch: DocumentsBatch | TextBatch | LinesBatch | RowsBatch,
  outcome: BatchOutcome,
): Promise<void> {
  const orGone = new Set(batch.orGone);
  const { documents } = batch;
  const failed = isList(documents) ? documents.filter((_, at) => outcome.documents[at]?.status === 'error') : [];
  const gone = failed.flatMap(({ id }) => (orGone.has(id) ? [id] : []));
  outcome.deleted = await deleteVisible(sql, table, [...new Set([...batch.deletes, ...gone])]);
  if (batch.memory !== undefined) await storeMemory(sql, table.id, batch.memory);
  await batch.storeRecords(sql, batch.records(outcome));
}

function isList(documents: Batch['documents']): documents is readonly NewDocument[] {
  return Array.isArray(documents);
}
