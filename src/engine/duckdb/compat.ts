/**
 * The functions that users of other SQL services bring along, and that the engine lacks or spells otherwise.
 *
 * A function that the engine has under another name is renamed where it stands, so that DISTINCT, FILTER and OVER work
 * with it as ever. The others are macros, made on a connection that reads when a statement first calls them there. The
 * documentation of SQL is generated from this table, and a test runs every example.
 */
export interface CompatFunction {
  group: string;
  /** As it is documented: upper case. */
  name: string;
  /** The engine's name for it. Neither this nor `macro`: the engine has the function as it is. */
  renamed?: string;
  /** Overloads: parameters with AS and the expression. One `p` struct holds arguments that are used more than once. */
  macro?: readonly string[];
  /** An expression, and what it gives. */
  example: string;
  gives: unknown;
  /** Described together with that one. */
  listedWith?: string;
  /** What differs from what people may expect. */
  note?: string;
}

/** An expression that uses its arguments more than once, as `p.<name>`: each is computed once, and never copied. */
function once(names: string, expression: string): string {
  const fields = names.split(' ').map((name) => `'${name}': ${name}`);
  return `(${names.split(' ').join(', ')}) AS list_transform([{${fields.join(', ')}}], lambda p: ${expression})[1]`;
}

const CASTS: CompatFunction[] = [
  { name: 'TRY_CAST', example: "TRY_CAST('x' AS int)", gives: null },
  { name: 'TYPEOF', example: 'TYPEOF(1.5)', gives: 'DECIMAL(2,1)', note: "The names are DuckDB's." },
  {
    name: 'IS_SCALAR',
    macro: ["(v) AS json_type(to_json(v)) NOT IN ('ARRAY', 'OBJECT')"],
    example: 'IS_SCALAR([1])',
    gives: false,
  },
  { name: 'IF', example: "IF(1 > 2, 'a', 'b')", gives: 'b' },
  { name: 'ZEROIFNULL', macro: ['(v) AS coalesce(v, 0)'], example: 'ZEROIFNULL(NULL)', gives: 0 },
].map((one) => ({ group: 'Casts and predicates', ...one }));

const AGGREGATES: CompatFunction[] = [
  { name: 'COUNT_IF', example: 'COUNT_IF(n > 1)', gives: 2 },
  { name: 'APPROX_DISTINCT', renamed: 'approx_count_distinct', example: 'APPROX_DISTINCT(s)', gives: 2 },
  { name: 'APPROX_PERCENTILE', renamed: 'approx_quantile', example: 'APPROX_PERCENTILE(n, 0.5)', gives: 2 },
  { name: 'ARBITRARY', example: "ARBITRARY(s) FILTER (WHERE s = 'b')", gives: 'b' },
  { name: 'EVERY', renamed: 'bool_and', example: 'EVERY(n > 0)', gives: true },
  { name: 'MAX_BY', example: 'MAX_BY(s, n)', gives: 'b' },
  { name: 'MIN_BY', example: 'MIN_BY(s, n)', gives: 'a' },
  {
    name: 'MAP_AGG',
    renamed: 'json_group_object',
    example: "MAP_AGG(n, s)->>'$.1'",
    gives: 'a',
    note: 'Gives JSON; of two equal keys the later one counts.',
  },
  {
    name: 'OBJECT_AGG',
    listedWith: 'MAP_AGG',
    renamed: 'json_group_object',
    example: "OBJECT_AGG(s, n)->>'$.a'",
    gives: '1',
  },
].map((one) => ({ group: 'Aggregates', ...one }));

