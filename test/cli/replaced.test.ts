import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const DIST = resolve(import.meta.dirname, '../../dist');
/** Chunks that a running server loads only some time after its first list. */
const LATER = ['later-handlers', 'resources', 'resource-state', 'docs', 'log', 'connect', 'service-settings'];

let base = '';
let copy = '';
const env = () => ({
  PATH: process.env['PATH'] ?? '',
  HOME: base,
  COLLOQUY_DATA_DIR: join(base, 'data'),
  COLLOQUY_THREADS: '1',
});
const run = (...args: string[]) => execFileSync(process.execPath, [join(DIST, 'colloquy.js'), ...args], { env: env() });

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-replaced-'));
  copy = join(base, 'dist');
  cpSync(DIST, copy, { recursive: true });
  for (const file of readdirSync(join(copy, 'chunks'))) {
    const name = LATER.find((later) => file.replace(/-[A-Z0-9]+\.js$/, '') === later);
    if (name !== undefined)
      appendFileSync(join(copy, 'chunks', file), `\nprocess.stderr.write('loaded ${name}\\n');\n`);
  }
});
afterAll(() => {
  run('stop');
  rmSync(base, { recursive: true, force: true });
});

/** A function that sends requests to a server over standard input and output. */
function asking({ stdin, stdout }: ChildProcessWithoutNullStreams) {
  const waiting = new Map<number, (answer: { result?: unknown; error?: unknown }) => void>();
  createInterface({ input: stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as { id?: number; result?: unknown; error?: unknown };
    waiting.get(answer.id ?? -1)?.(answer);
  });
  let count = 0;
  return (method: string, params: object = {}) => {
    const id = ++count;
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise<{ result?: unknown; error?: unknown }>((done) => waiting.set(id, done));
  };
}

test('a server whose files an update has taken away some time after its first list answers all the same', async () => {
  // Started beforehand: the service is a process of its own, and not what is tested here.
  run('call', 'list_workspaces', '{}');
  const server = spawn(process.execPath, [join(copy, 'colloquy.js')], { env: env() });
  let said = '';
  server.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  const ask = asking(server);
  const ended = new Promise((done) => server.on('exit', done));
  try {
    const clientInfo = { name: 'a test', version: '1' };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    await ask('tools/list');
    await vi.waitFor(() => expect(LATER.filter((name) => !said.includes(`loaded ${name}\n`))).toEqual([]), 30_000);
    rmSync(join(copy, 'chunks'), { recursive: true });
    const asked: [method: string, params?: object][] = [
      ['prompts/list'],
      ['resources/list'],
      ['resources/templates/list'],
      ['resources/read', { uri: 'colloquy://docs/sql' }],
      ['resources/subscribe', { uri: 'colloquy://workspaces' }],
      ['tools/call', { name: 'run_query', arguments: { query: 'SELECT 42 AS x' } }],
    ];
    for (const [method, params] of asked) {
      const answer = await ask(method, params);
      expect(answer, method).toMatchObject({ result: expect.anything() });
      expect(answer.result, method).not.toHaveProperty('isError', true);
    }
  } finally {
    server.stdin.end();
    await ended;
  }
});
