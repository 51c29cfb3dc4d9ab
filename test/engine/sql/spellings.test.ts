import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const rowOf = async (sql: string) => (await fixture.rows(sql))[0];

describe('a parameter that is text with an offset is cast as a literal of it', () => {
  const at = (value: string, type = 'string') => [{ name: 'x', type, value } as const];
  const written = '2026-04-15T08:00:00+02:00';
  const moment = '2026-04-15T06:00:00.000000Z';
  const cases: [string, unknown[]][] = [
    [
      'SELECT CAST(:x AS TIMESTAMP), TRY_CAST( : x AS timestamp), :x::timestamp, $x :: TIMESTAMP',
      Array(4).fill(moment),
    ],
    ['SELECT CAST(:x AS DATETIME), :x::datetime', Array(2).fill('2026-04-15T06:00:00.000000')],
    [`SELECT CAST('${written}' AS DATETIME), DATETIME '${written}'`, Array(2).fill('2026-04-15T06:00:00.000000')],
    [
      `SELECT TIMESTAMPTZ '${moment}' >= CAST(:X AS TIMESTAMP), {'a':x::timestamp} FROM (SELECT '${written}' AS x)`,
      [true, { a: '2026-04-15T08:00:00.000000' }],
    ],
  ];
  test.each(cases)('%s', async (sql, row) => {
    expect(await fixture.rows(sql, { parameters: at(written) })).toEqual([row]);
  });

  test('which a look shows each time, and nothing else changes', async () => {
    const sql = 'SELECT CAST(:x AS TIMESTAMP)';
    const plain = '2026-04-15T08:00:00';
    const rowsOf = async (value: string, type?: string) =>
      (await fixture.rows(sql, { parameters: at(value, type) }))[0];
    for (let time = 0; time < 2; time++) {
      expect(await rowsOf(plain)).toEqual([`${plain}.000000`]);
      expect(await rowsOf(written)).toEqual([moment]);
      expect(await rowsOf(written, '')).toEqual([moment]);
      expect(await rowsOf(written, 'datetime')).toEqual(['2026-04-15T06:00:00.000000']);
    }
  });

  test('behind the name of a type it is told how to', async () => {
    const correctedSql = 'SELECT CAST(:x AS TIMESTAMP) AS c';
    const failed = fixture.rows('SELECT TIMESTAMP :x AS c', { parameters: at(written) });
    await expect(failed).rejects.toMatchObject({ details: { correctedSql } });
  });
});