const ARRAYS: CompatFunction[] = [
  { name: 'ARRAY_CREATE', renamed: 'list_value', example: 'ARRAY_CREATE(1, 2)', gives: [1, 2] },
  { name: 'ARRAY_CONTAINS', example: 'ARRAY_CONTAINS([1, 2], 2)', gives: true },
  { name: 'ARRAY_POSITION', example: "ARRAY_POSITION(['a', 'b'], 'b')", gives: 2 },
  {
    name: 'ARRAY_REMOVE',
    macro: ['(l, v) AS list_filter(l, lambda x: x IS DISTINCT FROM v)'],
    example: 'ARRAY_REMOVE([1, 2, 1], 1)',
    gives: [2],
  },
  { name: 'ARRAY_DISTINCT', example: 'len(ARRAY_DISTINCT([1, 2, 1]))', gives: 2 },
  {
    name: 'ARRAY_JOIN',
    macro: [
      '(l, d) AS array_to_string(l, d)',
      '(l, d, n) AS array_to_string(list_transform(l, lambda x: coalesce(x::VARCHAR, n)), d)',
    ],
    example: "ARRAY_JOIN(['a', NULL], '-', '?')",
    gives: 'a-?',
  },
  { name: 'ARRAY_MAX', renamed: 'list_max', example: 'ARRAY_MAX([1, 3])', gives: 3 },
  { name: 'ARRAY_MIN', listedWith: 'ARRAY_MAX', renamed: 'list_min', example: 'ARRAY_MIN([1, 3])', gives: 1 },
  { name: 'ARRAY_SUM', listedWith: 'ARRAY_MAX', renamed: 'list_sum', example: 'ARRAY_SUM([1, 3])', gives: 4 },
  { name: 'ARRAY_FLATTEN', renamed: 'flatten', example: 'ARRAY_FLATTEN([[1], [2]])', gives: [1, 2] },
  {
    name: 'ARRAY_UNION',
    macro: ['(a, b) AS list_distinct(list_concat(a, b))'],
    example: 'list_sort(ARRAY_UNION([1, 2], [2, 3]))',
    gives: [1, 2, 3],
  },
  {
    name: 'ARRAY_EXCEPT',
    macro: ['(a, b) AS list_filter(a, lambda x: NOT list_contains(b, x))'],
    example: 'ARRAY_EXCEPT([1, 2], [2])',
    gives: [1],
  },
  { name: 'ARRAYS_OVERLAP', renamed: 'list_has_any', example: 'ARRAYS_OVERLAP([1, 2], [2])', gives: true },
  {
    name: 'SLICE',
    macro: ['(l, s) AS list_slice(l, s, -1)', once('l s n', 'list_slice(p.l, p.s, p.s + p.n - 1)')],
    example: 'SLICE([1, 2, 3, 4], 2, 2)',
    gives: [2, 3],
    note: 'Array, first position (from 1), length.',
  },
  {
    name: 'CARDINALITY',
    renamed: 'len',
    example: 'CARDINALITY([7, 8])',
    gives: 2,
    note: 'Of arrays; of a map: len(map_keys(m)).',
  },
  {
    name: 'SEQUENCE',
    renamed: 'generate_series',
    example: 'SEQUENCE(1, 7, 3)',
    gives: [1, 4, 7],
    note: 'The end is included.',
  },
  { name: 'ZIP', renamed: 'list_zip', example: "len(ZIP([1, 2], ['a', 'b']))", gives: 2 },
  { name: 'TRANSFORM', renamed: 'list_transform', example: 'TRANSFORM([1, 2], x -> x + 1)', gives: [2, 3] },
].map((one) => ({ group: 'Arrays', ...one }));

const AS_MAP = (value: string) => `to_json(${value})::MAP(VARCHAR, JSON)`;

