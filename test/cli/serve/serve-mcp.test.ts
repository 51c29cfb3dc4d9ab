import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BINARY, buildIfStale, dataFolder } from '../../scenarios/binary.ts';
import { openLegacy, openModern } from '../../scenarios/drivers.ts';
import { type Served, startServe } from '../../scenarios/served.ts';
import { type Session, type SessionOptions, serverEnvironment } from '../../scenarios/session.ts';
import { STORIES } from '../../scenarios/stories.ts';

type Era = '2025-11-25' | '2026-07-28';
const ERAS: readonly Era[] = ['2025-11-25', '2026-07-28'];
const TLS = join(import.meta.dirname, '../tls');

let folder: Awaited<ReturnType<typeof dataFolder>>;
let served: Served;
const sessions: Session[] = [];

beforeAll(async () => {
  buildIfStale();
  folder = await dataFolder();
  served = await startServe(folder.path, ['--allowed-origins', 'app.example']);
}, 90_000);
afterAll(async () => {
  await served.stop();
  await folder.remove();
});
afterEach(async () => {
  await Promise.allSettled(sessions.splice(0).map((session) => session.close()));
});

async function openAs(era: Era, { key = served.key, headers = {}, human, url = served.url }: Caller = {}) {
  const options = { requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } } };
  const session =
    era === '2025-11-25'
      ? await openLegacy(new LegacyHttp(url, options), human)
      : await openModern(new ModernHttp(url, options), human);
  sessions.push(session);
  return session;
}

interface Caller {
  key?: string;
  headers?: Record<string, string>;
  human?: SessionOptions['human'];
  url?: URL;
}

async function api(method: string, path: string, body?: unknown, key = served.key) {
  const answer = await fetch(new URL(`/v1/orgs/self${path}`, served.base), {
    method,
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as { data: Record<string, string> } };
}

async function keyFor(email: string, role: string): Promise<string> {
  await api('POST', '/users', { email, roles: [role] });
  const made = await api('POST', `/users/${encodeURIComponent(email)}/apikeys`, { name: 'mcp' });
  return made.body.data['key'] ?? '';
}

const DISCOVER = {
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'server/discover',
};

function discover(headers: Record<string, string>): Promise<Response> {
  return fetch(served.url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify(DISCOVER),
  });
}

