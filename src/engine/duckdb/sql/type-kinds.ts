import { DuckDBTypeId } from '@duckdb/node-api';

/*
 * The engine's types of numbers and of times, by their ids and by the names that it writes.
 */

export const INTEGER_IDS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
]);
export const FRACTION_IDS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
]);
/** Days and times of a day. */
export const INSTANT_IDS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
]);

const NUMBER = /^(?:U?(?:(?:BIG|HUGE|SMALL|TINY)INT|INTEGER)|DOUBLE|FLOAT|DECIMAL(?:\(.*\))?)$/;

export const isNumberType = (name: string): boolean => NUMBER.test(name);
