import { ApiError } from '../../contract/errors.ts';

/** What is known of a query that asks for a place. */
export interface Ask {
  /** 0: it may be short (default). Above: it has given up a place, and with each level it may keep the next for longer. */
  level?: number | undefined;
  /** It can give up its place and start anew in another. */
  mayYield?: boolean | undefined;
}

export interface Place {
  /** Frees it. */
  leave(): void;
  /**
   * Whoever has it was told to stop and does not: it counts no longer against the places of others, as long as there are
   * no more such than `stuckMax`.
   */
  setAside(): void;
  /** Aborts when another query is to have the place: leave, and ask anew with `nextLevel`. */
  readonly recall: AbortSignal;
  /** What to ask with after a recall. */
  nextLevel(): number;
}

export interface SchedulerOptions {
  /** Queries at once. */
  places: number;
  /** Queries that wait; one more is refused. */
  queueMax: number;
  /** Queries that do not stop, for each of which another may run (default 0). */
  stuckMax?: number;
  /** A query is long once it has held its place for so long (default 1,000). */
  shortMs?: number;
  /** Called when queries that do not stop have held places of others for a minute. */
  onLost?: () => void;
}

export interface Scheduler {
  /**
   * Waits for one of the places, first come first served; of several places, one is never left to long queries while
   * others wait.
   *
   * Rejects `resource_exceeded` with `retryAfterMs` at once when the queue is full, `signal.reason` when the signal
   * aborts first, and `not_ready` after `close`.
   */
  enter(signal: AbortSignal, ask?: Ask): Promise<Place>;
  /**
   * Refuses whoever waits or comes, and resolves when every place is free but those of queries that do not stop, or
   * after `waitMs`: to how many are not free, those included.
   */
  close(waitMs: number): Promise<number>;
}

/** How a newcomer came to its place: at once, or out of the queue, as the one that waited longest or shortest. */
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
  /** By `performance.now()`. */
  startedAt: number;
  recall: AbortController;
  isStuck: boolean;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 30_000;
const SHORT_MS = 1_000;
/** How much longer a query may keep its next place than the one that it gave up. */
const LEVEL_FACTOR = 4;
const LEVEL_MAX = 3;
/** How long queries that do not stop may hold places of others. */
const LOST_MS = 60_000;

function closedError(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}

/**
 * Places for `places` queries at once, and a queue of at most `queueMax` behind them.
 *
 * Where all that run are long and one waits that may be short, the newest of them gives up its place: what it has done is
 * lost, but that is little more than `shortMs` of work, and else one query waits for another's time limit. It goes to the
 * end of the queue, and takes no more than the places but one from then on. Nothing tells a short query from a long one
 * before it has run: where several wait for that one place, the newest and the oldest of them have it in turns, so that a
 * short one waits for two others at most, and none is passed over for ever.
 *
 * The places of long queries change hands as well, so that one of some seconds ends beside others that never do: the
 * newest of them gives its place to one that waits. The time that a query may keep a place grows each time it starts
 * anew, so that most of what it does is not lost.
 */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { places, queueMax, stuckMax = 0, shortMs = SHORT_MS, onLost } = options;
  const queue = new Set<Waiter>();
  const running = new Set<Holder>();
  /** Set aside: they do not stop, and hold no place of others. */
  const aside = new Set<Holder>();
  const onIdle: (() => void)[] = [];
  const longPlaces = Math.max(1, places - 1);
  let timer: NodeJS.Timeout | undefined;
  let lostTimer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** How long a query has held its place, as a moving mean. */
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

  /** Of newcomers that wait for the one place that long queries leave, the newest and the oldest in turns. */
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
  /** The one that has tried least. */
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

  /** Who is to give up a place for a newcomer, and in how many milliseconds. */
  const dueForNewcomer = (holders: readonly Holder[]): [Holder, number] | undefined => {
    const newest = holders.findLast(({ level, mayYield }) => level === 0 && mayYield);
    if (newest === undefined || running.size < places) return undefined;
    return [newest, Math.max(0, ...holders.map((holder) => (isLong(holder) ? 0 : shortMs - ageOf(holder))))];
  };

  /** The same for one that is known to be long. One that has the place of newcomers may keep it for longer. */
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

  /** Gives free places to those who wait, and takes one back where that is due. */
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
      // One that was running is not refused now.
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
