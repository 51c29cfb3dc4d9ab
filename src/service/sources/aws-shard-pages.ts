import type { ShardLog, ShardPage, ShardPlace } from './aws-shard-log.ts';

/** Asks many shards for their pages, a bounded number ahead of whoever takes them. */
export interface ShardPages<R> {
  /** From now on these are read, from these places; whoever takes pages brings the places up to date before the next. */
  read(shards: ReadonlyMap<string, ShardPlace>): void;
  /** The next page, those of a shard in their order; undefined: there is none before `until`, of `performance.now()`. */
  next(until: number): Promise<TakenPage<R> | undefined>;
  /** Whether there is a page already. */
  readonly isReady: boolean;
  /** Whether the last page of each shard was at its end. */
  readonly isThrough: boolean;
}

export interface TakenPage<R> {
  shard: string;
  place: ShardPlace;
  page: ShardPage<R>;
  /** When it was asked for, in milliseconds since 1970. */
  atMs: number;
}

const ASKED_MAX = 8;
const READY_BYTES_MAX = 16 * 1024 * 1024;
/** What a page should have, so that parsing it holds nobody up. */
const PAGE_BYTES = 1024 * 1024;
const FIRST_RECORDS = 1_000;
const BUSY_MAX = 6;
const BUSY_MS = 500;
const BUSY_MS_MAX = 5_000;
const EXPIRED_MAX = 3;

interface Reading {
  readonly id: string;
  readonly place: ShardPlace;
  iterator?: string | undefined;
  /** When it may be asked again, as `performance.now()` has it. */
  dueAt: number;
  isAsked: boolean;
  /** Its pages that are not taken yet. */
  waiting: number;
  isThrough: boolean;
  recordBytes: number;
  /** How often in a row it was. */
  busy: number;
  expired: number;
}

interface Answer<R> {
  reading: Reading;
  atMs: number;
  bytes: number;
  /** `error`: what was met instead. */
  page: ShardPage<R> | 'expired' | 'busy' | { error: unknown };
}

export function createShardPages<R>(log: ShardLog<R>, signal: AbortSignal): ShardPages<R> {
  const readings = new Map<string, Reading>();
  const ready: Answer<R>[] = [];
  let asked = 0;
  let readyBytes = 0;
  let wake: () => void = () => undefined;

  async function ask(reading: Reading): Promise<void> {
    asked += 1;
    reading.isAsked = true;
    const startedAt = performance.now();
    const atMs = Date.now();
    const page = await pageOf(reading).catch((error: unknown) => ({ error }));
    asked -= 1;
    reading.isAsked = false;
    reading.waiting += 1;
    // What is no page is seen to when it is taken: by then the place is that of the page before.
    reading.dueAt = Number.POSITIVE_INFINITY;
    let bytes = 0;
    if (typeof page === 'object' && 'records' in page) {
      const { records, next, behindMs = 0 } = page;
      bytes = records.reduce((sum, record) => sum + log.bytesOf(record), 0);
      if (records.length > 0) reading.recordBytes = Math.max(1, bytes / records.length);
      const isIdle = records.length === 0 && behindMs === 0;
      reading.iterator = next;
      if (next !== undefined) reading.dueAt = isIdle ? performance.now() + log.idleMs : startedAt + log.paceMs;
    }
    readyBytes += bytes;
    ready.push({ reading, atMs, bytes, page });
    wake();
  }

  async function pageOf(reading: Reading): Promise<ShardPage<R> | 'expired' | 'busy'> {
    reading.iterator ??= await log.iterator(reading.id, reading.place, signal);
    const max = Math.min(log.pageMax, Math.max(1, Math.floor(PAGE_BYTES / reading.recordBytes)));
    return log.page(reading.iterator, max, signal);
  }

  /** Asks the shards whose turn it is; returns when the next one's is. */
  function askDue(): number {
    let nextAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (const reading of readings.values()) {
      if (asked >= ASKED_MAX || readyBytes >= READY_BYTES_MAX) break;
      if (reading.isAsked || reading.waiting > 0) continue;
      if (reading.dueAt > now) {
        nextAt = Math.min(nextAt, reading.dueAt);
        continue;
      }
      // The others have their turn before it has another.
      readings.delete(reading.id);
      readings.set(reading.id, reading);
      void ask(reading);
    }
    return nextAt;
  }

  function takeFirst(): TakenPage<R> | undefined {
    const answer = ready.shift();
    if (answer === undefined) return undefined;
    const { reading, page, bytes, atMs } = answer;
    readyBytes -= bytes;
    reading.waiting -= 1;
    if (page === 'expired' || page === 'busy') {
      askAgain(reading, page);
      return undefined;
    }
    if ('error' in page) throw page.error;
    reading.busy = 0;
    reading.expired = 0;
    const { behindMs } = page;
    reading.isThrough ||= behindMs === 0 || (behindMs === undefined && page.records.length === 0);
    if (page.next === undefined) readings.delete(reading.id);
    return { shard: reading.id, place: reading.place, page, atMs };
  }

  function askAgain(reading: Reading, why: 'expired' | 'busy'): void {
    reading[why] += 1;
    if (reading.busy > BUSY_MAX || reading.expired > EXPIRED_MAX) throw log.busy(reading.id);
    if (why === 'expired') reading.iterator = undefined;
    const ms = why === 'expired' ? 0 : Math.min(BUSY_MS * 2 ** (reading.busy - 1), BUSY_MS_MAX);
    reading.dueAt = performance.now() + ms;
  }

  return {
    read(shards) {
      for (const [id, place] of shards) {
        if (readings.has(id)) continue;
        const counts = { waiting: 0, busy: 0, expired: 0 };
        const recordBytes = PAGE_BYTES / FIRST_RECORDS;
        readings.set(id, { id, place, dueAt: 0, isAsked: false, isThrough: false, recordBytes, ...counts });
      }
    },
    async next(until) {
      for (;;) {
        signal.throwIfAborted();
        const nextAt = askDue();
        if (ready.length > 0) {
          const taken = takeFirst();
          if (taken === undefined) continue;
          // The next one comes while this one is worked on.
          askDue();
          return taken;
        }
        if (performance.now() >= until) return undefined;
        await woken(Math.min(nextAt, until));
      }
    },
    get isReady() {
      return ready.length > 0;
    },
    get isThrough() {
      return [...readings.values()].every((reading) => reading.isThrough);
    },
  };

  function woken(at: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(end, Math.max(0, at - performance.now()));
      function end() {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      }
      signal.addEventListener('abort', end);
      wake = end;
      if (ready.length > 0 || signal.aborted) end();
    });
  }
}
