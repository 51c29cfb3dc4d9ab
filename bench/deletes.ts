import type { Client } from '../src/http/client.ts';
import { benchDocument, benchDocuments } from './documents.ts';
import { startService, stopService } from './local-service.ts';
import { ms, quantile, timeMs } from './measure.ts';
import { load } from './service.ts';

/** The most ids that one request may have. */
const BATCH = 20_000;
const COLLECTION = { workspace: 'bench', collection: 'big' };
const EVERY_MS = 20;

/**
 * (m) Deleting all of many documents, in the largest batches there are, while another client asks `SELECT 1` again and
 * again; then removing them from the trash for good.
 */
export async function benchDeletes(bin: string, folder: string, count: number): Promise<void> {
  const service = await startService(bin, folder);
  const { client } = service;
  try {
    await client.createWorkspace({ name: 'bench' });
    await client.createCollection({ workspace: 'bench', name: 'big' });
    await load(client, 'big', benchDocuments(count), 5_000);
    console.log(`\n(m) ${count} documents deleted in batches of ${BATCH}`);
    for (const [what, work] of [
      ['delete them all', () => deleteAll(client, count)],
      ['empty the trash', async () => [await timeMs(() => client.emptyTrash({}, { timeoutMs: 600_000 }))]],
    ] as const) {
      const batches: number[] = [];
      const waits = await beside(
        () => client.runQuery({ sql: { query: 'SELECT 1' } }),
        async () => void batches.push(...(await work())),
      );
      const total = batches.reduce((sum, one) => sum + one, 0);
      const [p50, p99, worst] = [quantile(waits, 0.5), quantile(waits, 0.99), Math.max(...waits)].map(ms);
      console.log(`  ${what.padEnd(20)} ${ms(total)} in all, worst request ${ms(Math.max(...batches))}`);
      console.log(`  ${''.padEnd(20)} SELECT 1 of another client: p50 ${p50}   p99 ${p99}   worst ${worst}`);
    }
  } finally {
    await stopService(service);
  }
}

/** The milliseconds of each batch. */
async function deleteAll(client: Client, count: number): Promise<number[]> {
  const spent: number[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    const data = Array.from({ length: size }, (_, index) => ({ _id: benchDocument(from + index)._id }));
    spent.push(await timeMs(() => client.deleteDocuments({ ...COLLECTION, data }, { timeoutMs: 600_000 })));
  }
  return spent;
}

/** Repeats `ask` until `work` is done; returns the milliseconds of each. */
async function beside(ask: () => Promise<unknown>, work: () => Promise<void>): Promise<number[]> {
  const waits: number[] = [];
  let isDone = false;
  const asking = (async () => {
    while (!isDone) {
      waits.push(await timeMs(ask));
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await asking;
  }
  return waits;
}
