import { ApiError } from '../../../contract/errors.ts';

/** What is known of a query that asks for a place. */
export interface Ask {
  /** 0: it may be short (default). Above: it has given up a place; with each level it may keep the next one longer. */
  level?: number | undefined;
  /** Whether it can give up its place and start again in another. */
  mayYield?: boolean | undefined;
}

export interface Place {
  /** Frees it. */
  leave(): void;
  /**
   * To be called when its query was told to stop and does not: the query no longer counts against the places, as long
   * as there are no more such queries than `stuckMax`.
   */
  setAside(): void;
  /** Aborts when another query is to have the place: leave, and ask again with `nextLevel`. */
  readonly recall: AbortSignal;
  /** The level to ask with after a recall. */
  nextLevel(): number;
}

export interface SchedulerOptions {
  /** Queries that run at once. */
  places: number;
  /** Queries that may wait; one more is refused. */
  queueMax: number;
  /** How many queries that do not stop are replaced by another (default 0). */
  stuckMax?: number;
  /** A query is long once it has held its place for this long (default 1,000). */
  shortMs?: number;
  /** Called when queries that do not stop have blocked places for a minute. */
  onLost?: () => void;
}

export interface Scheduler {
  /**
   * Waits for one of the places, first come first served; if there are several, one is never left to long queries while
   * others wait.
   *
   * Rejects `resource_exceeded` with `retryAfterMs` at once when the queue is full, `signal.reason` when the signal
   * aborts first, and `not_ready` after `close`.
   */
  enter(signal: AbortSignal, ask?: Ask): Promise<Place>;
  /**
   * Refuses waiting and new queries, and resolves when every place is free except those of queries that do not stop, or
   * after `waitMs`. Resolves to the number of queries still running, including those.
   */
  close(waitMs: number): Promise<number>;
}

/** How a newcomer got its place: at once, or from the queue as the one that had waited longest or shortest. */
type Turn = 'direct' | 'oldest' | 'newest';

interface Waiter {
  level: number;
  since: number;
  enter(turn: Turn): void;
  refuse(error: ApiError): void;
}

interface Holder {
  level: number;
  mayYield: boolean;
  turn: Turn;
  /** As `performance.now()`. */
  startedAt: number;
  recall: AbortController;
  isStuck: boolean;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 30_000;
const SHORT_MS = 1_000;
/** How many times longer a query may keep its next place than the one it gave up. */
const LEVEL_FACTOR = 4;
const LEVEL_MAX = 3;
/** How long queries that do not stop may block places. */
const LOST_MS = 60_000;

function closedError(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}

/**
 * Lets `places` queries run at once, with a queue of at most `queueMax` behind them.
 *
 * If all running queries are long and one waits that may be short, the newest of them gives up its place. Its work is
 * lost, but that is little more than `shortMs` of it; otherwise one query would wait for another's time limit. It goes
 * to the end of the queue, and from then on long queries get all places but one. Nothing tells a short query from a
 * long one before it has run: if several wait for that last place, the newest and the oldest of them get it in turn, so
 * a short one waits for at most two others, and none is passed over forever.
 *
 * The places of long queries rotate, too, so that one of some seconds can finish beside others that never end: the
 * newest of them gives its place to one that waits. The time that a query may keep a place grows each time it restarts,
 * so most of its work is not lost.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { places, queueMax, stuckMax = 0, shortMs = SHORT_MS, onLost } = options;
  const queue = new Set<Waiter>();
  const running = new Set<Holder>();
  /** Queries that do not stop and were set aside: they hold no place. */
  const aside = new Set<Holder>();
  const onIdle: (() => void)[] = [];
  const longPlaces = Math.max(1, places - 1);
  let timer: NodeJS.Timeout | undefined;
  let lostTimer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** How long queries hold their places, as a moving average. */
  let heldMs = 500;
  let isTurnOfOldest = false;
  let oldestAt = 0;

  const ageOf = ({ startedAt }: Holder) => performance.now() - startedAt;
  const isLong = (holder: Holder) => holder.level > 0 || ageOf(holder) >= shortMs;
  const countLong = () => [...running].filter(isLong).length;
  const isIdle = () => [...running].every(({ isStuck }) => isStuck);
  const quantum = (level: number) => shortMs * LEVEL_FACTOR ** level;
  const hasPlace = (level: number) => running.size < places && (level === 0 || countLong() < longPlaces);

  const levelAfter = (holder: Holder) => {
    const byAge = 1 + Math.floor(Math.log(Math.max(1, ageOf(holder) / shortMs)) / Math.log(LEVEL_FACTOR));
    return Math.min(LEVEL_MAX, Math.max(holder.level + 1, byAge));
  };

  const take = ({ level = 0, mayYield = false }: Ask, turn: Turn): Place => {
    const recall = new AbortController();
    const holder: Holder = { level, mayYield, turn, startedAt: performance.now(), recall, isStuck: false };
    running.add(holder);
    const leave = () => {
      if (!running.delete(holder) && !aside.delete(holder)) return;
      if (!holder.isStuck) heldMs = heldMs * 0.8 + ageOf(holder) * 0.2;
      settle();
    };
    const setAside = () => {
      if (!running.has(holder) || isClosed) return;
      holder.isStuck = true;
      settle();
    };
    return { leave, setAside, recall: recall.signal, nextLevel: () => levelAfter(holder) };
  };

