import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import { fieldName } from '../../../src/engine/duckdb/sql/syntax-hints.ts';
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

/** Writes documents with these fields into a new collection of this name, one write for each list of them. */
async function collectionOf(name: string, ...writes: JsonObject[][]): Promise<string> {
  const table = `t${++made}`;
  await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name, recognizeTimes: true }]);
  let id = 0;
  for (const write of writes) {
    const outcomes = await engine.addDocuments(
      table,
      write.map((fields) => doc(`d${String(id++).padStart(3, '0')}`, fields)),
    );
    expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
  }
  return table;
}

/** So many times a number and a text. */
const mixed = (pairs: number): JsonValue[] => Array.from({ length: 2 * pairs }, (_, n) => (n % 2 === 0 ? n : `x${n}`));
const rowsOf = async (sql: string) => (await engine.query({ sql })).rows;

describe('rows with very many strays', () => {
  test('are shown as they were written, and counted', async () => {
    const list = mixed(40_000);
    await collectionOf('long', [{ l: [1, 2], n: 1 }], [{ l: list, n: 2, s: 1 }]);
    const { rows, warnings } = await engine.query({ sql: 'SELECT l, n FROM long WHERE n = 2' });
    expect(warnings).toEqual([]);
    expect(rows).toEqual([[list, 2]]);
    const summed = await engine.query({ sql: 'SELECT sum(list_sum(l)) FROM long' });
    expect(summed.warnings.join()).toMatch(/^commons\.long: values that do not fit their field are NULL here: 1 of l /);
    expect(await rowsOf('SELECT count(*) FROM long')).toEqual([[2]]);
  });

  test('are one for the whole list beyond 10,000, and its items are said', async () => {
    await collectionOf('whole', [{ l: [1, 2] }], [{ l: [...Array(20_000).fill(1), ...Array(20_000).fill('x')] }]);
    for (const sql of ['SELECT sum(len(l)) FROM whole', 'SELECT l.list_sum() FROM whole']) {
      expect((await engine.query({ sql })).warnings).toEqual([
        expect.stringContaining(
          '1 of l (BIGINT[]) (kept as a whole, with 40,000 items, as too many within do not fit)',
        ),
      ]);
    }
  });

  test('in more fields than are counted are all said', async () => {
    const keys = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`${n}${'k'.repeat(256)}`, n]));
    await collectionOf('fields', [{ o: { a: 1, ...keys } }]);
    const { warnings } = await engine.query({ sql: 'SELECT to_json(o) FROM fields' });
    expect(warnings.at(-1)).toContain('; and 1,495 more fields. SELECT _id, _strays FROM commons.fields WHERE');
  });

  test('so is an object of very many keys that is one stray', async () => {
    const keys = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, n]));
    await collectionOf('keys', [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }], [{ n: keys }]);
    expect(await rowsOf('SELECT n FROM keys ORDER BY _id')).toEqual([[1], [2], [3], [4], [keys]]);
  });

  test('do not make later writes and warnings take the square of their number', async () => {
    const table = await collectionOf('square', [{ n: 1, l: [1] }], [{ n: 2, l: mixed(4_900) }]);
    await engine.addDocuments(table, [doc('late', { n: 'x', l: ['y', 2, 3] })]);
    const { warnings } = await engine.query({ sql: 'SELECT sum(list_sum(l)), sum(n) FROM square' });
    expect(warnings).toEqual([
      expect.stringMatching(
        /^commons\.square: .* here: 4,901 of l\[\] \(BIGINT\): coalesce\(.*\) in FROM; 1 of n \(BIGINT\): \(_strays->>'n'\)\.$/,
      ),
    ]);
  });
});

