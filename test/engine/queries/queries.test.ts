import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBPendingResult, DuckDBPreparedStatement } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { GiveUp, QueryRequest } from '../../../src/engine/engine.ts';
import { longTest } from '../../long.ts';
import { createFixture, type Fixture } from '../fixture.ts';
import { untilBusy } from '../harness.ts';

/** Would run for minutes. */
const ENDLESS = 'SELECT count(*) FROM range(100000) a, range(100000) b WHERE (a.range * b.range) % 7 = 3';

/** A single step for 2,048 rows, which takes seconds and cannot be interrupted. */
const STUBBORN = `SELECT max(${[2, 3]
  .map((n) => `strlen(regexp_replace(repeat('x', 9990 + i % ${n}), 'x', 'yy', 'g'))`)
  .join(' + ')}) FROM range(2048) t(i)`;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

async function failure(request: QueryRequest, from: Fixture = fixture): Promise<ApiError> {
  const outcome = await from.queries.query(request).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(ApiError);
  return outcome as ApiError;
}

describe('query() stops', () => {
  test.each([
    ENDLESS,
    'WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t',
    'SELECT max(i) FROM (SELECT i FROM range(100000000000) t(i) ORDER BY hash(i))',
    `EXPLAIN ANALYZE ${ENDLESS}`,
    `SUMMARIZE SELECT a.range FROM range(10000000) a, range(100000) b`,
  ])('at its time limit: %s', async (sql) => {
    const started = performance.now();
    const error = await failure({ sql, timeoutMs: 200 });
    expect(error).toMatchObject({ code: 'query_timeout', status: 408 });
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(await fixture.rows('SELECT 1')).toEqual([[1]]);
  });

  test('at the engine limit, whatever the caller asks', async () => {
    const strict = await createFixture({ queryTimeoutMs: 150 });
    const error = await failure({ sql: ENDLESS, timeoutMs: 600_000 }, strict);
    expect(error.message).toMatch(/150 ms/);
    await strict.close();
  });

  test('when its caller gives up while it runs', async () => {
    const caller = new AbortController();
    const running = failure({ sql: ENDLESS, signal: caller.signal });
    await untilBusy();
    caller.abort();
    expect(await running).toMatchObject({ code: 'aborted' });
  });

  test('before it starts, when its caller has given up already', async () => {
    expect(await failure({ sql: 'SELECT 1', signal: AbortSignal.abort() })).toMatchObject({ code: 'aborted' });
  });

  test('at the memory limit, and the engine stays healthy', async () => {
    const error = await failure({ sql: 'SELECT len(list(i)) FROM range(10000000000) t(i)' });
    expect(error.code).toBe('resource_exceeded');
    expect(error.message).not.toMatch(/SET|threads/);
    // A retry would not help.
    expect(error.details.retryAfterMs).toBeUndefined();
    expect(await fixture.rows('SELECT count(*) FROM orders')).toEqual([[3]]);
  });
});

test("a statement is released before it ends, so that the engine's thread frees its memory, not ours", async () => {
  const letGo = vi.spyOn(DuckDBPreparedStatement.prototype, 'destroySync');
  const ended: number[] = [];
  const { getResult } = DuckDBPendingResult.prototype;
  vi.spyOn(DuckDBPendingResult.prototype, 'getResult').mockImplementation(function (this: DuckDBPendingResult) {
    ended.push(letGo.mock.calls.length);
    return getResult.call(this);
  });
  const before = letGo.mock.calls.length;
  expect(await fixture.rows('SELECT count(DISTINCT hash(i)) FROM range(10000) t(i)')).toEqual([[10_000]]);
  expect(ended).toHaveLength(1);
  expect(ended[0]).toBe(letGo.mock.calls.length);
  expect(letGo.mock.calls.length).toBeGreaterThan(before);
  vi.restoreAllMocks();
});

