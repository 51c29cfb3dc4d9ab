import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMPAT_FUNCTIONS } from '../../../src/engine/duckdb/sql/compat.ts';
import { LARGE_MACROS } from '../../../src/engine/duckdb/sql/expansion.ts';
import { GUARDED_FUNCTIONS } from '../../../src/engine/duckdb/sql/guards.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const ROWS = "(VALUES (1, 'a'), (2, 'b'), (3, 'b')) AS rows(n, s)";

/** The first value of a statement's first row. */
async function value(sql: string): Promise<unknown> {
  return (await fixture.rows(sql))[0]?.[0];
}

describe('functions that people bring along', () => {
  test.each(COMPAT_FUNCTIONS.map((one) => [one.name, one] as const))('%s', async (_, { example, gives, group }) => {
    const from = group === 'Aggregates' ? ` FROM ${ROWS}` : '';
    expect(await value(`SELECT ${example}${from}`)).toEqual(gives);
    // Again on the same connection, in lower case.
    const lower = example.replace(/\b[A-Z_0-9]{2,}(?=\()/g, (name) => name.toLowerCase());
    expect(await value(`SELECT ${lower}${from}`)).toEqual(gives);
  });

  /** Places where an expression may stand: the engine binds each of them differently. */
  const POSITIONS: Record<string, (example: string) => string> = {
    'FROM UNNEST': (example) => `SELECT v FROM UNNEST([${example}]) AS u(v)`,
    'UNNEST beside a row': (example) => `SELECT v FROM (SELECT 1 AS one) AS t, UNNEST([${example}]) AS u(v)`,
    'a list in IN': (example) => `SELECT 1 WHERE 1 IN (SELECT 1 FROM UNNEST([${example}]) AS u(v))`,
    json_each: (example) => `SELECT "key" FROM json_each(to_json([${example}]))`,
    'GROUP BY': (example) => `SELECT ${example} FROM (SELECT 1) GROUP BY ${example}`,
    'an aggregate': (example) => `SELECT first(${example}) FROM (SELECT 1)`,
    WHERE: (example) => `SELECT 1 WHERE to_json([${example}]) IS NOT NULL`,
  };
  const scalars = COMPAT_FUNCTIONS.filter(({ group }) => group !== 'Aggregates');
  test.each(Object.entries(POSITIONS))('work in %s', async (position, sql) => {
    for (const { name, example, gives } of scalars) {
      const isValue = sql('').startsWith('SELECT v ') || position === 'GROUP BY' || position === 'an aggregate';
      const expected = isValue ? gives : position === 'json_each' ? '0' : 1;
      // Each copy that is made there counts as a large part of a statement.
      if (position === 'json_each' && LARGE_MACROS.has(name.toLowerCase())) continue;
      // RAND returns another value on each call.
      if (position === 'GROUP BY' && name === 'RAND') continue;
      expect.soft(await value(sql(example)).catch(String), `${name} in ${position}`).toEqual(expected);
    }
  });

  const GUARDED = [
    [`json_structure('{"a":[1]}')`, { a: ['UBIGINT'] }],
    ["json_pretty('[1]')", '[\n    1\n]'],
    [`json_contains('[1,2]', '1')`, true],
    [`json_merge_patch('{"a":1}', '{"b":2}')`, { a: 1, b: 2 }],
    [`json_merge_patch('{"a":1}', '{"b":2}', '{"c":3}', '{"d":4}')`, { a: 1, b: 2, c: 3, d: 4 }],
    ["repeat('ab', 2)", 'abab'],
    ['range(2)', [0, 1]],
    ['range(1, 3)', [1, 2]],
    ['generate_series(1, 5, 2)', [1, 3, 5]],
    ["len(generate_series(TIMESTAMP '2024-03-01', TIMESTAMP '2024-03-03', INTERVAL 1 DAY))", 3],
    ["lpad('1', 3, '0')", '001'],
    ["rpad('1', 3, '0')", '100'],
    ['list_resize([1], 2)', [1, null]],
    ['array_resize([1], 2, 7)', [1, 7]],
    ["bitstring('101', 4)::VARCHAR", '0101'],
    ["replace('a;b', ';', ',')", 'a,b'],
    ["levenshtein('abc', 'abd')", 1],
    ["editdist3('abc', 'abd')", 1],
    ["damerau_levenshtein('abc', 'acb')", 1],
    ["regexp_replace('a1b2', '[0-9]', '')", 'ab'],
    ["regexp_replace('a1b2', '[0-9]', '', '')", 'ab2'],
    ["replace('a;b', ';')", 'ab'],
    ["regexp_replace('a1b2', '[0-9]', '', 'g')", 'ab'],
    ["translate('abc', 'ab', 'xy')", 'xyc'],
    ['equi_width_bins(0, 10, 2, false)', [5, 10]],
  ] as const;
  test.each(Object.keys(POSITIONS).slice(0, 2))('and so do the guarded functions: %s', async (position) => {
    for (const [example, gives] of GUARDED) {
      expect.soft(await value(POSITIONS[position]?.(example) ?? '').catch(String), example).toEqual(gives);
    }
    expect([...GUARDED_FUNCTIONS].filter((name) => !GUARDED.some(([call]) => call.includes(`${name}(`)))).toEqual([]);
  });

  test('take a list apart that comes as text', async () => {
    const parameters = [{ name: 't', type: 'string' as const, value: 'a;b' }];
    const list = "SELECT v FROM UNNEST(split(replace(:t, ';', ','), ',')) AS u(v)";
    expect(await fixture.rows(list, { parameters })).toEqual([['a'], ['b']]);
    expect(await fixture.rows(`SELECT 'b' IN (${list})`, { parameters })).toEqual([[true]]);
    expect(await fixture.rows("SELECT * FROM range(length(repeat('x', 3)))")).toEqual([[0], [1], [2]]);
    expect(await fixture.rows('SELECT n FROM UNNEST(SEQUENCE(1, 3) AS n) AS s')).toEqual([[1], [2], [3]]);
  });

  test('are either renamed to another name or macros, not both', () => {
    for (const { name, renamed, macro } of COMPAT_FUNCTIONS) {
      expect(renamed !== undefined && macro !== undefined, name).toBe(false);
      expect(renamed, name).not.toBe(name.toLowerCase());
    }
  });

  test('take DISTINCT, FILTER and OVER where they are renamed', async () => {
    expect(await value(`SELECT EVERY(n > 1) OVER (ORDER BY n DESC) FROM ${ROWS} ORDER BY n LIMIT 1`)).toBe(false);
    expect(await fixture.rows('SELECT x FROM SEQUENCE(1, 3) AS t(x)')).toEqual([[1], [2], [3]]);
  });

  test('count different values exactly where others estimate', async () => {
    const many = "(SELECT 'u' || hash(i) % 5000 AS s, i AS n FROM range(30000) t(i))";
    expect(await value(`SELECT APPROX_DISTINCT(s) FROM ${many}`)).toBe(4_990);
    expect(await value(`SELECT approx_count_distinct (DISTINCT s) FILTER (WHERE n > 1) FROM ${ROWS}`)).toBe(1);
    expect(await value(`SELECT APPROX_DISTINCT(s, 0.02) OVER (ORDER BY n) FROM ${ROWS} ORDER BY n DESC LIMIT 1`)).toBe(
      2,
    );
    expect(await value(`SELECT APPROX_DISTINCT(nullif(s, 'b')) FROM ${ROWS}`)).toBe(1);
    const { columns } = await fixture.queries.query({ sql: `SELECT APPROX_DISTINCT(s) FROM ${ROWS}` });
    expect(columns[0]?.name).toBe('?APPROX_DISTINCT');
    for (const call of [
      's.approx_count_distinct()',
      '"approx_count_distinct"(s)',
      "list_aggregate([s], 'approx_count_distinct')",
    ])
      await expect(fixture.rows(`SELECT ${call} FROM ${ROWS}`), call).rejects.toThrow(/count\(DISTINCT|cannot call/);
  });

  test('take the time of day of a moment, in UTC', async () => {
    const t = "(SELECT TIMESTAMPTZ '2024-03-01 23:30:00-05' AS t)";
    for (const one of [
      'TIME(t)',
      'EXTRACT(TIME FROM t)',
      'CAST(t AS TIME)',
      'x.t::time',
      'TRY_CAST(t AS TIME)',
      '(t + INTERVAL 0 DAY)::TIME',
    ])
      expect(await value(`SELECT ${one} FROM ${t} x WHERE ${one} > TIME '04:00'`), one).toBe('04:30:00');
    expect(
      await value("SELECT [CAST(s AS TIME), TRY_CAST('x' AS TIME), '01:00'::TIME] FROM (SELECT '12:30' AS s)"),
    ).toEqual(['12:30:00', null, '01:00:00']);
    await expect(fixture.rows('SELECT CAST(status AS TIME) FROM orders')).rejects.toMatchObject({
      message: expect.stringContaining('column status'),
      details: { column: 13 },
    });
  });

  test('answer null for null', async () => {
    const calls = [
      'KEYS(x)',
      'NGRAMS(x, 2)',
      'VECTOR_ENFORCE(x, 2)',
      'UNIX_MILLIS(x::TIMESTAMP)',
      'TOKENIZE(x)',
      'ARRAY_REMOVE(x::INT[], 1)',
    ];
    for (const call of calls) expect(await value(`SELECT ${call} FROM (SELECT NULL AS x)`), call).toBeNull();
  });

  test('are not those in quotes, nor those of a schema', async () => {
    await expect(fixture.rows('SELECT "seconds"(1)')).rejects.toMatchObject({ code: 'query_error' });
    await expect(fixture.rows('SELECT main.seconds(1)')).rejects.toMatchObject({ code: 'query_error' });
  });

  test('leave errors where they are', async () => {
    await expect(fixture.rows('SELECT APPROX_DISTINCT(1),\n SECONDS(2), nothing')).rejects.toMatchObject({
      details: { line: 2, column: 14 },
    });
  });

  test('compute an argument that is used more than once only once', async () => {
    const nested = `${'SLICE('.repeat(20)}[1, 2]${', 1, 2)'.repeat(20)}`;
    expect(await value(`SELECT ${nested}`)).toEqual([1, 2]);
  });

  test.each('abcdefghijklmnopqrstuvwxyz'.split(''))('take a name of the caller for what it is: %s', async (name) => {
    const calls: [string, unknown[], unknown][] = [
      [
        `ARRAY_REMOVE([1, 2, 3], ${name})`,
        [1, 2],
        [
          [2, 3],
          [1, 3],
        ],
      ],
      [
        `ARRAY_EXCEPT([1, 2, 3], [${name}])`,
        [1, 2],
        [
          [2, 3],
          [1, 3],
        ],
      ],
      [`ARRAY_JOIN(['a', NULL], '-', ${name})`, ['?', '!'], ['a-?', 'a-!']],
      [`ERASE({'a': 1, 'b': 2}, ${name})`, ['a', 'b'], [{ b: 2 }, { a: 1 }]],
      [`SLICE([1, 2, 3], ${name}, 1)`, [1, 2], [[1], [2]]],
      [`NGRAMS('abc', ${name})[1]`, [1, 2], ['a', 'ab']],
      [`regexp_replace('aabb', ${name}, '-')`, ['a', 'b'], ['--bb', 'aa--']],
      [`regexp_replace('aabb', ${name}, '-', 'g')`, ['a', 'b'], ['--bb', 'aa--']],
      [`FORMAT_TIMESTAMP('%H', TIMESTAMP '2024-03-01', ${name})`, ['UTC', 'Europe/Berlin'], ['00', '01']],
    ];
    for (const [call, given, gives] of calls) {
      const list = `[${given.map((one) => (typeof one === 'string' ? `'${one}'` : one)).join(', ')}]`;
      expect.soft(await value(`SELECT [${call} for ${name} in ${list}]`).catch(String), call).toEqual(gives);
      const alias = `SELECT ${list}[2] AS ${name}, ${call} AS value`;
      expect.soft((await fixture.rows(alias).catch(String))[0]?.[1], alias).toEqual((gives as unknown[])[1]);
    }
  });

  test('know the edges of a polygon, and its holes', async () => {
    const inside = (lon: number, lat: number) =>
      value(
        `SELECT ST_CONTAINS(ST_GEOGFROMTEXT('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4))'), ST_GEOGPOINT(${lon}, ${lat}))`,
      );
    expect([await inside(1, 1), await inside(5, 5), await inside(11, 5), await inside(-1, 5)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('functions that people bring along give what they gave there', () => {
  const cases: [string, unknown][] = [
    ['ST_DISTANCE(NULL, ST_GEOGPOINT(1, 2))', null],
    ["ST_DISTANCE({'coordinates': [NULL, 2.5]}, ST_GEOGPOINT(1, 2))", null],
    [`ST_X('{"type":"Point","coordinates":[5,6]}'::JSON)`, 5],
    ['ST_CONTAINS(NULL, ST_GEOGPOINT(1, 2))', null],
    ["round(ST_DISTANCE(ST_GEOGFROMTEXT('point ( 1e1 0.0 )'), ST_GEOGPOINT(11, 0)))", 111195],
    [
      'list_zip([1, 2], [row(3, 4), NULL])',
      [
        [1, [3, 4]],
        [2, null],
      ],
    ],
    ["{'r': (1, 'x')}", { r: [1, 'x'] }],
    ['(SELECT COUNT_IF(n > 1) FROM (SELECT 1 AS n) WHERE n > 5)', 0],
    ['COUNT_IF(NULL::BOOLEAN)', 0],
    [
      "FORMAT_TIMESTAMP('%H %z %Ez %Z', TIMESTAMP '2024-03-01 06:00:00', 'America/St_Johns')",
      '02 -0330 -03:30 America/St_Johns',
    ],
    [
      "FORMAT_TIMESTAMP('%F %R|%D|%e|%s|%H:%M:%E3S|%%F', TIMESTAMP '2024-03-01 06:00:00.5')",
      '2024-03-01 06:00|03/01/24| 1|1709272800|06:00:00.500|%F',
    ],
    ["PARSE_TIMESTAMP('%F %T', '2024-03-01 06:00:00', 'Europe/Berlin')", '2024-03-01T05:00:00.000000Z'],
    ["PARSE_TIMESTAMP('%F %T%Ez', '2024-03-01 06:00:00+02:00', 'Europe/Berlin')", '2024-03-01T04:00:00.000000Z'],
    ["PARSE_TIMESTAMP('%F %H:%M:%E*S', '2024-03-01 06:00:00.25')", '2024-03-01T06:00:00.250000Z'],
    ["PARSE_DATETIME('%F %H:%M:%E*S', '2024-03-01 06:00:00')", '2024-03-01T06:00:00.000000'],
    ["PARSE_DATE('%e %b %Y', '1 Mar 2024')", '2024-03-01'],
    ["KEYS({'a': 1, 'b': NULL})", ['a']],
    ["MERGE({'b': 'default'}, {'a': 1, 'b': NULL})", { a: 1, b: 'default' }],
    ["MERGE({'a': 1}, {'b': 2}, {'c': 3}, {'d': 4}, {'a': 5})", { a: 5, b: 2, c: 3, d: 4 }],
    ['SLICE([1, 2, 3, 4], -3, 5)', [2, 3, 4]],
    ['SLICE([1, 2, 3, 4], -1, 2)', [4]],
    ['SLICE([1], -5, 2)', []],
    ["CARDINALITY({'a': 1, 'b': NULL}) + CARDINALITY(MAP {'a': 1}) + CARDINALITY([1, NULL])", 4],
    ['CARDINALITY(NULL)', null],
    ["OBJECT(['a', 'b'], [1, 'x'])", { a: 1, b: 'x' }],
    ['OBJECT()', {}],
    ["ARRAY_CREATE('a', 1)", ['a', 1]],
    ['ARRAY_EXCEPT([1, NULL, 2], [2])', [1, null]],
    ['ARRAY_EXCEPT([1, NULL, 2], [2, NULL])', [1]],
    ["VECTOR_ENFORCE(['a'], 1, 'float')", null],
    ['COSINE_SIM([0.0, 0.0], [1.0, 0.0])', null],
    ["REGEXP_REPLACE('a1b2', '[0-9]')", 'ab'],
    ["CURRENT_DATE('America/Los_Angeles') <= CURRENT_DATE", true],
    ['TIMESTAMP_MILLIS(1700000000123.0)', '2023-11-14T22:13:20.123000Z'],
    ["UNIX_SECONDS(TIMESTAMP '1969-12-31 23:59:59.5')", -1],
    ["UNIX_MILLIS(TIMESTAMP '1969-12-31 23:59:59.9995')", -1],
    ["NGRAMS(repeat('äb', 200), 3)[399] || len(NGRAMS(repeat('äb', 200), 3))", null],
    ["len(NGRAMS(repeat('äb', 200), 3)) || NGRAMS(repeat('äb', 200), 3)[398]", '398bäb'],
    ['NULL IS UNDEFINED AND 1 IS NOT UNDEFINED', true],
    ['SLICE([1, 2], 1, 0)', []],
    ['ARRAY_EXCEPT([1], NULL)', null],
    ['ARRAY_REMOVE([1, 2], (SELECT 1))', [2]],
    ["ERASE({'a': 1}, NULL)", { a: 1 }],
    ['[WIDTH_BUCKET(n, 10, 0, 5) for n in [11, 10, 3, 0]]', [0, 1, 4, 6]],
    ['WIDTH_BUCKET(3, NULL, 1, 5)', null],
    ["ELEMENT_AT('[5, 6]'::JSON, 1)", 6],
  ];
  test.each(cases)('%s', async (expression, gives) => {
    expect(await value(`SELECT ${expression}`)).toEqual(gives);
  });

  const refused: [string, RegExp][] = [
    ["SELECT ST_GEOGFROMTEXT('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))')", /ST_GEOGFROMTEXT reads POINT/],
    ["SELECT ST_GEOGFROMTEXT('POLYGON((0 0, 1 0, 1 1, 0 1))')", /ST_GEOGFROMTEXT reads POINT/],
    ['SELECT ST_CONTAINS(ST_GEOGPOINT(5, 5), ST_GEOGPOINT(5, 5))', /takes a polygon first/],
    ['SELECT ST_GEOGPOINT(200, 100)', /longitude from -180 to 180/],
    ['SELECT SLICE([1, 2], 0, 1)', /positions start at 1/],
    ['SELECT SLICE([1, 2], 1, -1)', /a length is not negative/],
    ['SELECT WIDTH_BUCKET(1, 2, 2, 5)', /the two bounds are the same/],
    ["SELECT NGRAMS('abc', 0)", /at least one character/],
    ["SELECT NGRAMS(repeat('x', 10000), 1, 20)", /the limit is/],
    ["SELECT PARSE_DATETIME_ISO8601('2024-03-01T07:00:00+01:00')", /PARSE_TIMESTAMP_ISO8601/],
    ["SELECT FORMAT_TIMESTAMP('%k', now())", /%k/],
    ["SELECT FORMAT_TIMESTAMP('%Y' || '%z', now(), 'Asia/Kolkata')", /written out/],
    [`SELECT MAP_AGG(n, s) FILTER (WHERE n > 1) FROM ${ROWS}`, /MAP_AGG/],
    ['SELECT 1 BETWEEN SYMMETRIC 2 AND 0', /BETWEEN SYMMETRIC is not available/],
    ["SELECT extra FROM orders WHERE extra = 'x'", /A column is JSON: cast it first/],
    ["SELECT ELEMENT_AT({'a': 1}, s) FROM (SELECT 'a' AS s)", /to_json\(object\)->>key/],
    ['SELECT 1 LIMIT 1, 2', /write LIMIT 2 OFFSET 1/],
    ['SELECT at::timestamp FROM orders', /"at" is a reserved word/],
    ['SELECT end FROM orders', /"end" is a reserved word/],
    ['SELECT `a FROM t', /backticks is not closed/],
  ];
  test.each(refused)('%s', async (sql, message) => {
    await expect(fixture.rows(sql)).rejects.toMatchObject({
      code: 'query_error',
      message: expect.stringMatching(message),
    });
  });

  test('columns without a name do not show what the text was made into', async () => {
    const sql = "SELECT FORMAT_DATE('%F', DATE '2024-03-01'), VALUES({'a': 1}), row(1, 2), [1]";
    const { columns } = await fixture.queries.query({ sql });
    for (const { name } of columns) expect(name.includes('\u0001') || /o_vals|main\./.test(name), name).toBe(false);
  });
});

describe('functions that could grow', () => {
  test.each([
    "SELECT NGRAMS('abc', 21)",
    "SELECT NGRAMS(lpad('', 10000, 'x') || 'x', 3)",
    'SELECT NGRAMS(lpad(s, 600, s), 1, 20) FROM (SELECT 1::VARCHAR AS s)',
    'SELECT SEQUENCE(1, 1000000000)',
  ])('%s', async (sql) => {
    await expect(fixture.rows(sql)).rejects.toMatchObject({ code: expect.stringMatching(/query_error|invalid_input/) });
  });

  test('or take long to bind, which cannot be stopped', async () => {
    const calls = [
      "to_json(to_json([SHA512('a')]))",
      `[${"HMAC_SHA512('a', 'k'), ".repeat(8)}]`,
      "json_keys(to_json({a: HMAC('a', 'k', 'md5')}))",
    ];
    for (const call of calls) await expect(fixture.rows(`SELECT ${call}`)).rejects.toThrow('grows too large');
  });

  test('nested deeply, all the same', async () => {
    const nest = (call: string, inner: string) => `SELECT ${`${call}(`.repeat(40)}${inner}${', 2)'.repeat(40)}`;
    expect(await value(nest('VECTOR_ENFORCE', '[1, 2]'))).toEqual([1, 2]);
    expect(await value(`SELECT ${'ARRAY_UNION('.repeat(40)}[1]${', [1])'.repeat(40)}`)).toEqual([1]);
  });
});
