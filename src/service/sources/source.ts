import type { Logger } from 'pino';
import type { JsonObject } from '../../contract/json/json.ts';
import type { CsvRows, NewDocument, OpenedRows, ParquetRows, RowsPart } from '../../engine/engine.ts';

/*
 * What every kind of source is: something that checks its settings and yields batches from a checkpoint on. It knows its
 * own system and nothing else. Scheduling, retries, transactions, status and limits are written once around it (runner.ts).
 */

/** One document as the source has it now, or that it is gone. */
export type SourceChange = ParsedChange | TextChange;

interface AnyChange {
  /** Its `_id`: the source's own, or derived from the position; the same whenever the item is read again, never random. */
  id: string;
  /** Types of top-level fields that JSON does not have, as in the engine's `NewDocument`. */
  declared?: NewDocument['declared'];
  /** What names it at the source, for status and errors, such as `orders/0/17`. */
  item: string;
  /** The line at which it begins, to be told if it is refused. */
  line?: number | undefined;
  /** Whether what is stored under its id has to go if it is refused. */
  isOrGone?: boolean | undefined;
}

export interface ParsedChange extends AnyChange {
  /** Without `_id`; with `_event_time` if the source says when it was. Null: deleted. */
  document: JsonObject | null;
  text?: undefined;
}

/** A document that nobody has parsed: that it is none is found when it is stored, and then it is refused. */
export interface TextChange extends AnyChange {
  /** One JSON object, without `_id` or with that of the change; bytes are UTF-8, or it is refused. */
  text: Buffer | string;
  document?: undefined;
  /** When it was, if it has no `_event_time` itself, in milliseconds since 1970. */
  timeMs?: number | undefined;
}

/** Documents that nobody has parsed, numbered: the same as a change for each, for a fraction of the work. */
export interface TextRows {
  /** A line for each: one JSON object without `_id`, in UTF-8, or it is refused. */
  bytes: Buffer;
  /** Offset behind each one's line, where that of the next one begins. */
  ends: readonly number[];
  /** Number of the first row. Each row's `_id` is `prefix/row`, and its `item` is `object/row`. */
  first: number;
  prefix: string;
  object: string;
  /** Line at which they begin. */
  line: number;
  /** The last row under whose id something may be stored that has to go if the row is refused. */
  storedTo: number;
}

/** Rows of a file that go into the collection without becoming documents here. */
export interface FileRows extends Pick<TextRows, 'prefix' | 'object' | 'storedTo'> {
  /** Those of it that are refused are among the batch's. */
  part: RowsPart;
  bytes: number;
  /** The checkpoint while some of them may be stored and others are not: from there on they are read again. */
  unfinished: JsonObject;
  /** To be called once nothing of the batch is stored any more. */
  release(): Promise<void>;
}

/** An item that is no document. */
export interface RefusedItem {
  item: string;
  /** Why, as a clause: "is no JSON: …". Holds no secret. */
  reason: string;
  /** The item's own text, or as much of it as `REFUSED_TEXT_MAX` lets. */
  text?: string | undefined;
}

/** How far the source is. */
export interface SourceProgress {
  /** `scan`: reading what was there at the beginning; `changes`: what came since. */
  phase: 'scan' | 'changes';
  /** Items of the initial read that were seen so far, and how many there are, if the source says so. */
  scanned?: number | undefined;
  scanTotal?: number | undefined;
  /** When the newest item of the batch happened at the source, in milliseconds since 1970. */
  itemTimeMs?: number | undefined;
  /** Items that are at the source and not yet read, if it says so. */
  behind?: number | undefined;
}

/** What a source yields: its documents, deletes, what it remembers and its checkpoint become durable together. */
export interface SourceBatch {
  /** In their order at the source: of several with one id the last wins. At most `BATCH_ITEMS_MAX`, about `BATCH_BYTES_MAX`. */
  changes: readonly SourceChange[];
  /** Behind them. */
  rows?: readonly TextRows[] | undefined;
  /** Without `rows`, and the changes delete documents only. */
  file?: FileRows | undefined;
  refused: readonly RefusedItem[];
  /** From where to go on behind this batch. A few kilobytes. */
  checkpoint: JsonObject;
  progress: SourceProgress;
  /** What the source remembers of single items, such as the version of each object of a bucket, however many there are. */
  memory?: { put: ReadonlyMap<string, string>; forget: readonly string[] } | undefined;
}

/** What a source remembers, read back page by page. */
export interface SourceMemory {
  /** The entries behind the key `after` (null: the first), in order of their keys' UTF-8 bytes; at most `max`. */
  after(after: string | null, max: number): Promise<[key: string, value: string][]>;
}

/** Each batch is a durable step, for which its ids are looked up: few large ones take less than many small ones. */
export const BATCH_ITEMS_MAX = 10_000;
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How many batches are read behind one before it is surely stored: the one that is stored, and the one looked at meanwhile. */
export const BATCHES_AHEAD = 2;
export const REFUSED_TEXT_MAX = 4 * 1024;

/** A connection to one source. */
export interface SourceReader {
  /**
   * Whether the source can be read with these settings: it is there, and lets us in. Rejects a `SourceError` otherwise.
   * Called when the collection is made, and after a failure before `read` goes on; never while that runs.
   */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Batches from a checkpoint on; undefined: from the beginning. Also yields batches without changes, whenever progress
   * or the checkpoint is another one, but not more often than every second. It ends when everything is read that is there
   * now, and is then called again after `pollMs`; where the source announces changes it never ends by itself. Rejects a
   * `SourceError`, and the signal's reason. What is unfinished when the caller stops asking is simply read again.
   */
  read(checkpoint: JsonObject | undefined, signal: AbortSignal): AsyncIterable<SourceBatch>;
  /** How long to wait after `read` has ended, in milliseconds (default 0). */
  readonly pollMs?: number | undefined;
  close(): Promise<void>;
}

/** Files of rows that the engine reads. */
export interface SourceFiles {
  /** Whether a batch may have `file`: the collection takes documents as they are. */
  readonly takesRows: boolean;
  /** The folder where they have to be (`loading/spool.ts`). */
  readonly spool: string;
  /** With the types that all rows have, as documents of the source's collection. */
  openRows(rows: CsvRows | ParquetRows, signal: AbortSignal): Promise<OpenedRows>;
}

export interface SourceOptions {
  /** The fields of the integration's kind as the caller gave them, with secrets. Never to be logged or quoted. */
  connection: JsonObject;
  /** The fields of the source's kind, and `format_params`. */
  settings: JsonObject;
  formatParams: JsonObject | null;
  /** When the collection was made, in milliseconds since 1970. */
  createdMs: number;
  memory: SourceMemory;
  files: SourceFiles;
  log: Logger;
}

/** The module of a kind, loaded when a source of it is first needed. */
export interface SourceModule {
  openSource(options: SourceOptions): Promise<SourceReader>;
}

/**
 * Why a source cannot be read.
 *
 * - `settings`: something that its settings name is not there, or not as they say (a bucket, a topic, a table).
 * - `denied`: it does not let us in.
 * - `unreachable`: it does not answer, or answers that it is busy; trying again helps. What any other error counts as.
 * - `lost`: it no longer has the position of the checkpoint, so that changes would be missing; only a new initial read helps.
 */
export type SourceFault = 'settings' | 'denied' | 'unreachable' | 'lost';

/** The message is a sentence for a person, names the thing and what to do, and holds no secret. */
export class SourceError extends Error {
  readonly fault: SourceFault;
  constructor(fault: SourceFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
    this.fault = fault;
  }
}
