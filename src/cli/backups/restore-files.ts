import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { VERSION } from '../../config.ts';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import { messageOf } from '../../contract/text.ts';
import { openEngine } from '../../engine/duckdb/open.ts';
import { holdDatabase } from '../../engine/duckdb/storage/hold.ts';
import { otherVersion } from '../../engine/duckdb/tables/stored-schema.ts';
import type { DataFolder } from '../../local/folder.ts';
import { probe } from '../../local/probe.ts';
import { takeSpawnLock } from '../../local/spawn.ts';
import {
  BACKUP_FORMAT,
  type BackupFile,
  type Counts,
  digestFile,
  KEY_FILES,
  MANIFEST,
  type Manifest,
  manifestText,
} from '../../service/backups/backup-files.ts';
import { syncFolder, writeDurably } from '../../service/backups/durable-files.ts';
import { openCatalog, SCHEMA_VERSION } from '../../service/catalog/catalog.ts';

/** Refuses a backup that this program cannot read. */
export function checkVersions({ version, stored_version: stored, metadata_version: metadata, files }: Manifest): void {
  if ((metadata ?? 0) > SCHEMA_VERSION) {
    throw new ApiError(
      'invalid_input',
      `Cannot restore this backup: version ${version} made it, whose metadata is newer than what this program (version ${VERSION}) knows. Install a newer colloquy.`,
    );
  }
  const why = stored === null ? undefined : otherVersion(stored);
  if (why !== undefined) {
    throw new ApiError('invalid_input', `Cannot restore this backup, which version ${version} made: ${why}`);
  }
  const database = files[0]?.name ?? '';
  const unknown = files.find(({ name }) => !name.startsWith(database) && !KEY_FILES.some((key) => key === name));
  if (unknown !== undefined) {
    throw new ApiError('invalid_input', `Cannot restore this backup: it names a file ${JSON.stringify(unknown.name)}.`);
  }
}

/** Throws `not_ready` if a service is running on the folder, or a process has its database open. */
export async function refuseWhileServed(folder: DataFolder): Promise<void> {
  const presence = await probe(folder.socketPath);
  if (presence.state === 'absent') return;
  const isReady = presence.state === 'ready';
  const who = isReady ? `a service (process ${presence.pid}) runs` : 'something listens';
  const how = isReady && presence.isForeground ? 'where "colloquy serve" was started' : 'with "colloquy stop"';
  throw new ApiError(
    'not_ready',
    `Cannot restore: ${who} on "${folder.path}". End it ${how} and close the chats that use it, then try again.`,
  );
}

/**
 * Copies a backup into `staging`, compares every file with its manifest, opens the result once and returns its counts.
 * Throws `invalid_input` for a damaged backup; the caller removes the folder.
 */
export async function stage(
  { from, manifest }: { from: string; manifest: Manifest },
  { staging, databaseFile }: { staging: string; databaseFile: string },
  onBytes: (done: number, total: number) => void,
): Promise<Counts> {
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const { bavail, bsize } = await statfs(staging);
  if (bavail * bsize < total) {
    throw new ApiError('storage_full', `Cannot restore: the backup needs ${total} bytes, and the disk has fewer.`);
  }
  const [database = ''] = manifest.files.map(({ name }) => name);
  let done = 0;
  for (const file of manifest.files) {
    const copyTo = join(staging, file.name.replace(database, basename(databaseFile)));
    const found = await digestFile(join(from, file.name), {
      copyTo,
      onBytes: (bytes) => {
        done += bytes;
        onBytes(done, total);
      },
    }).catch((error: unknown) => {
      throw fileError(file, error);
    });
    if (found.sha256 !== file.sha256 || found.bytes !== file.bytes) {
      const why = found.bytes === file.bytes ? 'its SHA-256 differs' : `it has ${found.bytes} bytes, not ${file.bytes}`;
      throw damaged(`its file ${JSON.stringify(file.name)} is not what was backed up (${why})`);
    }
  }
  return verify(join(staging, basename(databaseFile)), manifest);
}

/** Opens the database, which merges its log, and counts its content. */
async function verify(file: string, { counts }: Manifest): Promise<Counts> {
  const engine = await openEngine({ file }).catch((error: unknown) => {
    throw damaged(`it does not open: ${messageOf(error)}`);
  });
  try {
    openCatalog(engine);
    const found = await engine.counts();
    for (const what of ['collections', 'documents', 'records'] as const) {
      if (counts === null || counts[what] === found[what]) continue;
      throw damaged(`it holds ${found[what]} ${what}, not ${counts[what]}`);
    }
    return found;
  } finally {
    await engine.close();
  }
}

function damaged(why: string): ApiError {
  return new ApiError('invalid_input', `Cannot restore this backup: ${why}. Nothing was changed; use another backup.`);
}

function fileError({ name }: BackupFile, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return damaged(`its file ${JSON.stringify(name)} is missing`);
  if (!isOutOfSpace(error)) return error;
  return new ApiError('storage_full', 'Cannot restore: the disk of the data folder is full. Nothing was changed.');
}

/**
 * Moves what is stored into `aside`, and what is staged into its place; if that fails, everything is moved back.
 * Returns the files that were moved aside, the database first.
 */
export async function swap(folder: DataFolder, staging: string, aside: string): Promise<string[]> {
  const releaseSpawn = await takeSpawnLock(folder.spawnLockFile);
  const moved: { from: string; to: string }[] = [];
  const move = async (from: string, to: string) => {
    await rename(from, to);
    moved.push({ from, to });
  };
  try {
    if (releaseSpawn === undefined) {
      throw new ApiError('not_ready', `Cannot restore: a service is being started on "${folder.path}". Try again.`);
    }
    await refuseWhileServed(folder);
    const release = await holdDatabase(folder.databaseFile);
    try {
      const old = await storedFiles(folder);
      if (old.length > 0) await mkdir(aside, { mode: 0o700 });
      for (const name of old) await move(join(folder.path, name), join(aside, name));
      const staged = await readdir(staging, { withFileTypes: true });
      for (const { name } of staged.filter((one) => one.isFile())) {
        await move(join(staging, name), join(folder.path, name));
      }
      await syncFolder(folder.path);
      return old;
    } catch (error) {
      for (const { from, to } of moved.reverse()) await rename(to, from);
      throw error;
    } finally {
      release();
    }
  } finally {
    await releaseSpawn?.();
  }
}

/** The files that a restore replaces. */
async function storedFiles(folder: DataFolder): Promise<string[]> {
  const database = basename(folder.databaseFile);
  const names = await readdir(folder.path);
  const logs = names.filter((name) => name.startsWith(`${database}.`));
  const keys = [folder.adminKeyFile, folder.secretKeyFile].map((file) => basename(file));
  return [database, ...logs, ...keys].filter((name) => names.includes(name));
}

/** Turns the files that were moved aside into a backup, so that they can be restored like any other. */
export async function describeAside(aside: string, names: readonly string[]): Promise<void> {
  const files: BackupFile[] = [];
  for (const name of names) files.push(await digestFile(join(aside, name)));
  const manifest = {
    format: BACKUP_FORMAT,
    version: VERSION,
    created_at: new Date().toISOString(),
    stored_version: null,
    metadata_version: null,
    counts: null,
    files,
  };
  await writeDurably(join(aside, MANIFEST), manifestText(manifest));
}

export async function removeStaging(staging: string): Promise<void> {
  if (existsSync(staging)) await rm(staging, { recursive: true, force: true });
}
