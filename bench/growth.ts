import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../src/http/client.ts';
import { over, QUERIES, QUERY_NAMES } from './analytic.ts';
import { benchDocument, benchDocuments } from './documents.ts';
import { startService, stopService } from './local-service.ts';
import { interleaved, median, ms, timeMs } from './measure.ts';
import { load } from './service.ts';
import { memoryOf } from './writes.ts';

const SIZES = [10_000, 100_000, 1_000_000];
const ROUNDS = 5;
const LOOKUPS = 100;
const WRITTEN = 1_000;
const COLLECTION = { workspace: 'bench', collection: 'big' };

/** The figures of one size by their description: milliseconds, except for `MEMORY`. */
type Figures = Record<string, number>;

const MEMORY = 'memory of the service then (MiB)';

/** (k) The cost of each operation as a collection grows; each size has a service of its own. */
export async function benchGrowth(bin: string, folder: string): Promise<void> {
  const columns: Figures[] = [];
  for (const size of SIZES) columns.push(await figuresOf(bin, join(folder, `growth-${size}`), size));
  console.log('\n(k) cost as a collection grows, medians; "x" is what ten times as many documents cost more');
  const heads = SIZES.flatMap((size, index) => [size.toLocaleString('en-US'), ...(index === 0 ? [] : ['x'])]);
  console.log(`  ${''.padEnd(44)}${heads.map((head) => head.padStart(12)).join('')}`);
  for (const what of Object.keys(columns[0] ?? {})) {
    const values = columns.map((figures) => figures[what] ?? Number.NaN);
    const cells = values.flatMap((value, index) => [
      what === MEMORY ? value.toFixed(0) : ms(value),
      ...(index === 0 ? [] : [(value / (values[index - 1] ?? Number.NaN)).toFixed(2)]),
    ]);
    console.log(`  ${what.padEnd(44)}${cells.map((cell) => cell.padStart(12)).join('')}`);
  }
}

async function figuresOf(bin: string, folder: string, size: number): Promise<Figures> {
  let service = await startService(bin, folder);
  const figures: Figures = {};
  const { client } = service;
  await client.createWorkspace({ name: 'bench' });
  await client.createCollection({ workspace: 'bench', name: 'big' });
  const spent = await load(client, 'big', benchDocuments(size), 5_000);
  figures['load, for each 10,000'] = (spent / size) * 10_000;
  for (const name of QUERY_NAMES) {
    const query = over('bench."big"', QUERIES[name]);
    figures[name] = await medianOf(ROUNDS, () => client.runQuery({ sql: { query } }));
  }
  await addWrites(client, size, figures);
  await stopService(service);
  const starts: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    starts.push(
      await timeMs(async () => {
        service = await startService(bin, folder);
        await service.client.runQuery({ sql: { query: over('bench."big"', QUERIES['group by']) } });
      }),
    );
    if (round < ROUNDS - 1) await stopService(service);
  }
  figures['start to the first result'] = median(starts);
  figures[MEMORY] = (await memoryOf(service.child.pid ?? 0))?.now ?? Number.NaN;
  await stopService(service);
  await rm(folder, { recursive: true });
  return figures;
}

async function addWrites(client: Client, size: number, figures: Figures): Promise<void> {
  const byId = (id: string) =>
    client.runQuery({
      sql: { query: 'SELECT amount FROM bench."big" WHERE _id = :id', parameters: [{ name: 'id', value: id }] },
    });
  const idOf = (number: number) => benchDocument(number)._id;
  figures['one document by its _id'] = await medianOf(LOOKUPS, (round) => byId(idOf((round * 7_919) % size)));
  figures['one in, then queried'] = await medianOf(LOOKUPS, async (round) => {
    await client.addDocuments({ ...COLLECTION, data: [{ _id: `fresh-${round}`, amount: round }] });
    await byId(`fresh-${round}`);
  });
  const step = Math.floor(size / WRITTEN);
  const numbers = (round: number) => Array.from({ length: WRITTEN }, (_, index) => index * step + (round % step));
  figures[`replace ${WRITTEN}`] = await medianOf(ROUNDS, (round) =>
    client.addDocuments({
      ...COLLECTION,
      data: numbers(round).map((number) => ({ ...benchDocument(number), amount: -round })),
    }),
  );
  figures[`patch ${WRITTEN}`] = await medianOf(ROUNDS, (round) =>
    client.patchDocuments({
      ...COLLECTION,
      data: numbers(round).map((number) => ({
        _id: idOf(number),
        patch: [{ op: 'replace' as const, path: '/amount', value: round }],
      })),
    }),
  );
  figures[`delete ${WRITTEN}`] = await medianOf(ROUNDS, (round) =>
    client.deleteDocuments({ ...COLLECTION, data: numbers(round).map((number) => ({ _id: idOf(number) })) }),
  );
}

/** Median of the given number of runs in milliseconds, after one that does not count. */
async function medianOf(rounds: number, run: (round: number) => Promise<unknown>): Promise<number> {
  let round = 0;
  const { times } = await interleaved(rounds, { times: () => run(round++) });
  return median(times);
}
