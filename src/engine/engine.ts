import type { JsonObject } from '../contract/json/json.ts';
import type { Batches } from './batches.ts';
import type { DocumentsText, NewDocument, TextOutcome } from './documents.ts';
import type { Expressions } from './expressions.ts';
import type { OnFieldNews } from './field-news.ts';
import type { EngineSize } from './limits.ts';
import type { Inspection, InspectRequest, QueryOutcome, QueryRequest } from './queries.ts';
import type { RecordChange, StoredRecord, WriteOutcome } from './records.ts';
import type { Results, Retyped } from './results.ts';
import type { CsvRows, NewColumn, OpenedRows, ParquetRows, RowsOptions, RowsOutcome } from './rows.ts';
import type { Sharing } from './sharing.ts';

export type { BatchOutcome } from './batches.ts';
export type {
  DeclaredType,
  DocumentsText,
  KnownDocument,
  NewDocument,
  NumberedLines,
  TextOutcome,
} from './documents.ts';
export { derivedId, lineCount } from './documents.ts';
export type {
  Computed,
  ComputedAll,
  Expression,
  Expressions,
  InputStep,
  TimeFormat,
  Transform,
  TransformOutput,
} from './expressions.ts';
export type { FieldNews, NewSpelling, NewStrays, OnFieldNews, TypeChange } from './field-news.ts';
export { requireSpace } from './free-space.ts';
export type { EngineLimits, EngineSize, GiveUp } from './limits.ts';
export type { Inspection, InspectRequest, Parameter, QueryOutcome, QueryRequest, Unbound } from './queries.ts';
export type { RecordChange, StoredRecord, WriteOutcome } from './records.ts';
export type { ResultPage, Retyped } from './results.ts';
export type {
  CsvPart,
  CsvRows,
  FileField,
  NewColumn,
  OpenedRow,
  OpenedRows,
  ParquetRows,
  Refusal,
  RefusedRow,
  RowDocument,
  RowsOptions,
  RowsPart,
  RowsProgress,
} from './rows.ts';
export { type Leading, NOT_SHARED, type RecordsListener, type Sharing } from './sharing.ts';

/**
 * SQL over JSON documents: what the service needs from an engine, and nothing about which engine it is.
 *
 * Every method that fails rejects with an `ApiError` from the contract. Writes are durable when their promise resolves,
 * and visible to every query that starts after that.
 */
export interface Engine extends Expressions, Batches, Sharing {
  /** Metadata records as stored, read once at start. */
  readonly records: readonly StoredRecord[];

  /** Applies all changes in one durable step, or none of them. */
  commit(changes: readonly Change[]): Promise<void>;

  /**
   * Adds documents; one whose id exists replaces that document entirely, and of two with the same id in `documents` the
   * later wins. The answer has one entry per document, in order: a document that cannot be stored is an `error` entry,
   * and the others are still stored, all in one durable step.
   */
  addDocuments(table: string, documents: readonly NewDocument[], onNews?: OnFieldNews): Promise<WriteOutcome[]>;

  /**
   * Adds the documents of a JSON list as `addDocuments` does, from its text. Undefined means that nothing was done,
   * since something needs a closer look (a document that cannot be stored, two with one id): parse it and use
   * `addDocuments`.
   */
  addText(table: string, text: DocumentsText, onNews?: OnFieldNews): Promise<TextOutcome[] | undefined>;

  /** The folder of files whose rows `addRows` can add: whoever has some makes it, and it is removed when the engine opens. */
  readonly spool: string;

  /**
   * Adds the rows of a file as `addDocuments` would add their documents, a later one with the same id included, in
   * several durable steps. Their types are those of all rows, and rows that are refused are found before any is stored.
   * Rejects `invalid_input` for a file that cannot be read, and with the signal's reason between two steps.
   */
  addRows(table: string, rows: CsvRows | ParquetRows, options: RowsOptions): Promise<RowsOutcome>;

  /**
   * Opens a file whose rows become documents of a table some at a time: with the types that all rows have. Its rows are
   * numbered from 1 on, those of CSV too if they are to be stored in parts. Rejects as `addRows` does.
   */
  openRows(table: string, rows: CsvRows | ParquetRows, signal: AbortSignal): Promise<OpenedRows>;

