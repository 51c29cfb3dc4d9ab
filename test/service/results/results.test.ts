import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { csvLine } from '../../../src/contract/json/file-lines.ts';
import { parseJson } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { KeptEntry } from '../../../src/service/results/kept-results.ts';
import { createResultFiles } from '../../../src/service/results/result-files.ts';
import type { ServiceOptions } from '../../../src/service/start.ts';
import { makeFolder, startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';

const RESULTS = '/v1/colloquy/results';
const QUERIES = '/v1/orgs/self/queries';

let service: TestService;
let other: string;
beforeAll(async () => {
  service = await startTestService({ limits: { resultRowsMax: 5_000 } });
  other = await addUser(service, 'other@example.com', 'read-only');
});
afterAll(() => service.remove());

async function run(query: string, keep: string | null = '50', on = service, key?: string) {
  const headers: Record<string, string> = keep === null ? {} : { 'x-colloquy-keep': keep };
  const how = key === undefined ? { headers } : { headers, key };
  return on.call('POST', QUERIES, { sql: { query } }, how);
}

async function kept(query: string, on = service, key?: string): Promise<string> {
  const { body } = await run(query, '50', on, key);
  expect(body.keeping.is_kept).toBe(true);
  return body.query_id;
}

const rowsOf = (id: string, body: object = {}, key?: string, on = service) =>
  on.call('POST', `${RESULTS}/${id}/rows`, body, key === undefined ? {} : { key });

it('gives with each page the warnings that the answer of its query had', async () => {
  await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'odd' });
  const data = Array.from({ length: 80 }, (_, n) => ({ _id: `d${n}`, n: n === 7 ? 'x' : n }));
  await service.call('POST', '/v1/orgs/self/ws/commons/collections/odd/docs', { data });
  const { body } = await run('SELECT _id, n + 0 AS n FROM odd', '5');
  expect(body.warnings).toEqual([
    expect.stringContaining('commons.odd: values that do not fit their field are NULL here: 1 of n (BIGINT)'),
  ]);
  const page = await rowsOf(body.query_id, { where: 'n IS NULL' });
  expect(page.body.data).toMatchObject({ results: [{ _id: 'd7', n: null }], warnings: body.warnings });
});

describe('a query with the wish to keep its result', () => {
  it('carries the rows asked for, and keeps all', async () => {
    const { body } = await run('SELECT i FROM range(3000) t(i)');
    expect(body.results).toHaveLength(50);
    expect(body.query_errors).toEqual([]);
    expect(body.keeping).toMatchObject({
      total: 3_000,
      is_total_exact: true,
      is_kept: true,
      rows_kept: 3_000,
      reason: null,
      expires_at: expect.stringMatching(/Z$/),
    });
    const page = await rowsOf(body.query_id, { offset: 2_998 });
    expect(page.body.data).toMatchObject({
      results: [{ i: 2_998 }, { i: 2_999 }],
      total: 3_000,
      offset: 2_998,
      is_whole: true,
    });
  });

  it('is what it is without the header, or with one that is no number', async () => {
    for (const header of [null, '0', '-1', 'yes', '1e3', '9999999999']) {
      const { body } = await run('SELECT i FROM range(300) t(i)', header);
      expect(body.results).toHaveLength(300);
      expect(body).not.toHaveProperty('keeping');
      expect((await rowsOf(body.query_id)).status).toBe(404);
    }
  });

  it('says where the result has more rows than are kept', async () => {
    const { body } = await run('SELECT i FROM range(9000) t(i)');
    expect(body.keeping).toMatchObject({ total: 5_000, is_total_exact: false, is_kept: true });
    const page = (await rowsOf(body.query_id, { where: 'i > 6000' })).body.data;
    expect(page).toMatchObject({ total: 0, rows_kept: 5_000, is_whole: false });
    const { data } = (await service.call('GET', `${RESULTS}/${body.query_id}/profile`)).body;
    expect(data).toMatchObject({ rows: 5_000, is_whole: false });
  });

  it('keeps what a Query Lambda answers', async () => {
    const lambdas = '/v1/orgs/self/ws/commons/lambdas';
    const sql = { query: 'SELECT i FROM range(200) t(i)' };
    const made = await service.call('POST', lambdas, { name: 'many', sql });
    const path = `${lambdas}/many/versions/${made.body.data.version}`;
    const { body } = await service.call('POST', path, {}, { headers: { 'x-colloquy-keep': '10' } });
    expect([body.results.length, body.keeping.total]).toEqual([10, 200]);
    expect((await rowsOf(body.query_id)).body.data.total).toBe(200);
  });
});

