import { ApiError } from '../errors.ts';
import { Scheduler } from './scheduler.ts';
import { takeTurn } from './turns.ts';

/** What is read from long texts, a step at a time: nothing here waits for anything else. */
const reads = new Scheduler({ places: 3, queueMax: 128, of: 'long texts' });
/** Writes of many documents, until they are stored, which may wait for a backup. */
const writes = new Scheduler({ places: 8, queueMax: 128, of: 'long writes' });

/** Work on a shorter text takes about a millisecond, and waits for nobody. */
const KINDS = {
  statement: { lengthMin: 2 * 1024, scheduler: reads },
  body: { lengthMin: 16 * 1024, scheduler: reads },
  documents: { lengthMin: 16 * 1024, scheduler: writes },
} as const;

export interface Text {
  kind: keyof typeof KINDS;
  /** In bytes or characters. */
  length: number;
  /** Whose it is: an API key. */
  caller: string;
  /** Aborts when nobody wants it any more. */
  signal: AbortSignal;
}

/**
 * To be awaited before work on a text: if that is long, until there is a place for its caller, and it has the turn.
 * Resolves to what frees the place. Callers share places and queue as they do those of queries.
 *
 * Rejects `resource_exceeded` with `retryAfterMs` when too many of its caller wait already, and `aborted`, or the error
 * that is the signal's reason, when it is given up before.
 */
export async function enterText({ kind, length, caller, signal }: Text): Promise<() => void> {
  const { lengthMin, scheduler } = KINDS[kind];
  if (length < lengthMin) return () => {};
  const { leave } = await scheduler.enter(signal, { caller }).catch((error: unknown) => {
    throw error instanceof ApiError ? error : new ApiError('aborted', 'The request was given up by its caller.');
  });
  await takeTurn();
  return leave;
}
