import type { JsonValue } from '../contract/json/json.ts';
import type { DeclaredType } from './documents.ts';

/** SQL over values that are given: it reads no collection, and can name none. */
export interface Expressions {
  /**
   * Rejects `query_error` unless `sql` is one scalar expression over declared parameters and nothing else: no
   * collection, no subquery, no aggregate. Positions refer to the expression's own text.
   */
  checkExpression(expression: Expression): Promise<void>;

  /**
   * Rejects `query_error` unless `sql` is a condition as after WHERE and nothing else: no further clause, no parameter,
   * and no subquery, so that each document decides it by itself. Which fields there are is not checked. In positions,
   * the condition begins in the second line.
   */
  checkCondition(sql: string, signal?: AbortSignal): Promise<void>;

  /**
   * Computes an expression for many rows of parameter values at once; one entry per row, in order. Each value has its
   * own type, whatever the other rows contain: integers, numbers, text and booleans as they are, arrays as LIST,
   * objects as JSON. Rejects as `query` does, and `content_too_large` when the values together are larger than a result
   * may be.
   */
  evaluate(expression: Expression, rows: readonly (readonly JsonValue[])[], signal?: AbortSignal): Promise<Computed[]>;

  /**
   * Parses texts as times, in microseconds since the epoch; null for a text that does not match. Rejects
   * `invalid_input` for a pattern or time zone that the engine does not know.
   */
  readTimes(texts: readonly string[], format: TimeFormat): Promise<(bigint | null)[]>;

  /** The patterns that may read all of some texts as times, as far as their spelling tells: several if day and month are not clear. */
  timeFormats(texts: readonly string[]): string[];

  /**
   * As `evaluate`, for several expressions over the same parameters, computed together: a row has the values of all of
   * them, in order, or an error as soon as one of them fails.
   */
  evaluateAll(
    sql: readonly string[],
    parameters: readonly string[],
    rows: readonly (readonly JsonValue[])[],
    signal?: AbortSignal,
  ): Promise<ComputedAll[]>;

  /**
   * Takes a query over one document apart: `SELECT ... FROM _input WHERE ...`. Rejects `query_error` for one that is
   * anything else, with what to do instead. Positions refer to the query's own text.
   */
  readTransform(sql: string): Promise<Transform>;
}

/** A scalar SQL expression over `:name` parameters. */
export interface Expression {
  sql: string;
  /** Names that it may use, in the order of a row's values; case-insensitive. */
  parameters: readonly string[];
}

/** An expression's value for one row; integers that a double cannot hold are `bigint`. */
export type Computed = { value: JsonValue; declared?: DeclaredType } | { error: string };

export interface TimeFormat {
  /** A pattern of strptime: `%Y-%m-%d %H:%M:%S`. */
  pattern: string;
  /** IANA name of the zone of texts that name none: `Europe/Berlin`, `UTC`. */
  timeZone: string;
}

/** The values of several expressions for one row; `at` is the one that gave what no document can have, if it is known. */
export type ComputedAll = { values: { value: JsonValue; declared?: DeclaredType }[] } | { error: string; at?: number };

/** A step of a path in a document: the name of a field, or a place in a list, from 1 on. */
export type InputStep = string | number;

/** A query that makes a document of each document. */
export interface Transform {
  /** Paths of the values that its expressions compute with. */
  inputs: readonly (readonly InputStep[])[];
  /** The names under which expressions use these values, in the same order. */
  parameters: readonly string[];
  /** The fields that `*` leaves out; null: there is no `*`. */
  star: { except: readonly string[] } | null;
  /** In order; their names differ. One that only names a field is a place in `inputs`, any other an expression. */
  outputs: readonly TransformOutput[];
  /** An expression: a document for which it is not true gives none. Null: each gives one. */
  condition: string | null;
}

export type TransformOutput = { name: string } & ({ input: number } | { sql: string });
