import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDocuments } from '../../../src/cli/files/file-documents.ts';
import type { FileRequest } from '../../../src/mcp/tools/file.ts';
import { entriesOf, piecesOf } from './entries.ts';

let root: string;

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-contents-')));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function opened(path: string, content: string | Buffer | undefined, request: Partial<FileRequest>) {
  if (content !== undefined) writeFileSync(join(root, path), content);
  return openDocuments({ folders: [root], dataDir: join(root, 'none') }, { path, ...request });
}

/** The documents of a file of JSON, with what was recognized in it. */
async function read(path: string, content: string | Buffer | undefined, request: Partial<FileRequest> = {}) {
  const file = await opened(path, content, request);
  try {
    const entries = await entriesOf(file);
    const documents = entries.map((one) => ('document' in one ? one.document : one));
    return { entries, documents, list: file.list, lists: file.lists };
  } finally {
    await file.close();
  }
}

/** What is sent of a file. */
async function sent(path: string, content: string | Buffer | undefined, request: Partial<FileRequest> = {}) {
  const file = await opened(path, content, request);
  try {
    const { sentAs, separator } = file;
    return { sentAs, separator, bytes: Buffer.concat(await piecesOf(file)) };
  } finally {
    await file.close();
  }
}

/** What the engine writes, compressed as it does. */
async function written(path: string, sql: string, options: string): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${sql}) TO '${join(root, path)}' (${options})`);
  connection.closeSync();
  instance.closeSync();
}

describe('a file of CSV', () => {
  it('is sent as it is, with the separator that its name tells', async () => {
    const text = '\ufeffa;b\n1,5;x\n';
    const file = await sent('s.csv', text);
    expect(file).toMatchObject({ sentAs: 'csv', separator: undefined });
    expect(file.bytes.toString()).toBe(text);
    expect(await sent('c.tsv', 'a\tb\n')).toMatchObject({ sentAs: 'csv', separator: '\t' });
  });

  it('has the types that are asked for, and files whose values have their own refuse them', async () => {
    await expect(sent('t.csv', 'a\n', { types: 'text' })).resolves.toMatchObject({ sentAs: 'csv' });
    for (const path of ['t.json', 't.jsonl', 't.xml', 't.parquet', 't.avro']) {
      await expect(sent(path, 'x', { types: { a: 'STRING' } })).rejects.toThrow(
        /the values of \w+ have types of their own/,
      );
    }
  });
});

describe('compressed files', () => {
  it.each([
    ['a.json.gz', '[{"a":1},{"a":2}]'],
    ['a.jsonl.gz', '{"a":1}\n{"a":2}\n'],
    ['a.json', '{"a":1}{"a":2}'],
  ])('reads %s as what is in it', async (path, text) => {
    expect((await read(path, gzipSync(text))).documents).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it('reads several members, and large ones in pieces', async () => {
    const lines = Array.from({ length: 50_000 }, (_, n) => `{"n":${n},"text":"some text ${n * 7919}"}\n`).join('');
    const { documents } = await read('l.jsonl.gz', Buffer.concat([gzipSync(lines), gzipSync('{"n":-1}\n')]));
    expect(documents).toHaveLength(50_001);
    expect(documents.at(-1)).toEqual({ n: -1 });
  });

  it('reads zstd', async () => {
    await written(
      'z.csv.zst',
      'SELECT i AS id, md5(i::VARCHAR) AS text FROM range(50000) r(i)',
      'FORMAT csv, COMPRESSION zstd',
    );
    const { bytes, sentAs } = await sent('z.csv.zst', undefined);
    const lines = bytes.toString().trimEnd().split('\n');
    expect([sentAs, lines.length]).toEqual(['csv', 50_001]);
    expect(lines.at(-1)).toMatch(/^49999,[0-9a-f]{32}$/);
  });

  it('stops at a file that expands without end', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20));
    await expect(sent('bomb.jsonl.gz', bomb)).rejects.toThrow('expands to more than 250 times its size');
    await written('bomb.csv.zst', "SELECT repeat(' ', 1000000) AS t FROM range(300)", 'FORMAT csv, COMPRESSION zstd');
    await expect(sent('bomb.csv.zst', undefined)).rejects.toThrow('expands to more than 250 times its size');
  });

  it('says of one that is cut off or damaged that it is', async () => {
    const whole = gzipSync('{"a":1}\n'.repeat(1_000));
    await expect(read('cut.jsonl.gz', whole.subarray(0, 30))).rejects.toThrow(
      /cannot be decompressed \(gzip\): unexpected end/,
    );
    const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xff, 0xff, 0xff]);
    await expect(read('cut.jsonl.zst', zstd)).rejects.toThrow(/cannot be decompressed \(zstd\)/);
  });
});

describe('a JSON file that is one object', () => {
  const FEATURES =
    '{"type":"FeatureCollection","x":{"y":[1,{}]},\n"data":{"features":[\n{"a":[{"b":1}]},\n{"a":"]}"}]},"n":[]}';

  it('has the items of its only list of objects as documents, with their lines', async () => {
    const { entries, list } = await read('f.geojson', FEATURES);
    expect(entries).toEqual([
      { at: 3, document: { a: [{ b: 1 }] } },
      { at: 4, document: { a: ']}' } },
    ]);
    expect(list).toEqual({ path: 'data.features', beside: ['type', 'x', 'n'] });
    expect((await read('f.json.gz', gzipSync(FEATURES))).documents).toHaveLength(2);
  });

  it('is one document if it is asked for, has an _id, or no list or several', async () => {
    expect((await read('f.json', FEATURES, { listPath: '.' })).documents).toMatchObject([
      { type: 'FeatureCollection' },
    ]);
    const id = await read('id.json', '{"_id":"o1","items":[{"n":1}]}');
    expect(id.documents).toEqual([{ _id: 'o1', items: [{ n: 1 }] }]);
    expect(id.lists).toEqual([{ path: 'items', items: 1 }]);
    const two = await read('two.json', '{"a":[{}],"b":{"c\\"d":[{},{}]},"e":[{},1],"f":[[{}]],"g":["x",{}]}');
    expect(two.documents).toHaveLength(1);
    expect(two.lists).toEqual([
      { path: 'a', items: 1 },
      { path: 'b.c"d', items: 2 },
    ]);
    for (const text of ['{"a":1}', '{"a":[{}]}{"a":[{}]}', '[{"a":[{}]}]']) {
      const { documents, list, lists } = await read('o.json', text);
      expect(documents[0]).toHaveProperty('a');
      expect([list, lists ?? []]).toEqual([undefined, []]);
    }
  });

  it('has the list that is asked for, and says which there are if there is none', async () => {
    const text = '{"a":[{"n":1}],"b":{"c":[{"n":2}]}}';
    expect((await read('l.json', text, { listPath: 'b.c' })).documents).toEqual([{ n: 2 }]);
    await expect(read('l.json', text, { listPath: 'b' })).rejects.toThrow('Lists of objects are at "a", "b.c".');
    await expect(read('l.json', '{"a":1}', { listPath: 'b' })).rejects.toThrow('It has no list of objects.');
    await expect(read('l.json', '[{"a":1}]', { listPath: 'b' })).rejects.toThrow('it is not one JSON object');
  });

  it('may be larger than a document, and is refused where it is broken', async () => {
    const items = Array.from({ length: 12_000 }, (_, n) => `{"n":${n},"t":"${'x'.repeat(1_000)}"}`).join(',\n');
    const { documents } = await read('large.json', `\ufeff{"meta":{"k":"v"},"items":[${items}]}`);
    expect(documents).toHaveLength(12_000);
    const broken = await read('broken.json', '{"items":[{"a":1},{"a":}]}');
    expect(broken.documents).toEqual([{ a: 1 }, { at: 1, problem: expect.stringContaining('is no JSON') }]);
    await expect(read('worse.json', '{"items":[{"a":1},{"a":]}]}')).rejects.toThrow('The file is not JSON, at line 1');
    await expect(read('cut.json', '{"items":[{"a":1},')).rejects.toThrow('that begins on line 1 does not end');
  });
});

describe('files that are no text of documents', () => {
  it.each([
    ['UTF-16 text', Buffer.from('a,b\n1,2', 'utf16le'), '"encoding": "utf-16le"'],
    ['a SQLite database', 'SQLite format 3\0…', 'Export its tables'],
    ['an Excel workbook', 'PK\u0003\u0004…xl/workbook.xml', '"format": "xlsx"'],
    ['Avro', 'Obj\u0001…', '"format": "avro"'],
    ['an OpenDocument sheet', 'PK\u0003\u0004…application/vnd.oasis.opendocument.spreadsheet', 'as CSV'],
    ['a ZIP archive', 'PK\u0003\u0004…data.csv', 'Unpack it'],
    ['an old Office document', Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), 'as CSV'],
    ['compressed (bzip2)', 'BZh9…', 'bunzip2'],
    ['compressed (xz)', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), 'unxz'],
    ['a tar archive', gzipSync(`${'x'.repeat(257)}ustar`), 'Unpack it'],
    ['Parquet', 'PAR1…', '"format": "parquet"'],
  ])('%s is refused by its name', async (what, content, instead) => {
    for (const path of ['other.csv', 'other.json', 'other.xyz']) {
      const reading = read(path, content);
      await expect(reading).rejects.toThrow(`The file is ${what}`);
      await expect(reading).rejects.toThrow(instead);
    }
  });

  it('UTF-16 with a mark is refused where it is no CSV', async () => {
    const wide = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
    await expect(read('wide.json', wide('[{"a":1}]'))).rejects.toThrow(
      'The file is UTF-16 text. Of CSV, say so: "format": "csv"; otherwise convert it first',
    );
  });

  it('a mark at the beginning of UTF-8 is none of the data', async () => {
    for (const [path, text] of [
      ['b.json', '[{"a":1}]'],
      ['b.jsonl', '{"a":1}'],
    ] as const) {
      expect(Object.keys((await read(path, `\ufeff${text}`)).documents[0] ?? {})).toEqual(['a']);
    }
  });
});