const OBJECTS: CompatFunction[] = [
  {
    name: 'OBJECT',
    macro: ['(k, v) AS to_json(map(k, v))'],
    example: "OBJECT(['a', 'b'], [1, 2])->>'$.b'",
    gives: '2',
    note: 'Gives JSON.',
  },
  {
    name: 'ELEMENT_AT',
    macro: ['(c, k) AS c[k]'],
    example: "ELEMENT_AT(['a', 'b'], 2)",
    gives: 'b',
    note: 'Position in an array, from 1, or key of a map or an object.',
  },
  { name: 'KEYS', macro: ['(o) AS json_keys(to_json(o))'], example: "KEYS({'a': 1, 'b': 2})", gives: ['a', 'b'] },
  {
    name: 'VALUES',
    example: "VALUES({'a': 1, 'b': 2})",
    gives: [1, 2],
    note: 'Gives JSON values. In parentheses of its own, VALUES (…) is a list of rows.',
  },
  {
    name: 'ITEMS',
    macro: [`(o) AS list_transform(map_entries(${AS_MAP('o')}), lambda e: [to_json(e.key), e.value])`],
    example: "ITEMS({'a': 1})",
    gives: [['a', 1]],
    note: 'Gives JSON pairs.',
  },
  {
    name: 'MERGE',
    macro: [
      `(a, b) AS to_json(map_concat(${AS_MAP('a')}, ${AS_MAP('b')}))`,
      `(a, b, c) AS to_json(map_concat(${AS_MAP('a')}, ${AS_MAP('b')}, ${AS_MAP('c')}))`,
    ],
    example: "MERGE({'a': 1, 'b': 2}, {'b': 3})->>'$.b'",
    gives: '3',
    note: 'Gives JSON; up to three objects, a field of a later one counts.',
  },
  {
    name: 'ERASE',
    macro: [`(o, k) AS to_json(map_from_entries(list_filter(map_entries(${AS_MAP('o')}), lambda e: e.key <> k)))`],
    example: "KEYS(ERASE({'a': 1, 'b': 2}, 'a'))",
    gives: ['b'],
    note: 'Gives JSON.',
  },
  { name: 'JSON_PARSE', macro: ['(t) AS CAST(t AS JSON)'], example: `JSON_PARSE('{"a":1}')->>'$.a'`, gives: '1' },
  { name: 'JSON_FORMAT', macro: ['(v) AS to_json(v)::VARCHAR'], example: "JSON_FORMAT({'a': 1})", gives: '{"a":1}' },
  {
    name: 'TO_JSON_STRING',
    listedWith: 'JSON_FORMAT',
    macro: ['(v) AS to_json(v)::VARCHAR'],
    example: 'TO_JSON_STRING([1, 2])',
    gives: '[1,2]',
  },
].map((one) => ({ group: 'Objects and JSON', ...one }));

const gramsOf = (n: string) =>
  `list_transform(range(1, greatest(length(p.t) - ${n} + 2, 1)), lambda i: substr(p.t, i, ${n}))`;
/** To find a character takes as long as the text before it, so that all take the square of the text. */
const bounded = (n: string, lengths: string, grams: string) =>
  `CASE WHEN p.t IS NULL THEN NULL WHEN ${n} > 20 OR strlen(p.t)::HUGEINT * strlen(p.t) * ${lengths} > 4000000
    THEN error('ngrams(): the limit is 20 characters each, of a text of 2,000 bytes; with several lengths of less: 1,000 bytes with 4, 450 with 19.') ELSE ${grams} END`;

const STRINGS: CompatFunction[] = [
  { name: 'REGEXP_LIKE', renamed: 'regexp_matches', example: "REGEXP_LIKE('abc', '^a.c$')", gives: true },
  { name: 'REGEXP_EXTRACT', example: "REGEXP_EXTRACT('a12', '[0-9]+')", gives: '12' },
  {
    name: 'REGEXP_REPLACE',
    example: "REGEXP_REPLACE('a1b2', '[0-9]', '')",
    gives: 'ab2',
    note: "Replaces the first match; all with 'g' as the fourth argument.",
  },
  { name: 'REGEXP_SPLIT', renamed: 'string_split_regex', example: "REGEXP_SPLIT('a, b', ',\\s*')", gives: ['a', 'b'] },
  { name: 'SPLIT', example: "SPLIT('a,b', ',')", gives: ['a', 'b'] },
  { name: 'STRPOS', example: "STRPOS('abc', 'c')", gives: 3 },
  {
    name: 'TOKENIZE',
    macro: [
      "(t) AS regexp_extract_all(lower(t), '[\\p{L}\\p{N}]+')",
      "(t, locale) AS regexp_extract_all(lower(t), '[\\p{L}\\p{N}]+')",
    ],
    example: "TOKENIZE('Hello, World!')",
    gives: ['hello', 'world'],
    note: 'Words of letters and digits in lower case; a locale is ignored.',
  },
  {
    name: 'NGRAMS',
    macro: [
      once('t n', bounded('p.n', '1', gramsOf('p.n'))),
      once(
        't a b',
        bounded(
          'p.b',
          '(p.b::HUGEINT - p.a + 1)',
          `flatten(list_transform(range(p.a, p.b + 1), lambda n: ${gramsOf('n')}))`,
        ),
      ),
    ],
    example: "NGRAMS('abc', 2)",
    gives: ['ab', 'bc'],
    note: 'Of characters; with three arguments of all lengths from the second to the third. At most 20 each, of 2,000 bytes; with several lengths of less.',
  },
  { name: 'SHA256', example: "left(SHA256('x'), 8)", gives: '2d711642' },
  { name: 'TO_UTF8', renamed: 'encode', example: "hex(TO_UTF8('ä'))", gives: 'C3A4' },
  { name: 'FROM_UTF8', listedWith: 'TO_UTF8', renamed: 'decode', example: "FROM_UTF8(TO_UTF8('ä'))", gives: 'ä' },
  {
    name: 'LEVENSHTEIN_DISTANCE',
    renamed: 'levenshtein',
    example: "LEVENSHTEIN_DISTANCE('abc', 'abd')",
    gives: 1,
  },
].map((one) => ({ group: 'Strings and regular expressions', ...one }));

