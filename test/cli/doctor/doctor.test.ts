import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as McpClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clockFinding, localFindings } from '../../../src/cli/doctor/doctor-local.ts';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { createClient } from '../../../src/http/client.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { BINARY } from '../../scenarios/binary.ts';
import { runHere, runProgram, variablesOf } from '../program.ts';

let base = '';
let dataDir = '';
const environment = (env: Record<string, string> = {}) => ({ ...variablesOf(base, dataDir), ...env });
const run = (args: string[], env: Record<string, string> = {}) => runHere(args, environment(env));

/** What `doctor --json` finds: the states by name, and the hidden tools. */
async function diagnosis(args: string[] = [], env: Record<string, string> = {}, by = runHere) {
  const { code, stdout } = await by(['doctor', '--json', ...args], environment(env));
  const { ok, findings, hidden } = JSON.parse(stdout) as {
    ok: boolean;
    findings: { name: string; state: string; detail: string; remedy?: string }[];
    hidden: { tool: string; by: string; why: string }[];
  };
  const states = Object.fromEntries(findings.map(({ name, state }) => [name, state]));
  return { code, ok, findings, states, hidden, text: stdout };
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-doctor-')));
  dataDir = join(base, 'data');
});

afterEach(async () => {
  await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true });
});

describe('colloquy doctor', () => {
  test('says whether an assistant may read the audit log', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const closed = await diagnosis();
    expect(closed.states).not.toHaveProperty('audit');
    expect(closed.hidden.find(({ tool }) => tool === 'read_audit')?.why).toContain('--audit-tool');
    const open = await diagnosis(['--audit-tool', 'on']);
    expect(open.states).toMatchObject({ audit: 'ok' });
    expect(open.hidden.map(({ tool }) => tool)).not.toContain('read_audit');
    expect((await diagnosis(['--audit-tool', 'on', '--audit', 'off'])).states).toMatchObject({ audit: 'warn' });
  });

  test('finds all well on an empty folder, and says what the settings hide', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const found = await diagnosis(['--read-only', '--toolsets', 'query,collections']);
    expect(found).toMatchObject({ code: 0, ok: true });
    expect(found.states).toMatchObject({
      program: 'ok',
      'data folder': 'ok',
      permissions: 'ok',
      socket: 'ok',
      disk: 'ok',
      service: 'ok',
      clock: 'ok',
      'API key': 'ok',
      tools: 'ok',
    });
    const why = (tool: string) => found.hidden.find((one) => one.tool === tool)?.why;
    expect(why('create_collection')).toBe('the server is set to read only');
    expect(why('list_users')).toBe('toolset "users" is not chosen');
    expect(why('run_query')).toBeUndefined();

    const { code, stdout } = await run(['doctor', '--profile', 'explore']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}service +the local service answers \(\d+ ms\), version /m);
    expect(stdout).toMatch(/Hidden, since toolset "users" is not chosen:\n {2}create_user, /);
  });

  test('fails where the data folder cannot be used', async () => {
    writeFileSync(dataDir, 'a file');
    const found = await diagnosis();
    expect(found).toMatchObject({ code: 1, ok: false, states: { 'data folder': 'fail' } });
    expect(found.findings.find(({ name }) => name === 'data folder')).toMatchObject({
      detail: expect.stringContaining('it is no folder'),
      remedy: expect.stringContaining('--data-dir'),
    });
    rmSync(dataDir);
  });

  test('makes no folder that does not exist, and says what would', async () => {
    dataDir = join(base, 'typo', 'data');
    const found = await diagnosis(['--guard', 'off', '--audit', 'off']);
    expect(found).toMatchObject({ code: 0, states: { 'data folder': 'warn', tools: 'ok' } });
    expect(found.states).not.toHaveProperty('service');
    expect(found.findings.find(({ name }) => name === 'data folder')).toMatchObject({
      detail: expect.stringContaining(`"${dataDir}" does not exist`),
      remedy: expect.stringContaining('the first call makes it'),
    });
    expect(existsSync(join(base, 'typo'))).toBe(false);
    writeFileSync(join(base, 'file'), '');
    dataDir = join(base, 'file', 'data');
    expect((await diagnosis()).states).toMatchObject({ 'data folder': 'fail' });
    dataDir = join(base, 'data');
  });

  test('warns of folders for files that are not there', async () => {
    const missing = join(base, 'nowhere');
    const { findings, code } = await diagnosis(['--allow-dirs', `${base},${missing}`]);
    const files = findings.filter(({ name }) => name === 'files');
    expect(files).toMatchObject([
      { state: 'ok', detail: 'load_file may read from 1 folder' },
      { state: 'warn', detail: `the folder "${missing}" does not exist`, remedy: expect.any(String) },
    ]);
    expect(code).toBe(0);
  });

  test('says of a damaged database that a backup helps, and not a new start', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, '_colloquy.duckdb'), 'no database at all'.repeat(1_000));
    const { findings, code } = await diagnosis();
    const service = findings.find(({ name }) => name === 'service');
    expect(code).toBe(1);
    expect(service).toMatchObject({ state: 'fail', detail: expect.stringContaining('damaged') });
    expect(service?.remedy).toContain('"colloquy restore <folder>"');
    expect(service?.remedy).not.toContain('colloquy stop');
  });

  test('warns of files that others may read', async () => {
    await run(['call', 'list_workspaces']);
    const key = join(dataDir, 'admin.key');
    chmodSync(key, 0o644);
    const found = await diagnosis();
    expect(found).toMatchObject({ code: 0, states: { permissions: 'warn' } });
    expect(found.findings.find(({ name }) => name === 'permissions')).toMatchObject({
      detail: 'others may read admin.key',
      remedy: `chmod 600 "${key}"`,
    });
    expect(found.findings.find(({ name }) => name === 'socket')?.detail).toMatch(/^process \d+ listened at /);
  });

  test('warns of the key file of another service that others may read', async () => {
    const file = join(base, 'remote.key');
    writeFileSync(file, 'of-the-other\n');
    chmodSync(file, 0o644);
    mkdirSync(join(base, '.cursor'));
    const args = ['--url', 'http://127.0.0.1:1', '--api-key-file', file];
    const found = await diagnosis(args);
    expect(found.findings.find(({ name }) => name === 'permissions')).toMatchObject({
      state: 'warn',
      detail: 'others may read remote.key',
      remedy: `chmod 600 ${JSON.stringify(file)}`,
    });
    expect((await run(['setup', '--print', ...args])).stdout).toContain(
      'warn  permissions  others may read remote.key',
    );
    chmodSync(file, 0o600);
    expect((await diagnosis(args)).states).toMatchObject({ permissions: 'ok' });
  });

  test('names what a killed restore has left', async () => {
    const staged = join(dataDir, 'restoring-20260101T000000000Z');
    mkdirSync(staged, { recursive: true, mode: 0o700 });
    writeFileSync(join(staged, 'admin.key'), '');
    const left = async () => (await localFindings(dataDir)).filter(({ name }) => name === 'restore');
    expect(await left()).toMatchObject([
      { state: 'warn', remedy: expect.stringMatching(/nothing was changed by it: rm -r ".*restoring-2026/) },
    ]);
    mkdirSync(join(dataDir, 'before-restore-20260101T000000000Z'));
    expect(await left()).toMatchObject([{ remedy: expect.stringContaining('"before-restore-20260101T000000000Z"') }]);
    // All is in its place: what is aside is older than what has been stored since.
    rmSync(join(staged, 'admin.key'));
    writeFileSync(join(dataDir, '_colloquy.duckdb'), '');
    expect(await left()).toMatchObject([{ remedy: expect.stringMatching(/^Nothing is to be done: .*removes it\.$/) }]);
  });

  test('names the requests that ended the service', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const found = async () => (await localFindings(dataDir)).filter(({ name }) => name === 'requests');
    expect(await found()).toEqual([]);
    const caller = { keyName: 'laptop', email: 'm@x.test', fingerprint: 'f' };
    const at = new Date().toISOString();
    const work = { traceId: 't', operation: 'runQuery', startedAt: at, caller, fingerprints: ['a'], sql: 'SELECT 1' };
    const stop = { ...work, at, why: 'hung', isCause: true, versions: 'v' };
    const stops = [stop, { ...stop, fingerprints: ['b'], sql: 'SELECT 2' }];
    writeFileSync(join(dataDir, 'stopped-by.json'), JSON.stringify({ stops }));
    expect(await found()).toMatchObject([
      {
        state: 'warn',
        detail: expect.stringMatching(/^2 requests .*SELECT 2.*"laptop" of m@x.test; a key is held back$/),
        remedy: expect.stringContaining('stopped-by.json'),
      },
    ]);
  });

  test.skipIf(process.platform === 'win32')('tells a service of another version, and another program', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    let answer = '';
    const other = createHttpServer((_, response) => response.end(answer));
    await new Promise<void>((done) => other.listen(join(dataDir, 'service.sock'), done));
    const socket = async () => (await localFindings(dataDir)).find(({ name }) => name === 'socket');
    const ready = (version: string, more = {}) => JSON.stringify({ ready: true, version, pid: 7, ...more });
    answer = ready('99.0.0');
    expect(await socket()).toMatchObject({
      state: 'warn',
      detail: expect.stringMatching(/of the newer version 99\.0\.0$/),
    });
    answer = ready('0.0.1');
    expect(await socket()).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/0\.0\.1, which .* is replaced/),
    });
    answer = ready('0.0.1', { foreground: true });
    expect(await socket()).toMatchObject({ state: 'warn', remedy: expect.stringContaining('"colloquy serve"') });
    answer = 'hello';
    expect(await socket()).toMatchObject({ state: 'fail', remedy: expect.stringContaining('--data-dir') });
    answer = JSON.stringify({ ready: false, version: '1.0.0', pid: 7 });
    expect(await socket()).toMatchObject({ state: 'warn', detail: expect.stringContaining('is not ready') });
    await new Promise((done) => other.close(done));
  });

  test('compares clocks', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(clockFinding('2026-01-01T00:00:20Z', null, now)).toMatchObject({ state: 'ok' });
    expect(clockFinding('2025-12-31T23:50:00Z', null, now)).toMatchObject({
      state: 'warn',
      detail: "the service's is 600 s behind this machine's",
    });
    expect(clockFinding(undefined, undefined, now)).toBeUndefined();
    expect(clockFinding('2026-01-01T00:00:00Z', '2025-01-01T00:00:00Z', now)).toMatchObject({
      state: 'warn',
      detail: expect.stringContaining('jumped ahead, from 2025-01-01T00:00:00Z to 2026-01-01T00:00:00Z'),
      remedy: expect.stringContaining('--clock-is-right'),
    });
  });

  // Only Linux has 127.0.0.2 without configuration.
  test.runIf(process.platform === 'linux').each([
    ['localhost', 'signed by itself', 'NODE_EXTRA_CA_CERTS'],
    ['trusted', 'for another host name', 'host name of the certificate'],
  ])('says what is wrong with a certificate that is refused: %s', async (kind, why, remedy) => {
    const cert = join(import.meta.dirname, '../tls/localhost.cert.pem');
    const key = readFileSync(join(import.meta.dirname, '../tls/localhost.key.pem'));
    const other = createHttpsServer({ cert: readFileSync(cert), key }, (_, response) => response.end());
    await new Promise<void>((done) => other.listen(0, '0.0.0.0', done));
    const { port } = other.address() as AddressInfo;
    const host = kind === 'trusted' ? '127.0.0.2' : 'localhost';
    const env: Record<string, string> = kind === 'trusted' ? { NODE_EXTRA_CA_CERTS: cert } : {};
    const remote = { COLLOQUY_URL: `https://${host}:${port}`, COLLOQUY_API_KEY: 'x' };
    // Node.js reads such a variable when it starts.
    const found = await diagnosis([], { ...remote, ...env }, kind === 'trusted' ? runProgram : runHere);
    other.close();
    expect(found).toMatchObject({ code: 1, states: { certificate: 'fail' } });
    expect(found.findings.find(({ name }) => name === 'certificate')).toMatchObject({
      detail: expect.stringContaining(why),
      remedy: expect.stringContaining(remedy),
    });
    expect(found.text.split(remedy)).toHaveLength(2);
  });

  test('fails where nothing listens at the address', async () => {
    const found = await diagnosis([], { COLLOQUY_URL: 'http://127.0.0.1:1', COLLOQUY_API_KEY: 'sekrit-key' });
    expect(found).toMatchObject({ code: 1, states: { program: 'ok', service: 'fail' } });
    expect(found.text).not.toContain('sekrit-key');
  });
});