describe('query() cuts', () => {
  test('at the engine limit of rows, without making the rest', async () => {
    const small = await createFixture({ resultRowsMax: 10 });
    const started = performance.now();
    const outcome = await small.queries.query({ sql: 'SELECT * FROM range(100000000000)' });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(outcome.rows.length).toBe(10);
    expect(outcome.cut).toEqual({ reason: 'rows', limit: 10 });
    expect((await small.queries.query({ sql: 'SELECT * FROM range(10)' })).cut).toBeNull();
    await small.close();
  });

  test('at the engine limit of bytes', async () => {
    const small = await createFixture({ resultBytesMax: 100_000 });
    const { rows, cut } = await small.queries.query({ sql: "SELECT repeat('x', 1000) FROM range(1000000)" });
    expect(cut).toEqual({ reason: 'bytes', limit: 100_000 });
    expect(rows.length).toBeGreaterThan(90);
    expect(rows.length).toBeLessThan(101);
    await small.close();
  });

  test('at defaultRowLimit, only where the outermost query has no LIMIT', async () => {
    const cut = async (sql: string) => {
      const outcome = await fixture.queries.query({ sql, defaultRowLimit: 2 });
      return [outcome.rows.length, outcome.cut];
    };
    expect(await cut('SELECT * FROM range(5)')).toEqual([2, { reason: 'asked', limit: 2 }]);
    expect(await cut('SELECT * FROM range(2)')).toEqual([2, null]);
    expect(await cut('SELECT * FROM range(5) LIMIT 4')).toEqual([4, null]);
    expect(await cut('(SELECT * FROM range(5) LIMIT 4)')).toEqual([4, null]);
    expect(await cut('SELECT * FROM (SELECT * FROM range(5) LIMIT 4)')).toEqual([2, { reason: 'asked', limit: 2 }]);
    expect(await cut('SELECT * FROM range(5) UNION ALL SELECT 1 LIMIT 3')).toEqual([3, null]);
    expect(await cut('SELECT * FROM range(10) LIMIT 50%')).toEqual([5, null]);
  });
});

