import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

const owners = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({ Account: `a${from + at}`, Owner: `o${at % 3}`, _id: `o${at % 3}` }));
const csv = (from: number, to: number) =>
  `Account,Owner\n${owners(from, to)
    .map(({ Account, Owner }) => `${Account},${Owner}\n`)
    .join('')}`;
const jsonl = (from: number, to: number) =>
  owners(from, to)
    .map((one) => JSON.stringify(one))
    .join('\n');

describe('an id that is not unique in its file', () => {
  test('is told, with how many rows replaced others of it', async () => {
    const name = await bench.create();
    const first = await bench.load(name, csv(0, 40), { format: 'csv', id_field: 'Owner' });
    expect(first).toMatchObject({ added: 3, replaced: 37 });
    expect(first.warnings).toEqual(['"Owner" is not unique: 37 of 40 rows replaced others of this file.']);
    const again = await bench.load(name, csv(0, 40), { format: 'csv', id_field: 'Owner' });
    expect(again.warnings).toEqual(['"Owner" is not unique: at least 37 of 40 rows replaced others of this file.']);
    const unique = await bench.load(name, csv(0, 40), { format: 'csv', id_field: 'Account' });
    expect(unique.warnings).toEqual([]);
    expect((await bench.load(name, csv(0, 40), { format: 'csv', id_field: 'Account' })).warnings).toEqual([]);
  });

  test('is told of a file of JSON by its own _id, as far as the parts tell among many others', async () => {
    const name = await bench.create();
    const others = Array.from({ length: 100 }, (_, n) => `{"_id":"x${n}"}`).join('\n');
    await bench.load(name, others, { format: 'jsonl' });
    const { warnings } = await bench.load(name, jsonl(0, 40), { format: 'jsonl' });
    expect(warnings).toEqual(['"_id" is not unique: 37 of 40 documents replaced others of this file.']);
  });
});
