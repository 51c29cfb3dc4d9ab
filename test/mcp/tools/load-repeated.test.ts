import { describe, expect, it } from 'vitest';
import { loadingHere } from './load-here.ts';

const { call, rowsOf, write } = loadingHere();

const jsonl = (all: readonly object[]) => `${all.map((one) => JSON.stringify(one)).join('\n')}\n`;
const range = (count: number) => Array.from({ length: count }, (_, at) => at);
const told = async (path: string, more: object = {}) =>
  String((await call('load_file', { path, ...more })).data['warnings'] ?? '');

describe('rows that a file has several times', () => {
  const payments = [...range(50), ...range(20)].map((at) => ({
    txn: `T${at}`,
    day: `2024-01-${10 + (at % 18)}`,
    n: 10,
  }));

  it('are told with what leaves them out, of any format, and kept', async () => {
    write('pay.jsonl', jsonl(payments));
    write('paid.csv', ['txn,day,n', ...payments.map(({ txn, day, n }) => `${txn},${day},${n}`), ''].join('\n'));
    for (const file of ['pay.jsonl', 'paid.csv']) {
      const note = await told(file);
      expect(note).toContain('20 of 70 rows repeat another, every cell alike');
      const from = /FROM \(SELECT DISTINCT .*?\)(?= leaves)/.exec(note)?.[0];
      expect(await rowsOf(`SELECT sum(n) ${from}`)).toEqual([[500]]);
      expect(note).not.toContain('id_field');
    }
    const { data } = await call('describe_collection', { collection: 'pay' });
    expect(data['load_notes']).toEqual([expect.stringContaining('20 of 70 rows repeat another')]);
  });

  it.each([
    ['are none', range(60).map((at) => ({ at, n: 1 }))],
    ['have few values in each column', range(60).map((at) => ({ status: at % 3, level: at % 2 }))],
    [
      'differ in values that do not fit',
      [...range(60).map((k) => ({ k, m: 1 })), { k: 70, m: 'a' }, { k: 70, m: 'b' }],
    ],
    ['have ids', range(60).map((at) => ({ _id: `${at}`, n: at % 40 }))],
  ])('are not told where they %s', async (_, documents) => {
    write('none.jsonl', jsonl(documents));
    expect(await told('none.jsonl')).not.toContain('repeat another');
  });
});
