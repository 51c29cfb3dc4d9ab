import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import { trash } from '../../src/cli/trash.ts';
import { readConfig } from '../../src/config.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { BINARY } from '../scenarios/binary.ts';
import { runHere, runProgram, type Variables, variablesOf } from './program.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-trash-')));
const place = { workspace: 'commons', collection: 'docs' };
afterAll(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));

const env = (dataDir: string, more: Variables = {}) => ({ ...variablesOf(base, dataDir), ...more });

/** Starts the service of a folder, and connects to it as its operator, with the admin key. */
async function connect(dataDir: string, more?: Variables): Promise<Client> {
  expect((await runHere(['call', 'list_workspaces'], env(dataDir, more))).code).toBe(0);
  const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  return createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey });
}

/** Three documents, two of which are in the trash. */
async function fill(client: Client): Promise<void> {
  await client.createCollection({ workspace: 'commons', name: 'docs' });
  await client.addDocuments({ ...place, data: [{ _id: 'a\u001b[31m' }, { _id: 'b' }, { _id: 'c' }] });
  await client.deleteDocuments({ ...place, data: [{ _id: 'a\u001b[31m' }, { _id: 'b' }] });
}

describe('colloquy trash', () => {
  const dataDir = join(base, 'data');
  let client: Client;
  beforeAll(async () => {
    client = await connect(dataDir);
  }, 60_000);
  afterEach(async () => {
    await client.deleteCollection(place).catch(() => undefined);
    await client.emptyTrash({});
  });
  afterAll(async () => {
    await client.close();
    await leaveService(dataDir, { startMs: 0 });
  });

  const run = (...args: string[]) => runHere(['trash', ...args], env(dataDir));
  const listed = async () => (await run('list')).stdout;
  const idOf = async (kind: string) =>
    (await listed())
      .split('\n')
      .find((line) => line.includes(kind))
      ?.split(' ')[0] ?? '';

  test('restores a version, and says what of it does not come back', async () => {
    const lambda = { workspace: 'commons', queryLambda: 'l' };
    const post = async (n: number) => {
      const sql = { query: `SELECT ${n} AS n` };
      return (await client.createLambdaVersion({ ...lambda, create: true, sql })).version ?? '';
    };
    const [first, second] = [await post(1), await post(2)];
    await client.tagLambdaVersion({ ...lambda, tag_name: 'live', version: first });
    await client.deleteLambdaVersion({ ...lambda, version: first });
    await client.tagLambdaVersion({ ...lambda, tag_name: 'live', version: second });
    expect(await run('restore', await idOf('lambda version'))).toEqual({
      code: 0,
      stdout: `Restored: lambda version commons.l::${first}.\n`,
      stderr: `colloquy: The tag "live" is on version "${second}" now, and stays there.\n`,
    });
    await client.deleteLambda(lambda);
  });

  test('lists what is there, with its space, and restores it', async () => {
    await fill(client);
    await client.deleteCollection(place);
    const lines = (await listed()).split('\n');
    expect(lines[0]).toMatch(/^ID +KIND +NAME +DOCUMENTS +SIZE +DELETED +BY +UNTIL$/);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\dZ`;
    expect(lines[1]).toMatch(
      new RegExp(`^[0-9a-f]{12}  collection  commons\\.docs {23}1 +[\\d.]+ k?B +${time}  admin@localhost  ${time}$`),
    );
    expect(lines[2]).toMatch(/^[0-9a-f]{12} {2}documents {3}commons\.docs \("a\\u001b\[31m", "b"\) {2}2 /);
    expect(lines.at(-2)).toMatch(/^2 entries, 3 documents, [\d.]+ k?B\.$/);
    expect(await run('restore', await idOf('collection'))).toEqual({
      code: 0,
      stdout: 'Restored: collection commons.docs with 1 document.\n',
      stderr: '',
    });
    await client.addDocuments({ ...place, data: [{ _id: 'a\u001b[31m', n: 1 }] });
    expect(await run('restore', await idOf('documents'))).toEqual({
      code: 1,
      stdout: 'Restored: 1 document of commons.docs.\n',
      stderr: 'colloquy: 1 document stays in the trash, because the _id exists again: "a\\u001b[31m"\n',
    });
    expect((await client.getCollection(place)).stats?.doc_count).toBe(3);
    expect(await listed()).toContain('1 entry, 1 document');
  });

  test('is emptied only where somebody can be asked, or was told to', async () => {
    await fill(client);
    const before = await listed();
    for (const args of [['empty'], ['empty', await idOf('documents')]]) {
      expect(await runProgram(['trash', ...args], env(dataDir), 'y\n')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'colloquy: Nothing was removed: this cannot be undone and there is no terminal to ask at. Add --yes.\n',
      });
    }
    expect(await listed()).toBe(before);
    expect(await run('empty', 'nothing', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no "nothing"/),
    });
    expect((await run('empty', '--yes')).stdout).toMatch(/^Removed for good: 1 entry, \d+ B\.\n$/);
    expect(await listed()).toBe('The trash is empty; what is deleted stays there for 7 days.\n');
  });

  test('removes what the person was shown, and nothing that came while they were asked', async () => {
    await fill(client);
    const config = readConfig('trash', { dataDir, logLevel: 'silent' }, {});
    const ask = async (question: string) => {
      expect(question).toContain('1 entry, 2 documents');
      await client.deleteCollection(place);
      return 'y';
    };
    expect(await trash({ config, action: 'empty', id: undefined, yes: false }, BINARY, ask)).toBe(0);
    expect(await client.listTrash({})).toMatchObject([{ kind: 'collection', name: 'docs', documents: 1 }]);
  });

  test('restores nothing for an id that is no entry', async () => {
    const stderr = expect.stringMatching(/nothing with the id "x\/\.\.\/y" in the trash/);
    expect(await run('restore', 'x/../y')).toEqual({ code: 1, stdout: '', stderr });
  });

  test('keeps nothing with COLLOQUY_TRASH_DAYS=0, which the local service takes over', async () => {
    const other = join(base, 'other');
    const its = await connect(other, { COLLOQUY_TRASH_DAYS: '0' });
    await fill(its);
    const { stdout } = await runHere(['trash', 'list'], env(other));
    expect(stdout).toBe('The trash is empty; nothing is kept there (--trash-days 0).\n');
    await its.close();
    await leaveService(other, { startMs: 0 });
  });

  test.each<[string[], Variables, number, RegExp]>([
    [['trash'], {}, 2, /missing required argument/],
    [['trash', 'lst'], {}, 2, /Did you mean "list"\?/],
    [['trash', 'restore'], {}, 2, /needs the id of an entry/],
    [['trash', 'list', 'x'], {}, 2, /takes no id/],
    [['trash', 'list'], { COLLOQUY_TRASH_DAYS: '-1' }, 2, /COLLOQUY_TRASH_DAYS is "-1"/],
    [
      ['trash', 'list'],
      { COLLOQUY_URL: 'https://example.com', COLLOQUY_API_KEY: 'k' },
      1,
      /at the machine of the service/,
    ],
  ])('%j with %j exits with %i', async (args, more, code, why) => {
    expect(await runHere(args, env(dataDir, more))).toEqual({ code, stdout: '', stderr: expect.stringMatching(why) });
  });
});
