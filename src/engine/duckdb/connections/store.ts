import type { DuckDBConnection } from '@duckdb/node-api';
import type { ApiError } from '../../../contract/errors.ts';
import type { EngineSize } from '../../engine.ts';
import type { Answers } from './answers.ts';
import type { Transaction, TransactionOptions } from './transactions.ts';
import type { Sql } from './writer.ts';

export type { Transaction } from './transactions.ts';
export type { Run, Sql } from './writer.ts';

/** A change of a table's columns. */
export type ColumnStep =
  | { do: 'add'; column: string; type: string }
  | {
      do: 'set';
      column: string;
      type: string;
      /** SQL for the value, over the columns as the steps before left them. */
      using: string;
      /** Whether it only adds fields to objects: `using` is then the value with NULL for these. */
      onlyAddsFields: boolean;
    };

/** Where the data are. All of its connections resolve names in the catalog of `sql/names.ts`. */
export interface Store {
  /** A connection for queries, which cannot name anything outside; the caller closes it. */
  connect(): Promise<DuckDBConnection>;

  /**
   * To be called when a connection of `connect` has begun a transaction by `begin`, before anything else of that. Resolves to
   * the answers of the data that it sees, if the store can tell data apart.
   */
  begun(connection: DuckDBConnection, begin: string): Promise<Answers | undefined>;

  /**
   * As `Transaction`. `isAside` marks a short background write that nobody waits for, `isOne` work that is one statement: more of
   * them might be transactions of their own.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>;

  /** As `transaction`, but only for reading. */
  read: Transaction;

  /**
   * Runs `work`, which reads on a connection of its own and must see every row. Once `signal` aborts, `work` is held up
   * no longer.
   */
  reading<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;

  /** Runs reads that decide what is written, now or later. Not to be called within a transaction. */
  undisturbed<T>(work: () => Promise<T>): Promise<T>;

  /** Runs `work`, which uses connections of its own, and runs it once more if the database failed meanwhile. */
  attempt<T>(work: () => Promise<T>): Promise<T>;

  /** The statements that change the columns of a table, as SQL names it, by these steps, which are in order. */
  columnStatements(table: string, steps: readonly ColumnStep[]): string[];

  /** Whether an empty table is made anew, with all its columns in one statement: each ALTER takes as long as it has columns. */
  readonly remakesTables: boolean;

  /** Whether a statement that is started, and not only prepared, asks others for what it reads: our thread must not wait for them. */
  readonly waitsToStart: boolean;

  /** How much text of documents one statement inserts. */
  readonly insertedBytesMax: number;

  /**
   * Whether other processes change `_meta`, too: transactions that change anything of it fail where they run beside each
   * other, and what one of them plans is overtaken by others.
   */
  readonly locksMetadata: boolean;

  /** The contract's error for a failed write. `what` completes "Cannot …". */
  writeError(what: string, error: unknown): ApiError;

  readonly size: EngineSize;
  /** Changes threads and memory at once; if that fails, they stay as they were. One call at a time. */
  resize(size: EngineSize): Promise<void>;

  /** Makes everything durable and releases it. Idempotent. */
  close(): Promise<void>;
}
