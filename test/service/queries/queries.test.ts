import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ limits: { resultRowsMax: 1_000 } });
  await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'c' });
  await service.call('POST', '/v1/orgs/self/ws/commons/collections/c/docs', {
    data: Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}`, n })),
  });
});
afterAll(() => service.remove());

const QUERIES = '/v1/orgs/self/queries';
const SLOW = 'SELECT count(*) FROM range(100000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3';

async function run(query: string, more: Record<string, unknown> = {}) {
  return service.call('POST', QUERIES, { sql: { query, ...more } });
}

describe('runQuery', () => {
  it('sends a long answer whole, and the service outlives a caller who leaves in the middle of one', async () => {
    const query = "SELECT i, repeat('é', 3000) AS t FROM range(900) r(i)";
    const answer = await run(query);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body.results).toHaveLength(900);
    expect(answer.body.results[899]).toEqual({ i: 899, t: 'é'.repeat(3000) });
    expect(answer.body.status).toBe('COMPLETED');
    const socket = connect(service.socket);
    const body = JSON.stringify({ sql: { query } });
    socket.write(
      `POST ${QUERIES} HTTP/1.1\r\nhost: x\r\nauthorization: ApiKey ${service.key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await once(socket, 'data');
    socket.destroy();
    expect((await run('SELECT 1 AS one')).body.results).toEqual([{ one: 1 }]);
    await expect.poll(() => service.lines.some(({ msg }) => msg === 'request given up by its caller')).toBe(true);
  });

  it('answers bare, with exactly the keys of the shape', async () => {
    const answer = await run('SELECT n, n * 2 AS twice FROM c WHERE n < :top ORDER BY n', {
      parameters: [{ name: 'top', type: 'int', value: '2' }],
    });
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body)).toEqual([
      'aliases',
      'collections',
      'column_fields',
      'query_errors',
      'query_id',
      'results',
      'stats',
      'status',
      'warnings',
    ]);
    expect(answer.body).toMatchObject({
      query_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      collections: ['commons.c'],
      aliases: [],
      results: [
        { n: 0, twice: 0 },
        { n: 1, twice: 2 },
      ],
      query_errors: [],
      status: 'COMPLETED',
      stats: { elapsed_time_ms: expect.any(Number), throttled_time_micros: expect.any(Number) },
    });
    expect(answer.body.column_fields.map((field: { name: string }) => field.name)).toEqual(['n', 'twice']);
    expect(keysOf(answer.body.stats)).toEqual(['elapsed_time_ms', 'throttled_time_micros']);
  });

  it('says so when the result is cut, and how many rows there are', async () => {
    const answer = await run('SELECT * FROM range(5000)');
    expect(answer.status).toBe(200);
    expect(answer.body.results).toHaveLength(1_000);
    expect(answer.body.query_errors).toEqual([
      { type: 'ResourceExceeded', status_code: 429, message: expect.stringMatching(/^Only the first 1000 rows/) },
    ]);
  });

  it('applies default_row_limit only where the SQL has no LIMIT', async () => {
    expect((await run('SELECT n FROM c', { default_row_limit: 3 })).body.results).toHaveLength(3);
    expect((await run('SELECT n FROM c LIMIT 5', { default_row_limit: 3 })).body.results).toHaveLength(5);
  });

  it('warns where default_row_limit leaves rows out, asked for or not, and has no error', async () => {
    for (const more of [{}, { generate_warnings: true }]) {
      const warned = await run('SELECT n FROM c', { default_row_limit: 3, ...more });
      expect(warned.status).toBe(200);
      expect(warned.body.query_errors).toEqual([]);
      expect(warned.body.warnings).toEqual(['Only the first 3 rows are returned; the query has more.']);
    }
    expect((await run('SELECT n FROM c LIMIT 3', { default_row_limit: 3 })).body.warnings).toEqual([]);
    expect((await run('SELECT * FROM range(3)', { default_row_limit: 3 })).body.warnings).toEqual([]);
    // The limit of the service is below what was asked for.
    expect((await run('SELECT * FROM range(5000)', { default_row_limit: 4_000 })).body.query_errors).toHaveLength(1);
  });

  it('keeps both of two columns with one name', async () => {
    const answer = await run('SELECT 1 AS a, 2 AS a, 3 AS "__proto__"');
    const names = answer.body.column_fields.map((field: { name: string }) => field.name);
    expect(new Set(names).size).toBe(3);
    expect(Object.values(answer.body.results[0]).sort()).toEqual([1, 2, 3]);
  });

  it.each([
    ['SELEC 1', 1],
    ['SELECT nofunc(1)', 1],
    ['SELECT 1\nFROM nowhere', 2],
  ])('%j is 400 with line, column and query id', async (query, line) => {
    const answer = await run(query);
    expect([answer.status, answer.body.type]).toEqual([400, 'QUERY_ERROR']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.line).toBe(line);
    expect(answer.body.column).toBeGreaterThan(0);
    expect(answer.body.query_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    [{}, '"sql" is missing'],
    [{ sql: null }, '"sql": expected a JSON object, got null'],
    [{ sql: 'SELECT 1' }, '"sql": expected a JSON object, got a string'],
    [{ sql: {} }, '"sql.query" is missing'],
    [{ sql: { query: '' } }, '"sql.query" must not be empty'],
    [{ sql: { query: 1 } }, '"sql.query": expected a string'],
    [{ sql: { query: 'SELECT 1', parameters: {} } }, '"sql.parameters": expected an array'],
    [{ sql: { query: 'SELECT 1', parameters: [{}] } }, '"sql.parameters[0].name" is missing'],
    [
      { sql: { query: 'SELECT 1', parameters: [{ name: 'a', type: 'zip' }] } },
      '"sql.parameters[0].type": expected one of',
    ],
    [{ sql: { query: 'SELECT 1', default_row_limit: 0 } }, '"sql.default_row_limit"'],
    [{ sql: { query: 'SELECT 1', default_row_limit: '5' } }, '"sql.default_row_limit": expected'],
  ])('%j is 400 naming the field', async (body, why) => {
    const answer = await service.call('POST', QUERIES, body);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(`Cannot run a SQL query: ${why}`);
  });

  it('a parameter of 1e400 is 400 naming it', async () => {
    const rawBody = '{"sql":{"query":"SELECT :a","parameters":[{"name":"a","value":[1e400]}]}}';
    const answer = await service.call('POST', QUERIES, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('"sql.parameters[0].value" holds a number that is too large at "/0"');
  });

  it('nulls for what may be absent are as if absent', async () => {
    expect((await run('SELECT 1 AS x', { parameters: null, default_row_limit: null })).body.results).toEqual([
      { x: 1 },
    ]);
  });

  it('stops in the engine when the caller hangs up', async () => {
    const abort = new AbortController();
    const pending = service.call('POST', QUERIES, { sql: { query: SLOW } }, { signal: abort.signal });
    await sleep(300);
    abort.abort();
    await expect(pending).rejects.toThrow();
    await expect
      .poll(() => service.lines.filter((line) => line['msg'] === 'request given up by its caller').length)
      .toBe(1);
    expect((await run('SELECT 1 AS x')).body.results).toEqual([{ x: 1 }]);
    expect(service.lines.filter((line) => Number(line['level']) >= 50)).toEqual([]);
  });
});

