import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine, Leading } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { Clock } from '../clock.ts';
import type { Usage } from '../compute/usage.ts';
import { purgeTrash } from '../trash/trash.ts';
import type { Trash } from '../trash/trash-entries.ts';

export interface RetentionContext {
  engine: Engine;
  catalog: Catalog;
  clock: Clock;
  usage: Usage;
  trash: Trash;
  log: Logger;
}

/**
 * Removes in the background the documents past their collection's retention (queries no longer see them by then), and
 * what has expired in the trash; nothing while the clock is in doubt. Starts the first round at once, and each further one
 * `everyMs` after the end of the last; stops after the current step.
 */
export function startRetention(ctx: RetentionContext, everyMs: number): Leading {
  async function purgeAll(signal: AbortSignal): Promise<void> {
    const nowMs = await ctx.clock.look();
    if (nowMs === undefined) return;
    for (const collection of [...ctx.catalog.all('collection').values()]) {
      // In steps, so that writes to the collection can run in between.
      while (!signal.aborted && collection.retentionSecs !== null && (await purgeStep(ctx, collection, nowMs)));
    }
    if (!signal.aborted) await purgeTrash(ctx, nowMs);
  }

  return ctx.engine.lead('purges', async (signal) => {
    while (!signal.aborted) {
      await ctx.engine.refresh();
      await purgeAll(signal);
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  });
}

/** Whether there may be more to purge. */
async function purgeStep(ctx: RetentionContext, collection: CollectionRecord, nowMs: number): Promise<boolean> {
  try {
    const purged = await ctx.engine.purge(collection.table, nowMs);
    if (purged.docCount > 0) ctx.usage.purged(collection, purged);
    return purged.docCount > 0;
  } catch (error) {
    // A collection deleted meanwhile has nothing left to purge.
    const isThere = [...ctx.catalog.all('collection').values()].some((one) => one.table === collection.table);
    if (isThere) {
      const details = { err: error, collection: `${collection.workspace}.${collection.name}` };
      ctx.log.error(details, 'cannot purge documents past their retention; trying again later');
    }
    return false;
  }
}
