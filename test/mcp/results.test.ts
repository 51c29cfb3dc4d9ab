/** @module-tag more */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueryResponse } from '../../src/contract/queries.ts';
import { fence } from '../../src/mcp/fence.ts';
import { BUDGET, presentList, presentObject, presentRows, presentWrites } from '../../src/mcp/results.ts';
import { estimateTokens } from '../../src/mcp/room.ts';
import { propertyRuns } from '../property.ts';

function response(rows: Record<string, unknown>[], names = Object.keys(rows[0] ?? {})): QueryResponse {
  return { column_fields: names.map((name) => ({ name, type: 'VARCHAR' })), results: rows } as QueryResponse;
}

const numbered = (count: number, text = 'x') => Array.from({ length: count }, (_, id) => ({ id, text }));

describe('presentRows()', () => {
  it('gives names once and one array per row, with null for a missing value', () => {
    const { data, next } = presentRows(response([{ a: 1, b: 'x' }, { a: 2 }], ['a', 'b']));
    expect(data).toEqual({
      columns: ['a', 'b'],
      types: ['VARCHAR', 'VARCHAR'],
      rows: [
        [1, 'x'],
        [2, null],
      ],
      returned: 2,
      total: 2,
      truncated: false,
    });
    expect(next).toBeUndefined();
  });

  it('takes a column for what it is, whatever every object inherits under its name', () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const rows = [JSON.parse('{"__proto__":"p","constructor":"c"}'), {}];
    expect(presentRows(response(rows, names)).data['rows']).toEqual([
      ['p', 'c', null],
      [null, null, null],
    ]);
  });

  it('shows no more than 50 rows, and says how many there are', () => {
    const { data, next } = presentRows(response(numbered(51)));
    expect(data).toMatchObject({ returned: 50, total: 51, truncated: true });
    expect(next).toMatch(/^50 of 51 rows are shown: .*OFFSET 50/);
    expect(presentRows(response(numbered(50))).data).toMatchObject({ returned: 50, truncated: false });
  });

  it('does not claim a total where a limit was reached', () => {
    const cut = {
      ...response(numbered(20)),
      query_errors: [{ type: 'ResourceExceeded', message: 'm', status_code: 429 }],
    };
    expect(presentRows(cut).data).toMatchObject({ returned: 20, at_least: 20, truncated: true });
    expect(presentRows(cut).data).not.toHaveProperty('total');
    expect(presentRows(response(numbered(20)), BUDGET, 20).data).toMatchObject({ at_least: 20, truncated: true });
    expect(presentRows(response(numbered(19)), BUDGET, 20).data).toMatchObject({ total: 19, truncated: false });
  });

  it('passes on other errors met while rows were flowing', () => {
    const failed = { ...response(numbered(1)), query_errors: [{ type: 'X', message: 'went wrong', status_code: 500 }] };
    expect(presentRows(failed).data).toMatchObject({ problems: ['went wrong'] });
  });

  it('cuts huge cells visibly rather than dropping rows', () => {
    const { data, next } = presentRows(response(numbered(30, 'y'.repeat(5_000))));
    const rows = data['rows'] as [number, string][];
    expect(rows.length).toBeGreaterThanOrEqual(10);
    expect(rows[0]?.[1]).toMatch(/^y+…\[\+\d+ characters\]$/);
    expect(data).toMatchObject({ truncated: true, cells_cut: rows.length });
    expect(next).toContain('substr(');
  });

  it('shows one long document as far as the budget allows', () => {
    const { data } = presentRows(response([{ body: 'word '.repeat(3_000) }]));
    expect(data).toMatchObject({ truncated: false });
    const large = presentRows(response([{ body: 'word '.repeat(300_000) }])).data;
    expect((large['rows'] as string[][])[0]?.[0]?.length).toBeGreaterThan(10_000);
    expect(large).toMatchObject({ truncated: true, cells_cut: 1 });
  });

  it('cuts nested values as JSON text', () => {
    const nested = { list: Array.from({ length: 50_000 }, (_, index) => index) };
    const cell = (presentRows(response([{ nested }])).data['rows'] as string[][])[0]?.[0];
    expect(cell).toMatch(/^\{"list":\[0,1,2.*…\[\+\d+ characters of JSON\]$/);
  });

  it('shows one row of very many columns, and says how many are left out', () => {
    const wide = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`c${index}`, 'z'.repeat(1_000)]));
    const { data, next } = presentRows(response([wide]));
    expect(data).toMatchObject({ returned: 1, columns_cut: 2_800, truncated: true });
    expect(JSON.stringify(data).length).toBeLessThan(40_000);
    expect(next).toContain('2800 columns are left out');
  });

  it('keeps to the budget whatever the names and types of the columns are', () => {
    const field = (index: number) => ({
      name: `${'é'.repeat(3_000)}${index}`,
      type: `STRUCT(${'"k" BIGINT, '.repeat(5_000)})`,
    });
    const column_fields = Array.from({ length: 150 }, (_, index) => field(index));
    const results = [Object.fromEntries(column_fields.map(({ name }) => [name, 1]))];
    const { data, next } = presentRows({ column_fields, results, warnings: ['w'.repeat(50_000)] } as QueryResponse);
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(BUDGET.bytesMax * 1.1);
    expect(data).toMatchObject({ truncated: true, columns_cut: expect.any(Number), returned: 1 });
    expect(next).toContain('columns are left out');
  });

  it('keeps big integers exact', () => {
    const { data } = presentRows(response([{ big: 2n ** 63n - 1n }]));
    expect(data['rows']).toEqual([['9223372036854775807']]);
  });

  it('never exceeds the budget by more than its own words, whatever the rows are', () => {
    const cell = fc.oneof(
      fc.string({ maxLength: 20_000, unit: 'binary' }),
      fc.integer(),
      fc.constant(null),
      fc.array(fc.string()),
    );
    const table = fc.array(fc.record({ a: cell, b: cell, c: cell }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(table, (rows) => {
        const { data, next } = presentRows(response(rows));
        const text = fence({ data, next }).content[0]?.text ?? '';
        expect(Buffer.byteLength(text)).toBeLessThan(BUDGET.bytesMax + 1_500);
        expect(data['returned']).toBe((data['rows'] as unknown[]).length);
        if (data['truncated'] === false) expect(data['returned']).toBe(rows.length);
        else expect(next).toBeDefined();
      }),
      propertyRuns(60),
    );
  });
});

