import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClient } from '../../src/http/client.ts';
import { probe } from '../../src/local/probe.ts';
import { longTest } from '../long.ts';
import { BINARY } from '../scenarios/binary.ts';
import { runHere, runProgram, type Variables, variablesOf } from './program.ts';

/** A folder of several tests, and a service on it. */
const shared = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-shared-')));
let base = '';
let dataDir = '';
const children = new Set<ChildProcess>();

const env = (more: Variables = {}) => ({ ...variablesOf(base, dataDir), ...more });
const run = (args: string[], more?: Variables) => runHere(args, env(more));
const runAlone = (args: string[], more?: Variables, input?: string) => runProgram(args, env(more), input);

function start(args: string[]): ChildProcess {
  const child = spawn(process.execPath, [BINARY, ...args], { env: env(), stdio: 'pipe' });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

/** What a child process has printed, as soon as that matches. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
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

/** Ends the processes that were started, and the service of the folder. */
async function end(): Promise<void> {
  for (const child of children) {
    child.kill('SIGKILL');
    // Not before the service, too, has ended, which that process had started.
    await once(child, 'close');
  }
  const pid = await servicePid();
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** Each test has a folder of its own. */
function ownFolders(): void {
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-cli-')));
    dataDir = join(base, 'data');
  });
  afterEach(async () => {
    await end();
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
}

/** The tests share a folder. */
function sharedFolder(name: string): void {
  beforeAll(() => {
    base = shared;
    dataDir = join(shared, name);
  });
  afterAll(end);
}
afterAll(() => rmSync(shared, { recursive: true, force: true, maxRetries: 5 }));

describe('colloquy', () => {
  ownFolders();

  test('prints its version and leaves the data folder alone', async () => {
    const stdout = expect.stringMatching(/^\d+\.\d+\.\d+\n$/);
    expect(await runAlone(['--version'])).toMatchObject({ code: 0, stdout });
    expect(existsSync(dataDir)).toBe(false);
  });

  test('exits with 2 for what it does not know', async () => {
    const stderr = expect.stringMatching(/unknown option/);
    expect(await runAlone(['--nonsense'])).toMatchObject({ code: 2, stdout: '', stderr });
  });

  test.each([
    [['sreve'], {}, /Did you mean "serve"/],
    [[], { COLLOQUY_IDLE_SECS: 'x' }, /COLLOQUY_IDLE_SECS/],
    [[], { COLLOQUY_URL: 'https://example.com' }, /COLLOQUY_API_KEY is not/],
  ])('%j with %j exits with 2', async (args, more, why) => {
    const stderr = expect.stringMatching(why);
    expect(await run(args, more as Variables)).toMatchObject({ code: 2, stdout: '', stderr });
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

describe('colloquy call, where no service runs,', () => {
  ownFolders();

  test.each([
    [['no_such_tool'], /it does not exist/],
    [['run_querry', '{}'], /did you mean "run_query"/],
    [['run_query', '{"query"'], /The arguments are not JSON/],
    [['run_query', '[]'], /no JSON object/],
    [['run_query', 'null'], /no JSON object/],
  ])('%j fails before one is started', async (args, why) => {
    expect(await run(['call', ...args])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(why) });
    expect(existsSync(dataDir)).toBe(false);
  });

  test('without a tool lists the tools with their arguments', async () => {
    const { code, stdout } = await run(['call']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^get_collection workspace collection\n {4}\S/m);
    expect(stdout).toMatch(/^run_query query \[/m);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('says why the data folder cannot be used', async () => {
    const { code, stderr } = await run(['call', 'list_workspaces'], { COLLOQUY_DATA_DIR: BINARY });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/Cannot use the data folder/)]);
  });

  test('says which settings a running service does not heed', async () => {
    const settings = ['--rows-max', '5', '--query-timeout-ms=9000'];
    expect(await run(['call', 'list_workspaces', ...settings])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['call', 'list_workspaces', ...settings])).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await run(['call', 'list_workspaces', '--rows-max', '7', '--query-timeout-ms=9000']);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^colloquy: .*: --rows-max 7\. "colloquy stop".*\n$/)]);
  });

  longTest('ten at a time use one service', { timeout: 60_000 }, async () => {
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    const call = (name: string) => runAlone(['call', 'create_workspace', JSON.stringify({ name })]);
    const done = await Promise.all(names.map(call));
    expect(done.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(names.map(() => 0));
    const { stdout } = await run(['call', 'list_workspaces']);
    for (const name of names) expect(stdout).toContain(`"${name}"`);
    expect(readFileSync(join(dataDir, 'service.log'), 'utf8').match(/the service is ready/g)).toHaveLength(1);
    expect(readdirSync(dataDir)).not.toContain('spawn.lock');
  });
});

describe('colloquy call', () => {
  sharedFolder('call');

  test('prints the answer as JSON, of a service that it starts, and no log lines', async () => {
    const made = await runAlone(['call', 'create_workspace', '{"name":"shop"}'], { COLLOQUY_LOG_LEVEL: '' });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'shop' });
    expect((await run(['call', 'list_workspaces'])).stdout).toContain('"shop"');
    expect(await servicePid()).toBeGreaterThan(0);
  });

  test('refuses to delete without a terminal', async () => {
    await run(['call', 'create_workspace', '{"name":"stays"}']);
    const refused = await runAlone(['call', 'delete_workspace', '{"workspace":"stays"}'], {}, 'y\nstays\n');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/nobody could be asked[\s\S]*--guard=off/),
    });
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'nobody' } });
    expect((await run(['call', 'list_workspaces'])).stdout).toContain('"stays"');
  });

  test.each([
    [['--guard=off'], {}],
    [[], { COLLOQUY_GUARD: 'off' }],
  ])('with %j and %j deletes without a question', async (flags, more) => {
    await run(['call', 'create_workspace', '{"name":"short-lived"}']);
    const call = ['call', 'delete_workspace', '{"workspace":"short-lived"}', ...flags];
    expect(await run(call, more as Variables)).toMatchObject({ code: 0 });
    expect((await run(['call', 'list_workspaces'])).stdout).not.toContain('"short-lived"');
  });

  test('says on standard error that some documents were refused', async () => {
    await run(['call', 'create_collection', '{"workspace":"commons","name":"docs"}']);
    const data = [{ _id: 'a' }, { _id: 7 }, { _id: 'b' }];
    const args = JSON.stringify({ workspace: 'commons', collection: 'docs', data });
    const added = await run(['call', 'add_documents', args]);
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('1 of 3 documents was refused') });
    expect(JSON.parse(added.stdout)).toMatchObject({ counts: { ADDED: 2, ERROR: 1 } });
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

  test('is refused by a service that no longer knows the key of the folder; once that is stopped, a new one makes a key', async () => {
    expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
    writeFileSync(join(dataDir, 'admin.key'), 'not-the-key', { mode: 0o600 });
    expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 1 });
    expect(await run(['stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('has left') });
    expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
  });
});

