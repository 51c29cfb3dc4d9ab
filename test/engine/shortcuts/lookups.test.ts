import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import { quoteText } from '../../../src/engine/duckdb/sql/names.ts';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { MORE, someOf } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { createFixture, type Fixture, type Hashes, ODD_IDS } from '../fixture.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

const fixtures = {} as Record<Hashes, Fixture>;
beforeAll(async () => {
  for (const hashes of ['right', 'wrong', 'none'] as const) fixtures[hashes] = await createFixture({}, hashes);
});
afterAll(async () => {
  for (const fixture of Object.values(fixtures)) await fixture.close();
});

function given(value: JsonValue): Parameter[] {
  return [{ name: 'id', value }];
}

/** The answer or the error, with everything that a caller is told. */
async function answerOf(fixture: Fixture, sql: string, parameters: Parameter[]) {
  try {
    const { columns, rows, cut, collections } = await fixture.queries.query({ sql, parameters, defaultRowLimit: 5 });
    return { columns, rows, cut, collections };
  } catch (error) {
    const { code, message, details } = error as { code: string; message: string; details: object };
    return { code, message, details };
  }
}

/** Whether the document is looked up by its hash: then it is not found if the hashes are wrong. */
async function isByHash(sql: string, value: JsonValue = '7'): Promise<boolean> {
  const rows = await fixtures.none.rows(sql, { parameters: given(value) });
  expect(rows).not.toEqual([]);
  return JSON.stringify(await fixtures.wrong.rows(sql, { parameters: given(value) })) !== JSON.stringify(rows);
}

const BY_HASH = [
  'SELECT n FROM odd WHERE _id = $',
  'FROM odd WHERE _id == $',
  'SELECT n FROM odd WHERE NOT (_id <> $)',
  'SELECT * FROM odd o WHERE $ = o._id AND n >= 0 LIMIT 3',
  'SELECT "ODD"._ID FROM commons.Odd WHERE "Odd"."_id" = $ AND (n > 0 OR n IS NULL OR n = 0)',
  'SELECT count(*), max(n) FROM "commons"."odd" AS "a b" WHERE (("a b"._id = ($)))',
  'SELECT odd, odd.*, l[1], prod.odd.n FROM/* (-- */odd/**/WHERE n < 100 AND _id = $ -- not the end',
  'SELECT n, (SELECT count(*) FROM odd other WHERE other.n < odd.n) FROM odd WHERE _id = $ ORDER BY ALL',
  'SELECT COLUMNS(* EXCLUDE l), row_number() OVER () FROM odd WHERE _id = $ QUALIFY true',
  'SELECT n, count(*) FROM odd WHERE _id = $ GROUP BY ALL HAVING n >= 0',
  'SELECT list_transform(l, lambda _id: _id + n) FROM odd WHERE _id = $',
  'SELECT DISTINCT ON (n) n, _id FROM odd WHERE _id = $ AND EXISTS (FROM orders WHERE amount > odd.n - 100);',
];

const AS_WRITTEN = [
  'SELECT n FROM odd WHERE _id = $ OR n < 0',
  'SELECT n FROM odd WHERE (_id = $) IS TRUE',
  "SELECT n FROM odd WHERE _id || '' = $",
  'SELECT n FROM odd WHERE _id COLLATE NOCASE = $',
  'SELECT n FROM odd WHERE _id = $ COLLATE NOCASE',
  'SELECT n FROM odd WHERE _id LIKE $',
  'SELECT n FROM odd WHERE _id = CAST($ AS VARCHAR)',
  'SELECT n FROM numbers WHERE _id = $::INTEGER',
  'SELECT n FROM odd WHERE _id IN ($)',
  'SELECT n FROM odd WHERE commons.odd._id = $',
  'SELECT commons.odd.n FROM odd WHERE _id = $',
  'SELECT prod._id, n FROM odd WHERE prod._id = $',
  'SELECT prod._id, n FROM odd AS prod WHERE prod._id = $',
  'SELECT l AS _id FROM odd WHERE _id = $',
  'SELECT #2 FROM odd WHERE _id = $',
  'SELECT l FROM odd AS o(x, _id) WHERE x = $',
  'SELECT l FROM odd AS o(_id, x) WHERE _id = $',
  'WITH odd AS (SELECT 1 AS _id, 2 AS n UNION ALL SELECT 7, 3) SELECT n FROM odd WHERE _id = $',
  'WITH x AS (SELECT 1) SELECT n FROM odd WHERE _id = $',
  'SELECT n FROM odd TABLESAMPLE 100% WHERE _id = $',
  'SELECT n FROM odd WHERE _id = $ USING SAMPLE 100%',
  'SELECT a.n FROM odd a, odd b WHERE a._id = $',
  'SELECT n FROM odd WHERE _id = $ UNION ALL SELECT 1',
  'SELECT n FROM (FROM odd) odd WHERE _id = $',
  'SELECT (SELECT n FROM odd WHERE _id = $)',
  'SELECT n FROM commons . odd WHERE _id = $',
  'SELECT _id FROM recent WHERE _id = $ OR true',
];

