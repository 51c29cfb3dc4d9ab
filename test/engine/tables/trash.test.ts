import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Run } from '../../../src/engine/duckdb/connections/writer.ts';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { dropKept } from '../../../src/engine/duckdb/tables/trash.ts';
import type { Change, Engine, Keep, Kept, RecordChange } from '../../../src/engine/engine.ts';
import { LIMITS } from '../fixture.ts';
import {
  createDocs,
  doc,
  fileTest,
  openAfterCrash,
  openSmall,
  readBack,
  rowsOf,
  statusesOf,
  temporaryFolder,
} from '../harness.ts';
import { exited, runScript } from '../script.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

let engine: Engine;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const record = (key: string, value: Kept): RecordChange => ({
  do: 'putRecord',
  kind: 'trash',
  key,
  value: { docCount: value.docCount },
});
const keep = (trash: string): Keep => ({ trash, record: (kept) => record(trash, kept) });
const leaving = (trash: string) => (left: Kept) =>
  left.docCount === 0 ? [{ do: 'deleteRecord' as const, kind: 'trash', key: trash }] : [record(trash, left)];

async function reopen(): Promise<void> {
  await engine.close();
  engine = await openSmall(folder.file);
}

/** The corner cases of documents. */
const ODD: JsonObject[] = [
  { n: 1, s: 'text', o: { a: 1, deep: { list: [{ x: 1 }, { y: null }] } }, gone: null },
  { n: -0.1, big: 2n ** 64n, list: [1, 'two', null], json: { 'a.b': null, A: 1, a: 2 } },
  JSON.parse('{"n": 1.5e300, "__proto__": {"x": null}, "N": 3, "": "empty", "o": "not an object"}'),
  {},
];

/** The documents as read back, and their event times. */
async function documentsOf(ids: string[]) {
  return {
    fields: await readBack(engine, 't', ids),
    times: await rowsOf(engine, 'SELECT _id, epoch_us(_event_time)::VARCHAR FROM docs ORDER BY _id'),
  };
}