describe('fetchResult', () => {
  it('pages, projects, filters and orders', async () => {
    const id = await kept("SELECT i, 'x' || i % 2 AS g FROM range(1000) t(i)");
    const body = { columns: ['i'], where: "g = 'x1'", order_by: 'i DESC', limit: 2, offset: 1 };
    const { data } = (await rowsOf(id, body)).body;
    expect(data).toMatchObject({ total: 500, results: [{ i: 997 }, { i: 995 }], column_fields: [{ name: 'i' }] });
  });

  it('is not found for another key, whatever its role, nor for what was never kept', async () => {
    const id = await kept('SELECT i FROM range(100) t(i)');
    const own = await kept('SELECT i FROM range(100) t(i)', service, other);
    for (const [path, method, body] of [
      ['rows', 'POST', {}],
      ['profile', 'GET', undefined],
      ['exports', 'POST', { format: 'csv' }],
      ['exports/csv', 'GET', undefined],
    ] as const) {
      const answer = await service.call(method, `${RESULTS}/${id}/${path}`, body, { key: other });
      expect([path, answer.status, answer.body.message_key]).toEqual([path, 404, 'QUERY_NOT_FOUND']);
      expect(answer.body.message).toContain('run the query again');
    }
    expect((await rowsOf(own)).status).toBe(404);
    expect((await rowsOf(own, {}, other)).status).toBe(200);
    expect((await rowsOf('nothing')).status).toBe(404);
    const listed = (await service.call('GET', RESULTS, undefined, { key: other })).body.data;
    expect(listed).toMatchObject([{ query_id: own, rows: 100, is_whole: true, columns: ['i'] }]);
  });

  it.each([
    [{ where: 'EXISTS (SELECT 1 FROM commons.c)' }, 400, 'QUERY_ERROR'],
    [{ where: "1 = 1) UNION ALL SELECT content FROM read_text('/etc/passwd" }, 400, 'QUERY_ERROR'],
    [{ where: 7 }, 400, 'INVALIDINPUT'],
    [{ columns: ['nope'] }, 400, 'INVALIDINPUT'],
    [{ limit: 0 }, 400, 'INVALIDINPUT'],
    [{ limit: 10_001 }, 400, 'INVALIDINPUT'],
    [{ offset: -1 }, 400, 'INVALIDINPUT'],
  ])('%j is %i', async (body, status, type) => {
    const id = await kept('SELECT i FROM range(100) t(i)');
    const answer = await rowsOf(id, body);
    expect([answer.status, answer.body.type]).toEqual([status, type]);
  });
});

describe('profileResult', () => {
  it('tells what the columns hold', async () => {
    const id = await kept('SELECT i % 3 AS a, NULL AS b FROM range(90) t(i)');
    const { data } = (await service.call('GET', `${RESULTS}/${id}/profile`)).body;
    expect(data).toMatchObject({
      query_id: id,
      rows: 90,
      columns: [
        { name: 'a', type: 'BIGINT', nulls: 0, distinct: 3, min: 0, max: 2 },
        { name: 'b', nulls: 90 },
      ],
    });
  });
});

