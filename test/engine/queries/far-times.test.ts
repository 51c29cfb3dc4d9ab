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

test.each(["strptime('01/02/24', '%d/%m/%Y')", "CAST('01/02/24' AS DATE)"])(
  'of %s it is said that the year has two digits',
  async (sql) => {
    expect(await warningsOf(`SELECT ${sql} AS day`)).toEqual([
      expect.stringMatching(/^day has times in the year (?:24|1): strptime reads a year of two digits by %y/),
    ]);
  },
);

test.each([
  "SELECT '0024-01-02' AS a, DATE '0024-01-02' AS b",
  "SELECT CAST('0001-01-01T00:00:00' AS TIMESTAMP) AS none",
  'SELECT to_timestamp(1704067200) AS at',
  "SELECT '55969-01-01 00:00:00' AS at",
  "SELECT TIMESTAMP '12026-01-01' AS at",
  'SELECT to_timestamp(NULL) AS at',
])('nothing is said of %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});
