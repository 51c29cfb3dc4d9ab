import { DOCUMENTS_MAX } from '../../contract/documents.ts';
import { ApiError, type RefusalKind } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { measure } from '../../contract/json/measure.ts';
import { createPace, mapInTurns } from '../../contract/turns/turns.ts';
import type { Engine, NewDocument, Refusal } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { kindOfId, newDocumentId, problemOfId } from './document-id.ts';
import { type Draft, draftOf, refusedDraft } from './drafts.ts';
import { EVENT_TIME_RULE, eventTimeMicros, isNear1970 } from './event-time.ts';
import { readEventTimes } from './event-time-info.ts';
import { DROPPED, mapByQuery } from './field-mapping-query.ts';
import { mapFields } from './field-mappings.ts';
import { type PieceReader, pieceReader } from './file-pieces.ts';
import { formatOf } from './sources.ts';

/** A document ready for the engine, its size, and whether `_event_time` looks like another unit; or its problem. */
export type Prepared = { isFromFile: boolean } & (
  | { document: NewDocument; bytes: number; isNear1970: boolean }
  /** `isDropped`: the collection's query leaves it out, and `problem` says so. */
  | { id: string | null; problem: string; kind?: RefusalKind | undefined; isDropped?: true }
);

/**
 * Applies the collection's settings to the entries of a write: parses text of a file into documents, applies field
 * mappings or its query, reads event times. Keeps the order; one text may become several documents. Throws `content_too_large`.
 */
export async function takeIn(
  ctx: { engine: Engine; signal: AbortSignal },
  collection: CollectionRecord,
  data: readonly JsonValue[],
): Promise<Prepared[]> {
  const drafts = await draftsOf(collection, data);
  requireAtMostMax('add', drafts.length);
  const { fieldMappings, fieldMappingQuery, eventTimeInfo } = collection;
  if (fieldMappings.length > 0 || fieldMappingQuery !== null) {
    // Values that cannot be stored cannot be passed to the engine either.
    await mapInTurns(drafts, (draft) => {
      draft.problem ??= problemOfFields(draft);
    });
    await mapFields(ctx.engine, fieldMappings, drafts, ctx.signal);
    if (fieldMappingQuery !== null) await mapByQuery(ctx.engine, fieldMappingQuery, drafts, ctx.signal);
  }
  const times = eventTimeInfo === null ? [] : await readEventTimes(ctx.engine, eventTimeInfo, drafts);
  return mapInTurns(drafts, (draft, index) => prepare(draft, times[index] ?? null));
}

/** Whether a collection stores documents as received, without field mappings, a query or event time settings. */
export function takesAsGiven({ fieldMappings, fieldMappingQuery, eventTimeInfo }: CollectionRecord): boolean {
  return fieldMappings.length === 0 && fieldMappingQuery === null && eventTimeInfo === null;
}

/** A document as the engine takes it; undefined if it cannot be stored. */
export function readGiven(document: JsonValue): NewDocument | undefined {
  if (!isObject(document)) return undefined;
  const prepared = prepare(draftOf(document, false), null);
  return 'document' in prepared ? prepared.document : undefined;
}

/** The same, or why it cannot be stored. */
export function readOrRefuse(document: JsonObject): NewDocument | Refusal {
  const prepared = prepare(draftOf(document, false), null);
  return 'document' in prepared ? prepared.document : { why: prepared.problem, kind: prepared.kind };
}

/** Throws `content_too_large` if a write has too many entries. */
export function requireAtMostMax(verb: string, count: number): void {
  if (count > DOCUMENTS_MAX) throw tooManyDocuments(`${verb} documents`, String(count));
}

/** The error for a write with too many entries. */
export function tooManyDocuments(what: string, count: string): ApiError {
  return new ApiError(
    'content_too_large',
    `Cannot ${what}: "data" has ${count} entries and one request may have ${DOCUMENTS_MAX}. Send smaller batches.`,
  );
}

async function draftsOf(collection: CollectionRecord, data: readonly JsonValue[]): Promise<Draft[]> {
  const format = formatOf(collection.sources);
  const pace = createPace();
  let reader: PieceReader | undefined;
  const drafts: Draft[] = [];
  for (const [index, item] of data.entries()) {
    const place = `data[${index}]`;
    if (typeof item === 'string' && format !== null) {
      reader ??= pieceReader(format);
      for (const draft of await reader.read(item, place, DOCUMENTS_MAX)) drafts.push(draft);
      requireAtMostMax('add', drafts.length);
    } else if (isObject(item)) drafts.push(draftOf(item, false));
    else drafts.push(refusedDraft(`${place} must be a JSON object${textHint(collection, item)}`, false));
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return drafts;
}

function textHint(collection: CollectionRecord, item: JsonValue): string {
  if (typeof item !== 'string' || collection.sources.length === 0) return '';
  return '; text of the file is taken where its source has "format_params"';
}

function problemOfFields({ fields }: Draft): string | null {
  const { problem } = measure(fields);
  return problem === undefined ? null : `the document ${problem}`;
}

/** `readTime` takes precedence over the document's own `_event_time`; null if no event time was read. */
function prepare(draft: Draft, readTime: bigint | null): Prepared {
  const { _id = null, _event_time = null, ...fields } = draft.fields;
  const { isFromFile } = draft;
  if (draft.isDropped === true)
    return { isFromFile, id: typeof _id === 'string' ? _id : null, problem: DROPPED, isDropped: true };
  const problem = draft.problem ?? problemOfId(_id);
  if (problem !== undefined) {
    const kind = draft.problem === null ? kindOfId(_id) : draft.kind;
    return { isFromFile, id: typeof _id === 'string' ? _id : null, problem, kind };
  }
  const id = _id === null ? newDocumentId() : String(_id);
  const eventTime = readTime ?? (_event_time === null ? null : eventTimeMicros(_event_time));
  if (eventTime === undefined) return { isFromFile, id, problem: EVENT_TIME_RULE };
  // With `_id` and `_event_time`, as for documents that are stored as the text that was received.
  const size = measure(draft.fields);
  if (size.problem !== undefined) return { isFromFile, id, problem: `the document ${size.problem}` };
  const document = { id, eventTimeMicros: eventTime, fields, declared: draft.declared };
  const isNear = readTime === null ? isNear1970(_event_time) : draft.isNear1970 === true;
  return { isFromFile, document, bytes: size.bytes, isNear1970: isNear };
}