  /**
   * The first rows of a file as documents, the columns that a new table of all its rows has, and what is to be told of them.
   * Rejects as `addRows` does.
   */
  sampleRows(
    rows: CsvRows | ParquetRows,
    max: number,
    signal: AbortSignal,
  ): Promise<{ documents: JsonObject[]; columns: NewColumn[]; notes: string[] }>;

  /** The columns that a new table of some documents has; their ids and event times are no fields. */
  columnsFor(documents: readonly JsonObject[]): Promise<NewColumn[]>;

  /**
   * What reads the texts of fields of some documents where these are numbers or days, or have spaces around them, to be told:
   * of fields that are text in a table, or among columns.
   */
  textNotes(documents: readonly JsonObject[], of: string | readonly NewColumn[]): string[];

  /**
   * Deletes the visible documents with these ids, in one durable step; returns their number. With `keep` they go to
   * the trash; if there are none, nothing is kept. With `marks`, in the order of distinct ids, a document goes only if it
   * has its own.
   */
  deleteDocuments(table: string, ids: readonly string[], keep?: Keep, marks?: Float64Array): Promise<number>;

  /**
   * SQL over the columns of a table, for queries: the mark of a document, an integer below 2^53, which is another one once
   * it has changed, and the same however others change. Good as long as the engine is open.
   */
  markSql(table: string): string;

  /**
   * Restores documents from the trash to a table, in one durable step: equal to what they were, event time included.
   * Some thousands at most. One whose id exists there (again) stays in the trash, and one that is past the table's
   * retention, which no query would see before it is purged. If none is restored, only such documents are left. `after` returns the records to store along with it, given what is then left in the trash.
   */
  restoreDocuments(
    trash: string,
    table: string,
    after: (left: Kept) => readonly RecordChange[],
    onNews?: OnFieldNews,
  ): Promise<Restored>;

  /**
   * Reads the documents with these ids, passes each to `change`, and stores what it returns, in one durable step with
   * no other write to the table in between. `change` throws to leave its document as it was: an `error` entry.
   * An id named twice is changed twice, in order. Event times are kept.
   *
   * With `fields`, `change` may be given documents that have only these fields, and what it returns then covers only
   * these: name every field that it reads or sets. If that is not enough, it is called again with whole documents.
   */
  changeDocuments(
    table: string,
    ids: readonly string[],
    change: (document: JsonObject, index: number) => JsonObject,
    fields?: ReadonlySet<string>,
    onNews?: OnFieldNews,
  ): Promise<WriteOutcome[]>;

  /**
   * Removes documents that are past the table's retention, some thousands at most, in one durable step. Those not yet
   * removed are invisible to everything else all the same. Zero documents: none is left.
   */
  purge(table: string, nowMs: number): Promise<Purged>;

  /** Size and document count of a collection's table, also of one in the trash. */
  stats(table: string): Promise<TableStats>;

  /** Runs one reading statement. Rejects `query_error`, `query_timeout`, `resource_exceeded` or `aborted`. */
  query(request: QueryRequest): Promise<QueryOutcome>;

  /** The results that `query` kept. */
  readonly results: Results;

  /** Grows with every change of what SQL can name: workspaces, collections, aliases, columns. */
  readonly namesVersion: number;

  /**
   * A short text that is the same as long as each of these names, `workspace.name`, stands for the same columns, also
   * over restarts. Letter case is ignored, as in SQL.
   */
  definitionOf(names: readonly string[]): string;

  /** Parses and binds a statement without running it. Rejects `query_error`, `query_timeout` or `aborted`. */
  inspect(request: InspectRequest): Promise<Inspection>;

  /** Current threads and memory. */
  readonly size: EngineSize;

  /**
   * Changes threads and memory immediately, also for running statements, until the engine is closed or the next call.
   * Rejects `resource_exceeded`, and leaves the size as it was, if running statements hold more memory than that.
   */
  resize(size: EngineSize): Promise<void>;

  /**
   * Copies everything stored into an existing folder, as of one moment: writes wait meanwhile, reads go on. The copy
   * opens like a database that was not closed. Rejects with the system's error if it cannot be written, and with the
   * signal's reason; partial copies are left for the caller to remove.
   */
  copyTo(folder: string, options?: CopyOptions): Promise<StoredCopy>;

