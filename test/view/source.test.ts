import { describe, expect, it } from 'vitest';
import type { QueryResponse } from '../../src/contract/queries.ts';
import { BUDGET, presentRows } from '../../src/mcp/results.ts';
import type { Condition } from '../../src/view/condition.ts';
import { partOf } from '../../src/view/result.ts';
import { createSource } from '../../src/view/source.ts';

const ROWS = Array.from({ length: 10 }, (_, n) => ({ n, t: 'a'.repeat(3_000) + (n === 7 ? ' NEEDLE' : '') }));
const NEEDLE: Condition = { column: 1, operator: 'contains', value: 'needle' };

/** What `run_query` answers for rows that each have one long text. */
function answerOf(rows: readonly { n: number; t: string }[], queryId: string | null) {
  const response = {
    column_fields: [
      { name: 'n', type: 'BIGINT' },
      { name: 't', type: 'VARCHAR' },
    ],
    results: rows,
  } as unknown as QueryResponse;
  const whole = { queryId, total: rows.length, isTotalExact: true, keptRows: rows.length, offset: 0 };
  return partOf({ structuredContent: presentRows(response, BUDGET, Infinity, whole).data });
}

const wanted = { condition: NEEDLE, sort: undefined };
const signal = new AbortController().signal;

describe('createSource()', () => {
  it('asks for what holds where the values that came are cut', async () => {
    const calls: unknown[] = [];
    const source = createSource(answerOf(ROWS, 'q1'), {}, async (name, args) => {
      calls.push([name, args]);
      return { structuredContent: { columns: ['n', 't'], types: ['BIGINT', 'VARCHAR'], rows: [[7, 'a…']], total: 1 } };
    });
    expect(source).toMatchObject({ isWhole: false, whyNoMore: undefined });
    expect(await source.page(wanted, 0, 50, signal)).toMatchObject({ rows: [[7, 'a…']], total: 1 });
    const where = `contains(lower(CAST("t" AS VARCHAR)), lower('needle'))`;
    expect(calls).toEqual([['fetch_result', { query_id: 'q1', where, offset: 0, limit: 50 }]]);
  });

  it('says that a filter sees cut values where there is nothing to ask', () => {
    const notKept = createSource(answerOf(ROWS, null), {}, async () => ({}));
    expect(notKept).toMatchObject({
      isWhole: false,
      whyNoMore: expect.stringMatching(/not kept, so filter and order/),
    });
    const mute = createSource(answerOf(ROWS, 'q1'), {}, undefined);
    expect(mute.whyNoMore).toMatch(/^This host lets a view ask for nothing, so filter and order/);
  });

  it('has all where nothing is cut', async () => {
    const source = createSource(answerOf([{ n: 1, t: 'a needle' }], 'q1'), {}, undefined);
    expect(source).toMatchObject({ isWhole: true, whyNoMore: undefined });
    expect((await source.page(wanted, 0, 50, signal)).total).toBe(1);
  });

  it('takes columns that are left out for a part of the result', () => {
    const structuredContent = { query_id: 'q1', columns: ['n'], types: [null], rows: [[1]], total: 1, columns_cut: 3 };
    expect(createSource(partOf({ structuredContent }), {}, async () => ({})).isWhole).toBe(false);
  });
});
