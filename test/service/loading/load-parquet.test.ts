import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { durationsIn } from '../../../src/engine/duckdb/loading/parquet-durations.ts';
import { columnsOf, rowsOf, temporaryFolder } from '../../engine/harness.ts';
import { openParquet } from '../../engine/parquet-file.ts';
import { ON_LAKE } from '../../lake/lake-for.ts';
import { type Loads, openLoads } from './loads.ts';

let loads: Loads;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  loads = await openLoads();
  folder = temporaryFolder();
});

afterEach(async () => {
  expect(loads.spooled()).toEqual([]);
  await loads.dispose();
  folder.dispose();
});

/** A Parquet file with the rows of a query. */
async function parquetOf(sql: string, options = ''): Promise<{ path: string; bytes: Buffer }> {
  const path = join(folder.folder, 'rows.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  await connection.run(`COPY (${sql}) TO '${path}' (FORMAT parquet${options})`);
  connection.closeSync();
  instance.closeSync();
  return { path, bytes: readFileSync(path) };
}

async function load(sql: string, options: Parameters<Loads['load']>[2] = {}, written = '') {
  const docs = await loads.create('docs');
  const outcome = await loads.load(docs, (await parquetOf(sql, written)).bytes, { format: 'parquet', ...options });
  const rows = await rowsOf(loads.engine, 'SELECT * EXCLUDE (_id, _event_time) FROM docs ORDER BY _id');
  return { outcome, columns: (await columnsOf(loads.engine)).slice(2), rows };
}

/** Loads a file into one collection, and its rows as documents into another: SQL sees the same of both. */
async function expectAlike(sql: string, before: JsonObject[] = []): Promise<void> {
  const { path, bytes } = await parquetOf(sql);
  const [loaded, added] = [await loads.create('loaded'), await loads.create('added')];
  for (const one of [loaded, added]) if (before.length > 0) await loads.add(one, before);
  const { warnings, refusedCount } = await loads.load(loaded, bytes, { format: 'parquet' });
  expect(refusedCount).toBe(0);
  const file = await openParquet(path);
  const documents: JsonObject[] = [];
  for await (const some of file.documents) documents.push(...some);
  file.close();
  const told = await loads.add(added, documents);
  expect(await loads.seen('loaded')).toEqual(await loads.seen('added'));
  expect(warnings.map((one) => one.replaceAll('commons.loaded', 'commons.added'))).toEqual(told);
}

/**
 * What pyarrow 26 writes of the columns id BIGINT, t VARCHAR, and lengths of time: us, `ns "x"`, s, and ms, in these units.
 */
const ARROW_SCHEMA = [
  '/////2ABAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAYAAAD4AAAAtAAAAIQAAABYAAAALAAA',
  'AAQAAAAw////AAABBRAAAAAUAAAABAAAAAAAAAABAAAAdAAAANz///9U////AAABEhAAAAAYAAAABAAAAAAAAAACAAAAbXMAAAQA',
  'BAAEAAAAfP///wAAARIQAAAAFAAAAAQAAAAAAAAAAQAAAHMAAACq////AAAAAKT///8AAAESEAAAABgAAAAEAAAAAAAAAAYAAABu',
  'cyAieCIAANb///8AAAMA0P///wAAARIQAAAAHAAAAAQAAAAAAAAAAgAAAHVzAAAAAAYACAAGAAYAAAAAAAIAEAAUAAgABgAHAAwA',
  'AAAQABAAAAAAAAECEAAAABwAAAAEAAAAAAAAAAIAAABpZAAACAAMAAgABwAIAAAAAAAAAUAAAAAAAAAA',
].join('');

describe('lengths of time, as Arrow writes them', () => {
  const sql = 'SELECT 1 AS id, 3600000000 AS us, 3600000000000 AS "ns ""x""", 3600 AS s, 3600000 AS ms';

  test('are numbers, whose unit is told with what reads it', async () => {
    const { outcome, rows } = await load(sql, {}, `, KV_METADATA {'ARROW:schema': '${ARROW_SCHEMA}'}`);
    expect(outcome.warnings).toEqual([
      '"us" has lengths of time in microseconds: "us" / 3600000000 is hours.',
      '"ns ""x""" has lengths of time in nanoseconds: "ns ""x""" / 3600000000000 is hours.',
      '"s" has lengths of time in seconds: "s" / 3600 is hours.',
      '"ms" has lengths of time in milliseconds: "ms" / 3600000 is hours.',
    ]);
    expect(rows).toHaveLength(1);
    const hours = 'SELECT us / 3600000000, "ns ""x""" / 3600000000000, s / 3600, ms / 3600000 FROM docs';
    expect(await rowsOf(loads.engine, hours)).toEqual([[1, 1, 1, 1]]);
  });

  test('of a schema that is damaged anywhere are not told, and the file is read', () => {
    const whole = Buffer.from(ARROW_SCHEMA, 'base64');
    expect(durationsIn(whole).size).toBe(4);
    for (let at = 0; at < whole.length; at++) {
      durationsIn(whole.subarray(0, at));
      for (const byte of [0, 0x7f, 0xff]) {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        expect(durationsIn(damaged).size).toBeLessThanOrEqual(10_000);
      }
    }
    expect(durationsIn(Buffer.alloc(0)).size).toBe(0);
  });
});

describe('what an export has beside its columns', () => {
  const EXPORTED = ", KV_METADATA {colloquy: 'collection'}";

  test('goes back to its place', async () => {
    const sql = `SELECT * FROM (VALUES
      ('a', 1, {x: [1, NULL]}, '{"n":"one","o/x/1":{"y":"z"}}', '{"N":2}'), ('b', 2, {x: [3]}, NULL, NULL)) t(_id, n, o, _strays, _extra)`;
    const { outcome } = await load(sql, {}, EXPORTED);
    expect(outcome).toMatchObject({ entries: 2, added: 2, refusedCount: 0, withoutId: 0 });
    const added = await loads.create('added');
    await loads.add(added, [
      { _id: 'a', n: 'one', o: { x: [1, { y: 'z' }] }, N: 2 },
      { _id: 'b', n: 2, o: { x: [3] } },
    ]);
    const read = (name: string) => rowsOf(loads.engine, `SELECT * EXCLUDE (_event_time) FROM ${name} ORDER BY _id`);
    expect(await read('docs')).toEqual(await read('added'));
  });

  test.each([
    [`'5'`, 'has a text in "_strays" that is no JSON object'],
    [`'{"l/7":1}'`, 'has a value in "_strays" for "l/7", which is no place in it'],
    [`'{"l/999999999999":1}'`, 'which is no place in it'],
    [`'{"x/y":1}'`, 'which is no place in it'],
    [`'{"_id":"other"}'`, 'has a value in "_strays" for "_id", which is no place in it'],
  ])('is refused where it is %s', async (strays, why) => {
    const sql = `SELECT 'a' AS _id, [1] AS l, ${strays} AS _strays UNION ALL SELECT 'b', [2], NULL`;
    const { outcome, rows } = await load(sql, {}, EXPORTED);
    expect(outcome).toMatchObject({ added: 1, refused: [{ at: 1, why: expect.stringContaining(why) }] });
    expect(rows).toEqual([[[2]]]);
  });

  test.each(['_id', '_event_time', 'n'])('is refused where it would replace %s', async (field) => {
    const sql = `SELECT 'a' AS _id, 1 AS n, '{"${field}":"2020-01-01T00:00:00Z"}' AS _extra`;
    const { outcome } = await load(sql, {}, EXPORTED);
    const why = expect.stringContaining(`has a value in "_extra" for "${field}", which is a column`);
    expect(outcome).toMatchObject({ added: 0, refused: [{ at: 1, why }] });
  });

  test('is a field where the file is of another maker, and replaces nothing', async () => {
    const texts = ['{"_id":"other","n":2}', 'just text', null];
    const values = texts.map((one, at) => `('id${at}', ${at}, ${one === null ? 'NULL' : `'${one}'`}, 'x')`);
    const { outcome } = await load(`SELECT * FROM (VALUES ${values.join(', ')}) t(_id, n, _extra, _strays)`);
    expect(outcome).toMatchObject({ added: 3, refusedCount: 0 });
    expect(outcome.warnings.filter((one) => one.includes('of the file is a field of that name'))).toHaveLength(2);
    const sql = `SELECT _id, n, _extra->>'$._extra', _extra->>'$._strays' FROM docs ORDER BY _id`;
    expect(await rowsOf(loads.engine, sql)).toEqual(texts.map((one, at) => [`id${at}`, at, one, 'x']));
  });

  test('is a field of CSV, which is told', async () => {
    const docs = await loads.create('docs');
    const { warnings, added } = await loads.load(docs, 'n,_extra\n1,"{""N"":2}"\n');
    expect([added, warnings]).toEqual([1, [expect.stringContaining('The column "_extra" of the file is a field')]]);
  });
});

describe('loadRows() of Parquet', () => {
  test.each([
    ['1::TINYINT', 'BIGINT', 1],
    ['4294967295::UINTEGER', 'BIGINT', 4294967295],
    ['9007199254740993', 'BIGINT', '9007199254740993'],
    ['18446744073709551615::UBIGINT', ON_LAKE ? 'DECIMAL(38,0)' : 'HUGEINT', '18446744073709551615'],
    ['0.1::FLOAT', 'DOUBLE', 0.1],
    ['1.5::DOUBLE', 'DOUBLE', 1.5],
    ['true', 'BOOLEAN', true],
    ["'é'", 'VARCHAR', 'é'],
    ["DATE '2024-01-02'", 'DATE', '2024-01-02'],
    ["TIMESTAMP '2024-01-02 03:04:05.5'", 'TIMESTAMP', '2024-01-02T03:04:05.500000'],
    ["TIMESTAMPTZ '2024-01-02 03:04:05+02'", 'TIMESTAMP WITH TIME ZONE', '2024-01-02T01:04:05.000000Z'],
    ["TIMESTAMP_NS '2024-01-02 03:04:05.123456789'", 'TIMESTAMP', '2024-01-02T03:04:05.123456'],
    ["TIME '03:04:05.25'", 'TIME', '03:04:05.25'],
    ['1.50::DECIMAL(9,2)', 'DECIMAL(9,2)', 1.5],
    ['12345678901234567890.12::DECIMAL(30,2)', 'DECIMAL(30,2)', '12345678901234567890.12'],
    ["'9f3a0d0e-1111-4222-8333-0123456789ab'::UUID", 'UUID', '9f3a0d0e-1111-4222-8333-0123456789ab'],
    ["'\\x00\\xFF'::BLOB", 'BLOB', 'AP8='],
    ["'b'::ENUM('a', 'b')", 'VARCHAR', 'b'],
    ['[1, NULL, 2]', 'BIGINT[]', [1, null, 2]],
    ["{'a': 1, 'b': {'c': ['x']}}", 'STRUCT(a BIGINT, b STRUCT(c VARCHAR[]))', { a: 1, b: { c: ['x'] } }],
    ["{'f': 0.1::FLOAT, 'd': 1.25::DECIMAL(5,2)}", 'STRUCT(f DOUBLE, d DOUBLE)', { f: 0.1, d: 1.25 }],
    ["{'d': 12345678901234567890.12::DECIMAL(30,2)}", 'STRUCT(d VARCHAR)', { d: '12345678901234567890.12' }],
    ["MAP {'b': 1, 'a': 2}", 'MAP(VARCHAR, BIGINT)', { a: 2, b: 1 }],
    ["MAP {2: 'x', 1: 'y'}", 'MAP(VARCHAR, VARCHAR)', { 1: 'y', 2: 'x' }],
    ["[{'t': TIMESTAMP '2024-01-02 03:04:05'}]", 'STRUCT(t TIMESTAMP)[]', [{ t: '2024-01-02T03:04:05.000000' }]],
    ['INTERVAL 3 DAY', 'VARCHAR', '3 days'],
  ])('%s is %s', async (value, type, shown) => {
    const { columns, rows } = await load(`SELECT ${value} AS v UNION ALL SELECT NULL`);
    expect(columns.map((one) => one.replaceAll('"', ''))).toEqual([`v ${type}`]);
    expect(rows).toEqual([[shown], [null]]);
  });

  test('gives what documents of the same rows give', async () => {
    await expectAlike(`SELECT 'r' || i AS _id, i AS n, i / 4 + 0.125 AS f, i % 2 = 0 AS b, 'text ' || i AS s, '2024-01-0' || (1 + i % 9) AS day,
      {'x': i, 'y': ['a' || i]} AS o, [i, i + 1] AS l, CASE WHEN i % 3 = 0 THEN i END AS some FROM range(1000) t(i)`);
  });

  test('widens columns, and what does not fit is a stray, as with documents', async () => {
    await expectAlike(
      `SELECT 'r' || i AS _id, i + 0.5 AS n, i AS d, 'x' || i AS s, i AS t, {'a': i, 'b': 'new'} AS o, 'text' AS num, 7 AS NAME FROM range(3) t(i)`,
      Array.from({ length: 9 }, (_, n) => ({
        _id: `a${n}`,
        n,
        d: n + 0.5,
        s: 'x',
        t: 'text',
        o: { a: 1 },
        num: 1,
        name: 'x',
      })),
    );
  });

  test('makes maps of structs whose keys are data', async () => {
    const fields = Array.from({ length: 20 }, (_, n) => `'k${n}': CASE WHEN i % 20 = ${n} THEN i END`);
    await expectAlike(
      `SELECT 'r' || lpad(i::VARCHAR, 3, '0') AS _id, {${fields.join(', ')}} AS o FROM range(100) t(i)`,
    );
  });

  test('keeps the columns of a file without rows', async () => {
    const { columns, outcome } = await load('SELECT 1 AS a, [1] AS b WHERE false');
    expect(columns).toEqual(['a BIGINT', 'b BIGINT[]']);
    expect(outcome).toMatchObject({ entries: 0, added: 0 });
  });

  test('leaves out numbers that JSON lacks, and says so', async () => {
    const { rows, outcome } = await load(`SELECT unnest(['NaN'::DOUBLE, 'inf'::DOUBLE, 1.5]) AS v`);
    expect(rows).toEqual([[null], [null], [1.5]]);
    expect(outcome.warnings).toEqual([expect.stringMatching(/^2 values of "v" are none of JSON/)]);
  });

  test('says which decimals within objects are text, since a double does not hold their digits', async () => {
    const decimals = "'d': 0.1::DECIMAL(15,1), 'l': [MAP {'k': 0.1::DECIMAL(16,1)}]";
    const { outcome, rows } = await load(
      `SELECT {${decimals}} AS o, 1.5::DECIMAL(30,2) AS top, [1.5::DECIMAL(15,1)] AS s`,
    );
    expect(rows).toEqual([[{ d: 0.1, l: [{ k: '0.1' }] }, 1.5, [1.5]]]);
    expect(outcome.warnings).toEqual([
      '"o" has decimals of more than 15 digits in lists or objects, which are text here.',
    ]);
  });

  const MIB = 1024 * 1024;
  test.each([
    ['a text', `repeat('x', ${10 * MIB + 1})`, "'x'"],
    ['bytes', `repeat('x', ${8 * MIB})::BLOB`, `repeat('x', ${7 * MIB})::BLOB`],
    ['objects in a list', `[{'k': repeat('é', ${3 * MIB})}, {'k': repeat('y', ${4 * MIB})}, NULL]`, '[]'],
    ['a map', `MAP {'a': repeat('z', ${6 * MIB}), repeat('k', ${5 * MIB}): 'b'}`, 'MAP {}'],
    ['a list', `list_resize([true], ${5 * MIB + 1}, true)`, '[true]'],
  ])('refuses a row in which %s is larger than a document may be', async (_, large, small) => {
    const docs = await loads.create('docs');
    const { bytes } = await parquetOf(
      `SELECT 'r' || i AS _id, i AS n, CASE WHEN i = 2 THEN ${large} ELSE ${small} END AS v FROM range(1, 4) t(i)`,
    );
    const outcome = await loads.load(docs, bytes, { format: 'parquet' });
    const why = 'has more than 10485760 bytes (10 MiB), which no document may have';
    expect(outcome).toMatchObject({ added: 2, entries: 3, refusedCount: 1, refused: [{ at: 2, id: 'r2', why }] });
    expect(await rowsOf(loads.engine, 'SELECT n FROM docs ORDER BY _id')).toEqual([[1], [3]]);
  });

  test('counts all columns of a row, and with "stop" stores nothing if one is too large', async () => {
    const docs = await loads.create('docs');
    const { bytes } = await parquetOf(
      `SELECT i AS n, repeat('x', ${5 * MIB}) AS a, repeat('x', ${5 * MIB} + i - 3) AS b FROM range(2, 5) t(i)`,
    );
    const stopped = await loads.load(docs, bytes, { format: 'parquet', onError: 'stop' });
    expect(stopped).toMatchObject({ added: 0, stopped: expect.stringMatching(/nothing is stored: 3 has more than/) });
    expect(await loads.load(docs, bytes, { format: 'parquet' })).toMatchObject({ added: 2, refusedCount: 1 });
  });

  test('takes columns that are called as the engine calls what it knows of a file', async () => {
    const values =
      "'x' || i AS file_row_number, i AS filename, i + 1 AS File_Row_Number_1, i AS n, i AS l, i AS c0, i AS r";
    const { columns, rows, outcome } = await load(`SELECT ${values} FROM range(3) t(i)`, { skip: 1 });
    expect(columns.map((one) => one.split(' ')[0])).toEqual([
      'file_row_number',
      'filename',
      'File_Row_Number_1',
      'n',
      'l',
      'c0',
      'r',
    ]);
    expect(rows).toEqual([
      ['x1', 1, 2, 1, 1, 1, 1],
      ['x2', 2, 3, 2, 2, 2, 2],
    ]);
    expect(outcome).toMatchObject({ added: 2, entries: 3 });
  });

  test('takes ids and event times from columns of any type', async () => {
    const docs = await loads.create('docs');
    const { bytes } = await parquetOf(
      `SELECT i % 3 AS code, i AS v, TIMESTAMP '2024-01-01' + to_days(i::INT) AS _event_time FROM range(5) t(i)`,
    );
    const outcome = await loads.load(docs, bytes, { format: 'parquet', idField: 'code' });
    expect(outcome).toMatchObject({ added: 3, replaced: 2, entries: 5 });
    expect(await rowsOf(loads.engine, 'SELECT _id, code, v, _event_time::DATE FROM docs ORDER BY _id')).toEqual([
      ['0', 0, 3, '2024-01-04'],
      ['1', 1, 4, '2024-01-05'],
      ['2', 2, 2, '2024-01-03'],
    ]);
  });

  test('reads several row groups, and leaves out rows at the beginning', async () => {
    const docs = await loads.create('docs');
    const { bytes } = await parquetOf('SELECT i AS v FROM range(600000) t(i)', ', ROW_GROUP_SIZE 100000');
    const told: number[] = [];
    const outcome = await loads.load(docs, bytes, {
      format: 'parquet',
      skip: 150_000,
      tell: ({ entries }) => told.push(entries),
    });
    expect(outcome).toMatchObject({ entries: 600_000, added: 450_000 });
    expect(told.length).toBeGreaterThan(1);
    const sorted =
      'SELECT count(*), min(v), max(v), bool_and(v = n + 150000) FROM (SELECT v, row_number() OVER (ORDER BY _id) - 1 AS n FROM docs)';
    expect(await rowsOf(loads.engine, sorted)).toEqual([[450_000, 150_000, 599_999, true]]);
  });

  test.each([
    ['no Parquet', (bytes: Buffer) => Buffer.from(`no ${bytes.length}`)],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
    ['empty', () => Buffer.alloc(0)],
    [
      'damaged',
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(bytes.length - 2_004, 0x55), bytes.subarray(-2_000)]),
    ],
  ])('refuses a file that is %s', async (_, damage) => {
    const docs = await loads.create('docs');
    const { bytes } = await parquetOf('SELECT i AS v, md5(i::VARCHAR) AS s FROM range(10000) t(i)');
    const loading = loads.load(docs, damage(bytes), { format: 'parquet' });
    await expect(loading).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringMatching(/Parquet/) });
    expect(await rowsOf(loads.engine, 'SELECT count(*) FROM docs')).toEqual([[0]]);
  });

  test('goes through the field mappings and the event time of a collection', async () => {
    const docs = await loads.create('docs', {
      eventTimeInfo: { field: 'at', format: 'seconds_since_epoch', timeZone: 'UTC' },
    });
    const { bytes } = await parquetOf("SELECT 'a' AS _id, 1600000000 AS at, DATE '2024-01-01' AS day");
    await loads.load(docs, bytes, { format: 'parquet' });
    expect(await rowsOf(loads.engine, 'SELECT _id, year(_event_time), day FROM docs')).toEqual([
      ['a', 2020, '2024-01-01'],
    ]);
  });
});

