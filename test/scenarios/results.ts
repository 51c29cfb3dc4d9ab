import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Scenario } from './scenarios.ts';
import type { Session } from './session.ts';

async function ok(session: Session, name: string, args: Record<string, unknown>) {
  const result = await session.call(name, args);
  expect(result.isError, result.text).toBe(false);
  return result;
}

async function failed(session: Session, name: string, args: Record<string, unknown>) {
  const result = await session.call(name, args);
  expect(result.isError, result.text).toBe(true);
  return result;
}

const SQL = `SELECT i AS n, 1152921504606846976 + i AS big, 'g' || i % 3 AS grp, {'at': TIMESTAMPTZ '2026-07-01 00:00:00+02', 'l': [i]} AS s
  FROM range(2500) t(i)`;

const paging: Scenario = {
  name: 'keeps a large result, and pages, filters and projects it without the query',
  async run({ open }) {
    const session = await open();
    const first = await ok(session, 'run_query', { query: SQL });
    const { query_id, profile } = first.structured;
    expect(first.structured).toMatchObject({ returned: 50, total: 2_500, truncated: true, types: expect.any(Array) });
    expect(first.text).toContain(`fetch_result {"query_id":"${query_id}","offset":50}`);
    expect(profile).toEqual([
      ['column', 'nulls', 'distinct', 'min', 'max', 'frequent'],
      ['n', 0, 2_500, 0, 2_499, []],
      ['big', 0, 2_500, '1152921504606846976', '1152921504606849475', []],
      ['grp', 0, 3, 'g0', 'g2', expect.arrayContaining(['g0', 'g1', 'g2'])],
      ['s', 0, null, null, null, []],
    ]);
    const next = await ok(session, 'fetch_result', { query_id, offset: 50 });
    expect(next.structured).toMatchObject({ offset: 50, returned: 50, total: 2_500, truncated: true });
    expect(next.text).toContain('50 from 50 of 2500 rows are shown');
    expect((next.structured['rows'] as unknown[][])[0]).toEqual([
      50,
      '1152921504606847026',
      'g2',
      { at: '2026-06-30T22:00:00.000000Z', l: [50] },
    ]);
    const last = await ok(session, 'fetch_result', { query_id, offset: 2_499 });
    expect(last.structured).toMatchObject({ returned: 1, total: 2_500, truncated: false });
    const filter = { columns: ['big'], where: "grp = 'g1' AND s.l[1] > 2000", order_by: 'n DESC', limit: 2 };
    const found = await ok(session, 'fetch_result', { query_id, ...filter });
    expect(found.structured).toMatchObject({
      columns: ['big'],
      rows: [['1152921504606849473'], ['1152921504606849470']],
      total: 166,
    });
    expect(found.text).toContain('the same call with "offset": 2 for the next');
    const onwards = await ok(session, 'fetch_result', { query_id, ...filter, offset: 2 });
    expect(onwards.structured['rows']).toEqual([['1152921504606849467'], ['1152921504606849464']]);
  },
};

const limits: Scenario = {
  name: 'keeps no result that an answer holds whole, and all of one that was limited by the caller',
  async run({ open }) {
    const session = await open();
    const small = await ok(session, 'run_query', { query: 'SELECT * FROM range(50)' });
    expect(small.structured).toMatchObject({ returned: 50, total: 50, truncated: false });
    expect(small.structured).not.toHaveProperty('query_id');
    const limited = await ok(session, 'run_query', { query: 'SELECT * FROM range(500)', default_row_limit: 5 });
    expect(limited.structured).toMatchObject({ returned: 5, total: 500, truncated: true });
    const written = await ok(session, 'run_query', { query: 'SELECT * FROM range(5000) LIMIT 300' });
    expect(written.structured).toMatchObject({ returned: 50, total: 300 });
    const most = await ok(session, 'run_query', { query: 'SELECT * FROM range(200000)' });
    expect(most.structured).toMatchObject({
      returned: 50,
      at_least: 100_000,
      kept: 'only the first 100000 rows',
      profile_of: 'the first 100000 rows',
    });
    const { query_id } = most.structured;
    const end = await ok(session, 'fetch_result', { query_id, offset: 99_999 });
    expect(end.structured).toMatchObject({ rows: [[99_999]], at_least: 100_000, truncated: true });
    expect(end.text).toContain('no more are kept');
    const top = await ok(session, 'fetch_result', { query_id, order_by: 'range DESC', limit: 1 });
    expect(top.structured['kept']).toBe('only the first 100000 rows');
    const missing = await ok(session, 'fetch_result', { query_id, where: 'range >= 150000' });
    expect(missing.text).toContain('0 of 0 rows among the first 100000 rows are shown, and the query has more rows');
    const file = await ok(session, 'export_result', { query_id, format: 'jsonl' });
    expect(file.text).toContain('NOT the whole result');
    const whole = JSON.parse(await session.read(`colloquy://results/${query_id}`));
    expect(whole).toMatchObject({ kept: 'only the first 100000 rows', truncated: true });
  },
};

