import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CollectionRecord, ExternalSource } from '../../../src/service/catalog/records.ts';
import type { SourceBatch } from '../../../src/service/sources/source.ts';
import { stateOf } from '../../../src/service/sources/states.ts';
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
  const ends = [...text.matchAll(/$/gm)].map(({ index }) => Buffer.byteLength(text.slice(0, index)));
  return { bytes, ends, first: 0, prefix: 'p', object: 'o', line: 1, storedTo: -1 };
};
const changed = (text: string, n: number) => ({ id: `p/${n}`, item: `o/${n}`, text });
const parsed = (text: string, n: number) => ({ id: `p/${n}`, item: `o/${n}`, document: JSON.parse(text) });

test.each<[string, Partial<SourceBatch>, number]>([
  ['rows of text', { rows: [rows(TEXT)] }, Buffer.byteLength(LINES.join(''))],
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
