import { afterEach, expect, test, vi } from 'vitest';
import type { ApiError } from '../../../src/contract/errors.ts';
import { createWatchdog } from '../../../src/engine/duckdb/queries/watchdog.ts';
import { createFixture } from '../fixture.ts';

const GIB = 1024 ** 3;
afterEach(() => vi.useRealTimers());

function setUp() {
  vi.useFakeTimers();
  const state = { bytes: GIB / 2, given: [] as string[], stopped: [] as [string, ApiError][] };
  const watchdog = createWatchdog({
    memoryBytes: () => GIB,
    totalBytes: 64 * GIB,
    residentBytes: () => state.bytes,
    giveUp: ({ message }) => state.given.push(message),
  });
  const start = (name: string) => watchdog.watch({ stop: (reason) => state.stopped.push([name, reason]) });
  const grow = (to: number) => {
    state.bytes = to;
    vi.advanceTimersByTime(100);
    return state.stopped.map(([name]) => name);
  };
  return { state, start, grow };
}

test('stops the newest query first, and others only while memory grows', () => {
  const { state, start, grow } = setUp();
  for (const name of ['a', 'b', 'c']) start(name);
  expect(grow(2.4 * GIB)).toEqual([]);
  expect(grow(2.6 * GIB)).toEqual(['c']);
  expect(grow(2.6 * GIB)).toEqual(['c']);
  for (const bytes of [2.7, 2.7, 2.8, 2.9, 3]) expect(grow(bytes * GIB)).toEqual(['c']);
  expect(grow(3.2 * GIB)).toEqual(['c', 'b']);
  expect(state.stopped[0]?.[1]).toMatchObject({ code: 'resource_exceeded', status: 429 });
  expect(state.stopped[0]?.[1].details.retryAfterMs).toBeUndefined();
  expect(grow(1 * GIB)).toEqual(['c', 'b']);
  expect(state.given).toEqual([]);
});

test('ends the process only when queries that were told to stop grow on', () => {
  const { state, start, grow } = setUp();
  start('a');
  expect(grow(20 * GIB)).toEqual(['a']);
  expect(state.given).toEqual([]);
  grow(21 * GIB);
  expect(state.given).toEqual([expect.stringMatching(/21504 MiB.*What was written is safe/)]);
});

test('leaves room for later queries where earlier ones left memory with the process', () => {
  const { start, grow } = setUp();
  const done = start('a');
  grow(2.4 * GIB);
  done();
  start('b');
  expect(grow(2.9 * GIB)).toEqual([]);
  expect(grow(3.5 * GIB)).toEqual(['b']);
});

test('blames no query that came later, until those that were told to stop have ended', () => {
  const { start, grow } = setUp();
  const done = start('a');
  grow(2.6 * GIB);
  start('b');
  for (let look = 1; look < 15; look++) expect(grow((2.6 + look / 100) * GIB)).toEqual(['a']);
  done();
  expect(grow(2.8 * GIB)).toEqual(['a']);
  expect(grow(4.4 * GIB)).toEqual(['a', 'b']);
});

test('looks at nothing while nothing runs', () => {
  const { start, grow } = setUp();
  start('a')();
  expect(vi.getTimerCount()).toBe(0);
  expect(grow(20 * GIB)).toEqual([]);
});

test('a query that takes too much fails with resource_exceeded, and those beside it finish', async () => {
  let bytes = 0;
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => bytes);
  const fixture = await createFixture();
  const slow = (rows: number) =>
    `SELECT count(*) FROM range(${rows}) a, range(1000) b WHERE (a.range * b.range) % 7 = 3`;
  const older = fixture.rows(slow(200_000));
  const newest = fixture.queries.query({ sql: slow(100_000_000) }).catch((reason: unknown) => reason);
  setTimeout(() => {
    bytes = 1.6 * GIB;
  }, 50);
  expect(await newest).toMatchObject({ code: 'resource_exceeded', message: expect.stringMatching(/more memory/) });
  expect(await older).toHaveLength(1);
  expect(await fixture.rows('SELECT 1')).toEqual([[1]]);
  await fixture.close();
  vi.restoreAllMocks();
}, 60_000);
