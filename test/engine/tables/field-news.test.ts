import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine, FieldNews } from '../../../src/engine/engine.ts';
import { columnsOf, createDocs, doc, openSmall, SHORTCUTS_OFF, temporaryFolder, textOf } from '../harness.ts';

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

/** What a write reports about fields. */
async function told(write: (tell: (turned: FieldNews) => void) => Promise<unknown>): Promise<FieldNews | undefined> {
  const heard: FieldNews[] = [];
  await write((turned) => heard.push(turned));
  expect(heard.length).toBeLessThanOrEqual(1);
  return heard[0];
}

const add = (...documents: JsonObject[]) =>
  told((tell) =>
    engine.addDocuments(
      't',
      documents.map(({ _id, ...fields }) => doc(String(_id), fields)),
      tell,
    ),
  );

function addText(...documents: JsonObject[]) {
  return told(async (tell) => expect(await engine.addText('t', textOf(documents), tell)).toBeDefined());
}

// Without its shortcut, addText() leaves everything to addDocuments().
const WRITES: [string, typeof add][] = [['addDocuments()', add]];
if (SHORTCUTS_OFF.length === 0) WRITES.push(['addText()', addText]);

describe.each(WRITES)('%s tells', (_, write) => {
  it('of values that do not fit, how many there are and where the first is', async () => {
    await write({ _id: 'a', n: 1, s: 'x' }, { _id: 'a2', n: 1 });
    expect(await write({ _id: 'b', n: 2 }, { _id: 'c', n: 'two' }, { _id: 'd', n: true })).toEqual({
      changed: 0,
      changes: [],
      strayed: 1,
      strays: [{ path: '"n"', type: 'BIGINT', count: 2, sql: "(_strays->>'n')", example: { id: 'c', value: 'text' } }],
      spellings: [],
    });
    expect(await columnsOf(engine)).toContain('n BIGINT');
    expect((await write({ _id: 'e', n: 'three' }))?.strays).toHaveLength(1);
    expect(await write({ _id: 'f', n: 4 })).toBeUndefined();
  });

  it('of values that do not fit in objects and in the items of lists', async () => {
    await write({ _id: 'a', o: { 'in"ner': 'x', n: 1 }, items: [{ price: 2 }, { price: 1 }], tags: ['x'] });
    const documents = [{ _id: 'b', o: { 'in"ner': 1 }, items: [{ price: 3 }, { price: 'free' }], tags: 'x' }];
    expect((await write(...documents))?.strays).toEqual([
      {
        path: '"o"."in""ner"',
        type: 'VARCHAR',
        count: 1,
        sql: `(_strays->>'/o~1in"ner')`,
        example: { id: 'b', value: 'an integer' },
      },
      { path: '"items"[]."price"', type: 'BIGINT', count: 1, sql: null, example: { id: 'b', value: 'text' } },
      { path: '"tags"', type: 'VARCHAR[]', count: 1, sql: "(_strays->>'tags')", example: { id: 'b', value: 'text' } },
    ]);
  });

  it.each([
    ['a field that was only null', { n: null }, { n: 'x' }],
    ['a field that was only an empty object', { n: {} }, { n: { a: 5 } }],
    ['a type that holds both', { n: 1 }, { n: 1.5 }],
    ['new fields', { n: 1 }, { m: [1, 2] }],
  ])('nothing of %s', async (_name, first, second) => {
    await write({ _id: 'a', ...(first as JsonObject) });
    expect(await write({ _id: 'b', ...(second as JsonObject) })).toBeUndefined();
  });

  it('of a field that differs only in case from another, once, also after a restart', async () => {
    expect(await write({ _id: 'a', Total: 5 }, { _id: 'b', total: 7 }, { _id: 'c', total: 8 })).toMatchObject({
      changed: 0,
      strayed: 0,
      spellings: [{ field: 'total', column: 'Total', sql: `coalesce("Total", TRY_CAST(_extra->'$.total' AS BIGINT))` }],
    });
    await engine.close();
    engine = await openSmall(folder.file);
    expect(await write({ _id: 'd', total: 9, other: 'x' })).toBeUndefined();
    const other = (await write({ _id: 'e', TOTAL: 9, OTHER: 'y' }))?.spellings;
    expect(other).toMatchObject([{ field: 'TOTAL' }, { field: 'OTHER', sql: `coalesce("other", _extra->>'$.OTHER')` }]);
  });
});

