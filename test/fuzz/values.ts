import { pick, type Random } from '../crash/load.ts';

/** Values as SQL, by type: ordinary ones, with which a function can succeed, and those that are easily forgotten. */
interface Values {
  plain: readonly string[];
  edge: readonly string[];
}

const WIDTHS = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT'].map((type, index) => [type, 8 * 2 ** index]);

function signed([type = '', bits = 0]: readonly (string | number)[]): string[] {
  const limit = 2n ** BigInt(Number(bits) - 1);
  return [`(${-limit + 1n} - 1)::${type}`, `(${limit - 1n})::${type}`];
}

function unsigned([type = '', bits = 0]: readonly (string | number)[]): string[] {
  return ['0', String(2n ** BigInt(bits) - 1n)].map((value) => `${value}::U${type}`);
}

const INTEGERS: Values = {
  plain: ['1', '2', '3', '7', '42', '-5', '100'],
  edge: [
    ...['0', '-1', '10000', '100000', '10000000', '-100000', '2147483648', '9223372036854775806'],
    ...[...WIDTHS.map(signed), ...WIDTHS.map(unsigned)].flat(),
    'NULL::BIGINT',
  ],
};

const DOUBLES: Values = {
  plain: ['0.5', '1.5::DOUBLE', '0.25', '3.7e2', '-2.5'],
  edge: [
    ...["'nan'", "'inf'", "'-inf'", "'-0'", '1.7976931348623157e308', '-1.7976931348623157e308', '5e-324', '0'].map(
      (value) => `${value}::DOUBLE`,
    ),
    ...[
      "'nan'::FLOAT",
      '3.4e38::FLOAT',
      '99999999999999999999999999999999999999::DECIMAL(38,0)',
      '1e-38::DECIMAL(38,38)',
    ],
    'NULL::DOUBLE',
  ],
};

const LONG = 'ab'.repeat(50_000);
const TEXTS: Values = {
  plain: ["'abc'", "'a,b,c'", "'2024-01-31'", "'12'", "'Ünï'", "'day'", "'a'", "'%Y-%m-%d'", "'a.*c'"],
  edge: [
    ...[
      "''",
      "' '",
      "'\u0301\u0301e\u0301'",
      "'👩‍👩‍👧‍👦🏽'",
      "'\ufffd\uffff'",
      'chr(1)',
      'chr(1114111)',
      "'%'",
      "'%_%_%a'",
      "'\\'",
      "'['",
    ],
    ...[
      "'$..a'",
      "'$[*]..*'",
      "'/'",
      "'{'",
      "'(?:a{0,1000}){0,1000}'",
      "'((a*)*)*b'",
      "'[[:alpha:]-'",
      "'%999999999s'",
      "'{:>99999}'",
      "'%%%Z%z%'",
    ],
    ...["'Europe/Berlin'", "'Nowhere/Land'", "'9999999-12-31 (BC)'", "'1e400'", "'-'", "'\u200f'", "'xxx'::VARCHAR"],
    `'${LONG}'`,
    `'${'[{"a":'.repeat(700)}'`,
    `'${'%Y%f%j'.repeat(2_000)}'`,
    `'${'a.b/'.repeat(5_000)}'`,
    "repeat('x', 10000)",
    "repeat('é', 5000)",
    "(SELECT string_agg('xy', '') FROM range(500000))",
    'NULL::VARCHAR',
  ],
};

const DATES: Values = {
  plain: ["DATE '2024-02-29'", "DATE '1970-01-01'", "DATE '1999-12-31'"],
  edge: ["'infinity'::DATE", "'-infinity'::DATE", "DATE '5877642-06-25 (BC)'", "DATE '5881580-07-10'", 'NULL::DATE'],
};

const TIMESTAMPS: Values = {
  plain: ["TIMESTAMP '2024-02-29 12:30:00'", "TIMESTAMP '1992-09-20 11:30:00.123456'"],
  edge: [
    "'infinity'::TIMESTAMP",
    "'-infinity'::TIMESTAMP",
    "TIMESTAMP '290309-12-22 (BC) 00:00:00'",
    "TIMESTAMP '294247-01-10 04:00:54.775806'",
    "TIMESTAMP '0001-01-01 00:00:00'",
    "'infinity'::TIMESTAMP_NS",
    "'infinity'::TIMESTAMP_S",
    "'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS",
    'NULL::TIMESTAMP',
  ],
};

const ZONED: Values = {
  plain: ["TIMESTAMPTZ '2024-02-29 12:30:00+02'", "TIMESTAMPTZ '2001-01-01 00:00:00Z'"],
  edge: TIMESTAMPS.edge.slice(0, 5).map((value) => `(${value})::TIMESTAMPTZ`),
};

const TIMES: Values = {
  plain: ["TIME '12:30:00'", "TIME '00:00:01'"],
  edge: [
    "TIME '24:00:00'",
    "TIME '00:00:00'",
    "'12:30:00+15:59:59'::TIMETZ",
    "'24:00:00-15:59:59'::TIMETZ",
    'NULL::TIME',
  ],
};

