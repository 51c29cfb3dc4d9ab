import { ApiError } from '../../contract/errors.ts';
import { type JsonObject, stringifyJson } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import {
  type BatchOutcome,
  type DocumentsText,
  derivedId,
  type Engine,
  type NewDocument,
  type OpenedRow,
  type RowsPart,
} from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SourceState } from '../catalog/records.ts';
import type { Usage } from '../compute/usage.ts';
import { takeIn } from '../ingest/intake.ts';
import { textOf, textOfRows } from './batch-text.ts';
import { documentOfText, refusedItem } from './items.ts';
import {
  type FileRows,
  type ParsedChange,
  REFUSED_TEXT_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceChange,
  type TextRows,
} from './source.ts';
import { type PlacedSource, putRefused, putState, stateOf } from './states.ts';
import { changesOf, itemsIn, lastItemOf } from './text-rows.ts';

export interface StoringContext {
  engine: Engine;
  catalog: Catalog;
  usage: Usage;
}

/**
 * Items that are no documents, of a source that is to stop at them. Nothing of their batch counts as read; `arePartlyIn`: of the
 * rows of a file, those that were stored before stay, as they do of a load.
 */
export class RefusedError extends Error {
  readonly item: RefusedItem;
  constructor(item: RefusedItem, arePartlyIn = false) {
    const rest = arePartlyIn
      ? '; other rows near it are stored already, and are replaced when they are read again'
      : '';
    super(`${item.item} ${item.reason}${rest}`);
    this.item = item;
  }
}

/** The source is elsewhere than where its batch begins: somebody let it begin anew. Nothing of the batch is stored. */
export class MovedError extends Error {}

/** Where a source is, as what reads it knows: each batch follows on the one before. */
export interface Place {
  checkpoint: SourceState['checkpoint'];
}

/** What a batch is stored behind. */
interface Storing {
  after: Promise<unknown>;
  from: Place | undefined;
}

/** What is stored of a batch. */
interface Taken {
  documents: readonly NewDocument[] | DocumentsText | RowsPart;
  /** Of which change each document is. */
  changes: readonly SourceChange[];
  /** The size of each, unless they are text. */
  sizes?: readonly number[];
  deletes: readonly string[];
  refused: readonly RefusedItem[];
  /** How many the collection's query leaves out. */
  dropped: number;
  /** Whether others of the batch's file are stored already. */
  arePartlyIn?: boolean;
  /** Whether the rest of the batch's file comes behind it: then nothing counts yet. */
  isUnfinished?: (done: BatchOutcome) => boolean;
}

/**
 * Stores a batch of a source: its documents as the collection's settings make them, its deletes, memory and state, in one
 * durable step. Throws `RefusedError` if the source stops at items that are no documents, and `MovedError` if it is no longer at
 * `from`. It is looked at before `after` has resolved, and stored then; nothing is if that rejects.
 */
export async function storeChanges(
  context: StoringContext,
  placed: PlacedSource,
  batch: SourceBatch,
  signal: AbortSignal,
  { after = Promise.resolve(), from }: { after?: Promise<unknown>; from?: Place } = {},
): Promise<void> {
  const { changes, rows = [], file, refused: own } = batch;
  const how = { after, from };
  if (file !== undefined) {
    await storeFile(context, placed, batch, { file, how, signal }).finally(() => file.release());
    return;
  }
  const storeText = async (text: DocumentsText | undefined, given: readonly SourceChange[], deletes: string[]) => {
    if (text === undefined) return false;
    const taken = { documents: text, changes: given, deletes, refused: own, dropped: 0 };
    return (await store(context, placed, batch, how, taken)) !== undefined;
  };
  const areRows = changes.length === 0 && rows.length > 0;
  if (areRows && (await storeText(textOfRows(placed.collection, rows), [], []))) return;
  const last = lastOf(rows.length === 0 ? changes : [...changes, ...rows.flatMap(changesOf)]);
  const gone = idsWhere(last, ({ document }) => document === null);
  const given = gone.length === 0 ? last : last.filter(({ document }) => document !== null);
  if (!areRows && (await storeText(textOf(placed.collection, given), given, gone))) return;
  const taken = await takenOf({ engine: context.engine, signal }, placed, given, gone, own);
  await store(context, placed, batch, how, taken);
}

async function takenOf(
  ctx: { engine: Engine; signal: AbortSignal },
  placed: PlacedSource,
  given: readonly SourceChange[],
  gone: readonly string[],
  own: readonly RefusedItem[],
): Promise<Taken> {
  const { ready, refused, dropped, deletes } = await prepare(ctx, placed, given);
  const documents = ready.map(({ document }) => document);
  const ids = new Set(documents.map(({ id }) => id));
  return {
    documents,
    changes: ready.map(({ change }) => change),
    sizes: ready.map(({ bytes }) => bytes),
    deletes: [...gone, ...deletes].filter((id) => !ids.has(id)),
    refused: [...own, ...refused],
    dropped,
  };
}

interface StoredBatch {
  outcome: BatchOutcome;
  /** Whether the rest of it comes behind. */
  isUnfinished: boolean;
  refused: readonly RefusedItem[];
}

