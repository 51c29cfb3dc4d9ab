import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readFile, stat, unlink } from 'node:fs/promises';
import type { DataFolder } from './folder.ts';
import { boundLog } from './service-log.ts';

/** Exit code of a service that found the database held by another one: no failure, somebody else won. */
export const DATABASE_HELD_EXIT_CODE = 75;

/** Exit code of a service that could not start because the disk of its data folder is full. */
export const DISK_FULL_EXIT_CODE = 74;

const SPAWN_LOCK_AGE_MAX_MS = 30_000;
/** Time for the owner of a new lock to write its number. */
const EMPTY_LOCK_AGE_MAX_MS = 2_000;

export interface SpawnOptions {
  folder: DataFolder;
  /** File that Node.js runs as `<bin> serve --local`. */
  bin: string;
  env: Readonly<Record<string, string>>;
}

/** A service that this process has started. */
export interface Spawned {
  pid: number | undefined;
  /** How it ended; undefined while it runs. */
  ended(): string | number | undefined;
}

/** Starts the service detached: it outlives this process and leaves by itself. */
export async function spawnService({ folder, bin, env }: SpawnOptions): Promise<Spawned> {
  // Where there is no space for a log, there is a service all the same.
  await boundLog(folder.logFile).catch(() => {});
  const log = await open(folder.logFile, 'a', 0o600).catch(() => undefined);
  let child: ChildProcess;
  let ended: string | number | undefined;
  try {
    child = spawn(process.execPath, [bin, 'serve', '--local'], {
      // A folder that somebody may want to unmount or delete is no place to stay in.
      cwd: folder.path,
      detached: true,
      env: { ...env, COLLOQUY_DATA_DIR: folder.path },
      stdio: ['ignore', log?.fd ?? 'ignore', log?.fd ?? 'ignore'],
      windowsHide: true,
    });
    child.once('error', (error) => {
      ended ??= error.message;
    });
    child.once('exit', (code, signal) => {
      ended ??= code ?? signal ?? 'unknown';
    });
    child.unref();
  } finally {
    await log?.close();
  }
  return { pid: child.pid, ended: () => ended };
}

/**
 * Takes the right to start the service; undefined: another live process has it.
 *
 * Only saves work: ten processes that all started a service would still end with one, since the database can be opened
 * once. So a lock that was left behind may be taken by two at the same time without harm, and where none can be written
 * (a full disk) the right is taken without it.
 */
export async function takeSpawnLock(file: string): Promise<(() => Promise<void>) | undefined> {
  if (await isLeftBehind(file)) await unlink(file).catch(() => {});
  const release = () => unlink(file).catch(() => {});
  let handle: FileHandle;
  try {
    handle = await open(file, 'wx', 0o600);
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    return isTaken ? undefined : async () => {};
  }
  // Nobody could tell an empty lock from one that is about to be written.
  await handle.writeFile(String(process.pid)).catch(release);
  await handle.close().catch(() => {});
  return release;
}

async function isLeftBehind(file: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(file);
    const ageMs = Math.abs(Date.now() - mtimeMs);
    if (ageMs > SPAWN_LOCK_AGE_MAX_MS) return true;
    const pid = Number(await readFile(file, 'utf8'));
    // Without its owner's number it was just made, or its owner could not go on.
    if (!Number.isInteger(pid) || pid <= 0) return ageMs > EMPTY_LOCK_AGE_MAX_MS;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
