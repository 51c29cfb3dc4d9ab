import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CollectionRecord, ExternalSource } from '../../../src/service/catalog/records.ts';
import type { SourceBatch } from '../../../src/service/sources/source.ts';
import { refusedItemsOf, stateOf } from '../../../src/service/sources/states.ts';
import { storeChanges } from '../../../src/service/sources/store-changes.ts';
import { type Loads, openLoads } from '../loading/loads.ts';

let loads: Loads;
beforeAll(async () => {
  loads = await openLoads();
});
afterAll(() => loads.dispose());

const LINES = ['{"n":1,"s":"a"}', '{"n":2,"s":"b"}', '{"n":3,"s":"é"}'];
const TEXT = LINES.join('\n');

const placedIn = (collection: CollectionRecord) => ({
  collection,
  index: 0,
  source: { kind: 's3', onError: 'skip' } as unknown as ExternalSource,
});

const batchOf = (more: Partial<SourceBatch>): SourceBatch => ({
  changes: [],
  refused: [],
  checkpoint: { at: 1 },
  progress: { phase: 'changes' },
  ...more,
});

const rows = (text: string) => {
  const bytes = Buffer.from(text);
  const ends = [...text.matchAll(/(?=\n)|$/g)].map(({ index }) => Buffer.byteLength(text.slice(0, index)));
  return { bytes, ends, first: 0, prefix: 'p', object: 'o', line: 1, storedTo: -1 };
};
const changed = (text: string, n: number) => ({ id: `p/${n}`, item: `o/${n}`, text });
const parsed = (text: string, n: number) => ({ id: `p/${n}`, item: `o/${n}`, document: JSON.parse(text) });

test.each<[string, Partial<SourceBatch>, number]>([
  ['rows of text', { rows: [rows(TEXT)] }, Buffer.byteLength(LINES.join(''))],
  ['rows of text with returns', { rows: [rows(TEXT.replaceAll('\n', '\r\n'))] }, Buffer.byteLength(LINES.join(''))],
  ['documents as text', { changes: LINES.map(changed) }, Buffer.byteLength(LINES.join(''))],
  [
    'documents',
    { changes: LINES.map(parsed) },
    Buffer.byteLength(LINES.join('')) + LINES.length * '"_id":"p/0",'.length,
  ],
])('the bytes of %s are those of their text, when they are replaced too', async (name, batch, bytes) => {
  const { engine, catalog, usage } = loads;
  const collection = await loads.create(name.replaceAll(' ', '_'));
  const placed = placedIn(collection);
  const store = () => storeChanges({ engine, catalog, usage }, placed, batchOf(batch), new AbortController().signal);
  await store();
  expect(usage.of(collection)).toMatchObject({ bytesInserted: bytes, bytesOverwritten: 0 });
  await store();
  expect(usage.of(collection)).toMatchObject({ bytesInserted: 2 * bytes, bytesOverwritten: bytes });
  expect((await loads.seen(collection.name)).rows).toEqual([
    ['p/0', 1, 'a'],
    ['p/1', 2, 'b'],
    ['p/2', 3, 'é'],
  ]);
  expect(stateOf(catalog, placed)).toMatchObject({ processed: 6, checkpoint: { at: 1 }, lastItem: 'o/2' });
});

test('of a document that is refused the earlier version goes where its place has another one now, and its line is told', async () => {
  const { engine, catalog, usage } = loads;
  const store = async (collection: CollectionRecord, batch: Partial<SourceBatch>) =>
    await storeChanges({ engine, catalog, usage }, placedIn(collection), batchOf(batch), new AbortController().signal);
  const bad = '{"n":5,"_event_time":"never"}';
  const huge = '{"n":1e400}';
  const again = rows([LINES[0], bad, huge].join('\n'));
  const forms: [string, Partial<SourceBatch>, number[]][] = [
    ['gone_rows', { rows: [{ ...again, storedTo: 1 }] }, [1, 3]],
    ['gone_texts', { changes: [{ ...changed(bad, 1), isOrGone: true }, changed(huge, 2)] }, [1, 3]],
    [
      'gone_parsed',
      {
        changes: [
          { ...parsed(bad, 1), isOrGone: true },
          { ...parsed('{}', 2), document: { n: Infinity }, isOrGone: true },
        ],
      },
      [1],
    ],
  ];
  for (const [name, batch, left] of forms) {
    const collection = await loads.create(name);
    await store(collection, { rows: [rows(TEXT)] });
    await store(collection, batch);
    const { rows: seen } = await loads.seen(name);
    expect(
      seen.map((row) => (row as unknown[])[1]),
      name,
    ).toEqual(left);
    const { refused } = stateOf(catalog, placedIn(collection));
    expect(refused, name).toBe(2);
  }
  const [{ reason } = { reason: '' }] = refusedItemsOf(catalog, placedIn(await recordOf('gone_rows'))).slice(-1);
  expect(reason).toMatch(/\(line 2\)$/);
});

async function recordOf(name: string): Promise<CollectionRecord> {
  const record = loads.catalog.all('collection').get(`commons.${name}`);
  if (record === undefined) throw new Error(name);
  return record;
}

test('a source that stops at a row of a file says that rows that fit are stored', async () => {
  const { engine, catalog, usage } = loads;
  const collection = await loads.create('partly');
  const placed = { ...placedIn(collection), source: { kind: 's3', onError: 'stop' } as unknown as ExternalSource };
  const read = () => ({ why: 'has a number that is none' });
  const odd: typeof engine = {
    ...engine,
    async storeBatch(table, batch) {
      if (!('refused' in batch.documents)) return await engine.storeBatch(table, batch);
      const rows = { added: 2, replaced: 0, others: [{ at: 3, bytes: 1, read }] };
      return await engine
        .storeBatch(table, {
          ...batch,
          documents: [],
          records: (done) => batch.records({ ...done, rows }),
        })
        .then((done) => done && { ...done, rows });
    },
  };
  const part = { first: 1, last: 3, refused: [], ids: [] };
  const file = {
    ...{ part, prefix: 'p', object: 'o', storedTo: 0, bytes: 10, unfinished: { at: 0 } },
    release: async () => undefined,
  };
  const { signal } = new AbortController();
  const storing = storeChanges({ engine: odd, catalog, usage }, placed, batchOf({ file }), signal);
  await expect(storing).rejects.toThrow(
    'o/3 has a number that is none (row 3); other rows near it are stored already, and are replaced when they are read again',
  );
  expect(stateOf(catalog, placed)).toMatchObject({ checkpoint: { at: 0 }, processed: 0 });
});
