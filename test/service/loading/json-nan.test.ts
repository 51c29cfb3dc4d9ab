import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutNotNumbers } from '../../../src/service/loading/json-nan.ts';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

async function readAs(text: string) {
  const read = await withoutNotNumbers({ bytes: Buffer.from(text), line: 1, isLines: true });
  return read && { text: read.part.bytes.toString(), count: read.count, line: read.line };
}

describe('NaN and infinities of JSON', () => {
  test('are null where they are values, and stay in texts and words', async () => {
    expect(await readAs('{"a":NaN,"b":[NaN,-Infinity, Infinity\n]}')).toEqual({
      text: '{"a":null,"b":[null,null, null\n]}',
      count: 4,
      line: 1,
    });
    const others = '{"NaN":"NaN","b":"\\" :NaN,","c":NaNs,"d":xNaN,"e":--Infinity,"f":-NaN}';
    expect(await readAs(others)).toBeUndefined();
    expect(await readAs(`${'x\n'.repeat(2)}{"a":"open\n{"a":NaN}`)).toMatchObject({ count: 1, line: 4 });
    expect(await readAs(`[${'NaN,'.repeat(100_000)}NaN]`)).toMatchObject({ count: 100_001 });
  });

  test.each([
    ['json', '[{"_id":"a","n":1.5},\n {"_id":"b","n":NaN},\n {"_id":"c","n":-Infinity}]', 2],
    ['jsonl', '{"_id":"a","n":1.5}\n\n{"_id":"b","n":NaN}\n{"_id":"c","n":Infinity}\n', 3],
  ] as const)('are missing values of a file of %s, which is told with the first line', async (format, text, line) => {
    const name = await bench.create();
    const sampled = await bench.load(name, text, { format, sample: 10 });
    const done = await bench.load(name, text, { format });
    expect(done).toMatchObject({ added: 3, refused_count: 0, stopped: null });
    const told = `2 values are NaN or infinite, which JSON has not: they are null (first in line ${line}).`;
    expect([sampled.warnings, done.warnings]).toEqual([[told], [told]]);
    const rows = await bench.rows(`SELECT _id, n FROM ${name} ORDER BY _id`);
    expect(rows.map(({ n }) => n ?? null)).toEqual([1.5, null, null]);
  });

  test('of a large file cost little: all but them goes to the engine as it is', async () => {
    const name = await bench.create();
    const lines = Array.from({ length: 60_000 }, (_, n) => `{"_id":"${n}","n":${n % 3 === 0 ? 'NaN' : n},"t":"NaN"}\n`);
    const done = await bench.load(name, lines.join(''), { format: 'jsonl' });
    expect(done).toMatchObject({ added: 60_000, warnings: [expect.stringMatching(/^20,000 values/)] });
    const [row] = await bench.rows(`SELECT count(n) AS n, sum(n) AS s, count(*) FILTER (t = 'NaN') AS t FROM ${name}`);
    expect(row).toEqual({ n: 40_000, s: 1_200_000_000, t: 60_000 });
  });
});
