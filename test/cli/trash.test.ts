import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import { trash } from '../../src/cli/trash.ts';
import { readConfig } from '../../src/config.ts';
import { createClient } from '../../src/http/client.ts';
import { longTest } from '../long.ts';

const BIN = resolve(import.meta.dirname, '../../dist/colloquy.js');

let base = '';
let dataDir = '';

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-trash-')));
  dataDir = join(base, 'data');
});
afterEach(async () => {
  await leaveService(dataDir, { startMs: 0 });
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

function run(args: string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: base,
      COLLOQUY_DATA_DIR: dataDir,
      COLLOQUY_THREADS: '1',
      COLLOQUY_LOG_LEVEL: 'warn',
      ...env,
    },
    encoding: 'utf8',
    input: 'y\n',
  });
  return { status, stdout, stderr };
}

/** Connects as the service's operator, with the admin key. */
function connect() {
  const apiKey = readFileSync(join(dataDir, 'admin.key'), 'utf8').trim();
  return createClient({ target: { socketPath: join(dataDir, 'service.sock') }, apiKey });
}

async function fill(env: Record<string, string> = {}) {
  expect(run(['call', 'list_workspaces'], env).status).toBe(0);
  const client = connect();
  const place = { workspace: 'commons', collection: 'docs' };
  await client.createCollection({ workspace: 'commons', name: 'docs' });
  await client.addDocuments({ ...place, data: [{ _id: 'a\u001b[31m' }, { _id: 'b' }, { _id: 'c' }] });
  await client.deleteDocuments({ ...place, data: [{ _id: 'a\u001b[31m' }, { _id: 'b' }] });
  return { client, place };
}

const idOf = (kind: string) =>
  run(['trash', 'list'])
    .stdout.split('\n')
    .find((line) => line.includes(kind))
    ?.split(' ')[0] ?? '';

describe('colloquy trash', () => {
  test('lists what is there, with its space, and restores it', async () => {
    const { client, place } = await fill();
    await client.deleteCollection(place);
    const { stdout } = run(['trash', 'list']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^ID +KIND +NAME +DOCUMENTS +SIZE +DELETED +BY +UNTIL$/);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\dZ`;
    expect(lines[1]).toMatch(
      new RegExp(`^[0-9a-f]{12}  collection  commons\\.docs  1 +[\\d.]+ k?B +${time}  admin@localhost  ${time}$`),
    );
    expect(lines[2]).toMatch(/^[0-9a-f]{12} {2}documents {3}commons\.docs {2}2 /);
    expect(lines.at(-2)).toMatch(/^2 entries, 3 documents, [\d.]+ k?B\.$/);
    expect(run(['trash', 'restore', idOf('collection')])).toEqual({
      status: 0,
      stdout: 'Restored: collection commons.docs with 1 document.\n',
      stderr: '',
    });
    await client.addDocuments({ ...place, data: [{ _id: 'a\u001b[31m', n: 1 }] });
    expect(run(['trash', 'restore', idOf('documents')])).toEqual({
      status: 1,
      stdout: 'Restored: 1 document of commons.docs.\n',
      stderr: 'colloquy: 1 document stays in the trash, because the _id exists again: "a\\u001b[31m"\n',
    });
    expect((await client.getCollection(place)).stats?.doc_count).toBe(3);
    expect(run(['trash', 'list']).stdout).toContain('1 entry, 1 document');
    await client.close();
  }, 60_000);

  longTest(
    'is emptied only where somebody can be asked, or was told to',
    async () => {
      const { client } = await fill();
      const before = run(['trash', 'list']).stdout;
      for (const args of [
        ['trash', 'empty'],
        ['trash', 'empty', idOf('documents')],
      ]) {
        expect(run(args)).toMatchObject({
          status: 1,
          stdout: '',
          stderr:
            'colloquy: Nothing was removed: this cannot be undone and there is no terminal to ask at. Add --yes.\n',
        });
      }
      expect(run(['trash', 'list']).stdout).toBe(before);
      expect(run(['trash', 'empty', 'nothing', '--yes'])).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/no "nothing"/),
      });
      expect(run(['trash', 'empty', '--yes']).stdout).toMatch(/^Removed for good: 1 entry, \d+ B\.\n$/);
      expect(run(['trash', 'list']).stdout).toBe('The trash is empty; what is deleted stays there for 7 days.\n');
      await client.close();
    },
    60_000,
  );

  test('removes what the person was shown, and nothing that came while they were asked', async () => {
    const { client, place } = await fill();
    const config = readConfig('trash', { dataDir, logLevel: 'silent' }, {});
    const ask = async (question: string) => {
      expect(question).toContain('1 entry, 2 documents');
      await client.deleteCollection(place);
      return 'y';
    };
    expect(await trash({ config, action: 'empty', id: undefined, yes: false }, BIN, ask)).toBe(0);
    expect(await client.listTrash({})).toMatchObject([{ kind: 'collection', name: 'docs', documents: 1 }]);
    await client.close();
  }, 60_000);

  test('keeps nothing with COLLOQUY_TRASH_DAYS=0, which the local service takes over', async () => {
    const { client } = await fill({ COLLOQUY_TRASH_DAYS: '0' });
    expect(run(['trash', 'list']).stdout).toBe('The trash is empty; nothing is kept there (--trash-days 0).\n');
    await client.close();
  }, 60_000);

  test.each<[string[], Record<string, string>, number, RegExp]>([
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
    [['trash', 'restore', 'x/../y'], {}, 1, /nothing with the id "x\/\.\.\/y" in the trash/],
  ])('%j with %j exits with %i', (args, env, status, why) => {
    expect(run(args, env)).toEqual({ status, stdout: '', stderr: expect.stringMatching(why) });
  });
});
