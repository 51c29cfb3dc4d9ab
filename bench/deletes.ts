import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../src/http/client.ts';
import { benchDocument, benchDocuments } from './documents.ts';
import { startService, stopService } from './local-service.ts';
import { ms, quantile, timeMs } from './measure.ts';
import { startProbe } from './probe.ts';
import { load } from './service.ts';

/** The most ids that one request may have. */
const BATCH = 20_000;
const COLLECTION = { workspace: 'bench', collection: 'big' };

/**
 * (m) Deleting all of many documents, in the largest batches there are, while another client asks `SELECT 1` again and
 * again; then removing them from the trash for good.
 */
export async function benchDeletes(bin: string, folder: string, count: number): Promise<void> {
  // Beforehand, since it takes a while: right after a load the log is at its longest.
  const ids = Array.from({ length: count }, (_, index) => benchDocument(index)._id);
  const service = await startService(bin, folder);
  const { client, url } = service;
  const key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const probe = startProbe(Number(url.port), key);
  try {
    await client.createWorkspace({ name: 'bench' });
    await client.createCollection({ workspace: 'bench', name: 'big' });
    await load(client, 'big', benchDocuments(count), 5_000);
    console.log(`\n(m) ${count} documents deleted in batches of ${BATCH}`);
    for (const [what, work] of [
      ['delete them all', () => deleteAll(client, ids)],
      ['empty the trash', async () => [await timeMs(() => client.emptyTrash({}, { timeoutMs: 600_000 }))]],
    ] as const) {
      await probe.waits();
      const batches = await work();
      const waits = (await probe.waits()).map(Math.abs);
      const total = batches.reduce((sum, one) => sum + one, 0);
      const [p50, p99, worst] = [quantile(waits, 0.5), quantile(waits, 0.99), Math.max(...waits)].map(ms);
      console.log(`  ${what.padEnd(20)} ${ms(total)} in all, worst request ${ms(Math.max(...batches))}`);
      console.log(`  ${''.padEnd(20)} SELECT 1 of another client: p50 ${p50}   p99 ${p99}   worst ${worst}`);
    }
  } finally {
    await probe.stop();
    await stopService(service);
  }
}

/** The milliseconds of each batch. */
async function deleteAll(client: Client, ids: readonly unknown[]): Promise<number[]> {
  const spent: number[] = [];
  for (let from = 0; from < ids.length; from += BATCH) {
    const data = ids.slice(from, from + BATCH).map((id) => ({ _id: String(id) }));
    spent.push(await timeMs(() => client.deleteDocuments({ ...COLLECTION, data }, { timeoutMs: 600_000 })));
  }
  return spent;
}
