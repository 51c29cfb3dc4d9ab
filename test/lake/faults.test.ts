import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { foldersIn } from '../../src/engine/duckdb/connections/folders.ts';
import { createCatalogClient } from '../../src/engine/duckdb/lake/catalog-client.ts';
import { createLakeLocks } from '../../src/engine/duckdb/lake/lake-locks.ts';
import { CATALOG_SCHEMA, lakeCatalogOf, lakeDataOf } from '../../src/engine/duckdb/lake/lake-options.ts';
import { LakeStore } from '../../src/engine/duckdb/lake/lake-store.ts';
import { type ObjectStore, type OpenLakeOptions, openLake } from '../../src/engine/duckdb/open-lake.ts';
import type { Engine, RecordChange } from '../../src/engine/engine.ts';
import { createDocs, doc, rowsOf, temporaryFolder } from '../engine/harness.ts';
import { runScript } from '../engine/script.ts';
import { longTest } from '../long.ts';
import type { TestStore } from '../sources/servers/buckets.ts';
import { type FaultProxy, startFaultProxy } from '../sources/servers/fault-proxy.ts';
import { OWNER, type Postgres, startPostgres } from '../sources/servers/postgres.ts';
import { startVersitygw } from '../sources/servers/s3.ts';
import { answers } from '../sources/servers/server.ts';
import { installedExtensions } from './servers.ts';

/* Servers of its own, which are stopped in the middle. */

let postgres: Postgres;
let files: TestStore;
let before: FaultProxy;
/** What the lake's files are reached with, for another process, too. */
let store: ObjectStore;
let folder: ReturnType<typeof temporaryFolder>;
let lake: OpenLakeOptions['lake'];
let engines: Engine[];
let databases = 0;

const LIMITS = { threads: 2, memoryBytes: 512 * 1024 * 1024 };

beforeAll(async () => {
  [postgres, files] = await Promise.all([startPostgres(), startVersitygw()]);
  before = await startFaultProxy(() => files.port());
});

afterAll(async () => {
  await before.close();
  await postgres.close();
  await files.close();
});

beforeEach(async () => {
  folder = temporaryFolder();
  engines = [];
  const database = `lake${databases++}`;
  await postgres.sql(`CREATE DATABASE ${database}`);
  const bucket = await files.createBucket();
  const key = bucket.connection()['cloud_access_key'] as Record<string, string>;
  lake = {
    catalog: `postgres://${OWNER.username}:${OWNER.password}@127.0.0.1:${postgres.port}/${database}`,
    data: `s3://${bucket.name}/some/where`,
    extensionFolder: await installedExtensions(),
    objectStore: async () => store,
  };
  store = {
    keyId: key['cloud_access_key_id'] ?? '',
    secret: key['cloud_secret_access_key'] ?? '',
    endpoint: `http://127.0.0.1:${before.port}`,
  };
});

afterEach(async () => {
  for (const engine of engines) await engine.close();
  folder.dispose();
});

async function openNode(): Promise<Engine> {
  const engine = await openLake({
    lake,
    file: join(folder.folder, `node${engines.length}`, 'node.duckdb'),
    limits: LIMITS,
  });
  engines.push(engine);
  return engine;
}

const placeOf = () => ({
  catalog: lakeCatalogOf(lake.catalog),
  data: lakeDataOf(lake.data),
  extensionFolder: lake.extensionFolder,
  objectStore: lake.objectStore,
  folders: foldersIn(folder.folder),
});
const ENGINE_LIMITS = { ...LIMITS, tempBytesMax: 2 ** 30 } as Parameters<typeof LakeStore.open>[0]['limits'];

