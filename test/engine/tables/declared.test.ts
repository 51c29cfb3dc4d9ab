import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import type { DeclaredType, Engine } from '../../../src/engine/engine.ts';
import type { FieldNews } from '../../../src/engine/field-news.ts';
import { columnsOf, doc, openSmall, readBack, rowsOf, temporaryFolder } from '../harness.ts';
import { openParquet } from '../parquet-file.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
    { do: 'createCollection', table: 'u', workspace: 'commons', name: 'plain' },
    { do: 'putAlias', workspace: 'commons', name: 'all_of_it', tables: ['t', 'u'] },
  ]);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

async function add(values: readonly JsonValue[], declared?: DeclaredType, from = 0): Promise<FieldNews[]> {
  const told: FieldNews[] = [];
  const documents = values.map((v, n) => ({
    ...doc(`d${from + n}`, { v }),
    ...(declared === undefined ? {} : { declared: new Map([['v', declared]]) }),
  }));
  const outcomes = await engine.addDocuments('t', documents, (one) => told.push(one));
  expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
  return told;
}

const order = 'ORDER BY CAST(substr(_id, 2) AS INT)';

/** Each document is given back as it was written: to changes, and by a plain read. */
async function expectWritten(values: readonly JsonValue[]): Promise<void> {
  const found = await readBack(
    engine,
    't',
    values.map((_, n) => `d${n}`),
  );
  expect(found.map((document) => document?.['v'])).toEqual(values);
  const shown = values.map((value) => (typeof value === 'bigint' ? String(value) : value));
  expect((await rowsOf(engine, `SELECT v FROM docs ${order}`)).map(([value]) => value)).toEqual(shown);
}

const typeOfField = async () => (await columnsOf(engine)).find((column) => column.startsWith('v '))?.slice(2);

const UUID = '9f3a0d0e-1111-4222-8333-0123456789ab';

test.each<[string, DeclaredType, JsonValue[]]>([
  ['UUID', 'uuid', [UUID, UUID.replace('9', 'a')]],
  ['BLOB', 'binary', ['', 'AAECAw==', 'YWJjZA==', '//79', 'XHgwMA==']],
  ['TIME', 'clock', ['00:00:00', '23:59:59.999999', '12:30:00.5']],
  ['DECIMAL(10,2)', 'decimal 10 2', [0, 1, -1.5, 99999999.99, 0.1, -0.01]],
  ['DECIMAL(18,9)', 'decimal 18 9', [1e-7, -1e-9, 0.3, '123456789.123456789']],
  ['DECIMAL(38,10)', 'decimal 38 10', [1e-7, 0.3, '1234567890123456.5000000000', 5e15]],
  ['DECIMAL(38,0)', 'decimal 38 0', [1, 12345678901234567890123456789012345678n, -5]],
])('%s', async (type, declared, values) => {
  expect(await add(values, declared)).toEqual([]);
  expect(await typeOfField()).toBe(type);
  expect((await columnsOf(engine)).join()).not.toContain('_strays');
  await expectWritten(values);
  await engine.close();
  engine = await openSmall(folder.file);
  await engine.changeDocuments('t', ['d0'], (document) => ({ ...document, w: 1 }), new Set(['w']));
  const again = (values[1] ?? null) as JsonValue;
  await add([again], undefined, values.length);
  expect(await typeOfField()).toBe(type);
  await expectWritten([...values, again]);
  await engine.deleteDocuments('t', ['d0']);
  await expect(rowsOf(engine, 'SELECT count(v) FROM docs')).resolves.toEqual([[values.length]]);
});

test('sums of decimals are exact', async () => {
  await add([0.1, 0.2, '12345678901234.57'], 'decimal 18 2');
  expect(await rowsOf(engine, 'SELECT sum(v)::VARCHAR, sum(v) FILTER (v < 1) = 0.3 FROM docs')).toEqual([
    ['12345678901234.87', true],
  ]);
});

test('a UUID or a time of day spelled otherwise is kept, and disagrees with nothing', async () => {
  const values = [UUID, UUID.toUpperCase()];
  expect(await add(values, 'uuid')).toEqual([]);
  await expectWritten(values);
  const outcome = await engine.query({ sql: 'SELECT count(DISTINCT v), count(v) FROM docs' });
  expect(outcome).toMatchObject({ rows: [[1, 2]], warnings: [] });
});

