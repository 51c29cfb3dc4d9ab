import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDocuments } from '../../../src/cli/files/file-documents.ts';
import { fileMeans } from '../../../src/cli/means.ts';
import { FILE_NOT_FOUND, type FileRequest } from '../../../src/mcp/tools/file.ts';
import { type Entry, entriesOf as entriesIn, piecesOf } from './entries.ts';

let root: string;
let allowed: { folders: string[]; dataDir: string };

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-files-')));
  for (const folder of ['in/sub', 'in/data', 'in/.hidden', 'out']) mkdirSync(join(root, folder), { recursive: true });
  allowed = { folders: [join(root, 'in')], dataDir: join(root, 'in/data') };
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string | Buffer): string {
  writeFileSync(join(root, path), content);
  return join(root, path);
}

async function entriesOf(request: FileRequest): Promise<{ entries: Entry[] }> {
  const file = await openDocuments(allowed, request);
  try {
    return { entries: await entriesIn(file) };
  } finally {
    await file.close();
  }
}

describe('openDocuments(): where it may read', () => {
  it('takes a path as it is, or below an allowed folder', async () => {
    const path = write('in/sub/a.json', '[{"a":1}]');
    for (const asked of [path, 'sub/a.json', './sub/../sub/a.json']) {
      expect((await entriesOf({ path: asked })).entries).toEqual([{ at: 1, document: { a: 1 } }]);
    }
  });

  it('follows links that stay inside, and none that leads out', async () => {
    write('out/secret.json', '[{"secret":1}]');
    symlinkSync(join(root, 'in/sub'), join(root, 'in/inner'));
    symlinkSync(join(root, 'out'), join(root, 'in/outer'));
    symlinkSync(join(root, 'out/secret.json'), join(root, 'in/link.json'));
    expect((await entriesOf({ path: 'inner/a.json' })).entries).toHaveLength(1);
    for (const path of ['outer/secret.json', 'outer/nothing.json', 'link.json', '../out/secret.json']) {
      await expect(openDocuments(allowed, { path })).rejects.toThrow(/is not below a folder/);
    }
  });

  it('reads no file that has another name, which may lie outside, until it is copied', async () => {
    write('out/secret.json', '[{"secret":1}]');
    linkSync(join(root, 'out/secret.json'), join(root, 'in/hard.json'));
    const opened = openDocuments(allowed, { path: 'hard.json' });
    await expect(opened).rejects.toThrow(
      /"hard\.json": the same file has 2 names \(hard links\).*Copy it to a new file/,
    );
    copyFileSync(join(root, 'in/hard.json'), join(root, 'in/copy.json'));
    expect((await entriesOf({ path: 'copy.json' })).entries).toHaveLength(1);
  });

  it('says the same of what is outside, whether it exists or not', async () => {
    const messageOf = (path: string) =>
      openDocuments(allowed, { path }).then(
        () => 'opened',
        (error: Error) => error.message.replace(path, '…'),
      );
    expect(await messageOf(join(root, 'out/secret.json'))).toBe(await messageOf(join(root, 'out/nothing.json')));
  });

  it('reads neither what is hidden nor the data folder of the service', async () => {
    write('in/.hidden/a.json', '[{}]');
    write('in/.env.json', '[{}]');
    write('in/data/admin.json', '[{}]');
    for (const path of ['.hidden/a.json', '.env.json', 'data/admin.json']) {
      await expect(openDocuments(allowed, { path })).rejects.toMatchObject({ code: 'invalid_input' });
    }
  });

  it('reads regular files only, and does not wait for a pipe', async () => {
    for (const path of ['sub', '.', 'sub/..', join(root, 'in')]) {
      await expect(openDocuments(allowed, { path, format: 'json' })).rejects.toThrow(/it is a folder. Name one file/);
    }
    if (process.platform === 'win32') return;
    execFileSync('mkfifo', [join(root, 'in/pipe.json')]);
    await expect(openDocuments(allowed, { path: 'pipe.json' })).rejects.toThrow(/no regular file/);
  });

  it('names files that are near to one that is missing', async () => {
    await expect(openDocuments(allowed, { path: 'sub/b.json' })).rejects.toThrow('Did you mean "sub/a.json"?');
    await expect(openDocuments(allowed, { path: 'other.csv' })).rejects.toMatchObject({
      message: expect.stringContaining(`This server reads files below ${join(root, 'in')}.`),
      details: { messageKey: FILE_NOT_FOUND },
    });
  });

  it('is absent without a folder', () => {
    expect(fileMeans({ dataDir: root })).toEqual({});
    expect(fileMeans({ dataDir: root, allowDirs: [] })).toEqual({});
  });
});

describe('openDocuments(): formats', () => {
  it('wants a format where neither the name nor the content tells it', async () => {
    write('in/data.txt', 'a\n[{"a":1}]');
    await expect(openDocuments(allowed, { path: 'data.txt' })).rejects.toThrow('Give "format"');
    write('in/data.txt', '[{"a":1}]');
    expect((await entriesOf({ path: 'data.txt' })).entries).toHaveLength(1);
  });

  it('knows the names of files of JSON', async () => {
    for (const path of ['map.geojson', 'MAP.GeoJSON']) {
      write(`in/${path}`, '{"type":"FeatureCollection","features":[]}');
      expect((await entriesOf({ path })).entries).toMatchObject([{ document: { features: [] } }]);
    }
  });

  it.each([
    ['c.csv', '\ufeffid,name\n1,Ada\n', { sentAs: 'csv', unit: 'line' }],
    ['t.tsv', '1\t2\n', { sentAs: 'csv', unit: 'line', separator: '\t' }],
    ['p.parquet', 'PAR1 and any bytes \u0000', { sentAs: 'parquet', unit: 'row' }],
    ['l.jsonl', '{"a":1}\nno JSON', { sentAs: 'jsonl', unit: 'line' }],
    ['a.json', '[{"a":1}', { sentAs: 'json', unit: 'line' }],
  ])('sends %s as it is, as often as it is asked', async (path, content, expected) => {
    write(`in/${path}`, content);
    const file = await openDocuments(allowed, { path });
    expect(file).toMatchObject({ ...expected, bytes: Buffer.byteLength(content) });
    for (const _ of [1, 2]) expect(Buffer.concat(await piecesOf(file)).toString()).toBe(content);
    await file.close();
  });

  it('reads a large file in pieces', async () => {
    const line = `${JSON.stringify({ text: 'x'.repeat(1_000_000) })}\n`;
    write('in/large.jsonl', line.repeat(7));
    const file = await openDocuments(allowed, { path: 'large.jsonl' });
    const pieces = await piecesOf(file);
    expect(pieces.length).toBeGreaterThan(10);
    expect(Buffer.concat(pieces).toString()).toBe(line.repeat(7));
    expect(await entriesIn(file)).toHaveLength(7);
    await file.close();
  });

  it('sends of a file that is one object its list, with the number of its first line', async () => {
    write('in/list.json', '{"k":\n[1],\n"items": [{"a":1},\n{"a":2}]\n}');
    const file = await openDocuments(allowed, { path: 'list.json' });
    expect(file).toMatchObject({ sentAs: 'json', firstLine: 3, list: { path: 'items', beside: ['k'] } });
    expect(Buffer.concat(await piecesOf(file)).toString()).toBe('[{"a":1},\n{"a":2}]');
    expect((await entriesIn(file)).map(({ at }) => at)).toEqual([3, 4]);
    await file.close();
  });
});
