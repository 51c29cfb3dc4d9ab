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
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDocuments } from '../../../src/cli/files/file-documents.ts';
import { fileMeans } from '../../../src/cli/means.ts';
import { FILE_NOT_FOUND, type FileEntry, type FileRequest } from '../../../src/mcp/tools/file.ts';

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

async function entriesOf(request: FileRequest): Promise<{ entries: FileEntry[]; batches: number; nulls: number }> {
  const file = await openDocuments(allowed, request);
  const entries: FileEntry[] = [];
  let batches = 0;
  let read = 0;
  try {
    for await (const batch of file.batches) {
      entries.push(...batch.entries);
      batches += 1;
      expect(batch.bytesRead).toBeGreaterThanOrEqual(read);
      expect(batch.bytesRead).toBeLessThanOrEqual(file.bytes);
      read = batch.bytesRead;
    }
    return { entries, batches, nulls: file.unwritable() };
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
  it('wants a format where the name does not tell it, and refuses other bytes', async () => {
    write('in/data.txt', '[{"a":1}]');
    await expect(openDocuments(allowed, { path: 'data.txt' })).rejects.toThrow('Give "format"');
    expect((await entriesOf({ path: 'data.txt', format: 'json' })).entries).toHaveLength(1);
  });

  it('knows the names of files of JSON', async () => {
    for (const path of ['map.geojson', 'MAP.GeoJSON']) {
      write(`in/${path}`, '{"type":"FeatureCollection","features":[]}');
      expect((await entriesOf({ path })).entries).toMatchObject([{ document: { features: [] } }]);
    }
  });

  it('reads CSV by the rules of uploaded files, with lines for what is wrong', async () => {
    write(
      'in/c.csv',
      '\ufeffid,name,n\n1,Ada,9007199254740993\n2,"two\nlines",x\n\n3,Bob,5,more\n4,Cy\n5,"a ""b""",\n',
    );
    const { entries } = await entriesOf({ path: 'c.csv', csv: { types: ['STRING', 'STRING', 'INTEGER'] } });
    expect(entries).toEqual([
      { at: 2, document: { id: '1', name: 'Ada', n: 9007199254740993n } },
      { at: 4, problem: expect.stringContaining('"x" in column "n", which is no INTEGER') },
      { at: 6, problem: expect.stringContaining('has 4 values for 3 columns') },
      { at: 7, document: { id: '4', name: 'Cy' } },
      { at: 8, document: { id: '5', name: 'a "b"' } },
    ]);
    write('in/t.tsv', '1\t2\n3\t4\n');
    const tabbed = await entriesOf({ path: 't.tsv', csv: { columns: ['a', 'b'] } });
    expect(tabbed.entries).toMatchObject([{ document: { a: '1', b: '2' } }, { document: { a: '3', b: '4' } }]);
  });

  it.each([
    ['a,a\n1,2\n', /names the column "a" twice/, 0],
    ['a,b\n1,2\n"3,4\n', /Quote Not Closed|quote/i, 1],
    [Buffer.from('a\n1\n\xe9\n', 'latin1'), /not valid UTF-8 at line 3, and may be Latin-1.*iconv/, 0],
  ])('stops in broken CSV', async (content, message, good) => {
    write('in/broken.csv', content);
    const file = await openDocuments(allowed, { path: 'broken.csv' });
    const entries: FileEntry[] = [];
    const reading = async () => {
      for await (const batch of file.batches) entries.push(...batch.entries);
    };
    await expect(reading()).rejects.toThrow(message);
    expect(entries).toHaveLength(good);
    await file.close();
  });

  it.each([
    ['id;"na,me"\n1;"Ada"\n', ',', '";"'],
    ['"id"\t"name"\n"1"\t"Ada"\n', ',', '"\\t"'],
    ['id|name|note\n1|"Ada; and"|"x"\n', ';', '"|"'],
    ['a,b\n1,2\n3,x"4\n', undefined, undefined],
    ['a;b\n1;2\n3;x"4\n', ';', undefined],
  ])('names the separator that quotes may lack: %j', async (content, separator, named) => {
    write('in/quoted.csv', content);
    const reading = entriesOf({ path: 'quoted.csv', csv: { separator } });
    await expect(reading).rejects.toThrow(/The file is no CSV: Invalid/);
    const message = await reading.catch((error: Error) => error.message);
    if (named === undefined) expect(message).not.toContain('csv_separator');
    else expect(message).toContain(`If ${named} separates the columns, give it as "csv_separator"`);
  });

  it('reads Parquet as the engine does, exactly, and numbers that JSON has not as null', async () => {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT i AS id, 9007199254740993::BIGINT + i AS big, 'NaN'::DOUBLE AS nan, 'inf'::FLOAT AS inf,
         TIMESTAMPTZ '2026-01-02 03:04:05+00' AS at, [i, NULL] AS list, {'a': i, 'b': NULL} AS object, NULL::INTEGER AS none
       FROM range(6000) numbers(i)) TO '${join(root, 'in/p.parquet')}' (FORMAT parquet)`,
    );
    connection.closeSync();
    instance.closeSync();
    const { entries, batches, nulls } = await entriesOf({ path: 'p.parquet' });
    expect(entries).toHaveLength(6_000);
    expect(batches).toBeGreaterThan(1);
    expect(nulls).toBe(12_000);
    expect(entries[0]).toEqual({
      at: 1,
      document: {
        id: 0,
        big: 9007199254740993n,
        at: '2026-01-02T03:04:05.000000Z',
        list: [0, null],
        object: { a: 0 },
      },
    });
    expect(entries.at(-1)).toMatchObject({ at: 6_000, document: { id: 5_999 } });
  });

  it('creates few documents at once if a small Parquet file expands to large ones', async () => {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT repeat('x', 1000000) AS text, i FROM range(40) numbers(i))
       TO '${join(root, 'in/dense.parquet')}' (FORMAT parquet, COMPRESSION zstd)`,
    );
    connection.closeSync();
    instance.closeSync();
    const { openParquet } = await import('../../../src/engine/duckdb/results/parquet.ts');
    const parquet = await openParquet(join(root, 'in/dense.parquet'));
    const sizes: number[] = [];
    for await (const documents of parquet.documents) sizes.push(documents.length);
    parquet.close();
    expect(Math.max(...sizes)).toBeLessThan(10);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(40);
  });

  it('gives the decimals of a column of Parquet one type, with all their digits', async () => {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT (CASE WHEN i = 4000 THEN 12345678901234567890.123456789 ELSE 1.25 END)::DECIMAL(38,9) AS long,
         {'d': [(CASE WHEN i = 1 THEN 1234567890123456.5 ELSE 1.5 END)::DECIMAL(20,2)], 'n': i} AS nested,
         (i + 0.25)::DECIMAL(38,9) AS "sh""ort", 1.5::DECIMAL(10,2) AS small, (12345678901234567890 + i)::DECIMAL(38,0) AS whole
       FROM range(5000) numbers(i)) TO '${join(root, 'in/decimals.parquet')}' (FORMAT parquet)`,
    );
    connection.closeSync();
    instance.closeSync();
    const file = await openDocuments(allowed, { path: 'decimals.parquet' });
    const documents = [];
    for await (const { entries } of file.batches) {
      documents.push(...entries.map((entry) => ('document' in entry ? entry.document : {})));
    }
    expect(file.asText()).toEqual(['long', 'nested']);
    await file.close();
    expect(documents[0]).toEqual({
      long: '1.250000000',
      nested: { d: ['1.50'], n: 0 },
      'sh"ort': 0.25,
      small: 1.5,
      whole: 12345678901234567890n,
    });
    expect(documents[4_000]).toMatchObject({ long: '12345678901234567890.123456789', whole: 12345678901234571890n });
    expect(new Set(documents.map(({ long }) => typeof long))).toEqual(new Set(['string']));
  });

  it('refuses Parquet that is none, and a name that would be a pattern', async () => {
    write('in/no.parquet', 'PAR1 but no more');
    await expect(openDocuments(allowed, { path: 'no.parquet' })).rejects.toThrow(/cannot be read as Parquet/);
    write('in/a[1].parquet', '');
    await expect(openDocuments(allowed, { path: 'a[1].parquet' })).rejects.toThrow('Rename it');
  });

  it('makes batches that fit into a request', async () => {
    const line = `${JSON.stringify({ text: 'x'.repeat(1_000_000) })}\n`;
    write('in/large.jsonl', line.repeat(7));
    const { entries, batches } = await entriesOf({ path: 'large.jsonl' });
    expect(entries).toHaveLength(7);
    expect(batches).toBe(3);
  });
});

describe('the rows of CSV', () => {
  const rowsOf = async (content: string, csv: FileRequest['csv'] = {}) => {
    write('in/rows.csv', content);
    const file = await openDocuments(allowed, { path: 'rows.csv', csv });
    try {
      for await (const batch of file.batches) expect(batch.entries.length).toBeGreaterThan(0);
      return file.rows?.();
    } finally {
      await file.close();
    }
  };

  it('that are too short are counted, with the lines of the first', async () => {
    const short = Array.from({ length: 7 }, () => '1,2\n').join('');
    expect(await rowsOf(`a,b,c\n1,2,3\n${short}`)).toEqual({
      short: 7,
      shortLines: [3, 4, 5, 6, 7],
      separator: undefined,
    });
  });

  it('of one column whose name holds a separator may have another one', async () => {
    expect(await rowsOf('a;b;c\n1;2;3\n', { separator: ',' })).toMatchObject({ short: 0, separator: ';' });
    expect(await rowsOf('a\tb\n1\t2\t3\n')).toMatchObject({ separator: '\t' });
    expect(await rowsOf('a;b\n1;2\n', { separator: ';' })).toMatchObject({ separator: undefined });
    expect(await rowsOf('name\nx\n')).toMatchObject({ separator: undefined });
  });
});