const INTERVALS: Values = {
  plain: ['INTERVAL 1 DAY', 'INTERVAL 2 MONTHS', "INTERVAL '1 hour'"],
  edge: [
    'INTERVAL 0 DAY',
    'INTERVAL (-1) MICROSECOND',
    'to_months(2147483647)',
    'to_months(-2147483647)',
    'to_days(2147483647)',
    'to_microseconds(9223372036854775807)',
    '(to_months(-2147483647) + to_days(-2147483647) + to_microseconds(-9223372036854775807))',
    'NULL::INTERVAL',
  ],
};

const BLOBS: Values = {
  plain: ["'abc'::BLOB", "'\\x00\\xFF'::BLOB"],
  edge: ["''::BLOB", "'\\xC3\\x28\\xED\\xA0\\x80'::BLOB", "encode(repeat('x', 10000))", 'NULL::BLOB'],
};

const BITS: Values = {
  plain: ["'10101'::BIT", "'0000001'::BIT"],
  edge: ["'1'::BIT", "bitstring('1', 10000)", 'NULL::BIT', '(-1)::BIGINT::BIT'],
};

/** In thousands of rows, lists of 100,000 items are known not to stop: see docs/security.md. */
const LISTS: Values = {
  plain: ['[1, 2, 3]', '[5, 1, 4, 1]', '[10]', 'range(5)'],
  edge: [
    ...[
      '[]',
      '[NULL]',
      '[NULL, 1, NULL]',
      'NULL::INTEGER[]',
      'range(20000)',
      '[9223372036854775807, (-9223372036854775807-1)]',
    ],
    '(SELECT list(i) FROM range(50000) t(i))',
    '[(-170141183460469231731687303715884105727-1)::HUGEINT]',
  ],
};
const DOUBLE_LISTS: Values = {
  plain: ['[1.0, 2.0, 3.0]::DOUBLE[]', '[0.5, -1.5, 2.5]::DOUBLE[]'],
  edge: [
    "['nan', 'inf', '-inf']::DOUBLE[]",
    '[]::DOUBLE[]',
    '[NULL, 1.0]::DOUBLE[]',
    '[1e308, 1e308]::DOUBLE[]',
    "[0, '-0']::FLOAT[]",
  ],
};
const TEXT_LISTS: Values = {
  plain: ["['a', 'b', 'c']", "['x']", "['$.a', '$.b']", "['day', 'hour']"],
  edge: [
    "['']",
    '[NULL::VARCHAR]',
    "string_split(repeat('a,', 5000), ',')",
    "['👩‍👩‍👧', '\u0301']",
    "[repeat('x', 10000)]",
  ],
};
const DEEP_LIST = `${'['.repeat(60)}1${']'.repeat(60)}`;
const NESTED_LISTS: Values = {
  plain: ['[[1, 2], [3]]'],
  edge: ['[[]]', '[NULL, []]', DEEP_LIST, '[range(100), range(1000)]'],
};
const VECTORS: Values = {
  plain: ['[1, 2, 3]::DOUBLE[3]', '[0.5, 0.5, 1]::FLOAT[3]', '[3, 2, 1]::INTEGER[3]'],
  edge: [
    '[1, 2]::DOUBLE[2]',
    "['nan', 'inf', 0]::DOUBLE[3]",
    '[NULL, 1, 2]::FLOAT[3]',
    'NULL::DOUBLE[3]',
    'range(1000)::FLOAT[1000]',
  ],
};

const STRUCTS: Values = {
  plain: ["{'a': 1, 'b': 'x'}", "{'a': 2, 'b': 'y'}"],
  edge: ["{'a': NULL}", 'NULL::STRUCT(a INTEGER)', "row(1, 'x')", "{'a': {'b': {'c': [1, NULL]}}}", "{'': 1}"],
};
const MAPS: Values = {
  plain: ["MAP {'a': 1, 'b': 2}", 'MAP {1: 10, 2: 20}'],
  edge: [
    'MAP {}',
    "map(['a', 'a'], [1, 2])",
    'map(range(10000), range(10000))',
    'MAP {NULL: 1}',
    'NULL::MAP(VARCHAR, INTEGER)',
    "MAP {'nan'::DOUBLE: 1}",
  ],
};
const JSONS: Values = {
  plain: [`'{"a": 1, "b": [1, 2], "c": {"d": "x"}}'::JSON`, `'[1, "two", null]'::JSON`],
  edge: [
    ...[
      `'null'::JSON`,
      `'""'::JSON`,
      `'{}'::JSON`,
      `'[]'::JSON`,
      `'{"":{"":{}}}'::JSON`,
      `'{"a":1,"a":2}'::JSON`,
      'NULL::JSON',
    ],
    ...[`'1e400'::JSON`, `'18446744073709551616'::JSON`, `'"\\ud800"'::JSON`, `'"\\u0000"'::JSON`],
    `'${'['.repeat(1_000)}${']'.repeat(1_000)}'::JSON`,
    `(repeat('[', 10000) || repeat(']', 10000))::JSON`,
    `(repeat('{"a":', 2000) || '1' || repeat('}', 2000))::JSON`,
    'to_json(range(50000))',
  ],
};
const OTHERS: Values = {
  plain: ["'a'::ENUM('a', 'b')", 'union_value(x := 1)', 'uuid()', 'true', 'false'],
  edge: [
    "NULL::ENUM('a', 'b')",
    "'x'::UNION(n INTEGER, t VARCHAR)",
    'NULL',
    '1::BIGNUM',
    "'00000000-0000-0000-0000-000000000000'::UUID",
    "'POINT(1 2)'",
  ],
};
const BOOLEANS: Values = { plain: ['true', 'false'], edge: ['NULL::BOOLEAN'] };
const LAMBDAS: Values = {
  plain: ['lambda x: x', 'lambda x: x > 1', 'lambda x, i: i > 1', 'lambda x: x IS NOT NULL'],
  edge: [
    'lambda x: list_transform(range(1000), lambda y: y)',
    'lambda x: len(list_filter(range(1000), lambda y: len(list_filter(range(1000), lambda z: z * y = x)) > 0)) > 0',
    'lambda x: NULL',
    "lambda x: repeat('x', 10000)",
    'lambda x: random() > 0.5',
    "lambda x: regexp_matches(x::VARCHAR, '(.*)*a')",
  ],
};

