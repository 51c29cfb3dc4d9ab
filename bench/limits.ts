import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { openEngine } from '../src/engine/duckdb/open.ts';
import type { Engine, NewDocument } from '../src/engine/engine.ts';
import type { Client } from '../src/http/client.ts';
import { benchDocuments } from './documents.ts';
import { LONG } from './long-statements.ts';
import { interleaved, median, ms, quantile, timeMs } from './measure.ts';

const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3';

/** When statements are stopped, in milliseconds after their start, so as to interrupt different steps. */
const STOP_AFTER_MS = [100, 300, 600, 1_000];
const STOP_DOCUMENTS = 100_000;

/** Rows of a long answer. */
const LONG_ROWS = 60_000;

const sleep = (timeMs: number) => new Promise((resolve) => setTimeout(resolve, timeMs));

/** Processor time that a process has used, in clock ticks of 10 ms. */
async function ticksOf(pid: number | 'self'): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return user + system;
}

/**
 * Milliseconds, to within a tick, until a process uses no more processor time: it is idle after 50 ms without a tick.
 */
async function untilIdle(pid: number | 'self'): Promise<number> {
  const startedAt = performance.now();
  let last = await ticksOf(pid);
  for (let busyAt = startedAt; performance.now() - busyAt < 50; await sleep(5)) {
    const ticks = await ticksOf(pid);
    if (ticks !== last) busyAt = performance.now();
    if (ticks === last && performance.now() - busyAt >= 50) return busyAt - startedAt;
    last = ticks;
  }
  return performance.now() - startedAt;
}

async function openWithDocuments(folder: string): Promise<Engine> {
  const engine = await openEngine({ file: join(folder, 'abort.duckdb') });
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'big' },
  ]);
  let batch: NewDocument[] = [];
  for (const { _id: id, ...fields } of benchDocuments(STOP_DOCUMENTS)) {
    batch.push({ id, eventTimeMicros: null, fields });
    if (batch.length < 10_000) continue;
    await engine.addDocuments('t', batch);
    batch = [];
  }
  return engine;
}

/** A stop is answered after at most about this time, even if the statement still runs. */
const ANSWERED_MS = 900;

async function stopInEngine(engine: Engine, sql: string, afterMs: number): Promise<number> {
  const caller = new AbortController();
  const running = engine.query({ sql, signal: caller.signal }).catch(() => undefined);
  await sleep(afterMs);
  const stopMs = await timeMs(() => {
    caller.abort();
    return running;
  });
  return stopMs < ANSWERED_MS ? stopMs : stopMs + (await untilIdle('self'));
}

async function stopOverHttp({ client, pid }: Service, sql: string, afterMs: number): Promise<number> {
  const caller = new AbortController();
  const query = sql.replace(/\bbig\b/g, 'bench.big');
  const running = client.runQuery({ sql: { query } }, { signal: caller.signal }).catch(() => undefined);
  await sleep(afterMs);
  caller.abort();
  const idleMs = await untilIdle(pid);
  await running;
  return idleMs;
}

interface Service {
  client: Client;
  pid: number;
}

function printStops(what: string, times: readonly number[]): void {
  const figures = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)];
  console.log(`  ${what.padEnd(34)} ${figures.map((value) => ms(value).padStart(10)).join(' ')}`);
}

/** (h) From the caller's abort, or the end of its connection, until the engine has stopped the statement. */
export async function benchAbort(folder: string, service: Service): Promise<void> {
  const engine = await openWithDocuments(folder);
  const all: number[] = [];
  console.log(`\n(h) abort of a long query until the engine is idle, ${LONG.length} kinds x ${STOP_AFTER_MS.length}`);
  console.log(`  ${''.padEnd(34)} ${['p50', 'p99', 'max'].map((name) => name.padStart(10)).join(' ')}`);
  for (const [kind, sql] of LONG) {
    const times: number[] = [];
    for (const afterMs of STOP_AFTER_MS) times.push(await stopInEngine(engine, sql, afterMs));
    all.push(...times);
    printStops(kind, times);
  }
  await engine.close();
  printStops('all', all);
  printStops('all but the slowest tenth', all.toSorted((a, b) => a - b).slice(0, Math.ceil(all.length * 0.9)));
  if (process.platform !== 'linux') return;
  const overHttp: number[] = [];
  for (const [index, [, sql]] of LONG.entries()) {
    overHttp.push(await stopOverHttp(service, sql, STOP_AFTER_MS[index % STOP_AFTER_MS.length] ?? 0));
  }
  printStops('all, by a closed connection', overHttp);
}

/** Short queries while long ones occupy all places, and while nothing else runs. */
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

/** How long other requests wait while a long answer is made and sent. */
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

/** (i) From spawning the service on an existing database to the first result, compared with Node.js alone. */
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
