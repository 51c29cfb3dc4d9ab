import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const first = {
    n: 1,
    sizes: { s: 1, 'x l': 2 },
    words: { a: 'one "1"', b: '2' },
    mixed: { a: 1, b: 'x', c: { d: 1 } },
  };
  await engine.addDocuments('t', [doc('1', first), doc('2', { words: { a: 'two' } })]);
  await engine.commit(
    ['y24', 'y25', 'mixes'].map((name) => ({ do: 'createCollection', table: name, workspace: 'commons', name })),
  );
  await engine.addDocuments('y24', [doc('1', { rates: { s: 1, l: 2 } })]);
  await engine.addDocuments('y25', [doc('1', { rates: { s: 1.5, l: 2.5 } })]);
  await engine.addDocuments('mixes', [doc('1', { rates: { s: 1, ")' l": 2.5 }, flags: { s: true } })]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const rowsOf = async (sql: string) => (await engine.query({ sql })).rows;

describe('a function of maps reads an object of fields of one type', () => {
  test.each([
    ["SELECT e.key, e.value + 1 FROM docs d, unnest(map_entries(d.sizes)) AS u(e) WHERE e.key LIKE 's%'", [['s', 2]]],
    [
      "SELECT _id, e.key FROM docs, unnest(map_entries(words)) AS u(e) WHERE e.value LIKE '%o%' ORDER BY 1",
      [
        ['1', 'a'],
        ['2', 'a'],
      ],
    ],
    [
      'SELECT len(map_entries(words)), len(map_keys(words)) FROM docs ORDER BY _id',
      [
        [2, 2],
        [1, 1],
      ],
    ],
    ["SELECT map_contains(sizes, 'x l') FROM docs WHERE n = 1", [[true]]],
    ['SELECT list_sum(map_values(sizes)) FROM docs WHERE n = 1', [[3]]],
    ['SELECT unnest(map_keys(mixed)) FROM docs', [['a'], ['b'], ['c']]],
  ])('%s', async (sql, rows) => {
    expect(await rowsOf(sql)).toEqual(rows);
    expect(await engine.inspect({ sql })).toMatchObject({ collections: ['commons.docs'] });
  });
});

describe('its values are of the type that they have where it is called', () => {
  const both = [[[1, 2]], [[1.5, 2.5]]];
  test.each([
    ['SELECT map_values(b.rates) FROM y24 a JOIN y25 b USING (_id)', [[[1.5, 2.5]]]],
    ['SELECT map_values(a.rates), map_values(b.rates) FROM y24 a JOIN y25 b USING (_id)', [both.flat()]],
    ['SELECT map_values(rates) FROM y24 UNION ALL SELECT map_values(rates) FROM y25 ORDER BY ALL', both],
    [
      "WITH c AS (SELECT {'s': 0.5::DOUBLE, 'l': 1.5::DOUBLE} AS sizes, _id FROM docs) SELECT map_values(sizes) FROM c LIMIT 1",
      [[[0.5, 1.5]]],
    ],
    ['SELECT map_values(rates) FROM (SELECT y25.rates FROM y24, y25)', [[[1.5, 2.5]]]],
    ['SELECT map_values(flags) FROM mixes', [[[true]]]],
  ])('%s', async (sql, rows) => {
    expect(await rowsOf(sql)).toEqual(rows);
  });

  test.each([
    ["WITH c AS (SELECT {'s': 0.5, 'l': 1.55} AS sizes FROM docs) SELECT map_values(sizes) FROM c", 'sizes'],
    ['SELECT map_values(b.rates) FROM y24 a JOIN mixes b USING (_id)', 'b.rates'],
    // One call of objects of several types.
    ["SELECT map_values(COLUMNS('rates|flags')) FROM mixes", "COLUMNS('rates|flags')"],
    ["SELECT map_values(COLUMNS(c -> c = 'r')) FROM (SELECT y24.rates AS r FROM y24)", "COLUMNS(c -> c = 'r')"],
  ])('and is told what to write if that is none, or several: %s', async (sql, object) => {
    await expect(rowsOf(sql)).rejects.toThrow(`json_each(${object})`);
  });
});

test('one of fields of several types, whose values are JSON, is told what to write', async () => {
  await expect(rowsOf('SELECT map_entries(mixed) FROM docs')).rejects.toThrow('json_each(mixed)');
});

test('another mistake is told without a place, which would be one in other SQL', async () => {
  const sql = 'SELECT e.nokey FROM docs, unnest(map_entries(sizes)) AS u(e)';
  await expect(rowsOf(sql)).rejects.toMatchObject({
    message: expect.stringContaining('"nokey"'),
    details: {},
  });
});

test('json_each has no id of its own, which would make that of documents ambiguous', async () => {
  const sql =
    'SELECT id, e.key FROM (SELECT _id AS id, mixed FROM docs) AS d, json_each(mixed) AS e ORDER BY ALL LIMIT 1';
  expect(await rowsOf(sql)).toEqual([['1', 'a']]);
});