const INTERVALS: CompatFunction[] = [
  ['MICROS', 'to_microseconds'],
  ['MILLIS', 'to_milliseconds'],
  ['SECONDS', 'to_seconds'],
  ['MINUTES', 'to_minutes'],
  ['HOURS', 'to_hours'],
  ['DAYS', 'to_days'],
  ['WEEKS', 'to_weeks'],
  ['MONTHS', 'to_months'],
  ['YEARS', 'to_years'],
].map(([name = '', renamed = '']) => ({
  group: 'Time',
  name,
  renamed,
  ...(name === 'DAYS' ? {} : { listedWith: 'DAYS' }),
  example: `TIMESTAMP '2024-03-01' + ${name}(1) > TIMESTAMP '2024-03-01'`,
  gives: true,
}));

/** Text of one pattern for one moment; a pattern must be constant, so these are macros and no lambdas. */
const FORMATTED = ['(f, t) AS strftime(t::TIMESTAMPTZ, f)', '(f, t, z) AS strftime(timezone(z, t::TIMESTAMPTZ), f)'];

const TIMES: CompatFunction[] = [
  {
    name: 'CURRENT_TIMESTAMP',
    macro: ['() AS get_current_timestamp()'],
    example: 'CURRENT_TIMESTAMP() = CURRENT_TIMESTAMP',
    gives: true,
  },
  {
    name: 'CURRENT_DATETIME',
    macro: ["() AS timezone('UTC', get_current_timestamp())", '(z) AS timezone(z, get_current_timestamp())'],
    example: "CURRENT_DATETIME('UTC') = CURRENT_DATETIME()",
    gives: true,
  },
  { name: 'CURRENT_DATE', example: 'CURRENT_DATE() = CURRENT_DATE', gives: true },
  { name: 'INTERVAL', example: "TIMESTAMP '2024-02-28' + INTERVAL 2 DAY", gives: '2024-03-01T00:00:00.000000Z' },
  ...INTERVALS,
  {
    name: 'TIME_BUCKET',
    example: "TIME_BUCKET(HOURS(6), TIMESTAMP '2024-03-01 07:30:00')",
    gives: '2024-03-01T06:00:00.000000Z',
  },
  {
    name: 'PARSE_TIMESTAMP',
    macro: [
      "(f, t) AS timezone('UTC', strptime(t, f)::TIMESTAMP)",
      '(f, t, z) AS timezone(z, strptime(t, f)::TIMESTAMP)',
    ],
    example: "PARSE_TIMESTAMP('%d/%m/%Y', '31/12/2023')",
    gives: '2023-12-31T00:00:00.000000Z',
    note: 'UTC, or the time zone of the third argument.',
  },
  {
    name: 'PARSE_DATETIME',
    macro: ['(f, t) AS strptime(t, f)::TIMESTAMP'],
    example: "PARSE_DATETIME('%Y-%m-%d %H', '2024-03-01 07')",
    gives: '2024-03-01T07:00:00.000000Z',
  },
  {
    name: 'PARSE_DATE',
    macro: ['(f, t) AS strptime(t, f)::DATE'],
    example: "PARSE_DATE('%Y/%m/%d', '2024/03/01')",
    gives: '2024-03-01',
  },
  {
    name: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::TIMESTAMPTZ'],
    example: "PARSE_TIMESTAMP_ISO8601('2024-03-01T07:00:00+01:00')",
    gives: '2024-03-01T06:00:00.000000Z',
  },
  {
    name: 'PARSE_DATETIME_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::TIMESTAMP'],
    example: "PARSE_DATETIME_ISO8601('2024-03-01T07:00:00')",
    gives: '2024-03-01T07:00:00.000000Z',
  },
  {
    name: 'PARSE_DATE_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::DATE'],
    example: "PARSE_DATE_ISO8601('2024-03-01')",
    gives: '2024-03-01',
  },
  {
    name: 'FORMAT_TIMESTAMP',
    macro: FORMATTED,
    example: "FORMAT_TIMESTAMP('%H:%M', TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '07:00',
  },
  {
    name: 'FORMAT_DATETIME',
    macro: ['(f, t) AS strftime(t::TIMESTAMP, f)'],
    example: "FORMAT_DATETIME('%d.%m.%Y', TIMESTAMP '2024-03-01 06:00:00')",
    gives: '01.03.2024',
  },
  {
    name: 'FORMAT_DATE',
    macro: ['(f, t) AS strftime(t::DATE, f)'],
    example: "FORMAT_DATE('%Y', DATE '2024-03-01')",
    gives: '2024',
  },
  {
    name: 'FORMAT_ISO8601',
    macro: ["(t) AS strftime(t::TIMESTAMPTZ, '%Y-%m-%dT%H:%M:%S.%fZ')"],
    example: "FORMAT_ISO8601(TIMESTAMPTZ '2024-03-01 06:00:00+00')",
    gives: '2024-03-01T06:00:00.000000Z',
  },
  {
    name: 'UNIX_MILLIS',
    macro: ['(t) AS epoch_ms(t::TIMESTAMPTZ)'],
    example: "UNIX_MILLIS(TIMESTAMP '1970-01-02')",
    gives: 86400000,
  },
  {
    name: 'UNIX_MICROS',
    macro: ['(t) AS epoch_us(t::TIMESTAMPTZ)'],
    example: "UNIX_MICROS(TIMESTAMP '1970-01-01 00:00:01')",
    gives: 1000000,
  },
  {
    name: 'UNIX_SECONDS',
    macro: ['(t) AS epoch_us(t::TIMESTAMPTZ) // 1000000'],
    example: "UNIX_SECONDS(TIMESTAMP '1970-01-01 00:01:00')",
    gives: 60,
  },
  {
    name: 'UNIX_DATE',
    macro: ["(d) AS date_diff('day', DATE '1970-01-01', d::DATE)"],
    example: "UNIX_DATE(DATE '1970-02-01')",
    gives: 31,
  },
  {
    name: 'DATE_FROM_UNIX_DATE',
    macro: ["(n) AS DATE '1970-01-01' + n::INTEGER"],
    example: 'DATE_FROM_UNIX_DATE(31)',
    gives: '1970-02-01',
  },
  {
    name: 'TIMESTAMP_MILLIS',
    macro: ["(n) AS timezone('UTC', make_timestamp_ms(n))"],
    example: 'TIMESTAMP_MILLIS(1500)',
    gives: '1970-01-01T00:00:01.500000Z',
  },
  {
    name: 'TIMESTAMP_MICROS',
    macro: ["(n) AS timezone('UTC', make_timestamp(n))"],
    example: 'TIMESTAMP_MICROS(1000000)',
    gives: '1970-01-01T00:00:01.000000Z',
  },
  {
    name: 'TIMESTAMP_SECONDS',
    macro: ['(n) AS to_timestamp(n)'],
    example: 'TIMESTAMP_SECONDS(60)',
    gives: '1970-01-01T00:01:00.000000Z',
  },
  {
    name: 'FROM_UNIXTIME',
    listedWith: 'TIMESTAMP_SECONDS',
    renamed: 'to_timestamp',
    example: 'FROM_UNIXTIME(60)',
    gives: '1970-01-01T00:01:00.000000Z',
  },
  {
    name: 'DATETIME',
    macro: ["(t) AS timezone('UTC', t::TIMESTAMPTZ)", '(t, z) AS timezone(z, t::TIMESTAMPTZ)'],
    example: "DATETIME(TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '2024-03-01T07:00:00.000000Z',
  },
  { name: 'EXTRACT', example: "EXTRACT(hour FROM TIMESTAMP '2024-03-01 07:30:00')", gives: 7 },
  {
    name: 'AT TIME ZONE',
    example: "TIMESTAMPTZ '2024-03-01 06:00:00+00' AT TIME ZONE 'Europe/Berlin'",
    gives: '2024-03-01T07:00:00.000000Z',
  },
].map((one) => ({ group: 'Time', ...one }));

