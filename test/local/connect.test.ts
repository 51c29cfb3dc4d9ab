import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiError } from '../../src/contract/errors.ts';
import type { Client } from '../../src/http/client.ts';
import { connectLocal, type LocalOptions } from '../../src/local/connect.ts';
import { openFolder } from '../../src/local/folder.ts';
import { spawnService } from '../../src/local/spawn.ts';

const BIN = join(import.meta.dirname, 'double.mjs');
const NAME = { workspace: 'w', collection: 'c' };

let dataDir = '';
const [EARLY, MIDDLE, LATE] = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'];
const clients: Client[] = [];

const lines = (file: string) => {
  const path = join(dataDir, file);
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const alive = () => lines('starts').map(Number).filter(isAlive);

/** Waits for a condition that another process brings about. */
async function until(condition: () => boolean): Promise<void> {
  const endsAt = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > endsAt) throw new Error('the condition did not come about');
    await delay(10);
  }
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid));
}

async function connect(mode: Record<string, string> = {}, options: Partial<LocalOptions> = {}): Promise<Client> {
  const client = await connectLocal({
    dataDir,
    bin: BIN,
    program: { version: '1.0.0', build: MIDDLE },
    env: { PATH: '/usr/bin', ...mode },
    log: { info() {} },
    readyTimeoutMs: 10_000,
    timeoutMs: 15_000,
    ...options,
  });
  clients.push(client);
  return client;
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  return promise.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error: ApiError) => error,
  );
}

const pidOf = async (client: Client) => Number((await client.getCollection(NAME)).name);

beforeEach(async () => {
  dataDir = await realpath(await mkdtemp(join(tmpdir(), 'colloquy-local-')));
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const pid of alive()) await kill(pid);
  // A process that was too late to become the service may still be exiting.
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
});

