import { afterEach, expect, test } from 'vitest';
import type { Watches } from '../../src/service/clock.ts';
import type { ServiceOptions } from '../../src/service/start.ts';
import { filesOf, startTestService, type TestService } from './harness.ts';

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const RETENTION_SECS = 3_600;

/** Clocks that tests set; while nothing is set, both go on with the real time. */
function clocks() {
  const set = { aheadMs: 0, passedMs: 0 };
  const watches: Watches = {
    wallMs: () => Date.now() + set.passedMs + set.aheadMs,
    steadyMs: () => performance.now() + set.passedMs,
  };
  return { set, watches };
}

let service: TestService | undefined;
afterEach(async () => {
  await service?.remove();
  service = undefined;
});

async function start(options: Partial<ServiceOptions>, folder?: string): Promise<TestService> {
  service = await startTestService({ purgeEveryMs: 10, ...options }, folder);
  return service;
}

/** Stores documents of which one has expired in a year at the latest, and puts some into the trash. */
async function fill({ call }: TestService): Promise<void> {
  await call('POST', COLLECTIONS, { name: 'short', retention_secs: RETENTION_SECS });
  await call('POST', `${COLLECTIONS}/short/docs`, { data: [{ _id: 'a' }, { _id: 'b' }] });
  await call('POST', COLLECTIONS, { name: 'gone' });
  await call('DELETE', `${COLLECTIONS}/gone`);
}

async function left({ call }: TestService) {
  const counted = await call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT count(*) AS n FROM short' } });
  return {
    documents: counted.body.results[0].n,
    trash: (await call('GET', '/v1/colloquy/trash')).body.data.length,
  };
}
const ALL = { documents: 2, trash: 1 };

const beforeOf = async ({ call }: TestService) => (await call('GET', '/v1/colloquy')).body.data.clock_before;

/** Several rounds of removing what has expired. */
const rounds = () => new Promise((resolve) => setTimeout(resolve, 150));

async function until(check: () => Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + 10_000; !(await check()); await rounds()) {
    if (performance.now() > endsAt) throw new Error('it did not happen in time');
  }
}

test('a clock that is wrong for a moment removes nothing', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  await rounds();
  // Not after some hours either.
  set.passedMs += DAY_MS / 2;
  await rounds();
  set.aheadMs = 0;
  set.passedMs = 0;
  await until(async () => (await beforeOf(on)) === null);
  expect(await left(on)).toEqual(ALL);
});

test('nor does one that is wrong at the start, and right again at the next', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  await on.stop();
  set.aheadMs = YEAR_MS;
  const wrong = await start({ watches }, on.folder);
  await until(async () => (await beforeOf(wrong)) !== null);
  await rounds();
  await wrong.stop();
  set.aheadMs = 0;
  const right = await start({ watches }, on.folder);
  await until(async () => (await beforeOf(right)) === null);
  expect(await left(right)).toEqual(ALL);
});

test('a jump that holds for a day counts, over restarts too; so does time that passes', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  await on.stop();
  const again = await start({ watches }, on.folder);
  await rounds();
  expect((await left(again)).trash).toBe(1);
  expect(await beforeOf(again)).not.toBeNull();
  set.passedMs += DAY_MS + 1_000;
  await until(async () => (await left(again)).trash === 0);
  expect(await beforeOf(again)).toBeNull();
});

test('an ordinary week does not raise a doubt', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  for (let day = 0; day < 8; day++) {
    set.passedMs += DAY_MS;
    await rounds();
  }
  await until(async () => (await left(on)).trash === 0);
  await on.stop();
  set.passedMs += 6 * DAY_MS;
  const later = await start({ watches }, on.folder);
  await rounds();
  expect(await beforeOf(later)).toBeNull();
});

test('a person can say that the clock is right', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  const confirmed = await on.call('POST', '/v1/colloquy/clock');
  expect(confirmed.body.data.clock_before).toBeNull();
  await until(async () => (await left(on)).trash === 0);
});

test('what is deleted while the clock is behind stays as long as otherwise', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await rounds();
  set.aheadMs = -YEAR_MS;
  await fill(on);
  await rounds();
  set.aheadMs = 0;
  await until(async () => (await beforeOf(on)) !== null);
  // After a day the clock counts again.
  set.passedMs += DAY_MS + 1_000;
  await until(async () => (await beforeOf(on)) === null);
  await rounds();
  expect((await left(on)).trash).toBe(1);
});

test('data of an earlier version is judged by its last change', async () => {
  const { set, watches } = clocks();
  // Without a round that would store the time.
  const on = await start({ watches, purgeEveryMs: DAY_MS });
  await fill(on);
  await on.stop();
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(filesOf(on.folder).databaseFile);
  const connection = await instance.connect();
  await connection.run(`DELETE FROM "_meta"."records" WHERE kind = 'clock'`);
  connection.closeSync();
  instance.closeSync();
  set.aheadMs = YEAR_MS;
  const later = await start({ watches }, on.folder);
  await until(async () => (await beforeOf(later)) !== null);
  expect((await left(later)).trash).toBe(1);
});

test('the clock is confirmed over the local socket only', async () => {
  const on = await start({ listen: [{ host: '127.0.0.1', port: 0 }] });
  const [address] = on.service.addresses;
  const answer = await fetch(`${address}/v1/colloquy/clock`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${on.key}`, 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(403);
});
