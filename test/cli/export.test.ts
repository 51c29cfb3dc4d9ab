import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import { type JsonObject, parseJson } from '../../src/contract/json/json.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { BINARY } from '../scenarios/binary.ts';
import { makeFolder, startTestService } from '../service/harness.ts';
import { addUser } from '../service/people.ts';
import { runHere, runProgram, type Variables, variablesOf } from './program.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-export-')));
const dataDir = join(base, 'data');
const out = join(base, 'out');
const env = (more: Variables = {}) => ({ ...variablesOf(base, dataDir), ...more });
let client: Client;

/** As they were written: times, integers of any length, strays, keys of no column, none of null. */
const ODD: readonly JsonObject[] = [
  {
    _id: 'a',
    _event_time: '2026-01-02T03:04:05.000000Z',
    n: 1,
    at: '2026-01-02T03:04:05+02:00',
    o: { x: [1, { y: 'z' }] },
  },
  { _id: 'b', n: 2n ** 53n + 1n, at: '2026-01-02T03:04:05+02:00', o: { k: 'v' }, gone: null },
  { _id: 'c', n: 'a stray', at: 'someday', o: 7, N: 'other case', '': 'no name', l: [1, 'two', null] },
  { _id: 'd,"', n: 2n ** 80n, text: 'l1\nl2, "q"', l: [] },
];

beforeAll(async () => {
  mkdirSync(out);
  expect((await runHere(['call', 'list_workspaces'], env())).code).toBe(0);
  const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  client = createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey });
  await client.createCollection({ workspace: 'commons', name: 'odd', recognize_times: true });
  await client.addDocuments({ workspace: 'commons', collection: 'odd', data: [...ODD] });
}, 60_000);
afterAll(async () => {
  await client.close();
  await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

const run = (...args: string[]) => runHere(['export', ...args], env());
const spooled = () => readdirSync(join(dataDir, 'exports')).filter((name) => name.startsWith('collection-'));
const documentsIn = (text: string) =>
  new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line) => {
        const document = parseJson(line) as JsonObject;
        return [document['_id'], document];
      }),
  );

describe('colloquy export', () => {
  // A full disk is simulated by a limit on the size of a process's files, which Windows does not have.
  test.skipIf(process.platform === 'win32')('says that the disk is full, and leaves nothing of the file', async () => {
    await client.createCollection({ workspace: 'commons', name: 'large' });
    const data = Array.from({ length: 100 }, () => ({ text: randomBytes(30_000).toString('hex') }));
    await client.addDocuments({ workspace: 'commons', collection: 'large', data });
    const command = ['export', 'large', '--to', join(out, 'large.jsonl')];
    const limited = ['-c', 'ulimit -f 200 && exec "$0" "$@"', process.execPath, BINARY, ...command];
    const { status, stderr } = spawnSync('bash', limited, { env: env(), encoding: 'utf8' });
    expect([status, readdirSync(out)]).toEqual([1, []]);
    expect(stderr).toContain('large.jsonl": the disk is full. Nothing is left of the file.');
    await client.deleteCollection({ workspace: 'commons', collection: 'large' });
  });

  test('prints a collection as JSON lines, exactly as its documents are, and nothing else', async () => {
    const { code, stdout, stderr } = await runProgram(['export', 'commons.odd'], env());
    expect([code, stderr]).toEqual([0, '']);
    const found = documentsIn(stdout);
    expect(found.size).toBe(ODD.length);
    for (const { gone: _, ...document } of ODD) expect(found.get(document['_id'] ?? null)).toMatchObject(document);
    expect(stdout).not.toContain('gone');
    expect(spooled()).toEqual([]);
  });

  test.each(['jsonl', 'jsonl.gz', 'parquet'])(
    'writes a file (.%s) that gives the same documents when it is loaded',
    async (kind) => {
      const name = kind.replace('.', '_');
      const path = join(out, `${name}.${kind}`);
      const { code, stdout } = await run('odd', '--to', path);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^Exported: 4 rows, .* in ".*"\.\n$/)]);
      const into = JSON.stringify({ path, collection: name });
      await client.createCollection({ workspace: 'commons', name, recognize_times: true });
      expect((await runHere(['call', 'load_file', into, '--allow-dirs', out], env())).code).toBe(0);
      const before = documentsIn((await run('odd')).stdout);
      const after = documentsIn((await run(name)).stdout);
      if (kind !== 'parquet') expect(after).toEqual(before);
      // Parquet has the types of the columns: times are as the engine spells them.
      else {
        const spelled = (one: JsonObject | undefined) => ({
          ...one,
          ...(String(one?.['at']).startsWith('2026') ? { at: '2026-01-02T01:04:05.000000Z' } : {}),
        });
        for (const [id, document] of before)
          expect(after.get(id)).toEqual('at' in document ? spelled(document) : document);
      }
    },
  );

  test('writes CSV with a header, and what is unusual in quotes', async () => {
    const { stdout } = await run('odd', '--format', 'csv');
    const [header] = stdout.split('\n', 1);
    expect(header).toMatch(/^_id,_event_time,n,at,o,/);
    expect(stdout).toContain('"d,"""');
    expect(stdout).toContain('"l1\nl2, ""q"""');
    expect(stdout).toContain('"{""x"":[1,{""y"":""z""}]}"');
    expect(stdout).toContain(',a stray,someday,7,');
  });

  test('compresses standard output if asked', async () => {
    const child = spawn(process.execPath, [BINARY, 'export', 'odd', '--gzip'], { env: env() });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe((await run('odd')).stdout);
  });

  test('exports the result of a statement, however small, and refuses one that is cut', async () => {
    expect(await run('--sql', "SELECT 1 AS n, 'x' AS t")).toMatchObject({ code: 0, stdout: '{"n":1,"t":"x"}\n' });
    expect(await run('--sql', 'SELECT 1 AS n WHERE false', '--format', 'csv')).toMatchObject({
      code: 0,
      stdout: 'n\n',
    });
    const many = await run('--sql', 'SELECT i FROM range(100000) t(i)', '--format', 'csv');
    expect(many.stdout.split('\n')).toHaveLength(100_002);
    const cut = await run('--sql', 'SELECT i FROM range(100001) t(i)', '--to', join(out, 'cut.csv'));
    expect(cut).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('more than the 100,000 rows') });
    expect(readdirSync(out)).not.toContain('cut.csv');
  });

  test('exports a kept result by its id', async () => {
    const { query_id } = await client.runQuery({ sql: { query: 'SELECT i FROM range(60) t(i)' } }, { keepResult: 5 });
    const { stdout } = await run('--result', query_id ?? '', '--format', 'csv');
    expect(stdout.split('\n')).toHaveLength(62);
  });

  test('replaces a file only if told so, and nothing that is no file', async () => {
    const path = join(out, 'there.jsonl');
    writeFileSync(path, 'mine');
    expect(await run('odd', '--to', path)).toMatchObject({ code: 1, stderr: expect.stringContaining('exists') });
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await run('odd', '--to', path, '--force')).code).toBe(0);
    expect(documentsIn(readFileSync(path, 'utf8')).size).toBe(4);
    const link = join(out, 'link.jsonl');
    symlinkSync(path, link);
    for (const to of [link, out]) expect((await run('odd', '--to', to, '--force')).code).toBe(1);
    expect(readdirSync(out).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('says what is wrong with the command line', async () => {
    for (const [args, why] of [
      [[], 'takes a collection'],
      [['odd', '--sql', 'SELECT 1'], 'one of them'],
      [['odd', '--format', 'xml'], 'expected one of csv'],
      [['odd', '--force'], 'name one with --to'],
    ] as const) {
      expect(await run(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(why) });
    }
    expect(await run('nothing')).toMatchObject({ code: 1, stderr: expect.stringContaining('does not exist') });
    expect(await run('odd', '--to', join(base, 'no/x.csv'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('folder'),
    });
    expect(await run('odd', '--to', 'x.parquet.gz')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('by itself'),
    });
  });
});

