import type { JsonObject, JsonValue } from '../contract/json.ts';
import type { OnNewJson } from './new-json.ts';
import type { Keeping, KeepRequest, Results } from './results.ts';

export type { NewJson, NewJsonField, NewSpelling, OnNewJson } from './new-json.ts';
export type { ColumnProfile, Keeping, KeepRequest, ResultPage, ResultRows, Results, Retyped } from './results.ts';

/**
 * SQL over JSON documents: what the service needs of an engine, and nothing about which engine it is.
 *
 * Every method that fails rejects with an `ApiError` from the contract. Writes are durable when their promise resolves,
 * and visible to every query that starts after that.
 */
export interface Engine {
  /** Metadata records as stored, read once at start. */
  readonly records: readonly StoredRecord[];

  /** Applies all changes in one durable step, or none of them. */
  commit(changes: readonly Change[]): Promise<void>;

  /**
   * Adds documents; one whose id exists replaces that document whole, and of two with one id in `documents` the later
   * wins. The answer has one entry per document, in order: a document that cannot be stored is an `error` entry and
   * the others still go in. All that go in do so in one durable step.
   */
  addDocuments(table: string, documents: readonly NewDocument[], onNewJson?: OnNewJson): Promise<WriteOutcome[]>;

  /**
   * Adds the documents of a JSON list as `addDocuments` does, from its text. Undefined, with nothing done: something in
   * it has to be looked at closely (one that cannot be stored, two with one id); parse it and use `addDocuments`.
   */
  addText(table: string, text: DocumentsText, onNewJson?: OnNewJson): Promise<TextOutcome[] | undefined>;

  /**
   * Deletes documents by id, in one durable step; an id that does not exist is an `error` entry. With `keep` those that
   * are deleted are in the trash after that; where none is, nothing is kept.
   */
  deleteDocuments(table: string, ids: readonly string[], keep?: Keep): Promise<WriteOutcome[]>;

  /**
   * Brings documents of the trash back into a table, some thousands at most, in one durable step: equal to what they
   * were, event time included. One whose id exists there (again) stays in the trash. None brought back: there are no more
   * but these. `after` says what is stored with it, given what is then left in the trash.
   */
  restoreDocuments(
    trash: string,
    table: string,
    after: (left: Kept) => readonly RecordChange[],
    onNewJson?: OnNewJson,
  ): Promise<Restored>;

  /**
   * Reads the documents with these ids, passes each to `change`, and stores what it returns, in one durable step with
   * no other write to the table in between. `change` throws to leave its document as it was: an `error` entry.
   * An id named twice is changed twice, in order. Event times are kept.
   *
   * With `fields` it may be given documents that have only these, and what it returns then stands for these alone: name
   * every field that it looks at or sets. It is asked again, with whole documents, where that does not do.
   */
  changeDocuments(
    table: string,
    ids: readonly string[],
    change: (document: JsonObject, index: number) => JsonObject,
    fields?: ReadonlySet<string>,
    onNewJson?: OnNewJson,
  ): Promise<WriteOutcome[]>;

  /**
   * Removes documents that are past the table's retention, some thousands at most, in one durable step. Those that are
   * not removed yet are invisible to everything else all the same. Zero documents: none is left.
   */
  purge(table: string): Promise<Purged>;

  /** Size and document count of a collection's table, also of one in the trash. */
  stats(table: string): Promise<TableStats>;

  /** Runs one reading statement. Rejects `query_error`, `query_timeout`, `resource_exceeded` or `aborted`. */
  query(request: QueryRequest): Promise<QueryOutcome>;

  /** What `query` kept. */
  readonly results: Results;

  /** Grows with every change of what SQL can name: workspaces, collections, aliases, columns. */
  readonly namesVersion: number;

  /**
   * Rejects `query_error` unless `sql` is one scalar expression, of parameters that are declared and nothing else: no
   * collection, no subquery, no aggregate. Positions are those of the expression's own text.
   */
  checkExpression(expression: Expression): Promise<void>;

  /**
   * Computes an expression for many rows of parameter values at once; an entry per row, in order. A value's type is its
   * own, whatever the other rows hold: integers, numbers, text and booleans as they are, arrays as LIST, objects as
   * JSON. Rejects what `query` rejects, and `content_too_large` when the values together are larger than a result may be.
   */
  evaluate(expression: Expression, rows: readonly (readonly JsonValue[])[], signal?: AbortSignal): Promise<Computed[]>;

  /**
   * Reads texts as times, in microseconds since the epoch; null for a text that does not fit. Rejects `invalid_input`
   * for a pattern or a time zone that the engine does not know.
   */
  readTimes(texts: readonly string[], format: TimeFormat): Promise<(bigint | null)[]>;

  /** Parses and binds a statement without running it. Rejects `query_error`, `query_timeout` or `aborted`. */
  inspect(request: InspectRequest): Promise<Inspection>;

