import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CollectionRecord, ExternalSource } from '../../../src/service/catalog/records.ts';
import type { ObjectStore } from '../../../src/service/sources/object-store.ts';
import { openObjects } from '../../../src/service/sources/objects.ts';
import { refusedItemsOf, stateOf } from '../../../src/service/sources/states.ts';
import { type Place, storeChanges } from '../../../src/service/sources/store-changes.ts';
import { rowsOf } from '../../engine/harness.ts';
import { copied } from '../../sources/objects-data.ts';
import { type Loads, openLoads } from '../loading/loads.ts';

/*
 * Objects of CSV and Parquet with so many rows that the engine stores them itself, in a bucket that is in memory: what a
 * collection has of them is what it would have of loads.
 */

let loads: Loads;
beforeAll(async () => {
  loads = await openLoads();
});
afterAll(() => loads.dispose());

const { signal } = new AbortController();
class Killed extends Error {}

/** A bucket, and a collection that reads it. */
async function bucketFor(name: string, settings: Partial<CollectionRecord> = {}) {
  const { engine, catalog, usage } = loads;
  const collection = await loads.create(name, settings);
  const placed = { collection, index: 0, source: { kind: 's3', onError: 'skip' } as unknown as ExternalSource };
  const objects = new Map<string, { bytes: Buffer; version: string }>();
  let versions = 0;
  const store: ObjectStore = {
    bucket: 'bin',
    async list(prefix, after) {
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && (after === null || key > after));
      const listed = keys.sort().map((key) => {
        const { bytes = Buffer.alloc(0), version = '' } = objects.get(key) ?? {};
        return { key, version, size: bytes.length, changedMs: 0 };
      });
      return { objects: listed, isLast: true };
    },
    async open({ key }, from) {
      const { bytes = Buffer.alloc(0) } = objects.get(key) ?? {};
      return (async function* () {
        yield bytes.subarray(from);
      })();
    },
    close: () => undefined,
  };
  const files = (takesRows: boolean) => ({
    takesRows,
    spool: engine.spool,
    openRows: (...[rows, during]: [Parameters<typeof engine.openRows>[1], AbortSignal]) =>
      engine.openRows(collection.table, rows, during),
  });

  /** A pass over the bucket as a service makes it, one batch ahead; killed behind so many durable steps, it returns false. */
  async function pass(steps = Number.POSITIVE_INFINITY, takesRows = true): Promise<boolean> {
    let left = steps;
    const mortal: typeof engine = {
      ...engine,
      async storeBatch(...given) {
        if (left === 0) throw new Killed();
        left -= 1;
        return await engine.storeBatch(...given);
      },
    };
    const options = {
      ...{ connection: {}, settings: { bucket: 'bin' }, formatParams: null, createdMs: 0, files: files(takesRows) },
      memory: { after: (key: string | null, max: number) => engine.memoryOf(collection.table, 0, key, max) },
      log: pino({ level: 'silent' }),
    };
    const reader = openObjects(options, 's3://', () => store);
    const from: Place = { checkpoint: stateOf(catalog, placed).checkpoint };
    try {
      const batches = reader.read(from.checkpoint ?? undefined, signal)[Symbol.asyncIterator]();
      for (let next = batches.next(); ; ) {
        const { done, value } = await next;
        if (done === true) return true;
        next = batches.next();
        next.catch(() => undefined);
        await storeChanges({ engine: mortal, catalog, usage }, placed, value, signal, { from });
      }
    } catch (error) {
      if (error instanceof Killed) return false;
      throw error;
    } finally {
      await reader.close();
    }
  }
  return {
    collection,
    pass,
    put(key: string, bytes: Buffer | string) {
      versions += 1;
      objects.set(key, { bytes: Buffer.from(bytes), version: String(versions) });
    },
    remove: (key: string) => objects.delete(key),
    state: () => stateOf(catalog, placed),
    refused: () => refusedItemsOf(catalog, placed),
  };
}

const ROWS = 2_100;
const rowNumbers = Array.from({ length: ROWS }, (_, at) => at + 1);