describe('a key', () => {
  it.each([
    ['none', {}],
    ['one that is not known', { authorization: `Bearer ${'x'.repeat(64)}` }],
  ])('is asked for where there is %s', async (_, headers) => {
    const answer = await discover(headers as Record<string, string>);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
  });

  it.each(['ApiKey', 'Bearer'])('is taken as %s', async (scheme) => {
    expect((await discover({ authorization: `${scheme} ${served.key}` })).status).toBe(200);
  });

  it.each(ERAS)('may do through a tool what it may do anywhere, and no more (%s)', async (era) => {
    const workspace = `ws-${era}`;
    await api('POST', '/ws', { name: workspace });
    const session = await openAs(era, { key: await keyFor(`reader-${era}@example.com`, 'read-only') });
    expect((await session.call('list_workspaces')).text).toContain(workspace);
    const names = (await session.tools()).map(({ name }) => name);
    expect(names).toContain('run_query');
    expect(names).not.toContain('create_workspace');
    const refusal = await session.call('create_workspace', { name: `more-${era}` });
    expect(refusal.isError).toBe(true);
    expect((await api('GET', `/ws/more-${era}`)).status).toBe(404);
  });

  it.each(ERAS)('that is deleted is refused from the next request on (%s)', async (era) => {
    const email = `leaver-${era}@example.com`;
    const session = await openAs(era, { key: await keyFor(email, 'member') });
    expect((await session.call('list_workspaces')).isError).toBe(false);
    await api('DELETE', `/users/${encodeURIComponent(email)}/apikeys/mcp`);
    await expect(session.call('list_workspaces')).rejects.toThrow(/401|[Uu]nauthorized|not known here/);
  });

  it('does not reach the session of another', async () => {
    const own = new LegacyHttp(served.url, { requestInit: { headers: { authorization: `Bearer ${served.key}` } } });
    sessions.push(await openLegacy(own, undefined));
    const key = await keyFor('other@example.com', 'admin');
    const answer = await fetch(served.url, {
      method: 'POST',
      headers: { ...HEADERS, authorization: `Bearer ${key}`, 'mcp-session-id': own.sessionId ?? '' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(answer.status).not.toBe(200);
    const plain = await fetch(served.url, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}`, 'mcp-session-id': own.sessionId ?? '' },
    });
    expect(plain.status).toBe(404);
  });
});

describe.each(ERAS)('in era %s', (era) => {
  it.each(STORIES.slice(-1))('$name', async ({ run }) => {
    const open = (human?: SessionOptions['human']) => openAs(era, human === undefined ? {} : { human });
    await run({ dataDir: folder.path, workspace: `story-${era}`, open });
  });
});

describe('integers', () => {
  it.each(ERAS)('in a document keep their digits on the way in (%s)', async (era) => {
    const workspace = `exact-${era}`;
    await api('POST', '/ws', { name: workspace });
    await api('POST', `/ws/${workspace}/collections`, { name: 'things' });
    const session = await openAs(era);
    // JavaScript clients do not send such a number, but others do.
    const [head = '', tail = ''] = ['{"_id":"1","n":', '}'];
    const raw = `${head}9007199254740993${tail}`;
    const params = { name: 'add_documents', arguments: { workspace, collection: 'things', data: ['PLACE'] } };
    const message = {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { ...params, _meta: DISCOVER.params._meta },
    };
    if (era === '2026-07-28') {
      const answer = await fetch(served.url, {
        method: 'POST',
        headers: {
          ...HEADERS,
          'mcp-method': 'tools/call',
          'mcp-name': 'add_documents',
          authorization: `Bearer ${served.key}`,
        },
        body: JSON.stringify(message).replace('"PLACE"', raw),
      });
      expect(answer.status).toBe(200);
    } else {
      const own = new LegacyHttp(served.url, { requestInit: { headers: { authorization: `Bearer ${served.key}` } } });
      sessions.push(await openLegacy(own, undefined));
      const answer = await fetch(served.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${served.key}`,
          'mcp-session-id': own.sessionId ?? '',
        },
        body: JSON.stringify({ ...message, params }).replace('"PLACE"', raw),
      });
      expect(answer.status).toBe(200);
      await answer.text();
    }
    const { structured } = await session.call('run_query', { query: `SELECT n FROM "${workspace}".things` });
    expect(structured['rows']).toEqual([['9007199254740993']]);
  });
});

describe('browsers', () => {
  it('of other origins are refused, of expected ones are answered', async () => {
    const authorization = `Bearer ${served.key}`;
    expect((await discover({ authorization, origin: 'https://evil.example' })).status).toBe(403);
    const answer = await discover({ authorization, origin: 'https://app.example' });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
  });

  it('are refused if they use a foreign name that points to this machine (DNS rebinding)', async () => {
    const { port } = served.url;
    const status = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('data', (chunk) => {
        resolve(chunk.toString().split('\r\n')[0] ?? '');
        socket.destroy();
      });
      socket.write(`POST /mcp HTTP/1.1\r\nhost: evil.example:${port}\r\ncontent-length: 0\r\n\r\n`);
    });
    expect(status).toContain('403');
  });
});

it('the audit log names whose key a call came with, and contains no key', async () => {
  const key = await keyFor('ann@example.com', 'read-only');
  for (const one of [served.key, key]) await (await openAs('2026-07-28', { key: one })).call('list_workspaces');
  const refused = await openAs('2026-07-28', { key });
  await refused.call('create_workspace', { name: 'no' });
  const audit = await readFile(join(folder.path, 'audit.log'), 'utf8');
  const lines = audit.split('\n').filter((line) => line !== '');
  const records = lines.slice(-3).map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.map(({ user, key: name, tool, outcome }) => [user, name, tool, outcome])).toEqual([
    ['admin@localhost', 'local-admin', 'list_workspaces', 'ok'],
    ['ann@example.com', 'mcp', 'list_workspaces', 'ok'],
    ['ann@example.com', 'mcp', 'create_workspace', 'not_offered'],
  ]);
  for (const one of [served.key, key]) expect(audit).not.toContain(one);
});

