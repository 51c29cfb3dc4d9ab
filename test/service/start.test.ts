import { chmod, cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { Role } from '../../src/contract/row.ts';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import { hashKey, newKey } from '../../src/service/access/auth.ts';
import { openCatalog, put } from '../../src/service/catalog/catalog.ts';
import { prepareMetadata } from '../../src/service/catalog/metadata.ts';
import { startService } from '../../src/service/start.ts';
import { filesOf, makeFolder, startTestService, type TestService } from './harness.ts';
import { keysOf } from './shapes.ts';

const running: TestService[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.remove();
});

async function start(...args: Parameters<typeof startTestService>): Promise<TestService> {
  const service = await startTestService(...args);
  running.push(service);
  return service;
}

const SLOW = 'SELECT count(*) FROM range(100000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3';

describe('the admin key', () => {
  it('has 64 alphanumeric characters in a file of its owner, and only its hash is in the folder', async () => {
    const service = await start();
    expect(service.key).toMatch(/^[A-Za-z0-9]{64}$/);
    const { adminKeyFile, databaseFile } = filesOf(service.folder);
    expect((await stat(adminKeyFile)).mode & 0o777).toBe(0o600);
    await service.stop();
    expect((await readFile(databaseFile)).includes(service.key)).toBe(false);
  });

  it('stays the same over restarts', async () => {
    const first = await start();
    await first.stop();
    const { adminKeyFile } = filesOf(first.folder);
    await chmod(adminKeyFile, 0o644);
    const second = await start({}, first.folder);
    expect(second.key).toBe(first.key);
    expect((await stat(adminKeyFile)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['lost', async (file: string) => rm(file)],
    ['changed', async (file: string) => writeFile(file, 'y'.repeat(64))],
    ['emptied', async (file: string) => writeFile(file, '')],
  ])('is made anew when its file is %s, and the old one is revoked', async (_, change) => {
    const first = await start();
    await first.stop();
    await change(filesOf(first.folder).adminKeyFile);
    const second = await start({}, first.folder);
    expect(second.key).not.toBe(first.key);
    expect(second.key).toMatch(/^[A-Za-z0-9]{64}$/);
    expect((await second.call('GET', '/v1/orgs/self')).status).toBe(200);
    expect((await second.call('GET', '/v1/orgs/self', undefined, { key: first.key })).status).toBe(401);
  });
});

describe('the organization and the user', () => {
  it('have exactly their keys, and stay the same over restarts', async () => {
    const first = await start();
    const organization = await first.call('GET', '/v1/orgs/self');
    expect(keysOf(organization.body)).toEqual(['data']);
    expect(keysOf(organization.body.data)).toEqual([
      'clusters',
      'company_name',
      'created_at',
      'deletionScheduledAt',
      'display_name',
      'external_id',
      'id',
      'num_dedicated_pods',
      'service_user',
      'state',
    ]);
    const user = await first.call('GET', '/v1/orgs/self/users/self');
    expect(keysOf(user.body)).toEqual([
      'created_at',
      'email',
      'first_name',
      'invite_state',
      'last_name',
      'org',
      'org_memberships',
      'orgs',
      'roles',
      'state',
    ]);
    expect(user.body).toMatchObject({ roles: ['admin'], state: 'ACTIVE', invite_state: 'ACCEPTED' });
    expect(user.body.orgs).toEqual([organization.body.data]);
    await first.stop();
    const second = await start({}, first.folder);
    expect((await second.call('GET', '/v1/orgs/self')).body).toEqual(organization.body);
    expect((await second.call('GET', '/v1/orgs/self/users/self')).body).toEqual(user.body);
  });
});

describe('roles', () => {
  /** A folder whose metadata contains a user with this role, and that user's key. */
  async function folderWith(role: Role): Promise<{ folder: string; key: string }> {
    const folder = await makeFolder();
    const engine = await openEngine({ file: filesOf(folder).databaseFile, log: pino({ level: 'silent' }) });
    const catalog = openCatalog(engine);
    await prepareMetadata(catalog);
    const key = newKey();
    const email = `${role}@example.com`;
    const createdAt = new Date().toISOString();
    await catalog.change(() => ({
      changes: [
        put('user', email, { email, createdAt, roles: [role], state: 'NEW', inviteState: 'PENDING' }),
        put('apiKey', hashKey(key), { hash: hashKey(key), user: email, name: 'k', prefix: key.slice(0, 4), createdAt }),
      ],
      result: undefined,
    }));
    await engine.close();
    return { folder, key };
  }

  it('read-only reads and queries, and writes nothing', async () => {
    const { folder, key } = await folderWith('read-only');
    const service = await start({}, folder);
    await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'c' });
    for (const path of ['', '/ws', '/ws/commons', '/ws/commons/ws', '/collections', '/ws/commons/collections/c']) {
      expect((await service.call('GET', `/v1/orgs/self${path}`, undefined, { key })).status).toBe(200);
    }
    const sql = { sql: { query: 'SELECT 1' } };
    expect((await service.call('POST', '/v1/orgs/self/queries', sql, { key })).status).toBe(200);
    expect((await service.call('POST', '/v1/orgs/self/queries/validations', sql, { key })).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/ws'],
      ['DELETE', '/ws/commons'],
      ['POST', '/ws/commons/collections'],
      ['DELETE', '/ws/commons/collections/c'],
      ['POST', '/ws/commons/collections/c/docs'],
      ['PATCH', '/ws/commons/collections/c/docs'],
      ['DELETE', '/ws/commons/collections/c/docs'],
    ] as const) {
      const answer = await service.call(method, `/v1/orgs/self${path}`, { data: [], name: 'x' }, { key });
      expect([path, answer.status, answer.body.type]).toEqual([path, 403, 'FORBIDDEN']);
      expect(answer.body.message).toMatch(/needs the role "member".*"read-only@example.com".*"read-only"/);
    }
    expect((await service.call('POST', '/local/leave', undefined, { key })).status).toBe(403);
  });

  it('member writes, and cannot close the service', async () => {
    const { folder, key } = await folderWith('member');
    const service = await start({}, folder);
    expect((await service.call('POST', '/v1/orgs/self/ws', { name: 'w' }, { key })).body.data.created_by).toBe(
      'member@example.com',
    );
    expect((await service.call('POST', '/local/leave', undefined, { key })).status).toBe(403);
  });

  it('the first request of a new user turns it ACTIVE, for good', async () => {
    const { folder, key } = await folderWith('member');
    const first = await start({}, folder);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => first.call('GET', '/v1/orgs/self/users/self', undefined, { key })),
    );
    for (const answer of answers) expect(answer.body).toMatchObject({ state: 'ACTIVE', invite_state: 'ACCEPTED' });
    await first.stop();
    const engine = await openEngine({ file: filesOf(folder).databaseFile, log: pino({ level: 'silent' }) });
    expect(openCatalog(engine).all('user').get('member@example.com')?.state).toBe('ACTIVE');
    await engine.close();
  });
});

