import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CsvRows, Engine, OpenedRow } from '../../../src/engine/engine.ts';
import { createDocs, openSmall, temporaryFolder } from '../harness.ts';

let engine: Engine;
let folder: ReturnType<typeof temporaryFolder>;
const { signal } = new AbortController();

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine, true);
  await mkdir(engine.spool, { recursive: true });
});
afterAll(async () => {
  await engine.close();
  folder.dispose();
});

async function rowsBehind(opened: Awaited<ReturnType<Engine['openRows']>>, after: number): Promise<OpenedRow[]> {
  const rows: OpenedRow[] = [];
  for (let at = after; ; at = rows.at(-1)?.at ?? at) {
    const some = await opened.next(at, signal);
    if (some.length === 0) return rows;
    rows.push(...some);
  }
}

test('rows of a Parquet file are read in order from any place on, with their types', async () => {
  const path = join(engine.spool, 'a.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT i AS n, DATE '2026-01-01' + i::INT AS day FROM range(20000) r(i)) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 4096)`,
  );
  connection.closeSync();
  instance.closeSync();
  const opened = await engine.openRows('t', { kind: 'parquet', path, skip: 0 }, signal);
  const all = await rowsBehind(opened, 0);
  expect(all.map(({ at }) => at)).toEqual(Array.from({ length: 20_000 }, (_, n) => n + 1));
  expect(all[7]?.read()).toEqual({ document: { n: 7, day: '2026-01-08' }, declared: new Map([['day', 'time']]) });
  expect((await rowsBehind(opened, 19_998)).map((row) => row.read())).toMatchObject([
    { document: { n: 19_998 } },
    { document: { n: 19_999 } },
  ]);
});

test('rows of CSV have the types of all rows in all parts; one that has not its given type says why', async () => {
  const part = (name: string, records: readonly string[], first: number) => {
    const path = join(engine.spool, name);
    writeFileSync(path, records.map((record, index) => `${first + index},${record}\n`).join(''));
    return {
      path,
      rows: records.length,
      first,
      last: first + records.length - 1,
      hasBreaks: false,
      hasShort: false,
      entries: 0,
    };
  };
  const rows: CsvRows = {
    kind: 'csv',
    parts: [part('1', ['1,1,yes', '2,2,3'], 2), part('2', ['x,3,4', '4,5.5,'], 4)],
    names: ['a', 'b', 'c'],
    types: [undefined, undefined, 'INTEGER'],
    separator: ',',
    quote: '"',
    escaping: '"',
    recordBytes: 64,
  };
  const opened = await engine.openRows('t', rows, signal);
  expect((await rowsBehind(opened, 0)).map((row) => ({ at: row.at, ...row.read() }))).toEqual([
    { at: 2, why: 'has "yes" in column "c", which is no INTEGER' },
    { at: 3, document: { a: '2', b: 2, c: 3 }, declared: undefined },
    { at: 4, document: { a: 'x', b: 3, c: 4 }, declared: undefined },
    { at: 5, document: { a: '4', b: 5.5 }, declared: undefined },
  ]);
});

test('a file that is none is refused, and an abort ends reading', async () => {
  const path = join(engine.spool, 'none');
  writeFileSync(path, 'nothing');
  await expect(engine.openRows('t', { kind: 'parquet', path, skip: 0 }, signal)).rejects.toMatchObject({
    code: 'invalid_input',
  });
  await expect(
    engine.openRows('t', { kind: 'parquet', path, skip: 0 }, AbortSignal.abort(new Error('enough'))),
  ).rejects.toThrow('enough');
});