describe('exportResult', () => {
  const SQL = `SELECT 1152921504606846977 + i AS big, CASE WHEN i = 0 THEN 'say "hi", you
there' WHEN i = 1 THEN '' WHEN i = 2 THEN NULL ELSE 'plain' END AS text, {'a': [i, NULL]} AS nested,
    1.50::DECIMAL(38,2) AS d, TIMESTAMPTZ '2026-01-02 03:04:05+02' AS at FROM range(60) t(i)`;

  async function exported(id: string, format: string, on = service) {
    const { body } = await on.call('POST', `${RESULTS}/${id}/exports`, { format });
    return body.data;
  }

  it('writes CSV whole and exact, readable by its owner only', async () => {
    const file = await exported(await kept(SQL), 'csv');
    expect(file).toMatchObject({ format: 'csv', rows: 60, is_whole: true, expires_at: expect.stringMatching(/Z$/) });
    expect(file.path).toBe(join(service.folder, 'exports', `${file.query_id}.csv`));
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(service.folder, 'exports')).mode & 0o777).toBe(0o700);
    const text = readFileSync(file.path, 'utf8');
    expect(Buffer.byteLength(text)).toBe(file.bytes);
    expect(text.split('\n').slice(0, 5)).toEqual([
      'big,text,nested,d,at',
      '1152921504606846977,"say ""hi"", you',
      'there","{""a"":[0,null]}",1.5,2026-01-02T01:04:05.000000Z',
      '1152921504606846978,"","{""a"":[1,null]}",1.5,2026-01-02T01:04:05.000000Z',
      '1152921504606846979,,"{""a"":[2,null]}",1.5,2026-01-02T01:04:05.000000Z',
    ]);
  });

  it('writes JSON lines as answers are, with integers as numbers', async () => {
    const file = await exported(await kept(SQL), 'jsonl');
    const lines = readFileSync(file.path, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(60);
    expect(parseJson(lines[2] ?? '')).toEqual({
      big: 1152921504606846979n,
      text: null,
      nested: { a: [2, null] },
      d: 1.5,
      at: '2026-01-02T01:04:05.000000Z',
    });
  });

  it('writes Parquet, and every row of several pages', async () => {
    const id = await kept('SELECT i FROM range(5000) t(i)');
    const parquet = await exported(id, 'parquet');
    expect(readFileSync(parquet.path).subarray(0, 4).toString()).toBe('PAR1');
    expect(statSync(parquet.path).mode & 0o777).toBe(0o600);
    const csv = await exported(id, 'csv');
    const lines = readFileSync(csv.path, 'utf8').trim().split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([5_001, '4999']);
  });

  it('writes what JSON has no number for as text, and every number exactly', async () => {
    const sql = `SELECT 123456789012345678901234567890123456789::HUGEINT AS huge, [{'a': 9007199254740993}] AS nested,
      '{"n":[9007199254740993]}'::JSON AS j, 12345678901234567890::DECIMAL(38,0) AS whole, 1.25::DECIMAL(38,9) AS short,
      12345678901234567890.123456789::DECIMAL(38,9) AS long, 1.2345678901234567e20::DOUBLE AS d, 'NaN'::DOUBLE AS nan
      FROM range(60)`;
    const file = await exported(await kept(sql), 'jsonl');
    expect(readFileSync(file.path, 'utf8').split('\n')[0]).toBe(
      '{"huge":123456789012345678901234567890123456789,"nested":[{"a":9007199254740993}],"j":{"n":[9007199254740993]},' +
        '"whole":12345678901234567890,"short":1.25,"long":"12345678901234567890.123456789","d":1.2345678901234567e+20,"nan":"NaN"}',
    );
  });

  it('tells which columns Parquet has in another type', async () => {
    const parquet = await exported(await kept('SELECT sum(i) AS total, i FROM range(100) t(i) GROUP BY i'), 'parquet');
    expect(parquet.retyped).toEqual([{ name: 'total', type: 'HUGEINT', written_as: 'BIGINT' }]);
  });

  it('is read in parts, also once the result itself is gone', async () => {
    const small = await startTestService({ results: { perKeyMax: 1 } });
    const id = await kept('SELECT i FROM range(100) t(i)', small);
    const file = await exported(id, 'csv', small);
    await kept('SELECT i FROM range(100) t(i)', small);
    expect((await rowsOf(id, {}, undefined, small)).status).toBe(404);
    expect(await exported(id, 'csv', small)).toEqual(file);
    const part = async (query: string) => (await small.call('GET', `${RESULTS}/${id}/exports/csv${query}`)).body.data;
    expect(await part('?offset=2&length=4')).toEqual({ bytes: 292, data: Buffer.from('0\n1\n').toString('base64') });
    expect(Buffer.from((await part('')).data, 'base64').toString()).toBe(readFileSync(file.path, 'utf8'));
    expect((await part('?offset=5000')).data).toBe('');
    rmSync(file.path);
    expect((await small.call('GET', `${RESULTS}/${id}/exports/csv`)).status).toBe(404);
    expect((await small.call('GET', `${RESULTS}/${id}/exports/..%2f..%2fadmin.key`)).status).toBe(404);
    await small.remove();
  });

  it('refuses a format that it does not know', async () => {
    const id = await kept('SELECT i FROM range(100) t(i)');
    const answer = await service.call('POST', `${RESULTS}/${id}/exports`, { format: 'xlsx' });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
  });
});