test('the first and the last day that documents can have come in as they are', async () => {
  const { outcome, rows } = await load(`SELECT * FROM (VALUES
    (DATE '0001-01-01', TIMESTAMP '9999-12-31 23:59:59', TIMESTAMPTZ '9999-12-31 23:59:59Z'),
    (DATE '9999-12-31', TIMESTAMP '0001-01-01 00:00:00', TIMESTAMPTZ '0001-01-01 00:00:00Z')) t(d, t, z)`);
  expect(outcome.warnings.filter((one) => one.includes('left out'))).toEqual([]);
  expect(rows).toEqual([
    ['0001-01-01', '9999-12-31T23:59:59.000000', '9999-12-31T23:59:59.000000Z'],
    ['9999-12-31', '0001-01-01T00:00:00.000000', '0001-01-01T00:00:00.000000Z'],
  ]);
});

test('what reads texts is told as of other formats', async () => {
  const { outcome, columns } = await load(
    "SELECT * FROM (VALUES ('12,50', 'Sales', 1), ('1.200,00', 'sales ', 2), (NULL, 'IT', 3)) v(fee, team, n)",
  );
  expect(columns.slice(0, 2)).toEqual(['fee VARCHAR', 'team VARCHAR']);
  expect(outcome.warnings).toEqual([
    expect.stringContaining('"fee" is text such as "12,50": CAST('),
    expect.stringContaining('"team" is text with spaces around it'),
  ]);
});