test('warnings count all places that are read, and only these', async () => {
  const keyed = (of: string, value: JsonValue) =>
    Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${of}_${n}`, value]));
  const numbers = Array.from({ length: 20 }, (_, n) => ({ m: keyed(`k${n}`, n), z: n }));
  const texts = Array.from({ length: 15 }, (_, n) => ({ m: keyed(`t${n}`, 'odd') }));
  await collectionOf('wide', numbers, texts, [{ z: 'none', o: { 2020: 1, 2021: 2 } }, { o: { 2020: 'x', 2021: 3 } }]);
  const warningsOf = async (sql: string) => (await engine.query({ sql })).warnings;
  expect(await warningsOf('SELECT sum(z) FROM wide')).toEqual([expect.stringMatching(/: 1 of z /)]);
  expect(await warningsOf('SELECT sum(o."2020"), sum(o."2021") FROM wide')).toEqual([
    expect.stringMatching(/: 1 of o\."2020" .*\(_strays->>'o\/2020'\)/),
  ]);
  expect(await warningsOf('SELECT list_sum(map_values(m)) FROM wide')).toEqual([
    expect.stringMatching(/: 1,500 of m\.<key> /),
  ]);
  expect(await warningsOf("SELECT sum(m['k0_1']) FROM wide")).toEqual([]);
  expect(await warningsOf("SELECT sum(m['t0_1']) FROM wide")).toEqual([expect.stringMatching(/: 1 of m\.<key> /)]);
});

test('documents that a write replaces do not count for what they had', async () => {
  const ids = Array.from({ length: 10 }, (_, n) => `d${String(n).padStart(3, '0')}`);
  const table = await collectionOf(
    'replaced',
    ids.map((_, n) => ({ n, s: 'x' })),
  );
  await engine.addDocuments(
    table,
    ids.map((id, n) => doc(id, { n: `text ${n}`, s: 1 })),
  );
  const { rows, warnings } = await engine.query({
    sql: 'SELECT pg_typeof(n), max(n), pg_typeof(s), max(s) FROM replaced GROUP BY ALL',
  });
  expect(rows).toEqual([['varchar', 'text 9', 'bigint', 1]]);
  expect(warnings).toEqual([]);
});

test('a map has the keys that were strays beside the fields of an object', async () => {
  const keyed = (n: number) => ({ m: { k0: n, [`k${n}`]: n, [`K${n}`]: -n } });
  await collectionOf(
    'cased',
    [keyed(0), { m: { K0: 7, k1: 1 } }],
    Array.from({ length: 40 }, (_, n) => keyed(n + 1)),
  );
  const { rows, warnings } = await engine.query({
    sql: "SELECT pg_typeof(m), max(m['K0']), max(m['K30']) FROM cased GROUP BY 1",
  });
  expect(rows).toEqual([['map(varchar, bigint)', 7, -30]]);
  expect(warnings).toEqual([]);
});

test('columns are shown with the strays that each has', async () => {
  const columns = Array.from({ length: 200 }, (_, n) => `c${n}`);
  const all = Object.fromEntries(columns.map((name, n) => [name, n]));
  await collectionOf(
    'many',
    [
      { ...all, l: [1] },
      { ...all, l: [2] },
    ],
    [{ ...all, c7: 'x', C8: 1, l: mixed(4_000) }],
  );
  const [row] = await rowsOf(`SELECT C7, c7 AS again, l, c9 FROM many ORDER BY _id DESC LIMIT 1`);
  expect(row).toEqual(['x', 'x', mixed(4_000), 9]);
});

test('a text that is no time is counted where times are read, whatever it looks like', async () => {
  const times = Array.from({ length: 8 }, (_, n) => ({ d: `2024-05-0${n + 1}`, t: `2024-05-0${n + 1}T10:00:00Z` }));
  await collectionOf('times', times, [
    { d: '2024-02-30', t: '2024-05-01T25:00:00Z' },
    { d: '2024-05-01', t: '2024-05-01T10:00:00+19:00' },
    { d: '2024-05-01', t: '2024-05-01T10:00:00+0200' },
  ]);
  const { warnings } = await engine.query({ sql: 'SELECT max(d), max(t) FROM times' });
  expect(warnings).toEqual([
    expect.stringMatching(/^commons\.times: .*: 2 of t \(TIMESTAMP WITH TIME ZONE\): .*; 1 of d \(DATE\): /),
  ]);
});

test('a kept result has the strays in its pages, says that its conditions do not, and counts them in its profile', async () => {
  await collectionOf('kept', [
    { n: 1, s: 'a' },
    { n: 2, s: 'b' },
    { n: 'three', s: 3 },
    { s: 'd', o: { x: 1 } },
    { n: 2, o: { x: 'y' } },
  ]);
  await engine.query({ sql: 'SELECT n, s AS limit, o.x FROM kept ORDER BY _id', keep: { id: 'k', rowsMax: 1 } });
  const page = await engine.results.read('k', { offset: 1, limit: 4 });
  expect(page.rows).toEqual([
    [2, 'b', null],
    ['three', 3, null],
    [null, 'd', 1],
    [2, null, 'y'],
  ]);
  expect(page.warnings).toEqual([]);
  const some = await engine.results.read('k', { offset: 0, limit: 4, where: 'n > 1', columns: ['limit', 'x'] });
  expect(some.rows).toEqual([
    ['b', null],
    [null, 'y'],
  ]);
  expect(some.warnings.join()).toMatch(/do not fit the type of their column/);
  expect(await engine.results.profile('k')).toMatchObject([
    { name: 'n', nulls: 1, strays: 1, distinct: 2, min: 1, max: 2 },
    { name: 'limit', nulls: 1, strays: 1, distinct: 4, max: 'd' },
    { name: 'x', nulls: 3, strays: 1, distinct: 1 },
  ]);
});

test.each(['a/b', 'a~1b', "it's", 'q"q', 'a.b', 'two\nlines', 'x{2}', '(p', 'ü', '0', ' ', 'limit', '\\d', '$', '%'])(
  'a field named %j is shown, warned about and counted like any other',
  async (name) => {
    const sql = `"${name.replaceAll('"', '""')}"`;
    const one = (value: JsonValue) => ({ [name]: value, o: { [name]: value, z: 1 }, l: [{ [name]: [1, value] }] });
    await collectionOf(`named${made}`, [one(1), one(2), one(3), one('odd'), { o: { other: 1 } }]);
    const from = `named${made - 1}`;
    const shown = fieldName(name);
    expect(await rowsOf(`SELECT ${sql}, o.${sql}, l FROM ${from} ORDER BY _id LIMIT 1 OFFSET 3`)).toEqual([
      ['odd', 'odd', [{ [name]: [1, 'odd'] }]],
    ]);
    expect(await rowsOf(`SELECT * EXCLUDE (_id, _event_time) FROM ${from} WHERE _id = 'd003'`)).toEqual([
      expect.arrayContaining(['odd', { [name]: 'odd', z: 1 }]),
    ]);
    const warningsOf = async (of: string) => (await engine.query({ sql: `SELECT ${of} FROM ${from}` })).warnings;
    expect(await warningsOf(`sum(${sql})`)).toEqual([
      expect.stringContaining(`NULL here: 1 of ${shown} (BIGINT): (_strays->>`),
    ]);
    expect(await warningsOf(`sum(o.${sql})`)).toEqual([
      expect.stringContaining(`1 of o.${shown} (BIGINT): (_strays->>`),
    ]);
    expect(await warningsOf('sum(o.z), sum(o.other)')).toEqual([]);
    for (const of of [`sum(${sql})`, `sum(o.${sql})`]) {
      const [warning = ''] = await warningsOf(of);
      const read = warning.slice(warning.indexOf('(_strays->>'), -1);
      expect(await rowsOf(`SELECT ${read} FROM ${from} WHERE ${read} IS NOT NULL`)).toEqual([['odd']]);
    }
    expect(await warningsOf('len(l)')).toEqual([
      expect.stringContaining(`1 of l[].${shown}[] (BIGINT). SELECT _id, _strays FROM commons.${from}`),
    ]);
  },
);

