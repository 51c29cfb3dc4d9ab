import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

describe('a PIVOT that does not list its values', () => {
  test.each([
    ['PIVOT prod.events ON kind USING sum(n) GROUP BY _id LIMIT 1', 'k0 k1 k2 k3 k4 k5 k6'],
    ['WITH e AS (SELECT kind, n FROM prod.events WHERE n < 3) PIVOT e ON kind USING count(*)', 'k0 k1 k2'],
    ['PIVOT (SELECT n % 2 AS odd, n FROM prod.events) ON odd USING max(n); -- the end', '0 1'],
    ['PIVOT (SELECT n FROM prod.events) ON n > 5 USING count(*)', 'false true'],
  ])('has those that there are: %s', async (sql, names) => {
    const { columns } = await fixture.queries.query({ sql });
    expect(columns.map(({ name }) => name).filter((name) => !/^(_id|n)$/.test(name))).toEqual(names.split(' '));
    expect(await fixture.queries.inspect({ sql, allowUnbound: true })).toMatchObject({ unbound: null });
  });

  test('takes parameters', async () => {
    const sql = 'PIVOT (SELECT kind FROM prod.events WHERE n < :most) ON kind USING count(*)';
    expect(await fixture.rows(sql, { parameters: [{ name: 'most', value: 2 }] })).toEqual([[1, 1]]);
  });

  test.each([
    ['PIVOT prod.events ON _id USING sum(n)', /more than 200 columns of _id\. List those .* ON _id IN \('0', '1'\)/],
    ['PIVOT (SELECT 1 AS x WHERE false) ON x USING count(*)', /There is no value of x/],
    ['PIVOT prod.events ON kind, n USING count(*)', /needs its values listed here/],
    ['PIVOT prod.event ON kind USING count(*)', /"event" does not exist/],
    ['PIVOT prod.events ON kind) USING count(*)', /syntax error|listed/],
    ['PIVOT prod.events ON kind USING count(*); DROP TABLE x', /one statement|listed/],
    ["PIVOT (FROM read_csv('/etc/passwd')) ON column0 USING count(*)", /not available/],
  ])('and otherwise says what to do: %s', async (sql, message) => {
    await expect(fixture.rows(sql)).rejects.toMatchObject({
      code: 'query_error',
      message: expect.stringMatching(message),
    });
  });
});

test('what cannot be had is named', async () => {
  await expect(fixture.rows('script {{{ import rockset; }}}')).rejects.toThrow('Scripts are not available');
  await expect(fixture.rows('SELECT 1 FROM users OPTION(match_all=false)')).rejects.toThrow('There is no OPTION(…)');
});