it('people at this machine are told where things lie', async () => {
  const session = await openAs('2026-07-28');
  await session.call('create_workspace', { name: 'here' });
  const { text, isError } = await session.call('delete_workspace', { workspace: 'here' });
  expect(isError).toBe(true);
  expect(text).toContain(folder.path);
});

it('closes cleanly while streams are open and a query runs', async () => {
  // The client keeps a stream open for messages that the server sends unasked.
  const session = await openAs('2025-11-25');
  const slow = 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b';
  const call = session.call('run_query', { query: slow }).catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await served.stop()).toBe(0);
  await call;
}, 30_000);

describe('a service of its own', () => {
  let own: Awaited<ReturnType<typeof dataFolder>>;
  let running: Served | undefined;
  beforeAll(async () => {
    own = await dataFolder();
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });
  afterAll(() => own.remove());

  it('leaves MCP out where it is switched off', async () => {
    running = await startServe(own.path, ['--mcp', 'off']);
    const headers = { ...HEADERS, authorization: `Bearer ${running.key}` };
    expect((await fetch(running.url, { method: 'POST', headers, body: '{}' })).status).toBe(404);
  });

  it('is reached by https with the files for it', async () => {
    const files = ['--tls-cert', join(TLS, 'localhost.cert.pem'), '--tls-key', join(TLS, 'localhost.key.pem')];
    running = await startServe(own.path, ['--host', '0.0.0.0', ...files]);
    expect(running.base).toMatch(/^https:\/\/0\.0\.0\.0:\d+$/);
    const { port } = new URL(running.base);
    const ca = readFileSync(join(TLS, 'localhost.cert.pem'));
    const ask = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { ...HEADERS, host, authorization: `Bearer ${running?.key}` };
        const options = { host: 'localhost', port, path: '/mcp', method: 'POST', headers, ca, servername: 'localhost' };
        const sent = httpsRequest(options, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        sent.on('error', reject);
        sent.end(JSON.stringify(DISCOVER));
      });
    expect(await ask(`localhost:${port}`)).toBe(200);
    expect(await ask('db.example.com')).toBe(403);
    // A connection that never sends anything must not delay the shutdown.
    const silent = connect(Number(port), '127.0.0.1');
    silent.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      silent.once('connect', () => resolve());
    });
    expect(await running.stop()).toBe(0);
    silent.destroy();
  }, 30_000);

  it('says to others than people at this machine not where things lie', async () => {
    running = await startServe(own.path, ['--behind-tls-proxy']);
    const session = await openAs('2026-07-28', running);
    await session.call('create_workspace', { name: 'elsewhere' });
    const { text, isError } = await session.call('delete_workspace', { workspace: 'elsewhere' });
    expect(isError).toBe(true);
    expect(text).not.toContain(own.path);
  });

  it('lets nobody lock themselves out from elsewhere, and gives them no page of this machine', async () => {
    running = await startServe(own.path, ['--trust-proxy', '127.0.0.1']);
    for (const era of ERAS) {
      const session = await openAs(era, { ...running, headers: { 'x-forwarded-for': '10.1.2.3' } });
      const entry = { name: 'other', ip_address: '10.9.9.9' };
      const { text } = await session.call('create_allowlist_entry', entry);
      expect(text).toContain('the caller would be locked out: its address is "10.1.2.3"');
      const alias = { workspace: 'commons', name: `alias-${era}`, collections: ['commons.things'] };
      await session.call('create_collection', { workspace: 'commons', name: 'things' });
      await session.call('create_alias', alias);
      const pending = await session.call('delete_alias', { workspace: 'commons', alias: alias.name });
      expect(pending.structured['approval']).toMatchObject({ url: null });
    }
  });

  it('refuses to show keys to a network, and says both ways out', () => {
    const { status, stderr } = spawnSync(process.execPath, [BINARY, 'serve', '--port', '0', '--host', '0.0.0.0'], {
      env: serverEnvironment(own.path),
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/--tls-cert and --tls-key.*--behind-tls-proxy/);
  });

  it('refuses files that do not fit, before it opens anything', () => {
    const files = ['--tls-cert', join(TLS, 'localhost.cert.pem'), '--tls-key', join(TLS, 'other.key.pem')];
    const { status, stderr } = spawnSync(process.execPath, [BINARY, 'serve', '--port', '0', ...files], {
      env: serverEnvironment(own.path),
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('is not that of the certificate');
  });
});
