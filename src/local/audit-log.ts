import { randomInt } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isObject } from '../contract/json/json.ts';
import { openFolder } from './folder.ts';

/** A file of this size is put aside, in bytes. */
const AUDIT_BYTES_MAX = 10 * 1024 * 1024;
/** How many files are kept, including the current one. */
const AUDIT_FILES_MAX = 5;
const FILE = 'audit.log';
const ASIDE = /^audit-\d{8}T\d{9}Z-\d+\.log$/;
const LINE_FEED = 0x0a;
const CHANCE_MAX = 2 ** 47;

interface AuditLimits {
  bytesMax: number;
  filesMax: number;
}

export interface AuditLogOptions extends Partial<AuditLimits> {
  dataDir: string;
  log: { warn(details: object, message: string): void };
}

/** Appends to the audit file of a data folder; several processes may do so at once. */
export interface AuditLog {
  /**
   * Whether the record is in the file. Never rejects: if the file cannot be written, the log says so, once until it can be
   * written again.
   */
  append(record: object): Promise<boolean>;
  /** Resolves when everything appended is written, or has failed. */
  settled(): Promise<void>;
}

/**
 * Opens the audit log `<data folder>/audit.log` (mode 0600) at the first record. Each record is one line, appended by
 * one call, so that lines of several processes never mix.
 *
 * A full file is put aside under a unique name, `audit-<time>-<number>.log`. That needs no lock: a process that still
 * has it open writes to the file put aside, and if two processes put one aside at the same time, no line is lost.
 */
export function openAuditLog({ dataDir, log, ...limits }: AuditLogOptions): AuditLog {
  const { bytesMax = AUDIT_BYTES_MAX, filesMax = AUDIT_FILES_MAX } = limits;
  let folder: Promise<string> | undefined;
  let pending: Promise<unknown> = Promise.resolve();
  let isFailing = false;
  let lastAside = 0;

  async function write(record: object): Promise<boolean> {
    try {
      folder ??= openFolder(dataDir).then(({ path }) => path);
      const path = await folder;
      const size = appendLine(join(path, FILE), JSON.stringify(record));
      isFailing = false;
      if (size < bytesMax) return true;
      // The names sort in the order of the files: none share a millisecond, and none is earlier if the clock is set
      // back.
      lastAside = Math.max(Date.now(), lastAside + 1);
      putAside(path, new Date(lastAside), { bytesMax, filesMax });
      return true;
    } catch (error) {
      folder = undefined;
      if (!isFailing) log.warn({ err: error }, 'tool calls cannot be written to the audit log');
      isFailing = true;
      return false;
    }
  }

  return {
    append(record) {
      const written = pending.then(() => write(record));
      pending = written;
      return written;
    },
    settled: async () => void (await pending),
  };
}

/** Appends a line and returns the new size of the file. */
function appendLine(path: string, line: string): number {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
  const file = openSync(path, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), 0o600);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error(`"${path}" is no regular file`);
    // If the disk was full for a while, the last line may be incomplete.
    const start = found.size > 0 && lastByte(file, found.size) !== LINE_FEED ? '\n' : '';
    const bytes = Buffer.from(`${start}${line}\n`);
    const written = writeSync(file, bytes);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes could be written`);
    return found.size + written;
  } finally {
    closeSync(file);
  }
}

function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return readSync(file, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}

function putAside(folder: string, time: Date, { bytesMax, filesMax }: AuditLimits): void {
  const path = join(folder, FILE);
  try {
    // Another process may have been faster.
    if (statSync(path).size < bytesMax) return;
    // With a random number, since two processes doing this at the same moment must not choose the same name: the later
    // file would replace the earlier one.
    const name = `audit-${time.toISOString().replace(/[-:.]/g, '')}-${randomInt(CHANCE_MAX)}.log`;
    renameSync(path, join(folder, name));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  for (const name of filesAside(folder).slice(0, -(filesMax - 1))) {
    try {
      unlinkSync(join(folder, name));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

/** The files that were put aside, oldest first; none if there is no folder. */
function filesAside(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => ASIDE.test(name)).sort();
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** How much of a file is read at once, in bytes: some hundred records. */
const CHUNK_BYTES = 256 * 1024;
/** No record is longer; a line that is becomes part of no record. */
const LINE_BYTES_MAX = 1024 * 1024;

/**
 * The newest records in the audit log of a data folder that `wanted` takes, newest first, at most `count`. Files are read
 * from the end backwards, and no further than needed, in steps: a process that serves others may call it often.
 * `unreadable` is called for each line on the way that is no record.
 */
export async function findRecords(
  folder: string,
  wanted: (record: Readonly<Record<string, unknown>>) => boolean,
  count: number,
  unreadable?: () => void,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (const name of [...filesAside(folder), FILE].reverse()) {
    for await (const lines of linesBackwards(join(folder, name))) {
      for (const line of lines.reverse()) {
        const record = recordIn(line);
        if (record === undefined && line !== '') unreadable?.();
        if (record !== undefined && wanted(record)) found.push(record);
        if (found.length === count) return sorted(found);
      }
      await turn();
    }
  }
  return sorted(found);
}

/** Several processes write, each at the end of a call. */
function sorted(records: Record<string, unknown>[]): Record<string, unknown>[] {
  return records.sort((a, b) => (String(a['time']) > String(b['time']) ? -1 : 1));
}

/** The lines of a file, some of them at once, of which the last come first; none if there is no file. */
async function* linesBackwards(path: string): AsyncGenerator<string[]> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    let { size: end } = await file.stat();
    /** Behind `end`, the rest of a line that begins before it. */
    let rest: Buffer[] = [];
    while (end > 0) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
      const chunk = buffer.subarray(0, bytesRead);
      end = start;
      const first = start === 0 ? -1 : chunk.indexOf(LINE_FEED);
      if (start > 0 && first < 0) {
        rest = rest.length * CHUNK_BYTES > LINE_BYTES_MAX ? rest : [chunk, ...rest];
        continue;
      }
      yield Buffer.concat([chunk.subarray(first + 1), ...rest])
        .toString('utf8')
        .split('\n');
      rest = [chunk.subarray(0, first + 1)];
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  } finally {
    await file?.close();
  }
}

function recordIn(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
