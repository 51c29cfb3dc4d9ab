import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { runHere, variablesOf } from './program.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-export-all-')));
const folders = [join(base, 'from'), join(base, 'to')] as const;
const out = join(base, 'out');
const clients: Client[] = [];

const run = (dataDir: string, ...args: string[]) => runHere(args, variablesOf(base, dataDir));

beforeAll(async () => {
  for (const dataDir of folders) {
    expect((await run(dataDir, 'call', 'list_workspaces')).code).toBe(0);
    const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
    clients.push(createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey }));
  }
}, 60_000);
afterAll(async () => {
  for (const client of clients) await client.close();
  for (const dataDir of folders) await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

const jsonOf = (name: string) => JSON.parse(readFileSync(join(out, name), 'utf8')).data;

test('everything goes into a folder, and from there into another service', async () => {
  const [from, to] = clients as [Client, Client];
  for (const name of ['shop', 'shop.eu']) await from.createWorkspace({ name });
  for (const [workspace, name] of [
    ['commons', 'odd'],
    ['shop.eu', 'orders'],
  ] as const) {
    await from.createCollection({ workspace, name });
    await from.addDocuments({ workspace, collection: name, data: [{ _id: name, n: 2n ** 53n + 1n }] });
  }
  await from.createAlias({ workspace: 'commons', name: 'now', collections: ['shop.eu.orders'] });
  const place = { workspace: 'shop.eu', queryLambda: 'top' };
  const parameters = [
    { name: 'a', type: 'int', value: '3' },
    { name: 'b', type: 'string', value: null },
    { name: 'c', type: 'string' },
  ] as const;
  const sql = (n: number) => ({ query: `SELECT ${n}, :a, :b, :c FROM now`, default_parameters: [...parameters] });
  const { version } = await from.createLambda({ workspace: 'shop.eu', name: 'top', description: 'd1', sql: sql(1) });
  await from.tagLambdaVersion({ ...place, tag_name: 'live', version: version ?? '' });
  await from.createLambdaVersion({ ...place, description: 'd2', sql: sql(2) });
  // Back to the first one.
  await from.createLambdaVersion({ ...place, description: 'd1', sql: sql(1) });

  const done = await run(folders[0], 'export', '--all', '--to', out);
  expect([done.code, done.stderr]).toEqual([0, '']);
  expect(done.stdout).toMatch(/^Exported: 2 collections, 2 documents, \d+ B; 1 lambda and settings, in ".*out"\.\n$/);
  expect(readdirSync(out).sort()).toEqual([
    'aliases.json',
    'collections.json',
    'commons',
    'integrations.json',
    'lambdas.json',
    'shop.eu',
    'workspaces.json',
  ]);
  expect(readFileSync(join(out, 'shop.eu', 'orders.jsonl'), 'utf8')).toMatch(
    /^\{"_id":"orders",.*"n":9007199254740993\}\n$/,
  );
  expect(jsonOf('aliases.json')).toMatchObject([{ name: 'now', collections: ['shop.eu.orders'] }]);

  expect((await run(folders[1], 'import-lambdas', out)).code).toBe(0);
  const versionsIn = async (client: Client) =>
    (await client.listLambdaVersions(place)).map((one) => [one.description, one.sql]);
  expect(await versionsIn(to)).toEqual(await versionsIn(from));
  const tagsIn = async (client: Client) =>
    (await client.listLambdaTags(place)).map(({ tag_name, version: tagged }) => [tag_name, tagged?.description]);
  expect(await tagsIn(to)).toEqual([
    ['latest', 'd1'],
    ['live', 'd1'],
  ]);
}, 60_000);

test('a folder that has something is left alone, and what makes no sense is refused', async () => {
  const full = join(base, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'mine'), 'x');
  const refused = await run(folders[0], 'export', '--all', '--to', full);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toContain('it is not empty. Name a new folder.');
  expect(readdirSync(full)).toEqual(['mine']);
  for (const args of [
    ['--all'],
    ['--all', '--to', '-'],
    ['--all', 'odd', '--to', full],
    ['--all', '--to', full, '--force'],
  ])
    expect((await run(folders[0], 'export', ...args)).code).toBe(2);
});
