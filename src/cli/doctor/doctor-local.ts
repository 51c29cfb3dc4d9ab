import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BUILD, VERSION } from '../../config.ts';
import { counted } from '../../contract/in-words.ts';
import { messageOf } from '../../contract/text.ts';
import { DEFAULT_FOLDERS } from '../../default-folders.ts';
import { type DataFolder, openFolder, unfinishedRestores } from '../../local/folder.ts';
import { probe, type Ready } from '../../local/probe.ts';
import { isOlder, isOutdated, type Program } from '../../local/version.ts';
import { heldOf, readStops, refusedOf } from '../../service/supervision/stopped-by.ts';
import type { Config } from '../../settings.ts';
import type { Finding } from './finding.ts';

const FREE_BYTES_LOW = 500 * 1024 * 1024;
/** The clocks of two machines that are synchronized differ by far less. */
const CLOCK_MS_MAX = 60_000;

/** Says what would happen to a data folder that does not exist; undefined for one that does. */
export async function absentFolder(path: string): Promise<Finding | undefined> {
  const name = 'data folder';
  const code = await stat(path).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (code !== 'ENOENT') return undefined;
  let above = dirname(path);
  while (!existsSync(above)) above = dirname(above);
  const detail = `${JSON.stringify(path)} does not exist, so that nothing is stored there and no service runs`;
  const mayMake = await access(above, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!mayMake) {
    const remedy = `Choose another with --data-dir: it cannot be made, since ${JSON.stringify(above)} cannot be written.`;
    return { name, state: 'fail', detail, remedy };
  }
  const then = 'the first call makes it and starts an empty service in it';
  if (path === DEFAULT_FOLDERS.data) return { name, state: 'ok', detail: `${detail}; ${then}` };
  return { name, state: 'warn', detail, remedy: `Correct --data-dir, unless it is to be new: ${then}.` };
}

/** Checks the folders that files may be read from, or written to; those that can be used become one finding each. */
export async function allowedFolders({
  allowDirs = [],
  exportDirs = [],
}: Partial<Pick<Config, 'allowDirs' | 'exportDirs'>>): Promise<Finding[]> {
  const read = { flag: '--allow-dirs', tool: 'load_file', does: 'read from', verb: 'read', mode: constants.R_OK };
  const write = { flag: '--export-dirs', tool: 'export_result', does: 'write to', verb: 'write', mode: constants.W_OK };
  return [...(await foldersFor(allowDirs, read)), ...(await foldersFor(exportDirs, write))];
}

type Use = Readonly<Record<'flag' | 'tool' | 'does' | 'verb', string>> & { mode: number };

async function foldersFor(folders: readonly string[], { flag, tool, does, verb, mode }: Use): Promise<Finding[]> {
  const name = 'files';
  const broken: Finding[] = [];
  for (const folder of folders) {
    const why = await whyUnusable(folder, mode);
    if (why === undefined) continue;
    const remedy = `Correct ${flag}: ${tool} can ${verb} nothing there.`;
    broken.push({ name, state: 'warn', detail: `the folder ${JSON.stringify(folder)} ${why}`, remedy });
  }
  const usable = folders.length - broken.length;
  if (usable === 0) return broken;
  return [{ name, state: 'ok', detail: `${tool} may ${does} ${counted(usable, 'folders')}` }, ...broken];
}

async function whyUnusable(folder: string, mode: number): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return 'is a file; name the folder that it lies in';
    await access(folder, mode | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT'
      ? 'does not exist'
      : `cannot be ${mode === constants.W_OK ? 'written to' : 'read'} (${code})`;
  }
}

/** Checks the data folder, its content, and who listens there; the folder is created if necessary. */
export async function localFindings(path: string): Promise<Finding[]> {
  let folder: DataFolder;
  try {
    folder = await openFolder(path);
  } catch (error) {
    const detail = messageOf(error);
    const remedy = 'Mend it, or choose another with --data-dir.';
    return [{ name: 'data folder', state: 'fail', detail, remedy }];
  }
  return [
    { name: 'data folder', state: 'ok', detail: `"${folder.path}", of this user alone and writable` },
    await permissions(folder),
    await socket(folder),
    await disk(folder),
    ...(await killedRestores(folder)),
    ...stops(folder),
  ];
}

/** Whether a service of the data folder answers. */
export async function isServed(path: string): Promise<boolean> {
  const { socketPath } = await openFolder(path);
  return (await probe(socketPath)).state === 'ready';
}

/** Names the folders of restores that are under way or were killed. */
async function killedRestores(folder: DataFolder): Promise<Finding[]> {
  const { path } = folder;
  const found = await unfinishedRestores(folder);
  return found.map(({ staged, aside, isDone }): Finding => {
    const detail = `a restore is under way, or was killed: ${JSON.stringify(join(path, staged))}`;
    const remedy = isDone
      ? 'Nothing is to be done: the folder is empty, and the next start of the service removes it.'
      : aside === undefined
        ? `If none runs, nothing was changed by it: rm -r ${JSON.stringify(join(path, staged))}`
        : `If none runs: what was stored is, in part or whole, in ${JSON.stringify(aside)}. Run "colloquy stop", move its files back into the data folder, and restore again.`;
    return { name: 'restore', state: 'warn', detail, remedy };
  });
}

