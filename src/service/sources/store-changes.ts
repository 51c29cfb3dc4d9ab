import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { Engine, NewDocument } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SourceState } from '../catalog/records.ts';
import type { Usage } from '../compute/usage.ts';
import { takeIn } from '../ingest/intake.ts';
import { REFUSED_TEXT_MAX, type RefusedItem, type SourceBatch, type SourceChange } from './source.ts';
import { type PlacedSource, putRefused, putState, stateOf } from './states.ts';

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

interface Ready {
  change: SourceChange;
  document: NewDocument;
  bytes: number;
}

/**
 * Stores a batch of a source: its documents as the collection's settings make them, its deletes, memory and state, in one
 * durable step. Throws `RefusedError` if the source stops at items that are no documents.
 */
export async function storeChanges(
  { engine, catalog, usage }: StoringContext,
  placed: PlacedSource,
  batch: SourceBatch,
  signal: AbortSignal,
): Promise<void> {
  const { collection, index, source } = placed;
  const last = lastOf(batch.changes);
  const given = last.filter((change) => change.document !== null);
  const { ready, refused, dropped, droppedIds } = await prepare({ engine, signal }, placed, given);
  const allRefused = [...batch.refused, ...refused];
  const [first] = allRefused;
  if (first !== undefined && source.onError === 'stop') throw new RefusedError(first);
  const ids = new Set(ready.map(({ document }) => document.id));
  const gone = last.flatMap(({ id, document }) => (document === null ? [id] : []));
  const at = new Date().toISOString();
  const records: ReturnType<typeof putState>[] = [];
  const outcome = await engine.storeBatch(collection.table, {
    documents: ready.map(({ document }) => document),
    // What the collection's query leaves out now was perhaps in before.
    deletes: [...gone, ...droppedIds].filter((id) => !ids.has(id)),
    memory: batch.memory && { source: index, ...batch.memory },
    records({ documents }) {
      const failed = documents.flatMap((one, place) => {
        const change = ready[place]?.change;
        return one.status === 'error' && change !== undefined ? [refusalOf(change, one.message)] : [];
      });
      const [unfit] = failed;
      if (unfit !== undefined && source.onError === 'stop') throw new RefusedError(unfit);
      const items = [...allRefused, ...failed].map(({ item, reason, text }) => ({
        at,
        item,
        reason,
        text: text ?? null,
      }));
      const state = nextState(stateOf(catalog, placed), batch, items.length, at);
      records.push(putState(placed, state), ...putRefused(catalog, placed, items));
      return records;
    },
  });
  for (const record of records) catalog.stored(record);
  count(usage, placed, ready, outcome.documents);
  usage.dropped(collection, dropped);
}

/** The last change of each id, in order. */
function lastOf(changes: readonly SourceChange[]): SourceChange[] {
  const last = new Map<string, SourceChange>();
  for (const change of changes) {
    // Behind what came between, so that the order is that of the changes that count.
    last.delete(change.id);
    last.set(change.id, change);
  }
  return [...last.values()];
}

async function prepare(
  ctx: { engine: Engine; signal: AbortSignal },
  { collection }: PlacedSource,
  changes: readonly SourceChange[],
) {
  const documents = changes.map(({ id, document }) => ({ ...document, _id: id }));
  const prepared = await takeIn(ctx, collection, documents);
  const ready: Ready[] = [];
  const refused: RefusedItem[] = [];
  const droppedIds: string[] = [];
  for (const [place, one] of prepared.entries()) {
    const change = changes[place];
    if (change === undefined) throw new ApiError('internal', 'A document of the source was lost.');
    if ('document' in one) {
      const declared = declaredOf(one.document, change);
      ready.push({ change, document: { ...one.document, declared }, bytes: one.bytes });
    } else if ('isDropped' in one) droppedIds.push(change.id);
    else refused.push(refusalOf(change, one.problem));
  }
  return { ready, refused, dropped: droppedIds.length, droppedIds };
}

/** The types that mappings gave fields, and the source's of those that they left as they were. */
function declaredOf({ fields, declared }: NewDocument, change: SourceChange): NewDocument['declared'] {
  const own: JsonObject = change.document ?? {};
  const left = [...(change.declared ?? [])].filter(([name]) => fields[name] === own[name]);
  return left.length === 0 ? declared : new Map([...left, ...(declared ?? [])]);
}

function refusalOf({ item, document }: SourceChange, reason: string): RefusedItem {
  return { item, reason, text: stringifyJson(document).slice(0, REFUSED_TEXT_MAX) };
}

function nextState(before: SourceState, batch: SourceBatch, refused: number, at: string): SourceState {
  const { changes, checkpoint, progress } = batch;
  const items = changes.length + batch.refused.length;
  return {
    ...before,
    checkpoint,
    phase: progress.phase,
    scanned: progress.scanned ?? before.scanned,
    scanTotal: progress.scanTotal ?? before.scanTotal,
    processed: before.processed + items - refused,
    refused: before.refused + refused,
    lastItem: changes.at(-1)?.item ?? before.lastItem,
    lastItemAt: changes.length > 0 ? at : before.lastItemAt,
  };
}

function count(
  usage: Usage,
  { collection }: PlacedSource,
  ready: readonly Ready[],
  outcomes: readonly { status: string }[],
): void {
  const size = { inserted: 0, overwritten: 0 };
  for (const [place, { status }] of outcomes.entries()) {
    const bytes = ready[place]?.bytes ?? 0;
    if (status !== 'error') size.inserted += bytes;
    if (status === 'replaced') size.overwritten += bytes;
  }
  if (outcomes.length > 0) usage.wrote(collection, size);
}
