import type { ColumnTypes } from '../../contract/column-types.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { EntryUnit, LoadFormat } from '../../contract/load.ts';
import type { FileField, NewColumn, RefusedRow } from '../../engine/engine.ts';
import type { CsvSettings } from '../ingest/csv-format.ts';
import type { TableNote } from '../ingest/seen-rows.ts';

/** What every way of loading a stream of bytes into a collection is told, and what it answers. */

export interface LoadOptions {
  format: LoadFormat;
  /** The field whose text or number is the document's `_id`, too. */
  idField?: string | undefined;
  /** Number of the stream's first line, if it is a part of a file (default 1). */
  line?: number | undefined;
  /** The field that has the name of the file, and that name. */
  fileField?: FileField | undefined;
  /** What the lines of the stream are of the file that they were made of; default: lines. */
  unit?: EntryUnit | undefined;
  /** Number of the line of CSV that names the columns (default 1); what is above it is left out. */
  headerRow?: number | undefined;
  /** Entries to leave out at the beginning. */
  skip: number;
  /** Whether the load ends at the first entry that is refused. */
  onError: 'stop' | 'skip';
  /** How CSV is read; absent: recognized. */
  csv?: CsvSettings | undefined;
  /** The types of the columns of CSV, if `csv` has none. */
  types?: ColumnTypes | undefined;
  /** Told what is in, after each step that is durable. */
  tell: (progress: Readonly<LoadOutcome>) => void;
}

/** What became of a load so far. */
export interface LoadOutcome {
  /** Entries dealt with, those that were left out or refused included. */
  entries: number;
  added: number;
  replaced: number;
  /** Of the replaced, those that came with this load, as far as its parts tell. */
  repeated: number;
  /** Documents whose `_id` was generated. */
  withoutId: number;
  /** The first refused entries, some hundred at most. */
  refused: RefusedRow[];
  refusedCount: number;
  warnings: string[];
  /** Those of the warnings that are true as long as the documents are there. */
  lasting: TableNote[];
  /** Why it ended before the end of the file; null: it did not. */
  stopped: string | null;
  /** With what the cells of CSV were separated. */
  separator?: string;
}

/** The first documents of a stream. */
export interface LoadSample {
  documents: JsonObject[];
  /** That a new collection of them has. */
  columns: NewColumn[];
  refused: RefusedRow[];
  /** Whether there are no more, but for what cannot be read. */
  isAll: boolean;
  /** Why the rest cannot be read. */
  stopped: string | null;
  /** What is told of how it was read. */
  warnings: string[];
  separator?: string;
}

/** Refused entries that are kept with their reasons. */
const REFUSED_MAX = 500;

export function newOutcome(): LoadOutcome {
  const counts = { entries: 0, added: 0, replaced: 0, repeated: 0, withoutId: 0, refusedCount: 0 };
  return { ...counts, refused: [], warnings: [], lasting: [], stopped: null };
}

export function refuse(outcome: LoadOutcome, entry: RefusedRow): void {
  outcome.refusedCount += 1;
  if (outcome.refused.length < REFUSED_MAX) outcome.refused.push(entry);
}
