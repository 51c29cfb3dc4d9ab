import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { CATALOG_SCHEMA } from '../src/engine/duckdb/lake/lake-options.ts';
import { type ServedLake, serveLake, sharedPlaces } from '../test/lake/served-lake.ts';
import setup from '../test/lake/servers.ts';
import { type Served, startServe } from '../test/scenarios/served.ts';
import { over, QUERIES, QUERY_NAMES } from './analytic.ts';
import { benchDocuments } from './documents.ts';
import { interleaved, median, ms, printHeading, printRow, quantile, timeMs } from './measure.ts';

/*
 * `npm run bench -- lakes`: a lake beside the embedded file. PostgreSQL and the store run on this machine, too, and take their
 * share of it. It installs both, as `npm run test:lake` does.
 */

const DOCUMENTS = Number(process.env['BENCH_DOCUMENTS'] ?? 1_000_000);
const ROUNDS = 5;
const FRESH_ROUNDS = 60;
const CROWD = 8;
const CROWD_MS = 10_000;
const TIDIED_MS_MAX = 90_000;

async function send(node: Served, method: string, path: string, body?: unknown) {
  const answer = await fetch(new URL(`/v1/orgs/self${path}`, node.base), {
    method,
    headers: { authorization: `ApiKey ${node.key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

const query = (node: Served, sql: string) => send(node, 'POST', '/queries', { sql: { query: sql } });

async function load(node: Served, file: string): Promise<number> {
  return await timeMs(async () => {
    const answer = await fetch(new URL('/v1/orgs/self/ws/commons/collections/big/load?format=jsonl', node.base), {
      method: 'POST',
      headers: { authorization: `ApiKey ${node.key}`, 'content-type': 'application/octet-stream' },
      body: Readable.toWeb(createReadStream(file)) as ReadableStream,
      duplex: 'half',
    } as RequestInit);
    const last = (await answer.text()).trim().split('\n').at(-1) ?? '';
    if (JSON.parse(last).data?.added !== DOCUMENTS) throw new Error(`the load ended with ${last.slice(0, 500)}`);
  });
}

/** Waits until the upkeep has put the files of the load together, as it does once nobody writes. */
async function tidied(lake: ServedLake): Promise<void> {
  const until = performance.now() + TIDIED_MS_MAX;
  for (let [before, same] = [-1, 0]; same < 8 && performance.now() < until; ) {
    await delay(2_000);
    const [row] = await lake.sql(
      `SELECT count(*) AS n FROM ${CATALOG_SCHEMA}.ducklake_data_file WHERE end_snapshot IS NULL`,
    );
    const files = Number(row?.['n']);
    same = files === before ? same + 1 : 0;
    before = files;
  }
}

/** The same lake, attached by the engine in this process, with nothing of ours between. */
async function attachAlone(lake: ServedLake, name: string) {
  const { catalog, data, extensions, store } = sharedPlaces();
  const [database] = await lake.sql('SELECT current_database() AS name');
  const [table] = await lake.sql(
    `SELECT table_name AS name FROM ${CATALOG_SCHEMA}.ducklake_table t JOIN ${CATALOG_SCHEMA}.ducklake_table_stats USING (table_id)
     WHERE t.end_snapshot IS NULL ORDER BY record_count DESC LIMIT 1`,
  );
  const { hostname, port, username, password } = new URL(catalog);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const one of ['ducklake', 'postgres_scanner', 'httpfs'])
    await connection.run(`LOAD '${join(extensions, one)}.duckdb_extension'`);
  await connection.run(
    `CREATE SECRET (TYPE s3, KEY_ID '${store.keyId}', SECRET '${store.secret}', REGION 'us-east-1',
      ENDPOINT '${new URL(store.endpoint).host}', URL_STYLE 'path', USE_SSL false)`,
  );
  await connection.run(
    `ATTACH 'ducklake:postgres:host=${hostname} port=${port} user=${username} password=${password} dbname=${database?.['name']}'
      AS ${name} (DATA_PATH '${data}/${database?.['name']}/', METADATA_SCHEMA '${CATALOG_SCHEMA}', READ_ONLY)`,
  );
  return { table: `${name}._data."${table?.['name']}"`, run: (sql: string) => connection.runAndReadAll(sql) };
}

async function benchAnalytic(file: Served, lake: Served, alone: Awaited<ReturnType<typeof attachAlone>>) {
  printHeading(
    `seven analytic queries over ${DOCUMENTS.toLocaleString('en')} documents, median of ${ROUNDS}`,
    'lake',
    'file',
  );
  let [there, here, bare] = [0, 0, 0];
  for (const name of QUERY_NAMES) {
    const sql = over('commons.big', QUERIES[name]);
    const times = await interleaved(ROUNDS, {
      lake: () => query(lake, sql),
      file: () => query(file, sql),
      alone: () => alone.run(over(alone.table, QUERIES[name])),
    });
    const [a, b] = [median(times.lake), median(times.file)];
    there += a;
    here += b;
    bare += median(times.alone);
    printRow(name, ms(a), ms(b), a / b);
  }
  printRow('all of them (goal 1.3 x)', ms(there), ms(here), there / here);
  printRow('the same files by DuckDB alone', ms(bare), ms(here), bare / here);
}

async function benchById(file: Served, lake: Served) {
  let round = 0;
  const byId = (node: Served) => () =>
    query(
      node,
      `SELECT * FROM commons.big WHERE _id = 'doc-${String((round++ * 7_919) % DOCUMENTS).padStart(9, '0')}'`,
    );
  const times = await interleaved(30, { lake: byId(lake), file: byId(file) });
  printHeading('one document by its _id, 30 of them (goal 40 ms)', 'lake', 'file');
  for (const share of [0.5, 0.95]) {
    const [a, b] = [quantile(times.lake, share), quantile(times.file, share)];
    printRow(`p${share * 100}`, ms(a), ms(b), a / b);
  }
}

async function benchFresh(a: Served, b: Served) {
  await send(a, 'POST', '/ws/commons/collections', { name: 'fresh' });
  const [write, both]: [number[], number[]] = [[], []];
  for (let n = 0; n < FRESH_ROUNDS; n += 1) {
    const written = await timeMs(() =>
      send(a, 'POST', '/ws/commons/collections/fresh/docs', { data: [{ _id: `${n % 20}`, n }] }),
    );
    const read = await timeMs(async () => {
      const { results } = await query(b, `SELECT n FROM commons.fresh WHERE _id = '${n % 20}'`);
      if (results[0]?.n !== n) throw new Error(`${JSON.stringify(results)} is not ${n}`);
    });
    write.push(written);
    both.push(written + read);
  }
  printHeading(
    `one document in, then read on another node, ${FRESH_ROUNDS} times (goal p95 150 ms)`,
    'both',
    'the write',
  );
  for (const share of [0.5, 0.95]) {
    const [x, y] = [quantile(both, share), quantile(write, share)];
    printRow(`p${share * 100}`, ms(x), ms(y), x / y);
  }
}

/** Queries a second of some clients, each of which asks one node. */
async function crowd(nodes: readonly Served[]): Promise<number> {
  const sql = over('commons.big', QUERIES['group by']);
  const until = performance.now() + CROWD_MS;
  let done = 0;
  await Promise.all(
    Array.from({ length: CROWD }, async (_, index) => {
      while (performance.now() < until) {
        await query(nodes[index % nodes.length] as Served, sql);
        done += 1;
      }
    }),
  );
  return (done * 1_000) / CROWD_MS;
}

function pin({ child }: Served, core: number): void {
  const pids = execFileSync('ps', ['-o', 'pid=', '--ppid', String(child.pid)], { encoding: 'utf8' });
  for (const pid of pids.trim().split(/\s+/)) execFileSync('taskset', ['-acp', String(core), pid]);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-bench-lakes-'));
  const stop = await setup();
  const lake = await serveLake(sharedPlaces());
  try {
    const data = join(folder, 'big.jsonl');
    const out = createWriteStream(data);
    for (const document of benchDocuments(DOCUMENTS))
      if (!out.write(`${JSON.stringify(document)}\n`)) await once(out, 'drain');
    out.end();
    await once(out, 'finish');
    const file = await startServe(join(folder, 'file'));
    const [first, second] = [await lake.start(), await lake.start()];
    for (const node of [file, first]) await send(node, 'POST', '/ws/commons/collections', { name: 'big' });
    const [there, here] = [await load(first, data), await load(file, data)];
    const size = `${((await stat(data)).size / 1e6).toFixed(0)} MB`;
    printHeading(`load of ${DOCUMENTS.toLocaleString('en')} documents, ${size} (goal 0.8 x the speed)`, 'lake', 'file');
    printRow('time', ms(there), ms(here), there / here);
    await tidied(lake);
    await benchAnalytic(file, first, await attachAlone(lake, 'alone'));
    await benchById(file, first);
    await benchFresh(first, second);
    await file.stop();
    pin(first, 0);
    pin(second, 1);
    await crowd([first, second]);
    const rates = { one: [] as number[], two: [] as number[] };
    for (let round = 0; round < 3; round += 1) {
      rates.one.push(await crowd([first]));
      rates.two.push(await crowd([first, second]));
    }
    const [two, one] = [median(rates.two), median(rates.one)];
    printHeading('queries a second, nodes pinned to a core each (goal 1.4 x)', 'two nodes', 'one node');
    printRow('group by', two.toFixed(1), one.toFixed(1), two / one);
  } finally {
    await lake.close();
    await stop();
    await rm(folder, { recursive: true, force: true });
  }
  process.exit(0);
}

await main();
