import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, readBack, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [
    doc('a', { o: { x: 1, in: { p: 1 } }, l: [{ x: 1 }, null, { in: [{ p: 1 }] }], m: 1 }),
    doc('b', { o: { in: { q: '"r":null' }, y: ':null,' }, l: [{ y: 2 }], m: { k: null, n: [null, { k: null }] } }),
  ]);
});
afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const O = [
  { x: 1, in: { p: 1 } },
  { in: { q: '"r":null' }, y: ':null,' },
];
const L = [[{ x: 1 }, null, { in: [{ p: 1 }] }], [{ y: 2 }]];

describe('keys that a document lacks, and other documents have, are missing', () => {
  test.each([
    ['o', O],
    ['l', L],
    ['to_json(o)', O],
    ['to_json(l)', L],
    ['to_json(o.in)', O.map((one) => one.in)],
    ['o::JSON', O],
    ['[o]', O.map((one) => [one])],
    ['json_keys(o)', O.map((one) => Object.keys(one))],
    ["json_keys(o, '$.in')", O.map((one) => Object.keys(one.in))],
    ["json_value(o, '$.x')", ['1', null]],
    ["json_value(o::JSON, '$.in.q')", [null, '"r":null']],
    ["json_value(l[1], '$')", [null, null]],
    ['json_keys(o::JSON)', O.map((one) => Object.keys(one))],
    ["json_keys(o->'in')", O.map((one) => Object.keys(one.in))],
    ['(SELECT list(key) FROM json_each(CAST(o AS JSON)))', O.map((one) => Object.keys(one))],
    ['struct_keys(o)', O.map((one) => Object.keys(one))],
    ['KEYS(o)', O.map((one) => Object.keys(one))],
    ['(SELECT list(key) FROM json_each(o))', O.map((one) => Object.keys(one))],
    ["(SELECT list(key) FROM json_each(o, '$.in'))", O.map((one) => Object.keys(one.in))],
    ['(SELECT count(*) FROM json_tree(o))', [4, 4]],
    ["json_exists(o, '$.x')", [true, false]],
    ["json_type(o, '$.x')", ['UBIGINT', null]],
    ['json_contains(o, \'{"x": 1}\')', [true, false]],
    ["json_extract_string(o, '$.in')", ['{"p":1}', '{"q":"\\"r\\":null"}']],
    [
      'json_structure(o)',
      [
        { x: 'UBIGINT', in: { p: 'UBIGINT' } },
        { in: { q: 'VARCHAR' }, y: 'VARCHAR' },
      ],
    ],
    ['json_group_array(o)', O.map((one) => [one])],
    ["json_group_object('k', o)", O.map((k) => ({ k }))],
    ['MAP {1: o}', O.map((value) => [{ key: 1, value }])],
    ["MAP {'k': o, 'n': NULL}", O.map((k) => ({ k }))],
  ])('%s', async (expression, values) => {
    const grouped = /group/.test(expression) ? ' GROUP BY _id' : '';
    const rows = await rowsOf(engine, `SELECT ${expression} FROM docs${grouped} ORDER BY _id`);
    expect(rows.map(([value]) => value)).toEqual(values);
  });

  test('a whole row keeps its columns', async () => {
    const { columns, rows } = await engine.query({ sql: "SELECT * FROM docs WHERE _id = 'b'" });
    expect(columns.map(({ name }) => name)).toEqual(['_id', '_event_time', 'o', 'l', 'm']);
    expect(rows[0]?.slice(2)).toEqual([O[1], L[1], { n: [null, {}] }]);
  });
});

describe('JSON that was written as JSON', () => {
  test('in a document: a key whose value is null is missing, an item that is null stays', async () => {
    // More values of no common type.
    await engine.addDocuments('t', [doc('c', { m: [1] }), doc('d', { m: 'x' })]);
    expect(await rowsOf(engine, "SELECT m::VARCHAR, json_keys(m) FROM docs WHERE _id = 'b'")).toEqual([
      ['{"n":[null,{}]}', ['n']],
    ]);
    expect(await readBack(engine, 't', ['b'])).toEqual([{ o: O[1], l: L[1], m: { n: [null, {}] } }]);
  });

  test('in SQL: is as it was written until it is an answer', async () => {
    const sql = `SELECT json_keys('{"a": null, "b": 1}'), to_json('x'), json_type('null'), json_keys({'a': NULL})`;
    expect(await rowsOf(engine, sql)).toEqual([[['a', 'b'], 'x', 'NULL', []]]);
  });

  test('a parameter that is JSON text keeps its nulls, which tell json_merge_patch what to remove', async () => {
    const parameters = [{ name: 'p', type: 'string', value: '{"x": null, "z": 1}' }];
    const sql = "SELECT json_merge_patch(to_json(o), :p::JSON) FROM docs WHERE _id = 'a'";
    expect((await engine.query({ sql, parameters })).rows).toEqual([[{ in: { p: 1 }, z: 1 }]]);
  });
});
