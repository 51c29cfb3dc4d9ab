import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, chmod, lstat, mkdir, readdir, realpath, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ApiError } from '../contract/errors.ts';

/** The layout of a data folder; all paths are absolute. */
export interface DataFolder {
  path: string;
  databaseFile: string;
  /** In the place of a database, where the data are in a lake. */
  nodeFile: string;
  /** Unix socket, or named pipe on Windows; in the folder itself unless its path would be too long. */
  socketPath: string;
  logFile: string;
  /** Contains the admin key; mode 0600, created by the service at its first start. */
  adminKeyFile: string;
  /** Contains the key that encrypts stored secrets; mode 0600, created by the service when it stores the first one. */
  secretKeyFile: string;
  spawnLockFile: string;
  /** What the service works on; outlives it unless it closes. */
  inFlightFile: string;
  /** What is known of the end of a service that did not close, until the next one reads it. */
  endNoteFile: string;
  /** Requests that ended a service, and are refused; for people to read and edit. */
  stoppedByFile: string;
}

const DATABASE = '_colloquy.duckdb';
const NODE = '_node.duckdb';
// The system's limits are 108 on Linux and 104 on macOS, with the final NUL.
const SOCKET_PATH_BYTES_MAX = 100;

function refuse(path: string, why: string, fix = 'Set COLLOQUY_DATA_DIR to a folder of your own.'): never {
  throw new ApiError('connection_failed', `Cannot use the data folder "${path}": ${why}. ${fix}`);
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known: Record<string, string> = {
    EACCES: 'access is denied',
    EPERM: 'access is denied',
    EROFS: 'the file system is read-only',
    ENOTDIR: 'a part of the path is no folder',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    ENAMETOOLONG: 'the path is too long',
    ENOENT: 'it does not exist and cannot be made',
  };
  return `${known[code] ?? 'it cannot be made or read'} (${code || String(error)})`;
}

/**
 * Creates the data folder if necessary (mode 0700), and checks that it belongs to this user and is writable. Throws
 * `connection_failed`, which says what is wrong with the folder.
 */
export async function openFolder(path: string): Promise<DataFolder> {
  try {
    await makeFolder(path);
    if (!(await stat(path)).isDirectory()) refuse(path, 'it is no folder');
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    refuse(path, reasonOf(error));
  }
  // A folder has one socket, whichever path leads to the folder.
  const real = await realpath(path);
  if (process.platform !== 'win32') await keepPrivate(real);
  return {
    path: real,
    databaseFile: join(real, DATABASE),
    nodeFile: join(real, NODE),
    socketPath: await socketPathFor(real),
    logFile: join(real, 'service.log'),
    adminKeyFile: join(real, 'admin.key'),
    secretKeyFile: join(real, 'secret.key'),
    spawnLockFile: join(real, 'spawn.lock'),
    inFlightFile: join(real, 'in-flight'),
    endNoteFile: join(real, 'ended.json'),
    stoppedByFile: join(real, 'stopped-by.json'),
  };
}

/** Node's own recursive mkdir never ends if the system always answers ENOENT, e.g. under /proc. */
async function makeFolder(path: string): Promise<void> {
  const make = () =>
    mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  try {
    await make();
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    await makeFolder(above);
    await make();
  }
}

async function keepPrivate(path: string): Promise<void> {
  const { uid, mode } = await stat(path);
  if (uid !== process.getuid?.()) refuse(path, 'it belongs to another user');
  if ((mode & 0o077) === 0) return;
  const names = await readdir(path);
  // A folder of the user with other things in it (a home, a project) is not ours to close.
  if (names.length > 0 && !names.includes(DATABASE)) {
    const shown = (mode & 0o777).toString(8);
    refuse(
      path,
      `other users may enter it (mode ${shown}) and it holds other files`,
      `Choose an empty folder for it, or chmod 700 it.`,
    );
  }
  await chmod(path, 0o700);
}

/**
 * From now on, what this process makes is closed to other users, also what the engine makes, which takes the mode that
 * the system gives it; and files of the folder that are open to others, from earlier versions or copied there, are closed.
 */
