import { DuckDBStructVector } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import { uniqueNames } from '../../../src/engine/duckdb/sql/result-names.ts';
import { estimateBytes } from '../../../src/engine/duckdb/values/values.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

/** SQL expression, its type in `columns`, and its value. */
const VALUES: [sql: string, type: string, value: JsonValue][] = [
  ['true', 'BOOLEAN', true],
  ['(-128)::TINYINT', 'TINYINT', -128],
  ['255::UTINYINT', 'UTINYINT', 255],
  ['(-32768)::SMALLINT', 'SMALLINT', -32768],
  ['65535::USMALLINT', 'USMALLINT', 65535],
  ['(-2147483648)::INT4', 'INTEGER', -2147483648],
  ['4294967295::UINTEGER', 'UINTEGER', 4294967295],
  ['9007199254740991::BIGINT', 'BIGINT', 9007199254740991],
  ['9007199254740993::BIGINT', 'BIGINT', '9007199254740993'],
  ['(-9223372036854775808)::BIGINT', 'BIGINT', '-9223372036854775808'],
  ['18446744073709551615::UBIGINT', 'UBIGINT', '18446744073709551615'],
  ['1::UBIGINT', 'UBIGINT', 1],
  ['170141183460469231731687303715884105727::HUGEINT', 'HUGEINT', '170141183460469231731687303715884105727'],
  ['(-5)::HUGEINT', 'HUGEINT', -5],
  ['340282366920938463463374607431768211455::UHUGEINT', 'UHUGEINT', '340282366920938463463374607431768211455'],
  ["'123456789012345678901234567890123456789012'::BIGNUM", 'BIGNUM', '123456789012345678901234567890123456789012'],
  ['1.5::DOUBLE', 'DOUBLE', 1.5],
  ["'nan'::DOUBLE", 'DOUBLE', 'NaN'],
  ["'inf'::DOUBLE", 'DOUBLE', 'Infinity'],
  ["'-inf'::DOUBLE", 'DOUBLE', '-Infinity'],
  ['0.1::FLOAT4', 'FLOAT', 0.1],
  ['16777217::FLOAT4', 'FLOAT', 16777216],
  ["'inf'::FLOAT4", 'FLOAT', 'Infinity'],
  ['1.10::DECIMAL(4,2)', 'DECIMAL(4,2)', 1.1],
  ['(-0.001)::DECIMAL(15,3)', 'DECIMAL(15,3)', -0.001],
  ['123456789012.345::DECIMAL(18,3)', 'DECIMAL(18,3)', 123456789012.345],
  ['1234567890123456.75::DECIMAL(18,2)', 'DECIMAL(18,2)', '1234567890123456.75'],
  ['12345678901234567890.5::DECIMAL(38,1)', 'DECIMAL(38,1)', '12345678901234567890.5'],
  ['2::DECIMAL(38,10)', 'DECIMAL(38,10)', 2],
  ["'it''s 😀'", 'VARCHAR', "it's 😀"],
  ["''", 'VARCHAR', ''],
  ["DATE '2026-01-31'", 'DATE', '2026-01-31'],
  ["DATE '0001-01-01'", 'DATE', '0001-01-01'],
  ["'infinity'::DATE", 'DATE', 'infinity'],
  ["'-infinity'::DATE", 'DATE', '-infinity'],
  ["TIME '10:30:15.25'", 'TIME', '10:30:15.25'],
  ["'10:30:15+02'::TIMETZ", 'TIME WITH TIME ZONE', '10:30:15+02'],
  ["TIMESTAMP '2026-01-31 10:30:15.123456'", 'TIMESTAMP', '2026-01-31T10:30:15.123456'],
  ["TIMESTAMP '1969-12-31 23:59:59.999999'", 'TIMESTAMP', '1969-12-31T23:59:59.999999'],
  ["TIMESTAMP '0001-01-01 00:00:00.000001'", 'TIMESTAMP', '0001-01-01T00:00:00.000001'],
  ["TIMESTAMP '9999-12-31 23:59:59.999999'", 'TIMESTAMP', '9999-12-31T23:59:59.999999'],
  ["'infinity'::TIMESTAMP", 'TIMESTAMP', 'infinity'],
  ["'-infinity'::TIMESTAMPTZ", 'TIMESTAMP WITH TIME ZONE', '-infinity'],
  ["TIMESTAMPTZ '2026-01-31 10:30:15+02'", 'TIMESTAMP WITH TIME ZONE', '2026-01-31T08:30:15.000000Z'],
  ["'2026-01-31 10:30:15'::TIMESTAMP_S", 'TIMESTAMP_S', '2026-01-31T10:30:15.000000'],
  ["'2026-01-31 10:30:15.123'::TIMESTAMP_MS", 'TIMESTAMP_MS', '2026-01-31T10:30:15.123000'],
  ["'2026-01-31 10:30:15.123456789'::TIMESTAMP_NS", 'TIMESTAMP_NS', '2026-01-31T10:30:15.123456789'],
  ["'1969-12-31 23:59:59.999999999'::TIMESTAMP_NS", 'TIMESTAMP_NS', '1969-12-31T23:59:59.999999999'],
  ["'2026-01-31'::TIMESTAMP_NS", 'TIMESTAMP_NS', '2026-01-31T00:00:00.000000'],
  ["INTERVAL '1 month 2 days 3 hours'", 'INTERVAL', '1 month 2 days 03:00:00'],
  ["'ab7a418e-85c4-4284-bac4-d817f94e64f5'::UUID", 'UUID', 'ab7a418e-85c4-4284-bac4-d817f94e64f5'],
  ["'b'::ENUM('a', 'b')", "ENUM('a', 'b')", 'b'],
  ["'10110'::BIT", 'BIT', '10110'],
  ["'\\xFF\\x00a'::BLOB", 'BLOB', '/wBh'],
  ['[1, NULL, 3]', 'INTEGER[]', [1, null, 3]],
  ['[]::VARCHAR[]', 'VARCHAR[]', []],
  ["[['a'], [], NULL]", 'VARCHAR[][]', [['a'], [], null]],
  ['[1, 2]::INT4[2]', 'INTEGER[2]', [1, 2]],
  [
    '[[1, 2], [3, 4]]::INT4[2][2]',
    'INTEGER[2][2]',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ["{'a': 1, 'b c': {'d': NULL}}", 'STRUCT("a" INTEGER, "b c" STRUCT("d" INTEGER))', { a: 1, 'b c': {} }],
  ["[{'a': 1}, NULL]", 'STRUCT("a" INTEGER)[]', [{ a: 1 }, null]],
  ["MAP {'a': 1, 'b': 2}", 'MAP(VARCHAR, INTEGER)', { a: 1, b: 2 }],
  ["MAP {1: 'x'}", 'MAP(INTEGER, VARCHAR)', [{ key: 1, value: 'x' }]],
  ["MAP {'a': [{'n': 9007199254740993}]}", 'MAP(VARCHAR, STRUCT("n" BIGINT)[])', { a: [{ n: '9007199254740993' }] }],
  ['union_value(n := 1)', 'UNION("n" INTEGER)', 1],
  ["'x'::UNION(n INT4, s VARCHAR)", 'UNION("n" INTEGER, "s" VARCHAR)', 'x'],
  [`'{"a": [1, 2.5, "x", null, true]}'::JSON`, 'JSON', { a: [1, 2.5, 'x', null, true] }],
  [
    `'{"n": 9007199254740993, "m": -123456789012345678}'::JSON`,
    'JSON',
    { n: '9007199254740993', m: '-123456789012345678' },
  ],
  ["'12345678901234567890'::JSON", 'JSON', '12345678901234567890'],
  ['\'"text"\'::JSON', 'JSON', 'text'],
  ["'null'::JSON", 'JSON', null],
  ["['1'::JSON, '{\"a\": 2}'::JSON]", 'JSON[]', [1, { a: 2 }]],
  ["{'j': '[1]'::JSON}", 'STRUCT("j" JSON)', { j: [1] }],
  ["MAP {'a': '[1]'::JSON}", 'MAP(VARCHAR, JSON)', { a: [1] }],
  ['NULL', 'INTEGER', null],
];

describe('values', () => {
  test.each(VALUES)('%s is %s', async (sql, type, value) => {
    const { columns, rows } = await fixture.queries.query({ sql: `SELECT ${sql} AS x` });
    expect(columns).toEqual([{ name: 'x', type }]);
    expect(rows).toEqual([[value]]);
  });

  test.each(VALUES.filter(([sql]) => sql !== 'NULL'))(
    '%s: NULL beside it, in columns and in lists',
    async (sql, _, value) => {
      const both = await fixture.rows(`SELECT x FROM (SELECT ${sql} AS x, 1 AS o UNION ALL SELECT NULL, 2) ORDER BY o`);
      expect(both).toEqual([[value], [null]]);
      expect(await fixture.rows(`SELECT [${sql}, NULL] AS x`)).toEqual([[[value, null]]]);
    },
  );

  test('a key named __proto__ is a key', async () => {
    const sql = `SELECT {'__proto__': {'x': 1}, 'a': 2} AS s, MAP {'__proto__': 1} AS m, '{"__proto__": {"x": 1}}'::JSON AS j`;
    const [row] = await fixture.rows(sql);
    expect(JSON.stringify(row)).toBe('[{"__proto__":{"x":1},"a":2},{"__proto__":1},{"__proto__":{"x":1}}]');
    expect(Object.getPrototypeOf(row?.[0])).toBe(Object.prototype);
  });

  test('JSON that is too deep to be walked stays text', async () => {
    const deep = `${'['.repeat(1_001)}${']'.repeat(1_001)}`;
    expect(await fixture.rows(`SELECT ('[' || '${deep}' || ']')::JSON`)).toEqual([[`[${deep}]`]]);
    const flat = { a: ['['.repeat(5_000), '"\\', '['.repeat(5_000)] };
    expect(await fixture.rows(`SELECT '${JSON.stringify(flat)}'::JSON`)).toEqual([[flat]]);
    expect(await fixture.rows(`SELECT '${deep.slice(1, -1)}'::JSON`)).toEqual([[JSON.parse(deep.slice(1, -1))]]);
  });

  test('names of columns are unique', async () => {
    const { columns } = await fixture.queries.query({ sql: 'SELECT 1 AS x, 2 AS x, 3 AS x_1, 4 AS x' });
    expect(columns.map(({ name }) => name)).toEqual(['x', 'x_2', 'x_1', 'x_3']);
    expect(uniqueNames(['a', 'b'])).toEqual(['a', 'b']);
    expect(uniqueNames(['a', 'a', 'a'])).toEqual(['a', 'a_1', 'a_2']);
    const lower = (name: string) => name.toLowerCase();
    expect(uniqueNames(['A', 'a', 'a_1', 'a', 'A'], lower)).toEqual(['A', 'a_2', 'a_1', 'a_3', 'A_4']);
    // This would take minutes if each number were tried again.
    expect(uniqueNames(Array.from({ length: 100_000 }, () => 'a')).at(-1)).toBe('a_99999');
  });

  test('values of very many items are the same as of few', async () => {
    const item = `{'n': i, 's': 'x' || i, 'l': [i, NULL], 'm': map(['k'], [i]), 'q': map([i], [{'z': i}]), 'u': row(i, [i])}`;
    const sql = `SELECT list(${item}), map(list('k' || i), list([i, i, i])), {'in': list([i, i, i]), 'x': 1}, [NULL, list([i, i, i])]`;
    const [row] = await fixture.rows(`${sql} FROM range(20000) t(i)`);
    const all = Array.from({ length: 20_000 }, (_, i) => i);
    const threes = all.map((i) => [i, i, i]);
    const expected = [
      all.map((i) => ({ n: i, s: `x${i}`, l: [i, null], m: { k: i }, q: [{ key: i, value: { z: i } }], u: [i, [i]] })),
      Object.fromEntries(threes.map((three, i) => [`k${i}`, three])),
      { in: threes, x: 1 },
      [null, threes],
    ];
    expect(row?.map((value) => JSON.stringify(value)).map((text, i) => text === JSON.stringify(expected[i]))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  test('a value beyond the limit of bytes is not read to its end', async () => {
    const small = await createFixture({ resultBytesMax: 100_000 });
    const read = vi.spyOn(DuckDBStructVector.prototype, 'isItemValid');
    const { rows, cut } = await small.queries.query({ sql: "SELECT list({'n': i}) FROM range(60000) t(i)" });
    expect([rows, cut]).toEqual([[], { reason: 'bytes', limit: 100_000 }]);
    expect(read.mock.calls.length).toBeLessThan(20_000);
    read.mockRestore();
    await small.close();
  });

  test('estimateBytes() is near the JSON text', () => {
    const value = { a: [1, 2, 'text'], b: { c: null, d: 'ü'.repeat(10) } };
    expect(estimateBytes(value)).toBeGreaterThan(JSON.stringify(value).length * 0.7);
    expect(estimateBytes(value)).toBeLessThan(JSON.stringify(value).length * 2);
  });

  test('lists across chunks stay whole in 100,000 rows', async () => {
    const sql = `SELECT i, i::VARCHAR || 'text' AS s, i * 1.5::DOUBLE AS d, make_timestamp(i::BIGINT) AS t, [i, i + 1] AS l,
      {'a': i, 'b': 'x'} AS o FROM range(100000) t(i)`;
    const rows = await fixture.rows(sql);
    expect(rows.length).toBe(100_000);
    for (const at of [0, 2_047, 2_048, 99_999]) {
      expect(rows[at]?.[4]).toEqual([at, at + 1]);
      expect(rows[at]?.[5]).toEqual({ a: at, b: 'x' });
    }
  });
});
