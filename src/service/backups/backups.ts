import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Logger } from 'pino';
import type { Backup, RunningBackup } from '../../contract/backup.ts';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { SCHEMA_VERSION } from '../catalog/catalog.ts';
import {
  BACKUP_FORMAT,
  type BackupFile,
  digestFile,
  KEY_FILES,
  liveCounts,
  MANIFEST,
  type Manifest,
  manifestText,
} from './backup-files.ts';
import { syncFolder, writeDurably } from './durable-files.ts';

/** Makes backups while the service keeps running. */
export interface Backups {
  create(path: string, signal: AbortSignal): Promise<Backup>;
  running(): RunningBackup[];
}

export interface BackupSources {
  engine: Pick<Engine, 'copyTo'>;
  databaseFile: string;
  adminKeyFile: string;
  secretKeyFile: string;
  version: string;
  log: Logger;
}

/** Changes while a backup is being made. */
interface Progress {
  step: NonNullable<RunningBackup['step']>;
  done_bytes: number;
  total_bytes: number;
}

/**
 * Copies everything stored into a new folder. Throws `already_exists` and `invalid_input` for the path,
 * `storage_full` if the disk is full.
 */
export function createBackup(
  ctx: { backups: Backups; signal: AbortSignal },
  { path }: { path: string },
): Promise<Backup> {
  return ctx.backups.create(path, ctx.signal);
}

export function listRunningBackups(ctx: { backups: Backups; signal: AbortSignal }): RunningBackup[] {
  return ctx.backups.running();
}

export function createBackups(sources: BackupSources): Backups {
  const running = new Map<string, Progress>();

  /** Fills a folder under a temporary name, which is renamed when all of it is on the disk. */
  async function create(path: string, signal: AbortSignal): Promise<Backup> {
    await checkGoal(path, running);
    const progress: Progress = { step: 'wait', done_bytes: 0, total_bytes: 0 };
    running.set(path, progress);
    const partial = join(dirname(path), `.${basename(path)}.partial-${randomUUID().slice(0, 8)}`);
    try {
      await checkSpace(sources.databaseFile, path);
      await mkdir(partial, { mode: 0o700 });
      const manifest = await fill(sources, partial, progress, signal);
      await syncFolder(partial);
      // The folder may have been created meanwhile.
      if (existsSync(path)) throw goalExists(path);
      await rename(partial, path);
      await syncFolder(dirname(path));
      const counts = manifest.counts === null ? undefined : liveCounts(manifest.counts);
      sources.log.info({ path, bytes: bytesOf(manifest.files) }, 'a backup was made');
      return {
        path,
        created_at: manifest.created_at,
        bytes: bytesOf(manifest.files),
        files: manifest.files.map(({ name }) => name),
        collections: counts?.collections,
        documents: counts?.documents,
        trashed_documents: counts?.trashedDocuments,
      };
    } catch (error) {
      await rm(partial, { recursive: true, force: true }).catch((cause: unknown) =>
        sources.log.warn({ err: cause, path: partial }, 'a part of a backup could not be removed'),
      );
      throw signal.aborted
        ? new ApiError('aborted', `The backup ${JSON.stringify(path)} was given up.`)
        : backupError(path, error);
    } finally {
      running.delete(path);
    }
  }

  return {
    create,
    running: () => Array.from(running, ([path, progress]) => ({ path, ...progress })),
  };
}

async function fill(
  { engine, adminKeyFile, secretKeyFile, version }: BackupSources,
  folder: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Manifest> {
  const copy = await engine.copyTo(folder, {
    signal,
    onBytes: (done, total) => Object.assign(progress, { step: 'copy', done_bytes: done, total_bytes: total }),
  });
  const createdAt = new Date().toISOString();
  progress.step = 'check';
  progress.done_bytes = 0;
  const onBytes = (bytes: number) => {
    progress.done_bytes += bytes;
  };
  const files: BackupFile[] = [];
  for (const name of copy.files) files.push(await digestFile(join(folder, name), { signal, onBytes }));
  // After the database: a secret is stored only once its key is, so the key of every copied secret is copied, too.
  for (const [index, source] of [adminKeyFile, secretKeyFile].entries()) {
    const name = KEY_FILES[index] ?? basename(source);
    if (existsSync(source)) files.push({ ...(await digestFile(source, { copyTo: join(folder, name) })), name });
  }
  const manifest = {
    format: BACKUP_FORMAT,
    version,
    created_at: createdAt,
    stored_version: copy.storedVersion,
    metadata_version: SCHEMA_VERSION,
    counts: copy.counts,
    files,
  };
  await writeDurably(join(folder, MANIFEST), manifestText(manifest));
  return manifest;
}

async function checkGoal(path: string, running: ReadonlyMap<string, unknown>): Promise<void> {
  if (!isAbsolute(path)) {
    throw new ApiError('invalid_input', `Cannot make the backup ${JSON.stringify(path)}: its path is not absolute.`);
  }
  if (running.has(path) || existsSync(path)) throw goalExists(path);
  const above = dirname(path);
  const found = await stat(above).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new ApiError(
      'invalid_input',
      `Cannot make the backup ${JSON.stringify(path)}: there is no folder ${JSON.stringify(above)}. Make it first.`,
    );
  }
}

/** Refuses before anything is written: the backup may be on the disk that the service itself needs. */
async function checkSpace(databaseFile: string, path: string): Promise<void> {
  const sizes = await Promise.all(
    [databaseFile, `${databaseFile}.wal`].map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const needed = sizes.reduce((sum, size) => sum + size, 0);
  const { bavail, bsize } = await statfs(dirname(path));
  if (bavail * bsize >= needed) return;
  const [has, wants] = [bavail * bsize, needed].map((bytes) => `${Math.ceil(bytes / 1_000_000)} MB`);
  throw new ApiError(
    'storage_full',
    `Cannot make the backup ${JSON.stringify(path)}: it needs ${wants}, and the disk has ${has}. Nothing was written. Free some space, or choose another disk.`,
  );
}

function goalExists(path: string): ApiError {
  return new ApiError(
    'already_exists',
    `Cannot make the backup ${JSON.stringify(path)}: it exists. Choose another name; nothing is ever overwritten.`,
  );
}

function backupError(path: string, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const what = `Cannot make the backup ${JSON.stringify(path)}`;
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException;
  if (isOutOfSpace(error)) {
    return new ApiError(
      'storage_full',
      `${what}: the disk is full. What was copied is removed again; the service goes on.`,
      { cause: error },
    );
  }
  if (/^(EACCES|EPERM|EROFS)$/.test(code)) {
    return new ApiError('invalid_input', `${what}: its folder cannot be written (${code}). Choose another one.`, {
      cause: error,
    });
  }
  return new ApiError('internal', `${what}: ${message}.`, { cause: error });
}

function bytesOf(files: readonly BackupFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
