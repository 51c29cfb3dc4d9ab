import { describe, expect, test } from 'vitest';
import { readStatement } from '../../../src/engine/duckdb/sql/statement.ts';

const terms = (count: number) => Array.from({ length: count }, (_, index) => `n + ${index}`).join(', ');
const sets = (count: number) => Array.from({ length: count }, () => '(n)').join(', ');

/** Number of terms with which a GROUP BY is read, and one with which it is not. */
const TERMS: [name: string, groupBy: (terms: string) => string][] = [
  ['a list', (list) => `GROUP BY ${list}`],
  ['a list before other clauses', (list) => `GROUP BY ${list} HAVING n > 0 ORDER BY ${terms(1_900)}`],
  ['a row', (list) => `GROUP BY (${list})`],
  ['a row by its name', (list) => `GROUP BY ROW(${list})`],
  ['rows in rows', (list) => `GROUP BY ((${list}))`],
  ['GROUPING SETS', (list) => `GROUP BY GROUPING SETS ((${list}))`],
  ['a subquery', (list) => `WHERE n IN (SELECT 1 GROUP BY ${list})`],
  ['a subquery in another', (list) => `GROUP BY (SELECT 1 GROUP BY ${list})`],
  ['comments', (list) => `GROUP /* of */ BY -- these\n${list}`],
];

/** What looks like the end of a GROUP BY, as one of its terms. */
const NO_ENDS = [
  't.limit',
  't."x".union',
  ':limit',
  't.order.limit',
  'n::UNION(a INT)',
  "'limit'",
  '"order"',
  'percentile_cont(0.5) WITHIN GROUP (ORDER BY n)',
  'n IN (SELECT 1 ORDER BY 1 LIMIT 1)',
  'row_number() OVER (ORDER BY n)',
  'CASE WHEN n > 1 THEN 2 END',
];

/** What is within the limit by little, and what is not: terms times grouping sets. */
const SETS: [most: string, more: string][] = [
  [`GROUP BY GROUPING SETS (${sets(31)})`, `GROUP BY GROUPING SETS (${sets(32)})`],
  [`GROUP BY GROUPING SETS (n, ${'(), '.repeat(29)} ())`, `GROUP BY GROUPING SETS (n, ${'(), '.repeat(30)} ())`],
  ['GROUP BY CUBE(a, b, c, d, e, f, g)', 'GROUP BY CUBE(a, b, c, d, e, f, g, h)'],
  ['GROUP BY cube ((a, x), b, c, d, e, f), y', 'GROUP BY cube ((a, x), b, c, d, e, f), y, ROLLUP(z)'],
  [`GROUP BY ROLLUP(${terms(31)})`, `GROUP BY ROLLUP(${terms(32)})`],
  [`GROUP BY ROLLUP(n), ${terms(499)}`, `GROUP BY ROLLUP(n), ${terms(500)}`],
  ['GROUP BY CUBE(a, b, c), CUBE(d, e), ROLLUP(f, g)', 'GROUP BY CUBE(a, b, c), CUBE(d, e), ROLLUP(f, g, h)'],
  [
    'GROUP BY GROUPING SETS ((), CUBE(a, b, c, d, e), ROLLUP(g, h), x)',
    'GROUP BY CUBE(a), GROUPING SETS (CUBE(b, c, d, e, f, g), ())',
  ],
  [
    'GROUP BY GROUPING SETS (GROUPING SETS (a, b), c), CUBE(d, e, f, g, h)',
    'GROUP BY GROUPING SETS (GROUPING SETS (a, b), c), CUBE(d, e, f, g, h, i)',
  ],
  [
    'GROUP BY CUBE(a, b, c, d), (SELECT 1 GROUP BY CUBE(a, b, c, d, e, f))',
    'GROUP BY CUBE(a, b, c, d, e, f), (SELECT 1 GROUP BY CUBE(a, b, c, d, e, f, g))',
  ],
  [
    'GROUP BY CUBE(a, b, c, d, e, f) UNION ALL SELECT 1 GROUP BY CUBE(a, b, c, d, e, f)',
    'GROUP BY CUBE(a, b, c, d, e, f, g) UNION ALL SELECT 1 GROUP BY CUBE(a, b, c, d, e, f)',
  ],
  [
    Array.from({ length: 300 }, () => 'GROUP BY a, b, c, d').join(' UNION ALL SELECT 1 '),
    Array.from({ length: 300 }, () => 'GROUP BY ROLLUP(a, b)').join(' UNION ALL SELECT 1 '),
  ],
];

const read = (rest: string) => readStatement(`SELECT 1 FROM t ${rest}`);

describe('terms of a GROUP BY are counted before the engine parses them', () => {
  test.each(TERMS)('%s', async (_, groupBy) => {
    await read(groupBy(terms(1_000)));
    await expect(read(groupBy(terms(1_001)))).rejects.toThrow(/GROUP BY has more than 1000 terms\. Group by fewer/);
  });

  test.each(NO_ENDS)('%s does not end them', async (term) => {
    await read(`GROUP BY ${term}, ${terms(999)}`);
    await expect(read(`GROUP BY ${term}, ${terms(1_000)}`)).rejects.toThrow(/more than 1000 terms/);
  });

  test.each([
    `GROUP BY n IN (${terms(1_900)})`,
    `GROUP BY (${terms(1_900)}) = (1)`,
    `GROUP BY n ORDER BY ${terms(1_900)}`,
    `GROUP BY ALL ORDER BY ${terms(1_900)}`,
    `GROUP BY * LIMIT 1 UNION SELECT ${terms(1_900)}`,
    `GROUP BY ${terms(700)} UNION SELECT 1 GROUP BY ${terms(700)}`,
    `JOIN (SELECT 1 GROUP BY n) ON n IN (${terms(1_900)})`,
  ])('what is none of them is not counted (%#)', async (rest) => {
    await read(rest);
  });
});

describe('grouping sets are counted as the engine makes them', () => {
  test.each(SETS)('%s', async (most, more) => {
    await read(most);
    await expect(read(more)).rejects.toThrow(/more than 1000 terms\. Each counts once for every grouping set: /);
  });
});