describe('query() at once with others', () => {
  test('runs a few, queues some, refuses the rest, and frees places', async () => {
    const small = await createFixture({ queriesMax: 2, queueMax: 2 });
    const caller = new AbortController();
    const running = [0, 1].map(() => failure({ sql: ENDLESS, signal: caller.signal }, small));
    const waiting = [0, 1].map(() => small.queries.query({ sql: 'SELECT 1' }));
    const refused = await failure({ sql: 'SELECT 1' }, small);
    expect(refused).toMatchObject({ code: 'resource_exceeded', status: 429 });
    expect(refused.details.retryAfterMs).toBeGreaterThan(0);
    await sleep(100);
    caller.abort();
    await Promise.all(running);
    for (const outcome of await Promise.all(waiting)) {
      expect(outcome.rows).toEqual([[1]]);
      expect(outcome.queuedMicros).toBeGreaterThan(50_000);
    }
    await small.close();
  });

  test('does not keep a short one waiting behind long ones, which go on after it', async () => {
    const small = await createFixture({ queriesMax: 2 });
    const caller = new AbortController();
    const endless = [0, 1].map(() => failure({ sql: ENDLESS, signal: caller.signal }, small));
    const outcome = await small.queries.query({ sql: 'SELECT 1', timeoutMs: 15_000 });
    expect(outcome.rows).toEqual([[1]]);
    expect(outcome.queuedMicros).toBeGreaterThan(50_000);
    const ended = await Promise.race([...endless, sleep(100).then(() => null)]);
    expect(ended).toBeNull();
    caller.abort();
    for (const error of await Promise.all(endless)) expect(error.code).toBe('aborted');
    await small.close();
  }, 30_000);

  test('keeps no caller waiting for hundreds of endless ones of another, which is told when to come back', async () => {
    // This process has four native threads, and each of these queries takes one.
    const shared = await createFixture({ queriesMax: 4, queueMax: 16, queryTimeoutMs: 15_000 });
    const caller = new AbortController();
    setMaxListeners(0, caller.signal);
    const ask = () => failure({ sql: ENDLESS, caller: 'a', signal: caller.signal }, shared);
    const endless = Array.from({ length: 200 }, ask);
    for (let round = 0; round < 10; round++) {
      const outcome = await shared.queries.query({ sql: 'SELECT 1', caller: 'b' });
      expect(outcome.queuedMicros).toBeLessThan(5_000_000);
      await sleep(50);
    }
    const refused = await ask();
    expect(refused).toMatchObject({ code: 'resource_exceeded', status: 429 });
    expect(refused.details.retryAfterMs).toBeGreaterThan(1_000);
    expect(refused.details.retryAfterMs).toBeLessThanOrEqual(15_000);
    caller.abort();
    const codes = (await Promise.all(endless)).map(({ code }) => code);
    expect(codes.filter((code) => code === 'resource_exceeded').length).toBeGreaterThan(170);
    await shared.close();
  }, 60_000);

  test('times out and gives up in the queue too', async () => {
    const small = await createFixture({ queriesMax: 1 });
    const caller = new AbortController();
    const running = failure({ sql: ENDLESS, signal: caller.signal }, small);
    expect(await failure({ sql: 'SELECT 1', timeoutMs: 50 }, small)).toMatchObject({ code: 'query_timeout' });
    const impatient = new AbortController();
    const waiting = failure({ sql: 'SELECT 1', signal: impatient.signal }, small);
    impatient.abort();
    expect(await waiting).toMatchObject({ code: 'aborted' });
    caller.abort();
    await running;
    expect(await small.rows('SELECT 1')).toEqual([[1]]);
    await small.close();
  });

  test('leaves the event loop free for whatever else there is', async () => {
    const caller = new AbortController();
    const running = [0, 1, 2].map(() => failure({ sql: ENDLESS, signal: caller.signal }));
    let longest = 0;
    for (let turn = 0; turn < 30; turn++) {
      const started = performance.now();
      await sleep(5);
      longest = Math.max(longest, performance.now() - started);
    }
    expect(await fixture.rows('SELECT 42')).toEqual([[42]]);
    caller.abort();
    await Promise.all(running);
    expect(longest).toBeLessThan(2_000);
  });

  test('does not claim to have stopped what runs on, goes on beside it, and reports it once', async () => {
    const reports: GiveUp[] = [];
    const giveUp = (reason: GiveUp) => reports.push(reason);
    const stubborn = await createFixture({ threads: 1, queriesMax: 2 }, 'right', { giveUp, stuckAfterMs: 300 });
    await stubborn.rows('SELECT 1');
    const caller = new AbortController();
    const stuck = failure({ sql: STUBBORN, signal: caller.signal, requestId: 'r1' }, stubborn);
    // By then it is within that step: whatever an engine that was just opened does beside it takes far less.
    await untilBusy(1_000);
    caller.abort();
    expect(await stubborn.rows('SELECT 42')).toEqual([[42]]);
    const error = await stuck;
    expect(error.code).toBe('aborted');
    expect(error.message).toMatch(/told to stop, but still runs/);
    await expect.poll(() => reports.length, { timeout: 10_000 }).toBe(1);
    expect(reports).toMatchObject([{ why: 'stuck', requestIds: ['r1'] }]);
    await stubborn.close();
    expect(reports).toHaveLength(1);
  }, 30_000);

  longTest('close() stops what runs too long', { timeout: 30_000 }, async () => {
    const closing = await createFixture({ queriesMax: 1 });
    const running = failure({ sql: ENDLESS }, closing);
    await sleep(20);
    const started = performance.now();
    expect(await closing.queries.close()).toBe(0);
    expect(performance.now() - started).toBeLessThan(7_000);
    expect(await running).toMatchObject({ code: 'not_ready' });
    await closing.close();
  });

  test('close() waits for what runs and refuses what comes', async () => {
    const closing = await createFixture({ queriesMax: 1 });
    const running = closing.queries.query({ sql: 'SELECT count(*) FROM range(20000000) WHERE range % 3 = 0' });
    const waiting = failure({ sql: 'SELECT 1' }, closing);
    await sleep(1);
    const closed = closing.queries.close();
    expect(await waiting).toMatchObject({ code: 'not_ready' });
    expect(await failure({ sql: 'SELECT 1' }, closing)).toMatchObject({ code: 'not_ready' });
    expect((await running).rows).toEqual([[6_666_667]]);
    await closed;
  });
});