  /** Threads and memory as they are now. */
  readonly size: EngineSize;

  /**
   * Changes threads and memory at once, for what runs as well; until the engine is closed, or the next call. Rejects
   * `resource_exceeded`, and leaves the size as it was, where what runs holds more memory than that.
   */
  resize(size: EngineSize): Promise<void>;

  /**
   * Copies all that is stored into an existing folder, as of one moment: what wants to write waits meanwhile, reading
   * goes on. The copy opens as a database that was not closed does. Rejects with the system's error where it cannot be
   * written, and with the signal's reason; half copies stay for the caller to remove.
   */
  copyTo(folder: string, options?: CopyOptions): Promise<StoredCopy>;

  /** Counts what is stored. */
  counts(): Promise<StoredCounts>;

  /** Finishes what runs, makes everything durable and lets go of the files. */
  close(): Promise<void>;
}

/** A piece of metadata: the service decides what kinds there are and what the values mean. */
export interface StoredRecord {
  kind: string;
  key: string;
  value: JsonObject;
}

export type RecordChange =
  | { do: 'putRecord'; kind: string; key: string; value: JsonObject }
  | { do: 'deleteRecord'; kind: string; key: string };

export type Change =
  | RecordChange
  | { do: 'createWorkspace'; workspace: string }
  | { do: 'dropWorkspace'; workspace: string }
  /** `table` is an opaque id that the caller makes up (letters, digits, `_`); SQL sees `workspace.name`. */
  | {
      do: 'createCollection';
      table: string;
      workspace: string;
      name: string;
      /** Documents whose event time is longer ago are as if they were not there; absent or null: they stay. */
      retentionSecs?: number | null | undefined;
    }
  /** Also one in the trash. */
  | { do: 'dropCollection'; table: string }
  /** Takes away the name, which is free then, and keeps the documents; costs the same however many there are. */
  | { do: 'trashCollection'; table: string }
  /** Under the name that it had. */
  | { do: 'restoreCollection'; table: string }
  /** Drops documents of the trash for good. */
  | { do: 'dropDocuments'; trash: string }
  /**
   * Makes a name for the documents of one or more collections together, or points it at others. SQL sees
   * `workspace.name`, at every moment with the columns that these collections have.
   */
  | { do: 'putAlias'; workspace: string; name: string; tables: readonly string[] }
  | { do: 'dropAlias'; workspace: string; name: string };

export interface NewDocument {
  id: string;
  /** Microseconds since the epoch; null: keep the replaced document's, or else now. */
  eventTimeMicros: bigint | null;
  /** The document's fields, without `_id`, `_event_time` and `_meta`. */
  fields: JsonObject;
}

/** A JSON list of documents as text. */
export interface DocumentsText {
  /** Valid UTF-8. */
  bytes: Buffer;
  /** Of the list's `[`, and of the byte after its `]`. */
  start: number;
  end: number;
  /** Most documents that it may have. */
  max: number;
  /** Makes the id of a document that has no `_id`: one that no document ever had. */
  makeId(): string;
  /** Reads a document of a new kind, whole; undefined if it cannot be stored. */
  read(document: JsonValue): NewDocument | undefined;
}

/** What became of one document of a text. */
export interface TextOutcome {
  id: string;
  status: 'added' | 'replaced';
  /** Bytes of its text. */
  bytes: number;
}

export type WriteOutcome =
  | { status: 'added' | 'replaced' | 'deleted' | 'changed' }
  | { status: 'error'; message: string };

/** Where deleted documents go. */
export interface Keep {
  /** A new opaque id that the caller makes up. */
  trash: string;
  /** What is stored with them. */
  record: (kept: Kept) => RecordChange;
}

/** Documents in the trash. */
export interface Kept {
  docCount: number;
  /** Bytes of these documents as JSON text, estimated. */
  bytes: number;
}

export interface Restored {
  docCount: number;
  left: Kept;
  /** The ids of documents that are left, in order; a hundred at most. */
  leftIds: string[];
}

export interface Purged {
  docCount: number;
  /** Bytes of these documents as JSON text, estimated. */
  bytes: number;
}

export interface TableStats {
  docCount: number;
  /** Bytes of these documents as JSON text: of a sample where there are many, of their blocks where they are large. */
  totalBytes: number;
}

/** A scalar SQL expression over `:name` parameters. */
export interface Expression {
  sql: string;
  /** Names that it may use, in the order of a row's values; letter case makes no difference. */
  parameters: readonly string[];
}

/** What an expression gives for one row; integers that a double cannot hold are `bigint`. */
export type Computed = { value: JsonValue } | { error: string };

export interface TimeFormat {
  /** A pattern of strptime: `%Y-%m-%d %H:%M:%S`. */
  pattern: string;
  /** Zone of texts that name none, as IANA calls it: `Europe/Berlin`, `UTC`. */
  timeZone: string;
}

