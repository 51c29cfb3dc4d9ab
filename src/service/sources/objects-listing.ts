import { setMaxListeners } from 'node:events';
import { byBytes } from '../../contract/text.ts';
import { bytesOf, type ObjectStore, type StoredObject } from './object-store.ts';
import { againKey, firstKey, type KnownObject, objectKey, readObjectValue, sortedEntries } from './objects-memory.ts';
import type { ObjectsSettings } from './objects-settings.ts';
import { SourceError, type SourceMemory } from './source.ts';

/** What is to be done about one object. */
export interface ObjectTask {
  key: string;
  /** As it is listed; undefined: it is gone. */
  listed: StoredObject | undefined;
  known: KnownObject | undefined;
  /** Nothing: it is as it was read. Only some of these are told. */
  isSame: boolean;
  /** It is to be read again in any case. */
  isAgain: boolean;
}

interface Listing {
  store: ObjectStore;
  settings: Pick<ObjectsSettings, 'prefixes' | 'matches'>;
  memory: SourceMemory;
  signal: AbortSignal;
}

/** Objects that are as they were, of which one is told. */
const SAME_AT_ONCE = 1_000;

/**
 * Compares the listing of a bucket with what is remembered of it, both in the order of their keys, behind the key `after`.
 * `extra`: an object that is dealt with even if it is in neither.
 */
export async function* tasksOf(
  listing: Listing,
  after: string | null,
  extra?: string,
): AsyncGenerator<ObjectTask, void> {
  const { memory } = listing;
  const objects = listedObjects(listing, after);
  const known = sortedEntries(memory, objectKey(''), objectKey(after ?? ''));
  const again = sortedEntries(memory, againKey(''), againKey(after ?? ''));
  let left = extra;
  let same = 0;
  let listed = (await objects.next()).value ?? undefined;
  try {
    for (;;) {
      const [knownEntry, againEntry] = [await known.peek(), await again.peek()];
      const [knownAs, againAs] = [knownEntry?.[0].slice(2), againEntry?.[0].slice(2)];
      const key = firstKey([listed?.key, knownAs, againAs, left]);
      if (key === undefined) return;
      const task: ObjectTask = {
        key,
        listed: listed?.key === key ? listed : undefined,
        known: knownAs === key ? readObjectValue(knownEntry?.[1] ?? '') : undefined,
        isSame: false,
        isAgain: againAs === key,
      };
      task.isSame = task.listed?.version === task.known?.version && !task.isAgain && left !== key;
      if (knownAs === key) known.skip();
      if (againAs === key) again.skip();
      if (left === key) left = undefined;
      if (task.listed !== undefined) listed = (await objects.next()).value ?? undefined;
      same = task.isSame ? same + 1 : 0;
      if (!task.isSame || same % SAME_AT_ONCE === 0) yield task;
    }
  } finally {
    await objects.return();
  }
}

/** The objects that the settings mean. */
async function* listedObjects(
  { store, settings: { prefixes, matches }, signal }: Listing,
  after: string | null,
): AsyncGenerator<StoredObject, void> {
  let last = after;
  for (const prefix of prefixes) {
    const isBefore = last !== null && byBytes(last, prefix) > 0 && !last.startsWith(prefix);
    if (isBefore) continue;
    let from = last?.startsWith(prefix) === true ? last : null;
    for (let isLast = false; !isLast; ) {
      const page = await store.list(prefix, from, signal);
      for (const object of page.objects) {
        if (last !== null && byBytes(object.key, last) <= 0) throw unordered(store.bucket, object.key, last);
        last = object.key;
        if (matches(object.key)) yield object;
      }
      from = last;
      isLast = page.isLast;
    }
  }
}

function unordered(bucket: string, key: string, before: string): SourceError {
  return new SourceError(
    'settings',
    `The bucket ${bucket} does not list its objects in the order of their keys: ${JSON.stringify(key)} comes behind ${JSON.stringify(before)}. Directory buckets and stores like them are not read.`,
  );
}

/** A task; of one that is small the bytes, which were asked for before its turn. */
export interface FetchedTask extends ObjectTask {
  bytes?: Promise<Buffer[]> | undefined;
}

const SMALL_BYTES = 1024 * 1024;
const AHEAD_BYTES = 8 * 1024 * 1024;
const AHEAD_TASKS = 16;

/** Asks for small objects before their turn, so that many do not take as many times as long as one. */
export async function* fetchedAhead(
  tasks: AsyncGenerator<ObjectTask, void>,
  store: ObjectStore,
  signal: AbortSignal,
): AsyncGenerator<{ task: FetchedTask; ahead: readonly ObjectTask[] }, void> {
  const queue: FetchedTask[] = [];
  const leaving = new AbortController();
  const both = AbortSignal.any([signal, leaving.signal]);
  // Each request listens, and there are as many at once.
  setMaxListeners(0, both);
  let bytes = 0;
  let isEnd = false;
  try {
    for (;;) {
      while (!isEnd && queue.length < AHEAD_TASKS && bytes < AHEAD_BYTES) {
        const { done, value } = await tasks.next();
        if (done === true) isEnd = true;
        else {
          const task: FetchedTask = { ...value };
          const { listed } = task;
          if (!task.isSame && listed !== undefined && listed.size <= SMALL_BYTES) {
            bytes += listed.size;
            task.bytes = wholeOf(store, listed, both);
            // It is met when it is its turn.
            task.bytes.catch(() => undefined);
          }
          queue.push(task);
        }
      }
      const task = queue.shift();
      if (task === undefined) return;
      if (task.bytes !== undefined) bytes -= task.listed?.size ?? 0;
      yield { task, ahead: queue };
    }
  } finally {
    leaving.abort();
    await tasks.return();
  }
}

async function wholeOf(store: ObjectStore, object: StoredObject, signal: AbortSignal): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of bytesOf(store, object, signal)) pieces.push(piece);
  return pieces;
}
