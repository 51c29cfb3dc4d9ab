import { ApiError } from '../../contract/errors.ts';
import { type JsonObject, stringifyJson } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { DocumentsText, Engine, NewDocument } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SourceState } from '../catalog/records.ts';
import type { Usage } from '../compute/usage.ts';
import { takeIn } from '../ingest/intake.ts';
import { textOf, textOfRows } from './batch-text.ts';
import { documentOfText, refusedItem } from './items.ts';
import {
  type ParsedChange,
  REFUSED_TEXT_MAX,
  type RefusedItem,
  type SourceBatch,
  type SourceChange,
} from './source.ts';
import { type PlacedSource, putRefused, putState, stateOf } from './states.ts';
import { changesOf, itemsIn, lastItemOf } from './text-rows.ts';

export interface StoringContext {
  engine: Engine;
  catalog: Catalog;
  usage: Usage;
}

/** Items that are no documents, of a source that is to stop at them. Nothing of their batch is stored. */
export class RefusedError extends Error {
  readonly item: RefusedItem;
  constructor(item: RefusedItem) {
    super(`${item.item} ${item.reason}`);
    this.item = item;
  }
}

/** The source is elsewhere than where its batch begins: somebody let it begin anew. Nothing of the batch is stored. */
export class MovedError extends Error {}

/** Where a source is, as what reads it knows: each batch follows on the one before. */
export interface Place {
  checkpoint: SourceState['checkpoint'];
}

/** What is stored of a batch. */
interface Taken {
  documents: readonly NewDocument[] | DocumentsText;
  /** Of which change each document is. */
  changes: readonly SourceChange[];
  /** The size of each, unless they are text. */
  sizes?: readonly number[];
  deletes: readonly string[];
  refused: readonly RefusedItem[];
  /** How many the collection's query leaves out. */
  dropped: number;
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
  const { changes, rows = [], refused: own } = batch;
  const how = { after, from };
  const storeText = async (text: DocumentsText | undefined, given: readonly SourceChange[], deletes: string[]) => {
    if (text === undefined) return false;
    const taken = { documents: text, changes: given, deletes, refused: own, dropped: 0 };
    return await store(context, placed, batch, how, taken);
  };
  const areRows = changes.length === 0 && rows.length > 0;
  if (areRows && (await storeText(textOfRows(placed.collection, rows), [], []))) return;
  const last = lastOf(rows.length === 0 ? changes : [...changes, ...rows.flatMap(changesOf)]);
  const gone = idsWhere(last, ({ document }) => document === null);
  const given = gone.length === 0 ? last : last.filter(({ document }) => document !== null);
  if (!areRows && (await storeText(textOf(placed.collection, given), given, gone))) return;
  const { ready, refused, dropped, deletes } = await prepare({ engine: context.engine, signal }, placed, given);
  const documents = ready.map(({ document }) => document);
  const ids = new Set(documents.map(({ id }) => id));
  await store(context, placed, batch, how, {
    documents,
    changes: ready.map(({ change }) => change),
    sizes: ready.map(({ bytes }) => bytes),
    deletes: [...gone, ...deletes].filter((id) => !ids.has(id)),
    refused: [...own, ...refused],
    dropped,
  });
}

/** False: nothing is stored, since documents as text need a closer look. */
async function store(
  { engine, catalog, usage }: StoringContext,
  placed: PlacedSource,
  batch: SourceBatch,
  { after, from }: { after: Promise<unknown>; from: Place | undefined },
  { documents, changes, sizes, deletes, refused, dropped }: Taken,
): Promise<boolean> {
  const { collection, index, source } = placed;
  const stopAt = (item: RefusedItem | undefined) => {
    if (item !== undefined && source.onError === 'stop') throw new RefusedError(item);
  };
  if (refused.length > 0) {
    await after;
    stopAt(refused[0]);
  }
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
      const now = new Date().toISOString();
      const items = [...refused, ...failed].map(({ item, reason, text = null }) => ({ at: now, item, reason, text }));
      const before = stateOf(catalog, placed);
      if (from !== undefined && !isSame(before.checkpoint, from.checkpoint)) throw new MovedError();
      const state = nextState(before, batch, items.length, now);
      return [putState(placed, state), ...putRefused(catalog, placed, items)];
    },
  });
  const outcome = await storing.catch((error: unknown) => {
    // The engine tells what it was given to do, and why that failed.
    const own = error instanceof ApiError ? error.cause : error;
    throw own instanceof MovedError || own instanceof RefusedError ? own : error;
  });
  if (outcome === undefined) return false;
  if (from !== undefined) from.checkpoint = batch.checkpoint;
  const size = { inserted: 0, overwritten: 0 };
  for (const [place, { status, bytes = sizes?.[place] ?? 0 }] of outcome.documents.entries()) {
    if (status !== 'error') size.inserted += bytes;
    if (status === 'replaced') size.overwritten += bytes;
  }
  if (outcome.documents.length > 0) usage.wrote(collection, size);
  usage.dropped(collection, dropped);
  return true;
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