  /**
   * Writes the visible documents of a table, as of one moment, to a new file of the exports folder
   * (`Results.exportsFolder`, which the caller creates), however many there are; queries and writes go on meanwhile. Two
   * are written at a time. Rejects `not_found` if the table is gone or in the trash, `storage_full`, and with the signal's
   * reason; nothing is left of the file then.
   */
  exportTable(request: TableExport): Promise<ExportedTable>;

  counts(): Promise<StoredCounts>;

  /** Finishes running work, makes everything durable and releases the files. */
  close(): Promise<void>;
}

export type Change =
  | RecordChange
  | { do: 'createWorkspace'; workspace: string }
  | { do: 'dropWorkspace'; workspace: string }
  /** `table` is an opaque id chosen by the caller (letters, digits, `_`); SQL sees `workspace.name`. */
  | {
      do: 'createCollection';
      table: string;
      workspace: string;
      name: string;
      /** Documents with an older event time are treated as absent; absent or null: documents stay. */
      retentionSecs?: number | null | undefined;
      /** Whether text that is a time by ISO 8601 makes a column of times; default: it is text. */
      recognizeTimes?: boolean | undefined;
    }
  /** Works for a collection in the trash, too. */
  | { do: 'dropCollection'; table: string }
  /** Frees the name and keeps the documents; costs the same however many there are. */
  | { do: 'trashCollection'; table: string }
  /** Restores it under the name that it had. */
  | { do: 'restoreCollection'; table: string }
  /** Drops documents of the trash for good, which were deleted from `table` under these names. */
  | { do: 'dropDocuments'; trash: readonly string[]; table: string }
  /** Forgets what a source of a table remembers. */
  | { do: 'forgetMemory'; table: string; source: number }
  /**
   * Creates a name for the documents of one or more collections together, or points it at others. SQL sees
   * `workspace.name`, at every moment with the columns that these collections have.
   */
  | { do: 'putAlias'; workspace: string; name: string; tables: readonly string[] }
  | { do: 'dropAlias'; workspace: string; name: string };

/** Where deleted documents go. */
export interface Keep {
  /** A new opaque id chosen by the caller, or that of an earlier deletion from the same table, to which these then belong. */
  trash: string;
  /** The record to store with them, given all that is then kept under the id. */
  record: (kept: Kept) => RecordChange;
}

/** Documents in the trash. */
export interface Kept {
  docCount: number;
  /** Bytes of these documents as JSON text, estimated. */
  bytes: number;
  /** The ids of a few of them. */
  ids: string[];
}

export interface Restored {
  docCount: number;
  left: Kept;
  /** The ids of the documents left whose ids exist, in order; at most a hundred. */
  leftIds: string[];
  /** How many of the others are past the retention; counted if none is restored, and may be 0 if some are. */
  pastCount: number;
}

export interface Purged {
  docCount: number;
  /** Bytes of these documents as JSON text, estimated. */
  bytes: number;
}

export interface TableStats {
  docCount: number;
  /**
   * Bytes of these documents as JSON text: estimated from a sample if there are many, from their blocks if they are
   * large.
   */
  totalBytes: number;
}

export interface TableExport {
  table: string;
  /**
   * `jsonl`: a document per line, as it was written, with `_id` and `_event_time`. `csv`: a header and a record for each;
   * nested values are JSON text. `parquet`: the columns in the engine's types; values that do not fit these are in the
   * column `_strays`, as JSON.
   */
  format: 'csv' | 'jsonl' | 'parquet';
  /** Name of the file. */
  name: string;
  /** Told how many documents are written; not for Parquet. */
  onRows?: ((written: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface ExportedTable {
  rows: number;
  /** Columns with a type that the format lacks. */
  retyped: Retyped[];
}

export interface CopyOptions {
  signal?: AbortSignal | undefined;
  /** Called with the bytes copied so far and their total. */
  onBytes?: ((done: number, total: number) => void) | undefined;
}

/** A copy of everything stored. */
export interface StoredCopy {
  /** Names of its files; the database comes first. */
  files: string[];
  /** Version of the stored schema. */
  storedVersion: number;
  counts: StoredCounts;
}

export interface StoredCounts {
  /** Including those in the trash. */
  collections: number;
  /** In collections; documents past their retention count until they are removed. */
  documents: number;
  /** Metadata records. */
  records: number;
  /** How many of the collections are in the trash, and how many of the documents are in these. */
  trashedCollections: number;
  trashedDocuments: number;
  /** Documents in the trash that were deleted individually; not counted in `documents`. */
  deletedDocuments: number;
}
