import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { CsvPart, CsvRows, Engine, RowsOptions } from '../../../src/engine/engine.ts';
import type { FieldNews } from '../../../src/engine/field-news.ts';
import { readGiven } from '../../../src/service/ingest/intake.ts';
import { columnsOf, openAfterCrash, openSmall, readBack, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs', recognizeTimes: true },
    { do: 'createCollection', table: 'u', workspace: 'commons', name: 'same', recognizeTimes: true },
  ]);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

/** Records in the spool, as many in each part; line numbers count from 2. */
function csvRows(names: string[], records: string[], partRows = 1_000): CsvRows {
  const parts: CsvPart[] = [];
  mkdirSync(engine.spool, { recursive: true });
  for (let at = 0; at < records.length; at += partRows) {
    const some = records.slice(at, at + partRows);
    const path = join(engine.spool, `part${at}`);
    writeFileSync(path, some.map((record, index) => `${at + index + 2},${record}\n`).join(''));
    parts.push({
      path,
      rows: some.length,
      first: at + 2,
      last: at + some.length + 1,
      hasBreaks: false,
      hasShort: false,
      entries: at + some.length,
    });
  }
  return { kind: 'csv', parts, names, types: [], separator: ',', quote: '"', escaping: '"', recordBytes: 1_000 };
}

const options = (more: Partial<RowsOptions> = {}): RowsOptions => ({
  stopsAtRefused: false,
  reserveIds: () => 7_000_000_000_000_000n,
  read: (document) => readGiven(document) ?? { why: 'cannot be stored' },
  tell: () => undefined,
  signal: new AbortController().signal,
  ...more,
});

async function contentOf(name: string, table: string, ids: readonly string[]) {
  const strays = (await columnsOf(engine, name)).some((one) => one.startsWith('_strays'));
  return {
    columns: await columnsOf(engine, name),
    documents: await readBack(engine, table, ids),
    strays: strays
      ? await rowsOf(engine, `SELECT _id, _strays FROM ${name} WHERE _strays IS NOT NULL ORDER BY _id`)
      : [],
  };
}

test('rows in several parts become what their documents become in as many writes, news included', async () => {
  const before = Array.from({ length: 6 }, (_, n) => ({ _id: `b${n}`, n: 1, name: 'x', t: '2024-01-01', o: { a: 1 } }));
  const documents: JsonObject[] = Array.from({ length: 30 }, (_, n) => ({
    _id: `r${n % 20}`,
    n: n === 7 ? 'seven' : n,
    name: `name ${n}`,
    NAME: `other ${n}`,
    t: n === 9 ? 'later' : `2024-02-${String((n % 28) + 1).padStart(2, '0')}`,
    ...(n % 2 === 0 ? { half: n / 2 + 0.5 } : {}),
    ...(n === 11 ? { o: 'text' } : {}),
  }));
  const read = (some: readonly JsonObject[]) => some.flatMap((one) => readGiven(one) ?? []);
  const [told, toldOfRows]: [FieldNews[], FieldNews[]] = [[], []];
  await engine.addDocuments('t', read(before));
  await engine.addDocuments('u', read(before));
  const statuses: string[] = [];
  for (let at = 0; at < documents.length; at += 10) {
    const outcomes = await engine.addDocuments('u', read(documents.slice(at, at + 10)), (one) => told.push(one));
    statuses.push(...outcomes.map(({ status }) => status));
  }
  const names = ['_id', 'n', 'name', 'NAME', 't', 'half', 'o'];
  const records = documents.map((one) => names.map((name) => String(one[name] ?? '')).join(','));
  const steps: number[] = [];
  const outcome = await engine.addRows(
    't',
    csvRows(names, records, 10),
    options({ onNews: (one) => toldOfRows.push(one), tell: ({ rows }) => steps.push(rows) }),
  );
  // What fits of a part is told of before its other rows are stored.
  expect(steps).toEqual([10, 10, 20, 30]);
  expect([outcome.added, outcome.replaced]).toEqual([20, 10]);
  expect(statuses.filter((status) => status === 'replaced')).toHaveLength(10);
  const ids = [...before, ...documents].map(({ _id }) => String(_id));
  expect(await contentOf('docs', 't', ids)).toEqual(await contentOf('same', 'u', ids));
  const strays = (news: FieldNews[]) => news.flatMap((one) => one.strays.map(({ path, count }) => [path, count]));
  expect(strays(toldOfRows).sort()).toEqual(strays(told).sort());
  expect(toldOfRows.flatMap(({ spellings }) => spellings)).toEqual(told.flatMap(({ spellings }) => spellings));
});

