import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

const EXTENDED = /^The file is MongoDB extended JSON/;

describe('MongoDB extended JSON in a file', () => {
  const documents = [
    {
      _id: { $oid: '65a000000000000000000001' },
      day: { $date: '2024-01-01T00:00:00Z' },
      n: { $numberInt: '5' },
      long: { $numberLong: '9007199254740993' },
      d: { $numberDecimal: '1.10' },
      f: { $numberDouble: '2.0' },
      u: { $binary: { base64: 'AAECAwQFBgcICQoLDA0ODw==', subType: '04' } },
      own: { $ref: 'c', $id: { $oid: 'ab' }, text: 'a {"$oid":"x"}', t: { $timestamp: { t: 1, i: 2 } } },
    },
    { _id: { $numberInt: '7' }, day: { $date: { $numberLong: '1704153600000' } }, n: 6, f: { $numberDouble: 'NaN' } },
    {
      _id: 'x',
      day: { $date: 1704240000000 },
      u: { $uuid: '00010203-0405-0607-0809-0a0b0c0d0e0f' },
      l: [{ $oid: 'cd' }],
    },
  ];
  const meant = [
    {
      _id: '65a000000000000000000001',
      day: '2024-01-01T00:00:00.000Z',
      n: 5,
      long: 9007199254740993n,
      d: 1.1,
      f: 2,
      u: '00010203-0405-0607-0809-0a0b0c0d0e0f',
      own: { $ref: 'c', $id: 'ab', text: 'a {"$oid":"x"}', t: { $timestamp: { t: 1, i: 2 } } },
    },
    { _id: '7', day: '2024-01-02T00:00:00.000Z', n: 6, f: 'NaN' },
    { _id: 'x', day: '2024-01-03T00:00:00.000Z', u: '00010203-0405-0607-0809-0a0b0c0d0e0f', l: ['cd'] },
  ];

  test.each([
    ['jsonl', documents.map((one) => JSON.stringify(one)).join('\n')],
    ['json', JSON.stringify(documents, null, 2)],
  ] as const)('is read as the values that it stands for, of %s', async (format, text) => {
    const name = await bench.create();
    const sampled = await bench.load(name, text, { format, sample: 10 });
    expect(sampled.sample).toEqual(meant);
    const done = await bench.load(name, text, { format });
    expect(done).toMatchObject({ added: 3, refused_count: 0 });
    const told = [expect.stringMatching(EXTENDED)];
    expect([sampled.warnings, done.warnings[0]]).toEqual([told, told[0]]);
    const rows = await bench.rows(`SELECT _id, n, u FROM ${name} ORDER BY day`);
    expect(rows).toEqual([
      { _id: '65a000000000000000000001', n: 5, u: meant[0]?.u },
      { _id: '7', n: 6, u: null },
      { _id: 'x', n: null, u: meant[0]?.u },
    ]);
  });

  test('has times of UTC where no zone is said, wherever this runs; what is no time stays', async () => {
    const name = await bench.create();
    const texts = ['2024-07-01T08:00:00', '2024-07-01T10:00:00.5+0200', '2024-07-01', '2024-07-01 (noon)'];
    const lines = texts.map((text, n) =>
      JSON.stringify({ _id: `${n}`, ...(n < 3 ? { t: { $date: text } } : { u: { $date: text } }) }),
    );
    const { TZ } = process.env;
    process.env['TZ'] = 'America/New_York';
    try {
      const { sample } = await bench.load(name, lines.join('\n'), { format: 'jsonl', sample: 10 });
      expect(sample?.map(({ t, u }) => t ?? u)).toEqual([
        '2024-07-01T08:00:00.000Z',
        '2024-07-01T08:00:00.500Z',
        '2024-07-01T00:00:00.000Z',
        { $date: '2024-07-01 (noon)' },
      ]);
    } finally {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    }
  });

  test('is that of the whole file: an object in a field with other values, or of a form that is none, stays', async () => {
    const name = await bench.create();
    const lines = [
      '{"_id":"1","q":{"$date":"2024-01-01"},"p":{"$oid":5}}',
      '{"_id":"2","q":"x","p":{"$numberInt":"a"}}',
    ];
    const done = await bench.load(name, lines.join('\n'), { format: 'jsonl', sample: 10 });
    expect(done).toMatchObject({ sample: lines.map((line) => JSON.parse(line)), warnings: [] });
  });

  test('an object as _id is called one, and is taken as its JSON text where id_field says so', async () => {
    const name = await bench.create();
    const text = '{"_id":{"a":1,"b":"x"},"n":1}';
    const refused = await bench.load(name, text, { format: 'jsonl' });
    expect(refused.refused[0]?.error).toMatch(/^"_id" must be a string, and is an object;/);
    expect(await bench.load(name, text, { format: 'jsonl', id_field: '_id' })).toMatchObject({ added: 1 });
    expect(await bench.rows(`SELECT _id, n FROM ${name}`)).toEqual([{ _id: '{"a":1,"b":"x"}', n: 1 }]);
  });
});