/** Tells which requests ended the service, and are refused. */
function stops({ stoppedByFile }: DataFolder): Finding[] {
  const found = readStops(stoppedByFile);
  const refused = new Set(refusedOf(found).values());
  const last = [...refused].at(-1);
  if (last === undefined) return [];
  const { caller, sql, operation, at, why } = last;
  const whose = caller === null ? '' : `, with the key "${caller.keyName}" of ${caller.email}`;
  const what = sql === null ? operation : `${operation} ${JSON.stringify(sql)}`;
  const held = [...heldOf(found).values()].some((until) => until > Date.now()) ? '; a key is held back' : '';
  const detail = `${counted(refused.size, 'requests')} ended the service and are refused, the last (${why}) at ${at}: ${what}${whose}${held}`;
  const remedy = `All are in ${JSON.stringify(stoppedByFile)}. Remove one there to allow it again.`;
  return [{ name: 'requests', state: 'warn', detail, remedy }];
}

/** Whoever can read these files acts as the administrator, or knows the stored secrets. */
function permissions({ adminKeyFile, secretKeyFile }: DataFolder): Promise<Finding> {
  return readableByOthers([adminKeyFile, secretKeyFile]);
}

/** Checks the file with the key of another service: whoever can read it can use that key. */
export function keyFileFinding(apiKeyFile: string): Promise<Finding> {
  return readableByOthers([apiKeyFile]);
}

async function readableByOthers(files: readonly string[]): Promise<Finding> {
  const name = 'permissions';
  if (process.platform === 'win32') return { name, state: 'ok', detail: 'those of the folder; not looked into here' };
  const open: string[] = [];
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && (found.mode & 0o077) !== 0) open.push(file);
  }
  if (open.length === 0) return { name, state: 'ok', detail: 'key files can be read by this user alone' };
  const detail = `others may read ${open.map((file) => basename(file)).join(' and ')}`;
  const remedy = `chmod 600 ${open.map((file) => JSON.stringify(file)).join(' ')}`;
  return { name, state: 'warn', detail, remedy };
}

async function socket({ socketPath }: DataFolder): Promise<Finding> {
  const name = 'socket';
  const at = JSON.stringify(socketPath);
  const found = await probe(socketPath);
  switch (found.state) {
    case 'absent':
      return { name, state: 'ok', detail: `nobody listened at ${at}; the service starts with the first call` };
    case 'busy':
      return {
        name,
        state: 'warn',
        detail: `somebody listens at ${at} and is not ready`,
        remedy: 'It may be starting or leaving: wait a moment. If it stays so, read service.log in the data folder.',
      };
    case 'foreign':
      return {
        name,
        state: 'fail',
        detail: `another program listens at ${at}: ${found.why}`,
        remedy: 'End that program, or choose another folder with --data-dir.',
      };
    case 'ready':
      return skew(found, `process ${found.pid} listened at ${at}`);
  }
}

/** Compares a running service with this copy of the program. */
function skew(found: Ready, listened: string): Finding {
  const name = 'socket';
  const which = namedProgram(found, { version: VERSION, build: BUILD });
  if (isOutdated(found, { version: VERSION, build: BUILD })) {
    const detail = `${listened}, of ${which}, which is older than this copy`;
    if (!found.isForeground) return { name, state: 'ok', detail: `${detail} and is replaced at its first call` };
    const remedy = 'It was started by "colloquy serve" and stays: end that and start it anew, with this copy.';
    return { name, state: 'warn', detail, remedy };
  }
  if (!isOutdated({ version: VERSION, build: BUILD }, found)) return { name, state: 'ok', detail: listened };
  const detail = `${listened}, of the newer ${which}`;
  // Builds of one version differ only in fixes, if at all.
  if (!isOlder(VERSION, found.version)) return { name, state: 'ok', detail };
  const remedy = `This copy is ${VERSION}: update it, or run "colloquy stop" once no newer copy is used any more.`;
  return { name, state: 'warn', detail, remedy };
}

/** A program by its version and, if only that differs from this copy, its build. */
function namedProgram({ version, build }: Program, own: Program): string {
  if (version !== own.version) return `version ${version}`;
  return build === undefined ? `version ${version} without a build time` : `version ${version} built at ${build}`;
}

async function disk({ path }: DataFolder): Promise<Finding> {
  const name = 'disk';
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const detail = `${(free / 2 ** 30).toFixed(1)} GiB free for the data folder`;
  if (free >= FREE_BYTES_LOW) return { name, state: 'ok', detail };
  return { name, state: 'warn', detail, remedy: 'Free some space there: a full disk stops all writes.' };
}

/** Compares the service's clock, as it was just reported, with that of this machine; undefined if none was reported. */
export function clockFinding(
  told: string | null | undefined,
  before: string | null | undefined,
  now = Date.now(),
): Finding | undefined {
  const time = told == null ? Number.NaN : Date.parse(told);
  if (Number.isNaN(time)) return undefined;
  const name = 'clock';
  if (before != null) {
    const detail = `the service's has jumped ahead, from ${before} to ${told} or thereabouts, so nothing that has expired is removed for good`;
    const remedy =
      'If it is wrong, set it. If it is right, wait: after a day all is as usual. "colloquy doctor --clock-is-right", at the service\'s machine, ends that at once.';
    return { name, state: 'warn', detail, remedy };
  }
  const aheadSecs = Math.round((time - now) / 1_000);
  const detail = `the service's is ${Math.abs(aheadSecs)} s ${aheadSecs < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(time - now) <= CLOCK_MS_MAX) return { name, state: 'ok', detail };
  const remedy = 'Set the clock (switch on its synchronization): event times and what expires depend on it.';
  return { name, state: 'warn', detail, remedy };
}