describe('with a key of a remote service', () => {
  let folder = '';
  let service: ChildProcess;
  const remote = { COLLOQUY_URL: '', COLLOQUY_API_KEY: '' };
  let url = '';

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-remote-')));
    const env = { ...environment(), HOME: folder, COLLOQUY_DATA_DIR: folder };
    service = spawn(process.execPath, [BINARY, 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    for await (const chunk of service.stdout ?? []) {
      text += chunk;
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? '';
      if (url !== '') break;
    }
    const admin = createClient({ target: { url }, apiKey: readFileSync(join(folder, 'admin.key'), 'utf8').trim() });
    await admin.createUser({ email: 'm@example.org', roles: ['member'] });
    const { key } = await admin.createUserApiKey({ user: 'm@example.org', name: 'k' });
    await admin.close();
    Object.assign(remote, { COLLOQUY_URL: url, COLLOQUY_API_KEY: key });
  }, 60_000);

  afterAll(async () => {
    service.kill('SIGTERM');
    await once(service, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });

  async function connected(env: Record<string, string>): Promise<McpClient> {
    const client = new McpClient({ name: 'test', version: '1' });
    const options = { command: process.execPath, args: [BINARY], env: environment(env), stderr: 'ignore' as const };
    await client.connect(new StdioClientTransport(options));
    return client;
  }

  test('doctor says who it belongs to and what its role hides', async () => {
    const found = await diagnosis([], remote);
    expect(found).toMatchObject({ code: 0, states: { service: 'ok', 'API key': 'ok' } });
    expect(found.findings.find(({ name }) => name === 'API key')?.detail).toContain('m@example.org, with member');
    expect(found.hidden.filter(({ by }) => by === 'role').map(({ tool }) => tool)).toContain('create_user');
    expect(found.hidden.map(({ tool }) => tool)).not.toContain('add_documents');
  });

  test('doctor fails for a key that the service does not accept', async () => {
    const found = await diagnosis([], { COLLOQUY_URL: url, COLLOQUY_API_KEY: 'sekrit-key' });
    expect(found).toMatchObject({ code: 1, states: { 'API key': 'fail' } });
    expect(found.text).not.toContain('sekrit-key');
  });

  test('the server lists everything where the role cannot be found out', async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const deaf = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const all = [...tools().values()].filter(({ needs }) => needs === undefined).map(({ listing }) => listing.name);
    for (const COLLOQUY_URL of [url, deaf]) {
      const client = await connected({ COLLOQUY_URL, COLLOQUY_API_KEY: 'no-such-key' });
      const listed = (await client.listTools()).tools.map(({ name }) => name);
      expect(listed).toEqual(expect.arrayContaining(all));
      await client.close();
    }
    silent.close();
  });
});