const FAILING = [
  'SELECT nope FROM odd WHERE _id = $',
  'SELECT _meta FROM odd WHERE _id = $',
  'SELECT odd._meta FROM odd WHERE _id = $',
  'SELECT rowid FROM odd WHERE _id = $',
  "SELECT COLUMNS('_meta') FROM odd WHERE _id = $",
  'SELECT n FROM odd WHERE _id = $ AND _meta > 0',
  'SELECT n FROM odd o WHERE odd._id = $',
  "SELECT n,\n  error('no ' || n)\nFROM odd WHERE _id = $",
  'SELECT _id::INTEGER FROM odd WHERE _id = $',
  'SELECT n.x FROM odd WHERE _id = $',
  'SELECT abs(_id) FROM odd WHERE _id = $',
  'SELECT n FROM odd WHERE _id = $ ORDER BY nope',
  'SELECT * EXCLUDE (nope) FROM odd WHERE _id = $',
];

const literal = (sql: string, id: string) => sql.replaceAll('$', () => quoteText(id));
const parameter = (sql: string) => sql.replaceAll('$', ':id');

describe('a document that a statement asks for by its id', () => {
  test.each(BY_HASH)('is looked up by hash: %s', async (sql) => {
    expect(await isByHash(literal(sql, '7'))).toBe(true);
    for (const _ of [0, 1, 2]) expect(await isByHash(parameter(sql))).toBe(true);
  });

  test.each(AS_WRITTEN)('is not looked up by hash if that could give another answer: %s', async (sql) => {
    expect(await isByHash(literal(sql, '7'))).toBe(false);
    for (const _ of [0, 1, 2]) expect(await isByHash(parameter(sql))).toBe(false);
  });

  test('is not looked up by hash if the value is no text, whatever values the statement had before', async () => {
    const sql = 'SELECT n FROM numbers WHERE _id = :id';
    for (const value of ['7', 7, '7', 7, 7n, '7']) expect(await isByHash(sql, value)).toBe(value === '7');
    const typed = { parameters: [{ name: 'id', type: 'int', value: '7' }] };
    expect(await fixtures.wrong.rows(sql, typed)).toEqual([[1], [2]]);
    expect(await isByHash('SELECT n FROM numbers WHERE _id = 7')).toBe(false);
    expect(await fixtures.right.rows(sql, { parameters: given(null) })).toEqual([]);
    expect(await fixtures.right.rows('SELECT count(*) FROM odd WHERE _id = NULL')).toEqual([[0]]);
    expect(await isByHash('SELECT n FROM odd WHERE _id = :id AND :id IS NOT NULL')).toBe(false);
  });

  test('has a plan that does not show the hash', async () => {
    for (const explain of ['EXPLAIN', 'EXPLAIN ANALYZE', 'EXPLAIN (FORMAT json)']) {
      const rows = await fixtures.right.rows(`${explain} SELECT n FROM odd WHERE _id = '7'`);
      expect(JSON.stringify(rows)).not.toMatch(/_meta|md5/);
    }
  });
});