/** Undefined: nothing is stored, since documents as text need a closer look. */
async function store(
  { engine, catalog, usage }: StoringContext,
  placed: PlacedSource,
  batch: SourceBatch,
  { after, from }: Storing,
  { documents, changes, sizes, deletes, refused, dropped, arePartlyIn, isUnfinished }: Taken,
): Promise<StoredBatch | undefined> {
  const { collection, index, source } = placed;
  const stopAt = (item: RefusedItem | undefined) => {
    if (item !== undefined && source.onError === 'stop') throw new RefusedError(item, arePartlyIn);
  };
  if (refused.length > 0) {
    await after;
    stopAt(refused[0]);
  }
  const stored = { isUnfinished: false, refused };
  const storing = engine.storeBatch(collection.table, {
    documents,
    // What the collection's query leaves out now was perhaps in before.
    deletes,
    orGone: idsWhere(changes, ({ isOrGone }) => isOrGone === true),
    memory: batch.memory && { source: index, ...batch.memory },
    after,
    records(done) {
      const failed = done.documents.flatMap((one, place) => {
        const change = changes[place];
        return one.status === 'error' && change !== undefined ? [refusalOf(change, one.message)] : [];
      });
      stopAt(failed[0]);
      stored.isUnfinished = isUnfinished?.(done) === true;
      stored.refused = [...refused, ...failed];
      const now = new Date().toISOString();
      const items = stored.refused.map(({ item, reason, text = null }) => ({ at: now, item, reason, text }));
      const before = stateOf(catalog, placed);
      if (from !== undefined && !isSame(before.checkpoint, from.checkpoint)) throw new MovedError();
      if (stored.isUnfinished) return [putState(placed, { ...before, checkpoint: batch.file?.unfinished ?? null })];
      const state = nextState(before, batch, items.length, now);
      return [putState(placed, state), ...putRefused(catalog, placed, items)];
    },
  });
  const outcome = await storing.catch((error: unknown) => {
    // The engine tells what it was given to do, and why that failed.
    const own = error instanceof ApiError ? error.cause : error;
    throw own instanceof MovedError || own instanceof RefusedError ? own : error;
  });
  if (outcome === undefined) return undefined;
  if (from !== undefined) from.checkpoint = stored.isUnfinished ? (batch.file?.unfinished ?? null) : batch.checkpoint;
  const { rows } = outcome;
  const size = rows === undefined ? { inserted: 0, overwritten: 0 } : sizeOf(batch, rows);
  for (const [place, { status, bytes = sizes?.[place] ?? 0 }] of outcome.documents.entries()) {
    if (status !== 'error') size.inserted += bytes;
    if (status === 'replaced') size.overwritten += bytes;
  }
  if (size.inserted > 0) usage.wrote(collection, size);
  usage.dropped(collection, dropped);
  return { outcome, ...stored };
}

/** Rows have bytes only as a whole. */
function sizeOf({ file, rows = [] }: SourceBatch, { added, replaced, others }: NonNullable<BatchOutcome['rows']>) {
  const bytes = file?.bytes ?? rows.reduce((sum, one) => sum + bytesOfLines(one), 0);
  const share = (rows: number) => Math.round((bytes * rows) / Math.max(1, added + replaced + others.length));
  return { inserted: share(added + replaced), overwritten: share(replaced) };
}

const RETURN = 0x0d;

/** But for what is between them. */
function bytesOfLines({ bytes, ends }: TextRows): number {
  const returns = ends.reduce((sum, end) => sum + (bytes[end - 1] === RETURN ? 1 : 0), 0);
  return bytes.length - (ends.length - 1) - returns;
}

/** Rows that are stored as documents in one step: some tenths of a second. */
const OTHERS_AT_ONCE = 5_000;

/** Stores rows of a file: the engine itself those that fit its columns, and then the others as documents. */
async function storeFile(
  context: StoringContext,
  placed: PlacedSource,
  batch: SourceBatch,
  { file, how, signal }: { file: FileRows; how: Storing; signal: AbortSignal },
): Promise<void> {
  const deletes = batch.changes.map(({ id }) => id);
  const given = { documents: file.part, changes: [], deletes, refused: batch.refused, dropped: 0 };
  const isUnfinished = ({ rows }: BatchOutcome) => rows !== undefined && rows.others.length > 0;
  const stored = await store(context, placed, batch, how, { ...given, isUnfinished });
  const others = stored?.outcome.rows?.others ?? [];
  let { refused } = batch;
  for (let at = 0; at < others.length; at += OTHERS_AT_ONCE) {
    signal.throwIfAborted();
    const { changes, gone, refused: own } = othersOf(file, others.slice(at, at + OTHERS_AT_ONCE));
    const taken = await takenOf({ engine: context.engine, signal }, placed, changes, gone, [...refused, ...own]);
    const isLast = at + OTHERS_AT_ONCE >= others.length;
    const rest = { ...batch, memory: undefined };
    const next = await store(context, placed, rest, how, { ...taken, arePartlyIn: true, isUnfinished: () => !isLast });
    refused = next?.refused ?? refused;
  }
}

