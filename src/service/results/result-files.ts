import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import * as z from 'zod';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import { csvLine, jsonLine } from '../../contract/json/file-lines.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../contract/results.ts';
import type { Engine } from '../../engine/engine.ts';
import type { KeptEntry } from './kept-results.ts';

/** An exported result as recorded beside the files, which outlive the process and still belong to a key. */
const EXPORTED = z.object({
  queryId: z.string(),
  /** Hash of the API key that ran the query. */
  owner: z.string(),
  format: z.enum(EXPORT_FORMATS),
  rows: z.number(),
  isWhole: z.boolean(),
  /** Columns whose type the format lacks. */
  retyped: z.array(z.object({ name: z.string(), type: z.string(), writtenAs: z.string() })),
  bytes: z.number(),
  createdAt: z.number(),
  expiresAt: z.number(),
});
export type ExportedFile = z.infer<typeof EXPORTED> & { path: string };
export type FileOnDisk = Pick<ExportedFile, 'path' | 'bytes'>;

const LIMITS = {
  /** Most files in the folder. */
  filesMax: 100,
  /** Most bytes of all files together. */
  bytesMax: 1024 ** 3,
  /** How long a file is kept, in milliseconds. */
  ageMs: 86_400_000,
};
export type FileLimits = typeof LIMITS;

/** A file that is being written. */
export interface RunningExport {
  queryId: string;
  format: ExportFormat;
  rows: number;
  /** Null if the engine writes the file and does not say. */
  rowsDone: number | null;
}

/** The files of exported results: private to the user, limited in number, size and age; the oldest go first. */
export interface ResultFiles {
  /** Writes a result in a format, or returns the file if it already exists. */
  write(entry: KeptEntry, format: ExportFormat, signal: AbortSignal): Promise<ExportedFile>;
  /** The exports being written for this key. */
  running(owner: string): RunningExport[];
  /** Undefined if this key exported no such file, or the file is gone. */
  find(owner: string, queryId: string, format: string): Promise<ExportedFile | undefined>;
  /** `length` bytes from `offset`; fewer at the end. */
  read(file: FileOnDisk, offset: number, length: number): Promise<Buffer>;
  /** Removes expired files, those of earlier runs included. */
  sweep(): Promise<void>;
  stop(): void;
}

const SWEEP_MS = 600_000;
const PAGE_ROWS = 5_000;
/** What the files are and whose; hidden, since the folder is for humans. */
const INDEX = '.exports.json';
/** We remove no other files from the folder. */
const UUID = /^[0-9a-f-]{36}$/;

function isOurs(file: string): boolean {
  const [id = '', format, part, ...more] = file.split('.');
  const isPart = part === undefined || (part === 'part' && more.length === 0);
  return UUID.test(id) && EXPORT_FORMATS.some((one) => one === format) && isPart;
}

