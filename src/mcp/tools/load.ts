import { refusalOf } from '../../contract/documents.ts';
import type { RefusalKind } from '../../contract/errors.ts';
import { cutText, Room } from '../room.ts';
import { Warnings } from '../write-warnings.ts';
import type { DocumentFile, FoundFile } from './file.ts';

/** The state of a load while it runs. */

/** Refused entries shown with reasons, whose text FAILED_ROOM limits; FAILED_AT_MAX more are listed by line only. */
const FAILED_MAX = 20;
const FAILED_ROOM = { bytesMax: 8_000, tokensMax: 2_500 };
const FAILED_AT_MAX = 500;
const REASON_CHARS_MAX = 300;
const ID_CHARS_MAX = 100;

/** A collection that files are loaded into. */
export interface Target {
  workspace: string;
  collection: string;
  /** It does not exist yet; it is created before the first documents are added. */
  isMissing: boolean;
  /** Documents that it had before. */
  before: number;
}

/** The progress of the load of one file so far. */
export interface Load {
  target: Target;
  /** Entries dealt with so far, counted from the beginning of the file, skipped ones included. */
  entries: number;
  counts: Record<string, number>;
  /** Documents whose `_id` was generated. */
  withoutId: number;
  /** The first refused entries; `failedAt` has the lines of the next ones. */
  failed: { at: number; id: string | null; error: string; kind?: RefusalKind | undefined }[];
  failedAt: number[];
  failures: number;
  /** Room left in the answer for reasons. */
  room: Room;
  /** Of the file, if it is one of several. */
  name?: string | undefined;
  warnings: Warnings;
  /** Whether this load created the collection. */
  isCreated: boolean;
  /** Whether it was removed again, since nothing got into it. */
  isRemoved?: boolean;
  /** With what the cells of CSV were separated, if that was recognized and is no comma. */
  separator?: string | undefined;
  stopped?: { why: string; isUnsure: boolean; isBroken?: boolean } | undefined;
  /** Whether files after it may be loaded although it is broken: of those for one collection, a later one replaces what is in an earlier one. */
  isApart: boolean;
}

/** What is known of a file once it is read. */
export interface FileFacts
  extends Pick<DocumentFile, 'path' | 'format' | 'bytes' | 'unit' | 'list' | 'lists' | 'docTag' | 'sheet' | 'sheets'> {
  /** With what the cells of CSV are separated, if that was recognized and is no comma. */
  separator?: string;
  nulled: number;
  asText: readonly string[];
  warnings: readonly string[];
}

export interface LoadedFile {
  found: FoundFile;
  load: Load;
  /** Undefined if the file could not be opened or read at all. */
  facts: FileFacts | undefined;
}

/** What the loads of one call share: its warnings, and the room left in its answer for reasons. */
export type Shared = Pick<Load, 'warnings' | 'room'>;

export function newShared(): Shared {
  return { warnings: new Warnings(), room: new Room(FAILED_ROOM) };
}

export function newLoad(target: Target, shared: Shared, name?: string, isApart = false): Load {
  return {
    target,
    name,
    entries: 0,
    counts: {},
    withoutId: 0,
    failed: [],
    failedAt: [],
    failures: 0,
    ...shared,
    isCreated: false,
    isApart,
  };
}

/** Entries that are shown with the same reason; of more the numbers are enough. */
const SAME_MAX = 3;

/** Records a refused entry. */
export function fail(load: Load, at: number, id: string | null, error: unknown, kind?: RefusalKind): void {
  load.failures += 1;
  const text = refusalOf(error);
  const entry = { at, id: id && cutText(id, ID_CHARS_MAX), error: cutText(text, REASON_CHARS_MAX) };
  const isShown =
    load.failed.length < FAILED_MAX && load.failed.filter((one) => one.error === entry.error).length < SAME_MAX;
  if (isShown && load.room.take(JSON.stringify(entry))) load.failed.push({ ...entry, kind });
  else if (load.failedAt.length < FAILED_AT_MAX) load.failedAt.push(at);
}

/** Whether no other file is loaded after this one. */
export function endsCall({ stopped, isApart }: Load): boolean {
  return stopped !== undefined && !(isApart && stopped.isBroken === true);
}

/** Documents of the load that are in. */
export function insideOf({ counts }: Load): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

export function count({ counts }: Load, status: string): number {
  return counts[status] ?? 0;
}