export async function closeToOthers({ path }: Pick<DataFolder, 'path'>): Promise<void> {
  if (process.platform === 'win32') return;
  process.umask(0o077);
  for (const name of await readdir(path)) {
    const file = join(path, name);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() === true && (found.mode & 0o077) !== 0) await chmod(file, 0o600);
  }
}

async function socketPathFor(path: string): Promise<string> {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 20);
  if (process.platform === 'win32') return `\\\\.\\pipe\\colloquy-${hash}`;
  const inside = join(path, 'service.sock');
  if (Buffer.byteLength(inside) <= SOCKET_PATH_BYTES_MAX) return inside;
  // Not TMPDIR if possible: two programs with different ones would look for the service in different places.
  const base = existsSync('/tmp') ? '/tmp' : tmpdir();
  const folder = join(base, `colloquy-${process.getuid?.() ?? 0}`);
  await openSocketFolder(folder);
  return join(folder, `${hash}.sock`);
}

/** Everybody may write to the parent folder, so this one must be ours, and not a link. */
async function openSocketFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    const { uid, mode } = await lstat(folder).then((found) => {
      if (!found.isDirectory()) refuse(folder, 'it is no folder', 'Remove it.');
      return found;
    });
    if (uid !== process.getuid?.()) refuse(folder, 'it belongs to another user', 'Use a shorter COLLOQUY_DATA_DIR.');
    if ((mode & 0o077) !== 0) await chmod(folder, 0o700);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    refuse(folder, reasonOf(error), 'Use a shorter COLLOQUY_DATA_DIR.');
  }
}

/** How the names of folders begin that a restore makes: for what it brings, and for what it moves aside. */
export const STAGED = 'restoring-';
export const ASIDE = 'before-restore-';

/**
 * Folders of restores that are under way or were killed. `aside`: where what was stored before is, moved so far. `isDone`:
 * nothing is left to put in its place, beside the database. One without `aside` is not: it may have just begun.
 */
export async function unfinishedRestores({ path, databaseFile }: Pick<DataFolder, 'path' | 'databaseFile'>) {
  const names = await readdir(path);
  const found = names.filter((one) => one.startsWith(STAGED));
  return Promise.all(
    found.map(async (staged) => {
      const aside = names.find((one) => one === staged.replace(STAGED, ASIDE));
      // A restore that ends at this moment removes it.
      const left = await readdir(join(path, staged)).catch(() => []);
      const isDone = aside !== undefined && left.length === 0 && existsSync(databaseFile);
      return { staged, aside, isDone };
    }),
  );
}

/**
 * Throws `internal` where a restore has moved what was stored aside and has not put all in its place: whoever opened
 * a database there would begin with an empty one, or with other keys. The empty folder of one that was killed later goes.
 */
export async function refuseHalfRestored(folder: Pick<DataFolder, 'path' | 'databaseFile'>): Promise<void> {
  const { path } = folder;
  for (const { staged, aside, isDone } of await unfinishedRestores(folder)) {
    if (isDone) await rmdir(join(path, staged)).catch(() => undefined);
    else if (aside !== undefined) {
      throw new ApiError(
        'internal',
        `Cannot serve the data folder "${path}": a restore is under way, or was killed, and has moved what was stored into "${aside}". If none runs, move those files back into the folder, remove "${staged}", and restore again.`,
      );
    }
  }
}

/** Throws `invalid_input` where a folder with a database is to be a node's of a lake, or the other way round. */
export function refuseOtherData({ path, databaseFile, nodeFile }: DataFolder, isNode: boolean): void {
  if (!existsSync(isNode ? databaseFile : nodeFile)) return;
  throw new ApiError(
    'invalid_input',
    isNode
      ? `Cannot serve a lake from the data folder "${path}": it has a database of its own, which nobody would see then. Give another with --data-dir.`
      : `Cannot serve the data folder "${path}" without --lake: it is that of a node of a lake. Start it as before, or give another with --data-dir.`,
  );
}
