import { randomInt } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isObject } from '../contract/json/json.ts';
import { openFolder } from './folder.ts';

/** A file of this size is put aside, in bytes. */
export const AUDIT_BYTES_MAX = 10 * 1024 * 1024;
/** How many files are kept, including the current one. */
export const AUDIT_FILES_MAX = 5;
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
  /** Never throws: if the file cannot be written, the log says so, once until it can be written again. */
  append(record: object): void;
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
  let pending = Promise.resolve();
  let isFailing = false;
  let lastAside = 0;

  async function write(record: object): Promise<void> {
    try {
      folder ??= openFolder(dataDir).then(({ path }) => path);
      const path = await folder;
      const size = appendLine(join(path, FILE), JSON.stringify(record));
      isFailing = false;
      if (size < bytesMax) return;
      // The names sort in the order of the files: none share a millisecond, and none is earlier if the clock is set
      // back.
      lastAside = Math.max(Date.now(), lastAside + 1);
      putAside(path, new Date(lastAside), { bytesMax, filesMax });
    } catch (error) {
      folder = undefined;
      if (!isFailing) log.warn({ err: error }, 'tool calls cannot be written to the audit log');
      isFailing = true;
    }
  }

  return {
    append(record) {
      pending = pending.then(() => write(record));
    },
    settled: () => pending,
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

export interface AuditLines {
  /** Oldest first. */
  records: Record<string, unknown>[];
  /** Number of lines that are not records. */
  unreadable: number;
}

/** The whole audit log of a data folder; empty if there is none. */
export function readAuditLog(folder: string): AuditLines {
  const found: AuditLines = { records: [], unreadable: 0 };
  for (const name of [...filesAside(folder), FILE]) {
    for (const line of linesOf(join(folder, name))) {
      const record = recordIn(line);
      if (record === undefined) found.unreadable++;
      else found.records.push(record);
    }
  }
  return found;
}

/** Lines that are looked at before others have their turn. */
const LINES_AT_ONCE = 500;

/**
 * The newest records in the audit log of a data folder that `wanted` takes, newest first, at most `count`. Of each file the
 * later lines are read first, in steps: a process that serves others may call it.
 */
export async function findRecords(
  folder: string,
  wanted: (record: Readonly<Record<string, unknown>>) => boolean,
  count: number,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (const name of [...filesAside(folder), FILE].reverse()) {
    const lines = (await textOf(join(folder, name))).split('\n').reverse();
    for (let at = 0; at < lines.length && found.length < count; at += LINES_AT_ONCE) {
      const records = lines.slice(at, at + LINES_AT_ONCE).map(recordIn);
      found.push(...records.filter((one) => one !== undefined).filter(wanted));
      await turn();
    }
  }
  // Several processes write, each at the end of a call.
  return found.sort((a, b) => (String(a['time']) > String(b['time']) ? -1 : 1)).slice(0, count);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return '';
    throw error;
  }
}

/** How much is read from the end of a file for its newest records. */
const TAIL_BYTES = 256 * 1024;

/**
 * The newest records in the audit log of a data folder, newest first: at most `count`, and only from the ends of its
 * two newest files, so it may be called often. Lines that are not records are left out.
 */
export async function newestRecords(folder: string, count: number): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (const name of [FILE, ...filesAside(folder).slice(-1)]) {
    if (found.length >= count) break;
    const lines = await lastLines(join(folder, name));
    found.push(...lines.map(recordIn).filter((record) => record !== undefined));
  }
  // Several processes write, each at the end of a call.
  return found.sort((a, b) => (String(a['time']) > String(b['time']) ? -1 : 1)).slice(0, count);
}

async function lastLines(path: string): Promise<string[]> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    // Unless the file was read from its beginning, the first line is incomplete.
    return start === 0 ? lines : lines.slice(1);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  } finally {
    await file?.close();
  }
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
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
