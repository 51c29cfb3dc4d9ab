import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../contract/errors.ts';
import type { DataFolder } from '../../local/folder.ts';
import { probe } from '../../local/probe.ts';
import { takeSpawnLock } from '../../local/spawn.ts';
import type { Logger } from '../../mcp/logger.ts';
import { leaveService } from './leave-service.ts';

const POLL_MS = 50;
/** Time for a service that is starting or leaving to be there or gone. */
const FREE_MS = 20_000;
/** Time for a service whose `serve` was killed to notice that, in which it still answers. */
const ORPHANED_MS = 1_000;

/**
 * Runs `start`, which starts `serve` on the folder, once no local service has it: a local one is there for whoever
 * calls, and they find `serve` at the same socket, so it is asked to leave, unless `ready` rejects before. Meanwhile nobody
 * starts another one. A service that `serve` runs stays, and `start` rejects `not_ready`.
 */
export async function inPlaceOfLocal<T>(
  folder: DataFolder,
  log: Logger,
  { ready, start }: { ready: () => Promise<void>; start: () => Promise<T> },
): Promise<T> {
  let release: (() => Promise<void>) | undefined;
  const startedAt = performance.now();
  try {
    for (; ; await delay(POLL_MS)) {
      release ??= await takeSpawnLock(folder.spawnLockFile);
      const found = await probe(folder.socketPath);
      if (found.state === 'ready' && !found.isForeground) {
        await ready();
        log.info({ service_pid: found.pid }, 'asking the local service to leave the folder to this one');
        await leaveService(folder.path, { startMs: 0, force: false });
      }
      try {
        return await start();
      } catch (error) {
        const isServed = found.state === 'foreign' || (found.state === 'ready' && found.isForeground);
        const waitMs = isServed ? ORPHANED_MS : FREE_MS;
        if (!isHeld(error) || performance.now() - startedAt > waitMs) throw error;
      }
    }
  } finally {
    await release?.();
  }
}

/** Whether a service could not start because another process has the database. */
export function isHeld(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof ApiError && one.code === 'not_ready') return true;
  }
  return false;
}
