import { constants, realpathSync } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { nearest } from '../../contract/nearest.ts';
import { FILE_NOT_FOUND } from '../../mcp/tools/file.ts';

/** The folders that files may be read from. */
export interface AllowedFolders {
  folders: readonly string[];
  /** Never read from, wherever it is: it contains keys. */
  dataDir: string;
}

export interface AllowedFile {
  /** With symbolic links resolved. */
  path: string;
  bytes: number;
  handle: FileHandle;
}

/**
 * Opens a regular file in one of the folders: links must not lead out of them, a file must have no other name (hard
 * link), and hidden files and folders (names that begin with a dot) are not read. Rejects `invalid_input`, or `not_found` with similar names. Nothing is revealed about
 * a path outside, not even whether it exists.
 */
export async function openAllowed(allowed: AllowedFolders, asked: string): Promise<AllowedFile> {
  if (allowed.folders.length === 0) {
    const why = 'the operator allows no folder to read files from (--allow-dirs), only https URLs';
    throw new ApiError('invalid_input', `Cannot open the file ${shown(asked)}: ${why}.`);
  }
  const roots = rootsOf(allowed);
  const candidates = isAbsolute(asked) ? [resolve(asked)] : allowed.folders.map((folder) => resolve(folder, asked));
  let missing: string | undefined;
  for (const candidate of candidates) {
    if (allowed.folders.some((folder) => resolve(folder) === candidate))
      throw new ApiError('invalid_input', noFile(asked, 'it is a folder'));
    const parent = await realpath(dirname(candidate)).catch(() => undefined);
    if (parent === undefined || !roots.some((root) => isInside(root, parent))) continue;
    const path = await realpath(candidate).catch(() => undefined);
    if (path === undefined) {
      if (isReadable(allowed, roots, parent)) missing ??= await notFound(allowed, asked, parent);
    } else if (isReadable(allowed, roots, path)) return openRegular(asked, path);
  }
  if (missing !== undefined) throw new ApiError('not_found', missing, { messageKey: FILE_NOT_FOUND });
  throw new ApiError(
    'invalid_input',
    `Cannot open the file ${shown(asked)}: it is not below a folder that this server may read from (${allowed.folders.join(', ')}), or it is hidden. The operator sets these folders with --allow-dirs.`,
  );
}

/** The folders with this name, links resolved, that may be read: none if it is a file, or outside. */
export async function allowedFolders(allowed: AllowedFolders, asked: string): Promise<string[]> {
  const roots = rootsOf(allowed);
  const candidates = isAbsolute(asked) ? [asked] : allowed.folders.map((folder) => resolve(folder, asked));
  const found = await Promise.all(
    candidates.map(async (candidate) => {
      const path = await realpath(candidate).catch(() => undefined);
      if (path === undefined || !isReadable(allowed, roots, path)) return [];
      const isFolder = await stat(path).then(
        (one) => one.isDirectory(),
        () => false,
      );
      return isFolder ? [path] : [];
    }),
  );
  return [...new Set(found.flat())];
}

/** The folders that may be read from, links resolved. */
export function rootsOf({ folders }: AllowedFolders): string[] {
  return folders.flatMap((folder) => real(folder) ?? []);
}

function isReadable({ dataDir }: AllowedFolders, roots: readonly string[], path: string): boolean {
  if (isInside(real(dataDir) ?? dataDir, path)) return false;
  return roots.some((root) => isInside(root, path) && !isHidden(relative(root, path)));
}

function isHidden(path: string): boolean {
  return path.split(sep).some((name) => name.startsWith('.'));
}

export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

async function notFound({ folders }: AllowedFolders, asked: string, folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const close = nearest(
    basename(asked),
    names.filter((name) => !name.startsWith('.')),
  );
  const hint =
    close.length > 0
      ? `Did you mean ${close.map((name) => shown(join(dirname(asked), name))).join(' or ')}?`
      : `This server reads files below ${folders.join(', ')}.`;
  return `Cannot open the file ${shown(asked)}: it does not exist. ${hint}`;
}

async function openRegular(asked: string, path: string): Promise<AllowedFile> {
  // A link that has replaced the file by now is refused, and a pipe must not make this wait for a writer.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let handle: FileHandle;
  try {
    handle = await open(path, flags);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const message = `Cannot open the file ${shown(asked)}: the system does not let this server read it (${code}).`;
    throw new ApiError('invalid_input', message, { cause: error });
  }
  const found = await handle.stat();
  if (found.isFile() && found.nlink <= 1) return { path, bytes: found.size, handle };
  await handle.close();
  if (found.isFile()) throw new ApiError('invalid_input', hardLinked(asked, found.nlink));
  const what = found.isDirectory() ? 'it is a folder' : 'it is no regular file';
  throw new ApiError('invalid_input', noFile(asked, what));
}

/** Nothing tells whether the other names of a file lie in the allowed folders, or which of them is its own. */
function hardLinked(asked: string, links: number): string {
  return `Cannot open the file ${shown(asked)}: the same file has ${links} names (hard links), and the others may lie outside the folders that this server may read from. Copy it to a new file there, and name that one.`;
}

function noFile(asked: string, what: string): string {
  return `Cannot open the file ${shown(asked)}: ${what}. Name one file.`;
}

export function shown(path: string): string {
  return JSON.stringify(path.slice(0, 500));
}
