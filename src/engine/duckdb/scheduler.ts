import { ApiError } from '../../contract/errors.ts';

export interface Scheduler {
  /**
   * Waits for one of the places, first come first served, and gives the function that frees it again.
   *
   * Rejects `resource_exceeded` with `retryAfterMs` at once when the queue is full, `signal.reason` when the signal
   * aborts first, and `not_ready` after `close`.
   */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Refuses whoever waits or comes, and resolves when every place is free, or after `waitMs`: to how many are not. */
  close(waitMs: number): Promise<number>;
}

interface Waiter {
  enter(): void;
  refuse(error: ApiError): void;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 30_000;

function closedError(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}

/** Places for `places` queries at once, and a queue of at most `queueMax` behind them. */
export function createScheduler(places: number, queueMax: number): Scheduler {
  const queue = new Set<Waiter>();
  const onIdle: (() => void)[] = [];
  let running = 0;
  let isClosed = false;
  /** How long a query has held its place, as a moving mean. */
  let heldMs = 500;

  const take = (): (() => void) => {
    const startedAt = performance.now();
    let isFreed = false;
    running += 1;
    return () => {
      if (isFreed) return;
      isFreed = true;
      running -= 1;
      heldMs = heldMs * 0.8 + (performance.now() - startedAt) * 0.2;
      const next = queue.values().next().value;
      next?.enter();
      if (running === 0) for (const resolve of onIdle.splice(0)) resolve();
    };
  };

  const wait = (signal: AbortSignal): Promise<() => void> =>
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
        enter: () => {
          leave();
          resolve(take());
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      queue.add(waiter);
      signal.addEventListener('abort', onAbort);
    });

  return {
    async enter(signal) {
      if (isClosed) throw closedError();
      if (signal.aborted) throw signal.reason;
      if (running < places) return take();
      if (queue.size < queueMax) return wait(signal);
      const retryAfterMs = Math.round((heldMs * (queue.size + 1)) / places);
      throw new ApiError(
        'resource_exceeded',
        `Too many queries at once: ${running} run and ${queue.size} wait. Try again later.`,
        { retryAfterMs: Math.max(RETRY_MS_MIN, Math.min(RETRY_MS_MAX, retryAfterMs)) },
      );
    },
    async close(waitMs) {
      isClosed = true;
      for (const waiter of [...queue]) waiter.refuse(closedError());
      if (running > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          onIdle.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      return running;
    },
  };
}