const NUMBERS: CompatFunction[] = [
  { name: 'TRUNCATE', renamed: 'trunc', example: 'TRUNCATE(-1.7)', gives: -1 },
  { name: 'POW', example: 'POW(2, 3)', gives: 8 },
  { name: 'RAND', renamed: 'random', example: 'RAND() < 1', gives: true },
  { name: 'E', macro: ['() AS exp(1)'], example: 'round(E(), 1)', gives: 2.7 },
  { name: 'INFINITY', listedWith: 'E', macro: ["() AS 'inf'::DOUBLE"], example: 'INFINITY() > 1', gives: true },
  { name: 'NAN', listedWith: 'E', macro: ["() AS 'nan'::DOUBLE"], example: 'isnan(NAN())', gives: true },
  { name: 'IS_NAN', renamed: 'isnan', example: 'IS_NAN(1.5)', gives: false },
  { name: 'IS_FINITE', listedWith: 'IS_NAN', renamed: 'isfinite', example: 'IS_FINITE(1.5)', gives: true },
  { name: 'IS_INFINITE', listedWith: 'IS_NAN', renamed: 'isinf', example: 'IS_INFINITE(1.5)', gives: false },
  {
    name: 'WIDTH_BUCKET',
    macro: [
      once(
        'x a b n',
        'CASE WHEN p.x < p.a THEN 0 WHEN p.x >= p.b THEN p.n + 1 ELSE floor((p.x - p.a)::DOUBLE * p.n / (p.b - p.a))::BIGINT + 1 END',
      ),
    ],
    example: 'WIDTH_BUCKET(3, 0, 10, 5)',
    gives: 2,
  },
].map((one) => ({ group: 'Numbers', ...one }));

