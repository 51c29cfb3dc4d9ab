import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type JsonObject, type JsonValue, parseJson } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { canonical } from '../documents.ts';
import { columnsOf, createDocs, doc, openSmall, readBack, rowsOf, statusesOf, temporaryFolder } from '../harness.ts';

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

function nested(levels: number): JsonValue {
  let value: JsonValue = 'end';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('addDocuments() outcomes', () => {
  test('are in order: added, replaced, and an error in between leaves the others alone', async () => {
    await engine.addDocuments('t', [doc('b', { n: 1 })]);
    const outcomes = await engine.addDocuments('t', [
      doc('a', {}),
      doc('x', { n: Infinity }),
      doc('b', {}),
      doc('c', {}),
    ]);
    expect(statusesOf(outcomes)).toEqual(['added', 'error', 'replaced', 'added']);
    expect(await rowsOf(engine, 'SELECT _id FROM docs ORDER BY _id')).toEqual([['a'], ['b'], ['c']]);
  });

  test('of two documents with one id: added, replaced, and the later one is stored', async () => {
    const outcomes = await engine.addDocuments('t', [doc('a', { n: 1 }), doc('b', {}), doc('a', { m: 2 })]);
    expect(statusesOf(outcomes)).toEqual(['added', 'added', 'replaced']);
    expect(await readBack(engine, 't', ['a'])).toEqual([{ m: 2 }]);
  });

  test('of a refused duplicate: the earlier one stays', async () => {
    const outcomes = await engine.addDocuments('t', [doc('a', { n: 1 }), doc('a', { n: -Infinity })]);
    expect(statusesOf(outcomes)).toEqual(['added', 'error']);
    expect(await readBack(engine, 't', ['a'])).toEqual([{ n: 1 }]);
  });

  test('of no documents: none', async () => {
    expect(await engine.addDocuments('t', [])).toEqual([]);
  });

  test('a document that is refused leaves no column behind', async () => {
    await engine.addDocuments('t', [doc('a', { n: 1, bad: Infinity })]);
    expect(await columnsOf(engine)).toHaveLength(2);
  });
});

describe('addDocuments() refuses, and names the place', () => {
  test.each<[string, JsonObject, string]>([
    ['a number too large', { a: { b: [0, Infinity] } }, 'holds a number that is too large at "/a/b/1"'],
    ['NaN', { a: Number.NaN }, 'holds a number that is too large at "/a"'],
    ['half a surrogate pair', { a: [{ b: 'x\ud800y' }] }, 'holds half of a surrogate pair at "/a/0/b"'],
    ['half a surrogate pair in a key', { a: { '\udc00': 1 } }, 'has a key at "/a" with half of a surrogate pair'],
    ['1,001 levels', { a: nested(1_000) }, 'is nested more than 1000 levels deep'],
    ['a million levels', { a: nested(1_000_000) }, 'is nested more than 1000 levels deep'],
  ])('%s', async (_, fields, message) => {
    const [outcome] = await engine.addDocuments('t', [doc('bad "id"', fields)]);
    expect(outcome).toEqual({ status: 'error', message: expect.stringContaining(message) });
    expect(outcome).toEqual({ status: 'error', message: expect.stringContaining('"bad \\"id\\""') });
  });

  test.each([-62_167_219_200_000_001n, 253_402_300_800_000_000n, 2n ** 63n, 2n ** 70n])(
    'the event time %s',
    async (micros) => {
      const [outcome] = await engine.addDocuments('t', [doc('a', {}, micros)]);
      expect(outcome).toEqual({ status: 'error', message: expect.stringContaining('outside the years') });
    },
  );

  test('half a surrogate pair in the id', async () => {
    const [outcome] = await engine.addDocuments('t', [doc('\ud800', {})]);
    expect(outcome).toEqual({ status: 'error', message: expect.stringContaining('its _id holds half') });
  });

  test('a table that does not exist', async () => {
    await expect(engine.addDocuments('nope', [doc('a', {})])).rejects.toMatchObject({ code: 'not_found' });
    await expect(engine.deleteDocuments('nope', ['a'])).rejects.toMatchObject({ code: 'not_found' });
    await expect(engine.changeDocuments('nope', ['a'], (same) => same)).rejects.toMatchObject({ code: 'not_found' });
    await expect(engine.stats('nope')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('addDocuments() keeps', () => {
  test.each<[string, JsonValue]>([
    ['U+0000', 'a\u0000b'],
    ['1,000 levels, the document included', nested(998)],
    ['a text of a megabyte', 'ü'.repeat(500_000)],
    ['the largest integers', [2n ** 63n - 1n, -(2n ** 63n)]],
    ['integers of 60 digits', 10n ** 60n - 1n],
    ['nulls in lists', [null, [null], { a: null, b: [null] }]],
  ])('%s', async (_, value) => {
    expect(await engine.addDocuments('t', [doc('a', { value })])).toEqual([{ status: 'added' }]);
    const [stored] = await readBack(engine, 't', ['a']);
    expect(canonical(stored ?? null)).toEqual(canonical({ value }));
  });

  test('a double beyond 2^53 among other types, to its last digit', async () => {
    const value = -27276658687056152;
    await engine.addDocuments('t', [doc('a', { value: [value, 'x'] })]);
    const [stored] = await readBack(engine, 't', ['a']);
    expect(canonical(stored ?? null)).toEqual(canonical({ value: [value, 'x'] }));
  });

  test('an event time to the microsecond, in UTC', async () => {
    await engine.addDocuments('t', [doc('a', {}, 1_704_067_200_123_456n), doc('b', {}, -1n)]);
    expect(await rowsOf(engine, 'SELECT _event_time FROM docs ORDER BY _id')).toEqual([
      ['2024-01-01T00:00:00.123456Z'],
      ['1969-12-31T23:59:59.999999Z'],
    ]);
  });

  test('the event time on replace, on change, and between two documents of one batch', async () => {
    await engine.addDocuments('t', [doc('a', { n: 1 }, 5n), doc('b', {}, 6n), doc('b', {})]);
    await engine.addDocuments('t', [doc('a', { n: 2 })]);
    await engine.changeDocuments('t', ['a'], ({ n }) => ({ n: Number(n) + 1 }));
    expect(await rowsOf(engine, 'SELECT epoch_us(_event_time), n FROM docs ORDER BY _id')).toEqual([
      [5, 3],
      [6, null],
    ]);
  });

  test('the arrival time where none is given', async () => {
    const before = Date.now();
    await engine.addDocuments('t', [doc('a', {})]);
    const [[time] = []] = await rowsOf(engine, 'SELECT epoch_ms(_event_time) FROM docs');
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
  });
});

describe('deleteDocuments()', () => {
  test('tells how many there were, each counted once', async () => {
    await engine.addDocuments('t', [doc('a', {}), doc('b', {})]);
    expect(await engine.deleteDocuments('t', ['x', 'a', 'a'])).toBe(1);
    expect(await engine.deleteDocuments('t', [])).toBe(0);
    expect(await rowsOf(engine, 'SELECT _id FROM docs')).toEqual([['b']]);
  });
});

describe('changeDocuments()', () => {
  test('gives exact values and no members that the document has not', async () => {
    const fields = parseJson('{"n":123456789012345678901,"o":{"a":9007199254740993},"l":[null,{"x":1}]}') as JsonObject;
    await engine.addDocuments('t', [doc('a', fields), doc('b', { o: { other: 1 }, l: [{ y: 1 }], p: 1 })]);
    expect(await readBack(engine, 't', ['a'])).toEqual([fields]);
  });

  test('changes an id that is named twice twice, in order', async () => {
    await engine.addDocuments('t', [doc('a', { l: [] as JsonValue[] })]);
    const outcomes = await engine.changeDocuments('t', ['a', 'a'], ({ l }, index) => ({
      l: [...(l as JsonValue[]), index],
    }));
    expect(statusesOf(outcomes)).toEqual(['changed', 'changed']);
    expect(await readBack(engine, 't', ['a'])).toEqual([{ l: [0, 1] }]);
  });

  test('leaves a document alone when the change throws, even after it touched the document', async () => {
    await engine.addDocuments('t', [doc('a', { n: 1, o: { x: 1 } }), doc('b', { n: 1 })]);
    const outcomes = await engine.changeDocuments('t', ['a', 'b', 'a', 'x'], (document, index) => {
      (document as { o?: unknown }).o = 'touched';
      if (index === 0) throw new Error('test failed at /n');
      return { ...document, n: index };
    });
    expect(outcomes).toEqual([
      { status: 'error', message: 'test failed at /n' },
      { status: 'changed' },
      { status: 'changed' },
      { status: 'error', message: 'document "x" does not exist' },
    ]);
    expect(await readBack(engine, 't', ['a', 'b'])).toEqual([
      { n: 2, o: 'touched' },
      { n: 1, o: 'touched' },
    ]);
  });

  test('refuses a result that cannot be stored, and keeps the document', async () => {
    await engine.addDocuments('t', [doc('a', { n: 1 })]);
    const [outcome] = await engine.changeDocuments('t', ['a'], () => ({ n: Infinity }));
    expect(outcome).toEqual({
      status: 'error',
      message: expect.stringContaining('holds a number that is too large at "/n"'),
    });
    expect(await readBack(engine, 't', ['a'])).toEqual([{ n: 1 }]);
  });
});

describe('changeDocuments() of some fields', () => {
  const keysSeen: string[][] = [];
  const change = (fields: JsonObject, ids = ['a', 'b']) => {
    keysSeen.length = 0;
    return engine.changeDocuments(
      't',
      ids,
      (document) => {
        keysSeen.push(Object.keys(document));
        return { ...document, ...fields };
      },
      new Set(Object.keys(fields)),
    );
  };

  beforeEach(async () => {
    await engine.addDocuments('t', [
      doc('a', { n: 1, s: 'one', l: [{ x: 1 }], o: { p: 1 }, '': 'extra' }, 5n),
      doc('b', { n: 2, o: { p: 2, q: [] } }, 6n),
      doc('c', { n: 3 }, 7n),
    ]);
  });

  test('changes these and leaves the others, and the event times', async () => {
    expect(statusesOf(await change({ n: 9, l: [{ x: 5 }, {}], o: null }))).toEqual(['changed', 'changed']);
    expect(await readBack(engine, 't', ['a', 'b', 'c'])).toEqual([
      { n: 9, s: 'one', l: [{ x: 5 }, {}], '': 'extra' },
      { n: 9, l: [{ x: 5 }, {}] },
      { n: 3 },
    ]);
    const times = await rowsOf(engine, 'SELECT _id, epoch_us(_event_time) FROM docs ORDER BY _id');
    expect(times).toEqual([
      ['a', 5],
      ['b', 6],
      ['c', 7],
    ]);
  });

  test.each<[string, JsonObject]>([
    ['a value that is wider than the column', { n: 1.5 }],
    ['a value that the column has no type for', { n: 'text' }],
    ['a longer integer', { n: 2n ** 60n }],
    ['an object with a new field', { o: { p: 1, r: true } }],
    ['a field that no document has', { fresh: 1 }],
    ['a field that has no column', { '': 'other' }],
    ['a field that differs in case', { N: 5 }],
  ])('takes the whole documents for %s', async (_, fields) => {
    expect(statusesOf(await change(fields))).toEqual(['changed', 'changed']);
    expect(keysSeen.at(-2)).toEqual(['n', 's', 'l', 'o', '']);
    const [a, b] = await readBack(engine, 't', ['a', 'b']);
    expect(a).toEqual({ n: 1, s: 'one', l: [{ x: 1 }], o: { p: 1 }, '': 'extra', ...fields });
    expect(b).toEqual({ n: 2, o: { p: 2, q: [] }, ...fields });
  });

  test('leaves those that fail as they were, and changes an id that is named twice twice', async () => {
    const outcomes = await engine.changeDocuments(
      't',
      ['a', 'a', 'none', 'b'],
      ({ n }, index) => {
        if (index === 3) throw new Error('not this one');
        return { n: Number(n) * 10 };
      },
      new Set(['n']),
    );
    expect(statusesOf(outcomes)).toEqual(['changed', 'changed', 'error', 'error']);
    expect(await rowsOf(engine, 'SELECT n FROM docs ORDER BY _id')).toEqual([[100], [2], [3]]);
  });

  test('works in a collection with a field that is called as the engine calls its rows', async () => {
    await engine.addDocuments('t', [doc('d', { ROWID: 0, n: 4 })]);
    await change({ n: 8 }, ['b', 'd']);
    expect(await engine.deleteDocuments('t', ['d', 'none'])).toBe(1);
    expect(await rowsOf(engine, 'SELECT _id, n FROM docs ORDER BY _id')).toEqual([
      ['a', 1],
      ['b', 8],
      ['c', 3],
    ]);
  });
});

test('purge() removes only what is too old where a field is called as the engine calls its rows', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'p', workspace: 'commons', name: 'short', retentionSecs: 3_600 },
  ]);
  await engine.addDocuments('p', [doc('old', { rowid: 1 }, 0n), doc('new', { rowid: 1 })]);
  expect(await engine.purge('p', 3_600_000 - 1)).toMatchObject({ docCount: 0 });
  expect(await engine.purge('p', Date.now())).toMatchObject({ docCount: 1 });
  expect(await rowsOf(engine, 'SELECT _id FROM short')).toEqual([['new']]);
});

describe('writes at the same time', () => {
  test('to one collection, with columns that change: ids stay unique and nothing is lost', async () => {
    const writes = Array.from({ length: 24 }, (_, index) =>
      engine.addDocuments('t', [
        doc('same', { [`k${index}`]: 1 }),
        doc(`own ${index}`, { v: index % 3 ? index : 'x' }),
      ]),
    );
    const changes = Array.from({ length: 24 }, () =>
      engine.changeDocuments('t', ['counter'], ({ n }) => ({ n: Number(n) + 1 })),
    );
    await engine.addDocuments('t', [doc('counter', { n: 0 })]);
    await Promise.all([...writes, ...changes]);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => engine.changeDocuments('t', ['counter'], ({ n }) => ({ n: Number(n) + 1 }))),
    );
    expect(outcomes.flat().every(({ status }) => status === 'changed')).toBe(true);
    expect(await rowsOf(engine, 'SELECT count(*), count(DISTINCT _id) FROM docs')).toEqual([[26, 26]]);
    const [counter] = await readBack(engine, 't', ['counter']);
    expect(Number(counter?.['n'])).toBeGreaterThanOrEqual(20);
  });

  test('to many collections, made and dropped meanwhile, and queries that read', async () => {
    const tables = Array.from({ length: 8 }, (_, index) => `many_${index}`);
    await Promise.all(
      tables.map(async (table, index) => {
        await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name: table }]);
        for (let round = 0; round < 5; round++) {
          await Promise.all([
            engine.addDocuments(table, [doc(`${round}`, { [`k${round}`]: round, v: round % 2 ? 'x' : 1 })]),
            engine.commit([{ do: 'putRecord', kind: 'k', key: table, value: { round } }]),
            engine.query({ sql: `SELECT * FROM ${table}` }),
          ]);
        }
        if (index % 2 === 0) await engine.commit([{ do: 'dropCollection', table }]);
        else expect(await rowsOf(engine, `SELECT count(*) FROM ${table}`)).toEqual([[5]]);
      }),
    );
    await expect(engine.query({ sql: 'SELECT * FROM many_0' })).rejects.toMatchObject({ code: 'query_error' });
  });

  test('a write that waits while its collection is dropped is told so', async () => {
    await engine.commit([{ do: 'createCollection', table: 'gone', workspace: 'commons', name: 'gone' }]);
    const writes = [1, 2, 3].map((n) => engine.addDocuments('gone', [doc('a', { n })]));
    const drop = engine.commit([{ do: 'dropCollection', table: 'gone' }]);
    const late = engine.addDocuments('gone', [doc('a', { n: 4 })]);
    await Promise.all([...writes, drop]);
    await expect(late).rejects.toMatchObject({ code: 'not_found' });
  });
});
