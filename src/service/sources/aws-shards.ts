import { isObject, type JsonObject } from '../../contract/json/json.ts';
import type { Shard, ShardLog, ShardPlace } from './aws-shard-log.ts';
import { createShardPages } from './aws-shard-pages.ts';
import { createCollecting } from './items.ts';
import type { SourceBatch, SourceProgress } from './source.ts';

/*
 * Reads a log that is cut into shards, which end and have children: a stream of Kinesis or of a table of DynamoDB. A shard is
 * read when its parents have been, so that what happened to one key is met in its order.
 */

/** The shards that were begun, by their ids; `ended`: read to its end. */
export type ShardPlaces = Map<string, ShardPlace | 'ended'>;

/** Wraps the places, as `placesTo` has them, into a checkpoint with what else the source has there. */
export interface ShardBatches {
  checkpoint(shards: JsonObject): JsonObject;
  /** `isThrough`: everything that there was has been read, once. */
  progress(isThrough: boolean): SourceProgress;
}

const LIST_MS = 20_000;
const LIST_AGAIN_MS = 1_000;
const QUIET_MS = 1_000;

/** Reads on without end, as the shards come and go. `places` is brought up to date. */
export async function* readShards<R>(
  log: ShardLog<R>,
  places: ShardPlaces,
  batches: ShardBatches,
  outer: AbortSignal,
): AsyncGenerator<SourceBatch> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([outer, stopping.signal]);
  const pages = createShardPages(log, signal);
  const collecting = createCollecting();
  let newestMs: number | undefined;
  let isThrough = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  let listedAt = 0;
  let listAt = 0;
  // Whether a shard has ended whose children are not read yet.
  let isEndMet = false;
  const batch = () => {
    saidAt = performance.now();
    const progress = { ...batches.progress(isThrough), itemTimeMs: newestMs };
    newestMs = undefined;
    return collecting.take(batches.checkpoint(placesTo(places)), progress);
  };
  try {
    for (;;) {
      if (performance.now() >= listAt) {
        pages.read(begin(log, places, await log.list(signal)));
        listedAt = performance.now();
        listAt = listedAt + LIST_MS;
        isEndMet = false;
      }
      const got = await pages.next(Math.min(listAt, performance.now() + QUIET_MS));
      if (got !== undefined) {
        const { shard, place, page, atMs } = got;
        for (const record of page.records) {
          await log.take(record, shard, collecting);
          place.after = log.sequenceOf(record);
          newestMs = log.timeOf(record) ?? newestMs;
          if (collecting.isFull) yield batch();
        }
        if (page.behindMs !== undefined) place.seen = atMs - page.behindMs;
        if (page.behindMs !== undefined && page.behindMs > 0 && collecting.isEmpty) newestMs = place.seen;
        // What a service has dropped meanwhile it passes over without a word.
        if (log.isDoubtful?.(place) === true) await log.iterator(shard, place, signal);
        if (page.next === undefined) {
          places.set(shard, 'ended');
          listAt = Math.min(listAt, Math.max(listedAt + LIST_AGAIN_MS, performance.now()));
          isEndMet = true;
        } else isThrough ||= pages.isThrough && !isEndMet;
      }
      const isDue = performance.now() - saidAt >= QUIET_MS;
      if (!pages.isReady && (!collecting.isEmpty || isDue)) yield batch();
    }
  } finally {
    stopping.abort();
  }
}

/**
 * The shards that are to be read, by their ids: those that were begun, and those whose parents are through. Throws what the
 * log says of a shard that is no more, though it was not read to its end.
 */
function begin<R>(log: ShardLog<R>, places: ShardPlaces, shards: readonly Shard[]): Map<string, ShardPlace> {
  const listed = new Set(shards.map(({ id }) => id));
  for (const [id, place] of places) {
    if (listed.has(id)) continue;
    if (place !== 'ended') throw log.lost(id);
    places.delete(id);
  }
  const open = new Map<string, ShardPlace>();
  for (const { id, parents } of shards) {
    let place = places.get(id);
    if (place === undefined && parents.every((parent) => !listed.has(parent) || places.get(parent) === 'ended')) {
      place = {};
      places.set(id, place);
    }
    if (place !== undefined && place !== 'ended') open.set(id, place);
  }
  return open;
}

export function placesFrom(shards: unknown): ShardPlaces {
  const places: ShardPlaces = new Map();
  for (const [id, value] of isObject(shards) ? Object.entries(shards) : []) {
    const { after, seen } = isObject(value) ? value : {};
    const place = {
      ...(typeof after === 'string' && { after }),
      ...(typeof seen === 'number' && { seen }),
    };
    places.set(id, isObject(value) ? place : 'ended');
  }
  return places;
}

export function placesTo(places: ShardPlaces): JsonObject {
  return Object.fromEntries(
    [...places].map(([id, place]): [string, JsonObject | string] => [id, place === 'ended' ? place : { ...place }]),
  );
}
