import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../contract/errors.ts';
import { hasOpen } from '../../local/file-holder.ts';
import { type DataFolder, openFolder } from '../../local/folder.ts';
import { askToLeave, probe, type Ready } from '../../local/probe.ts';

const POLL_MS = 40;
/** Time for a service to make everything durable and exit. */
const END_MS = 15_000;

export interface LeaveOptions {
  /** Time for a service that was just started to begin listening, in milliseconds (default 5,000). */
  startMs?: number;
  /** Also end a service that was started with `serve` (default true). */
  force?: boolean;
}

/**
 * Asks the local service of a data folder to leave and waits until its process has ended, so that the folder can be
 * removed. Resolves to false if none is running. Rejects if it does not leave, or may not be ended without `force`.
 */
export async function leaveService(
  dataDir: string,
  { startMs = 5_000, force = true }: LeaveOptions = {},
): Promise<boolean> {
  if (!existsSync(dataDir)) return false;
  const folder = await openFolder(dataDir);
  // The log exists as soon as a service is started.
  if (startMs > 0 && !existsSync(folder.logFile)) return false;
  const found = await readyService(folder, startMs);
  if (found === undefined) return false;
  const { pid } = found;
  if (found.isForeground && !force) {
    throw new Error(
      `"${dataDir}" is served by "colloquy serve", process ${pid}, which somebody runs in the foreground. End it there: with Ctrl-C, or by what supervises it (for example systemctl stop). "colloquy stop --force" ends it all the same.`,
    );
  }
  await ask(folder, pid);
  const endsAt = performance.now() + END_MS;
  while (isRunning(pid)) {
    if (performance.now() > endsAt)
      throw new Error(`The local service of "${dataDir}" (process ${pid}) did not leave.`);
    await delay(POLL_MS);
  }
  return true;
}

/** Asks with the admin's key or, if that is lost or not accepted, by the signal that closes the service as cleanly. */
async function ask({ socketPath, adminKeyFile, databaseFile, nodeFile, path }: DataFolder, pid: number): Promise<void> {
  const adminKey = await readFile(adminKeyFile, 'utf8').catch(() => '');
  try {
    await askToLeave(socketPath, adminKey.trim());
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    // Whoever listens on the socket claims this process id: it may be any process or, in a container, another one here.
    if (!(await hasOpen(pid, databaseFile)) && !(await hasOpen(pid, nodeFile))) {
      throw new Error(
        `What listens for "${path}" does not take the folder's admin key, and process ${pid}, which it says it is, does not have the folder's database open as far as can be seen, so nothing was ended. Find out what serves the folder and end it there.`,
      );
    }
    process.kill(pid, 'SIGTERM');
  }
}

/** The service of the folder, once it can be talked to; undefined if it ended by itself. */
async function readyService(folder: DataFolder, startMs: number): Promise<Ready | undefined> {
  const endsAt = performance.now() + startMs;
  for (;;) {
    const presence = await probe(folder.socketPath);
    if (presence.state === 'ready') return presence;
    if (presence.state === 'foreign' || performance.now() > endsAt) return undefined;
    await delay(POLL_MS);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // In a container nobody may be responsible for reaping ended processes, which then seem alive for ever.
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state follows the command's name, which is in parentheses and may contain any character.
    return text.charAt(text.lastIndexOf(')') + 2) === 'Z';
  } catch {
    return false;
  }
}
