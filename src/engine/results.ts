import type { JsonValue } from '../contract/json/json.ts';

/**
 * Query results that are kept in full, each under an id chosen by the caller (letters, digits, `-`), until it is
 * dropped or the engine is closed. Every method but `drop` rejects `not_found` if nothing is kept under the id, and
 * otherwise as `query` does.
 */
export interface Results {
  /** The folder that `writeParquet` writes to; whoever requests a file creates it. */
  readonly exportsFolder: string;
  /** One page of a kept result, in its own order unless `orderBy` says otherwise. */
  read(id: string, page: ResultPage, signal?: AbortSignal): Promise<ResultRows>;
  /** Profiles of the columns, at most of the first 100. */
  profile(id: string, signal?: AbortSignal): Promise<ColumnProfile[]>;
  /**
   * Writes the whole result as a Parquet file named `name` into the exports folder, every value exact. Returns the
   * columns that have another type there.
   */
  writeParquet(id: string, name: string, signal?: AbortSignal): Promise<Retyped[]>;
  /** Drops a result and frees its space; does nothing if there is none. */
  drop(id: string): Promise<void>;
}

/** How much of a query's result to keep, and under which id. */
export interface KeepRequest {
  id: string;
  /** Maximum number of rows in the outcome; `defaultRowLimit` is not applied then. 0: it is kept however small it is. */
  rowsMax: number;
}

/** What became of the request to keep a result. */
export interface Keeping {
  /** Rows of the whole result, as far as it was read. */
  total: number;
  /** False if reading stopped at a limit of the engine, so that there are more rows. */
  isTotalExact: boolean;
  /** What is kept; null if the outcome was to have rows, has all, and they are few, or if keeping failed. */
  kept: { rows: number; bytes: number } | null;
  /** Why it is not kept though it should have been. */
  failure: string | null;
}

export interface ResultPage {
  /** Names of columns, in the desired order; absent: all. */
  columns?: readonly string[] | undefined;
  /** An SQL condition over the columns; no table but the result itself (`result`) can be named. */
  where?: string | undefined;
  /** The text after ORDER BY. */
  orderBy?: string | undefined;
  offset: number;
  limit: number;
  /** Integers beyond 2^53 are `bigint`; absent or false: text. */
  hasBigints?: boolean | undefined;
}

/** A column whose type Parquet does not have. */
export interface Retyped {
  name: string;
  type: string;
  writtenAs: string;
}

export interface ResultRows {
  columns: { name: string; type: string }[];
  rows: JsonValue[][];
  /** Rows of the whole result for which the condition holds. */
  total: number;
  /** Set if fewer rows are returned than were requested and exist. */
  cut: { reason: 'rows' | 'bytes'; limit: number } | null;
  /** Those of the query that gave the result, and those of the condition and order. */
  warnings: readonly string[];
}

export interface ColumnProfile {
  name: string;
  type: string;
  nulls: number;
  /** Values that do not fit the type, which the other figures leave out; in a column of text they count as their text. */
  strays: number;
  /** Number of distinct values; null for nested and JSON values, which are not compared, and in results of millions of values. */
  distinct: number | null;
  min: JsonValue;
  max: JsonValue;
  /** Up to five values, the most frequent of the first 10,000 rows first. */
  samples: JsonValue[];
}