export function createResultFiles(
  engine: Pick<Engine, 'results'>,
  log: Logger,
  limits: Partial<FileLimits> = {},
): ResultFiles {
  const { filesMax, bytesMax, ageMs } = { ...LIMITS, ...limits };
  const folder = engine.results.exportsFolder;
  const files = new Map<string, ExportedFile>();
  const writing = new Map<string, { made: Promise<ExportedFile>; owner: string; state: RunningExport }>();
  const ready = readIndex(folder).then((found) => {
    for (const file of found) files.set(`${file.queryId}.${file.format}`, file);
  });
  let noting: Promise<void> = ready;

  /** Writes the index, one write at a time, each of the current state. If it fails, a restart finds fewer files. */
  function note(): Promise<void> {
    noting = noting
      .then(() => writeIndex(folder, [...files.values()]))
      .catch((error: unknown) => log.warn({ err: error }, 'cannot note what is exported'));
    return noting;
  }

  const known = async (name: string): Promise<ExportedFile | undefined> => {
    await ready;
    const file = files.get(name);
    if (file === undefined || file.expiresAt <= Date.now()) return undefined;
    return (await isThere(file.path)) ? file : undefined;
  };

  async function sweep(): Promise<void> {
    await ready;
    const names = await readdir(folder).catch(() => []);
    const found = [];
    for (const name of names.filter((one) => isOurs(one) && !writing.has(one.replace(/\.part$/, '')))) {
      const about = await stat(join(folder, name)).catch(() => undefined);
      if (about !== undefined) found.push({ name, bytes: about.size, at: about.mtimeMs });
    }
    found.sort((a, b) => b.at - a.at);
    const before = files.size;
    for (const [name, { path }] of [...files]) if (!(await isThere(path))) files.delete(name);
    let bytes = 0;
    for (const [index, file] of found.entries()) {
      bytes += file.bytes;
      // The newest file stays, whatever its size: a caller was just told of it.
      const isOver = index > 0 && (index >= filesMax || bytes > bytesMax);
      if (!isOver && Date.now() - file.at < ageMs && !file.name.endsWith('.part')) continue;
      files.delete(file.name);
      await rm(join(folder, file.name), { force: true });
    }
    if (files.size < before) await note();
  }

  const sweepInBackground = () => {
    sweep().catch((error: unknown) => log.warn({ err: error }, 'cannot remove old exports'));
  };

  async function make(entry: KeptEntry, state: RunningExport, signal: AbortSignal): Promise<ExportedFile> {
    const { format } = state;
    const name = `${entry.queryId}.${format}`;
    const part = join(folder, `${name}.part`);
    const path = join(folder, name);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
      let retyped: ExportedFile['retyped'] = [];
      if (format === 'parquet') retyped = await engine.results.writeParquet(entry.queryId, `${name}.part`, signal);
      else {
        await writeText(engine, entry.queryId, part, format, signal, (rows) => {
          state.rowsDone = rows;
        });
      }
      await chmod(part, 0o600);
      await rename(part, path);
      const createdAt = Date.now();
      const { queryId, owner, rows, isWhole } = entry;
      const { size: bytes } = await stat(path);
      return { queryId, owner, format, rows, isWhole, retyped, bytes, path, createdAt, expiresAt: createdAt + ageMs };
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined);
      throw exportError(error, 'the result');
    }
  }

  sweepInBackground();
  const timer = setInterval(sweepInBackground, SWEEP_MS).unref();
  return {
    async write(entry, format, signal) {
      const name = `${entry.queryId}.${format}`;
      const existing = await known(name);
      if (existing !== undefined) return existing;
      const running = writing.get(name);
      if (running !== undefined) return running.made;
      const { queryId, owner, rows } = entry;
      const state: RunningExport = { queryId, format, rows, rowsDone: format === 'parquet' ? null : 0 };
      const made = make(entry, state, signal);
      writing.set(name, { made, owner, state });
      try {
        const file = await made;
        files.set(name, file);
        await note();
        return file;
      } finally {
        writing.delete(name);
        sweepInBackground();
      }
    },
    running: (owner) => [...writing.values()].filter((one) => one.owner === owner).map(({ state }) => ({ ...state })),
    async find(owner, queryId, format) {
      const file = await known(`${queryId}.${format}`);
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

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** Empty if there is no index, or it is not ours; files without an index are removed when they are too old. */
async function readIndex(folder: string): Promise<ExportedFile[]> {
  try {
    const noted = z.array(EXPORTED).parse(JSON.parse(await readFile(join(folder, INDEX), 'utf8')));
    return noted
      .map((file) => ({ ...file, path: join(folder, `${file.queryId}.${file.format}`) }))
      .filter(({ queryId, format }) => isOurs(`${queryId}.${format}`));
  } catch {
    return [];
  }
}

async function writeIndex(folder: string, files: readonly ExportedFile[]): Promise<void> {
  const path = join(folder, INDEX);
  const noted = files.map(({ path: _, ...file }) => file);
  await writeFile(`${path}.part`, JSON.stringify(noted), { mode: 0o600 });
  await rename(`${path}.part`, path);
}

/** What to tell of a failed export of `what`. */
export function exportError(error: unknown, what: string): unknown {
  const cause = error instanceof ApiError && error.cause !== undefined ? error.cause : error;
  if (isOutOfSpace(error) || /No space left|disk full/i.test(String(cause))) {
    return new ApiError(
      'storage_full',
      `Cannot export ${what}: the disk of the data folder is full. Free some space there and try again.`,
      { cause: error },
    );
  }
  if (error instanceof ApiError && error.code !== 'internal') return error;
  return new ApiError(
    'internal',
    `Cannot export ${what}: the file could not be written. Another format may do; the log of the service has the reason.`,
    { cause: error },
  );
}

async function writeText(
  engine: Pick<Engine, 'results'>,
  queryId: string,
  path: string,
  format: 'csv' | 'jsonl',
  signal: AbortSignal,
  onRows: (written: number) => void,
): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    for (let offset = 0; ; ) {
      const page = await engine.results.read(
        queryId,
        { offset, limit: PAGE_ROWS, hasBigints: format === 'jsonl' },
        signal,
      );
      const names = page.columns.map(({ name }) => name);
      const lines = page.rows.map((row) => (format === 'csv' ? csvLine(row) : jsonLine(names, row)));
      if (offset === 0 && format === 'csv') lines.unshift(csvLine(names));
      // One awaited write per page, so that no text waits in memory.
      // Not `write`: that may write less than it was given, and says so only in its result.
      if (lines.length > 0) await handle.appendFile(`${lines.join('\n')}\n`);
      offset += page.rows.length;
      onRows(offset);
      if (offset >= page.total) return;
      if (page.rows.length === 0)
        throw new ApiError('resource_exceeded', 'A row of the result is too large to export.');
    }
  } finally {
    await handle.close();
  }
}
