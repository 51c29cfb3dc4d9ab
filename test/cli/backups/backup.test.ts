import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { createClient } from '../../../src/http/client.ts';
import { probe } from '../../../src/local/probe.ts';
import { longTest } from '../../long.ts';
import { BINARY } from '../../scenarios/binary.ts';
import {
  HAS_TERMINALS,
  outcomeOf,
  runHere,
  runProgram,
  startOnTerminal,
  type Variables,
  variablesOf,
} from '../program.ts';

const place = { workspace: 'commons', collection: 'docs' };

let base = '';
let dataDir = '';
let goal = '';

/** A backup of two documents, and the folder that it was made of, which a service serves. */
const shared = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-backups-')));
const sample = join(shared, 'sample');
const served = join(shared, 'data');
beforeAll(async () => {
  base = shared;
  dataDir = served;
  await (await fill(3_000_000)).close();
  expect(await runProgram(['backup', sample], env())).toMatchObject({ code: 0, stderr: '' });
}, 60_000);
afterAll(async () => {
  await leaveService(served, { startMs: 0 });
  rmSync(shared, { recursive: true, force: true, maxRetries: 5 });
});

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-backup-')));
  dataDir = join(base, 'data');
  goal = join(base, 'kept');
});
afterEach(async () => {
  if (dataDir !== served) await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

const env = () => variablesOf(base, dataDir);
const run = (args: string[], more: Variables = {}) => runHere(args, { ...env(), ...more });

function connect() {
  const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  return createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey });
}

async function fill(chars = 10) {
  expect((await run(['call', 'list_workspaces'])).code).toBe(0);
  const client = connect();
  await client.createCollection({ workspace: 'commons', name: 'docs' });
  // Text that does not compress.
  const text = randomBytes(chars / 2).toString('hex');
  await client.addDocuments({ ...place, data: [{ _id: 'a', n: 1, text }, { _id: 'b' }] });
  return client;
}

async function count(): Promise<number> {
  const { stdout } = await run(['call', 'run_query', '{"query":"SELECT count(*) AS n FROM docs"}']);
  return Number(/"rows":\[\[(\d+)\]\]/.exec(stdout)?.[1]);
}
const asides = () => readdirSync(dataDir).filter((name) => name.startsWith('before-restore-'));
const hidden = () => readdirSync(base).filter((name) => name.startsWith('.'));

