import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClient } from '../../src/http/client.ts';
import { probe } from '../../src/local/probe.ts';
import { longTest } from '../long.ts';

const BIN = resolve(import.meta.dirname, '../../dist/colloquy.js');

let base = '';
let dataDir = '';
const children = new Set<ChildProcess>();

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: base, COLLOQUY_DATA_DIR: dataDir, COLLOQUY_THREADS: '1', ...env },
    stdio: 'pipe',
  });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

async function run(args: string[], env: Record<string, string> = {}, input = '') {
  const child = start(args, env);
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk;
  });
  child.stdin?.end(input);
  const [code] = await once(child, 'close');
  return { code, ...output };
}

/** What a child process has printed, as soon as that matches. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += chunk;
    if (pattern.test(text)) return text;
  }
  throw new Error(`the output ended without ${pattern}: ${text}`);
}

const socketPath = () => join(dataDir, 'service.sock');
const servicePid = async () => {
  const found = await probe(socketPath());
  return found.state === 'ready' ? found.pid : undefined;
};

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-cli-')));
  dataDir = join(base, 'data');
});

afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    // Not before the service, too, has ended, which that process had started.
    await once(child, 'close');
  }
  const pid = await servicePid();
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

describe('colloquy', () => {
  test('prints its version and leaves the data folder alone', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(existsSync(dataDir)).toBe(false);
  });

  test.each([
    [['--nonsense'], {}, /unknown option/],
    [['sreve'], {}, /Did you mean "serve"/],
    [[], { COLLOQUY_IDLE_SECS: 'x' }, /COLLOQUY_IDLE_SECS/],
    [[], { COLLOQUY_URL: 'https://example.com' }, /COLLOQUY_API_KEY is not/],
  ])('%j with %j exits with 2', async (args, env, why) => {
    expect(await run(args, env as Record<string, string>)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(why),
    });
  });

  test('answers a handshake on stdout alone, starts no service, and ends with its input', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const child = start([]);
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const text = await printed(child, /\n/);
    expect(JSON.parse(text)).toMatchObject({ id: 1, result: { serverInfo: { name: 'colloquy' } } });
    child.stdin?.end();
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('colloquy call', () => {
  test('prints the answer as JSON, of a service that it starts', async () => {
    const made = await run(['call', 'create_workspace', '{"name":"shop"}']);
    expect(made).toMatchObject({ code: 0 });
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'shop' });
    const listed = await run(['call', 'list_workspaces']);
    expect(listed.stdout).toContain('"shop"');
    expect(await servicePid()).toBeGreaterThan(0);
  });

  longTest(
    'ten at a time use one service',
    async () => {
      const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
      const done = await Promise.all(names.map((name) => run(['call', 'create_workspace', JSON.stringify({ name })])));
      expect(done.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(names.map(() => 0));
      const { stdout } = await run(['call', 'list_workspaces']);
      for (const name of names) expect(stdout).toContain(`"${name}"`);
      expect(readFileSync(join(dataDir, 'service.log'), 'utf8').match(/the service is ready/g)).toHaveLength(1);
      expect(readdirSync(dataDir)).not.toContain('spawn.lock');
    },
    60_000,
  );

  test('starts a new service after one was killed, with everything that was written', async () => {
    await run(['call', 'create_workspace', '{"name":"kept"}']);
    const pid = await servicePid();
    process.kill(pid ?? 0, 'SIGKILL');
    expect(await run(['call', 'list_workspaces'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"kept"'),
    });
    expect(await servicePid()).not.toBe(pid);
  });

  test('refuses to delete without a terminal', async () => {
    await run(['call', 'create_workspace', '{"name":"shop"}']);
    const refused = await run(['call', 'delete_workspace', '{"workspace":"shop"}'], {}, 'y\nshop\n');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/not confirmed[\s\S]*--guard=off/) });
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'declined' } });
    expect((await run(['call', 'list_workspaces'])).stdout).toContain('"shop"');
  });

  test.each([
    [['--guard=off'], {}],
    [[], { COLLOQUY_GUARD: 'off' }],
  ])('with %j and %j it deletes without a question', async (flags, env) => {
    await run(['call', 'create_workspace', '{"name":"shop"}']);
    const call = ['call', 'delete_workspace', '{"workspace":"shop"}', ...flags];
    expect(await run(call, env as Record<string, string>)).toMatchObject({ code: 0 });
    expect((await run(['call', 'list_workspaces'])).stdout).not.toContain('"shop"');
  });

  test('says on standard error that some documents were refused', async () => {
    await run(['call', 'create_collection', '{"workspace":"commons","name":"docs"}']);
    const data = [{ _id: 'a' }, { _id: 7 }, { _id: 'b' }];
    const args = JSON.stringify({ workspace: 'commons', collection: 'docs', data });
    const added = await run(['call', 'add_documents', args]);
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('1 of 3 documents was refused') });
    expect(JSON.parse(added.stdout)).toMatchObject({ counts: { ADDED: 2, ERROR: 1 } });
  });

  test('says which settings a running service does not heed', async () => {
    const settings = ['--rows-max', '5', '--query-timeout-ms=9000'];
    expect(await run(['call', 'list_workspaces', ...settings])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['call', 'list_workspaces', ...settings])).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await run(['call', 'list_workspaces', '--rows-max', '7', '--query-timeout-ms=9000'], {
      COLLOQUY_LOG_LEVEL: '',
    });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^colloquy: .*: --rows-max 7\. "colloquy stop".*\n$/)]);
  });

  test('shows a person no log lines of JSON', async () => {
    expect(await run(['call', 'list_workspaces'], { COLLOQUY_LOG_LEVEL: '' })).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    [['no_such_tool'], /it does not exist/],
    [['run_querry', '{}'], /did you mean "run_query"/],
    [['run_query', '{"query"'], /The arguments are not JSON/],
    [['run_query', '[]'], /no JSON object/],
    [['run_query', 'null'], /no JSON object/],
  ])('%j fails before a service is started', async (args, why) => {
    expect(await run(['call', ...args])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(why) });
    expect(existsSync(dataDir)).toBe(false);
  });

  test.each([
    [['run_query', '{"query":"SELEC 1"}'], /syntax error/i],
    [['get_workspace', '{"workspace":"nope"}'], /Workspace with name "nope" does not exist/],
    [['get_workspace', '{"workspce":"nope"}'], /did you mean "workspace"/],
  ])('%j prints its answer, and why to standard error', async (args, why) => {
    const { code, stdout, stderr } = await run(['call', ...args]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { tool: args[0] } });
  });

  test('says why the data folder cannot be used', async () => {
    const { code, stderr } = await run(['call', 'list_workspaces'], { COLLOQUY_DATA_DIR: BIN });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/Cannot use the data folder/)]);
  });
});

describe('colloquy call without a tool', () => {
  test('lists the tools with their arguments, without a service', async () => {
    const { code, stdout } = await run(['call']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^get_collection workspace collection\n {4}\S/m);
    expect(stdout).toMatch(/^run_query query \[/m);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('colloquy stop', () => {
  test('asks the local service to leave, and waits until it has', async () => {
    expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
    expect(await servicePid()).toEqual(expect.any(Number));
    expect(await run(['stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('has left') });
    expect(await servicePid()).toBeUndefined();
  });

  longTest(
    'ends a service that no longer knows the key of the folder, so that the next call makes a new one',
    async () => {
      expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
      writeFileSync(join(dataDir, 'admin.key'), 'not-the-key', { mode: 0o600 });
      expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 1 });
      expect(await run(['stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('has left') });
      expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
    },
  );

  test('leaves a service that somebody runs in the foreground, unless it is told to', async () => {
    const served = start(['serve']);
    await printed(served, /Ctrl-C/);
    const pid = await servicePid();
    expect(await run(['stop'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`process ${pid}.*Ctrl-C.*--force`)),
    });
    expect(await servicePid()).toBe(pid);
    const ended = once(served, 'close');
    expect(await run(['stop', '--force'])).toMatchObject({ code: 0, stdout: expect.stringContaining('has left') });
    expect(await ended).toEqual([0, null]);
    expect(await servicePid()).toBeUndefined();
  });

  test('says so where nothing runs, and makes no folder', async () => {
    expect(await run(['stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing serves') });
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('colloquy serve', () => {
  test('writes while as many queries run as may', async () => {
    const child = start(['serve']);
    await printed(child, /Ctrl-C/);
    const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
    const client = createClient({ target: { socketPath: socketPath() }, apiKey });
    await client.createCollection({ workspace: 'commons', name: 'c' });
    const query = 'SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range * b.range % 7 = 3';
    const stop = new AbortController();
    let ended = 0;
    const queries = Array.from({ length: 6 }, () =>
      client.runQuery({ sql: { query } }, { signal: stop.signal }).catch(() => {
        ended += 1;
      }),
    );
    // Several, so that the last ones certainly arrive after the queries have begun.
    for (let round = 0; round < 5; round++) {
      await client.addDocuments({ workspace: 'commons', collection: 'c', data: [{ round }] });
    }
    expect(ended).toBe(0);
    stop.abort();
    await Promise.all(queries);
    await client.close();
  });

  test('prints where it listens and where the key is, and serves both addresses', async () => {
    const child = start(['serve', '--port', '0']);
    const text = await printed(child, /Ctrl-C/);
    const key = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
    expect(text).toContain(socketPath());
    expect(text).toContain(join(dataDir, 'admin.key'));
    expect(text).not.toContain(key);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? '';
    for (const target of [{ url }, { socketPath: socketPath() }]) {
      const client = createClient({ target, apiKey: key });
      expect(await client.getCurrentUser({})).toMatchObject({ roles: ['admin'] });
      await client.close();
    }
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('closes cleanly on %s', async (signal) => {
    const child = start(['serve']);
    await printed(child, /Ctrl-C/);
    child.kill(signal);
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    expect(existsSync(socketPath())).toBe(false);
  });

  longTest('a second one on the same folder names the first', async () => {
    const first = start(['serve']);
    await printed(first, /Ctrl-C/);
    const pid = await servicePid();
    expect(await run(['serve'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`process ${pid} has it open`)),
    });
    expect(await run(['serve', '--local'])).toMatchObject({ code: 75, stdout: '' });
    expect(await servicePid()).toBe(pid);
  });

  test('says why it cannot listen', async () => {
    const first = start(['serve', '--port', '0']);
    const port = /:(\d+)\n/.exec(await printed(first, /Ctrl-C/))?.[1] ?? '';
    const second = await run(['serve', '--port', port], { COLLOQUY_DATA_DIR: join(base, 'other') });
    expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/EADDRINUSE/) });
  });
});
