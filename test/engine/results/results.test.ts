import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine, ResultPage } from '../../../src/engine/engine.ts';
import { createDocs, doc, fileTest, openSmall, temporaryFolder } from '../harness.ts';

const ALL: ResultPage = { offset: 0, limit: 100 };

let home: ReturnType<typeof temporaryFolder>;
let engine: Engine;
beforeAll(async () => {
  home = temporaryFolder();
  engine = await openSmall(home.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('secret', { x: 1 })]);
});
afterAll(async () => {
  await engine.close();
  home.dispose();
});

let count = 0;
/** Runs a query whose whole result is to be kept. */
async function keep(sql: string, rowsMax = 50, on = engine) {
  count += 1;
  const id = `k-${count}`;
  const outcome = await on.query({ sql, keep: { id, rowsMax } });
  return { id, ...outcome };
}

describe('names of columns that mean something to the engine', () => {
  it('with a line break are themselves, and errors keep their place', async () => {
    const { id } = await keep('SELECT i AS "n\nl", -1 AS "n l" FROM range(200) t(i)');
    const page = await engine.results.read(id, { offset: 2, limit: 2 });
    expect(page.rows).toEqual([
      [2, -1],
      [3, -1],
    ]);
    const wrong = engine.results.read(id, { offset: 0, limit: 1, where: '"n l" < 0 AND\nnothing = 1' });
    await expect(wrong).rejects.toMatchObject({ details: { line: 2, column: 1 } });
  });

  it('or look like its own stay what the caller wrote, and can be asked for', async () => {
    const { id, columns } = await keep(
      'SELECT i AS "main.f(x)", i AS "o_vals(x)", i AS "a\u0001b" FROM range(60) t(i)',
    );
    const names = ['main.f(x)', 'o_vals(x)', 'a\u0001b'];
    expect(columns.map(({ name }) => name)).toEqual(names);
    const where = names.map((name) => `"${name}" = 3`).join(' AND ');
    const page = await engine.results.read(id, { ...ALL, where });
    expect([page.columns.map(({ name }) => name), page.rows]).toEqual([names, [[3, 3, 3]]]);
  });

  it('or that nobody gave have no name of its own in them', async () => {
    const { id, columns } = await keep(
      "SELECT struct_pack(*COLUMNS(*)), VALUES({'a': x}), * FROM (SELECT KEYS({'a': x}), x FROM docs), range(60)",
    );
    const shown = columns.map(({ name }) => name);
    expect(shown.join()).not.toMatch(/_colloquy|main\.|o_vals/);
    expect(shown[1]).toMatch(/^values\(/);
    expect((await engine.results.read(id, { ...ALL, columns: shown.slice(1, 2) })).rows[0]).toEqual([[1]]);
  });

  it('that hide the place of a row leave pages that do not overlap', async () => {
    const { id } = await keep('SELECT i % 4 AS k, 0 AS rowid, i FROM range(200) t(i)');
    const seen: unknown[] = [];
    for (let offset = 0; offset < 200; offset += 10) {
      const page = await engine.results.read(id, { offset, limit: 10, orderBy: 'k', columns: ['i'] });
      seen.push(...page.rows.map(([i]) => i));
    }
    expect(new Set(seen).size).toBe(200);
  });
});

describe('query() with keep', () => {
  it('keeps the whole of a result that the outcome carries in part, and tells the exact total', async () => {
    const { id, rows, keeping } = await keep('SELECT i FROM range(5000) t(i)');
    expect(rows).toHaveLength(50);
    expect(keeping).toMatchObject({ total: 5_000, isTotalExact: true, kept: { rows: 5_000 }, failure: null });
    const page = await engine.results.read(id, { offset: 4_998, limit: 10 });
    expect(page).toEqual({
      columns: [{ name: 'i', type: 'BIGINT' }],
      rows: [[4_998], [4_999]],
      total: 5_000,
      cut: null,
      warnings: [],
    });
  });

  it.each([
    ['few rows', 'SELECT i FROM range(50) t(i)', false],
    ['one row more', 'SELECT i FROM range(51) t(i)', true],
    ['few rows with much text', "SELECT repeat('x', 9000) AS a", true],
    ['few rows, of which the outcome carries fewer', 'SELECT i FROM range(40) t(i)', true, 10],
    ['no rows', 'SELECT i FROM range(0) t(i)', false],
    ['a plan', 'EXPLAIN SELECT i FROM range(5000) t(i)', false],
  ])('%s', async (_, sql, isKept, rowsMax = 50) => {
    const { id, keeping } = await keep(sql, rowsMax);
    expect(keeping?.kept !== null && keeping !== null).toBe(isKept);
    const found = engine.results.read(id, ALL);
    if (isKept) await found;
    else await expect(found).rejects.toMatchObject({ code: 'not_found', details: { messageKey: 'QUERY_NOT_FOUND' } });
  });

  it('keeps a LIMIT of the statement, and does not apply the default one', async () => {
    const { keeping, rows } = await keep('SELECT i FROM range(5000) t(i) LIMIT 300', 20);
    expect([rows.length, keeping?.total, keeping?.isTotalExact]).toEqual([20, 300, true]);
  });

  it('keeps what comes before the limits of the engine, and says that there is more', async () => {
    const small = temporaryFolder();
    const other = await openSmall(small.file, { resultRowsMax: 3_000, resultBytesMax: 400_000 });
    const rows = await keep('SELECT i FROM range(5000) t(i)', 50, other);
    expect(rows.keeping).toMatchObject({ total: 3_000, isTotalExact: false, kept: { rows: 3_000 } });
    expect((await other.results.read(rows.id, { offset: 2_999, limit: 5 })).rows).toEqual([[2_999]]);
    const bytes = await keep("SELECT repeat('x', 100) AS a FROM range(100000)", 50, other);
    expect(bytes.keeping?.isTotalExact).toBe(false);
    expect(bytes.keeping?.kept?.rows).toBeLessThan(4_000);
    const exact = await keep('SELECT i FROM range(3000) t(i)', 50, other);
    expect(exact.keeping).toMatchObject({ total: 3_000, isTotalExact: true });
    await other.close();
    small.dispose();
  });

  it('carries and keeps nothing where the first row alone is too large, and says that there is more', async () => {
    const small = temporaryFolder();
    const other = await openSmall(small.file, { resultBytesMax: 400_000 });
    for (const items of [60_000, 400_000]) {
      const { rows, cut, keeping } = await keep(`SELECT list(i) AS l FROM range(${items}) t(i)`, 50, other);
      expect([rows, cut, keeping]).toMatchObject([[], { reason: 'bytes' }, { isTotalExact: false, kept: null }]);
    }
    await other.close();
    small.dispose();
  });

  it('gives the same values as the answer, of every type, exactly', async () => {
    const sql = `SELECT * FROM (SELECT
      1152921504606846977::BIGINT AS big, -170141183460469231731687303715884105727::HUGEINT AS huge,
      12345678901234567890.123456789::DECIMAL(38,9) AS dec, 0.1::FLOAT AS f, 'NaN'::DOUBLE AS nan,
      {'a': 1152921504606846977, 'b': ['x', NULL], 'j': '{"n":1152921504606846977}'::JSON} AS s,
      [[1, 2], NULL, []] AS l, MAP {'k': 1} AS m, [1, 2]::INT[2] AS arr, union_value(u := 1.5) AS un,
      'a'::ENUM('a', 'b') AS e, TIMESTAMPTZ '2026-01-02 03:04:05.678901+02' AS ts, TIMESTAMP '2026-01-02 03:04:05' AS tn,
      DATE '2026-01-02' AS d, TIME '01:02:03' AS t, INTERVAL 3 MONTH AS iv, '\\x00\\xff'::BLOB AS bl, '101'::BIT AS bit,
      'c0ffee00-0000-4000-8000-000000000000'::UUID AS u, '{"big": 9007199254740993, "é": "\\u0000"}'::JSON AS j,
      NULL AS n, 'ünï' AS "odd ""name""", 1 AS a, 2 AS a, 3 AS "A") x, range(60)`;
    const plain = await engine.query({ sql });
    const { id } = await keep(sql);
    const page = await engine.results.read(id, ALL);
    expect(page.columns).toEqual(plain.columns);
    expect(page.rows).toEqual(plain.rows);
    expect(page.rows[0]?.slice(0, 3)).toEqual([
      '1152921504606846977',
      '-170141183460469231731687303715884105727',
      '12345678901234567890.123456789',
    ]);
    expect(page.rows[0]).toContain('2026-01-02T01:04:05.678901Z');
  });

  it('gives JSON inside a UNION as JSON, and says so', async () => {
    const sql = `SELECT union_value("a ""k""" := '[9007199254740993]'::JSON) AS u, {'x': union_value(h := 1::HUGEINT)} AS s FROM range(60)`;
    const { id, columns, rows } = await keep(sql);
    expect(columns.map(({ type }) => type)).toEqual(['UNION("a ""k""" JSON)', 'STRUCT("x" UNION("h" HUGEINT))']);
    const page = await engine.results.read(id, { ...ALL, limit: 1 });
    expect(page.rows).toEqual([[['9007199254740993'], { x: 1 }]]);
    expect([page.rows, page.columns]).toEqual([rows.slice(0, 1), columns]);
    mkdirSync(engine.results.exportsFolder, { recursive: true });
    expect(await engine.results.writeParquet(id, 'union.parquet')).toMatchObject([{ name: 's' }]);
  });

  it('answers all the same where a column cannot be kept, and says so', async () => {
    const { rows, keeping } = await keep('SELECT row(i, 2) AS r FROM range(100) t(i)');
    expect(rows).toHaveLength(50);
    expect(keeping).toMatchObject({ total: 100, kept: null, failure: 'a column of its type cannot be kept' });
  });

  it('keeps nothing of a query that fails on the way', async () => {
    const sql = "SELECT CASE WHEN i = 90000 THEN error('late') ELSE i END AS x FROM range(100000) t(i)";
    await expect(keep(sql)).rejects.toMatchObject({ code: 'query_error' });
    await expect(engine.results.read(`k-${count}`, ALL)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps several at once, and drops one', async () => {
    const kept = await Promise.all([1, 2, 3, 4].map((n) => keep(`SELECT i * ${n} AS x FROM range(20000) t(i)`)));
    const lasts = await Promise.all(kept.map(({ id }) => engine.results.read(id, { offset: 19_999, limit: 1 })));
    expect(lasts.map(({ rows }) => rows[0]?.[0])).toEqual([19_999, 39_998, 59_997, 79_996]);
    await engine.results.drop(kept[0]?.id ?? '');
    await expect(engine.results.read(kept[0]?.id ?? '', ALL)).rejects.toThrow('run the query again');
    expect((await engine.results.read(kept[1]?.id ?? '', ALL)).total).toBe(20_000);
    await engine.results.drop('never-kept');
  });
});

describe('results.read()', () => {
  let id: string;
  beforeAll(async () => {
    const sql = `SELECT i AS n, 'g' || i % 3 AS grp, {'a': i} AS s, 1 AS x, 2 AS "X" FROM range(1000) t(i)`;
    id = (await keep(sql)).id;
  });
  const read = (page: Partial<ResultPage>) => engine.results.read(id, { ...ALL, limit: 3, ...page });

  it('filters, orders and projects, and counts what fits', async () => {
    const page = await read({
      columns: ['grp', 'n'],
      where: "grp = 'g1' AND s.a > 500 -- a comment",
      orderBy: 'n DESC',
    });
    expect(page.rows).toEqual([
      ['g1', 997],
      ['g1', 994],
      ['g1', 991],
    ]);
    expect(page).toMatchObject({ total: 166, columns: [{ name: 'grp' }, { name: 'n' }] });
  });

  it('may compare with the whole result, and with nothing else', async () => {
    expect((await read({ columns: ['n'], where: 'n >= (SELECT max(n) - 1 FROM result)' })).rows).toEqual([
      [998],
      [999],
    ]);
    expect((await read({ where: 'EXISTS (SELECT 1 FROM commons.result r WHERE r.n = result.n + 998)' })).total).toBe(2);
  });

  it('orders by all columns that are asked for', async () => {
    const all = await read({ columns: ['grp', 'n'], orderBy: 'ALL', limit: 2 });
    expect(all.rows).toEqual((await read({ columns: ['grp', 'n'], orderBy: 'grp, n', limit: 2 })).rows);
    const last = await read({ columns: ['grp', 'n'], orderBy: 'ALL DESC', limit: 2 });
    expect(last.rows).toEqual((await read({ columns: ['grp', 'n'], orderBy: 'grp DESC, n DESC', limit: 2 })).rows);
  });

  it('pages without gaps where the order has equals', async () => {
    const pages = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        read({ columns: ['n'], orderBy: 'grp', offset: index * 100, limit: 100 }),
      ),
    );
    expect(new Set(pages.flatMap(({ rows }) => rows.map(([n]) => n))).size).toBe(1_000);
  });

  it('tells columns apart that differ in letter case only, by the names that the answer has', async () => {
    const { id, columns } = await keep('SELECT i AS a, 1000 - i AS "A", \'x\' AS "a_1" FROM range(1000) t(i)');
    const names = columns.map(({ name }) => name);
    expect(names).toEqual(['a', 'A_2', 'a_1']);
    const [first = '', second = ''] = names;
    const found = await engine.results.read(id, { ...ALL, columns: [second, first], where: `"${second}" > 998` });
    expect(found).toMatchObject({
      columns: [{ name: 'A_2' }, { name: 'a' }],
      rows: [
        [1000, 0],
        [999, 1],
      ],
      total: 2,
    });
    const last = await engine.results.read(id, { ...ALL, columns: [first], orderBy: `"${second}"`, limit: 1 });
    expect(last.rows).toEqual([[999]]);
  });

  it.each([
    ['another table', { where: 'EXISTS (SELECT 1 FROM docs)' }, 'Only the kept result can be named here'],
    ['a schema', { where: 'EXISTS (SELECT 1 FROM information_schema.tables)' }, 'Only the kept result can be named'],
    ['another result', { where: 'EXISTS (SELECT 1 FROM "r_k-1".result)' }, 'r_k-1'],
    ['a file', { where: "EXISTS (SELECT 1 FROM '/etc/passwd')" }, '/etc/passwd'],
    ['a function that reads files', { where: "EXISTS (SELECT 1 FROM read_text('/etc/passwd'))" }, 'is not available'],
    ['settings', { where: "current_setting('memory_limit') = ''" }, 'is not available'],
    ['a second statement', { where: 'true); DROP TABLE result; SELECT (1' }, 'where must be one condition'],
    ['a set operation', { where: 'true) UNION SELECT 1 FROM result WHERE (true' }, 'where must be one condition'],
    ['a group', { where: 'true) GROUP BY (n' }, 'where must be one condition'],
    ['a limit', { orderBy: 'n LIMIT 1' }, 'order_by must be columns'],
    ['a limit in a comment', { orderBy: 'n LIMIT 1 --' }, 'order_by must be columns'],
    ['an open comment', { where: 'true /*' }, 'In where'],
    ['a parameter', { where: 'n = :n' }, 'cannot have parameters'],
    ['nothing', { where: '' }, 'where'],
    ['a write', { where: 'n IN (DELETE FROM result RETURNING n)' }, 'In where'],
  ])('refuses %s', async (_, page, message) => {
    await expect(read(page)).rejects.toMatchObject({ code: 'query_error', message: expect.stringContaining(message) });
    expect((await read({})).total).toBe(1_000);
  });

  it('points at what is wrong in the text that was given', async () => {
    await expect(read({ where: 'n > 1\n  AND nn = 2' })).rejects.toMatchObject({
      message: expect.stringMatching(/^In where: .*"nn"/),
      details: { line: 2, column: 7 },
    });
    await expect(read({ where: 'n >\n1', orderBy: 'grp,\n gr' })).rejects.toMatchObject({
      message: expect.stringMatching(/^In order_by: .*"gr"/),
      details: { line: 2, column: 2 },
    });
    await expect(read({ columns: ['group'] })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('no column "group"'),
    });
  });

  it('warns that where or order_by compares numbers as text', async () => {
    const { id: own } = await keep("SELECT i || '.50' AS price, [{'p': i || ''}] AS items FROM range(1000) t(i)");
    const warningsOf = async (page: object) => (await engine.results.read(own, { ...ALL, ...page })).warnings;
    const said = expect.stringContaining('price is text, ordered as text: ');
    expect(await warningsOf({ orderBy: 'price DESC' })).toEqual([said]);
    expect(await warningsOf({ where: "price > '20'" })).toEqual([said]);
    expect(await warningsOf({ where: "items[1].p > '20'" })).toEqual([expect.stringContaining('items[1].p is text')]);
    expect(await warningsOf({ where: "price = '20'" })).toEqual([]);
  });

  it('stops when its caller gives up', async () => {
    const stop = new AbortController();
    const slow = '(SELECT sum(a.n * b.n * c.n) FROM result a, result b, result c) > 0';
    const reading = engine.results.read(id, { ...ALL, where: slow }, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(reading).rejects.toMatchObject({ code: 'aborted' });
    expect((await read({})).total).toBe(1_000);
  });
});

