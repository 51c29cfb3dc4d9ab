import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const warningsOf = async (sql: string) => (await fixture.queries.query({ sql })).warnings;

test.each([
  'to_timestamp(1704067200000)',
  'CAST(to_timestamp(1704067200000) AS TIMESTAMP)',
  'epoch_ms(1704067200000000)',
])('of %s it is said that the number is in another unit', async (sql) => {
  expect(await warningsOf(`SELECT 1 AS n, ${sql} AS at`)).toEqual([
    expect.stringMatching(
      /^at has times in the year \d{5}: to_timestamp takes seconds since 1970\. Of milliseconds epoch_ms\(x\)/,
    ),
  ]);
});

test.each([
  'SELECT to_timestamp(1704067200) AS at',
  "SELECT '55969-01-01 00:00:00' AS at",
  "SELECT TIMESTAMP '12026-01-01' AS at",
  'SELECT to_timestamp(NULL) AS at',
])('nothing is said of %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});
