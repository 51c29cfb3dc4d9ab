import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../engine/harness.ts';
import type { Served } from '../scenarios/served.ts';
import { type Postgres, READER, startPostgres } from '../sources/servers/postgres.ts';
import { inCatalog } from './lake-for.ts';
import { kill, serveLake, sharedPlaces } from './served-lake.ts';

/** Another node goes on after no longer than this. */
const TAKEN_OVER_MS = 15_000;

async function until(look: () => Promise<boolean> | boolean, ms = TAKEN_OVER_MS): Promise<number> {
  const startedAt = performance.now();
  while (!(await look())) {
    if (performance.now() - startedAt > ms) throw new Error(`it was not so within ${ms} ms`);
    await delay(50);
  }
  return performance.now() - startedAt;
}

describe('what one node does', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let nodes: Engine[];

  beforeEach(async () => {
    folder = temporaryFolder();
    nodes = [await openSmall(folder.file), await openSmall(folder.file)];
    await createDocs(nodes[0] as Engine);
    await nodes[1]?.refresh();
  });

  afterEach(async () => {
    for (const node of nodes) await node.close();
    folder.dispose();
  });

  /** Leads on both nodes; `leaders` are those that do it now. */
  function leadOnBoth(work: (engine: Engine, signal: AbortSignal) => Promise<void> = async () => undefined) {
    const leaders = new Set<number>();
    const leading = nodes.map((engine, index) =>
      engine.lead('test', async (signal) => {
        leaders.add(index);
        await work(engine, signal);
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        leaders.delete(index);
      }),
    );
    return { leaders, leading };
  }

  test('another does once it stops, and none before', async () => {
    const { leaders, leading } = leadOnBoth();
    await until(() => leaders.size === 1);
    await delay(1_500);
    const [first = 0] = leaders;
    expect(leaders.size).toBe(1);
    await leading[first]?.stop();
    await until(() => leaders.has(1 - first));
    expect([...leaders]).toEqual([1 - first]);
    await leading[1 - first]?.stop();
    expect(leaders.size).toBe(0);
  });

  test('another does once its session ends, and what it stores late is refused', async () => {
    const late: string[] = [];
    let mayStore: () => void = () => undefined;
    const untilTold = new Promise<void>((resolve) => {
      mayStore = resolve;
    });
    const { leaders, leading } = leadOnBoth(async (engine) => {
      if (late.length > 0 || leaders.size > 1) return;
      late.push('begun');
      await untilTold;
      late.push(await engine.addDocuments('t', [doc('late', {})]).then(String, (error) => error.message));
    });
    await until(() => late.length === 1);
    const [first = 0] = leaders;
    await inCatalog(
      folder.file,
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()`,
    );
    await until(() => leaders.has(1 - first));
    mayStore();
    await until(() => late.length === 2);
    expect(late[1]).toMatch(/lost its connection to the lake's catalog meanwhile/);
    expect(await rowsOf(nodes[0] as Engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
    for (const one of leading) await one.stop();
  });
});

test('a source is read by one node, by another within seconds of its end, and by neither twice', async () => {
  const postgres: Postgres = await startPostgres();
  const lake = await serveLake(sharedPlaces());
  try {
    const nodes = await Promise.all([lake.start(), lake.start()]);
    const send = async (node: Served, method: string, path: string, body?: unknown) => {
      const answer = await fetch(new URL(path.startsWith('/v1') ? path : `/v1/orgs/self${path}`, node.base), {
        method,
        headers: { authorization: `ApiKey ${node.key}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return JSON.parse(text);
    };
    const [a, b] = nodes as [Served & { folder: string }, Served & { folder: string }];
    const statusOn = async (node: Served) =>
      (await send(node, 'GET', '/ws/commons/collections/orders')).data.sources[0].status;
    const countOn = async (node: Served) =>
      (await send(node, 'POST', '/queries', { sql: { query: 'SELECT count(*) AS n FROM commons.orders' } })).results[0]
        .n;
    await postgres.sql('CREATE TABLE orders (id bigint PRIMARY KEY, seq bigint)');
    const insert = (from: number, to: number) =>
      postgres.sql('INSERT INTO orders SELECT i, i FROM generate_series($1::int, $2::int) i', [from, to]);
    await insert(1, 30_000);
    const redshift = { ...READER, host: '127.0.0.1', port: postgres.port, tls: false };
    await send(a, 'POST', '/integrations', { name: 'pg', redshift });
    await send(b, 'POST', '/ws/commons/collections', {
      name: 'orders',
      sources: [
        { integration_name: 'pg', redshift: { database: 'shop', table_name: 'orders', incremental_field: 'seq' } },
      ],
    });
    await until(async () => (await countOn(a)) > 0, 30_000);
    const isReading = async (node: Served) => !/another node/.test((await statusOn(node)).message);
    const reading = await Promise.all(nodes.map(isReading));
    expect(reading.filter((is) => is)).toHaveLength(1);
    const [leader, other] = reading[0] ? [a, b] : [b, a];
    // In the middle of it.
    kill(leader);
    await insert(30_001, 30_500);
    const tookMs = await until(() => isReading(other));
    process.stdout.write(`another node read on after ${tookMs.toFixed(0)} ms\n`);
    await until(async () => (await countOn(other)) === 30_500, 60_000);
    const { total_processed_items: processed } = await statusOn(other);
    // Each once; what follows on the largest value is looked at again.
    expect(processed).toBeGreaterThanOrEqual(30_500);
    const paused = await send(other, 'POST', '/v1/colloquy/ws/commons/collections/orders/sources/0/pause', {});
    expect(paused.data.source.status.state).toBe('PAUSED');
  } finally {
    await lake.close();
    await postgres.close();
  }
});
