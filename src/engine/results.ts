import type { JsonValue } from '../contract/json.ts';

/**
 * Results of queries that are kept whole, each under an id that the caller made up (letters, digits, `-`), until it is
 * dropped or the engine is closed. Every method but `drop` rejects `not_found` where nothing is kept under the id, and
 * with what `query` rejects.
 */
export interface Results {
  /** Where `writeParquet` puts files; whoever asks for one makes it. */
  readonly exportsFolder: string;
  /** One page of a kept result, in its own order unless `orderBy` says otherwise. */
  read(id: string, page: ResultPage, signal?: AbortSignal): Promise<ResultRows>;
  /** What the columns hold, of the first 100 at most. */
  profile(id: string, signal?: AbortSignal): Promise<ColumnProfile[]>;
  /**
   * Writes the whole result as a Parquet file into the folder for exports, every value exact; `name` is the file's.
   * Answers which columns have another type there.
   */
  writeParquet(id: string, name: string, signal?: AbortSignal): Promise<Retyped[]>;
  /** Forgets a result and frees its room; nothing where there is none. */
  drop(id: string): Promise<void>;
}

/** How much of a query's result to keep, and under which id. */
export interface KeepRequest {
  id: string;
  /** Rows that the outcome carries at most; `defaultRowLimit` is not applied then. */
  rowsMax: number;
}

/** What became of the request to keep a result. */
export interface Keeping {
  /** Rows of the whole result, as far as it was read. */
  total: number;
  /** False where reading stopped at a limit of the engine, so that there are more rows. */
  isTotalExact: boolean;
  /** What is kept; null where the outcome carries every row and they are few, or where keeping failed. */
  kept: { rows: number; bytes: number } | null;
  /** Why it is not kept though it should have been. */
  failure: string | null;
}

export interface ResultPage {
  /** Names of columns, in the order wanted; all where absent. */
  columns?: readonly string[] | undefined;
  /** A condition in SQL over the columns; other tables than the result itself (`result`) cannot be named. */
  where?: string | undefined;
  /** What stands after ORDER BY. */
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
  /** Set where fewer rows came than were asked for and exist. */
  cut: { reason: 'rows' | 'bytes'; limit: number } | null;
  /** As those of a query that asks for them. */
  warnings: readonly string[];
}

export interface ColumnProfile {
  name: string;
  type: string;
  nulls: number;
  /** Different values; null for nested and JSON values, which are not compared. */
  distinct: number | null;
  /** False where `distinct` is estimated: the result has many rows. */
  isDistinctExact: boolean;
  min: JsonValue;
  max: JsonValue;
  /** Up to five values, the most frequent of the first 10,000 rows first. */
  samples: JsonValue[];
}
