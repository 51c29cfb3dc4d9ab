import type { Document } from 'mongodb';
import type { JsonObject } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { type ClusterTime, closed, type Place, sessionFrom, settled, slicesOf } from './mongodb-connection.ts';
import { type ChangeEvent, extendedToken, openEvents, type Token } from './mongodb-events.ts';
import { rawId } from './mongodb-ids.ts';
import { createItems } from './mongodb-items.ts';
import type { ChangeCount, MongoCheckpoint } from './mongodb-status.ts';
import { type SourceBatch, SourceError } from './source.ts';

/** A batch is given after this time, in milliseconds, if it is not full before. */
const BATCH_MS = 50;
const IDLE_MS = 1_000;
/** Documents that are read by their `_id`s at once. */
const LOOKUPS_MAX = 500;

export interface Followed {
  place: Place;
  /** Whether the change stream brings the documents of updates; else they are read here, many at once. */
  isFull: boolean;
}

/** Events that end a change stream, and what happened. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['drop', 'was dropped'],
  ['dropDatabase', 'was dropped with its database'],
  ['rename', 'was renamed, or replaced by another one that was renamed'],
  ['invalidate', 'was dropped or renamed'],
]);

/** The changes behind a checkpoint. Never ends by itself. */
export async function* follow(
  followed: Followed,
  from: MongoCheckpoint,
  signal: AbortSignal,
): AsyncGenerator<SourceBatch> {
  const events = openEvents(followed.place, from.token, followed.isFull, signal);
  const batches = createBatches(followed, from);
  const pace = createPace();
  try {
    for (;;) {
      const event = events.next();
      if (event === undefined) {
        if (batches.isDue || !batches.isStarted) {
          batches.reach(events.takeIdleToken());
          yield* batches.take(signal);
          await settled();
        }
        await events.wait(batches.isStarted ? BATCH_MS : IDLE_MS);
        signal.throwIfAborted();
        continue;
      }
      const end = ENDS.get(event.kind);
      if (end !== undefined) {
        yield* batches.take(signal);
        throw ended(followed.place, end);
      }
      batches.add(event);
      if (batches.isFull || batches.isDue) {
        yield* batches.take(signal);
        await settled();
      }
      const turn = pace();
      if (turn !== undefined) await turn.then(settled);
    }
  } finally {
    await events.close();
  }
}

function ended({ collection }: Place, what: string): SourceError {
  return new SourceError(
    'lost',
    `The collection "${collection.namespace}" ${what} in MongoDB, so no changes follow; the documents that were read are still here. If it is there again, delete those that are to go first.`,
  );
}

interface Batches {
  /** Whether anything is collected. */
  readonly isStarted: boolean;
  readonly isFull: boolean;
  /** Whether what is collected has waited for long enough. */
  readonly isDue: boolean;
  add(event: ChangeEvent): void;
  /** All up to this token is collected. */
  reach(token: Token | undefined): void;
  /** What was collected. */
  take(signal: AbortSignal): AsyncGenerator<SourceBatch>;
}

function createBatches({ place, isFull: isWithDocuments }: Followed, from: MongoCheckpoint): Batches {
  const items = createItems(place.collection.collectionName, from.plain);
  /** `_id`s of updated documents that are to be read, by their text. */
  const lookups = new Map<string, unknown>();
  /** Events that are collected, by kind. */
  const kinds = new Map<string, number>();
  let at = from;
  let newest = from.time;
  let token: Token | undefined;
  let itemTimeMs: number | undefined;
  let startedAt: number | undefined;

  const batch = () => items.collecting.take(at as unknown as JsonObject, { phase: 'changes', itemTimeMs });

  return {
    get isStarted() {
      return startedAt !== undefined;
    },
    get isFull() {
      return items.collecting.isFull || lookups.size >= LOOKUPS_MAX;
    },
    get isDue() {
      return startedAt !== undefined && performance.now() - startedAt >= BATCH_MS;
    },
    add({ kind, token: own, time, atMs, key, document }) {
      startedAt ??= performance.now();
      token = own;
      itemTimeMs = atMs;
      newest = time ?? newest;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      const id = key && items.idOf(key.bytes, key.id);
      if (key === undefined || id === undefined) return;
      lookups.delete(id);
      if (kind === 'delete') items.remove(key.bytes, key.id);
      // An update without a document: it is gone by now, which is told by an event that follows.
      else if (document !== undefined) items.add(document);
      else if (!isWithDocuments) lookups.set(id, rawId(key.bytes, key.id));
    },
    reach(idle) {
      token = idle ?? token;
    },
    async *take(signal) {
      if (token === undefined) return;
      if (lookups.size > 0) {
        // What is full on the way has the checkpoint before: the events are read again if this does not come to an end.
        at = { ...at, plain: items.plain };
        for await (const bytes of readById(place, newest, [...lookups.values()], signal)) {
          items.add(bytes);
          if (items.collecting.isFull) yield batch();
        }
        lookups.clear();
      }
      at = { ...counted(at, kinds), token: extendedToken(token), time: newest, plain: items.plain };
      kinds.clear();
      token = undefined;
      startedAt = undefined;
      yield batch();
      itemTimeMs = undefined;
    },
  };
}

/** The checkpoint with so many changes more. */
function counted(at: MongoCheckpoint, kinds: ReadonlyMap<string, number>): MongoCheckpoint {
  const now = new Date().toISOString();
  const more = (before: ChangeCount, ...of: string[]): ChangeCount => {
    const count = of.reduce((sum, kind) => sum + (kinds.get(kind) ?? 0), 0);
    return count === 0 ? before : { count: before.count + count, at: now };
  };
  return {
    ...at,
    inserted: more(at.inserted, 'insert'),
    updated: more(at.updated, 'update', 'replace'),
    deleted: more(at.deleted, 'delete'),
  };
}

/** Documents as they are now, or at least at this time, as BSON; those that are gone are left out. */
async function* readById(
  place: Place,
  time: ClusterTime | null,
  ids: unknown[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const session = sessionFrom(place, time);
  try {
    const filter: Document = { _id: { $in: ids } };
    const cursor = place.collection.find<Buffer>(filter, { raw: true, session, readConcern: 'majority', signal });
    for await (const slice of slicesOf(cursor)) yield* slice;
  } finally {
    await closed(session.endSession());
  }
}
