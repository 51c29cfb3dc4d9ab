import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownForms } from '../../../src/engine/duckdb/sql/forms.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [
    doc('1', { n: 1, o: { k: 'x', l: [{ k: 'a' }] }, tags: ['a', 'b'] }),
    doc('2', { n: 2, o: { k: 'y' }, tags: ['c'] }),
    doc('3', { n: 'odd' }),
  ]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

test.each<[string, string[]]>([
  ["n < 9 AND o->>'k' = 'x'", ['1']],
  ["NOT o->>'k' = 'x'", ['2']],
  ["n = 1 OR o->>'k' = 'y'", ['1', '2']],
  ["_id > '0' AND _strays->>'n' = 'odd'", ['3']],
  ["o->'k' IS NOT NULL AND o->'l'->0->>'k' = 'a'", ['1']],
  ["n < 9 AND o::JSON->>'k' IN ('x', 'q')", ['1']],
  ["n < 9 AND CAST(o AS JSON)->>'k' LIKE 'x%'", ['1']],
  ["n < 9 AND to_json(o)->>'k' || 'z' = 'xz'", ['1']],
  ["n < 9 AND (to_json(o))->>'k' = 'x'", ['1']],
  ["n < 9 AND to_json(o).l[0].k->>'$' = 'a' AND (to_json({o: o}).o.k->>'$') = 'x'", ['1']],
  ["n < 9 AND if(o->>'k' = 'x', o->'k' = '\"x\"', false)", ['1']],
  ["n < 9 AND docs.o -> 'k' = '\"x\"'", ['1']],
  ["CASE WHEN n < 9 THEN o END->>'k' = 'x'", ['1']],
  ["n < 9 AND tags[1:n]::JSON->>0 = 'a'", ['1']],
])('an arrow takes the operand before it and the key behind it: %s', async (condition, ids) => {
  const rows = await rowsOf(engine, `SELECT _id FROM docs WHERE ${condition} ORDER BY _id`);
  expect(rows.map(([id]) => id)).toEqual(ids);
});

test.each<[string, unknown]>([
  ["list_transform(tags, x -> 'a' || x)", ['aa', 'ab']],
  ['list_transform(tags, x -> 1)', [1, 1]],
  ["list_filter(tags, x -> 'a' = x)", ['a']],
  ["list_filter(tags, (x -> 'a' = x))", ['a']],
  ["tags.list_filter(x -> 'a' = x)", ['a']],
  ["list_transform(o.l, x -> x->>'k' = 'a' AND x->>'k' = 'a')", [true]],
  ["[x FOR x IN tags IF o->>'k' = 'x' AND o->>'k' = 'x']", ['a', 'b']],
  ["any_value(o) FILTER (WHERE n > 0)->>'k'", 'x'],
  ["count(o->'k')", 1],
  ["COLUMNS(c -> c = 'n')", 1],
])('%s is what it was', async (sql, value) => {
  const group = /any_value|count/.test(sql) ? '' : ' GROUP BY ALL';
  expect(await rowsOf(engine, `SELECT ${sql} FROM docs WHERE n = 1${group}`)).toEqual([[value]]);
});

test('a key may be a parameter, or a field', async () => {
  const keys = "SELECT _id FROM docs, (SELECT 'k' AS key) WHERE n < 9 AND o->>";
  const { rows } = await engine.query({
    sql: `${keys}:k = 'x' AND o->:k = '"x"'`,
    parameters: [{ name: 'k', type: 'string', value: 'k' }],
  });
  expect(rows).toEqual([['1']]);
  expect(await rowsOf(engine, `${keys}key = 'x'`)).toEqual([['1']]);
});

test('LIKE of JSON, whose text has quotes, is warned of', async () => {
  const { rows, warnings } = await engine.query({ sql: "SELECT _id FROM docs WHERE o->'k' LIKE 'x%'" });
  expect(rows).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining("((o->'k')->>'$')")]);
});

test('columns are called as before', async () => {
  const { columns } = await engine.query({ sql: "SELECT o->>'k', o->'k' FROM docs" });
  expect(columns.map(({ name }) => name)).toEqual(['?field0', '?field1']);
});

test.each([
  "SELECT x->>'a'::VARCHAR",
  "SELECT max(j) FILTER (WHERE b)->>'a'",
  "SELECT 'x->>''a'''",
  'SELECT list_transform(l, (x, i) -> 1)',
  "SELECT 1 -- o->>'a'",
])('%s stays as it is written', async (sql) => {
  expect((await ownForms(sql)).sql).toBe(sql);
});

test('a long chain takes no longer than its length', async () => {
  const long = `SELECT o${"->'a'".repeat(20_000)}`;
  const start = performance.now();
  await ownForms(long);
  expect(performance.now() - start).toBeLessThan(2_000);
});

test('an arrow takes a parameter as its operand', async () => {
  const parameters = [{ name: 'o', value: '{"k": "x"}' }];
  const { rows } = await engine.query({ sql: "SELECT :o->>'k', 1 = 1 AND :o->>'k' = 'x'", parameters });
  expect(rows).toEqual([['x', true]]);
});