describe('addDocuments()', () => {
  it('tells of a type that changed since most values disagree', async () => {
    await add({ _id: 'a', n: 1, j: 1 });
    const news = await add(
      { _id: 'b', n: 'b', j: 'x' },
      { _id: 'c', n: 'c', j: [1] },
      { _id: 'd', n: 'd', j: { k: 1 } },
    );
    expect(news).toMatchObject({
      changed: 2,
      changes: [
        { path: '"n"', before: 'BIGINT', after: 'VARCHAR' },
        { path: '"j"', before: 'BIGINT', after: 'JSON' },
      ],
      strayed: 0,
    });
    expect(await columnsOf(engine)).toContain('n VARCHAR');
  });

  it('tells of numbers that no type holds beside others, and of keys that cannot be fields', async () => {
    await add({ _id: 'a', big: 2n ** 60n + 1n, small: 0.5, o: { a: 1, b: 'x' } });
    const { strays = [] } = (await add({ _id: 'b', big: 1.5, small: 2n ** 60n + 1n, o: { A: 1 } })) ?? {};
    expect(strays.map(({ path, type, example }) => `${path} ${type}: ${example.value}`)).toEqual([
      '"small" DOUBLE: an integer beyond 2^53',
      '"o"."A" null: an integer',
    ]);
    const rounded = 'SELECT big = 1152921504606846976, small = 1152921504606846976 FROM docs ORDER BY _id';
    expect((await engine.query({ sql: rounded })).rows).toEqual([
      [true, false],
      [false, true],
    ]);
    expect((await engine.query({ sql: 'SELECT big, small, o FROM docs ORDER BY _id' })).rows).toEqual([
      [String(2n ** 60n + 1n), 0.5, { a: 1, b: 'x' }],
      [1.5, String(2n ** 60n + 1n), { A: 1 }],
    ]);
  });

  it('counts many fields, and shows the first', async () => {
    const many = (value: number | string) =>
      Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}`, value]));
    await add({ _id: 'a', ...many(1) });
    const news = await add({ _id: 'b', ...many('x') });
    expect(news?.strayed).toBe(9);
    expect(news?.strays.map(({ path }) => path)).toEqual(['"f0"', '"f1"', '"f2"', '"f3"', '"f4"']);
  });

  it('tells nothing where the write fails', async () => {
    await add({ _id: 'a', n: 1 });
    const heard: FieldNews[] = [];
    const failing = engine.addDocuments('gone', [doc('b', { n: 'x' })], (one) => heard.push(one));
    await expect(failing).rejects.toMatchObject({ code: 'not_found' });
    expect(heard).toEqual([]);
  });
});

describe('changeDocuments() and restoreDocuments() tell', () => {
  it('as adding does', async () => {
    await add({ _id: 'a', n: 1, s: 'x' }, { _id: 'b', n: 2, s: 'y' });
    const patch = (fields?: ReadonlySet<string>) =>
      told((tell) => engine.changeDocuments('t', ['b'], (document) => ({ ...document, n: 'two' }), fields, tell));
    expect(await patch(new Set(['n']))).toMatchObject({
      strays: [{ path: '"n"', example: { id: 'b', value: 'text' } }],
    });

    // It is there already; only what another change brings is told.
    await add(...['c', 'd', 'e', 'f'].map((_id) => ({ _id, n: 3 })));
    const change = (fields: JsonObject, ...ids: string[]) =>
      told((tell) => engine.changeDocuments('t', ids, (document) => ({ ...document, ...fields }), undefined, tell));
    expect(await change({ m: 1 }, 'b', 'b')).toBeUndefined();
    expect(await change({ n: 'two' }, 'a', 'b')).toMatchObject({ strays: [{ count: 1, example: { id: 'a' } }] });
    expect(await change({ n: 'three' }, 'b')).toMatchObject({ strays: [{ count: 1, example: { id: 'b' } }] });
    await change({ n: 1 }, 'a');

    const record = { do: 'putRecord' as const, kind: 'trash', key: 'k', value: {} };
    await engine.deleteDocuments('t', ['a'], { trash: 'k', record: () => record });
    await engine.commit([
      { do: 'dropCollection', table: 't' },
      { do: 'createCollection', table: 't2', workspace: 'commons', name: 'docs' },
    ]);
    await engine.addDocuments('t2', [doc('c', { s: 5 })]);
    expect(await told((tell) => engine.restoreDocuments('k', 't2', () => [], tell))).toMatchObject({
      changed: 0,
      strays: [{ path: '"s"', type: 'BIGINT', count: 1, example: { id: 'a', value: 'text' } }],
    });
  });
});
