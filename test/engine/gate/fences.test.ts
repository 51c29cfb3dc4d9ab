import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

describe('a lambda whose body is changed so that it can be stopped', () => {
  test.each([
    ['list_transform([1, 2], lambda x: x + 1)', [2, 3]],
    ['list_transform([1, 2], lambda x, i: x * i)', [1, 4]],
    ['list_transform([1, 2], (lambda x: (x + 1)))', [2, 3]],
    ['list_transform([1, 2], (x, i) -> (x + 1) * i)', [2, 6]],
    ['list_filter([1, 2],x->x>1)', [2]],
    ['main.list_filter([1, 2], lambda x: x > 1)', [2]],
    ['[1, 2].array_filter(lambda x: x > 1).list_apply(lambda x:array_max([x, 7]))', [7]],
    ['[x + 1 for x in [1, 2]]', [2, 3]],
    ['[/* [ */ x + i for x, i in [5, 6]]', [6, 8]],
    ['[x + 1 for x in [1, 2, 3] if x > 1]', [3, 4]],
    ['[[y for y in range(x)] for x in [1, 2] if x > 1]', [[0, 1]]],
    ["list_transform(['é,', ')'], lambda x: x || ',)' || $$ ] $$)", ['é,,) ] ', '),) ] ']],
    ["list_transform(['abc'], lambda x: x LIKE '%_%b%_c' OR x LIKE 'a%')", [true]],
    [`list_transform(['{"a": 1}'::JSON], x -> (x->'a'))`, [1]],
  ])('gives what it gave: %s', async (sql, expected) => {
    expect(await fixture.rows(`SELECT 'ü' AS u, ${sql} AS l`)).toEqual([['ü', expected]]);
  });

  test.each([
    ['quantile_cont(i, list_transform([1, -5], lambda x: abs(x) / 5))', [1.8, 9]],
    ['quantile_cont(i, [x / 10 for x in [1, 5] if x > 1])', [4.5]],
    ["string_agg(i, list_transform(['-', '+'], x -> x || ' ')[2] ORDER BY i)", '0+ 1+ 2+ 3+ 4+ 5+ 6+ 7+ 8+ 9'],
    ["max(strptime('2024', list_filter(['%d', '%Y'], lambda f: f = '%Y')[1])::DATE)::VARCHAR", '2024-01-01'],
  ])('stays constant where the engine wants a constant: %s', async (sql, expected) => {
    expect(await fixture.rows(`SELECT ${sql} FROM range(10) t(i)`)).toEqual([[expected]]);
  });

  test.each([
    ['calls a function', 'quantile_cont(i, list_transform([0.5], x -> list_sort(range(30000))[1] / 30000))'],
    [
      'repeats a long text',
      `string_agg(i, list_transform(['${'-'.repeat(60_000)}'], x -> ${Array.from({ length: 20 }, () => 'x').join(' || ')})[1] ORDER BY i)`,
    ],
  ])('can be stopped, though it is constant, where it %s', async (_, sql) => {
    await expect(fixture.rows(`SELECT ${sql} FROM range(10) t(i)`)).rejects.toThrow(/constant/);
  });

  test('in the names of columns it is as written', async () => {
    const { columns } = await fixture.queries.query({
      sql: 'FROM (SELECT list_transform([1], lambda x: (x + 1) * len([y for y in [x]])))',
    });
    expect(columns.map(({ name }) => name)).toEqual([
      'list_transform(list_value(1), (lambda x: ((x + 1) * len(list_apply(list_value(x), (lambda y: y))))))',
    ]);
  });

  test('names that only look like it are the author’s', async () => {
    const sql = `FROM (SELECT 1 AS "stoppable_(1)", 2 AS "a""main.f(x)", 3 AS 'main.g(x)', length('main.h(x)'))`;
    const { columns } = await fixture.queries.query({ sql });
    expect(columns.map(({ name }) => name)).toEqual([
      'stoppable_(1)',
      'a"main.f(x)',
      'main.g(x)',
      `length('main.h(x)')`,
    ]);
  });

  test('about names of columns it stays as it is', async () => {
    const { columns } = await fixture.queries.query({ sql: 'SELECT COLUMNS(lambda c: length(c) < 5) FROM users' });
    expect(columns.map(({ name }) => name)).toEqual(['_id', 'name', 'age']);
  });

  test('an error in it is where it stands', async () => {
    const error = await fixture.queries
      .query({ sql: 'SELECT [x for x in [1]],\n  [nope + x for x in [1]]' })
      .catch((e) => e);
    expect(error).toMatchObject({ code: 'query_error', details: { line: 2, column: 4 } });
  });
});

test('the offset of lag() and lead() is any that can be a row, however it is written', async () => {
  const from = 'FROM range(3) t(i)';
  const sql = `SELECT lag(i, 1) OVER (), lead(i, i, 7) OVER (ORDER BY i), "lag"(i, '1' ORDER BY i) OVER (), LEAD (i, i IGNORE NULLS) OVER w ${from} WINDOW w AS (ORDER BY i)`;
  expect(await fixture.rows(sql)).toEqual([
    [null, 0, null, 0],
    [0, 2, 0, 2],
    [1, 7, 1, null],
  ]);
  const error = await fixture.queries.query({ sql: `SELECT lag(i, i + 3000000000) OVER () ${from}` }).catch((e) => e);
  expect(error).toMatchObject({ code: 'query_error', message: expect.stringContaining('out of range') });
});

test('the offset of lag() and lead() is as written in the names of columns', async () => {
  const { columns } = await fixture.queries.query({
    sql: 'FROM (SELECT lag(i, i) OVER (), lead(i, (i + 1) * 2, 7) OVER (ORDER BY i) FROM range(3) t(i))',
  });
  expect(columns.map(({ name }) => name)).toEqual(['lag(i, i) OVER ()', 'lead(i, ((i + 1) * 2), 7) OVER (ORDER BY i)']);
});