/** CSV of which the cells are of all kinds; `isWord`: the rows in which `mixed` has a word. */
function csvOf(first: number, isWord: (n: number) => boolean): string {
  const rows = rowNumbers.map((row) => {
    const n = first + row;
    const note = n % 7 === 0 ? '"two\nlines, ""quoted"""' : n % 5 === 0 ? '' : `note ${n}`;
    const big = n % 1_000 === 0 ? '9007199254740993' : String(n);
    return `${n},${isWord(n) ? (n % 400 === 0 ? 'n/a' : `w${n}`) : n},${n / 4},${n % 2 === 0},${big},0${n},2026-01-02T03:04:${String(n % 60).padStart(2, '0')}Z,${note}`;
  });
  // One has a value too many, and the last few too few.
  rows[100] = `${rows[100]},`.replace(/,$/, ',more');
  return `n,mixed,part,flag,big,zip,when,note\n${rows.join('\n')}\n${first + ROWS + 1},1\n`;
}

const parquet = (from: number, more: string) =>
  copied(
    `SELECT ${from} + i AS n, (i % 50)::DOUBLE AS whole, i::DECIMAL(20,4) AS d, {'a': i, 'b': [i, NULL]} AS o,
       DATE '2026-01-01' + (i % 300)::INT AS day, MAP {'k' || (i % 9): i} AS m, ${more} FROM range(${ROWS}) r(i)`,
    'FORMAT parquet',
  );

/** What a collection has, but for its ids. */
async function contentOf({ name }: CollectionRecord) {
  const { columns } = await loads.seen(name);
  const rows = await rowsOf(loads.engine, `SELECT * EXCLUDE (_id, _event_time) FROM ${name} ORDER BY n`);
  const strays = await rowsOf(loads.engine, `SELECT n, _strays::VARCHAR FROM ${name} ORDER BY n`).catch(() => []);
  return { columns, rows, strays };
}

test.each<[string, boolean[], () => Promise<[key: string, bytes: Buffer][]>]>([
  [
    'CSV, some words among numbers and then many',
    [true, true],
    async () => [
      ['1.csv', Buffer.from(csvOf(0, (n) => n % 400 === 0))],
      ['2.csv', Buffer.from(csvOf(10_000, (n) => n % 5 < 2))],
    ],
  ],
  [
    'Parquet, of which a column has other types later',
    [false, true],
    async () => [
      ['1.parquet', await parquet(0, "'text ' || i AS t")],
      ['2.parquet', await parquet(10_000, "[i] AS t, i AS extra, '2026-01-02' AS at")],
    ],
  ],
])('objects of %s give documents, types and strays as loads do', async (name, hasStrays, filesOf) => {
  const short = name.startsWith('CSV') ? 'csv' : 'parquet';
  const bucket = await bucketFor(`${short}_source`);
  const loaded = await loads.create(`${short}_load`);
  const seen: Awaited<ReturnType<typeof contentOf>>[] = [];
  const files = await filesOf();
  for (const [key, bytes] of files) {
    await loads.load(loaded, bytes, { format: short });
    bucket.put(key, bytes);
    await bucket.pass();
    const [ours, theirs] = [await contentOf(bucket.collection), await contentOf(loaded)];
    expect(ours).toEqual(theirs);
    seen.push(ours);
  }
  expect(seen.at(-1)?.rows.length).toBeGreaterThanOrEqual(files.length * ROWS);
  expect(seen.map(({ strays }) => strays.length > 0)).toEqual(hasStrays);
  expect(loads.spooled()).toEqual([]);
});

test('killed behind each durable step it loses, doubles and counts nothing twice', async () => {
  const [bucket, whole] = [await bucketFor('killed'), await bucketFor('unkilled')];
  const own = await parquet(10_000, "'own ' || i AS _id");
  for (const { put } of [bucket, whole]) {
    put('0.csv', 'n,mixed\n-1,1\n-2,2\n');
    put(
      '1.csv',
      csvOf(0, (n) => n % 5 < 2),
    );
    put('2.parquet', own);
  }
  let kills = 0;
  // A part of which some rows become documents is two steps.
  while (!(await bucket.pass(1 + (kills % 2)))) kills += 1;
  expect(kills).toBeGreaterThanOrEqual(3);
  await whole.pass();
  expect((await loads.seen('killed')).rows).toEqual((await loads.seen('unkilled')).rows);
  const counts = { processed: 2 * ROWS + 2, refused: 1, lastItem: `bin/2.parquet/${ROWS}` };
  for (const one of [bucket, whole]) expect(one.state()).toMatchObject(counts);
  expect(bucket.refused()).toMatchObject([
    { item: 'bin/1.csv', reason: 'has line 116, which has 9 values for 8 columns' },
  ]);
});

