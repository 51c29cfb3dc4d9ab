import { expect, it } from 'vitest';
import { onlyReads } from '../../../src/mcp/tools/reads.ts';

it.each([
  'SELECT 1',
  ' \n-- INSERT INTO x\n/* more */ (select 1)',
  'WITH a AS (SELECT 1) SELECT * FROM a',
  'FROM shop.orders',
  "SELECT 'insert into x'",
  'PIVOT t ON x',
])('reads: %s', (sql) => {
  expect(onlyReads(sql)).toBe(true);
});

it.each([
  'INSERT INTO x SELECT 1',
  '/* SELECT */ insert into x select 1',
  '-- SELECT 1',
  '/* SELECT 1',
  '',
  'WITH a AS (SELECT 1) INSERT\n INTO x SELECT * FROM a',
  'WITH a AS (SELECT 1) UPDATE x SET y = 1',
  'COPY x TO y',
  'selects',
])('does more than read, or may: %s', (sql) => {
  expect(onlyReads(sql)).toBe(false);
});