describe('a query past its time limit', () => {
  it('is 408', async () => {
    const hasty = await startTestService({ limits: { queryTimeoutMs: 300 } });
    try {
      const answer = await hasty.call('POST', QUERIES, { sql: { query: SLOW } });
      expect([answer.status, answer.body.type]).toEqual([408, 'QUERY_TIMEOUT']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    } finally {
      await hasty.remove();
    }
  });
});

describe('too many queries at once', () => {
  it('is 429 with Retry-After', async () => {
    const narrow = await startTestService({ limits: { queriesMax: 1, queueMax: 0 } });
    try {
      const abort = new AbortController();
      const pending = narrow
        .call('POST', QUERIES, { sql: { query: SLOW } }, { signal: abort.signal })
        .catch(() => null);
      await sleep(300);
      const answer = await narrow.call('POST', QUERIES, { sql: { query: 'SELECT 1' } });
      expect([answer.status, answer.body.type]).toEqual([429, 'RESOURCEEXCEEDED']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      abort.abort();
      await pending;
    } finally {
      await narrow.remove();
    }
  });
});

describe('validateQuery', () => {
  const VALIDATIONS = `${QUERIES}/validations`;
  const sql = { query: 'SELECT n FROM c WHERE n > :least' };

  it('answers bare, with collections and parameters', async () => {
    const answer = await service.call('POST', `${VALIDATIONS}?parameters=true`, { sql });
    expect(answer.body).toEqual({
      collections: ['commons.c'],
      aliases: [],
      views: [],
      name: ['commons.c'],
      parameters: ['least'],
    });
  });

  it('tells what a query would, as far as the SQL says it', async () => {
    const query = 'SELECT DISTINCT * FROM c WHERE n = NULL OR n IN (:list)';
    const parameters = [{ name: 'list', type: 'array', value: [1] }];
    const answer = await service.call('POST', VALIDATIONS, { sql: { query, parameters } });
    expect(answer.body.warnings).toEqual([
      'IN (:list) takes values one by one, and "list" is a list: write x = ANY(:list).',
      expect.stringMatching(/^SELECT DISTINCT \* compares whole documents/),
      '= NULL is never true: write n IS NULL.',
    ]);
    const json = { query: "SELECT max(to_json(n)) FROM c UNION ALL SELECT min(o) FROM (SELECT {'a': n} AS o FROM c)" };
    expect((await service.call('POST', VALIDATIONS, { sql: json })).body.warnings).toEqual([
      expect.stringMatching(/^A value is JSON|to_json\(n\) is JSON/),
    ]);
  });

  it('takes the switch in the body too', async () => {
    expect((await service.call('POST', VALIDATIONS, { sql, parameters: true })).status).toBe(200);
  });

  it('a parameter without a value is 400 without the switch', async () => {
    for (const path of [VALIDATIONS, `${VALIDATIONS}?parameters=false`]) {
      const answer = await service.call('POST', path, { sql });
      expect([answer.status, answer.body.type]).toEqual([400, 'QUERY_ERROR']);
      expect(answer.body.message).toContain('least');
    }
  });

  it.each(['maybe', '', '1', 'true&parameters=false'])('parameters=%s is 400', async (value) => {
    const answer = await service.call('POST', `${VALIDATIONS}?parameters=${value}`, { sql });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('"parameters": expected a boolean');
  });

  it('SQL that does not bind is 400 with its position', async () => {
    const answer = await service.call('POST', VALIDATIONS, { sql: { query: 'SELECT nofunc(1)' } });
    expect(answer.body).toMatchObject({ type: 'QUERY_ERROR', line: 1, column: 8 });
  });
});
