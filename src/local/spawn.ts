import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readFile, stat, unlink } from 'node:fs/promises';
import { noteCrash } from './crash-note.ts';
import type { DataFolder } from './folder.ts';
import { boundLog } from './service-log.ts';

/** Exit code of a service that found the database held by another one. Not a failure: the other one serves. */
export const DATABASE_HELD_EXIT_CODE = 75;

/** Exit code of a service that could not start because the disk of its data folder is full. */
export const DISK_FULL_EXIT_CODE = 74;

const SPAWN_LOCK_AGE_MAX_MS = 30_000;
/** Time for a new lock's owner to write its process id. */
const EMPTY_LOCK_AGE_MAX_MS = 2_000;

export interface SpawnOptions {
  folder: DataFolder;
  /** The file that Node.js runs as `<bin> serve --local`. */
  bin: string;
  env: Readonly<Record<string, string>>;
  /** The one command that it is started for, as in `COMMAND_HEADER` (default: none). */
  command?: string | undefined;
}

/** A service that this process has started. */
export interface Spawned {
  pid: number | undefined;
  /** Its exit code or signal; undefined while it runs. */
  ended(): string | number | undefined;
}

/** Starts the service detached: it outlives this process and exits by itself. */
export async function spawnService({ folder, bin, env, command }: SpawnOptions): Promise<Spawned> {
  // Without space for a log, the service is started nevertheless.
  await boundLog(folder.logFile).catch(() => {});
  const log = await open(folder.logFile, 'a', 0o600).catch(() => undefined);
  let child: ChildProcess;
  let ended: string | number | undefined;
  try {
    child = spawn(
      process.execPath,
      [bin, 'serve', '--local', ...(command === undefined ? [] : ['--command', command])],
      {
        // Not the current folder, which somebody may want to unmount or delete.
        cwd: folder.path,
        detached: true,
        env: { ...env, COLLOQUY_DATA_DIR: folder.path },
        stdio: ['ignore', log?.fd ?? 'ignore', log?.fd ?? 'ignore'],
        windowsHide: true,
      },
    );
    child.once('error', (error) => {
      ended ??= error.message;
    });
    child.once('exit', (code, signal) => {
      ended ??= code ?? signal ?? 'unknown';
      noteCrash(folder.endNoteFile, child.pid, code, signal);
    });
    child.unref();
  } finally {
    await log?.close();
  }
  return { pid: child.pid, ended: () => ended };
}

/**
 * Claims the right to start the service; undefined if another live process has it.
 *
 * This only saves work: if ten processes started a service, one would remain, since the database can be opened only
 * once. So it does no harm if two processes take over an abandoned lock at the same time, or if none can be written (a
 * full disk), in which case the right is granted without it.
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
  // Nobody could tell a lock that stays empty from one about to be written.
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
    // Without a process id, it was either just created or abandoned by its owner.
    if (!Number.isInteger(pid) || pid <= 0) return ageMs > EMPTY_LOCK_AGE_MAX_MS;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
