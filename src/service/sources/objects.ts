import { bytesOf, ObjectChanged, ObjectRefused, type ObjectStore } from './object-store.ts';
import { formatsOf } from './objects-formats.ts';
import { Ledger, type Place } from './objects-ledger.ts';
import { fetchedAhead, type ObjectTask, tasksOf } from './objects-listing.ts';
import { againKey } from './objects-memory.ts';
import { type ReadingContext, readObject, removeObject } from './objects-reading.ts';
import { type ObjectsSettings, readObjectsSettings } from './objects-settings.ts';
import { ObjectSpools } from './objects-spools.ts';
import { staleRound } from './objects-stale.ts';
import { BATCHES_AHEAD, type SourceBatch, type SourceMemory, type SourceOptions, type SourceReader } from './source.ts';

/*
 * The objects of a bucket, whatever store it is in: again and again its listing is compared with what is remembered of it, so
 * that what is new or changed is read, and documents go with their objects.
 */

/** `open` makes the store; `scheme`: with what a bucket may be written, such as `s3://`. Throws a `SourceError`. */
export function openObjects(
  options: SourceOptions,
  scheme: string,
  open: (bucket: string) => ObjectStore,
): SourceReader {
  const settings = readObjectsSettings(options.settings, scheme);
  const formatFor = formatsOf(options.settings['format'], options.formatParams);
  const store = open(settings.bucket);
  const spools = new ObjectSpools(options.files.spool);
  return {
    pollMs: settings.pollMs,
    check: (signal) => check(store, settings, signal),
    async *read(checkpoint, signal) {
      const ledger = new Ledger(checkpoint as unknown as Place | undefined);
      yield* walk({ store, formatFor, options, spools, ledger, signal }, settings, options.memory);
      yield* sweep(ledger, options.memory, store.bucket, signal);
      Object.assign(ledger.place, { isThrough: true, isWalked: false, after: null });
      if (!ledger.isSame) yield ledger.take();
    },
    async close() {
      store.close();
      await spools.removeAll();
    },
  };
}

/** Whether the bucket can be listed, and the first of its objects be read. */
async function check(store: ObjectStore, { prefixes, matches }: ObjectsSettings, signal: AbortSignal): Promise<void> {
  for (const prefix of prefixes) {
    const { objects } = await store.list(prefix, null, signal);
    const object = objects.find(({ key, size }) => size > 0 && matches(key));
    if (object === undefined) continue;
    const bytes = bytesOf(store, object, signal);
    try {
      await bytes.next();
    } catch (error) {
      if (!(error instanceof ObjectChanged) && !(error instanceof ObjectRefused)) throw error;
    } finally {
      await bytes.return();
    }
    return;
  }
}

/** Deals with all objects behind those that were dealt with. */
async function* walk(
  context: ReadingContext,
  settings: ObjectsSettings,
  memory: SourceMemory,
): AsyncGenerator<SourceBatch, void> {
  const { store, ledger, signal } = context;
  const { place } = ledger;
  if (place.isWalked) return;
  const tasks = tasksOf({ store, settings, memory, signal }, place.after, place.object?.key);
  for await (const { task, ahead } of fetchedAhead(tasks, store, signal)) {
    signal.throwIfAborted();
    const { listed } = task;
    meet(ledger, [task, ...ahead]);
    if (!task.isSame && listed === undefined) yield* removeObject(context, task);
    else if (!task.isSame && listed !== undefined) yield* readObject(context, { ...task, listed });
    place.after = task.key;
    delete place.object;
    if (!ledger.isDue) continue;
    meet(ledger, ahead);
    yield ledger.take();
  }
  meet(ledger, []);
  place.isWalked = true;
}

/** Counts the objects that were read, and those that are about to be. */
function meet({ place: { figures } }: Ledger, tasks: readonly ObjectTask[]): void {
  figures.object_count_total = figures.object_count_downloaded;
  figures.object_bytes_total = figures.object_bytes_downloaded;
  for (const { listed, known } of tasks) {
    if (listed === undefined || known !== undefined) continue;
    figures.object_count_total += 1;
    figures.object_bytes_total += listed.size;
  }
}

/** Removes the documents with ids of their own that no object has any more. */
async function* sweep(
  ledger: Ledger,
  memory: SourceMemory,
  bucket: string,
  signal: AbortSignal,
): AsyncGenerator<SourceBatch, void> {
  while (ledger.place.hasStale) {
    // What was yielded is stored, and can be read from the memory, once it is asked for the batch behind those.
    for (let batches = ledger.isUntouched ? 0 : BATCHES_AHEAD + 1; batches > 0; batches--) yield ledger.take();
    const round = await staleRound(memory, signal);
    if (round === undefined) {
      ledger.place.hasStale = false;
      return;
    }
    for (const key of round.again) ledger.put(againKey(key), '');
    for (const { entry, ids } of round.chunks) {
      // With what is forgotten then, so that they are not deleted again and again.
      const gone = ids.filter((id) => round.gone.has(id));
      if (!ledger.hasRoomFor(gone.length)) yield ledger.take();
      for (const id of gone) {
        ledger.add({ id, document: null, item: `${bucket}/${round.gone.get(id)?.key}` }, 0);
      }
      ledger.forget(entry);
      if (ledger.isDue) yield ledger.take();
    }
    for (const key of round.ends) ledger.forget(key);
  }
}
