import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Change, Engine } from '../../../src/engine/engine.ts';
import { ON_LAKE } from '../../lake/lake-for.ts';
import { doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let engine: Engine;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([createWorkspace('commons')]);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const createWorkspace = (workspace: string): Change => ({ do: 'createWorkspace', workspace });
const dropWorkspace = (workspace: string): Change => ({ do: 'dropWorkspace', workspace });
const createCollection = (table: string, workspace: string, name: string): Change => ({
  do: 'createCollection',
  table,
  workspace,
  name,
});

async function reopen(): Promise<void> {
  await engine.close();
  engine = await openSmall(folder.file);
}

/** Keys of records in a lake have no U+0000: names of things cannot have it either. */
const HOSTILE = `'; DROP TABLE x; --${ON_LAKE ? '' : '\u0000'}`;

describe('commit() of records', () => {
  test('keeps the last value by kind and key', async () => {
    await engine.commit([
      { do: 'putRecord', kind: 'a', key: 'k', value: { n: 1 } },
      { do: 'putRecord', kind: 'b', key: 'k', value: { n: 2 } },
      { do: 'putRecord', kind: 'a', key: 'k', value: { n: 3 } },
      { do: 'putRecord', kind: 'a', key: HOSTILE, value: JSON.parse('{"__proto__":{"x":null}}') },
      { do: 'deleteRecord', kind: 'b', key: 'k' },
      { do: 'deleteRecord', kind: 'b', key: 'never there' },
    ]);
    await reopen();
    expect(engine.records.toSorted((one, other) => (one.key < other.key ? -1 : 1))).toEqual([
      { kind: 'a', key: HOSTILE, value: JSON.parse('{"__proto__":{"x":null}}') },
      { kind: 'a', key: 'k', value: { n: 3 } },
    ]);
  });

  test('applies nothing when one of the changes is refused', async () => {
    const changes: Change[] = [
      { do: 'putRecord', kind: 'a', key: 'k', value: {} },
      createWorkspace('other'),
      createCollection('t', 'nowhere', 'docs'),
    ];
    await expect(engine.commit(changes)).rejects.toMatchObject({ code: 'not_found' });
    await engine.commit([createWorkspace('other')]);
    await reopen();
    expect(engine.records).toEqual([]);
  });
});

describe('commit() of workspaces and collections', () => {
  test.each([
    'a.b',
    'my-ws',
    'Main',
    'temp',
    'system',
    'memory',
    'information_schema',
    'pg_catalog',
    'select',
    'data',
    '1',
  ])('makes and drops a collection in the workspace %s', async (workspace) => {
    await engine.commit([createWorkspace(workspace), createCollection('t', workspace, 'my-docs')]);
    await engine.addDocuments('t', [doc('a', { n: 1 })]);
    const sql = `SELECT n FROM "${workspace}"."my-docs"`;
    expect(await rowsOf(engine, sql)).toEqual([[1]]);
    await reopen();
    expect(await rowsOf(engine, sql)).toEqual([[1]]);
    await engine.commit([{ do: 'dropCollection', table: 't' }, dropWorkspace(workspace)]);
    await expect(engine.query({ sql })).rejects.toMatchObject({ code: 'query_error' });
    await engine.commit([createWorkspace(workspace), createCollection('t', workspace, 'my-docs')]);
    expect(await rowsOf(engine, sql.replace('n', '_id'))).toEqual([]);
  });

  test('frees a name for a new collection in the same commit', async () => {
    await engine.commit([createCollection('t1', 'commons', 'docs')]);
    await engine.addDocuments('t1', [doc('a', { old: 1 })]);
    await engine.commit([{ do: 'dropCollection', table: 't1' }, createCollection('t2', 'commons', 'DOCS')]);
    await engine.addDocuments('t2', [doc('b', { fresh: 1 })]);
    expect(await rowsOf(engine, 'SELECT * EXCLUDE (_event_time) FROM docs')).toEqual([['b', 1]]);
  });

  test.each<[string, Change[], string]>([
    ['a workspace that exists', [createWorkspace('commons')], 'already_exists'],
    ['a workspace that differs only in case', [createWorkspace('Commons')], 'already_exists'],
    ['the same workspace twice', [createWorkspace('x'), createWorkspace('X')], 'already_exists'],
    ['dropping a workspace that is not there', [dropWorkspace('x')], 'not_found'],
    ['dropping the default workspace', [dropWorkspace('commons')], 'invalid_input'],
    [
      'dropping a workspace that is not empty',
      [createWorkspace('x'), createCollection('t', 'x', 'c'), dropWorkspace('x')],
      'dependent_resources',
    ],
    ['a collection in no workspace', [createCollection('t', 'x', 'c')], 'not_found'],
    [
      'a collection that differs only in case',
      [createCollection('t1', 'commons', 'docs'), createCollection('t2', 'commons', 'Docs')],
      'already_exists',
    ],
    [
      'a table id that is taken',
      [createCollection('t', 'commons', 'a'), createCollection('T', 'commons', 'b')],
      'already_exists',
    ],
    ['a table id with a quote', [createCollection('t"; --', 'commons', 'a')], 'invalid_input'],
    ['dropping a collection that is not there', [{ do: 'dropCollection', table: 't' }], 'not_found'],
    [
      'dropping a collection twice',
      [
        createCollection('t', 'commons', 'c'),
        { do: 'dropCollection', table: 't' },
        { do: 'dropCollection', table: 't' },
      ],
      'not_found',
    ],
  ])('refuses %s', async (_, changes, code) => {
    await expect(engine.commit(changes)).rejects.toMatchObject({ code });
    await reopen();
    expect(await rowsOf(engine, 'SHOW TABLES')).toEqual([]);
  });
});

describe('stats()', () => {
  test('counts documents and grows with them', async () => {
    await engine.commit([createCollection('t', 'commons', 'docs')]);
    expect(await engine.stats('t')).toEqual({ docCount: 0, totalBytes: 0 });
    const text = 'lorem ipsum '.repeat(100);
    await engine.addDocuments(
      't',
      Array.from({ length: 1_000 }, (_, index) => doc(String(index), { text: text + index, o: { n: index } })),
    );
    const before = await engine.stats('t');
    expect(before.docCount).toBe(1_000);
    expect(before.totalBytes).toBeGreaterThan(0);
    await reopen();
    const after = await engine.stats('t');
    expect(after.docCount).toBe(1_000);
    expect(after.totalBytes).toBeGreaterThan(0);
  });

  const sized = (index: number) => ({ text: 'x'.repeat(50 + (index % 100)), n: index, o: { deep: true } });
  const textBytes = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => JSON.stringify({ _id: String(from + at), ...sized(from + at) }))
      .map((text) => text.length)
      .reduce((sum, bytes) => sum + bytes, 0);
  const fill = (count: number) =>
    engine.addDocuments(
      't',
      Array.from({ length: count }, (_, index) => doc(String(index), sized(index))),
    );

  test('measures the text of the documents that are there', async () => {
    await engine.commit([createCollection('t', 'commons', 'docs')]);
    await fill(2_000);
    expect(await engine.stats('t')).toEqual({ docCount: 2_000, totalBytes: textBytes(0, 2_000) });
    await engine.deleteDocuments(
      't',
      Array.from({ length: 500 }, (_, index) => String(index)),
    );
    const rest = { docCount: 1_500, totalBytes: textBytes(500, 2_000) };
    expect(await engine.stats('t')).toEqual(rest);
    for (const id of ['600', '900', '1200']) await engine.changeDocuments('t', [id], (document) => document);
    expect(await engine.stats('t')).toEqual(rest);
    await reopen();
    expect(await engine.stats('t')).toEqual(rest);
  });

  test('leaves out what a document does not have', async () => {
    await engine.commit([createCollection('t', 'commons', 'docs')]);
    await engine.addDocuments('t', [
      doc('a', { long_name_of_a_field: 1 }),
      doc('b', { 'odd "key"': 'ü' }),
      doc('c', {}),
    ]);
    const bytes = ['{"_id":"a","long_name_of_a_field":1}', '{"_id":"b","odd \\"key\\"":"ü"}', '{"_id":"c"}'];
    const { docCount, totalBytes } = await engine.stats('t');
    expect(docCount).toBe(3);
    expect(Math.abs(totalBytes - Buffer.byteLength(bytes.join('')))).toBeLessThan(30);
  });

  test('measures many by a sample, which stays the same until something is written', async () => {
    await engine.commit([createCollection('t', 'commons', 'docs')]);
    const count = 60_000;
    for (let at = 0; at < count; at += 20_000) {
      await engine.addDocuments(
        't',
        Array.from({ length: 20_000 }, (_, index) => doc(String(at + index), sized(at + index))),
      );
    }
    const first = await engine.stats('t');
    expect(first.docCount).toBe(count);
    expect(first.totalBytes / textBytes(0, count)).toBeCloseTo(1, 1);
    expect(await engine.stats('t')).toEqual(first);
  });

  test('takes large documents by their blocks', async () => {
    await engine.commit([createCollection('t', 'commons', 'docs')]);
    const large = Array.from({ length: 1_500 }, () => randomBytes(10_000).toString('hex'));
    await engine.addDocuments(
      't',
      large.map((text, index) => doc(String(index), { text })),
    );
    await reopen();
    const { totalBytes } = await engine.stats('t');
    expect(totalBytes / (1_500 * 20_000)).toBeGreaterThan(0.4);
    expect(totalBytes / (1_500 * 20_000)).toBeLessThan(1.5);
  });
});
