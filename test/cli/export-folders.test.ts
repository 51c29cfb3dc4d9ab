import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportTarget } from '../../src/cli/exports/export-folders.ts';
import { fileMeans } from '../../src/cli/means.ts';

let base: string;
let folder: string;
const dataDir = () => join(base, 'out', 'data');
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-out-')));
  folder = join(base, 'out');
  for (const path of ['out/sub', 'out/.hidden', 'out/data', 'outside'])
    mkdirSync(join(base, path), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const target = (path: string) => exportTarget({ folders: [folder], dataDir: dataDir() }, path);
async function* bytes(...parts: string[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}
/** What is anywhere below, but for what is there from the start. */
const all = () =>
  readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((path) => !['out', 'out/sub', 'out/.hidden', 'out/data', 'outside'].includes(path))
    .sort();

describe('exportTarget()', () => {
  it.each([
    ['x.csv', 'out/x.csv'],
    ['sub/x.csv', 'out/sub/x.csv'],
    ['sub/../y.csv', 'out/y.csv'],
  ])('writes %s below the folder', async (asked, path) => {
    const { write } = await target(asked);
    expect(await write(bytes('a', 'b'), { gzip: false })).toBe(2);
    expect(readFileSync(join(base, path), 'utf8')).toBe('ab');
    expect(all()).toEqual([path]);
  });

  it('compresses', async () => {
    const size = await (await target('x.gz')).write(bytes('hello ', 'world'), { gzip: true });
    const stored = readFileSync(join(folder, 'x.gz'));
    expect([stored.length, gunzipSync(stored).toString()]).toEqual([size, 'hello world']);
  });

  it.each([
    '../x.csv',
    'sub/../../outside/x.csv',
    '/tmp/colloquy-none/x.csv',
    '.x.csv',
    '.hidden/x.csv',
    'data/x.csv',
    'none/x.csv',
    'sub/',
    'sub/..',
    '.',
    '..',
    '/',
  ])('refuses %s', async (asked) => {
    await expect(target(asked)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('--export-dirs'),
    });
    expect(all()).toEqual([]);
  });

  it('does not follow links out of the folder, whatever they are called', async () => {
    symlinkSync(join(base, 'outside'), join(folder, 'way'));
    symlinkSync(join(base, 'outside', 'new.csv'), join(folder, 'dangling.csv'));
    symlinkSync(dataDir(), join(folder, 'inner'));
    for (const asked of ['way/x.csv', 'inner/x.csv', join(folder, 'way', 'x.csv')])
      await expect(target(asked)).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(target('dangling.csv')).rejects.toMatchObject({ code: 'already_exists' });
    expect(readdirSync(join(base, 'outside'))).toEqual([]);
  });

  it('replaces nothing: no file, no other name of one outside, no pipe, no folder', async () => {
    writeFileSync(join(base, 'outside', 'mine'), 'mine');
    writeFileSync(join(folder, 'file.csv'), 'mine');
    linkSync(join(base, 'outside', 'mine'), join(folder, 'hard.csv'));
    execFileSync('mkfifo', [join(folder, 'pipe.csv')]);
    for (const asked of ['file.csv', 'hard.csv', 'pipe.csv', 'sub'])
      await expect(target(asked)).rejects.toMatchObject({
        code: 'already_exists',
        message: expect.stringContaining(`may write to ${folder}.`),
      });
    expect(readFileSync(join(base, 'outside', 'mine'), 'utf8')).toBe('mine');
  });

  it('replaces nothing that came meanwhile, and goes into no folder that was replaced', async () => {
    const { write } = await target('x.csv');
    async function* late() {
      yield Buffer.from('a');
      writeFileSync(join(folder, 'x.csv'), 'theirs');
    }
    await expect(write(late(), { gzip: false })).rejects.toMatchObject({ code: 'already_exists' });
    expect(readFileSync(join(folder, 'x.csv'), 'utf8')).toBe('theirs');
    const other = await target('sub/x.csv');
    renameSync(join(folder, 'sub'), join(folder, 'was'));
    symlinkSync(join(base, 'outside'), join(folder, 'sub'));
    await expect(other.write(bytes('a'), { gzip: false })).rejects.toMatchObject({ code: 'invalid_input' });
    expect(all()).toEqual(['out/was', 'out/x.csv']);
  });

  it('leaves nothing of a file whose bytes end early, or that is given up', async () => {
    async function* broken() {
      yield Buffer.from('a');
      throw new Error('the connection broke');
    }
    await expect((await target('x.csv')).write(broken(), { gzip: true })).rejects.toThrow();
    const stop = new AbortController();
    async function* endless() {
      for (;;) {
        yield Buffer.alloc(1000);
        stop.abort();
      }
    }
    const { signal } = stop;
    await expect((await target('x.csv')).write(endless(), { gzip: false, signal })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(all()).toEqual([]);
  });

  it('is there only for folders that were given for writing', async () => {
    expect(fileMeans({ dataDir: dataDir(), allowDirs: [folder] })).not.toHaveProperty('exportTarget');
    expect(Object.keys(fileMeans({ dataDir: dataDir(), exportDirs: [folder] }))).toEqual([
      'exportFolders',
      'exportTarget',
    ]);
  });
});
