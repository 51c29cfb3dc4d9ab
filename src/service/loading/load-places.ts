import { ApiError } from '../../contract/errors.ts';
import { Scheduler } from '../../contract/turns/scheduler.ts';
import type { CallContext } from '../context.ts';

/** Loads whose file is in the spool, or on its way there: each may be as large as the disk lets it be. */
const places = new Scheduler({ places: 4, queueMax: 32, of: 'loads of CSV or Parquet' });

/** Less than a request may take to arrive, as whose time waiting counts. */
const WAIT_MS = 60_000;

/**
 * To be awaited before a file goes to the spool, and before any of its bytes is read: until there is a place for the
 * caller's API key, which are shared as those of queries are. Resolves to what frees the place. Rejects `resource_exceeded`
 * if too many wait, or none was free for `waitMs`, and the signal's reason.
 */
export async function enterLoad(
  { caller, signal }: Pick<CallContext, 'caller' | 'signal'>,
  waitMs = WAIT_MS,
): Promise<() => void> {
  const isOver = AbortSignal.timeout(waitMs);
  try {
    return (await places.enter(AbortSignal.any([signal, isOver]), { caller: caller.keyHash })).leave;
  } catch (error) {
    if (signal.aborted || !isOver.aborted) throw error;
    throw new ApiError(
      'resource_exceeded',
      `Too many loads of CSV or Parquet at once: there was no place for this one within ${waitMs / 1_000} s. Try again when another is done.`,
      { retryAfterMs: waitMs },
    );
  }
}