/** By the catalogue's names of types; a name that is not here takes any value. */
const BY_TYPE: ReadonlyMap<string, Values> = new Map([
  ...[
    'BIGINT',
    'INTEGER',
    'HUGEINT',
    'UBIGINT',
    'UINTEGER',
    'SMALLINT',
    'UHUGEINT',
    'USMALLINT',
    'TINYINT',
    'UTINYINT',
    'BIGNUM',
  ].map((type) => [type, INTEGERS] as const),
  ...['DOUBLE', 'FLOAT', 'DECIMAL'].map((type) => [type, DOUBLES] as const),
  ...['TIMESTAMP', 'TIMESTAMP_NS', 'TIMESTAMP_S', 'TIMESTAMP_MS'].map((type) => [type, TIMESTAMPS] as const),
  ...['TIME', 'TIME_NS', 'TIME WITH TIME ZONE'].map((type) => [type, TIMES] as const),
  ...['DOUBLE[]', 'FLOAT[]'].map((type) => [type, DOUBLE_LISTS] as const),
  ...['DOUBLE[ANY]', 'FLOAT[ANY]'].map((type) => [type, VECTORS] as const),
  ...['ANY[]', 'T[]'].map((type) => [type, LISTS] as const),
  ['ANY[][]', NESTED_LISTS],
  ['TIMESTAMP WITH TIME ZONE', ZONED],
  ['VARCHAR', TEXTS],
  ['VARCHAR[]', TEXT_LISTS],
  ['DATE', DATES],
  ['INTERVAL', INTERVALS],
  ['BLOB', BLOBS],
  ['BIT', BITS],
  ['BOOLEAN', BOOLEANS],
  ['JSON', JSONS],
  ['STRUCT', STRUCTS],
  ['MAP(K, V)', MAPS],
  ['LAMBDA', LAMBDAS],
]);

const ALL = [...new Set([...BY_TYPE.values(), OTHERS])].filter((values) => values !== LAMBDAS);

export const one = <T>(random: Random, list: readonly T[]): T => list[pick(random, list.length)] as T;

/** How often a value is one of the edges, and how often it has another type than the signature says. */
const EDGE_SHARE = 0.45;
const OTHER_TYPE_SHARE = 0.06;

export function anyValue(random: Random, type: string | null, edgeShare = EDGE_SHARE): string {
  const isOther = type !== 'LAMBDA' && random() < OTHER_TYPE_SHARE * Math.sign(edgeShare);
  const values = (isOther ? undefined : BY_TYPE.get(type ?? '')) ?? one(random, ALL);
  return one(random, random() < edgeShare ? values.edge : values.plain);
}

/** The types that values are cast to. */
export const TYPES: readonly string[] = [
  ...[
    'TINYINT',
    'SMALLINT',
    'INTEGER',
    'BIGINT',
    'HUGEINT',
    'UTINYINT',
    'UBIGINT',
    'UHUGEINT',
    'BIGNUM',
    'DOUBLE',
    'FLOAT',
  ],
  ...[
    'DECIMAL(38,38)',
    'DECIMAL(4,1)',
    'BOOLEAN',
    'VARCHAR',
    'BLOB',
    'BIT',
    'UUID',
    'DATE',
    'TIME',
    'TIMETZ',
    'TIME_NS',
  ],
  ...[
    'TIMESTAMP',
    'TIMESTAMP_S',
    'TIMESTAMP_NS',
    'TIMESTAMPTZ',
    'INTERVAL',
    'JSON',
    'INTEGER[]',
    'VARCHAR[]',
    'JSON[]',
  ],
  ...[
    'DOUBLE[3]',
    'FLOAT[1000]',
    'STRUCT(a INTEGER, b VARCHAR)',
    'MAP(VARCHAR, INTEGER)',
    "ENUM('a', 'b')",
    'UNION(n INTEGER, t VARCHAR)',
  ],
];