describe('connectLocal()', () => {
  test('starts the service where nobody listens, and uses it', async () => {
    const client = await connect();
    expect(lines('starts')).toHaveLength(1);
    expect(await pidOf(client)).toBe(Number(lines('starts')[0]));
    expect(existsSync(join(dataDir, 'spawn.lock'))).toBe(false);
  });

  test('uses the service that runs', async () => {
    const pid = await pidOf(await connect());
    expect(await pidOf(await connect())).toBe(pid);
    expect(lines('starts')).toHaveLength(1);
  });

  test('ten at a time end with one service', async () => {
    const ten = await Promise.all(Array.from({ length: 10 }, () => connect()));
    expect(new Set(await Promise.all(ten.map(pidOf))).size).toBe(1);
    expect(lines('winners')).toHaveLength(1);
    await until(() => alive().length === 1);
  });

  test('connects when another process starts services without regard to the lock', async () => {
    const folder = await openFolder(dataDir);
    const spawned = await Promise.all(
      Array.from({ length: 4 }, () => spawnService({ folder, bin: BIN, env: { PATH: '/usr/bin' } })),
    );
    const pid = await pidOf(await connect());
    expect(lines('winners')).toEqual([String(pid)]);
    await until(() => spawned.filter(({ ended }) => ended() === undefined).length <= 1);
    await until(() => alive().join() === String(pid));
  });

  test('recovers a socket file that a killed service left behind', async () => {
    const pid = await pidOf(await connect());
    await kill(pid);
    expect(existsSync(join(dataDir, 'service.sock'))).toBe(true);
    expect(await pidOf(await connect())).not.toBe(pid);
  });

  test('makes a change of the moment in which the service is killed once, or says that it does not know', async () => {
    const client = await connect();
    process.kill(await pidOf(client), 'SIGKILL');
    const outcome = await client.deleteCollection(NAME).then(
      () => 'made',
      (error: ApiError) => error.message,
    );
    expect(outcome).toMatch(/^made$|Whether the change was made is unknown/);
    expect(lines('requests').filter((method) => method === 'DELETE').length).toBe(outcome === 'made' ? 1 : 0);
  });

  test.each(['getCollection', 'deleteCollection'] as const)(
    'recovers a service that is killed between two calls: %s',
    async (operation) => {
      const client = await connect();
      const pid = await pidOf(client);
      await kill(pid);
      const answer = await client[operation](NAME);
      expect(Number(answer.name)).not.toBe(pid);
      await until(() => alive().join() === answer.name);
    },
  );

  test('starts one service when many calls lose it together', async () => {
    const client = await connect();
    await kill(await pidOf(client));
    const pids = await Promise.all(Array.from({ length: 8 }, () => pidOf(client)));
    expect(new Set(pids).size).toBe(1);
    expect(lines('starts')).toHaveLength(2);
  });

  test('makes a folder that was removed under a running chat anew', async () => {
    const client = await connect();
    const pid = await pidOf(client);
    await kill(pid);
    await rm(dataDir, { recursive: true });
    expect(await pidOf(client)).not.toBe(pid);
  });

  test('repeats a change that the service refused because it was leaving', async () => {
    const client = await connect({ DOUBLE_MODE: 'refuses-once' });
    await client.deleteCollection(NAME);
    expect(lines('requests')).toEqual(['DELETE']);
  });

  test('gives up waiting for a new service when the time of the call is over', async () => {
    const client = await connect();
    await kill(await pidOf(client));
    const lock = join(dataDir, 'spawn.lock');
    await writeFile(lock, String(process.pid));
    const error = await failure(client.getCollection(NAME, { timeoutMs: 200 }));
    expect(error.code).toBe('request_timeout');
    await rm(lock);
    expect(await pidOf(client)).toBeGreaterThan(0);
  });

  test.each([
    ['of a process that is gone', '999999999', 0],
    ['empty since some seconds, as on a full disk', '', 3],
    ['too old to be true', String(process.pid), 60],
    ['too old and empty', '', 60],
    ['too old and garbage', 'x y', 60],
  ])('takes over a spawn lock %s', async (_, content, ageSecs) => {
    const file = join(dataDir, 'spawn.lock');
    await writeFile(file, content);
    const at = Date.now() / 1000 - ageSecs;
    await utimes(file, at, at);
    await connect({}, { readyTimeoutMs: 5_000 });
    expect(lines('starts')).toHaveLength(1);
  });

  test('starts the service where no log can be written', async () => {
    await mkdir(join(dataDir, 'service.log'));
    expect(await pidOf(await connect())).toBeGreaterThan(0);
  });

  test('says that the disk is full, and where, when the service cannot start for it', async () => {
    const error = await failure(connect({ DOUBLE_MODE: 'disk-full' }));
    expect(error).toMatchObject({ code: 'connection_failed' });
    expect(error.message).toContain(`"${dataDir}": the disk of this data folder is full; free some space there`);
    expect(existsSync(join(dataDir, 'spawn.lock'))).toBe(false);
  });

  test('shows the last log lines of a service that fails to start', async () => {
    const error = await failure(connect({ DOUBLE_MODE: 'fails' }));
    expect(error).toMatchObject({ code: 'connection_failed' });
    expect(error.message).toMatch(/exit code 3/);
    expect(error.message).toContain('cannot open the database: disk on fire');
    expect(error.message).toContain(join(dataDir, 'service.log'));
  });

  test('fails where the program cannot be run', async () => {
    const error = await failure(connect({}, { bin: join(dataDir, 'no-such-bin.mjs') }));
    expect(error.message).toMatch(/exit code 1/);
    expect(error.message).toContain('no-such-bin.mjs');
  });

  test('says so when the service is not ready in time', async () => {
    const error = await failure(connect({ DOUBLE_MODE: 'never-ready' }, { readyTimeoutMs: 1_500 }));
    expect(error).toMatchObject({ code: 'connection_failed' });
    expect(error.message).toMatch(/not ready within 1500 ms/);
  });

  test('says so when another program holds the database', async () => {
    const instance = await DuckDBInstance.create(join(dataDir, '_colloquy.duckdb'));
    // Long enough for a process to start on a busy machine.
    const error = await failure(connect({}, { readyTimeoutMs: 3_000 }));
    expect(error.message).toMatch(/held by another process/);
    instance.closeSync();
  });

  test('says so when the admin key is missing', async () => {
    const error = await failure(connect({ DOUBLE_MODE: 'keyless' }));
    expect(error.message).toMatch(/admin key ".*admin\.key" cannot be read \(ENOENT\)/);
  });

  test('says so when something else listens on the socket', async () => {
    const other = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => other.listen(join(dataDir, 'service.sock'), resolve));
    const error = await failure(connect());
    expect(error.message).toMatch(/something else listens there: it answered 200/);
    expect(lines('starts')).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });

  test('says so when something that speaks no HTTP listens on the socket', async () => {
    const other = createNetServer((socket) => socket.resume().end('hello\n'));
    await new Promise<void>((resolve) => other.listen(join(dataDir, 'service.sock'), resolve));
    const error = await failure(connect({}, { readyTimeoutMs: 500 }));
    expect(error.message).toMatch(/not ready within 500 ms/);
    expect(lines('starts')).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });

  test('refuses a folder that others may enter', async () => {
    await writeFile(join(dataDir, 'notes.txt'), '');
    await chmod(dataDir, 0o755);
    expect((await failure(connect())).message).toMatch(/other users may enter it/);
  });
});

