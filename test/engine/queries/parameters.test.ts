import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { type JsonValue, stringifyJson } from '../../../src/contract/json/json.ts';
import { bindParameters, PARAMETER_VALUES_MAX } from '../../../src/engine/duckdb/queries/parameters.ts';
import { readStatement } from '../../../src/engine/duckdb/sql/statement.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

describe('readStatement() finds parameters', () => {
  test.each([
    ['SELECT :a', 'SELECT $a', ['a']],
    ['SELECT :a, :b, :a', 'SELECT $a, $b, $a', ['a', 'b']],
    ['SELECT :1, :2', 'SELECT $1, $2', ['1', '2']],
    ['SELECT $a', 'SELECT $a', ['a']],
    ['SELECT (:a)', 'SELECT ($a)', ['a']],
    ['SELECT x=:a', 'SELECT x=$a', ['a']],
    ['SELECT x-:a', 'SELECT x-$a', ['a']],
    ['SELECT x||:a', 'SELECT x||$a', ['a']],
    ['SELECT f(x,:a)', 'SELECT f(x,$a)', ['a']],
    ['SELECT :größe', 'SELECT $größe', ['größe']],
    ['SELECT 1 LIMIT :n OFFSET :m', 'SELECT 1 LIMIT $n OFFSET $m', ['n', 'm']],
    ['SELECT 1 LIMIT:n', 'SELECT 1 LIMIT$n', ['n']],
    ['SELECT x BETWEEN :a AND :b', 'SELECT x BETWEEN $a AND $b', ['a', 'b']],
    ['SELECT x LIKE :p', 'SELECT x LIKE $p', ['p']],
    ['SELECT x IN (:a,:b)', 'SELECT x IN ($a,$b)', ['a', 'b']],
    ['SELECT x IN :l', 'SELECT x IN $l', ['l']],
    ['SELECT CASE WHEN :a THEN :b ELSE :c END', 'SELECT CASE WHEN $a THEN $b ELSE $c END', ['a', 'b', 'c']],
    ['SELECT t AT TIME ZONE :z', 'SELECT t AT TIME ZONE $z', ['z']],
    ['SELECT INTERVAL :n DAY', 'SELECT INTERVAL ($n) DAY', ['n']],
    ['SELECT ROWS :n', 'SELECT ROWS $n', ['n']],
    ['VALUES (:a)', 'VALUES ($a)', ['a']],
    ['SELECT :a::DATE', 'SELECT $a::DATE', ['a']],
    ['SELECT :a::INT', 'SELECT $a::BIGINT', ['a']],
    ['SELECT :a ::DATE', 'SELECT $a ::DATE', ['a']],
    ['SELECT [:a, :b]', 'SELECT [$a, $b]', ['a', 'b']],
    ['SELECT ARRAY[:a]', 'SELECT ARRAY[$a]', ['a']],
    ['SELECT [[:a]]', 'SELECT [[$a]]', ['a']],
    ["SELECT {'a': :b}", "SELECT {'a': $b}", ['b']],
    ["SELECT {'a':x, 'b':(:c)}", "SELECT {'a':x, 'b':($c)}", ['c']],
    ['SELECT MAP {:k: :v}', 'SELECT MAP {$k: $v}', ['k', 'v']],
    ['SELECT a[(:i)]', 'SELECT a[($i)]', ['i']],
    ['SELECT a[1 + :i]', 'SELECT a[1 + $i]', ['i']],
    ['SELECT a[1: :n]', 'SELECT a[1: $n]', ['n']],
    ['SELECT a[f(:i):2]', 'SELECT a[f($i):2]', ['i']],
    ['/* :a */ SELECT :b -- :c', '/* :a */ SELECT $b -- :c', ['b']],
    ['SELECT /* a /* :x */ :y */ :z', 'SELECT /* a /* :x */ :y */ $z', ['z']],
    ["SELECT 'it''s :a', :b", "SELECT 'it''s :a', $b", ['b']],
    ["SELECT e'\\' :a', :b", "SELECT e'\\' :a', $b", ['b']],
    ["SELECT E'\\\\', :b", "SELECT E'\\\\', $b", ['b']],
    ["SELECT 'x\\', :b", "SELECT 'x\\', $b", ['b']],
    ['SELECT $$ :a $$, :b', 'SELECT $$ :a $$, $b', ['b']],
    ['SELECT $t$ :a $$ $t$, :b', 'SELECT $t$ :a $$ $t$, $b', ['b']],
    ['SELECT "a :x ""y", :b', 'SELECT "a :x ""y", $b', ['b']],
    ['SELECT a$b, :c', 'SELECT a$b, $c', ['c']],
  ])('%s', async (sql, expected, parameters) => {
    const statement = await readStatement(sql);
    expect(statement.body).toBe(expected);
    expect(statement.parameters).toEqual(parameters);
  });

  test.each([
    "SELECT ':a'",
    'SELECT ":a"',
    "SELECT e'\\':a'",
    'SELECT $$:a$$',
    'SELECT 1 -- :a',
    'SELECT 1 /* :a',
    'SELECT x::date',
    'SELECT x ::date',
    'SELECT a[1:2]',
    'SELECT a[1:n]',
    'SELECT a[:n]',
    'SELECT a[:2]',
    'SELECT a[i:j:k]',
    'SELECT a.b[x:y]',
    'SELECT f(x)[1:n]',
    "SELECT {'a':x}",
    'SELECT {a:x, b:y}',
    "SELECT MAP {'a':x}",
    'SELECT total:sum(x) FROM t',
    'SELECT a: 42',
    'SELECT "a":42',
    'SELECT list_transform(l, lambda x:x+1)',
    'SELECT list_transform(l, lambda x :x+1)',
    'SELECT struct_pack(a := 1)',
    'SELECT f(a => 1)',
  ])('none in %s', async (sql) => {
    const statement = await readStatement(sql);
    expect(statement.body).toBe(sql);
    expect(statement.parameters).toEqual([]);
  });

  test('refuses ? with its place', async () => {
    await expect(readStatement('SELECT\n  ?')).rejects.toThrow(
      expect.objectContaining({ code: 'query_error', details: expect.objectContaining({ line: 2, column: 3 }) }),
    );
    expect((await readStatement("SELECT '?'")).parameters).toEqual([]);
  });

  test('refuses a text of too many tokens, and reads one of as many as there may be', async () => {
    const most = `SELECT ${'1,'.repeat(64 * 1024 - 1)}1`;
    expect((await readStatement(most)).body).toBe(most);
    await expect(readStatement(`${most}+`)).rejects.toThrow(/too many parts/);
  });

  test('refuses names mixed with numbers', async () => {
    await expect(readStatement('SELECT :a, :1')).rejects.toThrow(/mixes named and numbered/);
  });
});

