import { createHash } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { type JsonObject, stringifyJson } from '../../contract/json/json.ts';
import { derivedId } from '../../engine/engine.ts';
import { problemOfId } from '../ingest/document-id.ts';
import { refusedItem } from './items.ts';
import { bytesOf, ObjectChanged, ObjectRefused, type ObjectStore, type StoredObject } from './object-store.ts';
import {
  entriesOf,
  type ObjectEntry,
  type ObjectPart,
  type ObjectPlace,
  type ObjectRows,
} from './objects-documents.ts';
import type { formatsOf } from './objects-formats.ts';
import type { Ledger, Unfinished } from './objects-ledger.ts';
import type { FetchedTask, ObjectTask } from './objects-listing.ts';
import { againKey, type KnownObject, objectKey, objectValue, staleKey } from './objects-memory.ts';
import type { ObjectSpools } from './objects-spools.ts';
import { REFUSED_TEXT_MAX, type SourceBatch, type SourceOptions } from './source.ts';

export interface ReadingContext {
  store: ObjectStore;
  formatFor: ReturnType<typeof formatsOf>;
  options: Pick<SourceOptions, 'files'>;
  spools: ObjectSpools;
  ledger: Ledger;
  signal: AbortSignal;
}

/** So that an id with its row stays below what an id may have. */
const PREFIX_BYTES_MAX = 1_000;

/** Reads an object, and removes what an earlier version had beyond that. */
export async function* readObject(
  context: ReadingContext,
  task: FetchedTask & { listed: StoredObject },
): AsyncGenerator<SourceBatch, void> {
  const { ledger } = context;
  const { key, listed, known } = task;
  const object = beginObject(ledger, key, listed.version, known);
  ledger.changedMs = listed.changedMs;
  let isBroken = false;
  if (object.trimmed === undefined) {
    try {
      yield* readDocuments(context, object, task);
    } catch (error) {
      if (error instanceof ObjectChanged) {
        giveUp(ledger, object, task);
        return;
      }
      ledger.refuse(refusalOf(context.store.bucket, object, error));
      isBroken = true;
    }
  }
  ledger.storeIds();
  // What cannot be read may have what it had: that stays.
  if (!isBroken) {
    yield* trim(context, object);
    if (object.hadOwn) markStale(ledger, key, object.reading);
  }
  const derived = isBroken ? Math.max(object.derived, object.high) : object.derived;
  const hasOwn = object.hasOwn || (isBroken && object.hadOwn);
  ledger.put(objectKey(key), objectValue({ version: listed.version, size: listed.size, derived, hasOwn }));
  if (task.isAgain) ledger.forget(againKey(key));
  count(ledger, known, listed);
}

/** Removes the documents of an object that is gone. */
export async function* removeObject(
  context: ReadingContext,
  { key, known, isAgain }: ObjectTask,
): AsyncGenerator<SourceBatch, void> {
  const { ledger } = context;
  const object = beginObject(ledger, key, null, known);
  yield* trim(context, object);
  if (object.hadOwn) markStale(ledger, key, -1);
  if (known !== undefined) ledger.forget(objectKey(key));
  if (isAgain) ledger.forget(againKey(key));
  count(ledger, known, undefined);
}

/** Goes on with an object, or begins with it as it is now. */
function beginObject(
  { place }: Ledger,
  key: string,
  version: string | null,
  known: KnownObject | undefined,
): Unfinished {
  const before = place.object?.key === key ? place.object : undefined;
  if (before?.version === version) return before;
  place.readings += 1;
  place.object = {
    key,
    version,
    reading: place.readings,
    place: { rows: 0 },
    derived: 0,
    high: Math.max(known?.derived ?? 0, before?.high ?? 0, before?.derived ?? 0),
    hasOwn: false,
    hadOwn: known?.hasOwn === true || before?.hasOwn === true || before?.hadOwn === true,
  };
  return place.object;
}