test('an abort between two parts leaves those before it', async () => {
  const abort = new AbortController();
  const rows = csvRows(
    ['v'],
    Array.from({ length: 30 }, (_, n) => String(n)),
    10,
  );
  const loading = engine.addRows(
    't',
    rows,
    options({ signal: abort.signal, tell: () => abort.abort(new Error('enough')) }),
  );
  await expect(loading).rejects.toThrow('enough');
  expect(await rowsOf(engine, 'SELECT count(*), max(v) FROM docs')).toEqual([[10, 9]]);
});

test('documents in the trash with the ids of rows stay there', async () => {
  const document = readGiven({ _id: 'a', v: 1 });
  await engine.addDocuments('t', document === undefined ? [] : [document]);
  const record = () => ({ do: 'putRecord', kind: 'k', key: 'k', value: {} }) as const;
  await engine.deleteDocuments('t', ['a'], { trash: 'x', record });
  expect(await engine.addRows('t', csvRows(['_id', 'v'], ['a,2']), options())).toMatchObject({ added: 1, replaced: 0 });
  expect(await rowsOf(engine, 'SELECT _id, v FROM docs')).toEqual([['a', 2]]);
  expect(await engine.restoreDocuments('x', 't', () => [])).toMatchObject({ docCount: 0, left: { docCount: 1 } });
});

test('a part that has not the rows that it is said to have stores none', async () => {
  const rows = csvRows(['v'], ['1', '2']);
  const [part] = rows.parts;
  const wrong = { ...rows, parts: part === undefined ? [] : [{ ...part, rows: 3 }] };
  await expect(engine.addRows('t', wrong, options())).rejects.toMatchObject({ code: 'internal' });
  expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
});

test('rows are there after a restart, and the spool is not', async () => {
  await engine.addRows('t', csvRows(['_id', 'v'], ['a,1']), options());
  await engine.close();
  engine = await openSmall(folder.file);
  expect(existsSync(engine.spool)).toBe(false);
  expect(await rowsOf(engine, 'SELECT _id, v FROM docs')).toEqual([['a', 1]]);
});

test('many rows are there after a crash, and their ids are found', async () => {
  const records = Array.from({ length: 260_000 }, (_, n) => `r${n},${n},text ${n}`);
  await engine.addRows('t', csvRows(['_id', 'v', 's'], records, 130_000), options());
  const again = await openAfterCrash(folder.file, join(folder.folder, 'copy'));
  try {
    const sums = 'SELECT count(*), count(DISTINCT _id), sum(v) FROM docs';
    expect(await rowsOf(again, sums)).toEqual([[260_000, 260_000, 33_799_870_000]]);
    const outcome = await again.addDocuments('t', [{ id: 'r131000', eventTimeMicros: null, fields: { v: 0 } }]);
    expect(outcome).toEqual([{ status: 'replaced' }]);
  } finally {
    await again.close();
  }
});

test('a field named rowid is one like others', async () => {
  await engine.addRows('t', csvRows(['_id', 'rowid'], ['a,1', 'b,2']), options());
  expect(await engine.addRows('t', csvRows(['_id', 'rowid'], ['b,3', 'c,4', 'c,5']), options())).toMatchObject({
    added: 1,
    replaced: 2,
  });
  expect(await rowsOf(engine, 'SELECT _id, rowid FROM docs ORDER BY _id')).toEqual([
    ['a', 1],
    ['b', 3],
    ['c', 5],
  ]);
});
