import type { ColumnTypes } from '../../contract/column-types.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { EntryUnit, LoadFormat } from '../../contract/load.ts';

/** Formats of files that documents are loaded from. */
export const FILE_FORMATS = ['json', 'jsonl', 'csv', 'parquet', 'xml', 'avro', 'xlsx'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export interface FileRequest {
  /** Absolute, or relative to a folder that the operator allows; or an https URL of a host that the operator allows. */
  path: string;
  /** Absent: taken from the file name's extension. */
  format?: FileFormat | undefined;
  /**
   * For JSON that is one object: the keys, joined by dots, that lead to the list whose items are the documents; "." if the
   * object is the document; with "*" behind them, to the object whose members are the documents, with their keys as `_id`.
   * Absent: its only list of objects.
   */
  listPath?: string | undefined;
  /** Of the cells of CSV and xlsx; any other format refuses all but `infer`, which is the default. */
  types?: ColumnTypes | undefined;
  /** As `format_params.xml` of a collection. */
  xml?:
    | {
        /** The elements that are the documents; absent: the children of the root, if all have one name. */
        docTag?: string | undefined;
        /** The element that holds the documents; absent: the outermost one. */
        rootTag?: string | undefined;
        valueTag?: string | undefined;
        attributePrefix?: string | undefined;
      }
    | undefined;
  /** The name of a sheet of a workbook; absent: the first. */
  sheet?: string | undefined;
  /** Number of the row of a workbook that names the columns; absent: the first that is not empty. */
  headerRow?: number | undefined;
  /** The field whose value is the `_id`; absent: there is none but `_id`. */
  idField?: string | undefined;
  /** Of CSV: what is said of its encoding. */
  encoding?: string | undefined;
  /** Ends waiting for a server. */
  signal?: AbortSignal | undefined;
}

/** A file that was asked for, by itself or by a folder or pattern that it is in. */
export interface FoundFile {
  /** With symbolic links resolved; or a URL. */
  path: string;
  /** Below the folder that the operator allows; the path if there are several of these. */
  name: string;
  /** 0 if it is known only once it is read. */
  bytes: number;
  /** Undefined if it is known only once it is read. */
  format: FileFormat | undefined;
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
  /** As that of a `FoundFile`. */
  name?: string;
  format: FileFormat;
  bytes: number;
  /** What the entries are counted in. */
  unit: EntryUnit;
  /** In which format it is sent to the service: that of the file, or JSON lines, of which line `at` has the entry `at`. */
  sentAs: LoadFormat;
  /** Number of the first line that is sent, in the file. */
  firstLine?: number;
  /** What is sent, from its beginning each time it is called. Rejects `invalid_input` if it cannot go on. */
  pieces(): AsyncIterable<FilePiece>;
  /** Why an entry is no document, of a file that is read entry by entry; undefined: it is not known here. */
  problemAt?(at: number): string | undefined;
  /** Number of values so far that JSON cannot express (NaN, infinities) and become null, or of cells with an error. */
  unwritable?(): number;
  /** What is to be known of what was read so far. */
  warnings?(): readonly string[];
  /** Decimal columns so far that are passed on as text, since numbers in documents do not keep all their digits. */
  asText?(): readonly string[];
  /** The separator of CSV, if the name tells it. */
  separator?: string;
  /** For JSON that is one object around the list whose items are the documents, with the object's other keys. */
  list?: { path: string; beside: readonly string[] };
  /** For JSON or XML that is one document: the lists of objects, or the elements that are there several times, in it. */
  lists?: readonly { path: string; items: number }[] | undefined;
  /** For XML: the name of the elements that are the documents, if it was found. */
  docTag?: string | undefined;
  /** For a workbook: the sheet that is read, and the names of the others. */
  sheet?: string | undefined;
  sheets?: readonly string[] | undefined;
  close(): Promise<void>;
}

/** The error's `messageKey` if there is no such file. */
export const FILE_NOT_FOUND = 'FILE_NOT_FOUND';

/**
 * Opens a file in a folder that the operator allows. Rejects `invalid_input` for any other file, and for one that does
 * not match its format; `not_found` with `FILE_NOT_FOUND` if it does not exist.
 */
export type OpenFile = (request: FileRequest) => Promise<DocumentFile>;