/** One value for a `:name` of a statement. */
export interface Parameter {
  name: string;
  /** One of the contract's PARAMETER_TYPES; empty or absent: taken from the value. */
  type?: string | undefined;
  value?: JsonValue | undefined;
}

export interface InspectRequest {
  sql: string;
  parameters?: readonly Parameter[] | undefined;
  /** Do not ask for values of the parameters. */
  allowMissingParameters?: boolean | undefined;
  /**
   * Answer also for a statement that is allowed and does not bind, for want of a collection or a column for example.
   * What does not parse, and what is not allowed, is rejected all the same.
   */
  allowUnbound?: boolean | undefined;
  /** Aborting stops the work in the engine. */
  signal?: AbortSignal | undefined;
}

export interface Inspection {
  /** Collections named by the statement, as `workspace.collection`, in order of first use. */
  collections: string[];
  aliases: string[];
  /** Names of the parameters used, in order of first use. */
  parameters: string[];
  /** What the statement names like a collection and is none, as `workspace.name`, as written; only with `allowUnbound`. */
  missing: string[];
  /** Why the statement does not bind; null if it does. */
  unbound: Unbound | null;
}

export interface Unbound {
  message: string;
  /** 1-based position in the caller's SQL text. */
  line?: number | undefined;
  column?: number | undefined;
}

export interface QueryRequest {
  sql: string;
  parameters?: readonly Parameter[] | undefined;
  /** Rows to return where the statement has no outermost LIMIT. */
  defaultRowLimit?: number | undefined;
  generateWarnings?: boolean | undefined;
  /** Keeps the whole result as well, unless it is small; EXPLAIN and SHOW are not kept. */
  keep?: KeepRequest | undefined;
  /** Covers queueing and execution; at most the engine's own limit, which is also the default. */
  timeoutMs?: number | undefined;
  /** Aborting stops the statement in the engine; a reason that is an `ApiError` is what `query` rejects with. */
  signal?: AbortSignal | undefined;
}

export interface QueryOutcome {
  /** Collections read, as `workspace.collection`: those that the statement names, then those behind its aliases. */
  collections: string[];
  /** Aliases named by the statement, as `workspace.alias`, in order of first use. */
  aliases: string[];
  /** Their names are unique: the second `x` is `x_1`; where the result was to be kept, in any letter case. */
  columns: { name: string; type: string }[];
  /** One array per row, values in column order, ready for JSON: integers and decimals that a double cannot hold are strings. */
  rows: JsonValue[][];
  warnings: string[];
  /** Set when rows were left out because a limit of the engine was reached. */
  cut: { reason: 'rows' | 'bytes'; limit: number } | null;
  /** What is known of the whole result, where it was to be kept. */
  keeping: Keeping | null;
  /** Time in the queue, in microseconds. */
  queuedMicros: number;
}

export interface CopyOptions {
  signal?: AbortSignal | undefined;
  /** Hears how many bytes are copied, and how many there are. */
  onBytes?: ((done: number, total: number) => void) | undefined;
}

/** A copy of all that is stored. */
export interface StoredCopy {
  /** Names of its files; the database is the first. */
  files: string[];
  /** Version of the stored schema. */
  storedVersion: number;
  counts: StoredCounts;
}

export interface StoredCounts {
  /** Those in the trash included. */
  collections: number;
  /** In collections; documents past their retention count until they are removed. */
  documents: number;
  /** Pieces of metadata. */
  records: number;
  /** Of the collections, those in the trash, and of the documents, those in them. */
  trashedCollections: number;
  trashedDocuments: number;
  /** Documents that were deleted by themselves and are in the trash: not among the documents. */
  deletedDocuments: number;
}

/** What the engine may use of the machine. */
export interface EngineSize {
  threads: number;
  memoryBytes: number;
}

export interface EngineLimits extends EngineSize {
  /** Longest time of a query, queueing included, in milliseconds (default 120,000). */
  queryTimeoutMs: number;
  /** Most rows of a result (default 100,000). */
  resultRowsMax: number;
  /** Most bytes of a result, estimated (default 64 MiB). */
  resultBytesMax: number;
  /** Queries that run at once (default 4). */
  queriesMax: number;
  /** Queries that wait for a place; one more is refused (default 64). */
  queueMax: number;
  /** Queries that do not stop when told to, for each of which another may run all the same (default 1). */
  stuckMax: number;
  /** Rows of a collection from which on the document of an id is looked up by its hash; of fewer, all are read (default 50,000). */
  lookupRowsMin: number;
  /** Memory of the engine in bytes (default: a quarter of the machine's, at least 512 MiB). */
  memoryBytes: number;
  /** Threads of the engine (default: all cores). */
  threads: number;
  /** Room for temporary files in bytes (default 4 GiB). */
  tempBytesMax: number;
}