describe('a running service of another version', () => {
  test('is replaced when it is older', async () => {
    const old = await connect({ DOUBLE_VERSION: '0.9.9' }, { program: { version: '0.9.9' } });
    const pid = await pidOf(old);
    const client = await connect({ DOUBLE_VERSION: '1.0.0' });
    expect(await pidOf(client)).not.toBe(pid);
    await until(() => !isAlive(pid));
    // The chat that started the old service continues with the new one.
    expect(await pidOf(old)).toBe(await pidOf(client));
  });

  test('is used when it is newer', async () => {
    const pid = await pidOf(await connect({ DOUBLE_VERSION: '2.0.0' }));
    expect(await pidOf(await connect())).toBe(pid);
  });

  test('is named with its process when it is older and refuses to leave', async () => {
    const pid = await pidOf(
      await connect({ DOUBLE_VERSION: '0.1.0', DOUBLE_MODE: 'stays' }, { program: { version: '0.1.0' } }),
    );
    const error = await failure(connect());
    expect(error.message).toMatch(new RegExp(`version 0\\.1\\.0 runs \\(process ${pid}\\) and it refused to leave`));
    expect(alive()).toEqual([pid]);
  });

  test.each([
    ['an earlier build', { DOUBLE_BUILD: EARLY }],
    ['one that tells no build', { DOUBLE_BUILD: 'none' }],
  ])('is replaced when it is %s of the same', async (_, mode: Record<string, string>) => {
    const old = await connect(mode, { program: { version: '1.0.0' } });
    const pid = await pidOf(old);
    const client = await connect({ DOUBLE_BUILD: MIDDLE });
    expect(await pidOf(client)).not.toBe(pid);
    await until(() => !isAlive(pid));
    expect(await pidOf(old)).toBe(await pidOf(client));
  });

  test('is used when it is a later build of the same, or this one runs from the sources', async () => {
    const pid = await pidOf(await connect({ DOUBLE_BUILD: LATE }));
    expect(await pidOf(await connect())).toBe(pid);
    expect(await pidOf(await connect({}, { program: { version: '1.0.0' } }))).toBe(pid);
  });

  test.each([
    ['version', { DOUBLE_VERSION: '0.9.9' }],
    ['build', { DOUBLE_BUILD: EARLY }],
  ])('is used when it is an older %s that somebody runs by serve', async (_, mode) => {
    const pid = await pidOf(await connect({ ...mode, DOUBLE_MODE: 'foreground' }, { program: { version: '0.1.0' } }));
    expect(await pidOf(await connect())).toBe(pid);
    expect(alive()).toEqual([pid]);
  });

  test('is used when it is what an older program, put in place of this one, has just started', async () => {
    const pid = await pidOf(await connect({ DOUBLE_BUILD: EARLY }));
    expect(alive()).toEqual([pid]);
  });
});