describe('colloquy backup and restore', () => {
  test.runIf(HAS_TERMINALS)('draws how far a restore is on a terminal', async () => {
    const drawn = startOnTerminal(['restore', '--yes', sample], env());
    const { stdout } = await outcomeOf(drawn);
    expect(stdout).toMatch(/\[#+-+\] \d+% copying and checking/);
    // The progress bar is erased.
    expect(stdout).toContain('\u001b[KRestored into');
  });

  test('brings back what was stored, keys and all, and can be undone', { timeout: 90_000 }, async () => {
    const client = await fill();
    const made = await run(['backup', goal]);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^Backup made: 2 documents in 1 collection, [\d.]+ kB, in "/);
    const names = ['_colloquy.duckdb', '_colloquy.duckdb.wal', 'admin.key', 'manifest.json'];
    expect(readdirSync(goal).sort()).toEqual(names);
    for (const name of names) expect(statSync(join(goal, name)).mode & 0o077).toBe(0);
    const key = readFileSync(join(dataDir, 'admin.key'), 'utf8');
    await client.addDocuments({ ...place, data: [{ _id: 'c' }] });
    await client.close();

    const refused = await run(['restore', goal, '--yes']);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/a service \(process \d+\) runs.*colloquy stop/),
    });
    await run(['stop']);
    expect(await run(['restore', goal])).toMatchObject({ code: 1, stderr: expect.stringContaining('Add --yes') });
    expect(asides()).toEqual([]);

    writeFileSync(join(dataDir, 'admin.key'), 'changed since\n');
    const restored = await run(['restore', goal, '--yes']);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/^Restored into ".*": 2 documents in 1 collection/);
    const [, undo = ''] = /To undo: colloquy stop, then colloquy restore "(.*)"/.exec(restored.stdout) ?? [];
    expect(await count()).toBe(2);
    expect(readFileSync(join(dataDir, 'admin.key'), 'utf8')).toBe(key);
    await run(['stop']);

    const undone = await run(['restore', undo, '--yes']);
    expect(undone.code).toBe(0);
    expect(undone.stdout).toMatch(/^Restored into ".*": 3 documents in 1 collection, /);
    expect(await count()).toBe(3);
    expect(asides()).toHaveLength(2);
  });

  test('restores into a folder that holds nothing, without a question', async () => {
    expect(await run(['restore', join(sample, 'manifest.json')])).toMatchObject({ code: 0, stderr: '' });
    expect(await count()).toBe(2);
    expect(asides()).toEqual([]);
  });

  test('counts what is in the trash apart', async () => {
    dataDir = served;
    const client = connect();
    await client.createCollection({ workspace: 'commons', name: 'gone' });
    await client.addDocuments({ workspace: 'commons', collection: 'gone', data: [{}, {}] });
    await client.deleteCollection({ workspace: 'commons', collection: 'gone' });
    await client.deleteDocuments({ ...place, data: [{ _id: 'b' }] });
    await client.close();
    const held = '1 document in 1 collection, and 3 documents in the trash, ';
    expect((await run(['backup', goal])).stdout).toContain(`Backup made: ${held}`);
    dataDir = join(base, 'data');
    expect((await run(['restore', goal])).stdout).toContain(`": ${held}`);
  });

  test('leaves no folder behind where nothing was restored', async () => {
    dataDir = join(base, 'new', 'data');
    const missing = await run(['restore', join(base, 'nowhere'), '--yes']);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('nowhere": it does not exist.') });
    cpSync(sample, goal, { recursive: true });
    flip('_colloquy.duckdb', 5_000);
    expect((await run(['restore', goal, '--yes'])).stderr).toContain('Nothing was changed');
    expect(existsSync(join(base, 'new'))).toBe(false);
  });

  test('refuses a goal that exists, and one that cannot be', async () => {
    dataDir = served;
    mkdirSync(goal);
    expect(await run(['backup', goal])).toMatchObject({ code: 1, stderr: expect.stringContaining('it exists') });
    expect(readdirSync(goal)).toEqual([]);
    expect(await run(['backup', join(base, 'no', 'where')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`there is no folder "${join(base, 'no')}"`),
    });
    for (const command of ['backup', 'restore']) {
      const elsewhere = { COLLOQUY_URL: 'https://example.com', COLLOQUY_API_KEY: 'x' };
      expect(await run([command, join(base, 'x')], elsewhere)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('at the machine of the service only'),
      });
    }
    expect(hidden()).toEqual([]);
  });

  test.each([
    [
      'a flipped bit',
      () => flip('_colloquy.duckdb', 5_000),
      /"_colloquy\.duckdb" is not what was backed up \(its SHA-256/,
    ],
    [
      'a file cut short',
      () => writeFileSync(join(goal, '_colloquy.duckdb.wal'), 'x'),
      /"_colloquy\.duckdb\.wal" .*it has 1 byte/,
    ],
    ['a missing file', () => rmSync(join(goal, 'admin.key')), /its file "admin\.key" is missing/],
    ['no manifest', () => rmSync(join(goal, 'manifest.json')), /it is no whole backup/],
    [
      'half a manifest',
      () => writeFileSync(join(goal, 'manifest.json'), '{"format": 1'),
      /manifest\.json cannot be read/,
    ],
    ['other counts', () => edit({ counts: { ...countsOf(), documents: 3 } }), /it holds 2 documents, not 3/],
    [
      'a newer schema',
      () => edit({ stored_version: 999 }),
      /schema version is 999, .* newer .* Install a newer colloquy/,
    ],
    ['an older schema', () => edit({ stored_version: 10 }), /schema version is 10, .* development version/],
    ['a newer layout', () => edit({ format: 2 }), /its layout has version 2/],
    [
      'a file of another folder',
      () => edit({ files: [{ name: '../x', bytes: 0, sha256: '0'.repeat(64) }] }),
      /cannot be read/,
    ],
  ])('refuses a backup with %s, and changes nothing', { timeout: 60_000 }, async (_, damage, why) => {
    cpSync(sample, goal, { recursive: true });
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, '_colloquy.duckdb'), 'what is stored now');
    damage();
    const refused = await run(['restore', goal, '--yes']);
    expect(refused.stderr).toMatch(why);
    expect(refused.code).toBe(1);
    expect(readdirSync(dataDir)).toEqual(['_colloquy.duckdb']);
    expect(readFileSync(join(dataDir, '_colloquy.duckdb'), 'utf8')).toBe('what is stored now');
  });

  // A full disk is simulated by a limit on the size of a process's files, which Windows does not have.
  (process.platform === 'win32' ? test.skip : longTest)(
    'on a full disk: says so, removes its part, and the service goes on',
    { timeout: 60_000 },
    async () => {
      await (await fill(3_000_000)).close();
      await run(['stop']);
      const limited = ['-c', 'ulimit -f 1024 && exec "$0" "$@"', process.execPath, BINARY, 'call', 'list_workspaces'];
      expect(spawnSync('bash', limited, { env: env() }).status).toBe(0);
      const full = await run(['backup', goal]);
      expect(full).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/Cannot make the backup ".*kept": the disk is full/),
      });
      expect(existsSync(goal)).toBe(false);
      expect(hidden()).toEqual([]);
      // It has no room to note that a log belongs to the file, so it takes no change, and says why.
      const client = connect();
      await expect(client.addDocuments({ ...place, data: [{ _id: 'c' }] })).rejects.toThrow(/full/);
      await client.close();
      expect(await count()).toBe(2);
    },
  );

  test('nothing begins anew where a restore was killed between its two moves', async () => {
    expect((await run(['restore', sample])).code).toBe(0);
    const [staged, aside] = ['restoring-x', 'before-restore-x'].map((name) => join(dataDir, name));
    const moved = ['_colloquy.duckdb', 'admin.key'];
    for (const path of [staged ?? '', aside ?? '']) mkdirSync(path);
    for (const name of moved) renameSync(join(dataDir, name), join(aside ?? '', name));
    const refused = await run(['call', 'list_collections']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/has moved what was stored into "before-restore-x".*move those files back/);
    expect(existsSync(join(dataDir, '_colloquy.duckdb'))).toBe(false);
    for (const name of moved) renameSync(join(aside ?? '', name), join(dataDir, name));
    expect(await count()).toBe(2);
    // Killed behind them: an empty folder is left.
    expect(existsSync(staged ?? '')).toBe(false);
  });

  test('nothing begins with other keys where a restore was killed behind the database', async () => {
    expect((await run(['restore', sample])).code).toBe(0);
    const [staged, aside] = ['restoring-x', 'before-restore-x'].map((name) => join(dataDir, name));
    for (const path of [staged ?? '', aside ?? '']) mkdirSync(path);
    renameSync(join(dataDir, 'admin.key'), join(staged ?? '', 'admin.key'));
    const refused = await run(['call', 'list_collections']);
    expect([refused.code, existsSync(join(dataDir, 'admin.key'))]).toEqual([1, false]);
    expect(refused.stderr).toMatch(/has moved what was stored into "before-restore-x"/);
  });

  longTest('a service that is killed leaves no half backup under its name', { timeout: 60_000 }, async () => {
    const client = await fill(9_000_000);
    const found = await probe(join(dataDir, 'service.sock'));
    if (found.state !== 'ready') throw new Error(`the service is ${found.state}`);
    const made = client.createBackup({ path: goal }).catch(() => undefined);
    while ((await client.listRunningBackups({})).length === 0 && !existsSync(goal)) {
      // Wait until the backup has begun.
    }
    process.kill(found.pid, 'SIGKILL');
    await made;
    await client.close();
    // It may be complete by then; if so, it can be restored.
    if (existsSync(goal)) expect(await run(['restore', goal, '--yes'])).toMatchObject({ code: 0, stderr: '' });
    expect(await count()).toBe(2);
  });
});

function flip(name: string, at: number): void {
  const bytes = readFileSync(join(goal, name));
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(join(goal, name), bytes);
}

function countsOf(): object {
  return JSON.parse(readFileSync(join(goal, 'manifest.json'), 'utf8')).counts;
}

function edit(fields: object): void {
  const file = join(goal, 'manifest.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...fields }));
}