describe('estimateTokens()', () => {
  it('counts digits and foreign letters as more than words', () => {
    expect(estimateTokens('hello world')).toBeLessThan(5);
    expect(estimateTokens('12345678')).toBeGreaterThanOrEqual(3);
    expect(estimateTokens('日本語')).toBe(3);
  });
});

describe('presentList()', () => {
  it('leaves out what is empty', () => {
    const { data } = presentList([{ name: 'a', description: null, sources: [], stats: { doc_count: 0, x: null } }]);
    expect(data).toEqual({
      items: [{ name: 'a', stats: { doc_count: 0 } }],
      returned: 1,
      total: 1,
      truncated: false,
    });
  });

  it('names those it leaves out', () => {
    const items = Array.from({ length: 60 }, (_, index) => ({ name: `n${index}`, text: 'word '.repeat(300) }));
    const { data, next } = presentList(items);
    expect(data).toMatchObject({ total: 60, truncated: true });
    expect(data['returned']).toBeLessThan(60);
    expect(data['more_names']).toContain('n59');
    expect(next).toContain('are left out');
  });
});

describe('presentObject()', () => {
  it('keeps a small one whole', () => {
    expect(presentObject({ name: 'a', list: [1], none: null })).toEqual({ data: { name: 'a', list: [1] } });
  });

  it('cuts the longest parts of a large one, visibly', () => {
    const { data, next } = presentObject({ name: 'a', list: Array.from({ length: 9_000 }, () => 'item of text') });
    expect(data['name']).toBe('a');
    expect(JSON.stringify(data)).toMatch(/…\[\+\d+ items\]/);
    expect(next).toContain('parts are cut');
    expect(JSON.stringify(data).length).toBeLessThan(BUDGET.bytesMax);
  });
});

describe('presentWrites()', () => {
  const written = (statuses: string[]) => ({
    data: statuses.map((status, index) => ({ _id: `d${index}`, status, error: status === 'ERROR' ? 'bad' : null })),
    last_offset: '7',
  });

  it('counts by status and shows the ids', () => {
    expect(presentWrites(written(['ADDED', 'ADDED', 'REPLACED']))).toMatchObject({
      data: { counts: { ADDED: 2, REPLACED: 1 }, ids: ['d0', 'd1', 'd2'], last_offset: '7' },
      isError: false,
    });
  });

  it('shows the first failures, by position', () => {
    const { data, next, isError } = presentWrites(written(['ADDED', ...Array.from({ length: 8 }, () => 'ERROR')]));
    expect(data).toMatchObject({ counts: { ADDED: 1, ERROR: 8 }, ids: ['d0'] });
    expect(data['failed']).toHaveLength(5);
    expect((data['failed'] as unknown[])[0]).toEqual({ index: 1, _id: 'd1', error: 'bad' });
    expect(next).toContain('8 of 9 documents failed');
    expect(isError).toBe(false);
  });

  it('is an error where every document failed', () => {
    expect(presentWrites(written(['ERROR', 'ERROR'])).isError).toBe(true);
    expect(presentWrites(written([])).isError).toBe(false);
  });
});
