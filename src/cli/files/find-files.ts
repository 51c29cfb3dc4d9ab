import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { fitsPath } from '../../contract/glob.ts';
import { someOf } from '../../contract/in-words.ts';
import { allowedUrl, isUrl } from '../../http/download.ts';
import {
  FILE_NOT_FOUND,
  FILES_MAX,
  type FileFormat,
  type FindFiles,
  type FoundFile,
  type FoundFiles,
} from '../../mcp/tools/file.ts';
import { formatByContent } from './content-format.ts';
import { type AllowedFolders, allowedFolders, isInside, openAllowed, real, rootsOf, shown } from './file-access.ts';
import { fileBytes } from './file-bytes.ts';
import { ALL_FORMATS, formatByName, isLeftBehind, mayBeText } from './formats.ts';
import { fileNameIn } from './url-file.ts';

/** Names that are looked at for one pattern. */
const NAMES_MAX = 50_000;
const NAMES_SHOWN = 5;

type Request = Parameters<FindFiles>[0];

/** The files that are asked for; see `FindFiles`. */
export async function findFiles(
  allowed: AllowedFolders & { hosts?: readonly string[] },
  { paths, format }: Request,
): Promise<FoundFiles> {
  const files = new Map<string, FoundFile>();
  const leftOut: string[] = [];
  const take = async (asked: string) => {
    const { path, bytes, format: found = format } = await looked(allowed, asked, format);
    if (!files.has(path)) files.set(path, { path, name: nameOf(allowed, path), bytes, format: found });
    if (files.size > FILES_MAX) throw tooMany(asked);
  };
  for (const asked of paths) {
    if (isUrl(asked)) {
      const url = allowedUrl(asked, allowed.hosts ?? []);
      const name = fileNameIn(url);
      files.set(asked, { path: asked, name, bytes: 0, format: format ?? formatByName(name) });
      if (files.size > FILES_MAX) throw tooMany(asked);
      continue;
    }
    const places = await placesOf(allowed, asked);
    if (places.length === 0) {
      await take(asked);
      continue;
    }
    let fitting = 0;
    const others: string[] = [];
    for (const place of places) {
      for (const path of await matchesIn(allowed, place, asked)) {
        if (!isLeftBehind(path) && (await hasFormat(allowed, path, format))) {
          fitting += 1;
          await take(path);
        } else others.push(nameOf(allowed, path));
      }
    }
    if (fitting === 0) throw await nothing(allowed, asked, places, others);
    leftOut.push(...others);
  }
  return { files: [...files.values()], leftOut };
}

/** A file, with the format that its name tells, or its content. */
async function looked(allowed: AllowedFolders, asked: string, given: FileFormat | undefined) {
  const { path, bytes, handle } = await openAllowed(allowed, asked);
  try {
    const named = given ?? formatByName(path);
    if (named !== undefined) return { path, bytes, format: named };
    const { head, isWhole } = await fileBytes(handle);
    return { path, bytes, format: formatByContent(head, isWhole) };
  } finally {
    await handle.close();
  }
}

/** Whether a file of a folder has a format: by its name, or if that says only that it may be text, by its content. */
async function hasFormat(allowed: AllowedFolders, path: string, given: FileFormat | undefined): Promise<boolean> {
  if (given !== undefined || formatByName(path) !== undefined) return true;
  if (!mayBeText(path)) return false;
  const { format } = await looked(allowed, path, undefined).catch(() => ({ format: undefined }));
  return format !== undefined;
}

interface Place {
  folder: string;
  /** The names below the folder, which `*` and `?` stand in; `**` stands for any number of folders. */
  steps: string[];
}

/** Where to look for the files of a folder or pattern; nowhere if it is a file, or outside. */
async function placesOf(allowed: AllowedFolders, asked: string): Promise<Place[]> {
  const folders = await allowedFolders(allowed, asked);
  if (folders.length > 0) return folders.map((folder) => ({ folder, steps: ['*'] }));
  const steps = asked.split(/[/\\]/).filter((step, index) => step !== '.' && (step !== '' || index === 0));
  const wild = steps.findIndex((step) => /[*?]/.test(step));
  if (wild < 0 || (await isFile(allowed, asked))) return [];
  const base = steps.slice(0, wild).join(sep) || (steps[0] === '' ? sep : '.');
  return (await allowedFolders(allowed, base)).map((folder) => ({ folder, steps: steps.slice(wild) }));
}

/** Whether a file has such a name: `*` may stand in one. */
async function isFile(allowed: AllowedFolders, asked: string): Promise<boolean> {
  try {
    await (await openAllowed(allowed, asked)).handle.close();
    return true;
  } catch {
    return false;
  }
}

/** The files of a place, sorted by name. Links to files are among them, links to folders are not followed. */
async function matchesIn({ dataDir }: AllowedFolders, { folder, steps }: Place, asked: string): Promise<string[]> {
  const found: string[] = [];
  const kept = real(dataDir) ?? dataDir;
  let names = 0;
  const walk = async (below: readonly string[]): Promise<void> => {
    for (const entry of await entriesOf(join(folder, ...below))) {
      names += 1;
      if (names > NAMES_MAX) throw tooMany(asked);
      const way = [...below, entry.name];
      const path = join(folder, ...way);
      if (entry.isDirectory()) {
        const isReached = steps.includes('**') || way.length < steps.length;
        if (isReached && !isInside(kept, path)) await walk(way);
      } else if (fitsPath(steps, way) && (await isFileOrLinkToOne(entry, path))) found.push(path);
    }
  };
  await walk([]);
  return found.sort();
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(({ name }) => !name.startsWith('.'));
}

/** A link that leads nowhere is taken for one to a file, and refused when that is opened. */
async function isFileOrLinkToOne(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  return stat(path).then(
    (target) => target.isFile(),
    () => true,
  );
}

function nameOf(allowed: AllowedFolders, path: string): string {
  const roots = rootsOf(allowed);
  const [only] = roots;
  return only !== undefined && roots.length === 1 ? relative(only, path) : path;
}

function tooMany(asked: string): ApiError {
  const most = FILES_MAX.toLocaleString('en-US');
  return new ApiError(
    'invalid_input',
    `Cannot load ${shown(asked)}: at most ${most} files are loaded with one call. Load one folder after the other, or narrow the pattern.`,
  );
}

async function nothing(
  allowed: AllowedFolders,
  asked: string,
  places: readonly Place[],
  others: readonly string[],
): Promise<ApiError> {
  if (others.length > 0) {
    return new ApiError(
      'invalid_input',
      `Cannot load ${shown(asked)}: the names of its files tell no format, nor does their content (${some(others)}). Give "format": ${ALL_FORMATS}.`,
    );
  }
  const there = await Promise.all(places.map(({ folder }) => entriesOf(folder).then((all) => [folder, all] as const)));
  const names = there.flatMap(([folder, all]) =>
    all.map((entry) => nameOf(allowed, join(folder, entry.name)) + (entry.isDirectory() ? sep : '')),
  );
  const hint = names.length > 0 ? ` There are ${some(names.sort())}.` : ' The folder is empty.';
  return new ApiError('not_found', `No file fits ${shown(asked)}.${hint}`, { messageKey: FILE_NOT_FOUND });
}

function some(names: readonly string[]): string {
  return someOf(names.map(shown), NAMES_SHOWN);
}
