import type { Statement, Verdict } from './run.ts';

/**
 * Statements that once ended the process, did not stop or were an internal error, and others of their families, with
 * what becomes of them now. Those of `stopped` are told to stop.
 */
export interface Kept extends Statement {
  expected: Verdict;
}

const kept = (expected: Verdict, ...statements: string[]): Kept[] => statements.map((sql) => ({ sql, expected }));

const LEAST = '(-9223372036854775807 - 1)';
const NINE = '9223372036854775807';

/** Added to a row's number, such an offset exceeds 64 bits. */
const OFFSETS: readonly Kept[] = [
  ...kept(
    'refused',
    `SELECT lag(i, ${LEAST}) OVER () FROM range(10) t(i)`,
    `SELECT lead(i, ${LEAST}) OVER () FROM range(10) t(i)`,
    `SELECT lead(i, ${NINE}) OVER () FROM range(10) t(i)`,
    `SELECT LEAD (i, ${NINE}, 1 ORDER BY i) OVER (ORDER BY i) FROM range(10) t(i)`,
    `SELECT lag(i, ${NINE} - i IGNORE NULLS) OVER (PARTITION BY i) FROM range(10) t(i)`,
    `SELECT "lag"(i, i * 1000000000000) OVER w FROM range(10) t(i) WINDOW w AS ()`,
    `SELECT main.lag(i, ${LEAST}) OVER () FROM range(10) t(i)`,
    `SELECT lag(i, (SELECT ${LEAST})) OVER () FROM range(10) t(i)`,
    `SELECT lag(i, 99999999999999999999) OVER () FROM range(10) t(i)`,
  ),
  {
    sql: 'SELECT lag(i, :n) OVER () FROM range(10) t(i)',
    parameters: [{ name: 'n', value: -9e15 }],
    expected: 'refused',
  },
  ...kept(
    'ok',
    'SELECT lag(i, -2147483648) OVER (), lead(i, 2147483647) OVER () FROM range(10) t(i)',
    'SELECT lag(i), lead(i, 2, i) OVER (ORDER BY i), lag(i, i) OVER () FROM range(10) t(i)'.replace(
      'lag(i),',
      'lag(i) OVER (),',
    ),
    `SELECT nth_value(i, ${NINE}) OVER (), ntile(${NINE}) OVER () FROM range(10) t(i)`,
    `SELECT sum(i) OVER (ROWS BETWEEN ${NINE} PRECEDING AND ${NINE} FOLLOWING) FROM range(10) t(i)`,
  ),
];

/** Hours of work for one row, or for one vector of rows. */
const LAMBDAS = kept(
  'stopped',
  'SELECT len(list_filter(range(1000), lambda x: len(list_filter(range(1000), lambda y: len(list_filter(range(1000), lambda z: z * y = x)) = 1)) = 2))',
  'SELECT list_filter(range(10000), x -> len(array_filter(range(10000), y -> len(filter(range(10000), z -> z * y = x)) = 1) ) = 2)',
  'SELECT [x for x in range(9000) if len([y for y in range(9000) if len([z for z in range(9000) if z + y = x]) = 1]) = 1]',
  'SELECT [len([len([z for z, i in range(9000) if z + y = x]) for y in range(9000)]) for x in range(9000)]',
  'SELECT range(9000).list_filter(lambda x: range(9000).list_filter(lambda y: range(9000).list_filter(lambda z: z + y = x).len() = 1).len() = 1)',
  "SELECT list_filter(range(5000), lambda x: levenshtein(repeat('ab', 200), repeat('ba', 200)) = x + i) FROM range(3000) t(i)",
  'SELECT system.main.list_filter(range(9000), lambda x: len(main.list_filter(range(9000), lambda y: len(list_filter(range(9000), lambda z: z + y = x)) = 1)) = 1)',
  'SELECT ARRAY_EXCEPT(range(i, i + 10000), range(200000, 220000)) FROM range(3000) t(i)',
);

const INTERNAL: readonly Kept[] = [
  ...kept(
    'flawed',
    'FROM repeat_row(1, 2, num_rows := -1)',
    "SELECT * FROM fuzz.small, range(TIMESTAMP '2020-01-02', TIMESTAMP '2020-01-01', INTERVAL 1 DAY)",
  ),
  { sql: 'SELECT grade_up(:p)', parameters: [{ name: 'p', value: ['a', null] }], expected: 'flawed' },
];

/** What runs for ever, or grows, and always stopped. */
const ENDLESS = kept(
  'stopped',
  'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r',
  'SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * 2 = b.range + a.range',
  'SELECT count(*) FROM (SELECT unnest(range(100000)) x) a, (SELECT unnest(range(100000)) x) b, range(100) WHERE a.x < b.x',
  `SELECT count(*) FROM generate_series(0, ${NINE})`,
);

const LARGE = kept(
  'refused',
  "SELECT repeat('x', 1000000000)",
  "SELECT lpad('x', 2000000000, 'y')",
  'SELECT range(1000000000)',
  "SELECT printf('%999999999d', 1)",
  'SELECT list_resize([1], 1000000000)',
  'SELECT bitstring_agg(i, 0, 9223372036854775806) FROM range(3) t(i)',
  'SELECT equi_width_bins(0, 1000000000, 1000000000, true)',
  `SELECT * FROM range(10) LIMIT -1`,
);

/** LIKE tried every position for each wildcard, and the parser's time grew with the square of these lists. */
const LONG: readonly Kept[] = [
  ...kept(
    'ok',
    "SELECT count(*) FILTER (WHERE repeat('a', 1000) LIKE repeat('%a', 4) || 'b' || i) FROM range(2048) t(i)",
    "SELECT count(*) FILTER (WHERE repeat('a', 300) NOT ILIKE repeat('%a', 3) || 'b' || i) FROM range(2048) t(i)",
    "SELECT count(*) FROM fuzz.docs WHERE repeat('a', 2000) LIKE (SELECT repeat('%_a', 9) || 'b') || t",
    'SELECT quantile_cont(i, list_transform([1, 5], lambda x: x / 10)) FROM range(10) t(i)',
  ),
  ...kept(
    'refused',
    "SELECT 'aaa' GLOB repeat('*a', 9) || 'b' || i FROM range(10) t(i)",
    "SELECT 'aaa' LIKE i || repeat('%Y%f%j', 2000) FROM range(2048) t(i)",
    "SELECT s LIKE '%' || repeat('x', 9000) || i FROM (SELECT string_agg('xx', '') AS s FROM range(500000)), range(20) t(i)",
    `SELECT 1 WHERE ${'true AND '.repeat(28_000)} true`,
    `SELECT 1 GROUP BY ${'1,'.repeat(12_000)} 1`,
  ),
];

export const CORPUS: readonly Kept[] = [...OFFSETS, ...LAMBDAS, ...INTERNAL, ...ENDLESS, ...LARGE, ...LONG];
