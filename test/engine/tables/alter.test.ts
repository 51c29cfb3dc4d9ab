import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { isLong, isMore, MORE } from '../../long.ts';
import { canonical } from '../documents.ts';
import {
  columnsOf,
  createDocs,
  doc,
  openAfterCrash,
  openSmall,
  readBack,
  rowsOf,
  temporaryFolder,
} from '../harness.ts';

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

describe('columns', () => {
  test('have native types that SQL can use', async () => {
    await engine.addDocuments('t', [doc('a', { user: { name: 'Ann', tags: ['x', 'y'] }, n: 1, ok: true, x: 0.5 })]);
    expect(await columnsOf(engine)).toEqual([
      '_id VARCHAR',
      '_event_time TIMESTAMP WITH TIME ZONE',
      'user STRUCT("name" VARCHAR, tags VARCHAR[])',
      'n BIGINT',
      'ok BOOLEAN',
      'x DOUBLE',
    ]);
    expect(await rowsOf(engine, 'SELECT user.name, unnest(user.tags), n + 1 FROM docs')).toEqual([
      ['Ann', 'x', 2],
      ['Ann', 'y', 2],
    ]);
  });

  test('_extra takes what cannot be a column: other case, reserved names, odd keys', async () => {
    const fields = JSON.parse('{"city":1,"City":2,"":3,"_extra":4,"_ID":5,"_META":6,"nul\\u0000":7,"__proto__":8}');
    await engine.addDocuments('t', [doc('a', fields)]);
    expect((await columnsOf(engine)).slice(2)).toEqual(['city BIGINT', '__proto__ BIGINT', '_extra JSON']);
    expect(await rowsOf(engine, `SELECT _extra->>'City' FROM docs`)).toEqual([['2']]);
    const [stored] = await readBack(engine, 't', ['a']);
    expect(canonical(stored ?? null)).toEqual(canonical(fields));
  });

  test('past 500 go to _extra, and nothing is lost', async () => {
    const fields = Object.fromEntries(Array.from({ length: 1_200 }, (_, index) => [`field ${index}`, index]));
    await engine.addDocuments('t', [doc('a', fields)]);
    expect(await columnsOf(engine)).toHaveLength(503);
    const [stored] = await readBack(engine, 't', ['a']);
    expect(canonical(stored ?? null)).toEqual(canonical(fields));
  });

  test('that are JSON beside others in an alias spell numbers as documents do that were JSON from the first', async () => {
    const numbers = [
      0.5,
      3,
      -3,
      0,
      0.1,
      1e15,
      2 ** 53 + 2,
      1e16,
      123456789012345680000,
      9.99e20,
      1e21,
      1e22,
      1e-7,
      5e-324,
    ];
    const documents = numbers.map((n, index) => doc(`n${index}`, { n, l: [n, 0.5, null], o: { p: n, q: [{ r: n }] } }));
    const others = ['x', [true], { k: true }].flatMap((value, at) =>
      Array.from({ length: 2 * numbers.length }, (_, n) => doc(`x${at}-${n}`, { n: value, l: value, o: value })),
    );
    await engine.commit([
      { do: 'createCollection', table: 'u', workspace: 'commons', name: 'later' },
      { do: 'createCollection', table: 'v', workspace: 'commons', name: 'texts' },
      { do: 'putAlias', workspace: 'commons', name: 'together', tables: ['t', 'v'] },
    ]);
    for (const table of ['u', 'v']) await engine.addDocuments(table, others);
    for (const table of ['t', 'u']) await engine.addDocuments(table, documents);
    const texts = (name: string) =>
      rowsOf(engine, `SELECT n::VARCHAR, l::VARCHAR, o::VARCHAR FROM ${name} WHERE _id LIKE 'n%' ORDER BY _id`);
    expect(await texts('together')).toEqual(await texts('later'));
    await engine.addDocuments('t', others);
    expect(await texts('docs')).toEqual(await texts('later'));
    expect(await rowsOf(engine, "SELECT n->>'$' FROM docs WHERE _id = 'n1'")).toEqual([['3']]);
  });

  test('that turn from a struct to JSON show no member that the document had not', async () => {
    await engine.addDocuments('t', [
      doc('a', { o: { x: 1 }, l: [{ x: 1 }] }),
      doc('b', { o: { y: 2 }, l: [{ y: 2 }] }),
    ]);
    await engine.addDocuments('t', [
      doc('c', { o: 5, l: [5] }),
      doc('d', { o: [6], l: [[6]] }),
      doc('e', { o: 7, l: [7] }),
    ]);
    expect(await rowsOf(engine, `SELECT o::VARCHAR, (l[1])::VARCHAR FROM docs ORDER BY _id`)).toEqual([
      ['{"x":1}', '{"x":1}'],
      ['{"y":2}', '{"y":2}'],
      ['5', '5'],
      ['[6]', '[6]'],
      ['7', '7'],
    ]);
  });
});

