import type { ColumnType } from '../contract/column-types.ts';
import type { RefusalKind } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json/json.ts';
import type { NewDocument } from './documents.ts';
import type { OnFieldNews } from './field-news.ts';

/*
 * Rows of files, which the engine reads itself: none of them becomes a document in this process unless it has to.
 */

/** A piece of a CSV file, in the spool: whole records, each with the number of its line, or row, as the first cell. */
export interface CsvPart {
  path: string;
  rows: number;
  /** The numbers of its first and its last record. */
  first: number;
  last: number;
  /** Whether a record of it has more than one line. */
  hasBreaks: boolean;
  /** Whether a record of it has fewer cells than there are names. */
  hasShort: boolean;
  /** Records of the file up to its last one, those that are in no part included. */
  entries: number;
}

/** A field that the rows of a file get beside their own: its text is that of all. */
export interface FileField {
  name: string;
  text: string;
}

/** Each record has a cell for each of `names`; it ends with a line feed. */
export interface CsvRows {
  kind: 'csv';
  parts: readonly CsvPart[];
  names: readonly string[];
  /** By column; one that has none has the type that all its cells have. */
  types: readonly (ColumnType | undefined)[];
  separator: string;
  quote: string;
  escaping: string;
  /** Bytes of the longest record. */
  recordBytes: number;
  /** Its name is none of `names`. */
  fileField?: FileField | undefined;
}

/** A whole Parquet file, in the spool. */
export interface ParquetRows {
  kind: 'parquet';
  path: string;
  /** Rows to leave out at the beginning. */
  skip: number;
  fileField?: FileField | undefined;
}

/** A column that a new table would have, with its type as SQL. */
export interface NewColumn {
  name: string;
  type: string;
}

/** Why something is not stored. */
export interface Refusal {
  why: string;
  kind?: RefusalKind | undefined;
}

/** An entry that is not stored. */
export interface RefusedRow extends Refusal {
  /** The line at which it begins, or its number. */
  at: number;
  id: string | null;
}

/** What became of the rows so far. */
export interface RowsProgress {
  rows: number;
  added: number;
  replaced: number;
  /** Of the replaced, those that came with the same part of the file, at least: its ids are not unique. */
  repeated: number;
  /** Rows whose id was made. */
  withoutId: number;
  /** Some of the refused rows, the first ones. */
  refused: RefusedRow[];
  refusedCount: number;
}

export interface RowsOutcome extends RowsProgress {
  /** What is to be told of how the file was read. */
  notes: string[];
  /** Whether nothing was stored since rows are refused. */
  isStopped: boolean;
}

export interface RowsOptions {
  /** The column whose text or number is the document's id, too. */
  idField?: string | undefined;
  /** With rows that are refused, store nothing. */
  stopsAtRefused: boolean;
  /** Reserves ids: the first of so many numbers, of which `numberedId` makes ids that sort in their order. */
  reserveIds(count: number): bigint;
  /** A row as a document that can be stored, or why it cannot. */
  read(document: JsonObject): NewDocument | Refusal;
  /** Takes all rows as documents instead of having them stored. */
  take?: ((documents: readonly RowDocument[]) => Promise<void>) | undefined;
  /** Told after each step that is durable. */
  tell(progress: RowsProgress): void;
  onNews?: OnFieldNews | undefined;
  signal: AbortSignal;
}

/** A row as a document, with `_id` and `_event_time` if it has them. */
export interface RowDocument {
  at: number;
  document: JsonObject;
  declared?: NewDocument['declared'];
}

/** The rows of a file as documents: to be read some at a time, or to be stored part by part. */
export interface OpenedRows {
  /** The number of the last row of each part. */
  readonly lasts: readonly number[];
  /**
   * The rows behind the line, or row, `after` (0: from the first on), in order: about as many as are worth a statement, and
   * few enough to be held. None: there are no more.
   */
  next(after: number, signal: AbortSignal): Promise<OpenedRow[]>;
  /**
   * The rows behind the row `after` up to the end of its part, for `storeBatch` to store them without that they become
   * documents here; undefined: more than `refusedMax` of them are refused.
   */
  partBehind(after: number, options: RowsPartOptions, signal: AbortSignal): Promise<RowsPart | undefined>;
}

export interface RowsPartOptions extends Pick<RowsOptions, 'read'> {
  /** Rows without an `_id` of their own have this, `/` and their number. */
  prefix: string;
  refusedMax: number;
}

/** Rows that the engine reads when they are stored, as long as their file is there. */
export interface RowsPart {
  readonly first: number;
  readonly last: number;
  /** Rows that are not stored, with their documents. */
  readonly refused: readonly (RefusedRow & { document: JsonObject })[];
  /** The others that have an `_id` of their own. */
  readonly ids: readonly (readonly [row: number, id: string])[];
}

/** A row that was read: `at` is the line at which it begins, or its number. */
export interface OpenedRow {
  at: number;
  /** Size of its text. */
  bytes: number;
  /** Its document, or why it is none; it is made when this is called. */
  read(): { document: JsonObject; declared?: NewDocument['declared'] } | { why: string };
}
