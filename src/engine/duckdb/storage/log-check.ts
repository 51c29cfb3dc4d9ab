import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { ApiError } from '../../../contract/errors.ts';

/** The files with what is not in the main file yet: the log, and those of an interrupted merge. */
export const LOG_SUFFIXES = ['.wal', '.wal.checkpoint', '.wal.recovery'] as const;

/** The start of a log: its version. No checksum covers it. */
const HEADER = Buffer.from([0x64, 0x00, 0x62, 0x65, 0x00, 0x02, 0xff, 0xff]);
/** The end of each stored change: size of the entry, its checksum, and the entry. No text can contain these bytes. */
const END_OF_CHANGE = Buffer.from('0500000000000000e7fe7d722fed3d5e640064ffff', 'hex');
/** Size and checksum, eight bytes each, precede an entry. */
const FRAME_BYTES = 16;
const CHUNK_BYTES = 1024 * 1024;

/** A log that is partly unreadable. */
export interface LogDamage {
  file: string;
  /** End of the last readable change. */
  at: number;
  bytes: number;
  /**
   * Number of stored changes before that, and of those still recognizable after it, of the first of which at least the
   * end is there.
   */
  before: number;
  after: number;
}

/**
 * What the engine would not read of the logs, whose contents are left to it: it verifies their checksums and refuses to
 * open. But it takes an entry that is longer than the rest of the log for one that a crash cut short, drops everything
 * from there on and removes the log. That is right only if no whole change follows (`after` is 0): a flipped bit in a
 * size looks the same.
 */
export function findUnreadLog(databaseFile: string): LogDamage | undefined {
  const found = LOG_SUFFIXES.flatMap((suffix) => checkLog(databaseFile + suffix) ?? []);
  return found.find(({ after }) => after > 0) ?? found[0];
}

/** Whether there is a log, whatever it contains. */
export function hasLog(databaseFile: string): boolean {
  return LOG_SUFFIXES.some((suffix) => (statSync(databaseFile + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** Whether any of the logs has a change that is complete. */
export function hasWholeChange(databaseFile: string): boolean {
  return LOG_SUFFIXES.some((suffix) => {
    const log = openLog(databaseFile + suffix);
    if (log === undefined) return false;
    try {
      return walk(log, { changesMax: 1 }).changes > 0;
    } finally {
      closeSync(log.descriptor);
    }
  });
}

/**
 * The log of a database whose own file is gone; undefined where there is none. The engine would make a new database, and
 * remove the log with all the changes that are in it alone.
 */
export function findOrphanedLog(databaseFile: string): string | undefined {
  const log = LOG_SUFFIXES.map((suffix) => databaseFile + suffix).find(
    (file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  // Looked for after the log: whoever is just making a database makes its file first.
  return log !== undefined && statSync(databaseFile, { throwIfNoEntry: false }) === undefined ? log : undefined;
}

export function orphanedLogError(file: string, log: string): ApiError {
  return new ApiError(
    'internal',
    `Cannot open the database "${file}": it is missing, and its log "${log}" is there with changes that are nowhere else. A restore that was killed leaves it so ("colloquy doctor" says where the rest is). Put the file back beside its log, restore a backup, or move the log away to begin with an empty database.`,
  );
}

/** Reads the engine's refusal of a log, which names the entry whose checksum does not match. */
export function readLogDamage(engineMessage: string): LogDamage | undefined {
  const file = /WAL file "([^"]+)"/.exec(engineMessage)?.[1];
  const position = /entry at byte position (\d+)/.exec(engineMessage)?.[1];
  return file === undefined || position === undefined ? undefined : checkLog(file, Number(position));
}

/** `damagedAt` is an entry that cannot be read although its size fits. */
function checkLog(file: string, damagedAt?: number): LogDamage | undefined {
  const log = openLog(file);
  if (log === undefined) return undefined;
  try {
    const { isWhole, end, changes } = walk(log, { damagedAt });
    if (isWhole && end === log.bytes) return undefined;
    return { file, at: end, bytes: log.bytes, before: changes, after: isWhole ? 0 : countChanges(log, end) };
  } finally {
    closeSync(log.descriptor);
  }
}

interface Log {
  descriptor: number;
  bytes: number;
  /** The bytes of the log from `at`; fewer at its end. Valid until the next call. */
  read(at: number, length: number): Buffer;
}

function openLog(file: string): Log | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  const descriptor = openSync(file, 'r');
  let chunk: Buffer = Buffer.alloc(0);
  let chunkAt = 0;
  return {
    descriptor,
    bytes: statSync(file).size,
    read(at, length) {
      if (at < chunkAt || at + length > chunkAt + chunk.length) {
        const buffer = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, length));
        chunk = buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, at));
        chunkAt = at;
      }
      return chunk.subarray(at - chunkAt, at - chunkAt + length);
    },
  };
}

/** Walks from entry to entry, up to `changesMax` whole changes; `end` is where the last of them ends. */
function walk(
  log: Log,
  {
    damagedAt = Number.POSITIVE_INFINITY,
    changesMax = Number.POSITIVE_INFINITY,
  }: { damagedAt?: number | undefined; changesMax?: number },
): { isWhole: boolean; end: number; changes: number } {
  if (!log.read(0, HEADER.length).equals(HEADER)) return { isWhole: false, end: 0, changes: 0 };
  let at = HEADER.length;
  let end = at;
  let changes = 0;
  while (at < log.bytes && changes < changesMax) {
    const frame = log.read(at, END_OF_CHANGE.length);
    if (frame.length < FRAME_BYTES) return { isWhole: false, end, changes };
    const next = at + FRAME_BYTES + Number(frame.readBigUInt64LE(0));
    if (next > log.bytes || next > damagedAt) return { isWhole: false, end, changes };
    if (frame.equals(END_OF_CHANGE)) {
      end = next;
      changes += 1;
    }
    at = next;
  }
  return { isWhole: true, end, changes };
}

function countChanges(log: Log, from: number): number {
  let count = 0;
  let at = from;
  while (at < log.bytes) {
    const chunk = log.read(at, CHUNK_BYTES);
    let found = chunk.indexOf(END_OF_CHANGE);
    let next = chunk.length;
    while (found >= 0) {
      count += 1;
      next = found + END_OF_CHANGE.length;
      found = chunk.indexOf(END_OF_CHANGE, next);
    }
    // One may span the end of the chunk.
    const isLast = at + chunk.length >= log.bytes || chunk.length === 0;
    if (isLast) return count;
    at += Math.max(next === chunk.length ? 0 : next, chunk.length - END_OF_CHANGE.length + 1);
  }
  return count;
}

/** The error for a log that must not be given to the engine. */
export function logDamageError(databaseFile: string, { file, at, bytes, before, after }: LogDamage): ApiError {
  const changes = (count: number) => `${count.toLocaleString('en-US')} stored change${count === 1 ? '' : 's'}`;
  const lost =
    after === 0 ? 'what follows, a change that may not have been complete,' : `${changes(after)} or more after that`;
  return new ApiError(
    'internal',
    `Cannot open the database ${JSON.stringify(databaseFile)}: its log ${JSON.stringify(file)} is damaged. Of its ${bytes} bytes the first ${at} can be read, with ${changes(before)}; ${lost} cannot, and opening it would lose them. Both files are left as they are. Restore a backup with "colloquy restore", or put back the log from a copy of the folder. To do without what cannot be read, keep a copy of both files and cut the log to ${at} bytes.`,
  );
}
