import type { Logger } from 'pino';
import type { Engine } from '../engine/engine.ts';
import type { Catalog } from './catalog.ts';
import type { CollectionRecord } from './records.ts';
import { purgeTrash } from './trash.ts';
import type { Trash } from './trash-entries.ts';
import type { Usage } from './usage.ts';

export interface RetentionContext {
  engine: Engine;
  catalog: Catalog;
  usage: Usage;
  trash: Trash;
  log: Logger;
}

/**
 * Removes, in the background, what is past its collection's retention, which has been invisible before, and what is past
 * its time in the trash.
 */
export interface Retention {
  /** Ends after the step that runs. */
  stop(): Promise<void>;
}

/** Starts with a round at once; the next begins `everyMs` after the last one's end. */
export function startRetention(ctx: RetentionContext, everyMs: number): Retention {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  async function purgeAll(): Promise<void> {
    for (const collection of [...ctx.catalog.all('collection').values()]) {
      // In steps, so that writes to the collection come in between.
      while (!isStopped && collection.retentionSecs !== null && (await purgeStep(ctx, collection)));
    }
    if (!isStopped) await purgeTrash(ctx);
  }

  function next(): void {
    round = purgeAll().finally(() => {
      if (!isStopped) timer = setTimeout(next, everyMs).unref();
    });
  }

  next();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}

/** Whether there may be more. */
async function purgeStep(ctx: RetentionContext, collection: CollectionRecord): Promise<boolean> {
  try {
    const purged = await ctx.engine.purge(collection.table);
    if (purged.docCount > 0) ctx.usage.purged(collection, purged);
    return purged.docCount > 0;
  } catch (error) {
    // One that was deleted meanwhile has nothing left to purge.
    const isThere = [...ctx.catalog.all('collection').values()].some((one) => one.table === collection.table);
    if (isThere) {
      const details = { err: error, collection: `${collection.workspace}.${collection.name}` };
      ctx.log.error(details, 'cannot purge documents past their retention; trying again later');
    }
    return false;
  }
}
