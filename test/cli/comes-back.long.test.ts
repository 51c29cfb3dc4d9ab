import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ApiError } from '../../src/contract/errors.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { connectLocal } from '../../src/local/connect.ts';
import { probe } from '../../src/local/probe.ts';
import { BINARY, buildIfStale } from '../scenarios/binary.ts';

const [HANGING, UNSTOPPABLE] = ['hanging.mjs', 'unstoppable.mjs'].map(
  (file) => pathToFileURL(join(import.meta.dirname, file)).href,
);
const BACK_MS = 30_000;
const ENDLESS = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3';

let dataDir = '';
let served: ChildProcess | undefined;
/** Resolves when the process has ended, and the service with it, which holds the same pipes. */
let closed: Promise<unknown> = Promise.resolve();
let said = '';
const clients: Client[] = [];

beforeAll(buildIfStale);
beforeEach(() => {
  dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-back-')));
  said = '';
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  served?.kill('SIGKILL');
  await closed;
  const pid = await servicePid();
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

async function servicePid(): Promise<number | undefined> {
  const found = await probe(join(dataDir, 'service.sock'));
  return found.state === 'ready' ? found.pid : undefined;
}

function clientOf(target: { url: string } | { socketPath: string }, apiKey: string): Client {
  // One try: a test is to see what happened to it.
  const client = createClient({ target, apiKey, retry: { triesMax: 1 } });
  clients.push(client);
  return client;
}

/** Starts `serve` on a free port; the client has the administrator's key, on the socket. */
async function serve(flaw = HANGING): Promise<{ admin: Client; url: string; pid: number }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: dataDir,
    COLLOQUY_DATA_DIR: dataDir,
    COLLOQUY_THREADS: '1',
    NODE_OPTIONS: `--import ${flaw}`,
  };
  const child = spawn(process.execPath, [BINARY, 'serve', '--port', '0', '--mcp', 'off'], { env, stdio: 'pipe' });
  served = child;
  closed = once(child, 'close');
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  let url: string | undefined;
  for await (const chunk of child.stdout) {
    url ??= /http:\/\/127\.0\.0\.1:\d+/.exec(String(chunk))?.[0];
    if (url !== undefined) break;
  }
  child.stdout.resume();
  const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  const admin = clientOf({ socketPath: join(dataDir, 'service.sock') }, apiKey);
  return { admin, url: url ?? '', pid: (await servicePid()) ?? 0 };
}

async function memberOf(admin: Client, url: string): Promise<Client> {
  await admin.createUser({ email: 'm@example.org', roles: ['member'] });
  const { key } = await admin.createUserApiKey({ user: 'm@example.org', name: 'laptop' });
  return clientOf({ url }, key ?? '');
}

const failure = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error: ApiError) => error,
  );

const query = (client: Client, sql: string) => client.runQuery({ sql: { query: sql } });

/** Waits for another process than `pid` to serve. */
async function back(pid: number): Promise<number> {
  return vi.waitFor(
    async () => {
      const now = await servicePid();
      if (now === undefined || now === pid) throw new Error('the service is not back');
      return now;
    },
    { timeout: BACK_MS, interval: 50 },
  );
}

function stops(): Record<string, unknown>[] {
  return JSON.parse(readFileSync(join(dataDir, 'stopped-by.json'), 'utf8')).stops;
}