describe('documents in the trash', () => {
  test('come back equal, with their event times, though the collection became wider', async () => {
    const ids = ODD.map((_, index) => `d${index}`);
    await engine.addDocuments(
      't',
      ODD.map((fields, index) => doc(`d${index}`, fields, BigInt(index) * 1_234_567_891n)),
    );
    await engine.addDocuments('t', [doc('stays', { n: 1 }, 5n)]);
    const before = await documentsOf(ids);
    expect(await engine.deleteDocuments('t', [...ids, 'd0', 'none'], keep('k'))).toBe(ids.length);
    expect(engine.records).toEqual([]);
    await reopen();
    expect(engine.records).toEqual([{ kind: 'trash', key: 'k', value: { docCount: 4 } }]);
    expect((await engine.stats('t')).docCount).toBe(1);
    // All columns change their types, and there are new ones.
    await engine.addDocuments('t', [
      doc('wide', { n: 'text', s: 5, o: [1], big: {}, list: 'x', json: 1.5, more: true }, 6n),
    ]);
    await engine.deleteDocuments('t', ['wide']);
    const seen: Kept[] = [];
    const restored = await engine.restoreDocuments('k', 't', (left) => {
      seen.push(left);
      return leaving('k')(left);
    });
    expect(restored).toEqual({ docCount: 4, left: { docCount: 0, bytes: 0, ids: [] }, leftIds: [], pastCount: 0 });
    expect(seen).toEqual([restored.left]);
    expect(await documentsOf(ids)).toEqual(before);
    await reopen();
    expect(engine.records).toEqual([]);
    expect(await documentsOf(ids)).toEqual(before);
    expect(await engine.restoreDocuments('k', 't', () => [])).toMatchObject({ docCount: 0 });
  });

  test('widen a collection again that lost their fields, and the aliases over it', async () => {
    await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'also', tables: ['t'] }]);
    await engine.addDocuments('t', [doc('a', { deep: { er: [1] } })]);
    await engine.deleteDocuments('t', ['a'], keep('k'));
    await engine.commit([
      { do: 'createCollection', table: 'other', workspace: 'commons', name: 'other' },
      { do: 'putAlias', workspace: 'commons', name: 'also', tables: ['other'] },
    ]);
    await engine.restoreDocuments('k', 'other', leaving('k'));
    expect(await rowsOf(engine, 'SELECT deep.er[1] FROM also')).toEqual([[1]]);
  });

  test('stay there where their id exists again, and say so', async () => {
    await engine.addDocuments('t', [doc('a', { v: 1 }), doc('b', { v: 1 }), doc('c', { v: 1 })]);
    await engine.deleteDocuments('t', ['a', 'b', 'c'], keep('k'));
    await engine.addDocuments('t', [doc('b', { v: 2 })]);
    const first = await engine.restoreDocuments('k', 't', leaving('k'));
    expect(first).toMatchObject({ docCount: 2, left: { docCount: 1 }, leftIds: ['b'] });
    expect(await readBack(engine, 't', ['a', 'b', 'c'])).toEqual([{ v: 1 }, { v: 2 }, { v: 1 }]);
    expect(await engine.restoreDocuments('k', 't', leaving('k'))).toMatchObject({ docCount: 0, leftIds: ['b'] });
    await engine.deleteDocuments('t', ['b']);
    await engine.restoreDocuments('k', 't', leaving('k'));
    expect(await readBack(engine, 't', ['b'])).toEqual([{ v: 1 }]);
  });

  test('are as if they were not there, for everything else', async () => {
    await engine.addDocuments('t', [doc('a', { v: 1 })]);
    await engine.deleteDocuments('t', ['a'], keep('k'));
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
    for (const table of ['_meta.trash_documents', '"_meta"."trash"', '_data.t']) {
      await expect(engine.query({ sql: `SELECT * FROM ${table}` })).rejects.toMatchObject({ code: 'query_error' });
    }
    expect(await engine.deleteDocuments('t', ['a'], keep('k2'))).toBe(0);
    await reopen();
    expect(engine.records.map(({ key }) => key)).toEqual(['k']);
  });

  test('are not those that retention hides', async () => {
    await engine.commit([
      { do: 'createCollection', table: 'r', workspace: 'commons', name: 'r', retentionSecs: 3_600 },
    ]);
    const now = BigInt(Date.now()) * 1_000n;
    await engine.addDocuments('r', [doc('old', {}, 0n), doc('new', {}, now)]);
    await engine.deleteDocuments('r', ['old', 'new'], keep('k'));
    expect(await engine.restoreDocuments('k', 'r', leaving('k'))).toMatchObject({ docCount: 1 });
    expect(await rowsOf(engine, 'SELECT _id FROM r')).toEqual([['new']]);
    expect(await engine.restoreDocuments('k', 'r', leaving('k'))).toMatchObject({ docCount: 0, left: { docCount: 0 } });
  });

  test.each(['r', 'other'])(
    'do not come back to %s over a document with the same id that retention hides',
    async (to) => {
      for (const table of ['r', 'other']) {
        await engine.commit([
          { do: 'createCollection', table, workspace: 'commons', name: table, retentionSecs: 3_600 },
        ]);
      }
      const now = BigInt(Date.now()) * 1_000n;
      await engine.addDocuments('r', [doc('a', { v: 1 }, now), doc('b', { v: 1 }, now)]);
      await engine.deleteDocuments('r', ['a', 'b'], keep('k'));
      await engine.addDocuments(to, [doc('a', { v: 2 }, 0n)]);
      const restored = await engine.restoreDocuments('k', to, leaving('k'));
      expect(restored).toMatchObject({ docCount: 1, left: { docCount: 1 }, leftIds: ['a'] });
      // The hidden one is still there, until it is purged.
      expect(await engine.purge(to, Date.now())).toMatchObject({ docCount: 1 });
      expect(await engine.restoreDocuments('k', to, leaving('k'))).toMatchObject({
        docCount: 1,
        left: { docCount: 0 },
      });
      expect(await rowsOf(engine, `SELECT _id, v FROM "${to}" ORDER BY _id`)).toEqual([
        ['a', 1],
        ['b', 1],
      ]);
    },
  );

  test.each(['r', 'other'])(
    'stay in the trash and do not come back to %s where its retention would hide them',
    async (to) => {
      for (const [table, retentionSecs] of [
        ['r', to === 'r' ? 3_600 : null],
        ['other', 3_600],
      ] as const)
        await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name: table, retentionSecs }]);
      const at = (secsAgo: number) => BigInt(Date.now() - secsAgo * 1_000) * 1_000n;
      const documents = [
        doc('new', { v: 1 }, at(60)),
        doc('soon', { v: 1 }, at(3_598)),
        doc('taken', { v: 1 }, at(3_598)),
      ];
      await engine.addDocuments('r', documents);
      await engine.deleteDocuments('r', ['new', 'soon', 'taken'], keep('k'));
      await engine.addDocuments(to, [doc('taken', { v: 2 }, at(60))]);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      const left = { docCount: 2 };
      expect(await engine.restoreDocuments('k', to, leaving('k'))).toMatchObject({ docCount: 1, left });
      const rest = await engine.restoreDocuments('k', to, leaving('k'));
      expect(rest).toMatchObject({ docCount: 0, left, leftIds: ['taken'], pastCount: 1 });
      expect(await engine.purge(to, Date.now())).toMatchObject({ docCount: 0 });
    },
  );

  fileTest('come back in as few steps where others are past the retention, which are counted at the end', async () => {
    const ids = Array.from({ length: 24_000 }, (_, index) => `d${String(index).padStart(5, '0')}`);
    const now = BigInt(Date.now()) * 1_000n;
    await engine.addDocuments(
      't',
      ids.map((id, index) => doc(id, { v: 1 }, index % 2 === 0 ? now : 0n)),
    );
    await engine.deleteDocuments('t', ids, keep('k'));
    await engine.addDocuments('t', [doc('d00000', { v: 2 }, now), doc('d00001', { v: 2 }, now)]);
    await engine.close();
    // Instead of waiting until half of them are past it.
    const store = await FileStore.open({ file: folder.file, limits: LIMITS, log: SILENT, load: async () => undefined });
    await store.transaction((sql) => sql('UPDATE "_meta"."tables" SET retention_secs = 3600'));
    await store.close();
    engine = await openSmall(folder.file);
    const left = { docCount: 12_001 };
    expect(await engine.restoreDocuments('k', 't', leaving('k'))).toMatchObject({ docCount: 11_999, left });
    expect(await engine.restoreDocuments('k', 't', leaving('k'))).toMatchObject({
      docCount: 0,
      left,
      leftIds: ['d00000', 'd00001'],
      pastCount: 11_999,
    });
  });

  test('come back at once to their own collection, and to another in steps', async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `d${index}`);
    await engine.addDocuments(
      't',
      ids.map((id, index) => doc(id, { index, tags: [id], o: { text: 'x'.repeat(index % 50) } }, BigInt(index))),
    );
    const sum = `SELECT count(*), sum(index)::BIGINT, sum(len(o.text))::BIGINT, max(_event_time)::VARCHAR FROM docs`;
    const before = await rowsOf(engine, sum);
    await engine.deleteDocuments('t', ids, keep('k'));
    expect((await engine.stats('t')).docCount).toBe(0);
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
    expect(await engine.restoreDocuments('k', 't', leaving('k'))).toMatchObject({ docCount: 10_000 });
    expect(await rowsOf(engine, sum)).toEqual(before);
    await engine.deleteDocuments('t', ids, keep('k'));
    await engine.commit([{ do: 'createCollection', table: 'u', workspace: 'commons', name: 'other' }]);
    const steps: number[] = [];
    for (;;) {
      const { docCount } = await engine.restoreDocuments('k', 'u', leaving('k'));
      if (docCount === 0) break;
      steps.push(docCount);
    }
    expect(steps).toEqual([5_000, 5_000]);
    expect(await rowsOf(engine, sum.replace('docs', 'other'))).toEqual(before);
    expect(await engine.counts()).toMatchObject({ documents: 10_000, deletedDocuments: 0 });
  });

  test('come back whole where one step is smaller than a document', async () => {
    await engine.commit([{ do: 'createCollection', table: 'u', workspace: 'commons', name: 'other' }]);
    const text = 'x'.repeat(9 * 1024 * 1024);
    await engine.addDocuments('t', [doc('a', { text }), doc('b', { text }), doc('c', { text })]);
    await engine.deleteDocuments('t', ['a', 'b', 'c'], keep('k'));
    expect(await engine.restoreDocuments('k', 'u', leaving('k'))).toMatchObject({ docCount: 2, left: { docCount: 1 } });
    expect(await engine.restoreDocuments('k', 'u', leaving('k'))).toMatchObject({ docCount: 1, leftIds: [] });
  });

  test('outlive their collection, equal to what they were', async () => {
    const ids = ODD.map((_, index) => `d${index}`);
    await engine.addDocuments(
      't',
      ODD.map((fields, index) => doc(`d${index}`, fields, BigInt(index))),
    );
    const before = await readBack(engine, 't', ids);
    await engine.deleteDocuments('t', ['d0', 'd2'], keep('k1'));
    await engine.deleteDocuments('t', ['d1', 'd3'], keep('k2'));
    await engine.commit([
      { do: 'trashCollection', table: 't' },
      { do: 'createCollection', table: 'u', workspace: 'commons', name: 'docs' },
    ]);
    expect(await engine.counts()).toMatchObject({ documents: 0, trashedDocuments: 0, deletedDocuments: 4 });
    await reopen();
    await engine.commit([{ do: 'dropCollection', table: 't' }]);
    expect(await engine.counts()).toMatchObject({ documents: 0, deletedDocuments: 4 });
    await reopen();
    await engine.restoreDocuments('k1', 'u', leaving('k1'));
    await engine.restoreDocuments('k2', 'u', leaving('k2'));
    expect(await readBack(engine, 'u', ids)).toEqual(before);
  });

  test('are in nobody’s way: their ids are free, in every deletion anew', async () => {
    // In a table with a column of that name, rows are told apart by their ids.
    for (const rowid of [[], ['rowid']]) {
      const fields = Object.fromEntries(rowid.map((name) => [name, 'x']));
      await engine.addDocuments('t', [doc('a', { v: 0, ...fields }), doc('b', { v: 0 })]);
      for (const v of [1, 2, 3]) {
        await engine.deleteDocuments('t', ['a'], keep(`k${rowid.length}${v}`));
        expect(await rowsOf(engine, `SELECT _id FROM docs WHERE _id IN ('a', 'b')`)).toEqual([['b']]);
        expect(statusesOf(await engine.addDocuments('t', [doc('a', { v })]))).toEqual(['added']);
        await engine.changeDocuments('t', ['a'], (document) => ({ ...document, w: v }), new Set(['v', 'w']));
        await engine.changeDocuments('t', ['a'], (document) => ({ ...document, v: v * 10 }), new Set(['v']));
        expect(await readBack(engine, 't', ['a'])).toEqual([{ v: v * 10, w: v }]);
      }
      expect(await rowsOf(engine, `SELECT v FROM docs WHERE _id = 'a'`)).toEqual([[30]]);
      await engine.deleteDocuments('t', ['a']);
      expect(await engine.restoreDocuments(`k${rowid.length}2`, 't', () => [])).toMatchObject({ docCount: 1 });
      expect(await rowsOf(engine, `SELECT v FROM docs WHERE _id = 'a'`)).toEqual([[10]]);
      expect((await engine.stats('t')).docCount).toBe(2);
      expect(await engine.counts()).toMatchObject({ documents: 2 });
    }
  });

  test('stay when retention removes documents, and what SQL sees is the same after the collection got wider', async () => {
    await engine.commit([
      { do: 'createCollection', table: 'r', workspace: 'commons', name: 'r', retentionSecs: 3_600 },
    ]);
    const now = BigInt(Date.now()) * 1_000n;
    await engine.addDocuments('r', [doc('old', {}, 0n), doc('a', { v: 1 }, now), doc('b', { v: 2 }, now)]);
    await engine.deleteDocuments('r', ['a'], keep('k'));
    expect(await engine.purge('r', Date.now())).toMatchObject({ docCount: 1 });
    await engine.addDocuments('r', [doc('c', { v: 'text', more: [1] }, now)]);
    expect(await rowsOf(engine, 'SELECT _id FROM r ORDER BY _id')).toEqual([['b'], ['c']]);
    await engine.restoreDocuments('k', 'r', leaving('k'));
    expect(await readBack(engine, 'r', ['a'])).toEqual([{ v: 1 }]);
  });

  test('can be dropped for good', async () => {
    await engine.addDocuments('t', [doc('a', {}), doc('b', {})]);
    await engine.deleteDocuments('t', ['a'], keep('k1'));
    await engine.deleteDocuments('t', ['b'], keep('k2'));
    await engine.commit([{ do: 'dropDocuments', trash: ['k1'], table: 't' }]);
    expect(await engine.restoreDocuments('k1', 't', () => [])).toMatchObject({ docCount: 0, left: { docCount: 0 } });
    expect(await engine.restoreDocuments('k2', 't', () => [])).toMatchObject({ docCount: 1 });
  });

  fileTest('of many deletions are dropped in one pass over their table', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `d${index}`);
    await engine.addDocuments(
      't',
      ids.map((id) => doc(id, {})),
    );
    for (const id of ids) await engine.deleteDocuments('t', [id], keep(id));
    await engine.close();
    const store = await FileStore.open({ file: folder.file, limits: LIMITS, log: SILENT, load: async () => undefined });
    const texts: string[] = [];
    await store.transaction((sql) => {
      const spied: Run = (text, ...values) => {
        texts.push(text);
        return sql(text, ...values);
      };
      return dropKept(Object.assign(spied, { again: sql.again }), ids.slice(1));
    });
    await store.close();
    expect(texts.filter((text) => text.includes('"_data"'))).toHaveLength(1);
    engine = await openSmall(folder.file);
    expect(await engine.counts()).toMatchObject({ documents: 0, deletedDocuments: 1 });
    expect(await engine.restoreDocuments('d0', 't', () => [])).toMatchObject({ docCount: 1 });
  });

  fileTest('are there, and gone from the collection, when the process is killed right after', async () => {
    const { child } = await runScript(
      folder.folder,
      `
      import { openEngine } from '../../src/engine/duckdb/open.ts';
      const engine = await openEngine({ file: ${JSON.stringify(join(folder.folder, 'other', 'd.duckdb'))}, limits: { threads: 2 } });
      await engine.commit([
        { do: 'createWorkspace', workspace: 'commons' },
        { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
      ]);
      await engine.addDocuments('t', [{ id: 'a', eventTimeMicros: 7n, fields: { n: [1] } }]);
      const record = { do: 'putRecord', kind: 'trash', key: 'k', value: {} };
      await engine.deleteDocuments('t', ['a'], { trash: 'k', record: () => record });
      console.log('done');
      process.kill(process.pid, 'SIGKILL');
    `,
    );
    await exited(child);
    const killed = await openSmall(join(folder.folder, 'other', 'd.duckdb'));
    expect(killed.records).toEqual([{ kind: 'trash', key: 'k', value: {} }]);
    expect((await killed.stats('t')).docCount).toBe(0);
    await killed.restoreDocuments('k', 't', leaving('k'));
    expect(await rowsOf(killed, 'SELECT _id, n, epoch_us(_event_time)::INT FROM docs')).toEqual([['a', [1], 7]]);
    await killed.close();
  });
});