test('a small collection is scanned, which is faster', async () => {
  const few = await createFixture({ lookupRowsMin: ODD_IDS.length + 1 }, 'wrong');
  const enough = await createFixture({ lookupRowsMin: ODD_IDS.length }, 'wrong');
  const sql = 'SELECT n FROM odd WHERE _id = :id';
  expect(await few.rows(sql, { parameters: given('7') })).toEqual([[2]]);
  expect(await enough.rows(sql, { parameters: given('7') })).toEqual([]);
  await few.close();
  await enough.close();
});

test('a result of one row is cut, empty, or an error as any other', async () => {
  const fixture = await createFixture({ resultBytesMax: 2_000 }, 'right');
  const ask = (sql: string, value: JsonValue) => answerOf(fixture, sql, given(value));
  for (const _ of [0, 1, 2]) {
    const long = { rows: [], cut: { reason: 'bytes', limit: 2_000 } };
    expect(await ask('SELECT _id FROM odd WHERE _id = :id', 'x'.repeat(3_000))).toMatchObject(long);
    expect(await ask('SELECT :id', 'x'.repeat(3_000))).toMatchObject(long);
    expect(await ask('SELECT n FROM odd WHERE _id = :id LIMIT 0', '7')).toMatchObject({ rows: [], cut: null });
    expect(await ask('SELECT n FROM odd WHERE _id = :id', 'none')).toMatchObject({ rows: [], cut: null });
    expect(await ask('SELECT n, _id FROM odd WHERE _id = :id', '7')).toMatchObject({ rows: [[2, '7']], cut: null });
    expect(await ask('SELECT n FROM numbers WHERE _id = :id ORDER BY n', 7)).toMatchObject({ rows: [[1], [2]] });
    expect(await ask('SELECT :id::INTEGER', 'x')).toMatchObject({ code: 'query_error' });
  }
  await fixture.close();
});

test('a collection that grows large is looked up by hash after a while', async () => {
  const fixture = await createFixture({ lookupRowsMin: ODD_IDS.length + 1 }, 'wrong');
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const sql = 'SELECT n FROM odd WHERE _id = :id';
    const ask = () => fixture.rows(sql, { parameters: given('7') });
    for (const _ of [0, 1, 2]) expect(await ask()).toEqual([[2]]);
    await fixture.direct("INSERT INTO _data.t8 SELECT * REPLACE ('more' AS _id) FROM _data.t8 LIMIT 1");
    vi.advanceTimersByTime(20_000);
    expect(await ask()).toEqual([[2]]);
    vi.advanceTimersByTime(20_000);
    // Now looked up by its hash, which is wrong here, so it is not found.
    for (const _ of [0, 1, 2]) expect(await ask()).toEqual([]);
  } finally {
    await fixture.close();
    // A step of other work that began by one clock must not end by another.
    await setImmediate();
    vi.useRealTimers();
  }
});

test('answers and errors are those of the statement as it is written, for every id and as often as it comes', {
  ...MORE,
  timeout: 120_000,
}, async () => {
  const values: JsonValue[] = [
    '7',
    '',
    '007',
    'é',
    "o'k",
    '\\',
    'x'.repeat(3_000),
    'nobody',
    'nul \0',
    7,
    7.5,
    true,
    null,
    ['7'],
    {},
  ];
  const differs: unknown[] = [];
  const compare = async (sql: string, parameters: Parameter[]) => {
    const expected = JSON.stringify(await answerOf(fixtures.none, sql, parameters));
    for (const _ of [0, 1]) {
      const answer = JSON.stringify(await answerOf(fixtures.right, sql, parameters));
      if (answer !== expected) differs.push({ sql, parameters, answer, expected });
    }
  };
  for (const sql of [...someOf([...BY_HASH, ...AS_WRITTEN, ...FAILING], 4), 'SELECT n FROM numbers WHERE _id = $']) {
    for (const value of values) await compare(parameter(sql), given(value));
    for (const id of ['7', "o'k", 'nobody']) await compare(literal(sql, id), []);
  }
  for (const id of someOf(ODD_IDS, 4)) {
    await compare(literal('SELECT n, _id FROM odd WHERE _id = $', id), []);
    await compare('SELECT n, _id FROM odd WHERE _id = :id', given(id));
  }
  expect(differs).toEqual([]);
});

