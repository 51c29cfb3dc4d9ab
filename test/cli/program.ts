import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Writable } from 'node:stream';
import { type Invocation, readInvocation } from '../../src/commands.ts';
import { runCommand } from '../../src/run-command.ts';
import { BINARY } from '../scenarios/binary.ts';

export type Variables = Readonly<Record<string, string>>;

/** What a program needs that keeps to these folders. */
export function variablesOf(home: string, dataDir: string) {
  return { PATH: process.env['PATH'] ?? '', HOME: home, COLLOQUY_DATA_DIR: dataDir, COLLOQUY_THREADS: '1' };
}

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program in a process of its own, without a terminal. */
export async function runProgram(args: readonly string[], env: Variables, input = ''): Promise<Outcome> {
  const child = spawn(process.execPath, [BINARY, ...args], { env, stdio: 'pipe' });
  child.stdin.on('error', () => {}).end(input);
  return outcomeOf(child);
}

const SCRIPT = '/usr/bin/script';
export const HAS_TERMINALS = process.platform === 'linux' && existsSync(SCRIPT);

/** Starts the program on a terminal of its own. */
export function startOnTerminal(args: readonly string[], env: Variables) {
  const words = [process.execPath, BINARY, ...args].map((word) => `'${word}'`).join(' ');
  return spawn(SCRIPT, ['-qec', words, '/dev/null'], { env, stdio: 'pipe' });
}

/** What a process prints, and how it ends. */
export async function outcomeOf(child: ReturnType<typeof startOnTerminal>): Promise<Outcome> {
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/**
 * Runs a command as `runProgram` does, but within this process, which saves its start. A service that it starts is a
 * process of its own. One at a time. Each command is also run by `runProgram`, or on a terminal, at least once.
 */
export async function runHere(args: readonly string[], env: Variables): Promise<Outcome> {
  const [stdout, stderr] = [new Captured(), new Captured()];
  const before = { ...process.env };
  const mask = process.umask(0o022);
  const streams = { stdout: process.stdout, stderr: process.stderr };
  const handlers = SIGNALS.map((name) => [name, process.listeners(name)] as const);
  try {
    setVariables(env);
    setStreams({ stdout, stderr });
    const code = await runCommand(hereOnly(readInvocation(args)), BINARY);
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    process.umask(mask);
    setStreams(streams);
    setVariables(before);
    for (const [name, own] of handlers) {
      for (const handler of process.listeners(name)) if (!own.includes(handler)) process.off(name, handler);
    }
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

class Captured extends Writable {
  text = '';
  override _write(chunk: unknown, _: unknown, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

/** In place: what asks the system for the home folder gets it from there. */
function setVariables(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
}

function setStreams(streams: { stdout: unknown; stderr: unknown }): void {
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(process, name, { value, configurable: true, enumerable: true });
  }
}

function hereOnly(invocation: Invocation): Invocation {
  const { command } = invocation;
  if (command !== 'stdio' && command !== 'serve' && command !== 'demo') return invocation;
  throw new Error(`"${command}" needs a process of its own`);
}
