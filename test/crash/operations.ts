import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import { holdDatabase } from '../../src/engine/duckdb/storage/hold.ts';
import type { Client } from '../../src/http/client.ts';
import { connectLocal } from '../../src/local/connect.ts';
import type { Random } from './load.ts';
import { kill, run, SETTINGS, type Served, start } from './service.ts';

const DATABASE = '_colloquy.duckdb';
const LEAVE_MS = 30_000;
const YEAR_MS = 365 * 86_400_000;
/** The shortest idle time that can be set. */
const IDLE_SECS = 1;

/** What an operator runs beside the load: `colloquy backup`, in a process of its own. */
export function spawnBackup(bin: string, folder: string, goal: string): ChildProcess {
  return run(bin, folder, ['backup', goal], SETTINGS);
}

/** Whether the command made its backup; it may have been cut off together with the service. */
export async function isMade(command: ChildProcess): Promise<boolean> {
  if (command.exitCode === null && command.signalCode === null) await once(command, 'exit');
  return command.exitCode === 0;
}

/** Waits until nobody has the database open: a service that a command has started for itself leaves after it. */
export async function isFree(folder: string): Promise<void> {
  for (const endsAt = performance.now() + LEAVE_MS; ; await sleep(100)) {
    const release = await holdDatabase(join(folder, DATABASE)).catch(() => undefined);
    if (release !== undefined) return release();
    if (performance.now() > endsAt) throw new Error('the service of a command that is done stays');
  }
}

/** A start with a clock that is a year ahead, which removes what has expired, and must remove nothing else. */
export async function startAhead(bin: string, folder: string, random: Random): Promise<void> {
  const ahead = `const now=Date.now;Date.now=()=>now()+${YEAR_MS};`;
  // It warns of the clock.
  const env = {
    ...SETTINGS,
    COLLOQUY_LOG_LEVEL: 'error',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
  };
  const served = await start(bin, folder, env);
  await sleep(random() * 500);
  await served.client.close();
  await kill(served.child);
}

/**
 * Runs `loads` on a local service, in whose place a `serve` is started meanwhile; before, `step` is called just when
 * the local service leaves for being idle. No call may fail. Resolves to the `serve`.
 */
export async function handOver(
  { bin, folder, random }: { bin: string; folder: string; random: Random },
  served: Served,
  calls: { step: (client: Client) => Promise<unknown>; loads: (client: Client) => { stop(): Promise<void> } },
): Promise<Served> {
  await served.client.close();
  served.child.kill('SIGTERM');
  await once(served.child, 'exit');
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ...SETTINGS, COLLOQUY_IDLE_SECS: String(IDLE_SECS) };
  const program = { version: '0.0.0' };
  const client = await connectLocal({ dataDir: folder, bin, program, env, log: { info() {} } });
  try {
    for (let call = 0; call < 2; call++) {
      await calls.step(client);
      // Leaving takes some milliseconds, at a time that varies.
      await sleep(IDLE_SECS * 1_000 - 5 + random() * 30);
    }
    const loads = calls.loads(client);
    await sleep(random() * 500);
    const next = await start(bin, folder);
    await sleep(random() * 500);
    await loads.stop();
    return next;
  } finally {
    await client.close();
  }
}

/** A copy of the database file alone must not open while there is a log. Returns what is wrong. */
export async function openAlone(folder: string, copy: string): Promise<string[]> {
  const log = statSync(join(folder, `${DATABASE}.wal`), { throwIfNoEntry: false })?.size ?? 0;
  // Killed between a merge and the next log.
  if (log === 0 || existsSync(join(folder, `${DATABASE}.merging`))) return [];
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  cpSync(join(folder, DATABASE), join(copy, DATABASE));
  const found = await openEngine({ file: join(copy, DATABASE) }).catch((error: Error) => error.message);
  if (typeof found !== 'string') await found.close();
  rmSync(copy, { recursive: true, force: true });
  if (typeof found === 'string' && /is missing or was cut/.test(found)) return [];
  return [`the database file without its log of ${log} bytes: ${typeof found === 'string' ? found : 'it opens'}`];
}
