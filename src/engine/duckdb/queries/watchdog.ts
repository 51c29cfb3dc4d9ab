import { totalmem } from 'node:os';
import { ApiError } from '../../../contract/errors.ts';
import type { GiveUp } from '../../engine.ts';

/** How often memory is checked while a query runs. */
const SAMPLE_MS = 100;
/** Checks between stopping two queries: the first one may need a moment to stop. */
const LOOKS_PER_STOP = 5;
const GIB = 1024 ** 3;

function memoryOfMachine(): number {
  // 0, or an impossibly large number, if nothing constrains the process.
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Memory of the process; cached for a moment, since asking the system takes longer than many a query. */
function createResident(): () => number {
  let readAt = Number.NEGATIVE_INFINITY;
  let bytes = 0;
  return () => {
    const now = performance.now();
    if (now - readAt < SAMPLE_MS / 2) return bytes;
    readAt = now;
    bytes = process.memoryUsage.rss();
    return bytes;
  };
}

/** A running query, as the watchdog sees it. */
export interface Watched {
  /** As in `QueryRequest`. */
  requestId?: string | undefined;
  stop(reason: ApiError): void;
}

export interface WatchdogOptions {
  /** The engine's own current limit, which does not cover single values. */
  memoryBytes: () => number;
  /** Resident memory of the process, in bytes; default: what the system reports. */
  residentBytes?: () => number;
  /** Total memory, in bytes; default: that of the machine or the container. */
  totalBytes?: number;
  /** Ends the process: memory keeps growing although the queries of these requests were told to stop. */
  giveUp: (reason: GiveUp) => void;
}

export interface Watchdog {
  /** Watches a query until the returned function is called. */
  watch(query: Watched): () => void;
}

/**
 * Stops queries when the process takes much more memory than the engine may use: twice the engine's limit, and at least
 * 1 GiB, on top of what it had when nothing ran. The engine counts its own buffers, but not the values of functions.
 *
 * Nothing tells which query takes the memory, so the newest is stopped first, then one more every half second while
 * memory grows. A query cannot be stopped inside a single function call. If memory grows to twice that bound all the
 * same, the process ends: what was acknowledged is on disk, and the client starts the service again. Otherwise the
 * system would end it, or another process.
 */
export function createWatchdog({
  memoryBytes,
  residentBytes: resident = createResident(),
  totalBytes = memoryOfMachine(),
  giveUp,
}: WatchdogOptions): Watchdog {
  const running = new Set<Watched>();
  /** Queries that were told to stop and still run. */
  const stopped = new Set<Watched>();
  /** Queries that ran when memory exceeded the bound, the newest last. */
  let suspects: Watched[] = [];
  let looksSinceStop = 0;
  let timer: NodeJS.Timeout | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  let stopAt = 0;
  let endAt = 0;
  let last = 0;

  /** Memory of earlier queries may stay with the process, and later ones still need room. */
  const begin = () => {
    const room = Math.max(memoryBytes() * 2, memoryBytes() + GIB);
    const bytes = resident();
    lowest = Math.min(lowest, bytes);
    endAt = lowest + Math.max(room + GIB / 4, Math.min(room * 2, totalBytes * 0.8));
    stopAt = Math.max(lowest + room, Math.min(bytes + room / 2, endAt - GIB / 8));
    last = bytes;
  };

  const look = () => {
    const bytes = resident();
    const isGrowing = bytes > last;
    last = bytes;
    if (bytes <= stopAt) return;
    if (bytes > endAt && stopped.size > 0) {
      const size = `${Math.round(bytes / 1024 ** 2)} MiB`;
      giveUp({
        why: 'memory',
        message: `queries took ${size} of memory and do not stop, so this service ends. What was written is safe.`,
        requestIds: [...stopped].flatMap(({ requestId }) => requestId ?? []),
      });
      return;
    }
    if (stopped.size === 0) suspects = [...running];
    else if (!isGrowing || ++looksSinceStop < LOOKS_PER_STOP) return;
    const newest = suspects.pop();
    if (newest === undefined) return;
    looksSinceStop = 0;
    stopped.add(newest);
    newest.stop(
      new ApiError(
        'resource_exceeded',
        'The query needs more memory than there is for queries and was stopped. Filter or aggregate earlier, and make ' +
          'no long texts or lists.',
      ),
    );
  };

  return {
    watch(query) {
      if (running.size === 0) {
        begin();
        timer = setInterval(look, SAMPLE_MS);
        timer.unref();
      }
      running.add(query);
      return () => {
        running.delete(query);
        suspects = suspects.filter((suspect) => suspect !== query);
        if (running.size === 0) clearInterval(timer);
        // Other queries are not to blame for the memory that it leaves behind.
        if (stopped.delete(query)) begin();
      };
    },
  };
}
