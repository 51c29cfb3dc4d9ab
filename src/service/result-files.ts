import { chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import type { JsonValue } from '../contract/json.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../contract/results.ts';
import type { Engine } from '../engine/engine.ts';
import type { KeptEntry } from './kept-results.ts';

/** An exported result. */
export interface ExportedFile {
  queryId: string;
  owner: string;
  format: ExportFormat;
  rows: number;
  isWhole: boolean;
  bytes: number;
  path: string;
  createdAt: number;
  expiresAt: number;
}

export interface FileLimits {
  /** Files in the folder (default 100). */
  filesMax: number;
  /** Bytes of all of them (default 1 GiB). */
  bytesMax: number;
  /** How long a file stays, in milliseconds (default: a day). */
  ageMs: number;
}

/** The files of exported results: private to the user, bounded in number, size and age; the oldest goes first. */
export interface ResultFiles {
  /** The file of a result in a format; an existing one is given again. */
  write(entry: KeptEntry, format: ExportFormat, signal: AbortSignal): Promise<ExportedFile>;
  /** Undefined where nothing was exported, by this key and since the service started, or it is gone. */
  find(owner: string, queryId: string, format: string): ExportedFile | undefined;
  /** `length` bytes from `offset`; fewer at the end. */
  read(file: ExportedFile, offset: number, length: number): Promise<Buffer>;
  /** Removes what is past its time, also files of earlier runs. */
  sweep(): Promise<void>;
  stop(): void;
}

const LIMITS: FileLimits = { filesMax: 100, bytesMax: 1024 ** 3, ageMs: 86_400_000 };
const SWEEP_MS = 600_000;
const PAGE_ROWS = 5_000;
/** Nothing else in the folder is ours to remove. */
const OURS = new RegExp(`^[0-9a-f-]{36}\\.(?:${EXPORT_FORMATS.join('|')})(?:\\.part)?$`);

export function createResultFiles(
  engine: Pick<Engine, 'results'>,
  log: Logger,
  limits: Partial<FileLimits> = {},
): ResultFiles {
  const { filesMax, bytesMax, ageMs } = { ...LIMITS, ...limits };
  const folder = engine.results.exportsFolder;
  const files = new Map<string, ExportedFile>();
  const writing = new Map<string, Promise<ExportedFile>>();

  async function sweep(): Promise<void> {
    const names = await readdir(folder).catch(() => []);
    const found = [];
    for (const name of names.filter((one) => OURS.test(one) && !writing.has(one.replace(/\.part$/, '')))) {
      const about = await stat(join(folder, name)).catch(() => undefined);
      if (about !== undefined) found.push({ name, bytes: about.size, at: about.mtimeMs });
    }
    found.sort((a, b) => b.at - a.at);
    let bytes = 0;
    for (const [index, file] of found.entries()) {
      bytes += file.bytes;
      // The newest one stays, whatever its size: somebody was just told of it.
      const isOver = index > 0 && (index >= filesMax || bytes > bytesMax);
      if (!isOver && Date.now() - file.at < ageMs && !file.name.endsWith('.part')) continue;
      files.delete(file.name);
      await rm(join(folder, file.name), { force: true });
    }
  }

  const sweepInBackground = () => {
    sweep().catch((error: unknown) => log.warn({ err: error }, 'cannot remove old exports'));
  };

  async function make(entry: KeptEntry, format: ExportFormat, signal: AbortSignal): Promise<ExportedFile> {
    const name = `${entry.queryId}.${format}`;
    const part = join(folder, `${name}.part`);
    const path = join(folder, name);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
      if (format === 'parquet') await engine.results.writeParquet(entry.queryId, `${name}.part`, signal);
      else await writeText(engine, entry.queryId, part, format, signal);
      await chmod(part, 0o600);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw exportError(error);
    }
    const createdAt = Date.now();
    const { queryId, owner, rows, isWhole } = entry;
    const { size: bytes } = await stat(path);
    return { queryId, owner, format, rows, isWhole, bytes, path, createdAt, expiresAt: createdAt + ageMs };
  }

  sweepInBackground();
  const timer = setInterval(sweepInBackground, SWEEP_MS).unref();
  return {
    async write(entry, format, signal) {
      const name = `${entry.queryId}.${format}`;
      const existing = files.get(name);
      if (existing !== undefined && (await stat(existing.path).catch(() => undefined)) !== undefined) return existing;
      const running = writing.get(name);
      if (running !== undefined) return running;
      const made = make(entry, format, signal);
      writing.set(name, made);
      try {
        const file = await made;
        files.set(name, file);
        return file;
      } finally {
        writing.delete(name);
        sweepInBackground();
      }
    },
    find(owner, queryId, format) {
      const file = files.get(`${queryId}.${format}`);
      return file?.owner === owner ? file : undefined;
    },
    async read(file, offset, length) {
      const handle = await open(file.path, 'r');
      try {
        const buffer = Buffer.alloc(Math.max(0, Math.min(length, file.bytes - offset)));
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    },
    sweep,
    stop: () => clearInterval(timer),
  };
}

function exportError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  const cause = error instanceof ApiError && error.cause !== undefined ? error.cause : error;
  if (/^(ENOSPC|EDQUOT|EFBIG)$/.test(code) || /No space left|disk full/i.test(String(cause))) {
    return new ApiError(
      'resource_exceeded',
      'Cannot export the result: the disk of the data folder is full. Free some space there and try again.',
      { cause: error },
    );
  }
  if (error instanceof ApiError && error.code !== 'internal') return error;
  return new ApiError(
    'internal',
    'Cannot export the result: the file could not be written. Another format may do; the log of the service has the reason.',
    { cause: error },
  );
}

async function writeText(
  engine: Pick<Engine, 'results'>,
  queryId: string,
  path: string,
  format: 'csv' | 'jsonl',
  signal: AbortSignal,
): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    for (let offset = 0; ; ) {
      const page = await engine.results.read(queryId, { offset, limit: PAGE_ROWS }, signal);
      const names = page.columns.map(({ name }) => name);
      const lines = page.rows.map((row) => (format === 'csv' ? csvLine(row) : jsonLine(names, row)));
      if (offset === 0 && format === 'csv') lines.unshift(csvLine(names));
      // One write each: a chunk of text that is left over would hold up nothing but memory.
      if (lines.length > 0) await handle.write(`${lines.join('\n')}\n`);
      offset += page.rows.length;
      if (offset >= page.total) return;
      if (page.rows.length === 0)
        throw new ApiError('resource_exceeded', 'A row of the result is too large to export.');
    }
  } finally {
    await handle.close();
  }
}

/** Cells as in answers: nested values as JSON text, NULL as nothing, an empty text as `""`. */
export function csvLine(row: readonly JsonValue[]): string {
  return row.map(csvCell).join(',');
}

function csvCell(value: JsonValue): string {
  if (value === null) return '';
  if (typeof value === 'string') return value === '' || /[",\r\n]|^\s|\s$/.test(value) ? quoted(value) : value;
  return typeof value === 'object' ? quoted(JSON.stringify(value)) : String(value);
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function jsonLine(names: readonly string[], row: readonly JsonValue[]): string {
  return `{${names.map((name, index) => `${JSON.stringify(name)}:${JSON.stringify(row[index] ?? null)}`).join(',')}}`;
}