describe('columns that are computed beside those that are picked', () => {
  test('leave these as they were written, and say what they did not see', async () => {
    await collectionOf(
      'beside',
      Array.from({ length: 8 }, (_, n) => ({ n, s: `s${n}`, t: `2024-05-0${n + 1}T10:00:00+02:00` })),
      [{ n: 'n/a', s: 7, t: '2024-05-09T10:00:00+02:00' }],
    );
    const ask = (sql: string) => engine.query({ sql: `${sql} FROM beside WHERE _id = 'd008'` });
    const picked = await ask('SELECT *, upper(s) AS u, 1');
    expect(picked.columns.map(({ name }) => name)).toEqual(['_id', '_event_time', 'n', 's', 't', 'u', '?field2']);
    expect(picked.rows[0]?.slice(2)).toEqual(['n/a', 7, '2024-05-09T10:00:00+02:00', '7', 1]);
    expect(picked.warnings).toEqual([]);
    const computed = await ask('SELECT n, n + 1 AS m, t, year(t)');
    expect(computed.rows).toEqual([['n/a', null, '2024-05-09T10:00:00+02:00', 2024]]);
    expect(computed.warnings).toEqual([expect.stringMatching(/: 1 of n \(BIGINT\): /)]);
    // What may be several columns leaves no place to tell.
    expect((await ask('SELECT n, unnest([1, 2])')).rows).toEqual([
      [null, 1],
      [null, 2],
    ]);
  });
});
