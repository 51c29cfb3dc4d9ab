import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import type {
  BatchOutcome,
  DeclaredType,
  DocumentsText,
  Engine,
  NewDocument,
  RecordChange,
} from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, statusesOf, temporaryFolder } from '../harness.ts';

let engine: Engine;
let folder: ReturnType<typeof temporaryFolder>;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});
beforeEach(() =>
  engine.commit([
    { do: 'dropCollection', table: 't' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]),
);
afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const record = (n: number): RecordChange => ({ do: 'putRecord', kind: 'at', key: 't', value: { n } });
const none = () => [];
const allRows = () => rowsOf(engine, 'SELECT * EXCLUDE _event_time FROM docs ORDER BY _id');

/** Closes and opens the engine, so that only what is durable is there. */
async function reopened(): Promise<Engine> {
  await engine.close();
  engine = await openSmall(folder.file);
  return engine;
}

test('documents, deletes, memory and records of a batch are stored together, and survive', async () => {
  await engine.addDocuments('t', [doc('a', { n: 1 }), doc('b', { n: 2 })]);
  const seen: BatchOutcome[] = [];
  const outcome = await engine.storeBatch('t', {
    documents: [doc('b', { n: 3 }), doc('c', { n: 4 }), doc('x', { n: Infinity })],
    deletes: ['a', 'missing', 'a'],
    memory: { source: 0, put: new Map([['k', 'v1']]), forget: [] },
    records(one) {
      seen.push(structuredClone(one));
      return [record(7)];
    },
  });
  expect(statusesOf(outcome?.documents ?? [])).toEqual(['replaced', 'added', 'error']);
  expect(outcome?.deleted).toBe(1);
  expect(seen).toEqual([outcome]);
  await reopened();
  expect(await allRows()).toEqual([
    ['b', 3],
    ['c', 4],
  ]);
  expect(engine.records).toContainEqual({ kind: 'at', key: 't', value: { n: 7 } });
  expect(await engine.memoryOf('t', 0, null, 10)).toEqual([['k', 'v1']]);
});

test('of its records the engine tells before the next batch of the collection begins', async () => {
  const told: RecordChange[] = [];
  engine.onRecords((changes) => void told.push(...changes));
  const known: number[] = [];
  const store = (n: number) =>
    engine.storeBatch('t', {
      documents: [doc(`${n}`, { n })],
      deletes: [],
      records() {
        known.push(told.length);
        return [record(n)];
      },
    });
  await Promise.all([store(1), store(2), store(3)]);
  expect(known).toEqual([0, 1, 2]);
  expect(told).toEqual([record(1), record(2), record(3)]);
});

test('a batch whose record cannot be made stores nothing', async () => {
  const failing = engine.storeBatch('t', {
    documents: [doc('a', { n: 1 })],
    deletes: [],
    memory: { source: 0, put: new Map([['k', 'v']]), forget: [] },
    records() {
      throw new Error('no record');
    },
  });
  await expect(failing).rejects.toThrow();
  expect(await allRows()).toEqual([]);
  expect(await engine.memoryOf('t', 0, null, 10)).toEqual([]);
});

test('a batch that only deletes, or only has a record, is one as well', async () => {
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  expect(await engine.storeBatch('t', { documents: [], deletes: ['a'], records: none })).toEqual({
    documents: [],
    deleted: 1,
  });
  await engine.storeBatch('t', { documents: [], deletes: [], records: () => [record(8)] });
  await reopened();
  expect(engine.records).toContainEqual({ kind: 'at', key: 't', value: { n: 8 } });
});

test('memory is read in the order of its bytes, page by page, by source, and replaced or forgotten by key', async () => {
  const put = new Map(['é', 'a/2', 'B', 'a', '😀', '￿', 'a/10'].map((key) => [key, `of ${key}`]));
  const store = (memory: { source: number; put: Map<string, string>; forget: string[] }) =>
    engine.storeBatch('t', { documents: [], deletes: [], memory, records: none });
  await store({ source: 0, put, forget: [] });
  await store({ source: 1, put: new Map([['other', '1']]), forget: [] });
  await store({ source: 0, put: new Map([['a', 'new']]), forget: ['B', 'never there'] });
  const first = await engine.memoryOf('t', 0, null, 3);
  const rest = await engine.memoryOf('t', 0, first.at(-1)?.[0] ?? null, 10);
  const sorted = [...put.keys()]
    .filter((key) => key !== 'B')
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect([...first, ...rest].map(([key]) => key)).toEqual(sorted);
  expect(first[0]).toEqual(['a', 'new']);
  await engine.commit([{ do: 'forgetMemory', table: 't', source: 0 }]);
  expect(await engine.memoryOf('t', 0, null, 10)).toEqual([]);
  expect(await engine.memoryOf('t', 1, null, 10)).toEqual([['other', '1']]);
});

test('memory stays with a collection in the trash, and goes with it for good', async () => {
  const memory = { source: 0, put: new Map([['k', 'v']]), forget: [] };
  await engine.storeBatch('t', { documents: [], deletes: [], memory, records: none });
  await engine.commit([{ do: 'trashCollection', table: 't' }]);
  expect(await engine.memoryOf('t', 0, null, 10)).toEqual([['k', 'v']]);
  await engine.commit([{ do: 'restoreCollection', table: 't' }]);
  await engine.commit([
    { do: 'dropCollection', table: 't' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]);
  expect(await engine.memoryOf('t', 0, null, 10)).toEqual([]);
});

test('documents widen the table within the batch', async () => {
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  await engine.storeBatch('t', {
    documents: [doc('b', { n: 2.5, s: { t: 'x' } })],
    deletes: ['a'],
    records: () => [record(9)],
  });
  expect(await rowsOf(engine, 'SELECT _id, n, s.t FROM docs')).toEqual([['b', 2.5, 'x']]);
});

test('a field that has the name of what the engine numbers rows by keeps no document from being deleted', async () => {
  await engine.addDocuments('t', [doc('a', { n: 1 }), doc('b', { n: 2 })]);
  const outcome = await engine.storeBatch('t', {
    documents: [doc('c', { rowid: 7 })],
    deletes: ['a', 'b'],
    records: none,
  });
  expect(outcome?.deleted).toBe(2);
  expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([['c']]);
});

const DECLARED = new Map<string, DeclaredType>([
  ['price', 'decimal 12 2'],
  ['wide', 'decimal 38 18'],
  ['raw', 'binary'],
  ['key', 'uuid'],
  ['clock', 'clock'],
  ['at', 'time'],
]);

/** A document of many, some of which lack a field, have a stray, or a time of their own. */
function documentOf(n: number): JsonObject {
  return {
    n,
    price: n / 4,
    wide: n % 3 === 0 ? `${n}.123456789012345678` : n / 8,
    raw: Buffer.from(`raw ${n}`).toString('base64'),
    key: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    clock: '03:04:05',
    at: `2026-01-02T03:04:${String(n % 60).padStart(2, '0')}Z`,
    ...(n % 7 === 0 ? { list: [{ a: n }, { a: null, b: 'x\ny' }] } : {}),
    ...(n === 777 ? { n: 'stray' } : {}),
  };
}

/** As a source gives it: the text of each document, with what is known beside it. */
function textOf(documents: readonly NewDocument[], separator: string): DocumentsText {
  const texts = documents.map(({ fields }) => Buffer.from(`${JSON.stringify(fields)}${separator}`));
  let end = 0;
  const known = documents.map((one, at) => {
    end += texts[at]?.length ?? 0;
    return { ...one, end };
  });
  const read = (json: JsonValue, at: number) => {
    const one = documents[at];
    return one && { ...one, fields: json as JsonObject };
  };
  const bytes = Buffer.concat(texts);
  const more = { isList: false, max: documents.length, known, makeId: () => '', readTime: () => undefined, read };
  return { bytes, start: 0, end: bytes.length, ...more };
}

test.each([
  ['on lines', '\n'],
  ['without anything between them', ''],
])('documents as text are stored as documents are, %s', async (_, separator) => {
  const of = (from: number, to: number): NewDocument[] =>
    Array.from({ length: to - from }, (__, at) => ({
      id: at === 5 ? `odd\u001e${at}` : `id ${from + at}`,
      eventTimeMicros: (from + at) % 2 === 0 ? 1_700_000_000_000_000n + BigInt(at) : 1_600_000_000_000_000n,
      fields: documentOf(from + at),
      declared: DECLARED,
    }));
  const sql = 'SELECT * FROM docs ORDER BY _id';
  const batches = [of(1, 3), of(3, 600), of(500, 1_200), of(2_000, 2_400)];
  for (const documents of batches) await engine.storeBatch('t', { documents, deletes: [], records: none });
  const [parsed, shape] = [await rowsOf(engine, sql), await rowsOf(engine, 'DESCRIBE docs')];
  await engine.commit([
    { do: 'dropCollection', table: 't' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]);
  let left = 0;
  for (const documents of batches) {
    const batch = { documents: textOf(documents, separator), deletes: [], records: none };
    const outcome = await engine.storeBatch('t', batch);
    if (outcome === undefined) left += 1;
    const stored = outcome ?? (await engine.storeBatch('t', { ...batch, documents }));
    expect(stored?.documents).toHaveLength(documents.length);
  }
  expect(await rowsOf(engine, 'DESCRIBE docs')).toEqual(shape);
  expect(await rowsOf(engine, sql)).toEqual(parsed);
  expect(left).toBe(process.env['SHORTCUTS'] === 'off' ? batches.length : 0);
});

test('a text that is not one document where one is known to be is left to be parsed', async () => {
  const documents = [doc('a', { n: 1 }), doc('b', { n: 2 })];
  const text = textOf(documents, ' ');
  const bytes = Buffer.from('{"n":1} {"n":2} ');
  const [first, second] = text.known ?? [];
  const known = [first, second].flatMap((one, at) => (one === undefined ? [] : [{ ...one, end: at === 0 ? 15 : 16 }]));
  const batch = { documents: { ...text, bytes, end: bytes.length, known }, deletes: [], records: none };
  expect(await engine.storeBatch('t', batch)).toBeUndefined();
  expect(await allRows()).toEqual([]);
});

/** The lines of objects, as a source gives them. */
function numberedText(objects: readonly { prefix: string; first: number; lines: readonly string[] }[]): DocumentsText {
  let end = 0;
  const numbered = objects.map(({ prefix, first, lines }) => ({
    prefix,
    first,
    ends: lines.map((line) => {
      end += Buffer.byteLength(line) + 1;
      return end - 1;
    }),
  }));
  const bytes = Buffer.from(objects.flatMap(({ lines }) => lines.map((line) => `${line}\n`)).join(''));
  const known = numbered.flatMap(({ prefix, first, ends }) =>
    ends.map((one, at) => ({ id: `${prefix}/${first + at}`, end: one })),
  );
  const read = (json: JsonValue, at: number) => doc(known[at]?.id ?? '', json as JsonObject);
  const more = { isList: false, max: known.length, makeId: () => '', readTime: () => undefined, read };
  return { bytes, start: 0, end: bytes.length, known, numbered, ...more };
}

test('numbered lines are stored as documents are, and replace what has their ids', async () => {
  const lines = (from: number, to: number, more: JsonObject = {}) =>
    Array.from({ length: to - from }, (_, at) =>
      JSON.stringify({ n: from + at, name: `zeile ä ${from + at}`, ...more }),
    );
  const batches = [
    [{ prefix: 'b/one', first: 1, lines: lines(1, 700) }],
    [
      { prefix: 'b/one', first: 700, lines: lines(700, 900) },
      { prefix: 'b/two', first: 1, lines: lines(1, 20) },
      { prefix: 'b/three', first: 5, lines: lines(5, 100) },
    ],
    // Read again, with a row of another's.
    [{ prefix: 'b/one', first: 650, lines: lines(650, 1_000, { n: -1 }) }],
    [{ prefix: 'b/two', first: 10, lines: lines(10, 300) }],
    // What is not one line each, or not like those before.
    [{ prefix: 'b/gaps', first: 1, lines: ['  {"n": 1}  \r', '{"n":2}', '\n{"n":3}', '{"n":\n4}'] }],
    [{ prefix: 'b/odd\u001ename', first: 1, lines: lines(1, 300) }],
    [{ prefix: 'b/wide', first: 1, lines: [...lines(1, 100), '{"n":1,"more":true}', ...lines(101, 300)] }],
    [{ prefix: 'b/other', first: 1, lines: lines(1, 300) }],
  ];
  const own = [doc('b/three/102', { n: 0 }), doc('b/other/7', { n: 0 }), doc('b/one/980', { n: 0 })];
  const sql = 'SELECT * EXCLUDE _event_time FROM docs ORDER BY _id';
  const run = async (isText: boolean) => {
    const counts: number[] = [];
    for (const [place, objects] of batches.entries()) {
      if (place === 2) await engine.addDocuments('t', own);
      const text = numberedText(objects);
      const documents = (text.known ?? []).map(({ id }, at) =>
        doc(id, JSON.parse(objects.flatMap((one) => one.lines)[at] ?? '') as JsonObject),
      );
      const batch = { documents: isText ? text : documents, deletes: [], records: none };
      const outcome = (await engine.storeBatch('t', batch)) ?? (await engine.storeBatch('t', { ...batch, documents }));
      const { rows } = outcome ?? {};
      const isRows = isText && [1, 2, 3, 7].includes(place) && process.env['SHORTCUTS'] !== 'off';
      expect(rows !== undefined).toBe(isRows);
      const replaced = statusesOf(outcome?.documents ?? []).filter((status) => status === 'replaced');
      counts.push(rows?.replaced ?? replaced.length);
    }
    return { rows: await rowsOf(engine, sql), counts };
  };
  const asDocuments = await run(false);
  await engine.commit([
    { do: 'dropCollection', table: 't' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]);
  expect(await run(true)).toEqual(asDocuments);
  expect(asDocuments.counts).toEqual([0, 0, 251, 10, 0, 0, 0, 1]);
});
