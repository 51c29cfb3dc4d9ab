import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownForms } from '../../../src/engine/duckdb/sql/forms.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

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
  forms.push(
    ["SELECT x FROM (SELECT ['a', 'y'] AS tags) f, UNNEST(f.tags) x WHERE x = 'y'", [['y']]],
    ["SELECT l.sku FROM (SELECT [{'sku': 1}] AS lines) f, UNNEST(f.lines) AS l", [[1]]],
    ['SELECT l.unnest FROM UNNEST([1]) AS l', [[1]]],
    ['SELECT u.x, u.ordinality FROM UNNEST([7] AS x) WITH ORDINALITY AS u', [[7, 1]]],
    ["SELECT u.k, v FROM (SELECT {'a': 1} AS o) f, UNNEST(KEYS(o) AS k, VALUES(o) AS v) u", [['a', 1]]],
    ['SELECT UNNEST([1]) x, UNNEST([2]) AS y', [[1, 2]]],
    [
      'SELECT x, y FROM (SELECT [7] AS l) f JOIN (SELECT 1 AS n) g ON g.n IN (1, 2), UNNEST(f.l) x, UNNEST(f.l) AS y',
      [[7, 7]],
    ],
    ['SELECT DISTINCT ON (n) UNNEST([1]) x, UNNEST([2]) AS y FROM (SELECT 1 AS n)', [[1, 2]]],
    ['SELECT a FROM (SELECT 1 AS n) f, LATERAL (VALUES (n), (n + 1)) v(a) ORDER BY a', [[1], [2]]],
    ['SELECT 2 = ANY (VALUES (1), (2)), EXISTS (VALUES (1)), ARRAY(VALUES (3), (4))', [[true, true, [3, 4]]]],
    ['WITH v AS MATERIALIZED (VALUES (1)) FROM v UNION ALL (VALUES (2))', [[1], [2]]],
    ["SELECT 1 WHERE true AND (VALUES({'a': 1}) IS NOT NULL)", [[1]]],
    ['SELECT COUNT_IF(n > 1 -- one\n) FILTER (WHERE n < 3) FROM (VALUES (1), (2), (3)) t(n)', [[1]]],
  );
  forms.push(
    ['FROM (PIVOT (VALUES (1, 2)) t(a, b) ON a IN (1) USING sum(b))', [[2]]],
    ['FROM (PIVOT (VALUES (1)) t(a) ON a IN (1) USING sum(a))', [[1]]],
    ['SELECT value FROM (UNPIVOT (VALUES (1)) ON COLUMNS(*))', [[1]]],
    [
      'SELECT 1 x UNION BY NAME (VALUES (1)) ORDER BY ALL',
      [
        [1, null],
        [null, 1],
      ],
    ],
    [
      'SELECT 1 x UNION ALL BY NAME VALUES (1)',
      [
        [1, null],
        [null, 1],
      ],
    ],
    ['SELECT 1 UNION DISTINCT VALUES (1)', [[1]]],
    ['SELECT 1 LIMIT (VALUES (1)) OFFSET (VALUES (0))', [[1]]],
    ['SELECT 1 WHERE true AND (VALUES (true)) AND NOT (VALUES (false))', [[1]]],
    ['SELECT CASE WHEN (VALUES (true)) THEN (VALUES (1)) ELSE (VALUES (2)) END', [[1]]],
    ['WITH v AS (SELECT 1) VALUES (1)', [[1]]],
    ['SELECT 1 + (VALUES (2) ORDER BY 1 LIMIT 1), (VALUES (3))', [[3, 3]]],
    [
      "SELECT CASE WHEN VALUES({'a': 1}) IS NULL THEN 1 END, [VALUES({'a': 2})], coalesce(VALUES({'a': 3})), (VALUES({'a': 4})[1], 5)",
      [[null, [[2]], [3], [4, 5]]],
    ],
    ["SELECT DISTINCT VALUES({'a': 1}) IS DISTINCT FROM VALUES({'a': 1})", [[false]]],
    ['WITH count_if(a) AS (SELECT 1) SELECT a FROM count_if', [[1]]],
    ['WITH x AS (SELECT 1), count_if(a) AS MATERIALIZED (SELECT 2) SELECT a FROM count_if', [[2]]],
    ['SELECT COUNT_IF(n > 1) AS c FROM (VALUES (1), (2)) AS count_if(n)', [[1]]],
    ['SELECT 1 IS DISTINCT FROM unnest([1, 2]) AS x', [[false], [true]]],
    ['SELECT n IS NOT DISTINCT FROM UNNEST([1]) AS t FROM (SELECT 1 AS n)', [[true]]],
  );
  test.each(forms)('%s', async (sql, rows) => {
    expect(await fixture.rows(sql)).toEqual(rows);
  });

  test('lead back to what was written', async () => {
    for (const [sql] of forms) {
      const { sql: own, originOf } = await ownForms(sql);
      const bytes = Buffer.from(own);
      for (const word of sql.match(/[a-z]{3,}/g) ?? []) {
        const at = bytes.indexOf(word);
        if (at !== -1) expect(Buffer.from(sql).subarray(originOf(at)).toString().slice(0, 1), sql).toBeTruthy();
      }
      expect(originOf(bytes.length)).toBe(Buffer.byteLength(sql));
    }
  });

  test('and errors keep their place', async () => {
    await expect(fixture.rows('SELECT u.nn FROM UNNEST([1] AS n) u,\n missing_one')).rejects.toMatchObject({
      details: { line: 2, column: 2 },
    });
  });

  test('and errors call VALUES as it is written', async () => {
    await expect(fixture.rows('SELECT VALUES(DISTINCT 1)')).rejects.toThrow('"values" is a Macro');
  });

  test('say what cannot be had', async () => {
    await expect(fixture.rows('SELECT *EXCEPT(a) FROM (SELECT 1 AS a, 2 AS b)')).rejects.toMatchObject({
      code: 'query_error',
    });
  });
});
