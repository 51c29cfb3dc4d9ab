import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMPAT_FUNCTIONS } from '../../src/engine/duckdb/compat.ts';
import { ownForms } from '../../src/engine/duckdb/forms.ts';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const ROWS = "(VALUES (1, 'a'), (2, 'b'), (3, 'b')) AS rows(n, s)";

/** The one value of a statement's one row. */
async function value(sql: string): Promise<unknown> {
  return (await fixture.rows(sql))[0]?.[0];
}

describe('functions that people bring along', () => {
  test.each(COMPAT_FUNCTIONS.map((one) => [one.name, one] as const))('%s', async (_, { example, gives, group }) => {
    const from = group === 'Aggregates' ? ` FROM ${ROWS}` : '';
    expect(await value(`SELECT ${example}${from}`)).toEqual(gives);
    // Once more, on the same connection, and in lower case.
    const lower = example.replace(/\b[A-Z_0-9]{2,}(?=\()/g, (name) => name.toLowerCase());
    expect(await value(`SELECT ${lower}${from}`)).toEqual(gives);
  });

  test('are names of the engine for one another only where that helps', () => {
    for (const { name, renamed, macro } of COMPAT_FUNCTIONS) {
      expect(renamed !== undefined && macro !== undefined, name).toBe(false);
      expect(renamed, name).not.toBe(name.toLowerCase());
    }
  });

  test('take DISTINCT, FILTER and OVER where they are renamed', async () => {
    expect(await value(`SELECT APPROX_DISTINCT(s) FILTER (WHERE n > 1) FROM ${ROWS}`)).toBe(1);
    expect(await value(`SELECT EVERY(n > 1) OVER (ORDER BY n DESC) FROM ${ROWS} ORDER BY n LIMIT 1`)).toBe(false);
    expect(await fixture.rows('SELECT x FROM SEQUENCE(1, 3) AS t(x)')).toEqual([[1], [2], [3]]);
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

describe('functions that could grow', () => {
  test.each([
    "SELECT NGRAMS('abc', 21)",
    "SELECT NGRAMS(lpad('', 2001, 'x'), 3)",
    'SELECT NGRAMS(lpad(s, 450, s), 1, 20) FROM (SELECT 1::VARCHAR AS s)',
    'SELECT SEQUENCE(1, 1000000000)',
  ])('%s', async (sql) => {
    await expect(fixture.rows(sql)).rejects.toMatchObject({ code: expect.stringMatching(/query_error|invalid_input/) });
  });

  test('nested deeply, all the same', async () => {
    const nest = (call: string, inner: string) => `SELECT ${`${call}(`.repeat(40)}${inner}${', 2)'.repeat(40)}`;
    expect(await value(nest('VECTOR_ENFORCE', '[1, 2]'))).toEqual([1, 2]);
    expect(await value(`SELECT ${'ARRAY_UNION('.repeat(40)}[1]${', [1])'.repeat(40)}`)).toEqual([1]);
  });
});

describe('forms that people bring along', () => {
  const forms: [string, unknown[][]][] = [
    ['SELECT * EXCEPT(status, amount) FROM (SELECT 1 AS status, 2 AS amount, 3 AS rest)', [[3]]],
    ['SELECT x.*  EXCEPT (a) FROM (SELECT 1 AS a, 3 AS rest) x', [[3]]],
    ['SELECT 1 EXCEPT (SELECT 2)', [[1]]],
    ['SELECT n FROM (SELECT [1, 2] AS l) t, UNNEST(t.l) AS u(n)', [[1], [2]]],
    ['SELECT u.n FROM (SELECT [1, 2] AS l) t, UNNEST(t.l AS n) u', [[1], [2]]],
    ['SELECT u.n FROM (SELECT [1, 2] AS l) t, UNNEST(t.l AS n) AS u WHERE u.n > 1', [[2]]],
    ['SELECT n FROM (SELECT [1, 2] AS l) t, UNNEST(t.l AS n) WHERE n > 1', [[2]]],
    [
      'SELECT n FROM (SELECT [1, 2] AS l) t CROSS JOIN UNNEST(list_transform(l, x -> (x + 1)) AS n) AS u ORDER BY n',
      [[2], [3]],
    ],
    [
      'SELECT x, o FROM UNNEST([7, 8]) WITH ORDINALITY AS u(x, o)',
      [
        [7, 1],
        [8, 2],
      ],
    ],
    ['SELECT 1 AS a, 2 AS b,', [[1, 2]]],
    ['SELECT 1;', [[1]]],
    ['SELECT `a b`, `c` FROM (SELECT 1 AS "a b", 2 AS c) `t`', [[1, 2]]],
    ["SELECT `it's` FROM (SELECT 1 AS \"it's\") t WHERE 'a`b' <> '`'", [[1]]],
    ['SELECT x FROM UNNEST([1, 2, 3]) u(x) LIMIT 1 OFFSET 1', [[2]]],
    ["SELECT VALUES({'a': 1}), len(VALUES({'a': 1}))", [[[1], 1]]],
    ['SELECT 1 WHERE 2 IN (VALUES (1), (2))', [[1]]],
    ['SELECT * FROM (VALUES (1), (2)) t(a) WHERE a IN (SELECT b FROM (VALUES (2)) u(b))', [[2]]],
    ['WITH v AS (VALUES (1)) SELECT * FROM v', [[1]]],
    ['SELECT count(*) FROM UNNEST([1, 2]) u(x), (VALUES (1), (2)) v(y)', [[4]]],
  ];
  test.each(forms)('%s', async (sql, rows) => {
    expect(await fixture.rows(sql)).toEqual(rows);
  });

  test('keep the length of the text', () => {
    for (const [sql] of forms) expect(Buffer.byteLength(ownForms(sql)), sql).toBe(Buffer.byteLength(sql));
  });

  test('and errors keep their place', async () => {
    await expect(fixture.rows('SELECT u.nn FROM UNNEST([1] AS n) u,\n missing_one')).rejects.toMatchObject({
      details: { line: 2, column: 2 },
    });
  });

  test('say what cannot be had', async () => {
    await expect(fixture.rows('SELECT *EXCEPT(a) FROM (SELECT 1 AS a, 2 AS b)')).rejects.toMatchObject({
      code: 'query_error',
    });
  });
});