describe('conversion of parameters', () => {
  const bad: [type: string, value: JsonValue][] = [
    ['int', '1.5'],
    ['int', 1.5],
    ['int', 'abc'],
    ['int', ''],
    ['int', true],
    ['int', '9'.repeat(60)],
    ['int', [1]],
    ['float', 'x'],
    ['float', ''],
    ['float', true],
    ['float', '1e400'],
    ['float', 9007199254740993n],
    ['float', '9007199254740993'],
    ['float', 10n ** 400n],
    ['bool', 'yes'],
    ['bool', 2],
    ['date', '2026-02-30'],
    ['date', '2026-13-01'],
    ['date', 'today'],
    ['date', 20_260_101],
    ['time', '25:00'],
    ['time', '10:61'],
    ['time', '10'],
    ['datetime', '2026-01-01T25:00:00'],
    ['datetime', 'x'],
    ['timestamp', 'x'],
    ['timestamp', '2026-01-01T10:00:00+1'],
    ['timestamp', '2026-01-01T10:00:00+99:99'],
    ['timestamp', '2026-01-01T10:00:00-24:00'],
    ['timestamp', 1.5],
    ['timestamp', 2n ** 70n],
    ['string', { a: 1 }],
    ['string', [1]],
    ['array', '{"a": 1}'],
    ['array', 'x'],
    ['array', 3],
    ['object', '[1]'],
    ['object', [1]],
    ['object', 'x'],
  ];
  test.each(bad.map(([type, value]) => [type, stringifyJson(value), value] as const))(
    'refuses %s %s, naming parameter, type and value',
    (type, _, value) => {
      let thrown: unknown;
      try {
        bindParameters(['when'], [{ name: 'when', type, value }]);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(ApiError);
      expect(thrown).toMatchObject({ code: 'invalid_input' });
      expect(String(thrown)).toContain(`"when" of type "${type}"`);
    },
  );

  test.each([
    ['date', '2026-02-30', /There is no day 2026-02-30\.$/],
    ['datetime', '2025-02-29T10:00:00', /There is no day 2025-02-29\.$/],
    ['timestamp', '2026-13-01T00:00:00Z', /There is no day 2026-13-01\.$/],
    ['date', '2026-2-30', /There is no day 2026-2-30\.$/],
    ['date', 'today', /It takes a date as YYYY-MM-DD\.$/],
    ['datetime', '2026-02-28T25:00:00', /It takes a date and time as /],
  ])('says of %s %s what is wrong', (type, value, why) => {
    expect(() => bindParameters(['when'], [{ name: 'when', type, value }])).toThrow(why);
  });

  test('refuses an unknown type, listing the known ones', () => {
    expect(() => bindParameters(['a'], [{ name: 'a', type: 'uuid', value: 'x' }])).toThrow(
      /unknown type "uuid".*string, int/,
    );
  });

  test('cuts a long value in the message', () => {
    expect(() => bindParameters(['a'], [{ name: 'a', type: 'int', value: 'x'.repeat(10_000) }])).toThrow(/^.{1,250}$/);
  });
});

describe('bindParameters()', () => {
  test('names what is used and has no value', () => {
    expect(() => bindParameters(['a'], [])).toThrow(/^Parameter ":a" is used by the SQL and has no value\./);
    expect(() => bindParameters(['a'], [{ name: 'a', type: 'int' }])).toThrow(/has no value/);
    expect(bindParameters(['a'], [], true).size).toBe(0);
  });

  test('ignores what is not used, even where its value is bad', () => {
    expect([
      ...bindParameters(
        ['a'],
        [
          { name: 'a', value: 1 },
          { name: 'b', type: 'int', value: 'x' },
        ],
      ).keys(),
    ]).toEqual(['a']);
  });

  test('takes names with their colon, and in another case', () => {
    expect(
      bindParameters(
        ['a', 'B'],
        [
          { name: ':a', value: 1 },
          { name: 'b', value: 2 },
        ],
      ).size,
    ).toBe(2);
  });

  test('refuses more values than can be converted in a moment, wherever they are', () => {
    const list = (length: number) => Array.from({ length }, (_, index) => index);
    const bind = (...values: JsonValue[]) => {
      const given = values.map((value, index) => ({ name: `p${index}`, value, type: 'array' }));
      return bindParameters(
        given.map(({ name }) => name),
        given,
      ).size;
    };
    const half = PARAMETER_VALUES_MAX / 2;
    expect(bind(list(PARAMETER_VALUES_MAX))).toBe(1);
    expect(bind(list(half), list(half))).toBe(2);
    expect(() => bind(list(PARAMETER_VALUES_MAX + 1))).toThrow(/^With parameter "p0" .* more than 20,000 values/);
    expect(() => bind(list(half), list(half + 1))).toThrow(/^With parameter "p1"/);
    expect(() => bind(JSON.stringify(list(PARAMETER_VALUES_MAX + 1)))).toThrow(/Send fewer at once/);
    expect(() => bind(list(half).map(() => [{ a: [] }]))).toThrow(/more than 20,000 values/);
  });

  test('refuses a name given twice', () => {
    expect(() =>
      bindParameters(
        ['a'],
        [
          { name: 'a', value: 1 },
          { name: 'a', value: 2 },
        ],
      ),
    ).toThrow(/given twice/);
  });
});

describe('query() binds', () => {
  const cases: [type: string | undefined, value: JsonValue, name: string, result: JsonValue][] = [
    ['string', 'x', 'VARCHAR', 'x'],
    ['string', 5, 'VARCHAR', '5'],
    ['string', "'; DROP TABLE x; --", 'VARCHAR', "'; DROP TABLE x; --"],
    ['string', '😀', 'VARCHAR', '😀'],
    ['int', '42', 'BIGINT', 42],
    ['int', 42, 'BIGINT', 42],
    ['int', '-7', 'BIGINT', -7],
    ['int', '+7', 'BIGINT', 7],
    ['int', '9223372036854775807', 'BIGINT', '9223372036854775807'],
    ['int', 9223372036854775808n, 'HUGEINT', '9223372036854775808'],
    ['float', '1.5', 'DOUBLE', 1.5],
    ['float', 2, 'DOUBLE', 2],
    ['float', '1e3', 'DOUBLE', 1000],
    ['float', '0.1234567890123456789', 'DOUBLE', 0.12345678901234568],
    ['float', 2n ** 60n, 'DOUBLE', 2 ** 60],
    // As JavaScript writes it.
    ['float', String(2 ** 60), 'DOUBLE', 2 ** 60],
    ['float', 'NaN', 'DOUBLE', 'NaN'],
    ['float', '-Infinity', 'DOUBLE', '-Infinity'],
    ['bool', 'true', 'BOOLEAN', true],
    ['bool', 'FALSE', 'BOOLEAN', false],
    ['bool', true, 'BOOLEAN', true],
    ['bool', 0, 'BOOLEAN', false],
    ['date', '2026-01-31', 'DATE', '2026-01-31'],
    ['date', '0001-01-01', 'DATE', '0001-01-01'],
    ['time', '10:30:15.25', 'TIME', '10:30:15.25'],
    ['time', '10:30', 'TIME', '10:30:00'],
    ['datetime', '2026-01-31T10:30:00', 'TIMESTAMP', '2026-01-31T10:30:00.000000'],
    ['datetime', '2026-01-31 10:30:00.123456', 'TIMESTAMP', '2026-01-31T10:30:00.123456'],
    ['datetime', '2026-01-31', 'TIMESTAMP', '2026-01-31T00:00:00.000000'],
    ['timestamp', '2026-01-31T10:30:00Z', 'TIMESTAMP WITH TIME ZONE', '2026-01-31T10:30:00.000000Z'],
    ['timestamp', '2026-01-31T10:30:00+02:00', 'TIMESTAMP WITH TIME ZONE', '2026-01-31T08:30:00.000000Z'],
    ['timestamp', '2026-01-31T10:30:00-0530', 'TIMESTAMP WITH TIME ZONE', '2026-01-31T16:00:00.000000Z'],
    ['timestamp', '2026-01-31T10:30:00', 'TIMESTAMP WITH TIME ZONE', '2026-01-31T10:30:00.000000Z'],
    ['timestamp', 1_000_000, 'TIMESTAMP WITH TIME ZONE', '1970-01-01T00:00:01.000000Z'],
    ['timestamp', '1000000', 'TIMESTAMP WITH TIME ZONE', '1970-01-01T00:00:01.000000Z'],
    ['array', [1, 2], 'BIGINT[]', [1, 2]],
    ['array', '[1, 2.5]', 'DOUBLE[]', [1, 2.5]],
    ['array', [9007199254740993n, 0.5], 'JSON[]', ['9007199254740993', 0.5]],
    ['array', [10n ** 40n, 1], 'JSON[]', [`1${'0'.repeat(40)}`, 1]],
    ['array', [2 ** 60, 'x'], 'JSON[]', [`${2n ** 60n}`, 'x']],
    ['array', ['a', null], 'VARCHAR[]', ['a', null]],
    [undefined, 10n ** 45n + 1n, 'VARCHAR', `1${'0'.repeat(44)}1`],
    [
      'object',
      { a: 9007199254740993n, b: [9007199254740993n, 1.5] },
      'STRUCT(a BIGINT, b JSON[])',
      { a: '9007199254740993', b: ['9007199254740993', 1.5] },
    ],
    ['array', [[1], [2, 3]], 'BIGINT[][]', [[1], [2, 3]]],
    ['array', [], '"NULL"[]', []],
    ['array', [1, 'a', { b: 2 }], 'JSON[]', [1, 'a', { b: 2 }]],
    ['array', [{ a: 1 }, { b: 'x' }], 'STRUCT(a BIGINT, b VARCHAR)[]', [{ a: 1 }, { b: 'x' }]],
    ['object', { a: 1, b: [true] }, 'STRUCT(a BIGINT, b BOOLEAN[])', { a: 1, b: [true] }],
    ['object', '{"a": {"b": null}}', 'STRUCT(a STRUCT(b "NULL"))', { a: {} }],
    ['object', {}, 'MAP(VARCHAR, VARCHAR)', {}],
    ['object', '{}', 'MAP(VARCHAR, VARCHAR)', {}],
    ['object', { a: {} }, 'STRUCT(a JSON)', { a: {} }],
    ['object', { a: 1, A: 2 }, 'VARCHAR', '{"a":1,"A":2}'],
    ['null', 'x', '"NULL"', null],
    ['int', null, '"NULL"', null],
    [undefined, 1, 'BIGINT', 1],
    ['', 1.5, 'DOUBLE', 1.5],
    ['', true, 'BOOLEAN', true],
    ['', 'x', 'VARCHAR', 'x'],
    ['', null, '"NULL"', null],
    ['', [1], 'BIGINT[]', [1]],
    ['', 9007199254740993n, 'BIGINT', '9007199254740993'],
  ];
  test.each(cases.map(([type, value, name, result]) => [type, stringifyJson(value), name, value, result] as const))(
    '%s %s as %s',
    async (type, _, name, value, result) => {
      const [row] = await fixture.rows('SELECT pg_typeof(:p), :p', { parameters: [{ name: 'p', type, value }] });
      expect(row).toEqual([name.toLowerCase(), result]);
    },
  );

  test('a timestamp that most likely counts another unit is told', async () => {
    const warned = async (value: JsonValue, sql = 'SELECT :p') =>
      (await fixture.queries.query({ sql, parameters: [{ name: 'p', type: 'timestamp', value }] })).warnings;
    expect(await warned(1_700_000_000)).toEqual([
      'Parameter "p" is 1970-01-01T00:28:20.000Z: a timestamp counts microseconds. If these are seconds, give 1700000000000000, or ISO text.',
    ]);
    expect((await warned('1700000000123'))[0]).toContain('If these are milliseconds, give 1700000000123000,');
    for (const value of [0, 1_000_000, 1_700_000_000_000_000n, '1970-01-01T00:28:20Z'])
      expect(await warned(value)).toEqual([]);
    expect(await warned(1_700_000_000, 'SELECT 1')).toEqual([]);
  });

  test('a parameter in LIMIT and OFFSET', async () => {
    const parameters = [
      { name: 'n', value: 2 },
      { name: 'm', type: 'int', value: '1' },
    ];
    expect(await fixture.rows('SELECT n FROM prod.events ORDER BY n LIMIT :n OFFSET :m', { parameters })).toEqual([
      [1],
      [2],
    ]);
  });

  test('numbered parameters', async () => {
    const parameters = [
      { name: '2', value: 'b' },
      { name: '1', value: 'a' },
    ];
    expect(await fixture.rows('SELECT :1 || :2 || :1', { parameters })).toEqual([['aba']]);
  });

  test('event times against timestamps, datetimes and text', async () => {
    const sql = 'SELECT count(*) FROM orders WHERE _event_time >= :t';
    for (const type of ['timestamp', 'datetime', '', 'string']) {
      expect(await fixture.rows(sql, { parameters: [{ name: 't', type, value: '2026-01-02T00:00:00Z' }] })).toEqual([
        [2],
      ]);
    }
  });

  test('an array in IN and a struct field', async () => {
    const parameters = [
      { name: 's', value: ['open'] },
      { name: 'o', value: { a: 'x' } },
    ];
    expect(await fixture.rows('SELECT count(*) FROM orders WHERE status IN :s', { parameters })).toEqual([[2]]);
    expect(await fixture.rows('SELECT (:o).a', { parameters })).toEqual([['x']]);
  });

  test('the same parameter in places of different types', async () => {
    const parameters = [{ name: 'p', value: '5' }];
    expect(await fixture.rows('SELECT :p || :p, :p::INT + 1', { parameters })).toEqual([['55', 6]]);
  });

  test('an integer is of 32 bits where a function or a date takes no more, and only there', async () => {
    const parameters = [
      { name: 'd', type: 'int', value: 2 },
      { name: 'big', value: 3_000_000_007 },
    ];
    const sql = `SELECT round(1.2345::DOUBLE, :d) AS r, lpad('7', :d, '0'), rpad('7', $d, '0'), DATE '2024-01-31' + :d, DATE '2024-01-31'-:d,
      round(:big, :d), :d * 3000000000, length({'a': 1}), lpad('7', CAST(:d AS INT), '0')`;
    expect(await fixture.rows(sql, { parameters })).toEqual([
      [1.23, '07', '70', '2024-02-02', '2024-01-29', 3_000_000_007, 6_000_000_000, 1, '07'],
    ]);
    await expect(fixture.queries.inspect({ sql, parameters })).resolves.toBeDefined();
    const failing = (text: string) => fixture.rows(text, { parameters }).catch((error: Error) => error.message);
    expect(await failing("SELECT lpad('7', :big, '0')")).toContain('out of range');
    expect(await failing('SELECT round([1], :d)')).toMatch(/^No function matches .* 'round/);
  });
});
