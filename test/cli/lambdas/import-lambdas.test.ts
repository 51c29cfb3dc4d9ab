import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { importAll } from '../../../src/cli/lambdas/import-lambdas.ts';
import { readLambdas } from '../../../src/cli/lambdas/lambda-exports.ts';
import { withService } from '../../../src/cli/person.ts';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { readInvocation } from '../../../src/commands.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Client } from '../../../src/http/client.ts';
import type { Config } from '../../../src/settings.ts';
import { BINARY } from '../../scenarios/binary.ts';
import { runHere, runProgram, variablesOf } from '../program.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-import-')));
const env = variablesOf(base, join(base, 'data'));
let folder = '';
let count = 0;

beforeEach(() => {
  count += 1;
  folder = join(base, `export-${count}`);
});
afterAll(async () => {
  await leaveService(join(base, 'data'), { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

function write(name: string, content: unknown): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** A lambda as the hosted service's command-line tool keeps it. */
function writeLambda(path: string, sql: string, config = {}): void {
  const name = path.split('/').at(-1);
  write(`${path}.lambda.json`, { sql_path: `__sql/${name}.sql`, default_parameters: [], description: '', ...config });
  write(`${dirname(path)}/__sql/${name}.sql`, sql);
}

const run = (...args: string[]) => runHere(['import-lambdas', ...args], env);

async function call(tool: string, input: object) {
  const { stdout, stderr } = await runHere(['call', tool, JSON.stringify(input)], env);
  expect(stderr).toBe('');
  return stdout;
}

beforeAll(async () => {
  // Stays for the tests.
  await runHere(['call', 'create_collection', '{"workspace":"commons","name":"orders"}'], {
    ...env,
    COLLOQUY_IDLE_SECS: '0',
  });
});

test('a folder of the command-line tool becomes lambdas and their workspaces, once', async () => {
  write('rockset.config.json', { source_root: 'src' });
  const least = [{ name: 'least', type: 'int', value: '5' }];
  writeLambda('src/shop/eu/top', 'SELECT * FROM commons.orders WHERE 1 > :least', {
    default_parameters: least,
    description: 'd',
  });
  writeLambda('src/shop/later', 'SELECT * FROM commons.nowhere');
  writeLambda('src/shop/broken', 'SELEC 1');
  const dry = await run(folder, '--dry-run');
  expect(dry.stdout).toMatch(/^shop\.broken {2}refused: .*SELEC.*$/m);
  expect(dry.stdout).toMatch(
    /^3 lambdas: 2 versions would be new, 1 of them does not bind yet, .* 1 was refused\. Nothing was changed\.$/m,
  );
  expect(await call('list_lambdas', {})).not.toContain('shop');

  const first = await runProgram(['import-lambdas', folder], env);
  expect(first).toMatchObject({ code: 1, stderr: '' });
  expect(first.stdout).toMatch(/^shop\.eu {2}is a new workspace$/m);
  expect(first.stdout).toMatch(/^shop\.eu\.top {2}new as [0-9a-f]{16}$/m);
  expect(first.stdout).toMatch(/^shop\.later {2}new as [0-9a-f]{16}; does not bind yet: .*nowhere.*$/m);
  expect(first.stdout).toMatch(/^shop\.broken {2}refused: .*SELEC.*$/m);
  expect(first.stdout).toContain(
    '3 lambdas: 2 versions are new, 1 of them does not bind yet, 0 were there, 1 was refused.',
  );
  const made = await call('get_lambda_tag', { workspace: 'shop.eu', queryLambda: 'top', tag: 'latest' });
  expect(made).toContain('"least"');

  const again = await run(folder);
  expect(again.stdout).toMatch(/^shop\.eu\.top {2}is there as [0-9a-f]{16}$/m);
  expect(again.stdout).toContain('3 lambdas: 0 versions are new, 2 were there, 1 was refused.');
});

const version = (n: number, fields = {}) => ({
  workspace: 'history',
  name: 'h',
  version: `old${n}`,
  created_at: `2024-01-0${n}T00:00:00Z`,
  created_by: 'a@example.com',
  collections: ['commons.orders'],
  sql: { query: `SELECT ${n} AS n`, default_parameters: [] },
  stats: null,
  ...fields,
});

test('the versions of an answer are made from the oldest on, and latest is the newest', async () => {
  const file = write('versions.json', { data: [version(3), version(2), version(1)] });
  const { code, stdout } = await run(file);
  expect(code).toBe(0);
  expect(stdout.match(/old\d {2}new as/g)).toEqual(['old1  new as', 'old2  new as', 'old3  new as']);
  const latest = () => call('execute_lambda_tag', { workspace: 'history', queryLambda: 'h', tag: 'latest' });
  expect(await latest()).toContain('[[3]]');
  // What was made here since stays the latest, also if other versions come.
  await call('create_lambda_version', { workspace: 'history', queryLambda: 'h', sql: { query: 'SELECT 9 AS n' } });
  const more = write('more.json', { data: [version(5), version(4), version(1)] });
  const stays = /^history\.h {2}the tag "latest" stays at [0-9a-f]{16}$/m;
  const end = '1 was there, 0 were refused.';
  const dry = await run(more, '--dry-run');
  expect(dry.stdout).toMatch(stays);
  expect(dry.stdout).toContain(`1 lambda: 2 versions would be new, ${end}`);
  const added = await run(more);
  expect(added.stdout).toMatch(stays);
  expect(added.stdout).toContain(`1 lambda: 2 versions are new, ${end}`);
  expect(await latest()).toContain('[[9]]');
});

/** An import whose service cannot be reached at the posts of these queries; the answer of the first is lost behind it. */
async function endEarly(file: string, queries: readonly string[]) {
  const { config } = readInvocation(['doctor'], { ...env }) as { config: Config };
  const read = await readLambdas(file);
  return withService(config, BINARY, (client) => {
    const createLambdaVersion: Client['createLambdaVersion'] = async (input, options) => {
      const at = queries.indexOf(input.sql?.query ?? '');
      if (at > 0) throw new ApiError('connection_failed', 'The service did not answer.');
      const made = await client.createLambdaVersion(input, options);
      if (at === 0) throw new ApiError('connection_failed', 'The answer was lost.');
      return made;
    };
    return importAll({ ...client, createLambdaVersion }, read, false);
  });
}

test('an import that ends early leaves latest where it was, or names what to post again', async () => {
  const lambda = { workspace: 'history', queryLambda: 'early' };
  await call('create_lambda_version', { ...lambda, create: true, sql: { query: 'SELECT 9 AS n' } });
  const of = (n: number) => version(n, { name: 'early' });
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    const early = endEarly(write('early.json', [of(3), of(2), of(1)]), ['SELECT 2 AS n']);
    await expect(early).rejects.toThrow('The answer was lost.');
    const latest = await call('get_lambda_tag', { ...lambda, tag: 'latest' });
    expect(latest).toContain('SELECT 9 AS n');
    const late = endEarly(write('late.json', [of(3)]), ['SELECT 3 AS n', 'SELECT 9 AS n']);
    await expect(late).rejects.toThrow('The service did not answer.');
    const texts = said.mock.calls.map(([text]) => String(text)).join('');
    expect(texts).toMatch(/^history\.early {2}[0-9a-f]{16} {2}may have lost the tag "latest".*: post it again$/m);
  } finally {
    said.mockRestore();
  }
});

test('the tags of an answer are added, and none is moved', async () => {
  const tagged = (name: string, of: object) => ({ tag_name: name, version: of });
  const [one, two] = [version(1, { name: 't' }), version(2, { name: 't' })];
  const first = write('tags.json', { data: [tagged('latest', two), tagged('prod', one), tagged('test', two)] });
  const { code, stdout } = await run(first);
  expect([code, stdout.match(/the tag .*? at/g)]).toEqual([
    0,
    ['the tag "prod" is new at', 'the tag "test" is new at'],
  ]);
  expect(stdout).toContain('1 lambda: 2 versions are new');
  const moved = write('moved.json', [tagged('prod', two), tagged('next', two)]);
  const at = async (tag: string) =>
    /"version":"([0-9a-f]{16})"/.exec(
      await call('get_lambda_tag', { workspace: 'history', queryLambda: 't', tag }),
    )?.[1];
  const stays = `the tag "prod" stays at ${await at('prod')}; in the export it is at ${await at('test')}`;
  const end = '1 tag stays at another version than in the export.';
  const dry = (await run(moved, '--dry-run')).stdout;
  for (const text of [stays, end, 'the tag "next" would be new at']) expect(dry).toContain(text);
  const done = (await run(moved)).stdout;
  for (const text of [stays, end, 'the tag "next" is new at']) expect(done).toContain(text);
});

test('the latest version of a new lambda is that of the export, whichever was made last', async () => {
  const [one, two] = [version(1, { name: 'back' }), version(2, { name: 'back' })];
  const { stdout } = await run(write('all.json', [two, one, { tag_name: 'latest', version: one }]));
  expect(stdout).toContain('1 lambda: 2 versions are new, 0 were there, 0 were refused.');
  expect(await call('execute_lambda_tag', { workspace: 'history', queryLambda: 'back', tag: 'latest' })).toContain(
    '[[1]]',
  );
});

test('a list of lambdas has their latest versions', async () => {
  const lambda = {
    workspace: 'listed',
    name: 'l',
    version_count: 1,
    latest_version: version(1, { workspace: 'listed', name: 'l' }),
  };
  const { stdout } = await run(write('lambdas.json', { data: [lambda, { workspace: 'listed', name: 'x' }] }));
  expect(stdout).toMatch(/^listed\.l {2}old1 {2}new as/m);
  expect(stdout).toMatch(/^entry 2 {2}refused: "sql": /m);
});

test.each([
  ['a file that is no JSON', () => write('a.json', '{"data"'), /a\.json" is no JSON: /],
  ['an answer without lambdas', () => write('b.json', { data: [] }), /There is no lambda in /],
  [
    'a folder without lambdas',
    () => dirname(write('c/d.json', {})),
    /There is no file \*\.lambda\.json in .*, and no lambdas\.json\. /,
  ],
  [
    'a project whose settings are no JSON',
    () => dirname(write('rockset.config.json', '{') && write('ws.lambda.json', {})),
    /rockset\.config\.json" is no JSON: /,
  ],
  ['a path that is not there', () => join(folder, 'nothing'), /Cannot read .*ENOENT/],
])('%s is refused', async (_, make, why) => {
  const { code, stdout, stderr } = await run(make());
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(why);
});

test('SQL is read from within the folder only', async () => {
  const secret = join(base, 'secret.txt');
  writeFileSync(secret, 'SELECT 7 AS hidden');
  write('ws/a.lambda.json', { sql_path: '../../secret.txt' });
  write('ws/b.lambda.json', { sql_path: 'link.sql' });
  symlinkSync(secret, join(folder, 'ws/link.sql'));
  const { stdout } = await run(folder);
  for (const file of ['a', 'b'])
    expect(stdout).toMatch(new RegExp(`^ws/${file}.* refused: its sql_path .* leads out`, 'm'));
  expect(await call('list_lambdas', {})).not.toContain('hidden');
});
