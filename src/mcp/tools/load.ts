import { refusalOf } from '../../contract/documents.ts';
import { isObject } from '../../contract/json/json.ts';
import { cutText, Room } from '../room.ts';
import { Warnings } from '../write-warnings.ts';
import type { CSV_TYPES, FileEntry, FileRequest } from './file.ts';

/** The state of a load while it runs. */

/** Refused entries shown with reasons, whose text FAILED_ROOM limits; FAILED_AT_MAX more are listed by line only. */
const FAILED_MAX = 20;
const FAILED_ROOM = { bytesMax: 8_000, tokensMax: 2_500 };
const FAILED_AT_MAX = 500;
const REASON_CHARS_MAX = 300;
const ID_CHARS_MAX = 100;

/** The arguments of `load_file`. */
export interface LoadInput {
  path: string;
  workspace: string;
  collection: string;
  format?: FileRequest['format'];
  create_collection?: boolean;
  id_field?: string;
  skip?: number;
  csv_separator?: string;
  csv_columns?: string[];
  csv_types?: (typeof CSV_TYPES)[number][];
}

/** The progress of a load so far. */
export interface Load {
  /** Entries dealt with so far, counted from the beginning of the file, skipped ones included. */
  entries: number;
  counts: Record<string, number>;
  /** Documents whose `_id` was generated. */
  withoutId: number;
  /** The first refused entries; `failedAt` has the lines of the next ones. */
  failed: { at: number; id: string | null; error: string }[];
  failedAt: number[];
  failures: number;
  /** Room left in the answer for reasons. */
  room: Room;
  /** The list inside the file's only document. */
  only: { field: string; items: number } | undefined;
  warnings: Warnings;
  /** The collection does not exist yet; it is created before the first documents are added. */
  isMissing: boolean;
  isCreated: boolean;
  /** The batch being sent: its number of entries, and how many of its documents have no `_id`. */
  sending: { entries: number; withoutId: number };
  stopped?: { why: string; isUnsure: boolean; isBroken?: boolean } | undefined;
}

export function newLoad(): Load {
  return {
    entries: 0,
    counts: {},
    withoutId: 0,
    failed: [],
    failedAt: [],
    failures: 0,
    room: new Room(FAILED_ROOM),
    only: undefined,
    warnings: new Warnings(),
    isMissing: false,
    isCreated: false,
    sending: { entries: 0, withoutId: 0 },
  };
}

/** Records a refused entry. */
export function fail(load: Load, at: number, id: string | null, error: unknown): void {
  load.failures += 1;
  const text = refusalOf(error);
  const entry = { at, id: id && cutText(id, ID_CHARS_MAX), error: cutText(text, REASON_CHARS_MAX) };
  const isShown = load.failedAt.length === 0 && load.failed.length < FAILED_MAX;
  if (isShown && load.room.take(JSON.stringify(entry))) load.failed.push(entry);
  else if (load.failedAt.length < FAILED_AT_MAX) load.failedAt.push(at);
}

export function count({ counts }: Load, status: string): number {
  return counts[status] ?? 0;
}

/** The longest list of objects in the document, if there is only one. */
export function listIn(entries: readonly FileEntry[]): Load['only'] {
  const [only] = entries;
  if (only === undefined || !('document' in only) || entries.length > 1) return undefined;
  const lists = Object.entries(only.document).flatMap(([field, value]) =>
    Array.isArray(value) && value.length > 1 && value.every(isObject) ? [{ field, items: value.length }] : [],
  );
  return lists.sort((a, b) => b.items - a.items)[0];
}