test('times of day with and without seconds', async () => {
  const values = ['12:30:00', '12:30', '12:30:00.500'];
  expect(await add(values, 'clock')).toEqual([]);
  await expectWritten(values);
  const outcome = await engine.query({ sql: "SELECT count(*) FROM docs WHERE v <= '12:30'" });
  expect(outcome).toMatchObject({ rows: [[2]], warnings: [] });
});

test.each<[DeclaredType, JsonValue[], JsonValue[]]>([
  ['uuid', [UUID, UUID], ['no', 1]],
  ['binary', ['AAECAw==', ''], ['no!', 'AAECAx==']],
  ['clock', ['12:30:00', '12:31:00'], ['24:00:00', '12:60']],
  ['decimal 10 2', [1, 2, 3.25], ['4.50', true]],
])('%s: what does not fit is a stray, and said', async (declared, values, others) => {
  await add(values, declared);
  const before = await typeOfField();
  const news = await add(others, undefined, values.length);
  expect(news[0]?.strays).toMatchObject([{ path: '"v"', count: 2, type: before }]);
  expect(await typeOfField()).toBe(before);
  await expectWritten([...values, ...others]);
  const outcome = await engine.query({ sql: 'SELECT count(v) FROM docs' });
  expect(outcome.rows).toEqual([[values.length]]);
  expect(outcome.warnings.join()).toContain('2 of v (');
  const more = ['x', 'y', 'z', 'w', 'q', 'r', 's'];
  await add(more, undefined, values.length + others.length);
  expect(await typeOfField()).toBe('VARCHAR');
  await expectWritten([...values, ...others, ...more]);
});

test('a number that does not fit makes doubles of decimals, but of longer ones only if most do not', async () => {
  await add([1.25, 2], 'decimal 10 2');
  await add([1.125], undefined, 2);
  expect(await typeOfField()).toBe('DOUBLE');
  await expectWritten([1.25, 2, 1.125]);
});

test('longer decimals keep their digits beside a number that does not fit', async () => {
  const values = [1.25, '123456789012345678.25'];
  await add(values, 'decimal 20 2');
  const news = await add([1.125], undefined, 2);
  expect(news[0]?.strays).toMatchObject([{ path: '"v"', count: 1 }]);
  expect(await typeOfField()).toBe('DECIMAL(20,2)');
  await expectWritten([...values, 1.125]);
  expect(await rowsOf(engine, 'SELECT sum(v) FROM docs')).toEqual([['123456789012345679.50']]);
  const more = Array.from({ length: 9 }, (_, n) => n + 0.001);
  await add(more, undefined, 3);
  expect(await typeOfField()).toBe('DOUBLE');
  await expectWritten([...values, 1.125, ...more]);
  const sum = await engine.query({ sql: 'SELECT max(v), count(v) FROM docs' });
  expect(sum.rows).toEqual([[123456789012345680, 12]]);
  expect(sum.warnings.join()).toContain('are NULL or rounded here: ');
  await add(['12345678901234567.12', 0.5], undefined, 12);
  expect(await typeOfField()).toBe('DOUBLE');
  await expectWritten([...values, 1.125, ...more, '12345678901234567.12', 0.5]);
});

test('the first value decides only if it fits', async () => {
  await add(['no'], 'uuid');
  expect(await typeOfField()).toBe('VARCHAR');
  await expectWritten(['no']);
});

test('an alias of decimals and other numbers', async () => {
  await add([0.5, 1.25], 'decimal 10 2');
  await engine.addDocuments('u', [doc('a', { v: 2 }), doc('b', { v: 0.125 })]);
  expect(await rowsOf(engine, 'SELECT sum(v) FROM all_of_it')).toEqual([[3.875]]);
});

test('exports have the types', async () => {
  await add([1.25, '123456789012345678.25'], 'decimal 20 2');
  await engine.query({ sql: 'SELECT v, pg_typeof(v) FROM docs', keep: { id: 'k', rowsMax: 1 } });
  const exports = engine.results.exportsFolder;
  mkdirSync(exports, { recursive: true });
  await engine.results.writeParquet('k', 'k.parquet');
  const parquet = await openParquet(join(exports, 'k.parquet'));
  const rows = [];
  for await (const some of parquet.documents) rows.push(...some);
  parquet.close();
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['1.25', 'decimal(20,2)'],
    ['123456789012345678.25', 'decimal(20,2)'],
  ]);
});
