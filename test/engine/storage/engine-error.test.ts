import { expect, test } from 'vitest';
import { isFatal } from '../../../src/engine/duckdb/connections/engine-error.ts';
import { isStale } from '../../../src/engine/duckdb/lake/lake-errors.ts';

const json = (type: string, message: string) =>
  new Error(JSON.stringify({ exception_type: type, exception_message: message }));

test.each([
  new Error('FATAL Error: Failed: database has been invalidated because of a previous fatal error.'),
  json('FATAL', 'database has been invalidated'),
  json('INTERNAL', 'something else'),
  json('IO', 'Transaction COMMIT succeeded and is durable. The database has been invalidated.'),
  new Error('database has been invalidated'),
])('a database that is of no use any more is known: %s', (error) => {
  expect(isFatal(error)).toBe(true);
});

test.each([
  json('Conversion', "Could not convert string 'database has been invalidated' to INT32"),
  json('Binder', 'Referenced column "has been invalidated" not found in FROM clause!'),
  json('Invalid Input', 'database has been invalidated'),
  new Error("Conversion Error: Could not convert string 'FATAL Error: has been invalidated' to INT32"),
])('what a statement quotes makes no database useless: %s', (error) => {
  expect(isFatal(error)).toBe(false);
});

test.each([
  json('Invalid', 'basic_string: construction from null is not valid'),
  json('INTERNAL', 'Attempted to access index 0 within vector of size 0'),
  json('Binder', 'Schema not found in metadata catalog: could not find schema that corresponds'),
  json('IO', 'Failed to execute query: ERROR:  relation "ducklake_inlined_data_1_2" does not exist'),
])('a lake that has to be opened anew is known: %s', (error) => {
  expect(isStale(error)).toBe(true);
});

test.each([
  json('Invalid Input', 'Attempted to access index 0 within vector of size 0'),
  json('Invalid Input', 'basic_string'),
  json('Conversion', "Could not convert string 'basic_string' to INT32"),
  json('Binder', 'Referenced column "could not find schema that corresponds" not found in FROM clause!'),
  json('Conversion', "Could not convert string 'relation \"ducklake_inlined_data_' to INT32"),
])('what a statement quotes opens no lake anew: %s', (error) => {
  expect(isStale(error)).toBe(false);
});