async function* readDocuments(
  context: ReadingContext,
  object: Unfinished,
  { key, listed, bytes }: FetchedTask & { listed: StoredObject },
): AsyncGenerator<SourceBatch, void> {
  const { store, formatFor, options, spools, ledger, signal } = context;
  const body = bytes === undefined ? bytesOf(store, listed, signal) : piecesOf(bytes);
  const prefix = derivedPrefix(store.bucket, key);
  try {
    const reading = { key, prefix, formatFor, files: options.files, spools, signal };
    for await (const entries of entriesOf(body, object.place, reading)) {
      if ('part' in entries) {
        yield* takePart(context, object, prefix, entries);
        continue;
      }
      if ('ends' in entries) {
        if (!ledger.hasRoomFor(entries.ends.length)) yield ledger.take();
        takeRows(context, object, prefix, entries);
        if (ledger.isDue) yield ledger.take();
        continue;
      }
      for (const entry of entries) {
        takeEntry(context, object, prefix, entry);
        if (ledger.isDue) yield ledger.take();
      }
    }
  } finally {
    await body.return();
  }
}

async function* piecesOf(bytes: Promise<Buffer[]>): AsyncGenerator<Buffer, void> {
  yield* await bytes;
}

function takeRows(
  { store: { bucket }, ledger }: ReadingContext,
  object: Unfinished,
  prefix: string,
  { place, bytes, ends, line }: ObjectRows,
): void {
  const first = place.rows - ends.length + 1;
  object.place = place;
  object.derived = place.rows;
  ledger.place.documents += ends.length;
  ledger.addRows({ bytes, ends, line, first, prefix, object: `${bucket}/${object.key}`, storedTo: object.high });
}

/** Yields rows in a batch of their own, behind what was there before. */
async function* takePart(
  { store: { bucket }, ledger }: ReadingContext,
  object: Unfinished,
  prefix: string,
  { place, part, bytes, release, faults }: ObjectPart,
): AsyncGenerator<SourceBatch, void> {
  const { refused, ids } = part;
  const name = `${bucket}/${object.key}`;
  const item = (row: number) => `${name}/${row}`;
  if (!ledger.isEmpty) yield ledger.take();
  const own = new Set(ids.map(([, id]) => id));
  for (const row of [...refused.map(({ at }) => at), ...ids.map(([at]) => at)]) {
    const id = derivedId(prefix, row);
    // Whatever the row had before.
    if (row > object.high || own.has(id)) continue;
    if (!ledger.hasRoomFor(1)) yield ledger.take();
    ledger.add({ id, document: null, item: item(row) }, 0);
  }
  for (const reason of faults) ledger.refuse({ item: name, reason });
  for (const { at, why, document } of refused) {
    ledger.refuse(refusedItem(item(at), `${why} (row ${at})`, stringifyJson(document)));
  }
  for (const [row, id] of ids) ledger.own(object, row, id);
  const count = part.last - part.first + 1;
  const before: ObjectPlace = object.place;
  object.place = place;
  object.hasOwn ||= ids.length > 0;
  if (ids.length + refused.length < count) object.derived = place.rows;
  const { documents } = ledger.place;
  const high = Math.max(object.high, object.derived);
  const unfinished = { ...ledger.place, object: { ...object, place: before, high } };
  ledger.place.documents = documents + count;
  const file = {
    ...{ part, prefix, object: name, bytes, release, storedTo: object.high },
    unfinished: structuredClone(unfinished) as unknown as JsonObject,
  };
  yield { ...ledger.take(), file };
}

