import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveService } from '../../src/cli/serve/leave-service.ts';
import { BINARY, buildIfStale, dataFolder } from './binary.ts';
import { legacyStdio, modernStdio } from './drivers.ts';
import { serverEnvironment } from './session.ts';

describe.each([legacyStdio, modernStdio])('an undo, over $name', (driver) => {
  let folder: Awaited<ReturnType<typeof dataFolder>>;
  beforeAll(async () => {
    buildIfStale();
    folder = await dataFolder();
  }, 60_000);
  afterAll(async () => {
    await leaveService(folder.path);
    await folder.remove();
  });

  function trash(...args: string[]) {
    const env = serverEnvironment(folder.path);
    const { status, stdout, stderr } = spawnSync(process.execPath, [BINARY, 'trash', ...args], {
      env,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }
  const idOf = (kind: string) =>
    trash('list')
      .stdout.split('\n')
      .find((line) => line.includes(kind))
      ?.split(' ')[0] ?? '';

  it('brings back what an assistant deleted with its human’s consent', { timeout: 60_000 }, async () => {
    const questions: string[] = [];
    const session = await driver.open({
      dataDir: folder.path,
      human: ({ message, fields }) => {
        questions.push(message);
        const content: Record<string, string | boolean> = fields.includes('name') ? { name: 'things' } : { yes: true };
        return { action: 'accept', content };
      },
    });
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await session.call(name, args);
      expect(result.isError, result.text).toBe(false);
      return result.structured;
    };
    const place = { workspace: 'commons', collection: 'things' };
    const rows = async () => (await call('run_query', { query: 'SELECT * FROM things ORDER BY _id' }))['rows'];
    await call('create_collection', { workspace: 'commons', name: 'things' });
    await call('add_documents', {
      ...place,
      data: [
        { _id: 'a', o: { n: [1, 2.5] } },
        { _id: 'b', s: 'text' },
      ],
    });
    const before = await rows();

    await call('delete_documents', { ...place, ids: ['a'] });
    expect(await rows()).toHaveLength(1);
    expect(questions[0]?.split('\n').at(-1)).toMatch(
      /^It goes to the trash: an operator can restore it until \d{4}-\d\d-\d\d with `colloquy trash restore`, and this assistant with restore_from_trash\.$/,
    );
    expect(trash('restore', idOf('documents'))).toMatchObject({
      status: 0,
      stdout: 'Restored: 1 document of commons.things.\n',
    });
    expect(await rows()).toEqual(before);

    await call('delete_collection', place);
    expect(questions).toHaveLength(2);
    expect(questions[1]).toContain('It goes to the trash');
    expect((await session.call('run_query', { query: 'SELECT * FROM things' })).isError).toBe(true);
    expect(trash('restore', idOf('collection'))).toMatchObject({
      status: 0,
      stdout: 'Restored: collection commons.things with 2 documents.\n',
    });
    expect(await rows()).toEqual(before);
    await session.close();
  });
});
