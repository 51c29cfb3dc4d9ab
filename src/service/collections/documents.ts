import { randomUUID } from 'node:crypto';
import {
  DOCUMENTS_MAX,
  type DocumentStatus,
  type PatchOperation,
  refusalOf,
  type WriteResult,
} from '../../contract/documents.ts';
import { ApiError, ERRORS } from '../../contract/errors.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { measure } from '../../contract/json/measure.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import type { FieldNews, TextOutcome, WriteOutcome } from '../../engine/engine.ts';
import { collectionKey, findCollection, requireCollection } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext, DocumentList } from '../context.ts';
import { type Prepared, requireAtMostMax, takeIn } from '../ingest/intake.ts';
import { applyPatch, fieldsOf } from '../ingest/patch.ts';
import { textIntake } from '../ingest/text-intake.ts';
import {
  droppedWarnings,
  fieldWarnings,
  isTooOld,
  near1970Warnings,
  tooOldWarnings,
} from '../ingest/write-warnings.ts';
import { deletionBy, documentsDeletion } from '../trash/trash-entries.ts';

interface Target {
  workspace: string;
  collection: string;
}

const STATUS = { added: 'ADDED', replaced: 'REPLACED', deleted: 'DELETED', changed: 'PATCHED' } as const;

/**
 * Adds documents (docs/api.md #3) according to the collection's settings: one row per document, in order; a document that
 * cannot be stored becomes an ERROR row, and the others are stored. One that the collection's query leaves out is DELETED:
 * clients know no word for it, and take this one for no error. Throws `not_found`, `content_too_large`.
 */
export async function addDocuments(
  ctx: CallContext,
  input: Target & { data: readonly JsonValue[] },
): Promise<WriteResult> {
  const added = ctx.text === undefined ? undefined : await addText(ctx, input, ctx.text);
  if (added !== undefined) return added;
  const data = ctx.text === undefined ? input.data : await ctx.text.parse();
  requireAtMostMax('add', data.length);
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const prepared = await takeIn(ctx, collection, data);
  const accepted = prepared.filter((one) => 'document' in one);
  const documents = accepted.map((one) => one.document);
  const news: FieldNews[] = [];
  const outcomes =
    documents.length === 0
      ? []
      : await write(ctx, collection, () =>
          ctx.engine.addDocuments(collection.table, documents, (one) => news.push(one)),
        );
  const bytes = { inserted: 0, overwritten: 0 };
  let next = 0;
  let tooOld = 0;
  let near1970 = 0;
  let dropped = 0;
  const rows = await mapInTurns(prepared, (one) => {
    if (!('document' in one)) {
      if (one.isDropped === true) dropped += 1;
      const isError = one.isDropped !== true;
      return row(collection, one.id, isError ? { status: 'error', message: one.problem } : { status: 'deleted' });
    }
    const outcome = outcomes[next++] ?? { status: 'error', message: 'the engine gave no answer for it' };
    if (outcome.status !== 'error') bytes.inserted += one.bytes;
    if (outcome.status === 'replaced') bytes.overwritten += one.bytes;
    if (outcome.status !== 'error' && isTooOld(collection, one.document.eventTimeMicros)) tooOld += 1;
    if (outcome.status !== 'error' && one.isNear1970) near1970 += 1;
    return row(collection, one.document.id, outcome);
  });
  countFile(ctx, collection, prepared, rows);
  ctx.usage.dropped(collection, dropped);
  return written(ctx, collection, rows, bytes, { news, tooOld, near1970, dropped });
}

/** Adds documents without parsing them; undefined, with nothing done, if that is not possible. */
async function addText(ctx: CallContext, target: Target, text: DocumentList): Promise<WriteResult | undefined> {
  const collection = findCollection(ctx.catalog, target.workspace, target.collection);
  const intake = collection && textIntake(collection);
  if (collection === undefined || intake === undefined) return undefined;
  const { bytes, start, end } = text;
  const news: FieldNews[] = [];
  const given = { ...intake, bytes, start, end, max: DOCUMENTS_MAX };
  const outcomes = await write(ctx, collection, () =>
    ctx.engine.addText(collection.table, given, (one) => news.push(one)),
  );
  if (outcomes === undefined) return undefined;
  const size = { inserted: 0, overwritten: 0 };
  const rows = await mapInTurns(outcomes, (outcome) => {
    size.inserted += outcome.bytes;
    if (outcome.status === 'replaced') size.overwritten += outcome.bytes;
    return row(collection, outcome.id, outcome);
  });
  return written(ctx, collection, rows, size, { news, ...intake.told(outcomes) });
}

/**
 * Deletes documents by `_id`, into the trash (docs/api.md #4). An `_id` that does not exist is DELETED like the others: the
 * outcome is what the caller wants, and a delete repeated after a lost answer reads like the first one.
 */
export async function deleteDocuments(
  ctx: CallContext,
  input: Target & { data: readonly { _id: string }[] },
): Promise<WriteResult> {
  requireAtMostMax('delete', input.data.length);
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const ids = input.data.map((entry) => entry._id);
  const keep = documentsDeletion(collection, deletionBy(ctx, collection.workspace), () => ids);
  if (ids.length > 0) await write(ctx, collection, () => ctx.engine.deleteDocuments(collection.table, ids, keep));
  const rows = ids.map((id) => row(collection, id, { status: 'deleted' }));
  return written(ctx, collection, rows, { inserted: 0, overwritten: 0 });
}