test('rows that sum up others are told, and kept', async () => {
  const docs = await loads.create('docs');
  const { bytes } = await parquetOf(
    "SELECT * FROM (VALUES ('N', 'a', 10), ('N', 'b', 20), ('N total', NULL, 30), ('S', 'c', 7), (NULL, NULL, 37)) v(r, s, n)",
  );
  const { lasting, warnings } = await loads.load(docs, bytes, { format: 'parquet' });
  expect(warnings[0]).toContain('2 rows (document 3 "N total"; 5) seem to sum up others');
  expect(lasting).toEqual([{ text: warnings[0], where: '"s" IS NOT NULL', count: 2 }]);
});

test('the name of the file is in a field that is asked for, unless it has one of that name', async () => {
  const docs = await loads.create('docs');
  const { bytes } = await parquetOf("SELECT 'a' AS sku, 1 AS n UNION ALL SELECT 'b', 2");
  await loads.load(docs, bytes, { format: 'parquet', fileField: { name: 'file', text: "it's.parquet" } });
  expect(await rowsOf(loads.engine, 'SELECT sku, n, file FROM docs ORDER BY sku')).toEqual([
    ['a', 1, "it's.parquet"],
    ['b', 2, "it's.parquet"],
  ]);
  const fileField = { name: 'sku', text: 'x' };
  await expect(loads.load(docs, bytes, { format: 'parquet', fileField })).rejects.toThrow('a field of that name');
});
