import type { JsonObject } from '../../contract/json.ts';

/** Formats of files that documents are loaded from. */
export const FILE_FORMATS = ['json', 'jsonl', 'csv', 'parquet'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export const CSV_TYPES = ['BOOLEAN', 'INTEGER', 'FLOAT', 'STRING'] as const;

export interface FileRequest {
  /** Absolute, or relative to a folder that the operator allows. */
  path: string;
  /** Absent: by the extension of the name. */
  format?: FileFormat | undefined;
  csv?:
    | {
        separator?: string | undefined;
        /** Names of the columns of a file that begins with no line of names. */
        columns?: readonly string[] | undefined;
        /** In the order of the columns; STRING beyond them. */
        types?: readonly (typeof CSV_TYPES)[number][] | undefined;
      }
    | undefined;
}

/** What stands at one place of a file, counted from 1 in lines, or in rows where it has no lines. */
export type FileEntry = { at: number } & ({ document: JsonObject } | { problem: string });

export interface FileBatch {
  entries: FileEntry[];
  /** Bytes of the file that were read so far. */
  bytesRead: number;
}

export interface CsvRows {
  /** Rows that have fewer fields than there are columns, and the lines of the first ones. */
  short: number;
  shortLines: readonly number[];
  /** What may separate the fields of a file that has one column only; undefined: nothing looks like it. */
  separator: string | undefined;
}

/** A file opened for reading; `batches` can be read once, and rejects `invalid_input` where it cannot go on. */
export interface DocumentFile {
  /** Its place without links. */
  path: string;
  format: FileFormat;
  bytes: number;
  /** What `at` counts. */
  unit: 'line' | 'row';
  /** In the order of the file; each fits into one request. */
  batches: AsyncIterable<FileBatch>;
  /** Values so far that JSON does not have (NaN, infinities); they are null. */
  unwritable(): number;
  /** Of CSV: how the rows so far fit the columns. */
  rows?(): CsvRows;
  /** Columns so far that are text, since numbers of documents do not keep all digits of their decimals. */
  asText(): readonly string[];
  close(): Promise<void>;
}

/** `messageKey` of the error where there is no such file. */
export const FILE_NOT_FOUND = 'FILE_NOT_FOUND';

/**
 * Opens a file below a folder that the operator allows. Rejects `invalid_input` for any other, and for one that is not
 * what its format says; `not_found` with `FILE_NOT_FOUND`.
 */
export type OpenFile = (request: FileRequest) => Promise<DocumentFile>;
