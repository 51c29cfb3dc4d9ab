import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import type { Client } from '../../../src/http/client.ts';
import { connectLocal } from '../../../src/local/connect.ts';
import { type Presence, probe } from '../../../src/local/probe.ts';
import { longTest } from '../../long.ts';
import { variablesOf } from '../program.ts';

const BIN = resolve(import.meta.dirname, '../../../dist/colloquy.js');
const PLACE = { workspace: 'commons', collection: 'notes' };

let base = '';
let dataDir = '';
const children: ChildProcess[] = [];
const clients: Client[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-take-')));
  dataDir = join(base, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const child of children.splice(0)) await kill(child);
  await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 20 });
});

const env = () => variablesOf(base, dataDir);

function run(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [BIN, ...args], { env: env(), stdio: 'ignore' });
  children.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** As a chat connects; it starts a service if there is none. */
async function chat(): Promise<Client> {
  const { PATH, HOME, COLLOQUY_THREADS } = env();
  const options = { dataDir, bin: BIN, program: { version: '0.0.0' }, env: { PATH, HOME, COLLOQUY_THREADS } };
  const client = await connectLocal({ ...options, log: { info() {} }, timeoutMs: 60_000 });
  clients.push(client);
  return client;
}

async function until(wanted: (found: Presence) => boolean): Promise<Presence> {
  for (const endsAt = performance.now() + 30_000; ; await sleep(20)) {
    const found = await probe(join(dataDir, 'service.sock'));
    if (wanted(found)) return found;
    if (performance.now() > endsAt) throw new Error(`it stays ${JSON.stringify(found)}`);
  }
}
const isServe = (found: Presence) => found.state === 'ready' && found.isForeground;
const pidOf = (found: Presence) => (found.state === 'ready' ? found.pid : 0);

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

describe('colloquy serve', () => {
  test('takes the place of a local service, and no call fails', { timeout: 90_000 }, async () => {
    const client = await chat();
    await client.createCollection({ workspace: 'commons', name: 'notes' });
    let isOver = false;
    let written = 0;
    const load = Array.from({ length: 3 }, async (_, caller) => {
      for (; !isOver; written++) {
        await client.addDocuments({ ...PLACE, data: [{ caller }] });
        await client.runQuery({ sql: { query: 'SELECT count(*) FROM notes' } });
      }
    });
    run(['serve']);
    await until(isServe);
    const before = written;
    while (written < before + 20) await sleep(10);
    isOver = true;
    await Promise.all(load);
    const { results } = await client.runQuery({ sql: { query: 'SELECT count(*) AS n FROM notes' } });
    expect(results).toEqual([{ n: written }]);
  });

  test('leaves a local service alone if its own port is taken', { timeout: 60_000 }, async () => {
    await chat();
    const before = pidOf(await until(({ state }) => state === 'ready'));
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    expect(await exitCode(run(['serve', '--port', String(port)]))).toBe(1);
    expect(await probe(join(dataDir, 'service.sock'))).toMatchObject({
      state: 'ready',
      pid: before,
      isForeground: false,
    });
    other.close();
  });

  longTest('starts again after a kill while backups are being made beside it', { timeout: 180_000 }, async () => {
    run(['serve']);
    let served = pidOf(await until(isServe));
    const client = await chat();
    await client.createCollection({ workspace: 'commons', name: 'notes' });
    await client.addDocuments({ ...PLACE, data: [{ n: 1 }] });
    for (let round = 0; round < 5; round++) {
      const serving = children[children.length - 1] as ChildProcess;
      const backup = spawn(process.execPath, [BIN, 'backup', join(base, `kept${round}`)], {
        env: env(),
        stdio: 'ignore',
      });
      // At a moment between its start and its end.
      await sleep(100 + round * 120);
      await kill(serving);
      await sleep(round * 150);
      run(['serve']);
      const before = served;
      served = pidOf(await until((found) => isServe(found) && pidOf(found) !== before));
      // Cut off by the kill it fails; otherwise it was made, by whichever service.
      expect([0, 1]).toContain(await exitCode(backup));
    }
  });
});

describe('a service that a command started for itself', () => {
  test('leaves when the command is done', { timeout: 60_000 }, async () => {
    expect(await exitCode(run(['trash', 'list']))).toBe(0);
    // Not by asking it, which would keep it: its socket goes first.
    for (const endsAt = performance.now() + 5_000; existsSync(join(dataDir, 'service.sock')); await sleep(20)) {
      expect(performance.now()).toBeLessThan(endsAt);
    }
  });

  longTest('stays if others have called meanwhile', { timeout: 60_000 }, async () => {
    const command = run(['doctor']);
    const found = await until(({ state }) => state === 'ready');
    const client = await chat();
    await client.getCurrentUser({});
    await exitCode(command);
    await sleep(2_000);
    expect(await probe(join(dataDir, 'service.sock'))).toEqual(found);
  });
});
