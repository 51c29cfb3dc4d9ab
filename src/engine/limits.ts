/*
 * What the engine may use of the machine, and when it gives up.
 */

/** What the engine may use of the machine. */
export interface EngineSize {
  threads: number;
  memoryBytes: number;
}

export interface EngineLimits extends EngineSize {
  /** Time limit of a query, queueing included, in milliseconds (default 120,000). */
  queryTimeoutMs: number;
  /** Maximum rows of a result (default 100,000). */
  resultRowsMax: number;
  /** Maximum bytes of a result, estimated (default 64 MiB). */
  resultBytesMax: number;
  /** Queries that run at once, of which one caller has about half (default 4). */
  queriesMax: number;
  /** Queries that wait for a place, of which one caller has about half; one more is refused (default 128). */
  queueMax: number;
  /**
   * Collections with at least this many rows are searched for an id by its hash; smaller ones are scanned (default
   * 50,000).
   */
  lookupRowsMin: number;
  /** Memory of the engine, in bytes (default: a quarter of the machine's, at least 512 MiB). */
  memoryBytes: number;
  /** Threads of the engine (default: all cores). */
  threads: number;
  /** Maximum size of temporary files, in bytes (default 4 GiB). */
  tempBytesMax: number;
}

/** Why only the end of the process is left. */
export interface GiveUp {
  why: 'memory' | 'stuck';
  message: string;
  /** The requests whose statements it is, as far as they are known. */
  requestIds: readonly string[];
}
