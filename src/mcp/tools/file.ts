import type { JsonObject } from '../../contract/json/json.ts';
import type { LoadFormat } from '../../contract/load.ts';

/** Formats of files that documents are loaded from. */
export const FILE_FORMATS = ['json', 'jsonl', 'csv', 'parquet'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export const CSV_TYPES = ['BOOLEAN', 'INTEGER', 'FLOAT', 'STRING'] as const;

export interface FileRequest {
  /** Absolute, or relative to a folder that the operator allows. */
  path: string;
  /** Absent: taken from the file name's extension. */
  format?: FileFormat | undefined;
  /**
   * For JSON that is one object: the keys, joined by dots, that lead to the list whose items are the documents; "." if the
   * object is the document. Absent: its only list of objects.
   */
  listPath?: string | undefined;
  csv?:
    | {
        /** Absent: recognized from the first lines. */
        separator?: string | undefined;
        /** Column names, for a file whose first line does not contain them. */
        columns?: readonly string[] | undefined;
        /** In the order of the columns; columns beyond these are STRING. */
        types?: readonly (typeof CSV_TYPES)[number][] | undefined;
      }
    | undefined;
}

/** A file that was asked for, by itself or by a folder or pattern that it is in. */
export interface FoundFile {
  /** With symbolic links resolved. */
  path: string;
  /** Below the folder that the operator allows; the path if there are several of these. */
  name: string;
  bytes: number;
}

export interface FoundFiles {
  files: FoundFile[];
  /** Names of files in a folder or matching a pattern that are not loaded, since their name tells no format. */
  leftOut: string[];
}

/**
 * Finds files in the folders that the operator allows: `paths` are files, folders (the files directly in them) and
 * patterns (`*`, `?`, and `**` for any folders), whose files come sorted by name. Hidden files are left out, and so are,
 * without a `format`, files of a folder or pattern whose name tells none. Rejects as `OpenFile` does for a file, and
 * `not_found` for a folder or pattern without files.
 */
export type FindFiles = (request: { paths: readonly string[]; format?: FileFormat | undefined }) => Promise<FoundFiles>;

/** The most files that one call loads. */
export const FILES_MAX = 1_000;

/** One entry of a file that is read entry by entry; `at` counts from 1, in lines or, if the file has no lines, in rows. */
export type FileEntry = { at: number } & ({ document: JsonObject } | { problem: string });

export interface FilePiece {
  piece: Buffer;
  /** Bytes of the file read so far. */
  bytesRead: number;
}

/** A file opened for reading. */
export interface DocumentFile {
  /** The path with symbolic links resolved. */
  path: string;
  format: FileFormat;
  bytes: number;
  /** What the entries are counted in. */
  unit: 'line' | 'row';
  /** In which format it is sent to the service: that of the file, or JSON lines, of which line `at` has the entry `at`. */
  sentAs: LoadFormat;
  /** Number of the first line that is sent, in the file. */
  firstLine?: number;
  /** What is sent, from its beginning each time it is called. Rejects `invalid_input` if it cannot go on. */
  pieces(): AsyncIterable<FilePiece>;
  /** Entries so far that were no document, of a file that is read entry by entry. */
  problems?(): readonly { at: number; problem: string }[];
  /** The separator of CSV. */
  csvSeparator?: string;
  /** The same, if it was recognized and is no comma. */
  separator?: string;
  /** For JSON that is one object around the list whose items are the documents, with the object's other keys. */
  list?: { path: string; beside: readonly string[] };
  /** For JSON that is one document: the lists of objects in it. */
  lists?: readonly { path: string; items: number }[];
  close(): Promise<void>;
}

/** The error's `messageKey` if there is no such file. */
export const FILE_NOT_FOUND = 'FILE_NOT_FOUND';

/**
 * Opens a file in a folder that the operator allows. Rejects `invalid_input` for any other file, and for one that does
 * not match its format; `not_found` with `FILE_NOT_FOUND` if it does not exist.
 */
export type OpenFile = (request: FileRequest) => Promise<DocumentFile>;
