import { ApiError } from '../../../contract/errors.ts';

/** Everything that ends a statement early. Times are as `performance.now()`. */
export interface Deadline {
  askedAt: number;
  endsAt: number;
  /** Its reason is the `ApiError` to reject with. */
  signal: AbortSignal;
  stop(reason: ApiError): void;
  /** To be called when the statement has ended. */
  clear(): void;
}

export function deadline(timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const askedAt = performance.now();
  const stop = new AbortController();
  const onTimeout = () =>
    stop.abort(
      new ApiError(
        'query_timeout',
        `The query ran past its time limit of ${timeoutMs} ms and was stopped. Narrow it down.`,
      ),
    );
  const givenUp = () => new ApiError('aborted', 'The query was given up by its caller and was stopped.');
  const onAbort = () => stop.abort(caller?.reason instanceof ApiError ? caller.reason : givenUp());
  const timer = setTimeout(onTimeout, timeoutMs);
  if (caller?.aborted === true) onAbort();
  caller?.addEventListener('abort', onAbort, { once: true });
  return {
    askedAt,
    endsAt: askedAt + timeoutMs,
    signal: stop.signal,
    stop: (reason) => stop.abort(reason),
    clear: () => {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}

/** How long a stopped statement may take to end before its caller gets an answer anyway. */
const GRACE_MS = 1_000;

/** The reason for a query that does not stop within the grace period: it may be inside one long step. */
function stillRunning(reason: unknown): unknown {
  if (!(reason instanceof ApiError)) return reason;
  const message = reason.message.replace(
    'was stopped.',
    'was told to stop, but still runs: one step of it takes long.',
  );
  return new ApiError(reason.code, message, { ...reason.details, cause: reason });
}

/** The result of `running`; if `signal` aborts, its reason after the grace period at the latest. */
export function orStopped<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = () => {
      timer = setTimeout(() => reject(stillRunning(signal.reason)), GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    running.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
}