describe('in the database', () => {
  const home = temporaryFolder();
  let engine: Engine;
  beforeAll(async () => {
    engine = await openSmall(home.file);
    await createDocs(engine);
  });
  afterAll(async () => {
    await engine.close();
    home.dispose();
  });
  const find = async (id: string, columns = '*') =>
    engine.query({ sql: `SELECT ${columns} FROM docs WHERE _id = :id`, parameters: given(id) });

  test('each document is found by its id, and by no other', MORE, async () => {
    const ids = fc.uniqueArray(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).filter((id) => !id.includes('\0')),
      {
        maxLength: 20,
      },
    );
    await fc.assert(
      fc.asyncProperty(ids, async (chosen) => {
        await engine.addDocuments(
          't',
          chosen.map((id) => doc(id, { of: id })),
        );
        for (const id of chosen) {
          expect((await find(id, 'of')).rows).toEqual([[id]]);
          expect(await rowsOf(engine, `SELECT of FROM docs WHERE _id = ${quoteText(id)}`)).toEqual([[id]]);
        }
        expect((await find(`${chosen[0] ?? ''} none`)).rows).toEqual([]);
      }),
      propertyRuns(10),
    );
  });

  test('columns are in the order of the collection, also those that came since', async () => {
    const columns = async () => {
      const all = (await rowsOf(engine, 'SHOW docs')).map(([name]) => name);
      const shown = all.filter((name) => name !== '_strays');
      expect((await find('a')).columns.map(({ name }) => name)).toEqual(shown);
      return all;
    };
    const additions: JsonObject[] = [
      { b: 1 },
      { _meta: 1 },
      { a: [{ x: 1 }] },
      { b: 'now text', rowid: 7, a: [{ y: true }] },
    ];
    for (const fields of additions) {
      await engine.addDocuments('t', [doc('a', fields)]);
      await columns();
    }
    expect((await columns()).slice(-2)).toEqual(['_extra', '_strays']);
    expect((await find('a', 'b, rowid, a')).rows).toEqual([['now text', 7, [{ y: true }]]]);
  });

  test('sees what was changed, deleted, restored, renamed and hidden since', async () => {
    const keep = { trash: 'k', record: () => ({ do: 'putRecord', kind: 'trash', key: 'k', value: {} }) as const };
    await engine.addDocuments('t', [doc('z', { n: 1 })]);
    expect((await find('z', 'n')).rows).toEqual([[1]]);
    await engine.addDocuments('t', [doc('z', { n: 2 })]);
    expect((await find('z', 'n')).rows).toEqual([[2]]);
    await engine.deleteDocuments('t', ['z'], keep);
    expect((await find('z', 'n')).rows).toEqual([]);
    await engine.restoreDocuments('k', 't', () => []);
    expect((await find('z', 'n')).rows).toEqual([[2]]);
    await engine.commit([
      { do: 'createCollection', table: 'r', workspace: 'commons', name: 'r', retentionSecs: 3_600 },
    ]);
    const hour = 3_600_000_000n;
    const now = BigInt(Date.now()) * 1_000n;
    await engine.addDocuments('r', [doc('old', { n: 1 }, now - 2n * hour), doc('new', { n: 2 }, now)]);
    const ask = (id: string) => rowsOf(engine, `SELECT n FROM r WHERE _id = '${id}'`);
    expect([await ask('old'), await ask('new')]).toEqual([[], [[2]]]);
  });

  test('is found whole while columns come', async () => {
    let isDone = false;
    const write = async () => {
      for (let n = 0; n < 60; n++) await engine.addDocuments('t', [doc('w', { n, [`w${n}`]: n })]);
      isDone = true;
    };
    const read = async () => {
      const sql = 'SELECT to_json(d)::VARCHAR FROM docs d WHERE _id = :id';
      while (!isDone) {
        const { rows } = await engine.query({ sql, parameters: given('w') });
        const found = rows.map(([text]) => JSON.parse(String(text)));
        for (const { n, ...fields } of found) expect(fields[`w${n}`]).toBe(n);
      }
    };
    await Promise.all([write(), read(), read()]);
    expect((await find('w', 'w59')).rows).toEqual([[59]]);
  });
});
