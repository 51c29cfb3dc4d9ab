import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { figuresOf } from '../../src/service/sources/objects-status.ts';
import { COMPRESSIONS, copied, jsonLines } from './objects-data.ts';
import { closeRowsEngine, nothingStored, openRowsEngine, optionsFor, pass, type Stored } from './objects-reading.ts';
import type { TestBucket, TestStore } from './servers/buckets.ts';
import { startGcs } from './servers/gcs.ts';
import { startVersitygw } from './servers/s3.ts';

beforeAll(openRowsEngine);
afterAll(closeRowsEngine);

const KINDS = { s3: startVersitygw, gcs: startGcs } as const;

describe.each(['s3', 'gcs'] as const)('a bucket of %s', (kind) => {
  let store: TestStore;
  let bucket: TestBucket;
  let stored: Stored;
  let settings: JsonObject;

  beforeAll(async () => {
    store = await KINDS[kind]();
  });
  afterAll(() => store?.close());

  const begin = async (more: JsonObject = {}) => {
    bucket = await store.createBucket();
    stored = nothingStored();
    settings = { bucket: bucket.name, ...more };
  };
  const read = (params: JsonObject | null = null) =>
    pass(store.module, stored, optionsFor(stored, bucket.connection(), settings, params));
  const idOf = (key: string, row: number) => `${bucket.name}/${key}/${row}`;
  const ids = () => [...stored.documents.keys()].sort();
  const figures = () => figuresOf(stored.checkpoint ?? null);

  it('is read whole, then what is new, changed, shrunk and deleted', async () => {
    await begin();
    await bucket.put('a.json', '[{"n":1},{"n":2},{"n":3}]');
    await bucket.put('b/c.jsonl', jsonLines([{ n: 4 }, { n: 5 }]));
    await bucket.put('b/empty.json', '');
    expect(await read()).toBe(true);
    expect(stored.documents).toEqual(
      new Map([
        [idOf('a.json', 1), { n: 1 }],
        [idOf('a.json', 2), { n: 2 }],
        [idOf('a.json', 3), { n: 3 }],
        [idOf('b/c.jsonl', 1), { n: 4 }],
        [idOf('b/c.jsonl', 2), { n: 5 }],
      ]),
    );
    expect([...stored.phases].at(-1)).toBe('changes');
    expect(figures()).toEqual({
      object_count_total: 3,
      object_count_downloaded: 3,
      object_bytes_total: 41,
      object_bytes_downloaded: 41,
    });

    const { batches, changes } = stored;
    expect(await read()).toBe(true);
    expect([stored.batches, stored.changes]).toEqual([batches, changes]);

    await bucket.put('a.json', '[{"n":1}]');
    await bucket.put('a/new.json', '{"n":6}');
    await bucket.remove('b/c.jsonl');
    await read();
    expect(stored.documents).toEqual(
      new Map([
        [idOf('a.json', 1), { n: 1 }],
        [idOf('a/new.json', 1), { n: 6 }],
      ]),
    );
    expect(figures()).toMatchObject({ object_count_total: 3, object_count_downloaded: 3, object_bytes_total: 16 });
    await bucket.remove('a.json');
    await bucket.remove('a/new.json');
    await bucket.remove('b/empty.json');
    await read();
    expect([stored.documents.size, stored.memory.size, figures()['object_count_total']]).toEqual([0, 0, 0]);
  });

  it('has documents of ids that several objects have, until none has them', async () => {
    await begin();
    await bucket.put('1.json', '[{"_id":"x","from":1},{"_id":"y","from":1},{"from":1}]');
    await bucket.put('2.json', '[{"_id":"x","from":2}]');
    await read();
    expect(stored.documents).toEqual(
      new Map<string, JsonObject>([
        ['x', { from: 2 }],
        ['y', { from: 1 }],
        [idOf('1.json', 3), { from: 1 }],
      ]),
    );
    // The first loses what the second has written since, and one that nobody else has.
    await bucket.put('1.json', '[{"_id":"z","from":1}]');
    await read();
    expect(stored.documents).toEqual(
      new Map<string, JsonObject>([
        ['x', { from: 2 }],
        ['z', { from: 1 }],
      ]),
    );
    // What is stored of x came from the third, so with that gone the second is read again.
    await bucket.put('3.json', '[{"_id":"x","from":3}]');
    await read();
    expect(stored.documents.get('x')).toEqual({ from: 3 });
    await bucket.remove('3.json');
    await read();
    await read();
    expect(stored.documents.get('x')).toEqual({ from: 2 });
    await bucket.remove('2.json');
    await bucket.remove('1.json');
    await read();
    expect([stored.documents.size, [...stored.memory]]).toEqual([0, []]);
  });

  it('a row that gets an id of its own, or is no document any more, leaves nothing behind', async () => {
    await begin();
    await bucket.put('a.json', '[{"n":1},{"n":2},{"n":3}]');
    await read();
    await bucket.put('a.json', '[{"n":1},{"_id":"own","n":2},3,{"_id":7,"n":4}]');
    await read();
    expect(ids()).toEqual([idOf('a.json', 1), 'own'].sort());
    expect(stored.refused).toEqual([
      { item: idOf('a.json', 3), reason: 'is no JSON object (line 1)', text: '3' },
      { item: idOf('a.json', 4), reason: expect.stringContaining('"_id" must be a string'), text: '{"_id":7,"n":4}' },
    ]);
    await bucket.remove('a.json');
    await read();
    expect([ids(), stored.memory.size]).toEqual([[], 0]);
  });

  it('is read in all formats, compressed or not', async () => {
    await begin();
    const csv = Buffer.from(
      'id,when,price,zip,note\n1,2026-01-02T03:04:05Z,1.5,007,"a, b"\n2,2026-01-03T00:00:00Z,2,123,\n',
    );
    const parquet = await copied(
      "SELECT i AS id, 9007199254740993 + i AS big, i::DECIMAL(30,10) AS d, TIMESTAMPTZ '2026-01-02 03:04:05Z' AS t, {'a': [i]} AS o FROM range(3) r(i)",
      'FORMAT parquet',
    );
    const avro = readFileSync(join(import.meta.dirname, '../cli/files/fixtures/orders-snappy.avro'));
    for (const [ending, of] of COMPRESSIONS) {
      await bucket.put(`x.json${ending}`, of(Buffer.from('{"a":1}\n{\n "a": 12345678901234567890}')));
      await bucket.put(`x.csv${ending}`, of(csv));
      await bucket.put(`x.tsv${ending}`, of(Buffer.from('a,b\tc\n1\t2\n')));
      await bucket.put(`x.xml${ending}`, of(Buffer.from('<r><d a="1">t</d><d><b>2</b></d></r>')));
      await bucket.put(`x.parquet${ending}`, of(parquet));
      await bucket.put(`x.avro${ending}`, of(avro));
    }
    await read();
    expect(stored.refused).toEqual([]);
    for (const [ending] of COMPRESSIONS) {
      const documents = (name: string) => {
        const prefix = `${bucket.name}/x.${name}${ending}/`;
        return [...stored.documents].filter(([id]) => id.startsWith(prefix)).map(([, one]) => one);
      };
      expect(documents('json')).toEqual([{ a: 1 }, { a: 12345678901234567890n }]);
      expect(documents('csv')).toEqual([
        { id: 1, when: '2026-01-02T03:04:05Z', price: 1.5, zip: '007', note: 'a, b' },
        { id: 2, when: '2026-01-03T00:00:00Z', price: 2, zip: '123' },
      ]);
      expect(documents('tsv')).toEqual([{ 'a,b': 1, c: 2 }]);
      expect(documents('xml')).toEqual([{ '@a': '1', '#text': 't' }, { b: '2' }]);
      expect(documents('parquet')[1]).toEqual({
        ...{ id: 1, big: 9007199254740994n, d: 1, o: { a: [1] } },
        t: expect.stringContaining('2026-01-02T03:04:05'),
      });
      expect(documents('avro')).toHaveLength(29);
      expect(documents('avro')[0]).toMatchObject({ id: 1, exact: '12345678901234567890.1234', paid: false });
      expect([...(stored.declared.get(idOf(`x.parquet${ending}`, 1)) ?? [])]).toEqual(
        expect.arrayContaining([
          ['t', 'time'],
          ['d', 'decimal 30 10'],
        ]),
      );
    }
  });

  it('is read as the settings say, whatever its keys end with', async () => {
    await begin({ prefixes: ['in/', 'in/deep/', 'more/'], pattern: '*/**/*.dat' });
    for (const key of ['in/a.dat', 'in/deep/b.dat', 'in/deep/er/c.dat', 'more/d.dat', 'more/e.txt', 'out/f.dat'])
      await bucket.put(key, 'n;w\n1;x\n');
    await read({ csv: { columnNames: ['first', 'second'], firstLineAsColumnNames: true, columnTypes: ['STRING'] } });
    expect(ids()).toEqual(['in/a.dat', 'in/deep/b.dat', 'in/deep/er/c.dat', 'more/d.dat'].map((key) => idOf(key, 1)));
    expect(stored.documents.get(idOf('in/a.dat', 1))).toEqual({ first: '1', second: 'x' });
  });

  it('goes on behind what cannot be read, with its key', async () => {
    await begin();
    await bucket.put('1.json', '[{"n":1},{"n":2}]');
    await bucket.put('2.json', '[{"n":1},{"n":2}');
    await bucket.put('3.json.gz', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
    await bucket.put('4.parquet', 'PAR1 and nothing more');
    await bucket.put('5.csv', 'a,b\n1,2\n3,4,5\n6,7\n');
    await bucket.put('6.txt', 'some words');
    await bucket.put('7', '{"n":7}');
    await read();
    expect(ids()).toEqual(
      [
        ['1.json', 1],
        ['1.json', 2],
        ['2.json', 1],
        ['2.json', 2],
        ['5.csv', 1],
        ['5.csv', 2],
        ['7', 1],
      ].map(([key, row]) => idOf(String(key), Number(row))),
    );
    const why = new Map(stored.refused.map(({ item, reason }) => [item.slice(bucket.name.length + 1), reason]));
    expect(why.get('2.json')).toBe(
      'cannot be read behind its first 2 documents: The file is not JSON, at line 1: the file ends before its list does.',
    );
    expect(why.get('3.json.gz')).toContain('cannot be decompressed (gzip)');
    expect(why.get('4.parquet')).toContain('The file cannot be read as Parquet');
    expect(why.get('5.csv')).toBe('has line 3, which has 3 values for 2 columns');
    expect(why.get('6.txt')).toContain('does not tell its format');
    expect(why.size).toBe(5);
    // Not again, until they change; what they had stays until they can be read.
    await read();
    expect(stored.refused).toHaveLength(5);
    await bucket.put('1.json', '[{"n":');
    await read();
    expect(ids()).toContain(idOf('1.json', 2));
    await bucket.put('1.json', '[{"n":9}]');
    await read();
    expect(ids()).not.toContain(idOf('1.json', 2));
    expect(stored.documents.get(idOf('1.json', 1))).toEqual({ n: 9 });
  });
});