describe('results.profile()', () => {
  it('tells nulls, different values, bounds and frequent values of each column', async () => {
    const sql = `SELECT i AS id, CASE WHEN i % 4 = 0 THEN NULL ELSE 'c' || i % 3 END AS c, 1152921504606846976 + i AS big,
      [i] AS l, '{}'::JSON AS j, TIMESTAMPTZ '2026-01-01 00:00:00Z' AS ts, NULL AS n FROM range(1000) t(i)`;
    const { id } = await keep(sql);
    const [first, c, big, l, j, ts, n] = await engine.results.profile(id);
    expect(first).toMatchObject({ name: 'id', type: 'BIGINT', nulls: 0, distinct: 1_000, min: 0, max: 999 });
    expect(c).toMatchObject({ nulls: 250, distinct: 3, min: 'c0', max: 'c2' });
    expect(c?.samples.toSorted()).toEqual(['c0', 'c1', 'c2']);
    expect([big?.min, big?.max]).toEqual(['1152921504606846976', '1152921504606847975']);
    expect(l).toMatchObject({ nulls: 0, distinct: null, min: null, samples: [] });
    expect(j).toMatchObject({ type: 'JSON', distinct: null });
    expect(ts).toMatchObject({ min: '2026-01-01T00:00:00.000000Z', distinct: 1 });
    expect(n).toMatchObject({ nulls: 1_000 });
  });

  it('counts different values of many rows exactly', async () => {
    const { id } = await keep("SELECT i, i % 5 AS few, 'u' || hash(i) % 5000 AS u FROM range(60000) t(i)");
    const [i, few, u] = await engine.results.profile(id);
    expect(i).toMatchObject({ distinct: 60_000, min: 0, max: 59_999 });
    expect(u).toMatchObject({ distinct: 5_000 });
    expect(few?.samples.toSorted()).toEqual([0, 1, 2, 3, 4]);
  });

  it('has the bounds of numbers and days in text by what they mean', async () => {
    const { id } = await keep(
      "SELECT ((i * 37) % 1000) || '.50' AS price, '$' || i AS cost, (i % 28 + 1) || '.7.2025' AS day, 'n' || i AS name FROM range(1000) t(i)",
    );
    const found = await engine.results.profile(id);
    expect(found.map(({ min, max }) => [min, max])).toEqual([
      ['0.50', '999.50'],
      ['$0', '$999'],
      ['1.7.2025', '28.7.2025'],
      ['n0', 'n999'],
    ]);
  });

  it('shortens long texts', async () => {
    const { id } = await keep("SELECT repeat('y', 5000) AS long FROM range(100)");
    const [long] = await engine.results.profile(id);
    expect([long?.min, long?.samples[0]].map((text) => String(text).length)).toEqual([200, 200]);
  });
});

