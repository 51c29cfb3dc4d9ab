import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { doc, openSmall, temporaryFolder } from '../harness.ts';

const home = temporaryFolder();
let engine: Engine;
let made = 0;

beforeAll(async () => {
  engine = await openSmall(home.file);
  await engine.commit([{ do: 'createWorkspace', workspace: 'commons' }]);
});
afterAll(async () => {
  await engine.close();
  home.dispose();
});

/** What DESCRIBE says of a collection with these documents, without their special fields. */
async function described(...documents: JsonObject[]): Promise<JsonValue[][]> {
  const name = `c${++made}`;
  await engine.commit([{ do: 'createCollection', table: name, workspace: 'commons', name, recognizeTimes: true }]);
  await engine.addDocuments(
    name,
    documents.map((fields, index) => doc(`d${index}`, fields)),
  );
  const { columns, rows } = await engine.query({ sql: `DESCRIBE commons.${name}` });
  expect(columns.map((column) => column.name)).toEqual(['field', 'type', 'occurrences', 'total']);
  expect(rows.slice(0, 2)).toEqual([
    [['_id'], 'string', documents.length, documents.length],
    [['_event_time'], 'timestamp', documents.length, documents.length],
  ]);
  return rows.slice(2);
}

describe('DESCRIBE of a collection', () => {
  test('has a row for each path and type', async () => {
    const rows = await described(
      { name: 'John', age: 31, city: 'New York' },
      { name: 'Michael', age: 30.5, experiences: [{ title: 'XYZ', years: 4 }, { title: 'ABC' }] },
    );
    expect(rows).toEqual([
      [['name'], 'string', 2, 2],
      [['age'], 'float', 2, 2],
      [['city'], 'string', 1, 2],
      [['experiences'], 'array', 1, 2],
      [['experiences', '*'], 'object', 2, 2],
      [['experiences', '*', 'title'], 'string', 2, 2],
      [['experiences', '*', 'years'], 'int', 1, 2],
    ]);
  });

  test('counts what does not fit under its own type', async () => {
    const numbers = Array.from({ length: 8 }, (_, n) => ({ n, s: `s${n}`, l: [1, 2] }));
    const floats = [1.5, 123456789012345678901234567890n, 2.5].map((f) => ({ f }));
    expect(await described(...floats)).toEqual([[['f'], 'float', 3, 3]]);
    const rows = await described(...numbers, { n: 'x', s: 5, l: [3, 'y'] });
    expect(rows).toEqual([
      [['n'], 'int', 8, 9],
      [['s'], 'string', 8, 9],
      [['l'], 'array', 9, 9],
      [['l', '*'], 'int', 17, 18],
      [['l', '*'], 'string', 1, 18],
      [['n'], 'string', 1, 9],
      [['s'], 'int', 1, 9],
    ]);
  });

  test('says of a field of which only values are left that do not fit how many there could be', async () => {
    const fitting = Array.from({ length: 8 }, (_, n) => ({ o: { n, m: true }, l: [n] }));
    await described(...fitting, { o: { n: 'x' }, l: ['y', 'z'] }, { o: { m: true }, l: [] });
    const ids = fitting.map((_, index) => `d${index}`);
    await engine.deleteDocuments(`c${made}`, ids);
    expect((await engine.query({ sql: `DESCRIBE commons.c${made}` })).rows.slice(2)).toEqual([
      [['o'], 'object', 2, 2],
      [['o', 'm'], 'bool', 1, 2],
      [['l'], 'array', 2, 2],
      [['l', '*'], 'string', 2, 2],
      [['o', 'n'], 'string', 1, 2],
    ]);
  });

  test('has one row for the values of a map, each type of JSON, times, and keys that differ in case', async () => {
    const keyed = Array.from({ length: 40 }, (_, n) => ({ m: { [`k${n}`]: { v: n }, [`j${n}`]: { v: n } } }));
    expect(await described(...keyed)).toEqual([
      [['m'], 'object', 40, 40],
      [['m', '*'], 'object', 80, 80],
      [['m', '*', 'v'], 'int', 80, 80],
    ]);
    const mixed = [1, 'x', [1], { a: 1 }, null].map((j) => ({ j, at: '2024-05-01T10:00:00Z', Key: 1 }));
    expect(await described(...mixed, { key: true })).toEqual([
      [['j'], 'string', 1, 6],
      [['j'], 'int', 1, 6],
      [['j'], 'array', 1, 6],
      [['j'], 'object', 1, 6],
      [['at'], 'timestamp', 5, 6],
      [['Key'], 'int', 5, 6],
      [['key'], 'bool', 1, 6],
    ]);
  });

  test('of an alias is that of what it stands for, and of nothing has no counts', async () => {
    await engine.commit([{ do: 'createCollection', table: 'empty', workspace: 'commons', name: 'empty' }]);
    expect((await engine.query({ sql: 'DESC empty' })).rows).toEqual([]);
    await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'behind', tables: ['c1'] }]);
    expect((await engine.query({ sql: 'DESCRIBE behind' })).rows.length).toBeGreaterThan(7);
  });

  test('and not of a query, nor by SHOW: these say what columns the engine has', async () => {
    for (const sql of ['DESCRIBE SELECT * FROM c1', 'SHOW c1', 'FROM (DESCRIBE c1)']) {
      expect((await engine.query({ sql })).columns.map(({ name }) => name)).toContain('column_type');
    }
  });
});