const ENFORCED = 'CASE WHEN len(TRY_CAST(p.v AS DOUBLE[])) = p.n THEN TRY_CAST(p.v AS DOUBLE[]) END';

const VECTORS: CompatFunction[] = [
  { name: 'COSINE_SIM', renamed: 'list_cosine_similarity', example: 'COSINE_SIM([1.0, 0.0], [1.0, 0.0])', gives: 1 },
  { name: 'EUCLIDEAN_DIST', renamed: 'list_distance', example: 'EUCLIDEAN_DIST([0.0, 0.0], [3.0, 4.0])', gives: 5 },
  { name: 'DOT_PRODUCT', renamed: 'list_dot_product', example: 'DOT_PRODUCT([1.0, 2.0], [3.0, 4.0])', gives: 11 },
  {
    name: 'VECTOR_ENFORCE',
    macro: [once('v n', ENFORCED), once('v n', ENFORCED).replace('(v, n)', '(v, n, t)')],
    example: "VECTOR_ENFORCE([1, 2], 3, 'float')",
    gives: null,
    note: 'The vector as DOUBLE[], or null where its length differs or it holds no numbers; the type is ignored.',
  },
].map((one) => ({ group: 'Vectors', ...one }));

const RADIUS_M = 6_371_008.8;
const HAVERSINE = `2 * ${RADIUS_M} * asin(least(1, sqrt(
  pow(sin(radians(p.b.coordinates[2] - p.a.coordinates[2]) / 2), 2) +
  cos(radians(p.a.coordinates[2])) * cos(radians(p.b.coordinates[2])) *
  pow(sin(radians(p.b.coordinates[1] - p.a.coordinates[1]) / 2), 2))))`;
/** Whether the edge from point i to the next one of a ring crosses the ray to the east of the point. */
const CROSSES = `(r[i][2] > p.q.coordinates[2]) <> (r[i + 1][2] > p.q.coordinates[2]) AND p.q.coordinates[1] <
  (r[i + 1][1] - r[i][1]) * (p.q.coordinates[2] - r[i][2]) / (r[i + 1][2] - r[i][2]) + r[i][1]`;