test('a node whose lock is lost in the middle commits nothing, whether another has begun or not', async () => {
  const engine = await openNode();
  await createDocs(engine);
  const place = placeOf();
  const client = createCatalogClient(place.catalog.client);
  const locks = createLakeLocks({
    client: place.catalog.client,
    refresh: async () => undefined,
    failed: (error) => error,
  });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const store = await LakeStore.open({
    place,
    limits: ENGINE_LIMITS,
    log,
    client,
    node: 'x',
    held: () => locks.held(),
    fits: async () => true,
  });
  const insert = (id: string) => `INSERT INTO "_data"."t" ("_id", "_event_time", "_meta") VALUES ('${id}', now(), 1)`;
  const losing = (id: string, meanwhile: () => Promise<unknown>) =>
    locks.hold(['table t'], () =>
      store.transaction(async (sql) => {
        await sql(insert(id));
        const ended = await postgres.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = $1)",
          [new URL(lake.catalog).pathname.slice(1)],
        );
        expect(ended.length).toBeGreaterThan(0);
        await meanwhile();
      }),
    );
  await expect(losing('lost', async () => undefined)).rejects.toThrow(/the lock is lost/);
  await expect(losing('late', () => engine.addDocuments('t', [doc('other', {})]))).rejects.toThrow(/the lock is lost/);
  expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([['other']]);
  await locks.hold(['table t'], () => store.transaction((sql) => sql(insert('kept'))));
  expect(await rowsOf(engine, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['kept'], ['other']]);
  await store.close();
  await locks.close();
  await client.close();
});

test('writers that are killed lose nothing that was acknowledged, and leave nothing half', async () => {
  const engine = await openNode();
  await createDocs(engine);
  const own = join(folder.folder, 'writer');
  mkdirSync(own);
  const acknowledged = join(own, 'acknowledged');
  writeFileSync(acknowledged, '');
  for (let round = 0; round < 4; round++) {
    const { child } = await runScript(
      own,
      `
      import { appendFileSync } from 'node:fs';
      import { openLake } from '../../src/engine/duckdb/open-lake.ts';
      const engine = await openLake({
        lake: { ...${JSON.stringify(lake)}, objectStore: async () => (${JSON.stringify(store)}) },
        file: ${JSON.stringify(join(own, 'node.duckdb'))}, limits: ${JSON.stringify(LIMITS)},
      });
      console.log('open');
      for (let n = 0; ; n++) {
        const batch = '${round}.' + n;
        await engine.addDocuments('t', Array.from({ length: 50 }, (_, i) => ({
          id: batch + '.' + i, eventTimeMicros: null, fields: { batch, ['f' + (n % 7)]: { [i % 3 === 0 ? 'a' : 'b']: i } },
        })));
        appendFileSync(${JSON.stringify(acknowledged)}, batch + '\\n');
      }
      `,
    );
    await delay(1_500 + round * 400);
    child.kill('SIGKILL');
  }
  const batches = readFileSync(acknowledged, 'utf8').split('\n').slice(0, -1);
  expect(batches.length).toBeGreaterThan(4);
  await engine.refresh();
  const counted = await rowsOf(engine, 'SELECT batch, count(*), count(DISTINCT _id) FROM docs GROUP BY batch');
  expect(counted.filter(([, rows, ids]) => rows !== 50 || ids !== 50)).toEqual([]);
  const there = new Set(counted.map(([batch]) => batch));
  expect(batches.filter((batch) => !there.has(batch))).toEqual([]);
  // The killed node's lock is free at once.
  await engine.addDocuments('t', [doc('after', {})]);
});

test('without its catalog it says so soon, and goes on by itself', async () => {
  const engine = await openNode();
  await createDocs(engine);
  const acknowledged: string[] = [];
  let isOver = false;
  const errors: string[] = [];
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      try {
        await engine.addDocuments('t', [doc(`d${n}`, { n })]);
        acknowledged.push(`d${n}`);
      } catch (error) {
        errors.push(error instanceof Error ? error.message : String(error));
        await delay(50);
      }
    }
  })();
  for (let round = 0; round < 3; round++) {
    await delay(700);
    await postgres.restart('immediate');
  }
  await delay(500);
  isOver = true;
  await writing;
  await engine.addDocuments('t', [doc('last', {})]);
  acknowledged.push('last');
  const there = new Map(
    (await rowsOf(engine, 'SELECT _id, count(*) FROM docs GROUP BY _id')).map(([id, count]) => [id, count]),
  );
  expect(acknowledged.filter((id) => there.get(id) !== 1)).toEqual([]);
  expect([...there.values()].every((count) => count === 1)).toBe(true);
  for (const error of errors) expect(error).toMatch(/catalog|cannot be reached|lost its connection/);
});

