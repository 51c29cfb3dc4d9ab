import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFiles } from '../../../src/cli/files/find-files.ts';
import { FILE_NOT_FOUND, FILES_MAX } from '../../../src/mcp/tools/file.ts';

let root: string;
let allowed: { folders: string[]; dataDir: string };

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-find-')));
  for (const folder of ['in/events/2024', 'in/data', 'in/.hidden', 'in/empty', 'in/many', 'in/leaks', 'out']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  allowed = { folders: [join(root, 'in')], dataDir: join(root, 'in/data') };
  for (const path of [
    ...['b.csv', 'a.json', 'notes.md', '.env.json', 'sale[1].csv', 'sale*.csv'].map((name) => `in/${name}`),
    ...['in/events/e2.jsonl', 'in/events/e1.jsonl', 'in/events/2024/e3.jsonl', 'in/events/2024/e4.csv'],
    ...['in/data/admin.json', 'in/.hidden/a.json', 'out/secret.json'],
  ]) {
    writeFileSync(join(root, path), '[]');
  }
  symlinkSync(join(root, 'in/events'), join(root, 'in/link'));
  symlinkSync(join(root, 'out/secret.json'), join(root, 'in/leaks/secret.json'));
  symlinkSync(join(root, 'out'), join(root, 'in/leaks/folder'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const namesOf = async (...paths: string[]) =>
  (await findFiles(allowed, { paths })).files.map(({ name }) => name.replaceAll('\\', '/'));

describe('findFiles()', () => {
  it('takes a file by its name, whatever signs are in it', async () => {
    const { files, leftOut } = await findFiles(allowed, { paths: ['a.json'] });
    expect({ files, leftOut }).toEqual({
      files: [{ path: join(root, 'in/a.json'), name: 'a.json', bytes: 2, format: 'json' }],
      leftOut: [],
    });
    expect(await namesOf('sale[1].csv')).toEqual(['sale[1].csv']);
    expect(await namesOf('sale*.csv')).toEqual(['sale*.csv']);
    expect(await namesOf(join(root, 'in/events/e1.jsonl'))).toEqual(['events/e1.jsonl']);
  });

  it('takes the files directly in a folder, sorted, without what is hidden or of no known format', async () => {
    expect(await namesOf('events')).toEqual(['events/e1.jsonl', 'events/e2.jsonl']);
    const { files, leftOut } = await findFiles(allowed, { paths: ['.'] });
    expect(files.map(({ name }) => name)).toEqual(['a.json', 'b.csv', 'sale*.csv', 'sale[1].csv']);
    expect(leftOut).toEqual(['notes.md']);
    const all = await findFiles(allowed, { paths: ['.'], format: 'csv' });
    expect(all.files.map(({ name }) => name)).toContain('notes.md');
    expect(all.leftOut).toEqual([]);
  });

  it('tells the format of what may be any text by its content, and leaves out what programs leave behind', async () => {
    const folder = join(root, 'in/untold');
    mkdirSync(folder);
    const files: Record<string, string> = {
      'a.txt': 'id;n\n1;2\n3;4\n',
      'b.log': '{"a":1}\n{"a":2}\n',
      'c.dat': '<?xml version="1.0"?><r><i/></r>',
      'd.txt': '[{"a":1}]',
      'e.txt': 'name,amount\nx,1\ny,2\n',
      'prose.txt': 'Well, this is\na text, with\ncommas, too\n',
      'server.log': '2024-01-01 10:00:00,1 INFO a\n2024-01-01 10:00:00,2 INFO b\n2024-01-01 10:00:01,3 WARN c\n',
      '~$book.xlsx': 'lock',
      'Thumbs.db': 'x',
      'f.tab': 'a\tb\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    try {
      const found = await findFiles(allowed, { paths: ['untold'] });
      expect(found.files.map(({ name, format }) => `${name.slice(7)} ${format}`)).toEqual([
        ...['a.txt csv', 'b.log jsonl', 'c.dat xml', 'd.txt json', 'e.txt csv', 'f.tab csv'],
      ]);
      expect(found.leftOut.map((name) => name.slice(7))).toEqual([
        'Thumbs.db',
        'prose.txt',
        'server.log',
        '~$book.xlsx',
      ]);
      const all = await findFiles(allowed, { paths: ['untold'], format: 'csv' });
      expect(all.leftOut.map((name) => name.slice(7))).toEqual(['Thumbs.db', '~$book.xlsx']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ['*.json', ['a.json']],
    ['?.*', ['a.json', 'b.csv']],
    ['events/*', ['events/e1.jsonl', 'events/e2.jsonl']],
    ['*/e1.*', ['events/e1.jsonl']],
    ['./events/**/*.csv', ['events/2024/e4.csv']],
    ['**/*4*', ['events/2024/e4.csv']],
    ['**/e*l', ['events/2024/e3.jsonl', 'events/e1.jsonl', 'events/e2.jsonl']],
    ['events/**', ['events/2024/e3.jsonl', 'events/2024/e4.csv', 'events/e1.jsonl', 'events/e2.jsonl']],
    ['link/*1*', ['events/e1.jsonl']],
  ])('takes the files that fit %s', async (pattern, names) => {
    expect(await namesOf(pattern)).toEqual(names);
  });

  it('takes several, in their order and each once', async () => {
    expect(await namesOf('b.csv', 'a.json', '?.csv', 'events')).toEqual([
      'b.csv',
      'a.json',
      'events/e1.jsonl',
      'events/e2.jsonl',
    ]);
  });

  it('refuses what leads out, and a folder or pattern outside', async () => {
    for (const path of ['leaks', 'leaks/*', '../out', '../out/*', '../*/*.json', join(root, 'out', '*'), '.hidden']) {
      await expect(findFiles(allowed, { paths: [path] })).rejects.toThrow(/is not below a folder/);
    }
    for (const path of ['data', 'data/*']) {
      await expect(findFiles(allowed, { paths: [path] })).rejects.toMatchObject({ code: 'invalid_input' });
    }
  });

  it('says what there is where nothing fits', async () => {
    await expect(findFiles(allowed, { paths: ['events/*.xml'] })).rejects.toMatchObject({
      message: 'No file fits "events/*.xml". There are "events/2024/", "events/e1.jsonl", "events/e2.jsonl".',
      details: { messageKey: FILE_NOT_FOUND },
    });
    await expect(findFiles(allowed, { paths: ['empty'] })).rejects.toThrow('The folder is empty');
    await expect(findFiles(allowed, { paths: ['*.md'] })).rejects.toThrow(
      'tell no format, nor does their content ("notes.md")',
    );
    await expect(findFiles(allowed, { paths: ['c.json'] })).rejects.toThrow('does not exist');
  });

  it('takes a bounded number of files', async () => {
    for (let at = 0; at <= FILES_MAX; at += 1) writeFileSync(join(root, 'in/many', `${at}.json`), '');
    await expect(findFiles(allowed, { paths: ['many'] })).rejects.toThrow('at most 1,000 files');
    rmSync(join(root, 'in/many/0.json'));
    expect((await findFiles(allowed, { paths: ['many'] })).files).toHaveLength(FILES_MAX);
  });

  it('fits a long name to a pattern of many stars in time that does not explode', async () => {
    writeFileSync(join(root, 'in/many', `${'a'.repeat(200)}.json`), '');
    await expect(findFiles(allowed, { paths: [`many/${'*a'.repeat(90)}*b`] })).rejects.toThrow('No file fits');
  });

  it('names files by their whole path where several folders are allowed', async () => {
    const both = { ...allowed, folders: [join(root, 'in/events'), join(root, 'out')] };
    const { files } = await findFiles(both, { paths: ['*.json*'] });
    expect(files.map(({ name }) => name)).toEqual(
      ['in/events/e1.jsonl', 'in/events/e2.jsonl', 'out/secret.json'].map((path) => join(root, path)),
    );
  });
});
