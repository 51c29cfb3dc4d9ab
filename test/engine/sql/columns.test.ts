import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

async function namesOf(sql: string): Promise<string> {
  return (await fixture.queries.query({ sql })).columns.map(({ name }) => name).join(' ');
}

describe('columns without a name are called', () => {
  test.each([
    ['SELECT COUNT(*), Count(*), count(*), name FROM users GROUP BY name', '?COUNT ?Count ?count name'],
    [
      'SELECT COUNT(*), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age), sum(age) FROM users',
      '?COUNT ?PERCENTILE_CONT ?sum',
    ],
    ['SELECT 1, name, age + 1, NULL FROM users', '?field0 name ?field2 ?field3'],
    ['SELECT count(*), count(*), 1 AS one FROM users', '?count ?count_1 one'],
    ['SELECT count(*) FILTER (WHERE age > 1), sum(age) OVER (ORDER BY age) FROM users GROUP BY age', '?count ?sum'],
    [
      "SELECT coalesce(name, 'x'), IF(age > 1, 2), [1], {'a': 1}, name.upper() FROM users",
      '?coalesce ?IF ?field2 ?field3 ?upper',
    ],
    [
      'SELECT CAST(1 AS int), 1::int, CASE WHEN true THEN 1 END, (SELECT 1), NOT true',
      '?field0 ?field1 ?field2 ?field3 ?field4',
    ],
    ['SELECT DISTINCT ON (name) upper(name), name FROM users', '?upper name'],
    ['WITH a AS (SELECT 1) SELECT max(1) FROM a UNION ALL SELECT 3', '?max'],
    ['FROM users SELECT count(*)', '?count'],
    ['SELECT sample, 1 FROM (SELECT 2 AS sample) USING SAMPLE 1', 'sample ?field1'],
    ['SELECT age, *, max(age) FROM users GROUP BY ALL', 'age _id name ?max'],
    [
      'SELECT count(*), u.*, 1, v.*, 2 FROM users u, users v GROUP BY ALL',
      '?count _id name age 1 _id_1 name_1 age_1 ?field4',
    ],
    [
      "SELECT REGEXP_EXTRACT(name, 'A'), TO_HEX(MD5(name)), EXTRACT(year FROM now()) FROM users",
      '?REGEXP_EXTRACT ?TO_HEX ?EXTRACT',
    ],
    ['SELECT 1 IS DISTINCT FROM 2, a.b FROM (SELECT {b: 1} AS a)', '?field0 b'],
    ['SELECT * EXCEPT (age), upper(name) FROM users', '_id name ?upper'],
    // Inside, and where the engine names columns by itself.
    ['SELECT * FROM (SELECT count(*), 1 FROM users)', 'count_star() 1'],
    ['(SELECT count(*) FROM users)', '?count'],
    ['VALUES (1, 2)', 'col0 col1'],
    ['SELECT max(COLUMNS(*)) FROM users', '_id name age'],
  ])('%s', async (sql, names) => {
    expect(await namesOf(sql)).toBe(names);
  });

  test('so that they can be sorted by what the engine calls them', async () => {
    expect(await fixture.rows('SELECT count(*) FROM users GROUP BY age ORDER BY count(*), 1')).toEqual([[1], [1]]);
  });
});

describe('beside a star the explicit column wins', () => {
  const cases: [string, unknown[]][] = [
    ['SELECT *, CAST(age AS text) AS age FROM users ORDER BY _id LIMIT 1', ['u1', 'Ann', '31']],
    ['SELECT u.*, upper(u.name) AS NAME FROM users u ORDER BY _id LIMIT 1', ['u1', 31, 'ANN']],
    ['WITH a AS (SELECT *, age * 2 AS age FROM users) SELECT sum(age) FROM a', [116]],
    [
      'WITH a AS (SELECT *, age * 2 AS age FROM users), b AS (SELECT *, age + 1 AS age FROM a) SELECT sum(age) FROM b',
      [118],
    ],
    ['SELECT sum(x.age) FROM (SELECT u.*, 1 AS age FROM users u) x', [2]],
    ['SELECT *, 1 AS other FROM users ORDER BY _id LIMIT 1', ['u1', 'Ann', 31, 1]],
    // Where the star has no such column.
    ['SELECT *, 1 AS age FROM users AS t(a, b, c) ORDER BY a LIMIT 1', ['u1', 'Ann', 31, 1]],
    ['WITH t(a, b) AS (SELECT age, _id FROM users) SELECT *, a + 1 AS age FROM t ORDER BY b LIMIT 1', [31, 'u1', 32]],
    ["SELECT *, 1 AS amount FROM users SEMI JOIN orders ON status = 'open' ORDER BY _id LIMIT 1", ['u1', 'Ann', 31, 1]],
    ['SELECT o.*, u.name FROM users o, users u WHERE o._id = u._id ORDER BY 1 LIMIT 1', ['u1', 31, 'Ann']],
  ];
  test.each(cases)('%s', async (sql, row) => {
    expect(await fixture.rows(sql)).toEqual([row]);
  });
});

describe('GROUP BY', () => {
  test.each([
    ["SELECT date_trunc('year', _event_time) AS _event_time, count(*) FROM orders GROUP BY _event_time", 1],
    ['SELECT customer.city, count(*) FROM orders WHERE customer.city IS NOT NULL GROUP BY city', 2],
    ["SELECT 'x' AS _id, count(*) FROM orders GROUP BY _id", 1],
    // A column of the table, as in the engine.
    ['SELECT upper(status) AS status, count(*) FROM orders GROUP BY status', 2],
    ['SELECT customer.name, count(*) FROM orders GROUP BY customer.name', 3],
    // Two tables have it.
    ['SELECT u.name, count(*) FROM users u JOIN users v ON u._id <> v._id GROUP BY name', 2],
    ['SELECT max(_id) AS _id, status FROM orders GROUP BY _id, status', 3],
    ["SELECT s.i, count(*) FROM range(3) t(i), (SELECT {'i': 7} AS s) GROUP BY s, i", 3],
  ])('of a name that is its own: %s', async (sql, groups) => {
    expect(await fixture.rows(sql)).toHaveLength(groups);
  });
});

test('what queries name again and again is looked up once', async () => {
  const level = (n: number) =>
    `a${n} AS MATERIALIZED (SELECT *, 1 AS y${n} FROM a${n - 1} p SEMI JOIN a${n - 1} q USING (x))`;
  const levels = Array.from({ length: 21 }, (_, n) => level(n + 1)).join(', ');
  expect(await fixture.rows(`WITH a0 AS MATERIALIZED (SELECT 1 x), ${levels} SELECT count(*) FROM a21`)).toEqual([[1]]);
});

test('a parameter may stand apart from its colon after an operator', async () => {
  const parameters = [{ name: 'name', value: 'Ann' }];
  for (const sql of ['SELECT age FROM users WHERE name = : name', 'SELECT age FROM users WHERE name IN (: name)']) {
    expect(await fixture.rows(sql, { parameters }), sql).toEqual([[31]]);
  }
  expect(await fixture.rows("SELECT {'a' : 1}, [1, 2][1 : 2], MAP {'k' : 2}")).toEqual([[{ a: 1 }, [1, 2], { k: 2 }]]);
});