test('a connection to the catalog that does not answer any more is given up for another', async () => {
  const client = createCatalogClient(lakeCatalogOf(lake.catalog).client, 500);
  const pidOf = async () => Number((await client.query('SELECT pg_backend_pid() AS pid'))[0]?.['pid']);
  const pid = await pidOf();
  process.kill(pid, 'SIGSTOP');
  try {
    const [one, other] = await Promise.all([pidOf(), pidOf()]);
    expect(one).toBe(other);
    expect(one).not.toBe(pid);
  } finally {
    process.kill(pid, 'SIGCONT');
    await client.close();
  }
});

test('what a node has stored without being told so it knows once it reaches the catalog again', async () => {
  const between = await startFaultProxy(() => postgres.port);
  const direct = lake.catalog;
  const catalog = new URL(direct);
  catalog.port = String(between.port);
  lake = { ...lake, catalog: catalog.href };
  const engine = await openNode();
  lake = { ...lake, catalog: direct };
  const other = await openNode();
  await createDocs(engine);
  const told: RecordChange[] = [];
  engine.onRecords((changes) => void told.push(...changes));
  between.loseAnswer(/"colloquy":.*COMMIT/s);
  const made = engine.commit([
    { do: 'createCollection', table: 'u', workspace: 'commons', name: 'unclear' },
    { do: 'putRecord', kind: 'k', key: 'unclear', value: { n: 1 } },
  ]);
  await expect(made).rejects.toThrow(/may have been stored all the same/);
  await other.refresh();
  await other.addDocuments('u', [doc('1', { n: 1 })]);
  between.setDown(false);
  await engine.refresh();
  expect(told).toContainEqual({ do: 'putRecord', kind: 'k', key: 'unclear', value: { n: 1 } });
  await engine.addDocuments('u', [doc('2', { n: 2 })]);
  expect(await rowsOf(engine, 'SELECT _id FROM unclear ORDER BY 1')).toEqual([['1'], ['2']]);
  await expect(
    engine.commit([{ do: 'createCollection', table: 'v', workspace: 'commons', name: 'unclear' }]),
  ).rejects.toThrow(/has the collection "unclear"/);
  // Once is enough.
  told.length = 0;
  await engine.addDocuments('u', [doc('3', { n: 3 })]);
  await engine.refresh();
  expect(told).toEqual([]);
  await engines.shift()?.close();
  await between.close();
}, 60_000);

test('a node starts while another one reads the catalog for long', async () => {
  await createDocs(await openNode());
  const client = new pg.Client({ connectionString: lake.catalog });
  await client.connect();
  await client.query('BEGIN');
  for (const table of ['ducklake_table_column_stats', 'ducklake_snapshot_changes'])
    await client.query(`SELECT 1 FROM ${CATALOG_SCHEMA}.${table} LIMIT 1`);
  try {
    const engine = await openNode();
    await engine.addDocuments('t', [doc('1', { n: 1 })]);
  } finally {
    await client.end();
  }
});

test('PostgreSQL notices soon that a session that has committed is cut off', async () => {
  await createDocs(await openNode());
  const client = new pg.Client({ connectionString: lake.catalog });
  await client.connect();
  const idleOf = async () => (await client.query('SHOW tcp_keepalives_idle')).rows[0].tcp_keepalives_idle;
  expect(await idleOf()).not.toBe('5');
  await client.query(`INSERT INTO ${CATALOG_SCHEMA}.ducklake_snapshot_changes (snapshot_id) VALUES (1000000)`);
  expect(await idleOf()).toBe('5');
  await client.query(`DELETE FROM ${CATALOG_SCHEMA}.ducklake_snapshot_changes WHERE snapshot_id = 1000000`);
  await client.end();
});

test('queries without the catalog say so, and nothing says its password', async () => {
  const between = await startFaultProxy(() => postgres.port);
  const catalog = new URL(lake.catalog);
  catalog.port = String(between.port);
  lake = { ...lake, catalog: catalog.href };
  const engine = await openNode();
  await createDocs(engine);
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  await between.close();
  const errors = [
    await rowsOf(engine, 'SELECT n FROM docs').catch((error: unknown) => error),
    await engine.addDocuments('t', [doc('b', { n: 2 })]).catch((error: unknown) => error),
    await engine.stats('t').catch((error: unknown) => error),
    await openNode().catch((error: unknown) => error),
  ];
  for (const error of errors) {
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toMatch(/catalog, PostgreSQL at 127\.0\.0\.1:\d+\/lake\d+, cannot be reached/);
    expect(inspect(error, { depth: 10 })).not.toContain(OWNER.password);
  }
});