function othersOf({ prefix, object, storedTo }: FileRows, rows: readonly OpenedRow[]) {
  const changes: ParsedChange[] = [];
  const gone: string[] = [];
  const refused: RefusedItem[] = [];
  for (const one of rows) {
    const derived = derivedId(prefix, one.at);
    const item = `${object}/${one.at}`;
    const read = one.read();
    if ('why' in read) {
      refused.push({ item, reason: `${read.why} (row ${one.at})` });
      gone.push(derived);
      continue;
    }
    const { _id: own = null, ...document } = read.document;
    const id = own === null ? derived : String(own);
    changes.push({ id, item, document, declared: read.declared, isOrGone: own === null && one.at <= storedTo });
  }
  return { changes, gone, refused };
}

function isSame(one: SourceState['checkpoint'], other: SourceState['checkpoint']): boolean {
  return one === other || stringifyJson(one) === stringifyJson(other);
}

/** There are mostly none: a list for each, as `flatMap` has it, takes longer than all else here. */
function idsWhere(changes: readonly SourceChange[], is: (change: SourceChange) => boolean): string[] {
  const ids: string[] = [];
  for (const change of changes) if (is(change)) ids.push(change.id);
  return ids;
}

/** The last change of each id, in order. */
function lastOf(changes: readonly SourceChange[]): readonly SourceChange[] {
  if (new Set(changes.map(({ id }) => id)).size === changes.length) return changes;
  const last = new Map<string, SourceChange>();
  for (const change of changes) {
    // Behind what came between, so that the order is that of the changes that count.
    last.delete(change.id);
    last.set(change.id, change);
  }
  return [...last.values()];
}

/** A document that is ready to be stored. */
interface Ready {
  change: ParsedChange;
  document: NewDocument;
  bytes: number;
}

async function prepare(
  ctx: { engine: Engine; signal: AbortSignal },
  { collection }: PlacedSource,
  given: readonly SourceChange[],
) {
  const refused: RefusedItem[] = [];
  const deletes: string[] = [];
  const changes = await parsed(given, refused, deletes);
  const documents = changes.map(({ id, document }) => ({ ...document, _id: id }));
  const prepared = await takeIn(ctx, collection, documents);
  const ready: Ready[] = [];
  let dropped = 0;
  for (const [place, one] of prepared.entries()) {
    const change = changes[place];
    if (change === undefined) throw new ApiError('internal', 'A document of the source was lost.');
    if ('document' in one) {
      const declared = declaredOf(one.document, change);
      ready.push({ change, document: { ...one.document, declared }, bytes: one.bytes });
    } else if ('isDropped' in one) {
      deletes.push(change.id);
      dropped += 1;
    } else {
      refused.push(refusalOf(change, one.problem));
      if (change.isOrGone === true) deletes.push(change.id);
    }
  }
  return { ready, refused, dropped, deletes };
}

/** The documents of changes; adds the others to those refused, and the ids of what goes with them. */
async function parsed(
  changes: readonly SourceChange[],
  refused: RefusedItem[],
  deletes: string[],
): Promise<ParsedChange[]> {
  const all: ParsedChange[] = [];
  const pace = createPace();
  for (const change of changes) {
    if (change.text === undefined) {
      all.push(change);
      continue;
    }
    const { id, item, declared, text, line, isOrGone } = change;
    const read = await documentOfText(change);
    if ('document' in read) all.push({ id, item, declared, line, isOrGone, document: read.document });
    else {
      refused.push(refusedItem(item, at(read.reason, line), text));
      if (isOrGone === true) deletes.push(id);
    }
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return all;
}

/** The types that mappings gave fields, and the source's of those that they left as they were. */
function declaredOf({ fields, declared }: NewDocument, change: ParsedChange): NewDocument['declared'] {
  const own: JsonObject = change.document ?? {};
  const left = [...(change.declared ?? [])].filter(([name]) => fields[name] === own[name]);
  return left.length === 0 ? declared : new Map([...left, ...(declared ?? [])]);
}

function refusalOf({ item, document, text, line }: SourceChange, why: string): RefusedItem {
  const reason = at(why, line);
  if (text !== undefined) return refusedItem(item, reason, text);
  return { item, reason, text: stringifyJson(document).slice(0, REFUSED_TEXT_MAX) };
}

const at = (reason: string, line: number | undefined) => (line === undefined ? reason : `${reason} (line ${line})`);

function nextState(before: SourceState, batch: SourceBatch, refused: number, at: string): SourceState {
  const { checkpoint, progress } = batch;
  const items = itemsIn(batch);
  return {
    ...before,
    checkpoint,
    phase: progress.phase,
    scanned: progress.scanned ?? before.scanned,
    scanTotal: progress.scanTotal ?? before.scanTotal,
    processed: before.processed + items - refused,
    refused: before.refused + refused,
    lastItem: lastItemOf(batch) ?? before.lastItem,
    lastItemAt: items > batch.refused.length ? at : before.lastItemAt,
  };
}