test('nothing stays of an earlier version, wherever its reading was killed', async () => {
  const bucket = await bucketFor('versions');
  const ids = async () =>
    (await rowsOf(loads.engine, 'SELECT _id FROM versions ORDER BY length(_id), _id')).map(([id]) => id);
  const derived = (key: string, count: number) => Array.from({ length: count }, (_, at) => `bin/${key}/${at + 1}`);
  bucket.put('1.csv', `n,t\n${rowNumbers.map((n) => `${n},${n % 3 === 0 ? 'x' : n}`).join('\n')}`);
  // Killed where some rows are stored and others are not: then the object shrinks.
  bucket.put('0.csv', 'n,t\n1,1\n');
  expect(await bucket.pass(2)).toBe(false);
  expect((await ids()).length).toBeGreaterThan(1_000);
  bucket.put('1.csv', 'n,t\n1,2\n');
  await bucket.pass();
  expect(await ids()).toEqual(['bin/0.csv/1', 'bin/1.csv/1']);
  // Rows get ids of their own, some of them no id at all, and one is refused.
  bucket.put('2.csv', `n,t\n${rowNumbers.map((n) => `${n},${n}`).join('\n')}`);
  await bucket.pass();
  expect((await ids()).length).toBe(ROWS + 2);
  // Another version with as many rows replaces each of them.
  bucket.put('2.csv', `n,t\n${rowNumbers.map((n) => `${-n},${n}`).join('\n')}`);
  await bucket.pass();
  expect(await rowsOf(loads.engine, 'SELECT count(*), count(DISTINCT _id), min(n) FROM versions')).toEqual([
    [ROWS + 2, ROWS + 2, -ROWS],
  ]);
  const own = (n: number) => (n > 10 ? `own ${n}` : '');
  const time = (n: number) => (n === 3 ? 'never' : '2026-01-02T03:04:05Z');
  bucket.put('2.csv', `_id,_event_time,n\n${rowNumbers.map((n) => `${own(n)},${time(n)},${n}`).join('\n')}`);
  await bucket.pass();
  const kept = derived('2.csv', 10).filter((id) => id !== 'bin/2.csv/3');
  expect((await ids()).filter((id) => String(id).startsWith('bin/2'))).toEqual(kept);
  expect((await ids()).length).toBe(2 + ROWS - 1);
  expect(bucket.refused()).toMatchObject([{ item: 'bin/2.csv/3', reason: expect.stringContaining('(row 3)') }]);
  bucket.remove('2.csv');
  await bucket.pass();
  expect(await ids()).toEqual(['bin/0.csv/1', 'bin/1.csv/1']);
});

test('a Parquet file that is broken within is refused, and what follows is read', async () => {
  const bucket = await bucketFor('broken');
  const bytes = await copied(`SELECT i AS n, md5(i::VARCHAR) AS t FROM range(${ROWS}) r(i)`, 'FORMAT parquet');
  const half = Math.floor(bytes.length / 2);
  bytes.fill(0xff, half, half + 20_000);
  bucket.put('1.parquet', bytes);
  bucket.put('2.csv', 'n,t\n1,x\n');
  expect(await bucket.pass()).toBe(true);
  expect((await loads.seen('broken')).rows).toEqual([['bin/2.csv/1', 1, 'x']]);
  expect(bucket.refused()).toMatchObject([
    { item: 'bin/1.parquet', reason: expect.stringContaining('cannot be read') },
  ]);
});

test('where documents go through mappings, rows become documents first', async () => {
  const bucket = await bucketFor('mapped');
  bucket.put(
    '1.csv',
    csvOf(0, (n) => n % 400 === 0),
  );
  await bucket.pass(Number.POSITIVE_INFINITY, false);
  const direct = await bucketFor('direct');
  direct.put(
    '1.csv',
    csvOf(0, (n) => n % 400 === 0),
  );
  await direct.pass();
  expect((await contentOf(bucket.collection)).rows).toEqual((await contentOf(direct.collection)).rows);
  expect(await rowsOf(loads.engine, 'SELECT _id FROM mapped ORDER BY _id')).toEqual(
    await rowsOf(loads.engine, 'SELECT _id FROM direct ORDER BY _id'),
  );
});