describe('a collection in the trash', () => {
  const trash: Change = { do: 'trashCollection', table: 't' };
  const restore: Change = { do: 'restoreCollection', table: 't' };

  fileTest('has no name, and comes back with its documents, also after a crash', async () => {
    await engine.addDocuments('t', [doc('a', { n: 1, o: { x: 'y' } })]);
    await engine.commit([trash, { do: 'putRecord', kind: 'trash', key: 't', value: {} }]);
    await expect(engine.query({ sql: 'SELECT * FROM docs' })).rejects.toMatchObject({ code: 'query_error' });
    await expect(engine.addDocuments('t', [doc('b', {})])).rejects.toMatchObject({ code: 'not_found' });
    expect((await engine.stats('t')).docCount).toBe(1);
    const crashed = await openAfterCrash(folder.file, join(folder.folder, 'crashed'));
    expect((await crashed.stats('t')).docCount).toBe(1);
    await expect(crashed.query({ sql: 'SELECT * FROM docs' })).rejects.toMatchObject({ code: 'query_error' });
    await crashed.commit([restore]);
    expect(await rowsOf(crashed, 'SELECT n, o.x FROM docs')).toEqual([[1, 'y']]);
    await crashed.close();
    await reopen();
    const { namesVersion } = engine;
    await engine.commit([restore]);
    expect(engine.namesVersion).toBeGreaterThan(namesVersion);
    await engine.addDocuments('t', [doc('b', { n: 'wider' })]);
    await reopen();
    expect(await rowsOf(engine, 'SELECT _id, n FROM docs ORDER BY _id')).toEqual([
      ['a', 1],
      ['b', 'wider'],
    ]);
  });

  test('leaves its name to another one, which then keeps it from coming back', async () => {
    await engine.commit([trash, { do: 'createCollection', table: 't2', workspace: 'commons', name: 'DOCS' }]);
    await engine.addDocuments('t2', [doc('new', {})]);
    await expect(engine.commit([restore])).rejects.toMatchObject({ code: 'already_exists' });
    expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([['new']]);
    await engine.commit([{ do: 'dropCollection', table: 't2' }, restore]);
    expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([]);
  });

  test('does not keep its workspace from being deleted, and waits for it', async () => {
    await engine.commit([
      { do: 'createWorkspace', workspace: 'w' },
      { do: 'createCollection', table: 'x', workspace: 'w', name: 'docs' },
    ]);
    await engine.addDocuments('x', [doc('a', {})]);
    await engine.commit([
      { do: 'trashCollection', table: 'x' },
      { do: 'dropWorkspace', workspace: 'w' },
    ]);
    await reopen();
    await expect(engine.commit([{ do: 'restoreCollection', table: 'x' }])).rejects.toMatchObject({ code: 'not_found' });
    await engine.commit([
      { do: 'createWorkspace', workspace: 'w' },
      { do: 'restoreCollection', table: 'x' },
    ]);
    expect(await rowsOf(engine, 'SELECT _id FROM w.docs')).toEqual([['a']]);
  });

  test('can be dropped for good, and then its table id is free', async () => {
    await engine.commit([trash]);
    await expect(
      engine.commit([{ do: 'createCollection', table: 'T', workspace: 'commons', name: 'docs' }]),
    ).rejects.toMatchObject({ code: 'already_exists' });
    await engine.commit([{ do: 'dropCollection', table: 't' }]);
    await expect(engine.commit([restore])).rejects.toMatchObject({ code: 'not_found' });
    await expect(engine.stats('t')).rejects.toMatchObject({ code: 'not_found' });
    await reopen();
    await engine.commit([{ do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' }]);
    expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([]);
  });

  test.each<[string, Change[], string]>([
    ['one that is there already', [trash, trash], 'not_found'],
    ['one that is not there', [{ do: 'trashCollection', table: 'none' }], 'not_found'],
    [
      'one that an alias stands for',
      [{ do: 'putAlias', workspace: 'commons', name: 'a', tables: ['t'] }, trash],
      'dependent_resources',
    ],
    ['restoring one that was not trashed', [restore], 'not_found'],
    ['restoring one twice', [trash, restore, restore], 'not_found'],
    [
      'an alias for one that is there',
      [trash, { do: 'putAlias', workspace: 'commons', name: 'a', tables: ['t'] }],
      'not_found',
    ],
  ])('refuses %s', async (_, changes, code) => {
    await expect(engine.commit(changes)).rejects.toMatchObject({ code });
    await reopen();
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
  });
});
