import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BINARY } from './binary.ts';
import { serverEnvironment } from './session.ts';

/** A running `colloquy serve`. */
export interface Served {
  child: ChildProcess;
  /** URL of the API. */
  base: string;
  /** URL of MCP. */
  url: URL;
  /** The admin's key. */
  key: string;
  /** Stops it, and resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Starts `colloquy serve` on a free port of loopback, with further flags and variables. */
export async function startServe(
  dataDir: string,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const child = spawn(process.execPath, [BINARY, 'serve', '--port', '0', ...flags], {
    env: { ...serverEnvironment(dataDir), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  const base = await addressOf(child);
  const key = (await readFile(join(dataDir, 'admin.key'), 'utf8')).trim();
  async function stop(): Promise<number | null> {
    child.kill('SIGTERM');
    return ended;
  }
  return { child, base, url: new URL('/mcp', base), key, stop };
}

async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the process has no standard output');
  const lines = createInterface(child.stdout);
  for await (const line of lines) {
    const address = /^ {2}(https?:\S+)$/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('the service ended before it listened');
}