describe('colloquy stop', () => {
  sharedFolder('call');

  test('says so where nothing runs, and makes no folder', async () => {
    const nowhere = join(base, 'nowhere');
    const stdout = expect.stringContaining('Nothing serves');
    expect(await run(['stop', '--data-dir', nowhere])).toMatchObject({ code: 0, stdout });
    expect(existsSync(nowhere)).toBe(false);
  });

  test('asks the local service to leave, and waits until it has', async () => {
    expect(await run(['call', 'list_workspaces'])).toMatchObject({ code: 0 });
    expect(await servicePid()).toEqual(expect.any(Number));
    expect(await runAlone(['stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('has left') });
    expect(await servicePid()).toBeUndefined();
  });
});

describe('colloquy serve, once started,', () => {
  sharedFolder('serve');

  let served: ChildProcess;
  let welcome = '';
  let key = '';
  beforeAll(async () => {
    served = start(['serve', '--port', '0']);
    welcome = await printed(served, /Ctrl-C/);
    key = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  });

  test('prints where it listens and where the key is, and serves both addresses', async () => {
    expect(welcome).toContain(socketPath());
    expect(welcome).toContain(join(dataDir, 'admin.key'));
    expect(welcome).not.toContain(key);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(welcome)?.[0] ?? '';
    for (const target of [{ url }, { socketPath: socketPath() }]) {
      const client = createClient({ target, apiKey: key });
      expect(await client.getCurrentUser({})).toMatchObject({ roles: ['admin'] });
      await client.close();
    }
  });

  test('writes while as many queries run as may', async () => {
    const client = createClient({ target: { socketPath: socketPath() }, apiKey: key });
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

  test('leaves a folder to another one, and names it', async () => {
    const pid = await servicePid();
    expect(await runAlone(['serve'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`process ${pid} has it open`)),
    });
    expect(await runAlone(['serve', '--local'])).toMatchObject({ code: 75, stdout: '' });
    expect(await servicePid()).toBe(pid);
  });

  test('says why it cannot listen', async () => {
    const port = /:(\d+)\n/.exec(welcome)?.[1] ?? '';
    const second = await runAlone(['serve', '--port', port], { COLLOQUY_DATA_DIR: join(base, 'other') });
    expect(second).toMatchObject({ code: 1, stderr: expect.stringMatching(/EADDRINUSE/) });
  });

  test('that somebody kills comes back on its port, and blames nobody', async () => {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(welcome)?.[0] ?? '';
    const client = createClient({ target: { url }, apiKey: key });
    await client.createWorkspace({ name: 'kept' });
    const pid = await servicePid();
    process.kill(pid ?? 0, 'SIGKILL');
    await vi.waitFor(async () => {
      expect(await servicePid()).toEqual(expect.any(Number));
      expect(await servicePid()).not.toBe(pid);
    }, 30_000);
    expect(await client.getWorkspace({ workspace: 'kept' })).toMatchObject({ name: 'kept' });
    await client.close();
    expect(existsSync(join(dataDir, 'stopped-by.json'))).toBe(false);
  });
});

describe('colloquy serve', () => {
  sharedFolder('ended');

  test('is not ended by colloquy stop, unless that is told to', async () => {
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

  test.each(['SIGINT', 'SIGTERM'] as const)('closes cleanly on %s', async (signal) => {
    const child = start(['serve']);
    await printed(child, /Ctrl-C/);
    child.kill(signal);
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    expect(existsSync(socketPath())).toBe(false);
  });
});
