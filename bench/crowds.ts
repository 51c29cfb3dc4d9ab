import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GOAL_MS, heldMs, ORGANIZATION, prepare, send, type Target } from './hostile.ts';
import { startService, stopService } from './local-service.ts';
import { ms, quantile } from './measure.ts';
import { startProbe } from './probe.ts';

interface Crowd {
  name: string;
  counts: readonly number[];
  role: 'readOnly' | 'writer';
  path: string;
  body: () => string;
}

const SQL_CHARS = 255 * 1024;
const MEBIBYTE = 1024 * 1024;
const QUERIES = `${ORGANIZATION}/queries`;

const query = (text: string) => JSON.stringify({ sql: { query: text } });
const conditions = (chars: number) => `SELECT 1 WHERE 1=1${' or 1'.repeat(chars / 5)}`;
const parameter = (chars: number) =>
  JSON.stringify({ sql: { query: 'SELECT 1', parameters: [{ name: 'p', type: '', value: 'x'.repeat(chars) }] } });

/** Requests that are costly one by one, all at once. */
const CROWDS: readonly Crowd[] = [
  { name: 'SELECT 1', counts: [400], role: 'readOnly', path: QUERIES, body: () => query('SELECT 1') },
  {
    name: 'OR, 255 kB',
    counts: [60, 200, 400],
    role: 'readOnly',
    path: QUERIES,
    body: () => query(conditions(SQL_CHARS)),
  },
  { name: 'OR, 49 kB', counts: [200], role: 'readOnly', path: QUERIES, body: () => query(conditions(49_000)) },
  { name: 'OR, 15 kB', counts: [400], role: 'readOnly', path: QUERIES, body: () => query(conditions(15_000)) },
  { name: 'OR, 2 kB', counts: [400], role: 'readOnly', path: QUERIES, body: () => query(conditions(1_900)) },
  {
    name: 'IN, 110 kB',
    counts: [100],
    role: 'readOnly',
    path: QUERIES,
    body: () => query(`SELECT 1 WHERE 1 IN (1${',1'.repeat(55_000)})`),
  },
  {
    name: 'one token, 255 kB',
    counts: [200],
    role: 'readOnly',
    path: QUERIES,
    body: () => query(`SELECT '${'x'.repeat(SQL_CHARS)}'`),
  },
  { name: 'not JSON, 255 kB', counts: [200], role: 'readOnly', path: QUERIES, body: () => '[1,'.repeat(SQL_CHARS / 3) },
  {
    name: 'parameter, 4 MB',
    counts: [100],
    role: 'readOnly',
    path: QUERIES,
    body: () => parameter(4 * MEBIBYTE - 1_000),
  },
  {
    name: 'numbers, 4 MB',
    counts: [100],
    role: 'readOnly',
    path: QUERIES,
    body: () => `{"sql":{"query":"SELECT 1"},"a":[${'10000000000000000000,'.repeat(190_000)}1]}`,
  },
  { name: 'MCP, 4 MB', counts: [60], role: 'readOnly', path: '/mcp', body: () => parameter(4 * MEBIBYTE) },
  {
    name: 'documents, 1 MB',
    counts: [200],
    role: 'writer',
    path: `${ORGANIZATION}/ws/commons/collections/hostile/docs`,
    body: () => JSON.stringify({ data: Array.from({ length: 5_000 }, (_, a) => ({ a, b: 'x'.repeat(180) })) }),
  },
  {
    name: 'documents with a mapping, 1 MB',
    counts: [100],
    role: 'writer',
    path: `${ORGANIZATION}/ws/commons/collections/hostile_mapped/docs`,
    body: () => JSON.stringify({ data: Array.from({ length: 5_000 }, (_, n) => ({ a: `${n}`, b: 'x'.repeat(180) })) }),
  },
];

/** How often each status came, as `200 x 12, 429 x 188`. */
function counted(statuses: readonly number[]): string {
  const counts = new Map<number, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${status || 'none'} x ${count}`).join(', ');
}

async function attack(target: Target, { role, path, body }: Crowd, count: number): Promise<number[]> {
  const bytes = Buffer.from(body());
  const sent = Array.from({ length: count }, () =>
    send(target.port, { method: 'POST', path, key: target[role], body: bytes }, 120_000),
  );
  return (await Promise.all(sent)).map(({ status }) => status);
}

/** (o) How long another key's `SELECT 1` waits while one key sends many long requests at once. */
export async function benchCrowds(bin: string, parent: string, watcher: string): Promise<void> {
  console.log(`\n(o) another key's SELECT 1 while one key sends many long requests at once; goal ${GOAL_MS} ms at p99`);
  const heads = ['p50', 'p99', 'worst', 'held', 'took'];
  console.log(`  ${''.padEnd(36)} ${heads.map((head) => head.padStart(9)).join(' ')}   answers`);
  const only = process.env['BENCH_ONLY'] ?? '';
  for (const [index, crowd] of CROWDS.entries()) {
    if (!crowd.name.includes(only)) continue;
    const folder = join(parent, `crowd-${index}`);
    for (const count of crowd.counts) {
      const service = await startService(bin, `${folder}-${count}`, watcher);
      const target = await prepare(service, `${folder}-${count}`);
      const probe = startProbe(target.port, target.member);
      await sleep(500);
      await probe.waits();
      await heldMs(service);
      const startedAt = performance.now();
      const statuses = await attack(target, crowd, count);
      const tookMs = performance.now() - startedAt;
      const waits = await probe.waits();
      await probe.stop();
      const isDead = service.child.exitCode !== null || service.child.signalCode !== null;
      const failed = waits.filter((one) => one < 0).length;
      const times = waits.map(Math.abs);
      const p99 = quantile(times, 0.99);
      const held = isDead ? 0 : await heldMs(service);
      const figures = [quantile(times, 0.5), p99, Math.max(...times), held, tookMs];
      const notes = [
        p99 > GOAL_MS ? '  MISSED' : '',
        isDead ? '  the process ended' : '',
        failed ? `  ${failed} failed` : '',
      ];
      const name = `${count} x ${crowd.name}`;
      console.log(
        `  ${name.padEnd(36)} ${figures.map((one) => ms(one).padStart(9)).join(' ')}   ${counted(statuses)}${notes.join('')}`,
      );
      if (!isDead) await stopService(service);
    }
  }
}