describe('the room for results', () => {
  /** About 50 MB. */
  const WIDE = `SELECT i, ${Array.from({ length: 15 }, (_, n) => `md5((i * 97 + ${n}000000)::VARCHAR)`).join(' || ')} AS text
    FROM range(100000) t(i)`;
  let own: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    own = temporaryFolder();
  });
  afterEach(() => own.dispose());

  it('may be used up: the query is answered all the same, and says that nothing is kept', async () => {
    const other = await openSmall(own.file, { memoryBytes: 256 * 1024 * 1024, tempBytesMax: 1024 * 1024 });
    const outcomes = [];
    for (let index = 0; index < 3; index++) outcomes.push(await keep(WIDE, 50, other));
    for (const { rows, keeping } of outcomes) {
      expect(rows).toHaveLength(50);
      expect(keeping).toMatchObject({ total: 100_000, isTotalExact: true });
    }
    expect(outcomes.at(-1)?.keeping).toMatchObject({ kept: null, failure: 'there is no room to keep it' });
    const few = await keep('SELECT i FROM range(100) t(i)', 50, other);
    expect(few.rows).toHaveLength(50);
    await other.close();
  }, 60_000);

  fileTest(
    'goes to disk beyond its memory, and is gone when the engine closes',
    async () => {
      const other = await openSmall(own.file, { memoryBytes: 256 * 1024 * 1024 });
      const folder = join(dirname(own.file), 'results');
      const ids: string[] = [];
      for (let index = 0; index < 2; index++) ids.push((await keep(WIDE, 50, other)).id);
      const filesOf = () =>
        readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
      expect(filesOf().length).toBeGreaterThan(0);
      for (const id of ids) {
        const { rows } = await other.results.read(id, { offset: 99_999, limit: 1, columns: ['i'] });
        expect(rows).toEqual([[99_999]]);
      }
      await other.close();
      expect(existsSync(folder) ? filesOf() : []).toEqual([]);
      const again = await openSmall(own.file);
      await expect(again.results.read(ids[0] ?? '', ALL)).rejects.toMatchObject({ code: 'not_found' });
      await again.close();
    },
    60_000,
  );
});