describe('startService()', () => {
  it('keeps collections, documents and figures over restarts', async () => {
    const first = await start();
    await first.call('POST', '/v1/orgs/self/ws', { name: 'w' });
    await first.call('POST', '/v1/orgs/self/ws/w/collections', { name: 'c', description: 'd' });
    await first.call('POST', '/v1/orgs/self/ws/w/collections/c/docs', { data: [{ _id: 'a', x: 1 }] });
    const before = (await first.call('GET', '/v1/orgs/self/ws/w/collections/c')).body.data;
    await first.stop();
    const second = await start({}, first.folder);
    const after = (await second.call('GET', '/v1/orgs/self/ws/w/collections/c')).body.data;
    expect(after).toEqual(before);
    expect(after.stats.total_size).toBe('{"_id":"a","x":1}'.length);
    const found = await second.call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT x FROM w.c' } });
    expect(found.body.results).toEqual([{ x: 1 }]);
  });

  it('has figures of a collection whose first documents came just before a kill', async () => {
    const first = await start();
    await first.call('POST', '/v1/orgs/self/ws', { name: 'w' });
    await first.call('POST', '/v1/orgs/self/ws/w/collections', { name: 'c' });
    await first.call('POST', '/v1/orgs/self/ws/w/collections/c/docs', { data: [{ _id: 'a', x: 1 }] });
    // What a process leaves that has no chance to store anything more.
    const left = `${first.folder}-left`;
    await cp(first.folder, left, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    const { stats } = (await first.call('GET', '/v1/orgs/self/ws/w/collections/c')).body.data;
    const second = await start({}, left);
    const after = (await second.call('GET', '/v1/orgs/self/ws/w/collections/c')).body.data;
    expect(after.stats.bytes_inserted).toBe(stats.bytes_inserted);
    expect(after.stats.last_updated_ms).toBeLessThanOrEqual(stats.last_updated_ms);
    expect(after.stats.last_updated_ms).toBeGreaterThanOrEqual(Date.parse(after.created_at));
  });

  it('listens on a socket and on TCP, the socket for its owner only', async () => {
    const folder = await makeFolder();
    const socket = join(folder, 'service.sock');
    const service = await start({ listen: [{ path: socket }, { host: '127.0.0.1', port: 0 }] }, folder);
    const [first, second] = service.service.addresses;
    expect(first).toBe(socket);
    expect(second).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await stat(socket)).mode & 0o777).toBe(0o600);
    for (const headers of [{}, { host: 'localhost' }, { 'x-forwarded-for': '127.0.0.1' }]) {
      const answer = await request(`${second}/ready`, { headers });
      expect(await answer.body.json()).toEqual({ message: 'Colloquy is ready.', ready: true });
    }
  });

  it('accepts /local/leave from the admin over the socket only, and then closes', async () => {
    const folder = await makeFolder();
    const socket = join(folder, 'service.sock');
    const service = await start({ listen: [{ path: socket }, { host: '127.0.0.1', port: 0 }] }, folder);
    const overTcp = await request(`${service.service.addresses[1]}/local/leave`, {
      method: 'POST',
      headers: { authorization: `ApiKey ${service.key}` },
    });
    expect(overTcp.statusCode).toBe(403);
    await overTcp.body.dump();
    expect((await service.call('POST', '/local/leave', undefined, { key: null })).status).toBe(401);
    const answer = await service.call('POST', '/local/leave', {});
    expect([answer.status, answer.body.pid]).toEqual([200, process.pid]);
    await service.service.closed;
    await expect(stat(socket)).rejects.toThrow('ENOENT');
    await start({}, folder);
  });

  it('removes the socket file of a killed service', async () => {
    const folder = await makeFolder();
    const socket = join(folder, 'service.sock');
    await leaveStaleSocket(socket);
    expect((await stat(socket)).isSocket()).toBe(true);
    const service = await start({}, folder);
    expect((await service.call('GET', '/ready')).status).toBe(200);
  });

  it("does not take another service's socket", async () => {
    const folder = await makeFolder();
    const socket = join(folder, 'shared.sock');
    await start({ listen: [{ path: socket }] }, folder);
    await expect(start({ listen: [{ path: socket }] }, await makeFolder())).rejects.toMatchObject({
      message: /another program listens there/,
    });
    expect((await stat(socket)).isSocket()).toBe(true);
  });

  it('does not remove a file that is no socket', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'service.sock'), 'mine');
    await expect(startTestService({}, folder)).rejects.toMatchObject({
      code: 'internal',
      message: /no socket is there/,
    });
    expect(await readFile(join(folder, 'service.sock'), 'utf8')).toBe('mine');
    await rm(join(folder, 'service.sock'));
    await start({}, folder);
  });

  it('rejects when an address is taken, and lets go of the database', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const { port } = blocker.address() as { port: number };
    const folder = await makeFolder();
    await expect(startTestService({ listen: [{ host: '127.0.0.1', port }] }, folder)).rejects.toMatchObject({
      code: 'internal',
      message: /Cannot listen on "127\.0\.0\.1:\d+".*EADDRINUSE/,
    });
    blocker.close();
    await start({}, folder);
  });

  it('rejects when the key file cannot be written', async () => {
    const folder = await makeFolder();
    const adminKeyFile = join(folder, 'as-folder');
    await mkdir(adminKeyFile);
    const files = { ...filesOf(folder), adminKeyFile };
    const log = pino({ level: 'silent' });
    await expect(startService({ ...files, listen: [], version: '1', log })).rejects.toMatchObject({
      message: expect.stringContaining('Cannot keep the admin key'),
    });
    await rm(folder, { recursive: true });
  });

  it('a second service on the same database does not start, and leaves the first one alone', async () => {
    const first = await start();
    await expect(startTestService({}, first.folder)).rejects.toMatchObject({ name: 'ApiError' });
    expect((await first.call('GET', '/ready')).status).toBe(200);
  });

  it('leaves by itself after the idle time, and not while a request runs', async () => {
    const service = await start({ idleMs: 400 });
    const pending = service.call('POST', '/v1/orgs/self/queries', { sql: { query: SLOW } });
    let left = false;
    service.service.closed.then(() => {
      left = true;
    });
    await sleep(900);
    expect(left).toBe(false);
    await service.service.close();
    expect((await pending).status).toBe(503);

    const idle = await start({ idleMs: 300 });
    await idle.call('GET', '/v1/orgs/self');
    const from = Date.now();
    await idle.service.closed;
    expect(Date.now() - from).toBeGreaterThan(200);
    expect(Date.now() - from).toBeLessThan(3_000);
  });

  it('close() aborts queries with 503, lets writes finish, and may be called twice', async () => {
    const service = await start();
    await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'c' });
    const query = service.call('POST', '/v1/orgs/self/queries', { sql: { query: SLOW } });
    await sleep(200);
    const data = Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'x'.repeat(100) }));
    const write = service.call('POST', '/v1/orgs/self/ws/commons/collections/c/docs', { data });
    await expect.poll(() => service.lines.length).toBeGreaterThan(1);
    await sleep(100);
    const closing = Promise.all([service.service.close(), service.service.close()]);
    const answer = await query;
    expect([answer.status, answer.body.type]).toEqual([503, 'NOT_READY']);
    expect(answer.headers['retry-after']).toBeDefined();
    // The write either came in time and was finished, or was told to retry.
    expect([200, 503]).toContain((await write).status);
    await closing;
    await service.service.closed;
  });
});

describe('CORS', () => {
  it('is open when asked for', async () => {
    const service = await start({ cors: true });
    const answer = await service.call('OPTIONS', '/v1/orgs/self/ws', undefined, {
      key: null,
      headers: { origin: 'https://example.com', 'access-control-request-method': 'POST' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
    });
    expect((await service.call('GET', '/v1/orgs/self/ws')).headers['access-control-allow-origin']).toBe('*');
  });
});

/** Leaves what a killed service leaves: a socket file that nobody listens on. */
async function leaveStaleSocket(path: string): Promise<void> {
  const { spawn } = await import('node:child_process');
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
}