/**
 * Patches documents (docs/api.md #5): all operations of a document apply or none; an `_id` that does not exist is an ERROR
 * row. An `_id` that appears twice is patched twice, in order.
 *
 * The collection's field mappings and event time are not applied: they are for incoming documents, as this one was
 * once. A mapping that hashes a field would hash the hash, and one that drops its input would not find it.
 *
 * The bytes written are only sure to include the fields that a patch names: the engine may leave the rest in place.
 */
export async function patchDocuments(
  ctx: CallContext,
  input: Target & { data: readonly { _id: string; patch: readonly PatchOperation[] }[] },
): Promise<WriteResult> {
  requireAtMostMax('patch', input.data.length);
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const sizes: number[] = [];
  const news: FieldNews[] = [];
  const fields = await fieldsOf(input.data);
  const outcomes = await write(ctx, collection, () =>
    ctx.engine.changeDocuments(
      collection.table,
      input.data.map((entry) => entry._id),
      (document, index) => {
        const entry = input.data[index];
        if (entry === undefined) throw new Error('the engine asked for a patch that was not sent');
        const changed = patched(entry._id, document, entry.patch);
        sizes[index] = changed.bytes;
        return changed.document;
      },
      fields,
      (one) => news.push(one),
    ),
  );
  const bytes = { inserted: 0, overwritten: 0 };
  const rows = await mapInTurns(input.data, (entry, index) => {
    const outcome = outcomes[index] ?? { status: 'error', message: 'the engine gave no answer for it' };
    if (outcome.status === 'error') return row(collection, entry._id, outcome);
    bytes.inserted += sizes[index] ?? 0;
    bytes.overwritten += sizes[index] ?? 0;
    return { ...row(collection, entry._id, outcome), patch_id: randomUUID() };
  });
  return written(ctx, collection, rows, bytes, { news });
}

function patched(id: string, before: JsonObject, operations: readonly PatchOperation[]) {
  const document = applyPatch({ _id: id, ...before }, operations);
  if (!Object.hasOwn(before, '_id')) delete document['_id'];
  const { bytes, problem } = measure(document);
  if (problem !== undefined) throw new Error(`the patched document ${problem}`);
  if (bytes > ITEM_BYTES_MAX) {
    throw new Error(`the patched document has ${bytes} bytes, and one document may have ${ITEM_BYTES_MAX}`);
  }
  return { document, bytes };
}

/** Runs a write of the engine; if it fails because the collection was deleted meanwhile, the error says so. */
export async function write<T>(ctx: CallContext, collection: CollectionRecord, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const current = ctx.catalog.all('collection').get(collectionKey(collection.workspace, collection.name));
    if (current?.table === collection.table) throw error;
    throw new ApiError(
      'not_found',
      `Collection "${collection.name}" does not exist in workspace "${collection.workspace}"`,
      { messageKey: 'COLLECTION_DOES_NOT_EXIST', cause: error },
    );
  }
}

function countFile(
  ctx: CallContext,
  collection: CollectionRecord,
  prepared: readonly Prepared[],
  rows: readonly DocumentStatus[],
): void {
  const isOfFile = (one: Prepared | undefined) => one?.isFromFile === true && !('isDropped' in one);
  const ofFile = rows.filter((_, index) => isOfFile(prepared[index]));
  if (ofFile.length === 0) return;
  const refused = ofFile.filter((one) => one.status === 'ERROR').map((one) => refusalOf(one.error));
  ctx.usage.tookFile(collection, { taken: ofFile.length - refused.length, refused });
}

/** What is to be told of the documents of a write. */
interface Told {
  news?: readonly FieldNews[];
  tooOld?: number;
  near1970?: number;
  dropped?: number;
}

function written(
  ctx: CallContext,
  collection: CollectionRecord,
  rows: DocumentStatus[],
  bytes: { inserted: number; overwritten: number },
  { news = [], tooOld = 0, near1970 = 0, dropped = 0 }: Told = {},
): WriteResult {
  if (rows.filter((one) => one.status !== 'ERROR').length > dropped) ctx.usage.wrote(collection, bytes);
  const warnings = [
    ...fieldWarnings(ctx.catalog, collection, news),
    ...near1970Warnings(near1970),
    ...tooOldWarnings(collection, tooOld),
    ...droppedWarnings(collection, dropped),
  ];
  return { data: rows, last_offset: ctx.nextOffset(), ...(warnings.length === 0 ? {} : { warnings }) };
}

function row(collection: CollectionRecord, id: string | null, outcome: WriteOutcome | TextOutcome): DocumentStatus {
  return {
    _collection: collectionKey(collection.workspace, collection.name),
    _id: id,
    status: outcome.status === 'error' ? 'ERROR' : STATUS[outcome.status],
    error: outcome.status === 'error' ? { message: outcome.message, type: ERRORS.invalid_input.type } : null,
    patch_id: null,
  };
}