function takeEntry(
  { store: { bucket }, ledger }: ReadingContext,
  object: Unfinished,
  prefix: string,
  entry: ObjectEntry,
): void {
  const { place, bytes } = entry;
  const { rows } = place;
  const item = rows === 0 ? `${bucket}/${object.key}` : `${bucket}/${object.key}/${rows}`;
  const derived = derivedId(prefix, rows);
  object.place = place;
  ledger.place.documents += 1;
  /** Whatever the row had before. */
  const isOther = () => {
    if (rows > 0 && rows <= object.high) ledger.add({ id: derived, document: null, item }, 0);
  };
  if ('reason' in entry) {
    ledger.refuse(refusedItem(item, entry.reason, entry.text));
    isOther();
    return;
  }
  if ('json' in entry) {
    const { json: text, ownId, line } = entry;
    if (ownId === undefined) {
      ledger.add({ id: derived, text, line, item, isOrGone: rows <= object.high }, bytes);
      object.derived = rows;
    } else {
      ledger.add({ id: ownId, text, line, item }, bytes);
      ledger.own(object, rows, ownId);
      object.hasOwn = true;
      isOther();
    }
    return;
  }
  const { declared } = entry;
  const { _id: id = null } = entry.document;
  const problem = problemOfId(id);
  if (problem !== undefined) {
    ledger.refuse({
      item,
      reason: `cannot be stored: ${problem}`,
      text: stringifyJson(entry.document).slice(0, REFUSED_TEXT_MAX),
    });
    isOther();
  } else if (id === null) {
    ledger.add({ id: derived, document: entry.document, declared, item, isOrGone: rows <= object.high }, bytes);
    object.derived = rows;
  } else {
    const { _id, ...document } = entry.document;
    ledger.add({ id: String(id), document, declared, item }, bytes);
    ledger.own(object, rows, String(id));
    object.hasOwn = true;
    isOther();
  }
}

/** What is before its row in a derived id, which is the same whenever that is read again. */
function derivedPrefix(bucket: string, key: string): string {
  const prefix = `${bucket}/${key}`;
  if (Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX) return prefix;
  return `${bucket}/${createHash('sha256').update(key).digest('hex')}`;
}

/** Removes documents with derived ids behind those that the object has now. */
async function* trim(
  { store: { bucket }, ledger }: ReadingContext,
  object: Unfinished,
): AsyncGenerator<SourceBatch, void> {
  const { key, high } = object;
  const prefix = derivedPrefix(bucket, key);
  object.trimmed ??= object.place.rows;
  while (object.trimmed < high) {
    object.trimmed += 1;
    ledger.add(
      { id: derivedId(prefix, object.trimmed), document: null, item: `${bucket}/${key}/${object.trimmed}` },
      0,
    );
    if (ledger.isDue) yield ledger.take();
  }
}

function markStale(ledger: Ledger, key: string, reading: number): void {
  ledger.put(staleKey(key), String(reading));
  ledger.place.hasStale = true;
}

/** An object that changed while it was read is read with the next listing. */
function giveUp(
  ledger: Ledger,
  object: Unfinished,
  { key, listed, known }: FetchedTask & { listed: StoredObject },
): void {
  ledger.storeIds();
  const derived = Math.max(object.derived, object.high);
  const hasOwn = object.hasOwn || object.hadOwn;
  if (derived === 0 && !hasOwn) return;
  ledger.put(objectKey(key), objectValue({ version: '', size: listed.size, derived, hasOwn }));
  count(ledger, known, listed);
}

/** What an object is refused for. Throws what is no fault of the object. */
function refusalOf(bucket: string, { key, place }: Unfinished, error: unknown) {
  const behind = place.rows === 0 ? '' : ` behind its first ${place.rows} documents`;
  if (error instanceof ObjectRefused) return { item: `${bucket}/${key}`, reason: error.message };
  if (error instanceof ApiError && error.code === 'invalid_input')
    return { item: `${bucket}/${key}`, reason: `cannot be read${behind}: ${error.message}` };
  throw error;
}

function count({ place: { figures } }: Ledger, known: KnownObject | undefined, listed: StoredObject | undefined): void {
  figures.object_count_downloaded += (listed === undefined ? 0 : 1) - (known === undefined ? 0 : 1);
  figures.object_bytes_downloaded += (listed?.size ?? 0) - (known?.size ?? 0);
}
