import type { DocumentsText, NewDocument } from './documents.ts';
import type { OnFieldNews } from './field-news.ts';
import type { RecordChange, WriteOutcome } from './records.ts';
import type { OpenedRow, RowsPart } from './rows.ts';

/** What a source of a collection yields, to be stored as a whole. */
export interface Batch {
  /** As in `addDocuments`, or as in `addText`, or rows of a file. */
  documents: readonly NewDocument[] | DocumentsText | RowsPart;
  /** Ids of documents that are gone at the source, none of them in `documents`. They do not go to the trash. */
  deletes: readonly string[];
  /** Ids of documents in `documents` whose earlier version goes if they cannot be stored (default: none). */
  orGone?: readonly string[] | undefined;
  /** What the source remembers from now on. */
  memory?: { source: number; put: ReadonlyMap<string, string>; forget: readonly string[] } | undefined;
  /** The records to store with it, which nobody else changes meanwhile, given what becomes of the documents. */
  records(outcome: BatchOutcome): readonly RecordChange[];
  onNews?: OnFieldNews | undefined;
  /** It is looked at before this has resolved, and stored after; nothing is stored if it rejects (default: at once). */
  after?: Promise<unknown> | undefined;
}

export interface BatchOutcome {
  /** One for each document, in order; of those that were given as text, with the size of it in bytes. */
  documents: (WriteOutcome & { bytes?: number })[];
  /** Documents that were there and are deleted. */
  deleted: number;
  /** Of rows of a file, and of numbered lines, which are not among the documents. */
  rows?: {
    added: number;
    replaced: number;
    /** Rows that are not stored, as a value does not fit its column: they have to be stored as documents behind these. */
    others: readonly OpenedRow[];
  };
}

/** Collections that are filled from elsewhere. */
export interface Batches {
  /** Stores a batch in one durable step, or nothing of it. Undefined: nothing, since documents as text need a closer look. */
  storeBatch(table: string, batch: Batch): Promise<BatchOutcome | undefined>;

  /**
   * What a source of a table remembers: the entries behind the key `after` (null: the first), in order of their keys'
   * bytes in UTF-8; at most `max`. It goes with the table.
   */
  memoryOf(table: string, source: number, after: string | null, max: number): Promise<[key: string, value: string][]>;
}