describe('colloquy export of many documents', () => {
  const many = 'many';
  beforeAll(async () => {
    await client.createCollection({ workspace: 'commons', name: many });
    for (let at = 0; at < 120_000; at += 20_000) {
      const data = Array.from({ length: 20_000 }, (_, n) => ({ _id: `d${at + n}`, text: 'x'.repeat(200) }));
      await client.addDocuments({ workspace: 'commons', collection: many, data });
    }
  }, 60_000);

  test('is not cut at the limit of results', async () => {
    const { stdout } = await runProgram(['export', many, '--format', 'csv'], env());
    expect(stdout.split('\n')).toHaveLength(120_002);
  });

  test('that is interrupted leaves no file, here or at the service', async () => {
    const child = spawn(process.execPath, [BINARY, 'export', many, '--to', join(out, 'half.jsonl.gz')], { env: env() });
    for (let part = ''; part === ''; ) {
      part = readdirSync(out).find((name) => name.startsWith('.half')) ?? '';
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    child.kill('SIGINT');
    expect((await once(child, 'close'))[0]).toBe(1);
    expect(readdirSync(out).filter((name) => name.includes('half'))).toEqual([]);
    expect(spooled()).toEqual([]);
  });

  test('whose process is killed leaves nothing of the name, and the next one cleans up', async () => {
    const to = ['--to', join(out, 'killed.jsonl.gz')];
    const child = spawn(process.execPath, [BINARY, 'export', many, ...to], { env: env() });
    while (!readdirSync(out).some((name) => name.startsWith('.killed')))
      await new Promise((resolve) => setTimeout(resolve, 2));
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(readdirSync(out)).not.toContain('killed.jsonl.gz');
    expect((await run(many, ...to)).code).toBe(0);
    expect(readdirSync(out).filter((name) => name.includes('killed'))).toEqual(['killed.jsonl.gz']);
  });

  test('whose reader goes away ends, and the service keeps nothing', async () => {
    // What was killed is fetched no more, but the service cannot know that yet.
    const before = spooled();
    const child = spawn('/bin/sh', ['-c', `${process.execPath} ${BINARY} export ${many} | head -1 | wc -l`], {
      env: env(),
    });
    const [text] = await once(child.stdout, 'data');
    await once(child, 'close');
    expect(String(text).trim()).toBe('1');
    expect(spooled()).toEqual(before);
  });
});

test('colloquy export works with a remote service, and with a key that may only read', async () => {
  const folder = await makeFolder();
  const remote = await startTestService(
    { listen: [{ host: '127.0.0.1', port: 0 }, { path: join(folder, 'service.sock') }] },
    folder,
  );
  try {
    const key = await addUser(remote, 'reader@example.com', 'read-only');
    const admin = createClient({ target: { url: remote.service.addresses[0] ?? '' }, apiKey: remote.key });
    await admin.createCollection({ workspace: 'commons', name: 'far' });
    await admin.addDocuments({ workspace: 'commons', collection: 'far', data: [{ _id: 'x', n: 1 }] });
    await admin.close();
    const there = env({ COLLOQUY_URL: remote.service.addresses[0] ?? '', COLLOQUY_API_KEY: key });
    const { stdout } = await runHere(['export', 'far', '--format', 'csv'], there);
    expect(stdout).toMatch(/^_id,_event_time,n\nx,\S+Z,1\n$/);
    expect(readdirSync(join(remote.folder, 'exports'))).toEqual([]);
  } finally {
    await remote.remove();
  }
});
