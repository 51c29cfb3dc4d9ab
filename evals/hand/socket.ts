import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../main.mjs', import.meta.url));
const LOADER = new URL('../../scripts/ts-loader.mjs', import.meta.url).href;
const START_MAX_MS = 120_000;
const LOOK_EVERY_MS = 100;

/** Where the process that holds the server listens; one for each name and user. */
export function placeOf(name: string) {
  const folder = join(tmpdir(), `colloquy-evals-hand-${userInfo().username}`);
  const pipe = `\\\\.\\pipe\\colloquy-evals-hand-${userInfo().username}-${name}`;
  const socket = process.platform === 'win32' ? pipe : join(folder, `${name}.sock`);
  return { folder, socket, log: join(folder, `${name}.log`) };
}

/** Sends a command to the process that holds the server. */
export async function tell(words: readonly string[], name: string): Promise<{ text: string; isError: boolean }> {
  const connection = createConnection(placeOf(name).socket);
  try {
    await once(connection, 'connect');
  } catch {
    throw new Error('nothing was started: npm run evals -- hand start');
  }
  connection.setEncoding('utf8').write(`${JSON.stringify(words)}\n`);
  let text = '';
  for await (const chunk of connection) text += chunk;
  if (text === '') throw new Error(`it has ended; its log is ${placeOf(name).log}`);
  return JSON.parse(text);
}

/** Starts the process that holds the server, and waits until it listens. `flags`: those of `hand hold`. */
export async function startHolding(flags: readonly string[], name: string): Promise<void> {
  const { folder, log } = placeOf(name);
  if (await isAnswering(name)) throw new Error('it is started already: npm run evals -- hand stop');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const out = openSync(log, 'w', 0o600);
  const args = ['--import', LOADER, MAIN, 'hand', 'hold', ...flags];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', out, out] });
  closeSync(out);
  child.unref();
  const until = Date.now() + START_MAX_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < until) {
    if (await isAnswering(name)) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  child.kill();
  throw new Error(`it did not start: ${existsSync(log) ? readFileSync(log, 'utf8').trim().slice(-2_000) : ''}`);
}

const isAnswering = (name: string) =>
  tell(['ping'], name).then(
    () => true,
    () => false,
  );
