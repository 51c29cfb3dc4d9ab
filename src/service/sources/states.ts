import type { RecordChange } from '../../engine/engine.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { collectionKey } from '../catalog/not-found.ts';
import type { CollectionRecord, ExternalSource, RecordOf, SourceState } from '../catalog/records.ts';
import { isFile } from '../ingest/sources.ts';
import type { RefusedItem } from './source.ts';

/** A source of a collection, by its place among them. */
export interface PlacedSource {
  collection: CollectionRecord;
  index: number;
  source: ExternalSource;
}

/** Refused items that are kept, the latest. */
const REFUSED_KEPT = 100;

export const NEW_STATE: SourceState = {
  checkpoint: null,
  phase: 'scan',
  scanned: null,
  scanTotal: null,
  processed: 0,
  refused: 0,
  lastItem: null,
  lastItemAt: null,
  isPaused: false,
  stopped: null,
};

/** The external sources of a collection. */
export function sourcesOf(collection: CollectionRecord): PlacedSource[] {
  return collection.sources.flatMap((source, index) => (isFile(source) ? [] : [{ collection, index, source }]));
}

/** Names a source in records. */
export function sourceKey({ collection, index }: Pick<PlacedSource, 'collection' | 'index'>): string {
  return `${collection.table}/${index}`;
}

/** How far a source is. */
export function stateOf(catalog: Pick<Catalog, 'all'>, placed: PlacedSource): SourceState {
  return catalog.all('source').get(sourceKey(placed)) ?? NEW_STATE;
}

/** Its latest items that are no documents, newest first. */
export function refusedItemsOf(catalog: Pick<Catalog, 'all'>, placed: PlacedSource): RecordOf<'refusedItems'>['items'] {
  return catalog.all('refusedItems').get(sourceKey(placed))?.items ?? [];
}

export function putState(placed: PlacedSource, state: SourceState): RecordChange {
  return put('source', sourceKey(placed), state);
}

/** Adds items to those that are kept; no change without any. */
export function putRefused(
  catalog: Pick<Catalog, 'all'>,
  placed: PlacedSource,
  items: RecordOf<'refusedItems'>['items'],
): RecordChange[] {
  if (items.length === 0) return [];
  const kept = [...items.toReversed(), ...refusedItemsOf(catalog, placed)].slice(0, REFUSED_KEPT);
  return [put('refusedItems', sourceKey(placed), { items: kept })];
}

/** Whether the collection of a source is no longer there. */
export function isGone(catalog: Pick<Catalog, 'all'>, { collection }: PlacedSource): boolean {
  const current = catalog.all('collection').get(collectionKey(collection.workspace, collection.name));
  return current?.table !== collection.table;
}

/** Lets a source stand still until a person lets it go on, and keeps the item that it met, if it is because of one. */
export async function standStill(
  catalog: Catalog,
  placed: PlacedSource,
  reason: string,
  refused?: RefusedItem,
): Promise<void> {
  const at = new Date().toISOString();
  const items =
    refused === undefined ? [] : [{ at, item: refused.item, reason: refused.reason, text: refused.text ?? null }];
  await catalog.change(() => {
    if (isGone(catalog, placed)) return { changes: [], result: undefined };
    const state = { ...stateOf(catalog, placed), stopped: { at, item: refused?.item ?? null, reason } };
    return { changes: [putState(placed, state), ...putRefused(catalog, placed, items)], result: undefined };
  });
}

/** What is removed together with a collection that goes for good. */
export function sourceRemovals(catalog: Pick<Catalog, 'all'>, collection: CollectionRecord): RecordChange[] {
  return sourcesOf(collection).flatMap((placed) => {
    const key = sourceKey(placed);
    return (['source', 'refusedItems'] as const).flatMap((kind) =>
      catalog.all(kind).has(key) ? [remove(kind, key)] : [],
    );
  });
}
