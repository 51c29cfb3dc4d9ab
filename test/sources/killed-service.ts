import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolder, freePort } from './servers/server.ts';
import { until } from './source-tests.ts';

const BIN = join(import.meta.dirname, '../../dist/colloquy.js');

/** The built program as a process of its own, which can be killed and started again on its folder. */
export interface KilledService {
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts; undefined while nothing answers.
  call(method: string, path: string, body?: unknown): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
  query(sql: string): Promise<any[] | undefined>;
  /** Whether so many sources have read all that was there at the beginning. */
  isThrough(count: number): Promise<boolean>;
  /** Kills it, with the process that would start it again, and starts it. */
  killed(): Promise<void>;
  close(): Promise<void>;
}

export async function startKilledService(): Promise<KilledService> {
  const folder = await dataFolder('killed');
  const port = await freePort();
  let child: ChildProcess | undefined;

  function kill(): void {
    if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    child = undefined;
  }

  async function call(method: string, path: string, body?: unknown) {
    const key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
    const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json' };
    try {
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      return await (await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...content })).json();
    } catch {
      return undefined;
    }
  }

  async function serve(): Promise<void> {
    const args = [BIN, 'serve', '--data-dir', folder, '--port', String(port)];
    child = spawn(process.execPath, args, { stdio: 'ignore', detached: true });
    const isUp = async () =>
      existsSync(join(folder, 'admin.key')) && (await call('GET', '/v1/orgs/self/users/self')) !== undefined;
    await until(isUp, Boolean, 30);
  }

  await serve();
  return {
    call,
    query: async (sql) =>
      ((await call('POST', '/v1/orgs/self/queries', { sql: { query: sql } })) as { results?: unknown[] } | undefined)
        ?.results,
    async isThrough(count) {
      const answer = (await call('GET', '/v1/orgs/self/ws/commons/collections')) as
        | { data?: { sources: { status: { state: string } }[] }[] }
        | undefined;
      const all = answer?.data ?? [];
      return all.length === count && all.every(({ sources }) => sources[0]?.status.state === 'ACTIVE');
    },
    async killed() {
      kill();
      await serve();
    },
    async close() {
      kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