  const putAside = () => {
    for (const holder of running) {
      if (!holder.isStuck || aside.size >= stuckMax) continue;
      running.delete(holder);
      aside.add(holder);
    }
    const isLosing = [...running].some(({ isStuck }) => isStuck);
    if (isLosing && !isClosed) lostTimer ??= setTimeout(() => onLost?.(), LOST_MS).unref();
    else {
      clearTimeout(lostTimer);
      lostTimer = undefined;
    }
  };

  /** If newcomers wait for the one place that long queries leave, the newest and the oldest alternate. */
  const turnOf = (newcomers: readonly Waiter[]): Turn => {
    const oldest = newcomers[0];
    if (oldest === undefined || newcomers.length === 1 || countLong() < longPlaces) return 'direct';
    const now = performance.now();
    const isOverdue = now - Math.max(oldest.since, oldestAt) > 2 * shortMs;
    if (!isTurnOfOldest && !isOverdue) return 'newest';
    isTurnOfOldest = false;
    oldestAt = now;
    return 'oldest';
  };

  const newcomersOf = (waiters: readonly Waiter[]) => waiters.filter(({ level }) => level === 0);
  /** The long waiter with the fewest restarts. */
  const firstLong = (waiters: readonly Waiter[]) =>
    waiters.filter(({ level }) => level > 0).toSorted((a, b) => a.level - b.level)[0];

  const letIn = () => {
    while (queue.size > 0 && running.size < places) {
      const newcomers = newcomersOf([...queue]);
      const long = firstLong([...queue]);
      if (newcomers.length > 0) {
        const turn = turnOf(newcomers);
        newcomers.at(turn === 'newest' ? -1 : 0)?.enter(turn);
      } else if (long !== undefined && hasPlace(long.level)) long.enter('direct');
      else return;
    }
  };

  /** Which query has to give up its place for a newcomer, and in how many milliseconds. */
  const dueForNewcomer = (holders: readonly Holder[]): [Holder, number] | undefined => {
    const newest = holders.findLast(({ level, mayYield }) => level === 0 && mayYield);
    if (newest === undefined || running.size < places) return undefined;
    return [newest, Math.max(0, ...holders.map((holder) => (isLong(holder) ? 0 : shortMs - ageOf(holder))))];
  };

  /** The same for a waiter that is known to be long. A query in the newcomers' place may keep it longer. */
  const dueForLong = (holders: readonly Holder[], waiter: Waiter): [Holder, number] | undefined => {
    const newest = holders.findLast((holder) => holder.mayYield && isLong(holder));
    const count = countLong();
    if (newest === undefined || count < longPlaces) return undefined;
    const level = Math.max(1, newest.level, waiter.level) + (count > longPlaces ? 1 : 0);
    return [newest, Math.max(0, quantum(level) - ageOf(newest))];
  };

  const takeBack = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isClosed || places === 1 || queue.size === 0) return;
    const holders = [...running].filter(({ isStuck }) => !isStuck);
    if (holders.some(({ recall }) => recall.signal.aborted)) return;
    const waiters = [...queue];
    const long = firstLong(waiters);
    const dues = [
      newcomersOf(waiters).length > 0 ? dueForNewcomer(holders) : undefined,
      long && dueForLong(holders, long),
    ].filter((due) => due !== undefined);
    const [due] = dues.toSorted(([, a], [, b]) => a - b);
    if (due === undefined) return;
    const [holder, waitMs] = due;
    if (waitMs > 0) {
      timer = setTimeout(settle, Math.ceil(waitMs)).unref();
      return;
    }
    if (holder.turn === 'newest') isTurnOfOldest = true;
    holder.recall.abort();
  };

  /** Gives free places to waiting queries, and recalls one if that is due. */
  const settle = () => {
    putAside();
    letIn();
    takeBack();
    if (isIdle()) for (const resolve of onIdle.splice(0)) resolve();
  };

  const wait = (signal: AbortSignal, ask: Ask): Promise<Place> =>
    new Promise((resolve, reject) => {
      const leave = () => {
        queue.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        level: ask.level ?? 0,
        since: performance.now(),
        enter: (turn) => {
          leave();
          resolve(take(ask, turn));
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      queue.add(waiter);
      signal.addEventListener('abort', onAbort);
      settle();
    });

  return {
    async enter(signal, ask = {}) {
      if (isClosed) throw closedError();
      if (signal.aborted) throw signal.reason;
      if (hasPlace(ask.level ?? 0)) return take(ask, 'direct');
      // A query that has already run is not refused.
      if (queue.size < queueMax || (ask.level ?? 0) > 0) return wait(signal, ask);
      const retryAfterMs = Math.round((heldMs * (queue.size + 1)) / places);
      throw new ApiError(
        'resource_exceeded',
        `Too many queries at once: ${running.size} run and ${queue.size} wait. Try again later.`,
        { retryAfterMs: Math.max(RETRY_MS_MIN, Math.min(RETRY_MS_MAX, retryAfterMs)) },
      );
    },
    async close(waitMs) {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(lostTimer);
      for (const waiter of [...queue]) waiter.refuse(closedError());
      if (!isIdle()) {
        await new Promise<void>((resolve) => {
          const waiting = setTimeout(resolve, waitMs);
          onIdle.push(() => {
            clearTimeout(waiting);
            resolve();
          });
        });
      }
      return running.size + aside.size;
    },
  };
}
