import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import { syncFolder } from '../../service/backups/durable-files.ts';
import { shown } from '../files/file-access.ts';

export interface WriteOptions {
  gzip: boolean;
  /** A file that exists is replaced. */
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** A name may have 255 bytes; ours has more in it. */
const NAME_BYTES_MAX = 200;

/**
 * Writes a file, which appears under its name once it is whole and on the disk; returns its size. Rejects
 * `already_exists` if there is something of that name, unless it is a regular file and `force` is set.
 */
export async function writeNewFile(
  path: string,
  source: AsyncIterable<Buffer>,
  { gzip, force = false, signal }: WriteOptions,
): Promise<number> {
  try {
    await requireFree(path, force);
    await removeLeft(path);
    const part = join(dirname(path), `${partStart(path)}${process.pid}-${randomBytes(4).toString('hex')}.part`);
    try {
      const bytes = await fill(part, source, gzip, signal);
      await place(part, path, force);
      return bytes;
    } finally {
      await rm(part, { force: true });
    }
  } catch (error) {
    throw signal?.aborted === true && !(error instanceof ApiError) ? givenUp() : failure(path, error);
  }
}

/** Throws `already_exists` unless a file can be written under that name. */
export async function requireFree(path: string, force = false): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw failure(path, error);
    return undefined;
  });
  if (found === undefined || (force && found.isFile())) return;
  throw exists(path, found.isFile());
}

function exists(path: string, isFile: boolean): ApiError {
  const why = isFile ? 'a file of that name exists' : 'there is something of that name, which is no regular file';
  return new ApiError('already_exists', `Cannot write ${shown(path)}: ${why}. Choose another name.`);
}

async function fill(
  part: string,
  source: AsyncIterable<Buffer>,
  gzip: boolean,
  signal: AbortSignal | undefined,
): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(part, flags, 0o600);
  let failed: unknown;
  try {
    await pipeline(
      Readable.from(source, { objectMode: false }),
      gzip ? createGzip() : new PassThrough(),
      (data: AsyncIterable<Buffer>) =>
        writeFile(handle, data).catch((error: unknown) => {
          failed = error;
          throw error;
        }),
      signal === undefined ? {} : { signal },
    ).catch((error: unknown) => {
      // The pipeline says only that it was given up.
      throw failed ?? error;
    });
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

/** Gives the file its name: without `force`, only if nothing else has got it meanwhile. */
async function place(part: string, path: string, force: boolean): Promise<void> {
  if (force) {
    await requireFree(path, true);
    await rename(part, path);
  } else {
    await link(part, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw exists(path, true);
      // This kind of disk has no second names for a file.
      await requireFree(path);
      await rename(part, path);
    });
  }
  // Not every kind of disk can.
  await syncFolder(dirname(path)).catch(() => undefined);
}

function partStart(path: string): string {
  return `.${Buffer.from(basename(path))
    .subarray(0, NAME_BYTES_MAX)
    .toString('latin1')
    .replace(/[^\w.-]/g, '_')}.`;
}

/** Removes what processes that were killed have left of exports to this file. */
async function removeLeft(path: string): Promise<void> {
  const start = partStart(path);
  for (const name of await readdir(dirname(path))) {
    const [, pid] = name.startsWith(start)
      ? (/^(\d{1,10})-[0-9a-f]{8}\.part$/.exec(name.slice(start.length)) ?? [])
      : [];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(dirname(path), name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function givenUp(): ApiError {
  return new ApiError('aborted', 'The export was given up, and nothing was written.');
}

function failure(path: string, error: unknown): unknown {
  if (error instanceof ApiError) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown';
  if (isOutOfSpace(error)) {
    return new ApiError('storage_full', `Cannot write ${shown(path)}: the disk is full. Nothing is left of the file.`, {
      cause: error,
    });
  }
  const why =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? 'its folder does not exist'
      : 'the system does not let this process write there';
  return new ApiError('invalid_input', `Cannot write ${shown(path)}: ${why} (${code}).`, { cause: error });
}
