import type { Readable } from 'node:stream';
import { BSON, type ChangeStream, type Document, MongoNetworkError } from 'mongodb';
import type { JsonObject } from '../../contract/json/json.ts';
import { BSON_TYPES, type Element, elementsOf, stringOf } from './mongodb-bson.ts';
import { type ClusterTime, closed, type Place, SILENCE_MS, silent } from './mongodb-connection.ts';
import { extendedDocument } from './mongodb-ids.ts';
import { idIn } from './mongodb-items.ts';

/*
 * The events of a change stream, as BSON: the driver's own reader would stop at one that holds what it cannot read.
 */

/** The server answers after this time when there is nothing, in milliseconds. */
const AWAIT_MS = 1_000;
/** In microtasks. */
const SOON = 16;
const EVENTS_AT_ONCE = 1_000;

/** An event of the change stream. */
export interface ChangeEvent {
  kind: string;
  token: Token | undefined;
  /** `_id` of the document that changed, and the bytes that it lies in. */
  key: { bytes: Buffer; id: Element } | undefined;
  document: Buffer | undefined;
  time: ClusterTime | undefined;
  /** When it happened, in milliseconds since 1970. */
  atMs: number | undefined;
}

/** A resume token, as BSON or as the driver has it. */
export type Token = Buffer | Document;

export function extendedToken(token: Token): JsonObject {
  if (Buffer.isBuffer(token)) return extendedDocument(token);
  return BSON.EJSON.serialize(token, { relaxed: false }) as JsonObject;
}

export interface Events {
  /** The next one, if it is there. */
  next(): ChangeEvent | undefined;
  /** A resume token behind all that was given so far, once, if there is a newer one than the last event's. */
  takeIdleToken(): Token | undefined;
  /** Waits for an event, but no longer than this, in milliseconds. Rejects what went wrong. */
  wait(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens the change stream behind a resume token; `isFull`: with the documents of updates. */
export function openEvents({ collection }: Place, from: JsonObject, isFull: boolean, signal: AbortSignal): Events {
  // What was updated is not needed, and can make an event too large.
  const stream: ChangeStream = collection.watch([{ $unset: 'updateDescription' }], {
    raw: true,
    resumeAfter: BSON.EJSON.deserialize(from, { relaxed: false }),
    ...(isFull ? { fullDocument: 'updateLookup' } : {}),
    maxAwaitTimeMS: AWAIT_MS,
    batchSize: EVENTS_AT_ONCE,
  });
  let idle: Token | undefined;
  // It comes with an answer that is empty, which is asked for when all events before are taken.
  stream.on('resumeTokenChanged', (token) => {
    idle = token as Document;
  });
  const readable: Readable = stream.stream();
  let failure: Error | undefined;
  /** The server answers all the time, if only that there is nothing. */
  let silentFrom: number | undefined;
  let wake = () => {};
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };
  readable.on('readable', () => wake());
  readable.on('error', fail);
  for (const event of ['end', 'close'] as const)
    readable.on(event, () => fail(new MongoNetworkError('the change stream ended')));
  const stop = () => wake();
  signal.addEventListener('abort', stop);
  return {
    next() {
      const bytes = readable.read() as Buffer | null;
      if (bytes === null) return undefined;
      idle = undefined;
      silentFrom = undefined;
      return readEvent(bytes);
    },
    takeIdleToken() {
      const token = idle;
      idle = undefined;
      if (token !== undefined) silentFrom = undefined;
      return token;
    },
    async wait(ms) {
      // One that is in the answer already comes after a few microtasks; a timer for each would cost more than reading it.
      for (let n = 0; n < SOON && readable.readableLength === 0 && stream.bufferedCount() > 0; n++) await undefined;
      if (signal.aborted || readable.readableLength > 0) return;
      if (failure !== undefined) throw failure;
      silentFrom ??= performance.now();
      if (performance.now() - silentFrom > SILENCE_MS) throw silent();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    async close() {
      signal.removeEventListener('abort', stop);
      readable.destroy();
      await closed(stream.close());
    },
  };
}

function readEvent(bytes: Buffer): ChangeEvent {
  const event: ChangeEvent = {
    kind: '',
    token: undefined,
    key: undefined,
    document: undefined,
    time: undefined,
    atMs: undefined,
  };
  for (const element of elementsOf(bytes)) readField(event, bytes, element);
  return event;
}

function readField(event: ChangeEvent, bytes: Buffer, element: Element): void {
  const { name, type, from, to } = element;
  switch (name) {
    case 'operationType':
      event.kind = stringOf(bytes, element);
      break;
    case '_id':
      event.token = bytes.subarray(from, to);
      break;
    case 'fullDocument':
      if (type === BSON_TYPES.object) event.document = bytes.subarray(from, to);
      break;
    case 'clusterTime':
      event.time = { t: bytes.readUInt32LE(from + 4), i: bytes.readUInt32LE(from) };
      event.atMs ??= event.time.t * 1_000;
      break;
    case 'wallTime':
      event.atMs = Number(bytes.readBigInt64LE(from));
      break;
    case 'documentKey': {
      const key = bytes.subarray(from, to);
      const id = idIn(key);
      if (id !== undefined) event.key = { bytes: key, id };
      break;
    }
  }
}
