import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { COMMAND_HEADER } from '../contract/command.ts';
import { ApiError, isOutOfSpace } from '../contract/errors.ts';
import { messageOf } from '../contract/text.ts';
import { type Client, createClient } from '../http/client.ts';
import { type DataFolder, openFolder } from './folder.ts';
import { askToLeave, probe, type Ready } from './probe.ts';
import { lastLines, logSize } from './service-log.ts';
import { DATABASE_HELD_EXIT_CODE, DISK_FULL_EXIT_CODE, type Spawned, spawnService, takeSpawnLock } from './spawn.ts';
import { isOutdated, type Program } from './version.ts';

export interface LocalOptions {
  dataDir: string;
  /** The file that Node.js runs as `<bin> serve --local` if nobody listens. */
  bin: string;
  /** This program; a running service that is older is asked to leave. */
  program: Program;
  /** The complete environment of the service, except for the data folder. */
  env: Readonly<Record<string, string>>;
  log: { info(details: object, message: string): void };
  /** Time for the service to become ready, in milliseconds (default 20,000). */
  readyTimeoutMs?: number | undefined;
  /** The client allows only reads (default false). */
  readOnly?: boolean | undefined;
  /** A command of its own: a service that is started for it leaves when it is done (default: it stays). */
  command?: string | undefined;
  /** Default time limit of a call, in milliseconds. */
  timeoutMs?: number | undefined;
}

const POLL_MS = 40;
const RESPAWN_MS = 250;
const RESPAWN_MAX_MS = 2_000;

/**
 * Connects to the shared service of a data folder, starting it if nobody listens.
 *
 * If the service goes away later, the client brings it back. A running service of an older version, or an earlier build
 * of the same one, is replaced, unless it was started with `serve`. A newer one is used as it is: readers of the
 * contract are tolerant, and two versions that replace each other would never stop. Rejects `connection_failed`, with
 * the service's last log lines if it could not start.
 */
export async function connectLocal(options: LocalOptions): Promise<Client> {
  const folder = await openFolder(options.dataDir);
  let apiKey = '';
  let running: Promise<void> | undefined;
  const ensure = (signal?: AbortSignal) => {
    // Calls that lose the service at the same time wait for the same new one; each may give up waiting on its own.
    running ??= bringUp(options)
      .then((key) => {
        apiKey = key;
      })
      .finally(() => {
        running = undefined;
      });
    return signal === undefined ? running : Promise.race([running, rejection(signal)]);
  };
  await ensure();
  return createClient({
    target: { socketPath: folder.socketPath },
    apiKey: () => apiKey,
    timeoutMs: options.timeoutMs,
    readOnly: options.readOnly,
    recover: ensure,
    ...(options.command === undefined ? {} : { headers: headersFor(options.command) }),
  });
}

function headersFor(command: string) {
  return () => ({ [COMMAND_HEADER]: command });
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** One attempt to get a ready service of a suitable version on the folder's socket; resolves to its admin key. */
async function bringUp(options: LocalOptions): Promise<string> {
  // Each time again: the folder may have been removed during a chat.
  const folder = await openFolder(options.dataDir);
  const state: Attempt = {
    options,
    folder,
    child: undefined,
    logFrom: await logSize(folder.logFile),
    release: undefined,
    spawnAt: 0,
    respawnMs: RESPAWN_MS,
  };
  const timeoutMs = options.readyTimeoutMs ?? 20_000;
  const endsAt = performance.now() + timeoutMs;
  try {
    for (;;) {
      const presence = await probe(folder.socketPath);
      if (presence.state === 'ready' && !(await outdated(state, presence))) return await readAdminKey(folder);
      if (presence.state === 'foreign') throw failed(folder, `something else listens there: ${presence.why}`);
      await lookAfterChild(state);
      if (presence.state === 'absent') await spawnIfFree(state);
      if (performance.now() > endsAt) {
        const lines = await lastLines(folder.logFile, state.logFrom);
        throw failed(folder, `it was not ready within ${timeoutMs} ms`, lines);
      }
      await delay(POLL_MS);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw failed(folder, isOutOfSpace(error) ? DISK_FULL : String(error));
  } finally {
    await state.release?.();
  }
}

interface Attempt {
  options: LocalOptions;
  folder: DataFolder;
  child: Spawned | undefined;
  /** Where this attempt's lines begin in the log, including those of all services that it starts. */
  logFrom: number;
  /** Releases the spawn lock. */
  release: (() => Promise<void>) | undefined;
  /** Earliest time to start a service, by `performance.now()`. */
  spawnAt: number;
  respawnMs: number;
}

/** Whether a ready service is too old; if so, it is asked to leave. */
async function outdated({ options, folder, child }: Attempt, found: Ready): Promise<boolean> {
  const { program } = options;
  if (!isOutdated(found, program)) return false;
  // The service just started is the only one there can be: an older program has been put in this one's place.
  if (found.pid === child?.pid) return false;
  const { version, build, pid } = found;
  const old = { running: { version, build }, service_pid: pid, wanted: program };
  if (found.isForeground) {
    options.log.info(old, 'an older service runs by "serve" and is used as it is');
    return false;
  }
  options.log.info(old, 'asking an older local service to leave');
  try {
    await askToLeave(folder.socketPath, await readAdminKey(folder));
  } catch (error) {
    const why = messageOf(error);
    throw failed(folder, `version ${version} runs (process ${pid}) and ${why}; end that process by hand`);
  }
  return true;
}

/** A child that found the database held lost to another service, or came before an old one was gone: try later. */
async function lookAfterChild(state: Attempt): Promise<void> {
  const ended = state.child?.ended();
  if (ended === undefined) return;
  if (ended !== DATABASE_HELD_EXIT_CODE && ended !== 0) {
    if (ended === DISK_FULL_EXIT_CODE) throw failed(state.folder, DISK_FULL);
    const lines = await lastLines(state.folder.logFile, state.logFrom);
    throw failed(
      state.folder,
      `it ended while it started (${typeof ended === 'number' ? `exit code ${ended}` : ended})`,
      lines,
    );
  }
  state.child = undefined;
  state.spawnAt = performance.now() + state.respawnMs;
  state.respawnMs = Math.min(state.respawnMs * 2, RESPAWN_MAX_MS);
}

async function spawnIfFree(state: Attempt): Promise<void> {
  const { options, folder } = state;
  if (state.child !== undefined || performance.now() < state.spawnAt) return;
  state.release ??= await takeSpawnLock(folder.spawnLockFile);
  if (state.release === undefined) return;
  state.child = await spawnService({ folder, bin: options.bin, env: options.env, command: options.command });
  options.log.info({ service_pid: state.child.pid, folder: folder.path }, 'started the local service');
}

async function readAdminKey(folder: DataFolder): Promise<string> {
  try {
    return (await readFile(folder.adminKeyFile, 'utf8')).trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw failed(
      folder,
      `its admin key "${folder.adminKeyFile}" cannot be read (${code}); if it was removed, "colloquy stop" makes the next service write a new one`,
    );
  }
}

const DISK_FULL = 'the disk of this data folder is full; free some space there and try again';

function failed(folder: DataFolder, why: string, lines: readonly string[] = []): ApiError {
  const log = lines.length === 0 ? '' : ` Its last log lines:\n${lines.map((line) => `  ${line}`).join('\n')}\n`;
  return new ApiError(
    'connection_failed',
    `Cannot use the local service of "${folder.path}": ${why}.${log} Its log is "${folder.logFile}".`,
  );
}
