import { setTimeout as delay } from 'node:timers/promises';
import type { Leading } from '../../sharing.ts';
import type { LakeLocks } from './lake-locks.ts';

/** After PostgreSQL could not be reached, the lease was lost, or the work ended by itself. */
const AGAIN_MS = 1_000;

/** As `Sharing.lead`: a lease is a lock of the lake that is kept as long as its node lives. */
export function leadOn(
  locks: LakeLocks,
  name: string,
  work: (signal: AbortSignal) => Promise<void>,
  failed: (error: unknown) => void,
): Leading {
  const stopping = new AbortController();
  const { signal } = stopping;
  const done = (async () => {
    while (!signal.aborted) {
      try {
        await locks.lead(`lead ${name}`, work, signal);
      } catch (error) {
        if (!signal.aborted) failed(error);
      }
      await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