describe('casts to INT, INTEGER, FLOAT and REAL', () => {
  const cases: [string, unknown[]][] = [
    ["SELECT TRY_CAST('9780439023481' AS integer), '9780439023481'::INT", [9780439023481, 9780439023481]],
    ["SELECT CAST('123456789.12' AS float), '123456789.12'::real", [123456789.12, 123456789.12]],
    ['SELECT CAST(1.9 AS int), CAST(-1.9::DOUBLE AS INT), TRY_CAST(-1.9 AS INTEGER)', [1, -1, -1]],
    ["SELECT CAST(true AS int), CAST('12' AS int), TRY_CAST('x' AS int), CAST(NULL AS int)", [1, 12, null, null]],
    ['SELECT CAST(12345678901234567.9::DECIMAL(38, 4) AS INT)::VARCHAR', ['12345678901234567']],
    ['SELECT CAST(sum(amount) AS int), CAST(count(*) FILTER (WHERE amount > 10) AS int) FROM orders', [19, 1]],
    // The engine's own way to write it, and its types, round.
    ['SELECT 1.9::int, CAST(1.9 AS bigint), 1.9::int4, CAST(3.5 AS SMALLINT)', [2, 2, 2, 4]],
    ["SELECT [1.9]::FLOAT[], {'a': 1}::STRUCT(a INT), CAST([1] AS INT[])", [[1.9], { a: 1 }, [1]]],
    ['SELECT CAST({int: 1} AS STRUCT(int VARCHAR))', [{ int: '1' }]],
    ["SELECT regexp_extract('a1', '[0-9]')::int, CAST('5' AS int)::int, TRY_CAST(5 AS int)::varchar::int", [1, 5, 5]],
    ["SELECT count_if(age > 30)::int, CAST(regexp_extract(max(name), 'x') AS int) FROM users", [1, null]],
    [
      "SELECT CASE WHEN(2)::int=2 THEN'5'::int END, NULL IS NULL::int, [1, 2, 3][:2::int], {'a': 1.9::int}",
      [5, 1, [1, 2], { a: 2 }],
    ],
    ["SELECT DATE '2024-01-01' + age::int, count(*) FROM users WHERE age = 27 GROUP BY age::int", ['2024-01-28', 1]],
  ];
  test.each(cases)('%s', async (sql, row) => {
    expect((await fixture.rows(sql)).at(-1)).toEqual(row);
  });

  const narrow: [string, unknown[]][] = [
    ["SELECT DATE '2024-01-01' + CAST('1' AS int), DATE '2024-01-03' - 1::int", ['2024-01-02', '2024-01-02']],
    ["SELECT round(1.234, '1'::int), lpad('a', 3::int, '0'), chr(65::int)", [1.2, '00a', 'A']],
    [
      "SELECT TRY_CAST('9780439023481' AS int), DATE '2024-01-01' + 1::int, round(1.26, CAST(1 AS int))",
      [9780439023481, '2024-01-02', 1.3],
    ],
    ["SELECT '9780439023481'::int > 5 AND DATE '2024-01-01' + 1::int > DATE '2023-01-01'", [true]],
    [
      "SELECT days(2::int), substr('abc', 2::int), make_date(2020::int, 1::int, 1::int)",
      ['2 days', 'bc', '2020-01-01'],
    ],
  ];
  test.each(narrow)('have 32 bits where the engine takes no more: %s', async (sql, row) => {
    expect(await rowOf(sql)).toEqual(row);
    // The text is known by then.
    expect(await rowOf(sql)).toEqual(row);
  });

  test('nested deeply are as written, since a wide one uses its operand often', async () => {
    const nested = `SELECT ${'CAST('.repeat(9)}1.9${' AS int)'.repeat(9)}`;
    expect(await rowOf(nested)).toEqual([2]);
    await expect(fixture.rows(`SELECT ${'typeof('.repeat(5)}1${')'.repeat(5)}`)).rejects.toThrow('grows too large');
  });

  test('are checked as they run', async () => {
    const sql = "SELECT DATE '2024-01-01' + :n::int";
    const inspected = await fixture.queries.inspect({ sql, parameters: [{ name: 'n', value: 1 }], allowUnbound: true });
    expect(inspected).toMatchObject({ unbound: null, parameters: ['n'] });
    expect(
      (await fixture.queries.inspect({ sql: "SELECT DATE '2024-01-01' * 1::int", allowUnbound: true })).unbound,
    ).toMatchObject({ message: expect.stringContaining('*(DATE') });
  });

  test('that fail say what failed, and where', async () => {
    await expect(fixture.rows("SELECT 1,\n 'x'::int")).rejects.toMatchObject({
      message: expect.stringContaining("'x'"),
      details: { line: 2, column: 5 },
    });
    await expect(fixture.rows("SELECT DATE '2024-01-01' + 'x'::int")).rejects.toThrow("Could not convert string 'x'");
    await expect(fixture.rows("SELECT DATE '2024-01-01' * 2::int")).rejects.toThrow('*(DATE, BIGINT)');
  });
});