/** Each pair of JSON values: the second one makes a column of the first one's type wider, or does not fit it. */
const WIDENINGS = [
  ['1', '1152921504606846977'],
  ['1', '1208925819614629174706177'],
  ['1', '0.5'],
  ['1', '"x"'],
  ['1208925819614629174706177', '0.5'],
  ['"x"', 'true'],
  ['null', '[1]'],
  ['{}', '{"a":1}'],
  ['[]', '[{"a":1}]'],
  ['[{}]', '[{"a":{"b":1}}]'],
  ['[1,null]', '[0.5]'],
  ['[1,null]', '["x"]'],
  ['{"a":1}', '{"b":1}'],
  ['{"a":1}', '{"a":"x"}'],
  ['{"a":1,"l":[{"b":1},null]}', '{"l":[{"c":1}]}'],
  ['{"a":1,"l":[{"b":1},null]}', '{"l":[{"b":"x"}]}'],
  ['[{"a":1},null]', '[{"b":1}]'],
  ['[{"a":1},null]', '[{"a":"x"}]'],
  ['[{"a":{"b":1}}]', '[{"a":{"B":1}}]'],
  ['[[{"a":1}],null]', '[[{"a":{}}]]'],
  ['[[{"a":[[{"b":1,"c":null}]]}],null]', '[[{"a":[[{"b":[]}]]}]]'],
  ['[[{"a":[[{"b":1}]]}],null]', '[[1]]'],
  ['{"it\'s":{"a\\"b":[{"c.d":1}]}}', '{"it\'s":{"a\\"b":[{"c.d":"x"}]}}'],
] as const;

/** At length, more than one vector of the engine. */
const DOCUMENTS = isLong ? 5_000 : 500;

describe('a column', () => {
  const ids = (from: string, count: number) => Array.from({ length: count }, (_, index) => `${from}${index}`);

  /** Asserts that these documents are stored, also after a crash. */
  async function expectStored(documents: ReadonlyMap<string, JsonObject>): Promise<void> {
    const crashed = await openAfterCrash(folder.file, join(folder.folder, 'copy'));
    const all = [...documents];
    for (const target of [engine, crashed]) {
      const stored = await readBack(
        target,
        't',
        all.map(([id]) => id),
      );
      const text = (value: JsonObject | undefined) => JSON.stringify(canonical(value ?? null));
      expect(all.filter(([, fields], index) => text(stored[index]) !== text(fields))).toEqual([]);
    }
    await crashed.close();
  }

  test.each(WIDENINGS.filter((_, at) => !isMore || at % 4 === 0))(
    `of %s that meets %s keeps ${DOCUMENTS} documents, also after a crash`,
    MORE,
    async (from, to) => {
      const documents = new Map(ids('', DOCUMENTS).map((id) => [id, { value: parseJson(from), other: { n: id } }]));
      await engine.addDocuments(
        't',
        [...documents].map(([id, fields]) => doc(id, fields)),
      );
      const second: JsonObject = { value: parseJson(to) };
      await engine.addDocuments('t', [doc('second', second)]);
      await expectStored(new Map<string, JsonObject>([...documents, ['second', second]]));
    },
  );

  test.each(WIDENINGS)(`of %s that meets more of %s keeps them all, also after a crash`, async (from, to) => {
    const documents = new Map<string, JsonObject>();
    for (const [name, text, count] of [['a', from, 50] as const, ['b', to, 60] as const, ['c', to, 200] as const]) {
      const added = ids(name, count).map((id): [string, JsonObject] => [id, { value: parseJson(text), other: id }]);
      await engine.addDocuments(
        't',
        added.map(([id, fields]) => doc(id, fields)),
      );
      for (const [id, fields] of added) documents.set(id, fields);
    }
    await expectStored(documents);
  });
});
