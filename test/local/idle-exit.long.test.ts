import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import type { Client } from '../../src/http/client.ts';
import { connectLocal } from '../../src/local/connect.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache');
const CALLERS = 4;
const CALLS = 60;
/** Longer and shorter than the idle time, so that calls come just when the service leaves. */
const PAUSE_MS_MAX = 60;

let built = '';
let dataDir = '';
const clients: Client[] = [];

beforeAll(async () => {
  built = join(CACHE, `brief-service-${process.pid}.mjs`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['test/local/brief-service.ts'],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['@duckdb/node-api'],
    banner: {
      js: "import{createRequire as briefRequire}from'node:module';const require=briefRequire(import.meta.url);",
    },
    logLevel: 'error',
    outfile: built,
  });
});
afterAll(() => rmSync(built, { force: true }));
beforeEach(() => {
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-brief-')));
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await leaveService(dataDir, { startMs: 2_000 });
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

async function connect(): Promise<Client> {
  const client = await connectLocal({
    dataDir,
    bin: built,
    program: { version: '0.0.1' },
    env: { PATH: process.env['PATH'] ?? '' },
    log: { info() {} },
    timeoutMs: 60_000,
  });
  clients.push(client);
  return client;
}

test('no call fails while the service leaves, and each write is carried out once', { timeout: 240_000 }, async () => {
  const place = { workspace: 'commons', collection: 'calls' };
  const first = await connect();
  await first.createCollection({ workspace: 'commons', name: 'calls' });
  const call = async (caller: number) => {
    const client = await connect();
    for (let n = 0; n < CALLS; n++) {
      await sleep(Math.random() * PAUSE_MS_MAX);
      if (n % 3 === 0) await client.runQuery({ sql: { query: 'SELECT count(*) FROM calls' } });
      // Without an `_id`, so that a second one is a second document.
      else await client.addDocuments({ ...place, data: [{ written: `${caller}/${n}` }] });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
  expect(ended.filter(({ status }) => status === 'rejected')).toEqual([]);
  const { results } = await first.runQuery({
    sql: { query: 'SELECT count(*) AS n, count(DISTINCT written) AS different FROM calls' },
  });
  const writes = CALLERS * Array.from({ length: CALLS }, (_, n) => n).filter((n) => n % 3 !== 0).length;
  expect(results).toEqual([{ n: writes, different: writes }]);
  // It did leave, again and again.
  expect(readFileSync(join(dataDir, 'starts'), 'utf8').trim().split('\n').length).toBeGreaterThan(5);
});
