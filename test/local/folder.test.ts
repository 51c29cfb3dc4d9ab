import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeToOthers, openFolder, unfinishedRestores } from '../../src/local/folder.ts';

let base = '';
const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'colloquy-folder-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('closeToOthers()', () => {
  test('closes the files that are there and those that come, and follows no link', async () => {
    const folder = await openFolder(join(base, 'data'));
    const outside = join(base, 'outside.txt');
    const before = process.umask(0o022);
    try {
      await writeFile(outside, '', { mode: 0o644 });
      await writeFile(folder.databaseFile, '', { mode: 0o644 });
      await symlink(outside, join(folder.path, 'link'));
      await closeToOthers(folder);
      await writeFile(`${folder.databaseFile}.wal`, '');
    } finally {
      process.umask(before);
    }
    expect(await modeOf(folder.databaseFile)).toBe(0o600);
    expect(await modeOf(`${folder.databaseFile}.wal`)).toBe(0o600);
    expect(await modeOf(outside)).toBe(0o644);
  });
});

test('unfinishedRestores() takes an empty folder for done only where something was moved aside', async () => {
  const folder = await openFolder(join(base, 'data'));
  await writeFile(folder.databaseFile, '');
  await mkdir(join(folder.path, 'restoring-x'));
  expect(await unfinishedRestores(folder)).toEqual([{ staged: 'restoring-x', aside: undefined, isDone: false }]);
  await mkdir(join(folder.path, 'before-restore-x'));
  expect(await unfinishedRestores(folder)).toEqual([
    { staged: 'restoring-x', aside: 'before-restore-x', isDone: true },
  ]);
});

describe('openFolder()', () => {
  test('makes the folder, and those above it, for this user only', async () => {
    const folder = await openFolder(join(base, 'a', 'b'));
    expect(await modeOf(folder.path)).toBe(0o700);
    expect(folder.socketPath).toBe(join(folder.path, 'service.sock'));
    expect(folder.databaseFile).toBe(join(folder.path, '_colloquy.duckdb'));
  });

  test('closes an empty folder, and one with a database, to others', async () => {
    const path = join(base, 'open');
    await mkdir(path);
    await chmod(path, 0o755);
    await openFolder(path);
    expect(await modeOf(path)).toBe(0o700);
    await writeFile(join(path, '_colloquy.duckdb'), '');
    await chmod(path, 0o777);
    await openFolder(path);
    expect(await modeOf(path)).toBe(0o700);
  });

  test('leaves an open folder with other things in it as it is', async () => {
    await writeFile(join(base, 'thesis.txt'), '');
    await chmod(base, 0o755);
    await expect(openFolder(base)).rejects.toThrow(/mode 755.*holds other files/);
    expect(await modeOf(base)).toBe(0o755);
  });

  test('gives one socket to one folder, by whichever name', async () => {
    const real = join(base, 'real');
    await mkdir(real, { mode: 0o700 });
    await symlink(real, join(base, 'link'));
    const [one, other] = await Promise.all([openFolder(real), openFolder(join(base, 'link'))]);
    expect(other).toEqual(one);
  });

  test('puts the socket of a long path elsewhere, in a folder of this user', async () => {
    const long = join(base, 'x'.repeat(90));
    const { socketPath } = await openFolder(long);
    const other = await openFolder(join(base, 'y'.repeat(90)));
    expect(Buffer.byteLength(socketPath)).toBeLessThanOrEqual(100);
    expect(socketPath).toBe((await openFolder(long)).socketPath);
    expect(socketPath).not.toBe(other.socketPath);
    expect(await modeOf(join(socketPath, '..'))).toBe(0o700);
  });

  test.each([
    ['a file', 'file', /it is no folder/],
    ['a path through a file', 'file/below', /a part of the path is no folder/],
    ['a path with too long a name', 'x'.repeat(300), /the path is too long/],
  ])('refuses %s', async (_, name, why) => {
    await writeFile(join(base, 'file'), '');
    await expect(openFolder(join(base, name))).rejects.toMatchObject({
      code: 'connection_failed',
      message: expect.stringMatching(why),
    });
  });

  test('refuses a folder that cannot be made', async () => {
    await expect(openFolder('/proc/colloquy')).rejects.toThrow(/Cannot use the data folder "\/proc\/colloquy"/);
  });
});
