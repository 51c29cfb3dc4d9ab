import type { ClientSession } from 'mongodb';
import { BSON } from 'mongodb';
import { readMongodbUri } from '../../contract/integrations.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { Element } from './mongodb-bson.ts';
import { closed, createConnection, noReplicaSet, type Place, sessionFrom, slicesOf } from './mongodb-connection.ts';
import { extendedId, idFromExtended } from './mongodb-ids.ts';
import { createItems, idIn } from './mongodb-items.ts';
import type { MongoCheckpoint } from './mongodb-status.ts';
import { follow } from './mongodb-stream.ts';
import { type SourceBatch, SourceError, type SourceOptions, type SourceReader } from './source.ts';

/*
 * A collection of MongoDB. First a change stream is opened and its resume token taken, then all documents are read in the
 * order of their `_id`, then the changes behind the token.
 */

/** As many documents are asked for at once; no answer has more than 16 MB. */
const ANSWER = 2_000;
/** A batch is not held back for longer than this, in milliseconds, where documents come slowly. */
const BATCH_MS = 1_000;
/** The position is told with the first answer, which comes at once if this is short. */
const POSITION_WAIT_MS = 10;

export async function openSource(options: SourceOptions): Promise<SourceReader> {
  const { settings } = options;
  const connection = createConnection(options);
  const { using } = connection;
  return {
    check: (signal) =>
      using(signal, async (place) => {
        await requireCollection(place, options, signal);
        await position(place);
        await place.collection.find({}, { raw: true, limit: 1, signal }).next();
      }),
    async *read(from, signal) {
      let at = from as unknown as MongoCheckpoint | undefined;
      if (at === undefined) {
        at = await using(signal, async (place) => begin(place, await position(place)));
        yield { changes: [], refused: [], checkpoint: at as unknown as JsonObject, progress: scanProgress(at) };
      }
      try {
        if (at.scan.ended === null) {
          const place = await using(signal, async (one) => one);
          for await (const batch of scan(place, at, signal)) {
            at = batch.checkpoint as unknown as MongoCheckpoint;
            yield batch;
          }
        }
        const place = await using(signal, async (one) => one);
        yield* follow({ place, isFull: settings['retrieve_full_document'] !== false }, at, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw connection.faultOf(error);
      }
    },
    close: connection.close,
  };
}

/** Whether it is there, is a collection, and is where changes can be followed. */
async function requireCollection(
  { db, collection }: Place,
  { connection, settings }: SourceOptions,
  signal: AbortSignal,
): Promise<void> {
  const hosts = readMongodbUri(String(connection['connection_uri']))?.hosts ?? '';
  // Older servers do not know it as `hello`.
  const hello = await db.command({ isMaster: 1 }, { signal });
  if (typeof hello['setName'] !== 'string' && hello['msg'] !== 'isdbgrid') throw noReplicaSet(hosts);
  const named = await db
    .listCollections({ name: collection.collectionName }, { nameOnly: true, authorizedCollections: true, signal })
    .toArray();
  const found = named.find(({ name }) => name === collection.collectionName);
  const name = `"${String(settings['collection_name'])}"`;
  const where = `in the database "${db.databaseName}" of MongoDB at ${hosts}`;
  if (found === undefined) throw new SourceError('settings', `There is no collection ${name} ${where}.`);
  if (found.type !== undefined && found.type !== 'collection') {
    throw new SourceError(
      'settings',
      `${name} ${where} is a ${found.type}, and only of a collection can changes be followed.`,
    );
  }
}

/** Where the change stream is now. */
async function position({ client, collection }: Place): Promise<Pick<MongoCheckpoint, 'token' | 'time'>> {
  const session = client.startSession();
  // An event that comes meanwhile is before the scan, which sees it.
  const stream = collection.watch([{ $project: { _id: 1 } }], { session, maxAwaitTimeMS: POSITION_WAIT_MS });
  try {
    await stream.tryNext();
    const token = stream.resumeToken as BSON.Document | null | undefined;
    if (token === null || token === undefined)
      throw new SourceError('settings', 'This MongoDB gives no resume tokens; version 4.2 or newer does.');
    return { token: BSON.EJSON.serialize(token, { relaxed: false }) as JsonObject, time: timeOf(session) };
  } finally {
    await closed(stream.close());
    await closed(session.endSession());
  }
}

function timeOf({ operationTime: time }: ClientSession): MongoCheckpoint['time'] {
  return time === undefined ? null : { t: time.t, i: time.i };
}

async function begin(
  { collection }: Place,
  { token, time }: Pick<MongoCheckpoint, 'token' | 'time'>,
): Promise<MongoCheckpoint> {
  const none = { count: 0, at: null };
  const total = await collection.estimatedDocumentCount();
  return {
    token,
    time,
    plain: null,
    scan: { started: new Date().toISOString(), ended: null, seen: 0, total, last: null },
    inserted: none,
    updated: none,
    deleted: none,
  };
}

function scanProgress({ scan }: MongoCheckpoint): SourceBatch['progress'] {
  return {
    phase: scan.ended === null ? 'scan' : 'changes',
    scanned: scan.seen,
    scanTotal: scan.total === null ? undefined : Math.max(scan.total, scan.seen),
  };
}

/** All documents, in the order of their `_id`. */
async function* scan(place: Place, from: MongoCheckpoint, signal: AbortSignal): AsyncGenerator<SourceBatch> {
  const { collection } = place;
  const session = sessionFrom(place, from.time);
  const items = createItems(collection.collectionName, from.plain);
  const pace = createPace();
  let { seen } = from.scan;
  let latest: { bytes: Buffer; id: Element } | undefined;
  let yieldedAt = performance.now();
  const take = (ended: string | null): SourceBatch => {
    const last = latest === undefined ? from.scan.last : extendedId(latest.bytes, latest.id);
    const scan = { ...from.scan, seen, last: ended === null ? last : null, ended };
    const at: MongoCheckpoint = { ...from, plain: items.plain, scan };
    yieldedAt = performance.now();
    return items.collecting.take(at as unknown as JsonObject, scanProgress(at));
  };
  try {
    for await (const slice of slicesOf(inOrder(place, from.scan.last, session, signal))) {
      for (const bytes of slice) {
        if (latest === undefined && isLast(bytes, from.scan.last)) continue;
        seen += 1;
        const id = items.add(bytes);
        if (id !== undefined) latest = { bytes, id };
        if (items.collecting.isFull) yield take(null);
        const turn = pace();
        if (turn !== undefined) await turn;
      }
      if (!items.collecting.isEmpty && performance.now() - yieldedAt > BATCH_MS) yield take(null);
    }
    yield take(new Date().toISOString());
  } finally {
    await closed(session.endSession());
  }
}

/** The documents from an `_id` on, as BSON. */
function inOrder({ collection }: Place, last: string | null, session: ClientSession, signal: AbortSignal) {
  // `$gt` would find only `_id`s of the same type; a bound of the index is one for all, and includes its own.
  const bound = last === null ? {} : { min: { _id: idFromExtended(last) } };
  return collection.find<Buffer>(
    {},
    {
      raw: true,
      batchSize: ANSWER,
      sort: { _id: 1 },
      hint: { _id: 1 },
      ...bound,
      session,
      readConcern: 'majority',
      signal,
    },
  );
}

function isLast(bytes: Buffer, last: string | null): boolean {
  const id = last === null ? undefined : idIn(bytes);
  return id !== undefined && extendedId(bytes, id) === last;
}
