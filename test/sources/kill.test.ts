import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Postgres, READER, startPostgres } from './servers/postgres.ts';
import { dataFolder, freePort } from './servers/server.ts';
import { ITEMS, until } from './source-tests.ts';

/** Sources that are read at once. */
const SOURCES = 10;
const KILL_MS = 1_500;
const BIN = join(import.meta.dirname, '../../dist/colloquy.js');

let server: Postgres;
let folder: string;
let port: number;
let child: ChildProcess | undefined;

beforeAll(async () => {
  server = await startPostgres();
  folder = await dataFolder('killed');
  port = await freePort();
});
afterAll(async () => {
  kill();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

function kill(): void {
  if (child?.pid === undefined) return;
  // The service, and the process that would start it again.
  process.kill(-child.pid, 'SIGKILL');
  child = undefined;
}

async function serve(): Promise<void> {
  child = spawn(process.execPath, [BIN, 'serve', '--data-dir', folder, '--port', String(port)], {
    stdio: 'ignore',
    detached: true,
  });
  await until(
    async () => existsSync(join(folder, 'admin.key')) && (await call('GET', '/v1/orgs/self/users/self')) !== undefined,
    Boolean,
    30,
  );
}

async function call(method: string, path: string, body?: unknown) {
  const key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json' };
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
    return (await answer.json()) as any;
  } catch {
    return undefined;
  }
}

const query = async (sql: string) => (await call('POST', '/v1/orgs/self/queries', { sql: { query: sql } }))?.results;

it('a service that is killed again and again reads ten sources whole, nothing twice, and their changes', async () => {
  for (let n = 0; n < SOURCES; n++) {
    await server.sql(`CREATE TABLE t${n} (id int PRIMARY KEY, v int, at timestamptz DEFAULT now())`);
    await server.sql(`INSERT INTO t${n} SELECT i, i, now() - interval '1 day' FROM generate_series(1, $1) i`, [ITEMS]);
  }
  await serve();
  await call('POST', '/v1/orgs/self/integrations', {
    name: 'pg',
    redshift: { ...READER, host: '127.0.0.1', port: server.port, tls: false },
  });
  for (let n = 0; n < SOURCES; n++) {
    const redshift = { database: 'shop', table_name: `t${n}`, incremental_field: 'at' };
    const made = await call('POST', '/v1/orgs/self/ws/commons/collections', {
      name: `t${n}`,
      sources: [{ integration_name: 'pg', redshift }],
    });
    expect(made.data.status).toBe('CREATED');
  }
  let kills = 0;
  const isThrough = async () => {
    const all = (await call('GET', '/v1/orgs/self/ws/commons/collections'))?.data ?? [];
    return (
      all.length === SOURCES &&
      all.every((one: { sources: { status: { state: string } }[] }) => one.sources[0]?.status.state === 'ACTIVE')
    );
  };
  while (kills < 5 || !(await isThrough())) {
    await delay(KILL_MS);
    // A change while nobody looks, to be met by the next.
    await server.sql(`UPDATE t${kills % SOURCES} SET v = -1, at = now() WHERE id = ${kills + 1}`);
    kill();
    kills += 1;
    await serve();
    if (kills >= 5) await until(isThrough, Boolean, kills > 30 ? 120 : 5).catch(() => false);
  }
  for (let n = 0; n < SOURCES; n++) {
    const [there] = await server.sql(`SELECT count(*)::int AS n, sum(v)::int AS s FROM t${n}`);
    await until(
      () => query(`SELECT count(*) AS n, count(DISTINCT _id) AS d, sum(v) AS s FROM commons.t${n}`),
      (rows) => JSON.stringify(rows?.[0]) === JSON.stringify({ n: there?.['n'], d: there?.['n'], s: there?.['s'] }),
      20,
    );
  }
  process.stdout.write(`${kills} kills, ${SOURCES} sources of ${ITEMS} rows\n`);
});
