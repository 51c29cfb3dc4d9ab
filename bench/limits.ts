import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { openEngine } from '../src/engine/duckdb/open.ts';
import type { Client } from '../src/http/client.ts';
import { interleaved, median, ms, quantile, timeMs } from './measure.ts';

const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3';

/** Statements to stop, each in the middle of something else. */
const LONG = [
  ENDLESS,
  'SELECT max(x) FROM (SELECT random() x, row_number() OVER (ORDER BY random()) FROM range(50000000))',
  'SELECT i % 1000003, count(DISTINCT i) FROM range(200000000) t(i) GROUP BY 1',
  'SELECT sum(length(repeat(i::VARCHAR, 50))) FROM range(500000000) t(i)',
];

const LONG_ROWS = 60_000;

/** (h) From the caller's word until the engine has let go of the statement. */
export async function benchAbort(folder: string, rounds: number): Promise<void> {
  const engine = await openEngine({ file: join(folder, 'abort.duckdb') });
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const caller = new AbortController();
    const sql = LONG[round % LONG.length] ?? ENDLESS;
    const running = engine.query({ sql, signal: caller.signal }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50 + (round % 7) * 20));
    times.push(
      await timeMs(() => {
        caller.abort();
        return running;
      }),
    );
  }
  await engine.close();
  console.log(`\n(h) abort of a long query until the engine is idle, ${rounds} rounds`);
  console.log(`  p50 ${ms(quantile(times, 0.5))}   p99 ${ms(quantile(times, 0.99))}   max ${ms(Math.max(...times))}`);
}

/** Short queries while long ones have taken all places, and while nothing else runs. */
export async function benchShort(client: Client): Promise<void> {
  const short = () => client.runQuery({ sql: { query: 'SELECT 42 AS x' } });
  const alone: number[] = [];
  for (let round = 0; round < 30; round += 1) alone.push(await timeMs(short));
  const callers = new AbortController();
  const long = Array.from({ length: 8 }, () =>
    client.runQuery({ sql: { query: ENDLESS } }, { signal: callers.signal }).catch(() => undefined),
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  const beside: number[] = [];
  for (let round = 0; round < 30; round += 1) beside.push(await timeMs(short));
  callers.abort();
  await Promise.all(long);
  console.log('\n    a short query, 30 rounds: alone, and beside eight long ones that never end');
  console.log(`  alone   p50 ${ms(median(alone))}   max ${ms(Math.max(...alone))}`);
  console.log(`  beside  p50 ${ms(median(beside))}   max ${ms(Math.max(...beside))}`);
}

/** How long others wait while a long answer is made and sent. */
export async function benchLongAnswer(client: Client, socketPath: string, collection: string): Promise<void> {
  const health = () =>
    new Promise<void>((resolve, reject) => {
      request({ socketPath, path: '/health' }, (answer) => answer.resume().once('end', resolve))
        .once('error', reject)
        .end();
    });
  const rounds: { tookMs: number; waitedMs: number }[] = [];
  for (let round = 0; round < 5; round += 1) {
    let isDone = false;
    let waitedMs = 0;
    const query = `SELECT * FROM bench."${collection}" LIMIT ${LONG_ROWS}`;
    const answer = timeMs(() => client.runQuery({ sql: { query } })).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      waitedMs = Math.max(waitedMs, await timeMs(health));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    rounds.push({ tookMs: await answer, waitedMs });
  }
  console.log(
    `\n    an answer of ${LONG_ROWS} documents, and the longest that another request waited meanwhile, in this`,
  );
  console.log('    process, which also parses the answer; medians of 5');
  console.log(
    `  answer ${ms(median(rounds.map((one) => one.tookMs)))}   waited ${ms(median(rounds.map((one) => one.waitedMs)))}`,
  );
}

/** (i) From spawn of the service on an existing database to the first result, against Node.js by itself. */
export async function benchCold(
  start: () => Promise<{ stop: () => Promise<void>; client: Client }>,
  collection: string,
) {
  const query = `SELECT kind, count(*) n FROM bench."${collection}" GROUP BY 1`;
  const services: { stop: () => Promise<void> }[] = [];
  const times = await interleaved(5, {
    node: async () => {
      await once(spawn(process.execPath, ['-e', '0']), 'exit');
    },
    last: async () => {
      await services.pop()?.stop();
    },
    cold: async () => {
      const service = await start();
      services.push(service);
      await service.client.runQuery({ sql: { query } });
    },
  });
  await services.pop()?.stop();
  console.log('\n(i) spawn of the service on the database to the first result, median of 5');
  const [cold, node] = [median(times.cold), median(times.node)];
  console.log(`  ${ms(cold)}; node -e 0 takes ${ms(node)}: ${(cold / node).toFixed(1)} x`);
}
