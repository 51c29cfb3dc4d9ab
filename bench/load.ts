import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../src/contract/errors.ts';
import { type Client, createClient } from '../src/http/client.ts';
import { benchDocuments } from './documents.ts';
import { startService, stopService } from './local-service.ts';
import { median, ms, quantile, timeMs } from './measure.ts';
import { load } from './service.ts';

const DOCUMENTS = Number(process.env['BENCH_DOCUMENTS'] ?? 100_000);
const CLIENTS = 50;
const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3';
const ATTACKS = 200;

/** Analytic queries of some seconds. */
const LONG = {
  'group by, many groups': `SELECT count(*) n, max(s) FROM
    (SELECT kind, hash(_id || range) % 300000 g, sum(amount) s FROM bench.big, range(60) GROUP BY 1, 2)`,
  'window over a sort': `SELECT max(n) FROM
    (SELECT row_number() OVER (PARTITION BY kind ORDER BY text, _id, range) n FROM bench.big, range(12))`,
} as const;

/** What the figures are to be. */
const GOAL_P99_MS = 400;
const GOAL_ATTACK_MS = 250;
const goalBesideMs = (aloneMs: number) => 3 * aloneMs + 10_000;

interface Setting {
  client: Client;
  /** A client with another API key. */
  other: Client;
  key: string;
  socketPath: string;
  clientsFile: string;
}

const long = (client: Client, query: string) => timeMs(() => client.runQuery({ sql: { query } }));

function printRow(what: string, figure: string, goal: string, isMet: boolean): void {
  console.log(`  ${what.padEnd(58)} ${figure.padStart(30)}   ${goal} ${isMet ? '' : '  MISSED'}`);
}

/** Calls `SELECT 1` every 20 ms until the signal aborts; returns how long each took. */
async function shortOnes(client: Client, until: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!until.aborted) {
    times.push(await timeMs(() => client.runQuery({ sql: { query: 'SELECT 1' } })));
    await sleep(20);
  }
  return times;
}

function printShort(what: string, times: readonly number[], goalMs: number, share: number): void {
  const [p50, p99, worst] = [median(times), quantile(times, 0.99), Math.max(...times)];
  const figures = `${ms(p50)} / ${ms(p99)} / ${ms(worst)}`;
  printRow(what, figures, `≤ ${goalMs} ms`, quantile(times, share) <= goalMs);
}

async function startClients({ key, socketPath, clientsFile }: Setting): Promise<() => Promise<number>> {
  const child = spawn(process.execPath, [clientsFile, socketPath, 'big', String(CLIENTS)], {
    env: { ...process.env, BENCH_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let out = '';
  const warm = once(child.stdout, 'data');
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  await warm;
  return async () => {
    child.kill('SIGTERM');
    await ended;
    return Number(out.trim().split('\n').at(-1));
  };
}

/** What another client notices of two long queries and fifty busy clients, and whether the two get on. */
async function benchShares(setting: Setting, what: string, shorts: Client): Promise<void> {
  const names = Object.keys(LONG) as (keyof typeof LONG)[];
  const alone = new Map<string, number>();
  for (const name of names) alone.set(name, await long(setting.client, LONG[name]));
  const stopClients = await startClients(setting);
  const startedAt = performance.now();
  const stop = new AbortController();
  const short = shortOnes(shorts, stop.signal);
  const beside = await Promise.all(names.map((name) => long(setting.client, LONG[name])));
  stop.abort();
  const times = await short;
  const rate = ((await stopClients()) * 1_000) / (performance.now() - startedAt);
  console.log(`\n    two long queries and ${CLIENTS} clients (${rate.toFixed(0)} calls/s), ${what}`);
  printShort(`SELECT 1, ${times.length} times: p50 / p99 / worst`, times, GOAL_P99_MS, 0.99);
  for (const [index, name] of names.entries()) {
    const [aloneMs = 0, besideMs = 0] = [alone.get(name), beside[index]];
    const goalMs = goalBesideMs(aloneMs);
    printRow(`${name}: alone / beside`, `${ms(aloneMs)} / ${ms(besideMs)}`, `≤ ${ms(goalMs)}`, besideMs <= goalMs);
  }
}

/** One API key sends endless queries, all at once; what another key notices, and what the first is told. */
async function benchAttack({ client, key, socketPath, other }: Setting): Promise<void> {
  // Each client has a limited number of connections.
  const attackers = Array.from({ length: ATTACKS / 20 }, () =>
    createClient({ target: { socketPath }, apiKey: key, retry: { triesMax: 1 } }),
  );
  const stop = new AbortController();
  const refused: number[] = [];
  const retryMsOf = (error: unknown) =>
    error instanceof ApiError && error.code === 'resource_exceeded' ? (error.details.retryAfterMs ?? 0) : undefined;
  const note = (error: unknown) => {
    const retryMs = retryMsOf(error);
    if (retryMs !== undefined) refused.push(retryMs);
  };
  const ask = (attacker: Client, query: string) => attacker.runQuery({ sql: { query } }, { signal: stop.signal });
  setMaxListeners(0, stop.signal);
  const endless = attackers.flatMap((attacker) => Array.from({ length: 20 }, () => ask(attacker, ENDLESS).catch(note)));
  const until = AbortSignal.timeout(10_000);
  const [ofOther, ofSame] = await Promise.all([shortOnes(other, until), shortOnes(client, until).catch(() => [])]);
  const later = await ask(attackers[0] ?? client, 'SELECT 1').catch(retryMsOf);
  stop.abort();
  await Promise.all(endless);
  await Promise.all(attackers.map((attacker) => attacker.close()));
  console.log(`\n    one API key sends ${ATTACKS} endless queries at once`);
  printShort(`another key's SELECT 1, ${ofOther.length} times: p50 / p99 / worst`, ofOther, GOAL_ATTACK_MS, 1);
  if (ofSame.length > 0)
    console.log(`  the same key's SELECT 1, ${ofSame.length} times: worst ${ms(Math.max(...ofSame))}`);
  const range = refused.length > 0 ? `${ms(Math.min(...refused))} to ${ms(Math.max(...refused))}` : '';
  const now = typeof later === 'number' ? `; after 10 s ${ms(later)}` : '';
  printRow('refused; Retry-After', `${refused.length}: ${range}${now}`, '> 0', refused.length > 0);
}

/** (l) Queries that share the machine. */
export async function benchLoad(bin: string, folder: string, clientsFile: string): Promise<void> {
  const data = join(folder, 'load');
  const service = await startService(bin, data);
  const { client } = service;
  const socketPath = join(data, 'service.sock');
  const key = (await readFile(join(data, 'admin.key'), 'utf8')).trim();
  const issued = await client.createApiKey({ name: 'other' });
  const other = createClient({ target: { socketPath }, apiKey: issued.key ?? '' });
  try {
    await client.createWorkspace({ name: 'bench' });
    for (const name of ['big', 'few', 'written']) await client.createCollection({ workspace: 'bench', name });
    await load(client, 'big', benchDocuments(DOCUMENTS), 5_000);
    await load(client, 'few', benchDocuments(1_000), 1_000);
    console.log(`\n(l) load, on ${DOCUMENTS} documents`);
    const setting = { client, other, key, socketPath, clientsFile };
    await benchShares(setting, 'SELECT 1 with another key', other);
    await benchShares(setting, 'SELECT 1 with the same key', client);
    await benchAttack(setting);
  } finally {
    await other.close();
    await stopService(service);
  }
}