describe('colloquy serve', () => {
  test('that hangs ends, names the request, comes back on its port with what it had, and refuses that request', async () => {
    const { admin, url, pid } = await serve();
    await admin.createCollection({ workspace: 'commons', name: 'c' });
    await admin.addDocuments({ workspace: 'commons', collection: 'c', data: [{ _id: 'kept' }] });
    const member = await memberOf(admin, url);
    const sql = "SELECT 1 AS hang_in_gate, 'abc' AS word";
    expect(await failure(query(member, sql))).toMatchObject({ code: 'connection_failed' });
    await back(pid);
    expect(said).toMatch(/the service has not answered for 6 s, and works on .*It ends and starts again/);
    expect(said).toMatch(
      /"trace_id":"[-\w]+","operation":"runQuery","caller":\{"keyName":"laptop","email":"m@example.org"/,
    );
    expect(await query(member, 'SELECT _id FROM c')).toMatchObject({ results: [{ _id: 'kept' }] });
    const refused = await failure(query(member, sql));
    expect(refused).toMatchObject({ code: 'query_error', message: expect.stringMatching(/no longer answered/) });
    expect(stops()).toMatchObject([{ why: 'hung', isCause: true, sql, operation: 'runQuery' }]);
    // By whomever and however it is sent.
    const otherwise = { sql: { query: sql, default_row_limit: 5 } };
    expect(await failure(admin.runQuery(otherwise))).toMatchObject({ code: 'query_error' });
    expect(await failure(admin.validateQuery(otherwise))).toMatchObject({ code: 'query_error' });
    // The key does it again: it is held back, and nobody else.
    expect(await failure(query(member, 'SELECT hang_in_body'))).toMatchObject({ code: 'connection_failed' });
    await vi.waitFor(async () => expect(await servicePid()).toEqual(expect.any(Number)), BACK_MS);
    const held = await failure(query(member, 'SELECT 2'));
    expect(held).toMatchObject({ code: 'resource_exceeded', message: expect.stringMatching(/"laptop".*held back/) });
    expect(held.details.retryAfterMs).toBeGreaterThan(500_000);
    expect(await query(admin, 'SELECT 2 AS x')).toMatchObject({ results: [{ x: 2 }] });
    // Whoever operates the service decides.
    rmSync(join(dataDir, 'stopped-by.json'));
    expect(await query(member, 'SELECT 2 AS x')).toMatchObject({ results: [{ x: 2 }] });
    served?.kill('SIGTERM');
    expect(await once(served as ChildProcess, 'exit')).toEqual([0, null]);
    expect(existsSync(join(dataDir, 'in-flight'))).toBe(false);
  }, 120_000);

  test('whose engine crashes comes back, and refuses the statement that was alone in flight', async () => {
    const { admin, url, pid } = await serve();
    const running = failure(query(admin, ENDLESS));
    await delay(500);
    process.kill(pid, 'SIGSEGV');
    expect(await running).toMatchObject({ code: 'connection_failed' });
    await back(pid);
    expect(said).toMatch(/ended by SIGSEGV, and starts again/);
    expect(await failure(query(admin, ENDLESS))).toMatchObject({ message: expect.stringMatching(/process crashed/) });
    expect(stops()).toMatchObject([{ why: 'crashed', isCause: true, sql: ENDLESS }]);
    // The administrator's key does it again: it is held back, too, but not on this machine.
    const again = failure(query(admin, `${ENDLESS} `));
    await delay(500);
    const second = (await servicePid()) ?? 0;
    process.kill(second, 'SIGSEGV');
    await again;
    await back(second);
    expect(await query(admin, 'SELECT 1 AS x')).toMatchObject({ results: [{ x: 1 }] });
    const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
    expect(await failure(query(clientOf({ url }, apiKey), 'SELECT 1'))).toMatchObject({ code: 'resource_exceeded' });
  }, 90_000);

  test('in which a statement does not stop ends, and refuses that statement', async () => {
    const { admin, pid } = await serve(UNSTOPPABLE);
    const givenUp = AbortSignal.timeout(500);
    await failure(admin.runQuery({ sql: { query: ENDLESS } }, { signal: givenUp }));
    await back(pid);
    expect(said).toMatch(/was told to stop 1\d s ago and does not.* \{"trace_id":"[-\w]+","operation":"runQuery"/);
    expect(await failure(query(admin, ENDLESS))).toMatchObject({
      message: expect.stringMatching(/did not stop when told/),
    });
    expect(stops()).toMatchObject([{ why: 'stuck', isCause: true, sql: ENDLESS }]);
  }, 60_000);

  test('that somebody kills comes back, and blames nobody', async () => {
    const { admin, pid } = await serve();
    const running = failure(query(admin, ENDLESS));
    await delay(500);
    process.kill(pid, 'SIGKILL');
    await running;
    await back(pid);
    expect(existsSync(join(dataDir, 'stopped-by.json'))).toBe(false);
    expect(said).toMatch(/did not close/);
  }, 60_000);

  test('that is told to end does so, although a statement does not stop, and blames nobody', async () => {
    const { admin, pid } = await serve(UNSTOPPABLE);
    const running = failure(query(admin, ENDLESS));
    await delay(500);
    served?.kill('SIGTERM');
    await running;
    await closed;
    expect(said).toMatch(/was told to stop 1\d s ago and does not/);
    expect(existsSync(join(dataDir, 'ended.json'))).toBe(false);
    expect((await serve()).pid).not.toBe(pid);
    expect(existsSync(join(dataDir, 'stopped-by.json'))).toBe(false);
  }, 60_000);

  test('ends with the process that would start it again', async () => {
    const { pid } = await serve();
    served?.kill('SIGKILL');
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), 15_000);
    expect(existsSync(join(dataDir, 'service.sock'))).toBe(false);
  }, 60_000);

  test('that is suspended for longer than it may hang goes on afterwards', async () => {
    const { admin, pid } = await serve();
    process.kill(pid, 'SIGSTOP');
    await delay(8_000);
    process.kill(pid, 'SIGCONT');
    await delay(1_000);
    expect(await query(admin, 'SELECT 1 AS x')).toMatchObject({ results: [{ x: 1 }] });
    expect(await servicePid()).toBe(pid);
  }, 60_000);
});

test('a local service that hangs is there again for the next call, which is refused if it is the same', async () => {
  const bin = join(dataDir, 'colloquy.mjs');
  writeFileSync(bin, `import '${HANGING}';\nawait import('${pathToFileURL(BINARY).href}');\n`);
  const connect = () =>
    connectLocal({
      dataDir,
      bin,
      program: { version: '0.0.0', build: undefined },
      env: { PATH: process.env['PATH'] ?? '', HOME: dataDir, COLLOQUY_THREADS: '1' },
      log: { info() {} },
    });
  const client = await connect();
  clients.push(client);
  const sql = 'SELECT 1 AS hang_in_gate';
  // The client repeats what only reads, once it has brought the service back.
  expect(await failure(query(client, sql))).toMatchObject({
    code: 'query_error',
    message: expect.stringMatching(/ended the service .*no longer answered/),
  });
  expect(await query(client, 'SELECT 2 AS x')).toMatchObject({ results: [{ x: 2 }] });
  expect(readFileSync(join(dataDir, 'service.log'), 'utf8')).toMatch(/has not answered for 6 s/);
}, 60_000);
