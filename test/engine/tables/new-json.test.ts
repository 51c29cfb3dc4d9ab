import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine, NewJson } from '../../../src/engine/engine.ts';
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

/** What a write reports about fields that became JSON. */
async function told(write: (tell: (turned: NewJson) => void) => Promise<unknown>): Promise<NewJson | undefined> {
  const heard: NewJson[] = [];
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
  it('of a field that had a type, with the first document that brought another', async () => {
    await write({ _id: 'a', n: 1, s: 'x' });
    expect(await write({ _id: 'b', n: 2 }, { _id: 'c', n: 'two' }, { _id: 'd', n: true })).toEqual({
      count: 1,
      fields: [{ path: '"n"', before: 'BIGINT', after: 'JSON', cause: { id: 'c', value: 'text' } }],
    });
    expect(await columnsOf(engine)).toContain('n JSON');
    expect(await write({ _id: 'e', n: 'three' })).toBeUndefined();
  });

  it('of fields in objects and in the items of lists, and not of what is around them', async () => {
    await write({ _id: 'a', o: { 'in"ner': 'x', n: 1 }, items: [{ price: 2 }, { price: 1 }], tags: ['x'] });
    expect(await write({ _id: 'b', o: { 'in"ner': 1 }, items: [{ price: 3 }, { price: 'free' }], tags: 'x' })).toEqual({
      count: 3,
      fields: [
        { path: '"o"."in""ner"', before: 'VARCHAR', after: 'JSON', cause: { id: 'b', value: 'an integer' } },
        { path: '"items"[]."price"', before: 'BIGINT', after: 'JSON', cause: { id: 'b', value: 'text' } },
        { path: '"tags"', before: 'VARCHAR[]', after: 'JSON', cause: { id: 'b', value: 'text' } },
      ],
    });
  });

  it.each([
    ['a field that was only null', { n: null }, { n: 'x' }],
    ['a field that was only an empty object', { n: {} }, { n: 5 }],
    ['a type that holds both', { n: 1 }, { n: 1.5 }],
    ['new fields', { n: 1 }, { m: [1, 'x'] }],
  ])('nothing of %s', async (_name, first, second) => {
    await write({ _id: 'a', ...(first as JsonObject) });
    expect(await write({ _id: 'b', ...(second as JsonObject) })).toBeUndefined();
  });

  it('of a field that differs only in case from another, once, also after a restart', async () => {
    expect(await write({ _id: 'a', Total: 5 }, { _id: 'b', total: 7 }, { _id: 'c', total: 8 })).toEqual({
      count: 0,
      fields: [],
      spellings: [{ field: 'total', column: 'Total', sql: `coalesce("Total", TRY_CAST(_extra->'$.total' AS BIGINT))` }],
    });
    await engine.close();
    engine = await openSmall(folder.file);
    expect(await write({ _id: 'd', total: 9, other: 'x' })).toBeUndefined();
    const other = (await write({ _id: 'e', TOTAL: 9, OTHER: 'y' }))?.spellings;
    expect(other).toMatchObject([{ field: 'TOTAL' }, { field: 'OTHER', sql: `coalesce("other", _extra->>'$.OTHER')` }]);
  });

  it('nothing of a field that is JSON from its first write on', async () => {
    expect(await write({ _id: 'a', n: 1 }, { _id: 'b', n: 'x' })).toBeUndefined();
    expect(await columnsOf(engine)).toContain('n JSON');
  });
});

describe('addDocuments()', () => {
  it('tells why where no type holds integers and fractions, or the keys of an object', async () => {
    await add({ _id: 'a', big: 2n ** 60n, small: 0.5, o: { a: 1, b: 'x' } });
    const { fields } = (await add({ _id: 'b', big: 1.5, small: 2n ** 60n, o: { A: 1 } })) ?? {};
    expect(fields?.map(({ before, cause }) => `${before}: ${cause?.value}`)).toEqual([
      'BIGINT: a fraction',
      'DOUBLE: an integer beyond 2^53',
      'STRUCT("a" BIGINT, "b" VARCHAR): an object with too many keys, or keys that differ only in case,',
    ]);
  });

  it('counts many fields, and shows the first', async () => {
    const many = (value: number | string) =>
      Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}`, value]));
    await add({ _id: 'a', ...many(1) });
    const turned = await add({ _id: 'b', ...many('x') });
    expect(turned?.count).toBe(9);
    expect(turned?.fields.map(({ path }) => path)).toEqual(['"f0"', '"f1"', '"f2"', '"f3"', '"f4"']);
  });

  it('tells nothing where the write fails', async () => {
    await add({ _id: 'a', n: 1 });
    const heard: NewJson[] = [];
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
    expect(await patch(new Set(['n']))).toMatchObject({ fields: [{ path: '"n"', cause: { id: 'b', value: 'text' } }] });

    const record = { do: 'putRecord' as const, kind: 'trash', key: 'k', value: {} };
    await engine.deleteDocuments('t', ['a'], { trash: 'k', record: () => record });
    await engine.commit([
      { do: 'dropCollection', table: 't' },
      { do: 'createCollection', table: 't2', workspace: 'commons', name: 'docs' },
    ]);
    await engine.addDocuments('t2', [doc('c', { s: 5 })]);
    expect(await told((tell) => engine.restoreDocuments('k', 't2', () => [], tell))).toEqual({
      count: 1,
      fields: [{ path: '"s"', before: 'BIGINT', after: 'JSON', cause: { id: 'a', value: 'text' } }],
    });
  });
});
