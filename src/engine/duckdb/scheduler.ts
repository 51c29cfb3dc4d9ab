import { ApiError } from '../../contract/errors.ts';

/** What is known of a query that asks for a place. */
export interface Ask {
  /** It has given up a place before: it is not short. */
  isLong?: boolean | undefined;
  /** It can give up its place and start anew in another. */
  mayYield?: boolean | undefined;
}

export interface Place {
  /** Frees it. */
  leave(): void;
  /** Aborts when another query, that may be short, is to have the place: leave, and ask anew as a long one. */
  readonly recall: AbortSignal;
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
  /** Refuses whoever waits or comes, and resolves when every place is free, or after `waitMs`: to how many are not. */
  close(waitMs: number): Promise<number>;
}

interface Waiter {
  ask: Ask;
  enter(): void;
  refuse(error: ApiError): void;
}

interface Holder {
  ask: Ask;
  /** By `performance.now()`. */
  startedAt: number;
  recall: AbortController;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 30_000;
const SHORT_MS = 1_000;

function closedError(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}

/**
 * Places for `places` queries at once, and a queue of at most `queueMax` behind them. A query is long once it has held
 * its place for `shortMs`.
 *
 * Where all that run are long and one waits that may be short, the newest of them gives up its place: what it has done is
 * lost, but that is little more than `shortMs` of work, and else one query waits for another's time limit. It goes to the
 * end of the queue, and takes no more than the places but one from then on.
 */
export function createScheduler(places: number, queueMax: number, shortMs = SHORT_MS): Scheduler {
  const queue = new Set<Waiter>();
  const running = new Set<Holder>();
  const onIdle: (() => void)[] = [];
  const longPlaces = Math.max(1, places - 1);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** How long a query has held its place, as a moving mean. */
  let heldMs = 500;

  const ageOf = ({ startedAt }: Holder) => performance.now() - startedAt;
  const isLong = (holder: Holder) => holder.ask.isLong === true || ageOf(holder) >= shortMs;
  const hasPlace = ({ isLong: asLong }: Ask) =>
    running.size < places && (asLong !== true || [...running].filter(isLong).length < longPlaces);

  const take = (ask: Ask): Place => {
    const holder: Holder = { ask, startedAt: performance.now(), recall: new AbortController() };
    running.add(holder);
    const leave = () => {
      if (!running.delete(holder)) return;
      heldMs = heldMs * 0.8 + ageOf(holder) * 0.2;
      settle();
      if (running.size === 0) for (const resolve of onIdle.splice(0)) resolve();
    };
    return { leave, recall: holder.recall.signal };
  };

  /** Gives free places to those who wait, and takes one back where that is due. */
  const settle = () => {
    for (const waiter of [...queue]) if (hasPlace(waiter.ask)) waiter.enter();
    clearTimeout(timer);
    timer = undefined;
    const mayBeShort = [...queue].some(({ ask }) => ask.isLong !== true);
    if (places === 1 || running.size < places || !mayBeShort) return;
    const holders = [...running];
    if (holders.some(({ recall }) => recall.signal.aborted)) return;
    const waitMs = Math.max(0, ...holders.map((holder) => (isLong(holder) ? 0 : shortMs - ageOf(holder))));
    if (waitMs > 0) {
      timer = setTimeout(settle, Math.ceil(waitMs)).unref();
      return;
    }
    holders.findLast(({ ask }) => ask.isLong !== true && ask.mayYield === true)?.recall.abort();
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
        ask,
        enter: () => {
          leave();
          resolve(take(ask));
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
      if (hasPlace(ask)) return take(ask);
      // One that was running is not refused now.
      if (queue.size < queueMax || ask.isLong === true) return wait(signal, ask);
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
      for (const waiter of [...queue]) waiter.refuse(closedError());
      if (running.size > 0) {
        await new Promise<void>((resolve) => {
          const waiting = setTimeout(resolve, waitMs);
          onIdle.push(() => {
            clearTimeout(waiting);
            resolve();
          });
        });
      }
      return running.size;
    },
  };
}
