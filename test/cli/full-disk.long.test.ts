import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { probe } from '../../src/local/probe.ts';
import { variablesOf } from './program.ts';

const BIN = resolve(import.meta.dirname, '../../dist/colloquy.js');

let base = '';
let dataDir = '';

/** Calls a tool; with `isFull`, on a full disk, simulated by a file size limit of 0 bytes. */
function call(tool: string, input: object, isFull: boolean): Promise<{ code: number; stdout: string; stderr: string }> {
  const limit = isFull ? 'ulimit -f 0 && ' : '';
  const args = ['-c', `${limit}exec "$0" "$@"`, process.execPath, BIN, 'call', tool, JSON.stringify(input)];
  const env = variablesOf(base, dataDir);
  return new Promise((done) => {
    execFile('bash', args, { env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** A request to the service that runs, and what its answer says. */
async function raw(method: 'POST', path: string, body: object) {
  const agent = new Agent({ connect: { socketPath: join(dataDir, 'service.sock') } });
  try {
    const authorization = `ApiKey ${readFileSync(join(dataDir, 'admin.key'), 'utf8').trim()}`;
    const answer = await request(`http://localhost${path}`, {
      dispatcher: agent,
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, retryAfter: answer.headers['retry-after'], body: await answer.body.json() };
  } finally {
    await agent.close();
  }
}

const servicePid = async () => {
  const found = await probe(join(dataDir, 'service.sock'));
  return found.state === 'ready' ? found.pid : undefined;
};

async function killService(): Promise<void> {
  const pid = await servicePid();
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-full-')));
  dataDir = join(base, 'data');
});

afterEach(async () => {
  await killService();
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

// A full disk is simulated by a limit on the size of a process's files, which Windows does not have.
describe.runIf(process.platform !== 'win32')('the local service on a full disk', () => {
  test('starts, reads, refuses to write and says where the disk is full, and stays', { timeout: 60_000 }, async () => {
    const docs = { workspace: 'commons', collection: 'docs' };
    await call('create_collection', { workspace: 'commons', name: 'docs' }, false);
    expect(await call('add_documents', { ...docs, data: [{ a: 1 }, { a: 2 }] }, false)).toMatchObject({ code: 0 });
    await killService();
    const log = readFileSync(join(dataDir, 'service.log'), 'utf8');

    const read = await call('run_query', { query: 'SELECT sum(a)::INT AS total FROM docs' }, true);
    expect(read).toMatchObject({ code: 0, stdout: expect.stringMatching(/\[3\]|"total":3/) });
    const pid = await servicePid();
    expect(existsSync(join(dataDir, 'spawn.lock'))).toBe(false);
    for (let round = 0; round < 3; round++) {
      const refused = await call('add_documents', { ...docs, data: [{ a: 4 }] }, true);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`the disk of the data folder "${dataDir}" is full`),
      });
    }
    expect(await raw('POST', '/v1/orgs/self/ws/commons/collections/docs/docs', { data: [{ a: 5 }] })).toEqual({
      status: 507,
      retryAfter: undefined,
      body: expect.objectContaining({
        type: 'STORAGEFULL',
        message: expect.stringContaining('Nothing of it is stored'),
      }),
    });
    expect(await call('run_query', { query: 'SELECT sum(a)::INT AS total FROM docs' }, true)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\[3\]|"total":3/),
    });
    expect(await servicePid()).toBe(pid);
    expect(readFileSync(join(dataDir, 'service.log'), 'utf8')).toBe(log);
  });

  test('says so, at once, where it has never been before', { timeout: 60_000 }, async () => {
    const before = performance.now();
    const refused = await call('list_workspaces', {}, true);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`"${dataDir}": the disk of this data folder is full`),
    });
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});
