import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal } from './format.ts';

/** A configuration file as it was read. */
export interface ConfigFile {
  /** The file itself, with symbolic links resolved. */
  path: string;
  /** Without a byte order mark; undefined if there is no file. */
  text: string | undefined;
  bytes: Buffer | undefined;
  hasMark: boolean;
  /** Its permissions, or those it will get. */
  mode: number;
  owner: { uid: number; gid: number } | undefined;
}

const BYTES_MAX = 32 * 1024 * 1024;
const MARK = '\uFEFF';
/** The setup of somebody's assistant is not for others to read. */
const MODE_NEW = 0o600;

/** Reads a configuration; throws `Refusal` unless it is an ordinary, writable text file in UTF-8. */
export async function readConfigFile(named: string): Promise<ConfigFile> {
  const link = await lstat(named).catch(refuseUnlessMissing);
  if (link === undefined) {
    return { path: named, text: undefined, bytes: undefined, hasMark: false, mode: MODE_NEW, owner: undefined };
  }
  const path = await realpath(named).catch(() => refuse('it is a link to a file that is not there'));
  const { mode, size, uid, gid, isPlain } = await stat(path).then((found) => ({ ...found, isPlain: found.isFile() }));
  if (!isPlain) refuse('it is no ordinary file');
  if (size > BYTES_MAX) refuse(`it is larger than ${BYTES_MAX / 2 ** 20} MB`);
  await access(path, constants.R_OK | constants.W_OK).catch(() => refuse('it may not be read and written'));
  const bytes = await readFile(path);
  const text = textOf(bytes);
  const hasMark = text.startsWith(MARK);
  return { path, text: hasMark ? text.slice(1) : text, bytes, hasMark, mode: mode & 0o777, owner: { uid, gid } };
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse('it is not written in UTF-8');
  }
}

/**
 * Replaces the text that was read, in one step, keeping the permissions. Throws `Refusal`, leaving the file as it is,
 * if it has changed since or cannot be written.
 */
export async function writeConfigFile(file: ConfigFile, text: string): Promise<void> {
  const content = Buffer.from(`${file.hasMark ? MARK : ''}${text}`);
  const temporary = `${file.path}.colloquy-${randomBytes(6).toString('hex')}`;
  try {
    await writeNew(temporary, content, file);
    await refuseChanged(file);
    await rename(temporary, file.path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw asRefusal(error, 'it cannot be written');
  }
}

/** Removes a file if it is still as it was read. */
export async function removeConfigFile(file: ConfigFile): Promise<void> {
  await refuseChanged(file);
  await unlink(file.path).catch((error) => {
    throw asRefusal(error, 'it cannot be removed');
  });
}

/**
 * Copies the file as it was read to `<file>.colloquy-<reason>-<time>` beside it; resolves to that path, or undefined if
 * there is no file.
 */
export async function backUp(
  file: ConfigFile,
  reason: 'backup' | 'undone' = 'backup',
  now = new Date(),
): Promise<string | undefined> {
  if (file.bytes === undefined) return undefined;
  const copy = `${copyStart(file.path, reason)}${now.toISOString().replace(/[-:.]/g, '')}`;
  try {
    await writeNew(copy, file.bytes, file);
  } catch (error) {
    throw asRefusal(error, 'no backup can be made beside it');
  }
  return copy;
}

/** How the names of all copies of a file for this reason begin. */
export function copyStart(path: string, reason: 'backup' | 'undone'): string {
  return join(dirname(path), `${basename(path)}.colloquy-${reason}-`);
}

async function writeNew(path: string, content: Uint8Array, { mode, owner }: ConfigFile): Promise<void> {
  const handle = await open(path, 'wx', mode);
  try {
    // The process's umask may have removed permissions.
    if (process.platform !== 'win32') await handle.chmod(mode);
    if (owner !== undefined && process.getuid !== undefined && process.getuid() !== owner.uid) {
      await handle.chown(owner.uid, owner.gid);
    }
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The assistant may be running, and write to the file as well. */
async function refuseChanged({ path, bytes }: ConfigFile): Promise<void> {
  const now = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined ? now !== undefined : now === undefined || !now.equals(bytes)) {
    refuse('it has just been changed by another program; run this again');
  }
}

function refuseUnlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw asRefusal(error, 'it cannot be read');
}

function refuse(why: string): never {
  throw new Refusal(why);
}

function asRefusal(error: unknown, what: string): Refusal {
  if (error instanceof Refusal) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return new Refusal(`${what} (${code})`);
}
