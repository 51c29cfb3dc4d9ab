import { setTimeout as delay } from 'node:timers/promises';
import { SourceError } from './source.ts';

/*
 * What all stores of objects can do: list the objects of a bucket in the order of their keys' UTF-8 bytes, and read one.
 */

export interface StoredObject {
  key: string;
  /** Another one whenever the object has other content: an ETag, or a generation. */
  version: string;
  size: number;
  /** When it was written, in milliseconds since 1970. */
  changedMs: number | undefined;
}

export interface ObjectPage {
  /** In order; only empty if there are no more. */
  objects: readonly StoredObject[];
  isLast: boolean;
}

/** A bucket. What its methods reject with is a `SourceError`, or the signal's reason. */
export interface ObjectStore {
  readonly bucket: string;
  /** The objects whose keys begin with `prefix`, behind the key `after` (null: the first ones). */
  list(prefix: string, after: string | null, signal: AbortSignal): Promise<ObjectPage>;
  /** The object's bytes from an offset on. Also rejects `ObjectChanged`, and `ObjectRefused`. */
  open(object: StoredObject, from: number, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
  close(): void;
}

/** An object is no longer there as it was listed. */
export class ObjectChanged extends Error {}

/** An object can be listed, and not be read: the message is a clause that says why, to follow its key. */
export class ObjectRefused extends Error {}

const ATTEMPTS_MAX = 4;
const RETRY_MS = 200;

/** All bytes of an object; a connection that breaks is made again where it broke. Rejects as `open` does. */
export async function* bytesOf(
  store: ObjectStore,
  object: StoredObject,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  let from = 0;
  let failures = 0;
  while (from < object.size) {
    try {
      for await (const piece of await store.open(object, from, signal)) {
        from += piece.length;
        failures = 0;
        yield piece;
      }
      if (from < object.size)
        throw new SourceError(
          'unreachable',
          `The object ${store.bucket}/${object.key} ended after ${from} of its ${object.size} bytes.`,
        );
    } catch (error) {
      signal.throwIfAborted();
      failures += 1;
      const isPassing = error instanceof SourceError && error.fault === 'unreachable';
      if (!isPassing || failures === ATTEMPTS_MAX) throw error;
      await delay(RETRY_MS * 2 ** failures, undefined, { signal });
    }
  }
}
