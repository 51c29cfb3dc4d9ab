import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import type { ExportTarget } from '../../mcp/means.ts';
import { type AllowedFolders, isInside, real, rootsOf, shown } from '../files/file-access.ts';
import { requireFree, writeNewFile } from './new-file.ts';

/**
 * A new file in one of the folders that exports may be written to. Links must not lead out of them, hidden names are
 * refused, folders are not made, and nothing that exists is replaced, whatever it is: the file comes under a name of its
 * own, and gets the one asked for when it is whole. Rejects `invalid_input` or `already_exists`.
 */
export async function exportTarget(allowed: AllowedFolders, asked: string): Promise<ExportTarget> {
  const path = await place(allowed, asked);
  await requireFree(path).catch(withFolders(allowed));
  return {
    path,
    async write(source, options) {
      // A folder on the way may have been replaced since.
      if ((await place(allowed, asked)) !== path) throw outside(allowed, asked);
      return writeNewFile(path, source, options).catch(withFolders(allowed));
    },
  };
}

async function place(allowed: AllowedFolders, asked: string): Promise<string> {
  const roots = rootsOf(allowed);
  const candidates = isAbsolute(asked) ? [resolve(asked)] : allowed.folders.map((folder) => resolve(folder, asked));
  const isNamed = !/[\\/]$/.test(asked) && !/(?:^|[\\/])\.\.?$/.test(asked);
  for (const candidate of isNamed ? candidates : []) {
    const folder = await realpath(dirname(candidate)).catch(() => undefined);
    if (folder === undefined) continue;
    const path = join(folder, basename(candidate));
    if (isInside(real(allowed.dataDir) ?? allowed.dataDir, path)) continue;
    if (roots.some((root) => isInside(root, folder) && !isHidden(relative(root, path)))) return path;
  }
  throw outside(allowed, asked);
}

function isHidden(path: string): boolean {
  return path === '' || path.split(sep).some((name) => name.startsWith('.'));
}

/** What is wrong with a place, with those that there are. */
function withFolders({ folders }: AllowedFolders): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || !/^(?:invalid_input|already_exists|storage_full)$/.test(error.code))
      throw error;
    const { code, message, details } = error;
    throw new ApiError(code, `${message} This server may write to ${folders.join(', ')}.`, {
      ...details,
      cause: error,
    });
  };
}

/** Nothing is revealed about a path outside, not even whether it exists. */
function outside({ folders }: AllowedFolders, asked: string): ApiError {
  return new ApiError(
    'invalid_input',
    `Cannot write ${shown(asked)}: it is no file in an existing folder that this server may write to (${folders.join(', ')}), or it is hidden. The operator sets these folders with --export-dirs.`,
  );
}