test('a connection to the catalog that ends while rows are read that are kept there ends nothing else', async () => {
  const between = await startFaultProxy(() => postgres.port);
  const direct = lake.catalog;
  const catalog = new URL(direct);
  catalog.port = String(between.port);
  lake = { ...lake, catalog: catalog.href };
  const engine = await openNode();
  await createDocs(engine);
  await engine.commit([{ do: 'putRecord', kind: 'k', key: 'a', value: { n: 1 } }]);
  between.loseAnswer(/COPY .*ducklake_inlined_data_/s);
  await expect(engine.commit([{ do: 'putRecord', kind: 'k', key: 'a', value: { n: 2 } }])).rejects.toThrow(
    /this node opens the lake anew\. Nothing of it is stored/,
  );
  between.setDown(false);
  await engine.commit([{ do: 'putRecord', kind: 'k', key: 'a', value: { n: 3 } }]);
  await engine.addDocuments('t', [doc('1', { n: 1 })]);
  expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([['1']]);
  await engines.shift()?.close();
  await between.close();
}, 60_000);

test('without its files it says so soon, and goes on by itself', async () => {
  const engine = await openNode();
  await createDocs(engine);
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  // Nobody listens: the proxy itself is on the thread that waits here.
  await before.close();
  const from = performance.now();
  await expect(engine.addDocuments('t', [doc('b', { n: 2 })])).rejects.toThrow(/files at s3:.* cannot be reached/);
  expect(performance.now() - from).toBeLessThan(20_000);
  before = await startFaultProxy(() => files.port(), before.port);
  await engine.addDocuments('t', [doc('c', { n: 3 })]);
  expect(await rowsOf(engine, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['a'], ['c']]);
});

longTest('a store that does not answer holds nothing else up', { timeout: 300_000 }, async () => {
  const engine = await openNode();
  await createDocs(engine);
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  const { port } = before;
  await before.close();
  // Takes connections and never says a word; in a process of its own, as a thread that is held would not answer either.
  const silent = spawn(process.execPath, ['-e', `require('net').createServer(() => 0).listen(${port}, '127.0.0.1')`]);
  await expect.poll(() => answers(port), { timeout: 10_000 }).toBe(true);
  try {
    const lags = monitorEventLoopDelay({ resolution: 10 });
    lags.enable();
    const adding = engine.addDocuments('t', [doc('b', { n: 2 })]);
    await expect(adding).rejects.toThrow(/files at s3:.* cannot be reached/);
    expect(lags.max / 1e6).toBeLessThan(2_000);
  } finally {
    silent.kill('SIGKILL');
    await once(silent, 'exit');
    before = await startFaultProxy(() => files.port(), port);
  }
  await engine.addDocuments('t', [doc('c', { n: 3 })]);
  expect(await rowsOf(engine, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['a'], ['c']]);
});

test('what cannot be opened says why', async () => {
  const engine = await openNode();
  await engine.commit([{ do: 'createWorkspace', workspace: 'commons' }]);
  const failing = (other: Partial<OpenLakeOptions['lake']>) =>
    openLake({ lake: { ...lake, ...other }, file: join(folder.folder, 'x', 'node.duckdb'), limits: LIMITS });
  const wrong = new URL(lake.catalog);
  wrong.password = 'wrong';
  await expect(failing({ catalog: wrong.href })).rejects.toThrow(/does not let this node in/);
  await expect(failing({ catalog: 'postgres://owner@127.0.0.1:1/none' })).rejects.toThrow(
    /127\.0\.0\.1:1\/none, cannot/,
  );
  await expect(failing({ catalog: 'mysql://x' })).rejects.toThrow(/is given as postgres:/);
  await expect(failing({ data: 'here' })).rejects.toThrow(/s3:\/\/bucket\/prefix/);
  await postgres.sql('SELECT 1');
  expect(existsSync(join(folder.folder, 'x'))).toBe(true);
});
