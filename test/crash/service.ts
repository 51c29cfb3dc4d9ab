import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../../src/http/client.ts';
import { probe } from '../../src/local/probe.ts';

const READY_MS = 120_000;
/** Little, so that the log is merged often: at a quarter of this. */
const MEMORY_MB = '224';

/** What each service is started with. */
export const SETTINGS = { COLLOQUY_LOG_LEVEL: 'warn', COLLOQUY_MEMORY_MB: MEMORY_MB };

export interface Served {
  child: ChildProcess;
  client: Client;
}

/** Starts the program on a data folder. */
export function run(bin: string, folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const own = { PATH: process.env['PATH'] ?? '', HOME: folder, COLLOQUY_DATA_DIR: folder, ...env };
  return spawn(process.execPath, [bin, ...args], { env: own, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Starts a service without waiting for it, and without the process that would start it again. */
export function spawnService(bin: string, folder: string, env: NodeJS.ProcessEnv = SETTINGS): ChildProcess {
  return run(bin, folder, ['serve', '--supervised', '0', '--mcp', 'off'], env);
}

export async function start(bin: string, folder: string, env: NodeJS.ProcessEnv = SETTINGS): Promise<Served> {
  const child = spawnService(bin, folder, env);
  const socketPath = join(folder, 'service.sock');
  for (const endsAt = performance.now() + READY_MS; ; await sleep(20)) {
    const found = await probe(socketPath);
    if (found.state === 'ready' && found.pid === child.pid) break;
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} while it started`);
    if (performance.now() > endsAt) throw new Error('the service does not get ready');
  }
  const apiKey = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
  return { child, client: createClient({ target: { socketPath }, apiKey }) };
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Restores a backup into an empty folder. */
export async function restore(bin: string, folder: string, backup: string): Promise<void> {
  const child = run(bin, folder, ['restore', '--yes', backup]);
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the backup ${backup} cannot be restored: exit code ${code}`);
}
