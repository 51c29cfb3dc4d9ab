import type { JsonValue } from '../contract/json/json.ts';
import type { Keeping, KeepRequest } from './results.ts';

/** The value of one `:name` of a statement. */
export interface Parameter {
  name: string;
  /** One of the contract's PARAMETER_TYPES; empty or absent: inferred from the value. */
  type?: string | undefined;
  value?: JsonValue | undefined;
}

export interface InspectRequest {
  sql: string;
  parameters?: readonly Parameter[] | undefined;
  /** Do not require values for the parameters. */
  allowMissingParameters?: boolean | undefined;
  /**
   * Also answer for a statement that is allowed but does not bind, for example because a collection or column is
   * missing. What does not parse or is not allowed is rejected all the same.
   */
  allowUnbound?: boolean | undefined;
  /** As in `QueryRequest`. */
  caller?: string | undefined;
  requestId?: string | undefined;
  /** Aborting stops the work in the engine. */
  signal?: AbortSignal | undefined;
}

export interface Inspection {
  /** Collections named by the statement, as `workspace.collection`, in order of first use. */
  collections: string[];
  aliases: string[];
  /** Names of the parameters used, in order of first use. */
  parameters: string[];
  /**
   * Collections that the statement names and that do not exist, as written, `workspace.name`; only with `allowUnbound`.
   */
  missing: string[];
  /** Why the statement does not bind; null if it does. */
  unbound: Unbound | null;
  /** Of those of a query, what the statement, the types of fields and the parameters tell without the data. */
  warnings: string[];
}

export interface Unbound {
  message: string;
  /** 1-based position in the caller's SQL text. */
  line?: number | undefined;
  column?: number | undefined;
}

export interface QueryRequest {
  sql: string;
  /** Of the first of these, only the documents that meet a condition are read, by whichever of the names: what errors name is other SQL then. */
  only?: { names: readonly (readonly [workspace: string, name: string])[]; where: string } | undefined;
  parameters?: readonly Parameter[] | undefined;
  /** Rows to return if the statement has no outermost LIMIT. */
  defaultRowLimit?: number | undefined;
  generateWarnings?: boolean | undefined;
  /** Warns of parameters that the statement does not use, also without `generateWarnings`. */
  tellsUnused?: boolean | undefined;
  /** Also keeps the whole result, unless it is small; EXPLAIN and SHOW are not kept. */
  keep?: KeepRequest | undefined;
  /** Whose query it is: callers share the places for queries fairly. Any text, such as the hash of an API key. */
  caller?: string | undefined;
  /** Names the request in the report of a statement that does not stop. */
  requestId?: string | undefined;
  /** Covers queueing and execution; at most the engine's own limit, which is also the default. */
  timeoutMs?: number | undefined;
  /** Aborting stops the statement in the engine; a reason that is an `ApiError` is what `query` rejects with. */
  signal?: AbortSignal | undefined;
}

export interface QueryOutcome {
  /** Collections read, as `workspace.collection`: those named by the statement, then those behind its aliases. */
  collections: string[];
  /** Aliases named by the statement, as `workspace.alias`, in order of first use. */
  aliases: string[];
  /** Their names are unique: the second `x` is `x_1`; if the result was to be kept, regardless of letter case. */
  columns: { name: string; type: string }[];
  /** One array per row, values in column order, ready for JSON: integers and decimals that a double cannot hold are strings. */
  rows: JsonValue[][];
  warnings: string[];
  /** Set when rows were left out: at a limit of the engine, or at the number of rows that was `asked` for. */
  cut: { reason: 'rows' | 'bytes' | 'asked'; limit: number } | null;
  /** What is known of the whole result, if it was to be kept. */
  keeping: Keeping | null;
  /** Time in the queue, in microseconds. */
  queuedMicros: number;
}
