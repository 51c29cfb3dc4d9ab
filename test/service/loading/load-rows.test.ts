import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDocuments } from '../../../src/cli/files/file-documents.ts';
import type { LoadInput } from '../../../src/mcp/tools/load-arguments.ts';
import { sentAs } from '../../../src/mcp/tools/load-preview.ts';
import { type LoadBench, startBench } from './load-bench.ts';

let bench: LoadBench;
let root: string;

beforeAll(async () => {
  bench = await startBench();
  root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-rows-')));
});
afterAll(async () => {
  await bench.remove();
  rmSync(root, { recursive: true, force: true });
});

/** Loads a file as `load_file` sends it, into a collection of its own; its rows are in the order of the file. */
async function load(
  path: string,
  content: string | Buffer | undefined,
  input: Pick<LoadInput, 'types' | 'format_params'> = {},
) {
  if (content !== undefined) writeFileSync(join(root, path), content);
  const file = await openDocuments({ folders: [root], dataDir: join(root, 'none') }, { path });
  async function* body() {
    for await (const { piece } of file.pieces()) yield piece;
  }
  try {
    const name = await bench.create({ recognize_times: true });
    const call = { workspace: 'commons', collection: name, ...sentAs(file, input), on_error: 'skip' } as const;
    const done = await bench.client.load(call, body());
    return { done, rows: await bench.rows(`SELECT * EXCLUDE (_id, _event_time) FROM ${name} ORDER BY _id`) };
  } finally {
    await file.close();
  }
}

/** What the engine writes. */
async function written(path: string, sql: string, options = 'FORMAT parquet'): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${sql}) TO '${join(root, path)}' (${options})`);
  connection.closeSync();
  instance.closeSync();
}

describe('a file of CSV', () => {
  it('is read with the types that are given, and lines for what is wrong', async () => {
    const text = '\ufeffid,name,n\n1,Ada,9007199254740993\n2,"two\nlines",x\n\n3,Bob,5,more\n4,Cy\n5,"a ""b""",\n';
    const { done, rows } = await load('c.csv', text, { types: { id: 'STRING', n: 'INTEGER' } });
    expect(rows).toEqual([
      { id: '1', name: 'Ada', n: '9007199254740993' },
      { id: '4', name: 'Cy', n: null },
      { id: '5', name: 'a "b"', n: null },
    ]);
    expect(done.refused).toMatchObject([
      { at: 3, error: expect.stringContaining('"x" in column "n", which is no INTEGER') },
      { at: expect.any(Number), error: expect.stringContaining('4 values for 3 columns') },
    ]);
  });

  it('has the columns that are given, the separator of its name, or one that is recognized', async () => {
    const tabbed = await load('t.tsv', '1\t2\n3\t4\n', { format_params: { columnNames: ['a', 'b'] } });
    expect(tabbed.rows).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ]);
    expect((await load('s.csv', '\ufeffa;b\n1,5;x\n')).rows).toEqual([{ a: '1,5', b: 'x' }]);
    const given = await load('s.csv', undefined, { format_params: { separator: ',' } });
    expect(given.done.refused).toMatchObject([{ error: expect.stringContaining('2 values for 1 column') }]);
  });

  it('is read compressed, too', async () => {
    await written(
      'z.csv.zst',
      'SELECT i AS id, md5(i::VARCHAR) AS text FROM range(50000) r(i)',
      'FORMAT csv, COMPRESSION zstd',
    );
    const { rows } = await load('z.csv.zst', undefined);
    expect(rows).toHaveLength(50_000);
    expect(rows[49_999]).toEqual({ id: 49_999, text: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect((await load('m.csv.gz', gzipSync('\ufeffa\n1\n'))).rows).toEqual([{ a: 1 }]);
  });

  it.each([
    ['a,b\n1,2\n"3,4\n', /quote/i],
    [Buffer.from('name\nAda\nJosþ\n', 'latin1'), /not valid UTF-8 at line 3/],
  ])('stops where it is broken', async (content, message) => {
    const outcome = await load('broken.csv', content).then(
      ({ done }) => done.stopped ?? '',
      (error: Error) => error.message,
    );
    expect(outcome).toMatch(message);
  });

  it('says that rows are shorter than its first line', async () => {
    const { done } = await load('short.csv', `a,b,c\n1,2,3\n${'1,2\n'.repeat(7)}`);
    expect(done).toMatchObject({ added: 8 });
    expect(done.warnings.join()).toMatch(/7 .*(short|fewer)/i);
  });
});

describe('a file of Parquet', () => {
  it('is read exactly, with numbers that JSON lacks as null', async () => {
    await written(
      'p.parquet',
      `SELECT i AS id, 9007199254740993::BIGINT + i AS big, 'NaN'::DOUBLE AS nan, 'inf'::FLOAT AS inf,
         TIMESTAMPTZ '2026-01-02 03:04:05+00' AS at, [i, NULL] AS list, {'a': i, 'b': NULL} AS object
       FROM range(6000) numbers(i)`,
    );
    const { done, rows } = await load('p.parquet', undefined);
    expect(done).toMatchObject({ added: 6_000, stopped: null });
    expect(rows[0]).toMatchObject({
      id: 0,
      big: '9007199254740993',
      at: '2026-01-02T03:04:05.000000Z',
      list: [0, null],
    });
    expect([rows[0]?.['nan'] ?? null, rows[0]?.['inf'] ?? null]).toEqual([null, null]);
    expect(rows.at(-1)).toMatchObject({ id: 5_999, object: { a: 5_999 } });
  });

  it('keeps all digits of decimals', async () => {
    const decimal = '(CASE WHEN i = 4 THEN 12345678901234567890.123456789 ELSE 1.25 END)::DECIMAL(38,9)';
    await written(
      'd.parquet',
      `SELECT ${decimal} AS long, (12345678901234567890 + i)::DECIMAL(38,0) AS whole FROM range(9) r(i)`,
    );
    const { rows } = await load('d.parquet', undefined);
    expect(String(rows[4]?.['long'])).toBe('12345678901234567890.123456789');
    expect(String(rows[4]?.['whole'])).toBe('12345678901234567894');
  });

  it('is refused where it is none', async () => {
    await expect(load('no.parquet', 'PAR1 but no more')).rejects.toThrow(/Parquet/);
  });
});