describe('a word that is no alias to the engine without AS', () => {
  test.each([
    ['SELECT count(*) year FROM users', ['year']],
    ['SELECT 1 type, 2 value, 3 text, 4 time, 5 name', ['type', 'value', 'text', 'time', 'name']],
    ['SELECT x value FROM (SELECT name key, age data, 1 x FROM users)', ['value']],
    ['SELECT upper(name) name, age + 1 "year" FROM users WHERE age > 1', ['name', 'year']],
  ])('%s', async (sql, names) => {
    expect((await fixture.queries.query({ sql })).columns.map(({ name }) => name)).toEqual(names);
  });

  test.each([
    ['SELECT 1 from FROM users', /near "FROM"/],
    ['SELECT 1 name name FROM users', /near "name"/],
    ['SELECT 2 name 3', /near "name"/],
    ['SELECT 1 year, lower(1, 2, 3)', /lower\(/],
  ])('and not: %s', async (sql, message) => {
    await expect(fixture.rows(sql)).rejects.toThrow(message);
  });
});

describe('forms of other services', () => {
  const cases: [string, unknown[][]][] = [
    ["SELECT LENGTH({'a': 1, 'b': 2}), LENGTH('abc'), LENGTH([1])", [[2, 3, 1]]],
    [
      "SELECT LENGTH(JSON_PARSE('[1, 2]')), LENGTH(ARRAY_CREATE(1, 'a', NULL)), ARRAY_CREATE(5, 'a', NULL, true)",
      [[2, 3, [5, 'a', null, true]]],
    ],
    ["SELECT OBJECT(ARRAY_CREATE('a', 'b'), ARRAY_CREATE(1, 'x'))", [[{ a: 1, b: 'x' }]]],
    ["SELECT VECTOR_ENFORCE(JSON_PARSE('[1, 0.5]'), 2, 'float'), COSINE_SIM(:v, [1, 0])", [[[1, 0.5], 1]]],
    [
      "SELECT IF(true, REGEXP_EXTRACT('a1', '[0-9]')), COUNT_IF(REGEXP_EXTRACT(name, 'A') = 'A') FROM users",
      [['1', 1]],
    ],
    ['WITH time(a, b) AS (SELECT 1, 2), if(c) AS MATERIALIZED (SELECT 3) SELECT a, c FROM time, if', [[1, 3]]],
    ["SELECT EXTRACT(DATE FROM TIMESTAMP '2020-01-01 10:00:00' + INTERVAL 1 DAY)", [['2020-01-02']]],
    ["SELECT TIMESTAMP '2020-01-01T10:00:00+02:00' = TIMESTAMP '2020-01-01 08:00:00Z'", [[true]]],
    ['SELECT GREATEST(*COLUMNS(*)), LEAST(4, *COLUMNS(*)) FROM (SELECT 5 AS a, 7 AS b, 6 AS c)', [[7, 4]]],
    [
      "SELECT '2020-01-01T10:00:00+02:00'::TIMESTAMP WITH TIME ZONE = '2020-01-01 08:00:00Z'::timestamp with time zone",
      [[true]],
    ],
    [
      "SELECT CAST('2020-01-01 10:00:00+02' AS timestamp), '2020-01-01T10:00:00.5-0230'::TIMESTAMP, TRY_CAST('2020-01-01 10:00:00 UTC' AS timestamp)",
      [['2020-01-01T08:00:00.000000Z', '2020-01-01T12:30:00.500000Z', '2020-01-01T10:00:00.000000Z']],
    ],
    [
      "SELECT TIMESTAMP '2020-01-01T10:00:00', CAST('2020-01-01' AS timestamp), CAST('2020-01-01 10:00:00Z' AS datetime)",
      [['2020-01-01T10:00:00.000000', '2020-01-01T00:00:00.000000', '2020-01-01T10:00:00.000000']],
    ],
    [
      "SELECT timestamp, '2020-01-01 10:00:00Z' AS timestamp FROM (SELECT 1 AS timestamp)",
      [[1, '2020-01-01 10:00:00Z']],
    ],
    ['SELECT count(*) FROM range(1000) TABLESAMPLE BERNOULLI(100)', [[1000]]],
    ['SELECT name FROM users u HINT(access_path=column_scan) WHERE age > 30', [['Ann']]],
    [
      'SELECT u.name FROM users u JOIN users v ON u._id = v._id HINT(join_strategy = lookup) ORDER BY 1 LIMIT 1',
      [['Ann']],
    ],
    ['SELECT * EXCEPT(_meta) FROM users ORDER BY _id LIMIT 1', [['u1', 'Ann', 31]]],
    ['SELECT * EXCEPT (_meta, age), 1 FROM users ORDER BY _id LIMIT 1', [['u1', 'Ann', 1]]],
    ['SELECT * EXCEPT (age, _meta) FROM users ORDER BY _id LIMIT 1', [['u1', 'Ann']]],
    ["SELECT ZIP([['a', 1], ['b', [2]]]), ZIP(ARRAY_CREATE(ARRAY_CREATE('a', 1)))", [[{ a: 1, b: [2] }, { a: 1 }]]],
    ["SELECT TO_HEX(MD5('a')) = upper(MD5('a')), HASH('a', 'sha1') = SHA1('a')", [[true, true]]],
    ["SELECT REGEXP_EXTRACT('abc', 'x'), REGEXP_EXTRACT('a1', '([a-z])([0-9])', 2)", [[null, '1']]],
    [
      "SELECT DATE(2020, 1, 2), TIME(12, 30, 0), DATE '2020-01-01', TIME '10:00:00'",
      [['2020-01-02', '12:30:00', '2020-01-01', '10:00:00']],
    ],
  ];
  test.each(cases)('%s', async (sql, rows) => {
    const parameters = sql.includes(':v') ? [{ name: 'v', value: '[1,0]' }] : [];
    expect(await fixture.rows(sql, { parameters })).toEqual(rows);
  });
});

test('hashes are those of the algorithms', async () => {
  for (const text of ['', 'a', 'ä', 'x'.repeat(111), 'x'.repeat(112), 'x'.repeat(300)]) {
    const hash = (name: string) => createHash(name).update(text).digest('hex');
    const keyed = (name: string, key: string) => createHmac(name, key).update(text).digest('hex');
    const long = 'k'.repeat(200);
    expect(
      await rowOf(
        `SELECT md5('${text}'), sha1('${text}'), sha256('${text}'), sha512('${text}'), hmac_md5('${text}', 'k'),
         hmac_sha1('${text}', '${long}'), hmac_sha256('${text}', 'k'), hmac_sha512('${text}', '${long}')`,
      ),
      text,
    ).toEqual([
      ...['md5', 'sha1', 'sha256', 'sha512'].map(hash),
      keyed('md5', 'k'),
      keyed('sha1', long),
      keyed('sha256', 'k'),
      keyed('sha512', long),
    ]);
  }
});

test('text search is refused with what comes nearest', async () => {
  await expect(fixture.rows("SELECT 1 FROM users WHERE HAS_TERM(name, 'x')")).rejects.toThrow(
    "Text search is not available: there is no has_term(). Write list_contains(TOKENIZE(a), 'word').",
  );
});