const exporting: Scenario = {
  name: 'exports a kept result, and gives it as a resource',
  ownSession: true,
  async run({ open }) {
    const session = await open();
    const { query_id } = (await ok(session, 'run_query', { query: SQL })).structured;
    const uri = `colloquy://results/${query_id}`;
    const csv = (await ok(session, 'export_result', { query_id, format: 'csv' })).structured;
    expect(csv).toMatchObject({ uri: `${uri}.csv`, rows: 2_500, format: 'csv' });
    const text = await session.read(`${uri}.csv`);
    expect(text).toBe(readFileSync(String(csv['path']), 'utf8'));
    expect(text.split('\n')[1]).toBe('0,1152921504606846976,g0,"{""at"":""2026-06-30T22:00:00.000000Z"",""l"":[0]}"');
    const lines = (await session.read(`${uri}.jsonl`)).trim().split('\n');
    expect([lines.length, lines[1]]).toEqual([2_500, expect.stringContaining('"big":1152921504606846977,')]);
    const whole = JSON.parse(await session.read(uri));
    expect(whole).toMatchObject({ returned: 2_500, total: 2_500, truncated: false, columns: ['n', 'big', 'grp', 's'] });
    expect(whole.rows[2_499][1]).toBe('1152921504606849475');
    expect(await session.resources()).toContain(uri);
    expect(await session.complete('colloquy://results/{query_id}', 'query_id', '')).toContain(query_id);
    expect(await session.complete('colloquy://results/{query_id}.{format}', 'format', 'p')).toEqual(['parquet']);
    const missing = 'colloquy://results/00000000-0000-4000-8000-000000000000';
    for (const wrong of [missing, `${missing}.csv`, `${uri}.xlsx`]) {
      // The protocols of 2025 have another code for this than later ones.
      await expect(session.read(wrong)).rejects.toMatchObject({ code: expect.toBeOneOf([-32002, -32602]) });
    }
  },
};

const mistakes: Scenario = {
  name: 'says what is wrong with a page of a result',
  async run({ open, workspace }) {
    const session = await open();
    await ok(session, 'create_workspace', { name: workspace });
    await ok(session, 'create_collection', { workspace, name: 'private' });
    const { query_id } = (await ok(session, 'run_query', { query: SQL })).structured;
    const other = await failed(session, 'fetch_result', { query_id, where: `EXISTS (FROM "${workspace}".private)` });
    expect(other.text).toContain('as "result"');
    const typo = await failed(session, 'fetch_result', { query_id, where: 'group = 1' });
    expect(typo.structured['error']).toMatchObject({ code: 'query_error' });
    const column = await failed(session, 'fetch_result', { query_id, columns: ['gpr'] });
    expect(column.text).toContain('Did you mean "grp"?');
    const gone = await failed(session, 'fetch_result', { query_id: '00000000-0000-4000-8000-000000000000' });
    expect(gone.text).toContain('is no longer kept: run the query again');
    expect(gone.text).toContain('Next: Run the query again with run_query.');
    const odd = await failed(session, 'export_result', { query_id: '../x', format: 'csv' });
    expect(odd.structured['error']).toMatchObject({ code: 'invalid_input' });
  },
};

/** What can be done with results that are larger than an answer. */
export const RESULTS: readonly Scenario[] = [paging, limits, exporting, mistakes];
