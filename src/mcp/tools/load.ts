import { isObject } from '../../contract/json.ts';
import { cutText, Room } from '../results.ts';
import { Warnings } from '../write-warnings.ts';
import type { CSV_TYPES, FileEntry, FileRequest } from './file.ts';

/** What is known of a load while it goes on. */

/** Refused entries that are shown with the reason, in so much of the answer; and that are named by their line alone. */
const FAILED_MAX = 20;
const FAILED_ROOM = { bytesMax: 8_000, tokensMax: 2_500 };
const FAILED_AT_MAX = 500;
const REASON_CHARS_MAX = 300;
const ID_CHARS_MAX = 100;

/** What `load_file` takes. */
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

/** What is done of a load. */
export interface Load {
  /** Entries of the file that were dealt with, from its beginning; those that were skipped too. */
  entries: number;
  counts: Record<string, number>;
  /** Documents that got an `_id` made for them. */
  withoutId: number;
  /** The first entries that were refused, and where the next ones stand. */
  failed: { at: number; id: string | null; error: string }[];
  failedAt: number[];
  failures: number;
  /** What the reasons may still take of the answer. */
  room: Room;
  /** The list in the only document of a file. */
  only: { field: string; items: number } | undefined;
  warnings: Warnings;
  /** The collection is not there yet; it is made before the first documents go in. */
  isMissing: boolean;
  isCreated: boolean;
  /** Of the batch on its way: how many entries it has, and how many of its documents no `_id`. */
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

/** Notes an entry that was refused. */
export function fail(load: Load, at: number, id: string | null, error: unknown): void {
  load.failures += 1;
  const text = typeof error === 'string' ? error : JSON.stringify(error ?? 'no reason was given');
  const entry = { at, id: id && cutText(id, ID_CHARS_MAX), error: cutText(text, REASON_CHARS_MAX) };
  const isShown = load.failedAt.length === 0 && load.failed.length < FAILED_MAX;
  if (isShown && load.room.take(JSON.stringify(entry))) load.failed.push(entry);
  else if (load.failedAt.length < FAILED_AT_MAX) load.failedAt.push(at);
}

export function count({ counts }: Load, status: string): number {
  return counts[status] ?? 0;
}

/** The longest list of objects in a document that is alone. */
export function listIn(entries: readonly FileEntry[]): Load['only'] {
  const [only] = entries;
  if (only === undefined || !('document' in only) || entries.length > 1) return undefined;
  const lists = Object.entries(only.document).flatMap(([field, value]) =>
    Array.isArray(value) && value.length > 1 && value.every(isObject) ? [{ field, items: value.length }] : [],
  );
  return lists.sort((a, b) => b.items - a.items)[0];
}