describe('errors', () => {
  const cases: [sql: string, message: RegExp, line?: number, column?: number][] = [
    [
      'SELECT amout FROM orders',
      /^Referenced column "amout" not found in FROM clause!\norders has _id, .*amount, /,
      1,
      8,
    ],
    ['SELECT *\nFROM orders\nWHERE amout > 1', /"amout".*\norders has /, 3, 7],
    ["SELECT '😀é', zzz FROM orders", /"zzz"/, 1, 14],
    ['SELECT\u00a0zzz FROM orders', /"zzz"/, 1, 8],
    ['EXPLAIN\nSELECT zzz FROM orders', /"zzz"/, 2, 8],
    ['EXPLAIN ANALYZE SELECT zzz FROM orders', /"zzz"/, 1, 24],
    ['SELECT (SELECT zzz FROM prod.events) FROM orders', /"zzz"/, 1, 16],
    ['SELECT zzz FROM temp.things', /"zzz"/, 1, 8],
    ['SELECT 1 FROM temp.things, orders WHERE zzz = 1', /"zzz"/, 1, 41],
    ['SELECT 1 FROM temp.things JOIN ordrs ON true', /"ordrs"/, 1, 32],
    ['SELECT * FROM orders WHERE :a = zzz', /"zzz"/, 1, 33],
    [`SELECT ${'1, '.repeat(200)}zzz FROM orders`, /"zzz"/, 1, 608],
    [`SELECT 1,\n'${'x'.repeat(200)}'||zzz||'${'y'.repeat(200)}' FROM orders`, /"zzz"/, 2, 205],
    [`SELECT\r\n  '日本語'||zzz FROM orders`, /"zzz"/, 2, 10],
    [`SELECT 'a\nb'||zzz FROM orders`, /"zzz"/, 2, 5],
    [`SELECT /* c */ -- d e\n zzz FROM orders`, /"zzz"/, 2, 2],
    ['SELEC 1', /^syntax error at or near "SELEC"$/, 1, 1],
    ['SELECT 1 +', /syntax error at end of input/, 1, 11],
    ['SELECT 1;\nSELECT 2', /Only one statement/, 2, 1],
    ['SELECT nofunction(1)', /"nofunction" does not exist/, 1, 8],
    ['SELECT uper(status) FROM orders', /Did you mean "upper"/, 1, 8],
    ["SELECT 1,\n  'x'::INT", /Could not convert string 'x' to INT/, 2, 6],
    ["SELECT 1 + DATE '2026-01-01' + true", /\+\(/, 1, 30],
    ['DELETE FROM orders', /^DELETE is not allowed: SQL here only reads/, 1, 1],
    ['SELECT a FROM (SELECT 1 a) x, (SELECT 2 a) y', /Ambiguous/, 1, 8],
    ['SELECT * FROM orders, orders', /Ambiguous reference to table "commons.orders"/],
    ["SELECT error('boom')", /^boom$/],
    [`SELECT error('{"exception_type":"FATAL","exception_message":"x"}')`, /^\{"exception_type":"FATAL"/],
    [`SELECT error('{"a": 1}')`, /^\{"a": 1\}$/],
  ];
  test.each(cases)('%s', async (sql, message, line, column) => {
    const error = await failure({ sql, parameters: [{ name: 'a', value: 'x' }] });
    expect(error.code).toBe('query_error');
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/LINE 1|\^|_colloquy|_data/);
    expect([error.details.line, error.details.column]).toEqual([line, column]);
  });

  test('names columns of the collections used that the engine does not', async () => {
    const error = await failure({ sql: 'SELECT customr_x FROM orders' });
    expect(error.message).toMatch(/orders has .*\bcustomer\b/);
  });
});

describe('inspect()', () => {
  test('lists collections, aliases and parameters', async () => {
    const sql = 'SELECT * FROM prod.events e JOIN recent r ON e._id = r._id WHERE e.n > :b AND e.n < :a AND :b > 0';
    const expected = {
      collections: ['prod.events'],
      aliases: ['commons.recent'],
      parameters: ['b', 'a'],
      missing: [],
      unbound: null,
      warnings: [],
    };
    const parameters = [
      { name: 'a', value: 1 },
      { name: 'b', value: 2 },
    ];
    expect(await fixture.queries.inspect({ sql, parameters })).toEqual(expected);
    expect(await fixture.queries.inspect({ sql, allowMissingParameters: true })).toEqual(expected);
  });

  test('asks for values unless told not to', async () => {
    await expect(fixture.queries.inspect({ sql: 'SELECT :a' })).rejects.toThrow(/Parameter ":a" is used/);
    await expect(
      fixture.queries.inspect({ sql: 'SELECT :a + :b', allowMissingParameters: true }),
    ).resolves.toBeDefined();
  });

  test('finds columns that do not exist, with and without values, at their place', async () => {
    const sql = 'SELECT zzz FROM orders LIMIT :n';
    const expected = { code: 'query_error', details: { line: 1, column: 8 } };
    const missing = fixture.queries.inspect({ sql, allowMissingParameters: true });
    await expect(missing).rejects.toMatchObject(expected);
    const given = fixture.queries.inspect({ sql, parameters: [{ name: 'n', value: 1 }] });
    await expect(given).rejects.toMatchObject(expected);
  });

  test('does not run the statement', async () => {
    const started = performance.now();
    await fixture.queries.inspect({ sql: ENDLESS });
    await fixture.queries.inspect({ sql: `EXPLAIN ANALYZE ${ENDLESS}` });
    // Running it would take minutes.
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test('stops when its caller gives up, also in the queue', async () => {
    const gone = fixture.queries.inspect({ sql: 'SELECT 1', signal: AbortSignal.abort() });
    await expect(gone).rejects.toMatchObject({ code: 'aborted' });
    const narrow = await createFixture({ queriesMax: 1 });
    const caller = new AbortController();
    const running = failure({ sql: ENDLESS, signal: caller.signal }, narrow);
    await untilBusy();
    const waiting = narrow.queries.inspect({ sql: 'SELECT 1', signal: caller.signal });
    caller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await running;
    await narrow.close();
  });

  test('knows SHOW and DESCRIBE', async () => {
    expect((await fixture.queries.inspect({ sql: 'SHOW TABLES' })).collections).toEqual([]);
    expect((await fixture.queries.inspect({ sql: 'DESCRIBE orders' })).collections).toEqual(['commons.orders']);
  });
});

describe('warnings', () => {
  test('of a parameter that is not used only when asked for, of rows left out always', async () => {
    const request = { sql: 'SELECT * FROM range(5)', defaultRowLimit: 2, parameters: [{ name: 'x', value: 1 }] };
    const cut = 'Only the first 2 rows are returned; the query has more.';
    expect((await fixture.queries.query(request)).warnings).toEqual([cut]);
    expect((await fixture.queries.query({ ...request, generateWarnings: true })).warnings).toEqual([
      'Parameter "x" is not used by the SQL.',
      cut,
    ]);
    const named = { sql: 'SELECT :n, :m', parameters: [':n', '$m'].map((name) => ({ name, value: 1 })) };
    expect((await fixture.queries.query({ ...named, generateWarnings: true })).warnings).toEqual([]);
  });
});

describe('SHOW', () => {
  test('answers from the names, with columns', async () => {
    const { columns, rows } = await fixture.queries.query({ sql: 'SHOW TABLES FROM PROD' });
    expect(columns.map(({ name }) => name)).toEqual(['workspace', 'name', 'kind', 'columns']);
    expect(rows).toEqual([['prod', 'events', 'collection', ['_id', 'kind', 'n']]]);
    const all = await fixture.queries.query({ sql: 'SHOW ALL TABLES' });
    expect(all.columns.map(({ name }) => name)).toEqual(['workspace', 'name', 'kind', 'columns', 'types']);
    const [, , , fields, types] = all.rows.find(([workspace]) => workspace === 'prod') ?? [];
    expect([fields, types]).toEqual([
      ['_id', 'kind', 'n'],
      [null, null, null],
    ]);
    expect(await fixture.rows('SHOW SCHEMAS')).toContainEqual(['empty']);
    expect((await failure({ sql: 'SHOW TABLES FROM nope' })).message).toBe('Workspace with name "nope" does not exist');
  });
});
