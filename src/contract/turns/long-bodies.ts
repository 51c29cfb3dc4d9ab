import { ApiError } from '../errors.ts';
import { Scheduler } from './scheduler.ts';
import { takeTurn } from './turns.ts';

/** Bodies that are read, a step at a time: nothing here waits for anything else. */
const reads = new Scheduler({ places: 3, queueMax: 128, of: 'long requests' });
/** Writes of many documents, until they are stored, which may wait for a backup. */
const writes = new Scheduler({ places: 8, queueMax: 128, of: 'long writes' });

/** A shorter body takes about a millisecond, and waits for nobody. */
const LONG_BYTES_MIN = 16 * 1024;

export interface Body {
  /** In bytes. */
  length: number;
  /** Whether it holds documents, to be stored. */
  isWrite: boolean;
  /** Whose it is: an API key. */
  caller: string;
  /** Aborts when nobody wants it any more. */
  signal: AbortSignal;
}

/**
 * To be awaited before work on a request's body: if that is long, until there is a place for its caller, and it has the
 * turn. Resolves to what frees the place. Callers share places and queue as they do those of queries.
 *
 * Rejects `resource_exceeded` with `retryAfterMs` when too many of its caller wait already, and `aborted`, or the error
 * that is the signal's reason, when it is given up before.
 */
export async function enterBody({ length, isWrite, caller, signal }: Body): Promise<() => void> {
  if (length < LONG_BYTES_MIN) return () => {};
  const { leave } = await (isWrite ? writes : reads).enter(signal, { caller }).catch((error: unknown) => {
    throw error instanceof ApiError ? error : new ApiError('aborted', 'The request was given up by its caller.');
  });
  await takeTurn();
  return leave;
}