describe('the bounds', () => {
  let running: TestService | undefined;
  beforeEach(() => {
    running = undefined;
  });
  afterEach(() => running?.remove());
  async function start(options: Partial<ServiceOptions>, folder?: string): Promise<TestService> {
    running = await startTestService(options, folder);
    return running;
  }
  const SQL = 'SELECT i FROM range(1000) t(i)';
  const isThere = async (on: TestService, id: string) => (await rowsOf(id, { limit: 1 }, undefined, on)).status === 200;

  it('of one key: the least recently used goes first', async () => {
    const on = await start({ results: { perKeyMax: 2 } });
    const [a, b] = [await kept(SQL, on), await kept(SQL, on)];
    expect(await isThere(on, a)).toBe(true);
    const c = await kept(SQL, on);
    expect(await Promise.all([a, b, c].map((id) => isThere(on, id)))).toEqual([true, false, true]);
  });

  it('of all bytes', async () => {
    const on = await start({ results: { bytesMax: 20_000 } });
    const ids = [await kept(SQL, on), await kept(SQL, on), await kept(SQL, on)];
    expect(await Promise.all(ids.map((id) => isThere(on, id)))).toEqual([false, true, true]);
  });

  it('of time, and of the process', async () => {
    const folder = await makeFolder();
    const first = await start({ results: { ageMs: 1 } }, folder);
    const old = await kept(SQL, first);
    await expect.poll(() => isThere(first, old)).toBe(false);
    await first.stop();
    const second = await start({}, folder);
    const id = await kept(SQL, second);
    expect(await isThere(second, id)).toBe(true);
    await second.stop();
    const third = await start({}, folder);
    expect(await isThere(third, id)).toBe(false);
  });

  it('of a process do not apply to exported files, which their owner can read until they expire', async () => {
    const folder = await makeFolder();
    const first = await start({}, folder);
    const ids = [await kept(SQL, first), await kept(SQL, first)];
    const answers = [];
    for (const id of ids) answers.push(await first.call('POST', `${RESULTS}/${id}/exports`, { format: 'csv' }));
    await first.stop();
    rmSync(join(folder, 'exports', `${ids[1]}.csv`));
    const second = await start({}, folder);
    const someone = await addUser(second, 'someone@example.com', 'read-only');
    const again = await second.call('POST', `${RESULTS}/${ids[0]}/exports`, { format: 'csv' });
    expect(again.body).toEqual(answers[0]?.body);
    const path = `${RESULTS}/${ids[0]}/exports/csv`;
    const { data } = (await second.call('GET', path)).body.data;
    expect(Buffer.from(data, 'base64').toString()).toBe(readFileSync(again.body.data.path, 'utf8'));
    expect((await second.call('GET', path, undefined, { key: someone })).status).toBe(404);
    expect((await second.call('GET', `${RESULTS}/${ids[1]}/exports/csv`)).status).toBe(404);
    await second.stop();
    writeFileSync(join(folder, 'exports/.exports.json'), '[{');
    const third = await start({}, folder);
    expect((await third.call('GET', path)).status).toBe(404);
  });

  it('of exported files, also of those that an earlier process left', async () => {
    const folder = await makeFolder();
    const exports = join(folder, 'exports');
    mkdirSync(exports);
    const name = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
    for (const file of [`${name(1)}.csv`, `${name(2)}.csv.part`, 'mine.csv']) writeFileSync(join(exports, file), 'x');
    writeFileSync(join(exports, `${name(3)}.csv`), 'x');
    utimesSync(join(exports, `${name(1)}.csv`), 1, 1);
    const on = await start({ exports: { filesMax: 2 } }, folder);
    await expect.poll(() => readdirSync(exports).sort()).toEqual([`${name(3)}.csv`, 'mine.csv']);
    const ids = [await kept(SQL, on), await kept(SQL, on)];
    for (const id of ids) await on.call('POST', `${RESULTS}/${id}/exports`, { format: 'csv' });
    await expect.poll(() => existsSync(join(exports, `${name(3)}.csv`))).toBe(false);
    expect(readdirSync(exports).sort()).toEqual(['.exports.json', ...ids.map((id) => `${id}.csv`), 'mine.csv'].sort());
  });
});

describe('running()', () => {
  it('says how far an export is, only to the key that it belongs to', async () => {
    const folder = await makeFolder();
    let goOn: () => void = () => undefined;
    let reached: () => void = () => undefined;
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const read = async (_id: string, { offset = 0 }) => {
      if (offset > 0) {
        reached();
        await held;
      }
      return { columns: [{ name: 'a', type: 'INTEGER' }], rows: [[offset], [offset + 1]], total: 4 };
    };
    const engine = { results: { exportsFolder: join(folder, 'exports'), read } } as unknown as Engine;
    const files = createResultFiles(engine, pino({ level: 'silent' }));
    const queryId = '00000000-0000-4000-8000-000000000000';
    const entry = { queryId, owner: 'me', rows: 4, isWhole: true } as KeptEntry;
    const written = files.write(entry, 'csv', new AbortController().signal);
    await isReached;
    expect(files.running('me')).toEqual([{ queryId, format: 'csv', rows: 4, rowsDone: 2 }]);
    expect(files.running('you')).toEqual([]);
    goOn();
    expect((await written).rows).toBe(4);
    expect(files.running('me')).toEqual([]);
    files.stop();
    rmSync(folder, { recursive: true });
  });

  it('is empty where nothing is written', async () => {
    expect((await service.call('GET', '/v1/colloquy/exports', undefined, { key: other })).body).toEqual({ data: [] });
  });
});

describe('csvLine()', () => {
  it('quotes what would be read differently', () => {
    expect(csvLine(['a,b', 'c"d', ' e', '', null, true, 1.5, 'x\ry', { k: 'v' }, ['1']])).toBe(
      '"a,b","c""d"," e","",,true,1.5,"x\ry","{""k"":""v""}","[""1""]"',
    );
  });
});