const SQUARE = "ST_GEOGFROMTEXT('POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))')";
const NUMBERS_OF = (text: string) => `list_transform(string_split(trim(${text}), ' '), lambda n: n::DOUBLE)`;

const GEOGRAPHY: CompatFunction[] = [
  {
    name: 'ST_GEOGPOINT',
    macro: ["(lon, lat) AS {'type': 'Point', 'coordinates': [lon::DOUBLE, lat::DOUBLE]}"],
    example: 'ST_GEOGPOINT(13.4, 52.5).coordinates',
    gives: [13.4, 52.5],
    note: 'Longitude, latitude. Points and polygons are GeoJSON objects, as documents hold them too.',
  },
  {
    name: 'ST_GEOGFROMTEXT',
    macro: [
      `(t) AS {'type': 'Polygon', 'coordinates': list_transform(regexp_extract_all(t, '\\(([^()]+)\\)', 1),
        lambda r: list_transform(string_split(r, ','), lambda q: ${NUMBERS_OF('q')}))}`,
    ],
    example: `len(${SQUARE}.coordinates[1])`,
    gives: 5,
    note: 'Of POLYGON texts; for a point use ST_GEOGPOINT.',
  },
  { name: 'ST_X', macro: ['(p) AS p.coordinates[1]'], example: 'ST_X(ST_GEOGPOINT(13.4, 52.5))', gives: 13.4 },
  { name: 'ST_Y', macro: ['(p) AS p.coordinates[2]'], example: 'ST_Y(ST_GEOGPOINT(13.4, 52.5))', gives: 52.5 },
  {
    name: 'ST_DISTANCE',
    macro: [once('a b', HAVERSINE)],
    example: 'round(ST_DISTANCE(ST_GEOGPOINT(13.4, 52.5), ST_GEOGPOINT(2.35, 48.85)) / 1000)',
    gives: 877,
    note: 'Meters between two points on a sphere.',
  },
  {
    name: 'ST_CONTAINS',
    macro: [
      once(
        'g q',
        `list_sum(list_transform(p.g.coordinates, lambda r: list_sum(list_transform(range(1, len(r)), lambda i: (${CROSSES})::INTEGER)))) % 2 = 1`,
      ),
    ],
    example: `ST_CONTAINS(${SQUARE}, ST_GEOGPOINT(5, 5))`,
    gives: true,
    note: 'A polygon and a point, in the plane of the coordinates; holes count, edges are straight in degrees.',
  },
].map((one) => ({ group: 'Geography', ...one }));

/** All of them, by group, in the order of the documentation. */
export const COMPAT_FUNCTIONS: readonly CompatFunction[] = [
  ...CASTS,
  ...AGGREGATES,
  ...ARRAYS,
  ...OBJECTS,
  ...STRINGS,
  ...TIMES,
  ...NUMBERS,
  ...VECTORS,
  ...GEOGRAPHY,
];

/** What `VALUES(object)` is spelled like for the engine, for which VALUES is a keyword: as long as that. */
export const VALUES_OF = 'o_vals';

/** Names in lower case, and the engine's own name for each. */
export const RENAMED_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  COMPAT_FUNCTIONS.flatMap(({ name, renamed }) => (renamed === undefined ? [] : [[name.toLowerCase(), renamed]])),
);

const MACROS: ReadonlyMap<string, readonly string[]> = new Map([
  ...COMPAT_FUNCTIONS.flatMap(({ name, macro }) => (macro === undefined ? [] : [[name.toLowerCase(), macro] as const])),
  [VALUES_OF, [`(o) AS map_values(${AS_MAP('o')})`]] as const,
]);

/** Names of the macros in lower case. */
export const COMPAT_MACROS: ReadonlySet<string> = new Set(MACROS.keys());

/** The statement that makes one of the macros on a connection. */
export function compatMacro(name: string): string {
  const overloads = MACROS.get(name) ?? [];
  return `CREATE OR REPLACE TEMP MACRO ${name}${overloads.join(', ')}`;
}
