import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { csvLine } from '../../../src/contract/json/file-lines.ts';
import { type JsonObject, parseJson, setField } from '../../../src/contract/json/json.ts';
import type { Engine, TableExport } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, readBack, temporaryFolder } from '../harness.ts';
import { openParquet } from '../parquet-file.ts';

let home: ReturnType<typeof temporaryFolder>;
let engine: Engine;
let folder = '';
beforeEach(async () => {
  home = temporaryFolder();
  engine = await openSmall(home.file);
  folder = engine.results.exportsFolder;
  mkdirSync(folder, { recursive: true });
  await createDocs(engine, true);
});
afterEach(async () => {
  await engine.close();
  home.dispose();
});

const AT = 1_767_225_600_123_456n;

async function fill(documents: readonly JsonObject[]): Promise<string[]> {
  const ids = documents.map((_, index) => `d${index}`);
  const outcomes = await engine.addDocuments(
    't',
    documents.map((fields, index) => doc(ids[index] ?? '', fields, AT)),
  );
  expect(outcomes.filter(({ status }) => status !== 'added')).toEqual([]);
  return ids;
}

async function exported(format: TableExport['format'], more: Partial<TableExport> = {}): Promise<string> {
  const name = `x.${format}`;
  await engine.exportTable({ table: 't', format, name, ...more });
  return join(folder, name);
}

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(0, -1);

/** Documents of every shape that a column can have, with strays in all of them. */
const ODD: readonly JsonObject[] = [
  { n: 1, f: 1, big: 2n ** 60n, huge: 2n ** 100n, s: 'a', b: true, at: '2026-01-02', o: { a: 1, b: { c: 'x' } } },
  { n: 2, f: 1.5, big: -(2n ** 62n), huge: 1, s: '', b: false, at: '2026-12-31', o: { b: {} } },
  { f: 1e300, o: {}, l: [], m: [{ k: 1 }, { j: 'x' }, {}], ll: [[1], [], [2.5]] },
  { f: -0.1, l: ['a', 'b "c"', 'd\n'], m: [], ts: '2026-01-02T03:04:05.5+02:00', ll: [] },
  { f: 2 ** 60, l: ['x'], ts: '2025-12-31T23:59:59.0+02:00', zone: '2026-01-02 03:04:05' },
  { zone: '0001-01-02 00:00:00', only: 'null', mixed: [1, 'a', null, { x: null, y: 1 }] },
  { mixed: 'text, with "quotes"', only: ' x ', e: {} },
  { mixed: { deep: [[{ z: 2n ** 70n }]] }, only: 'null', N: 'the other case', '': 'no name', e: {} },
  // Strays.
  { n: 'not a number', o: { a: 'x', b: 7 }, l: ['a', 5], m: [{ k: 'y' }, 3], at: 'someday', b: 'no' },
  { n: 1.5, s: 17, s2: 'x', o: 'none', ts: '2026-01-02T03:04:05Z', f: 2n ** 63n, N: { a: 1 } },
  { s: { a: [1, { b: 'c' }] }, f: 'x,y', huge: 'a"b' },
  {},
  { '💡': '💡', "o'k": "o'k", 'a"b': 'a"b', 'line\nbreak': '\u0000\u001f\u2028' },
];

/** Objects whose keys are data. */
const MAPS: readonly JsonObject[] = Array.from({ length: 300 }, (_, n) => ({
  by: { [`k${n}`]: n, [`j${n * 7}`]: n / 2, ...(n % 50 === 0 ? { [`s${n}`]: 'stray' } : {}) },
  deep: { [`user ${n}`]: { name: `n${n}`, tags: n % 2 === 0 ? ['x'] : [] } },
}));

describe('an export as JSON lines', () => {
  it.each([
    ['of every shape', ODD],
    ['of maps', MAPS],
    ['of mixed ones', [...MAPS, ...ODD, ...MAPS]],
  ])('has the documents as they are stored: %s', async (_, documents) => {
    const ids = await fill(documents);
    const expected = await readBack(engine, 't', ids);
    const found = new Map(
      linesOf(await exported('jsonl')).map((line) => {
        const { _id, _event_time, ...fields } = parseJson(line) as JsonObject;
        expect(_event_time).toBe('2026-01-01T00:00:00.123456Z');
        return [String(_id), fields];
      }),
    );
    expect(found.size).toBe(documents.length);
    for (const [index, id] of ids.entries()) expect(found.get(id)).toEqual(expected[index]);
    // And as they were written, but for keys without a value.
    for (const [index, id] of ids.entries()) expect(found.get(id)).toEqual(withoutNulls(documents[index]));
  });

  it('writes numbers so that a reader gets the same', async () => {
    await fill([{ f: 0.5, n: 2n ** 53n + 1n }, { f: 1e22, n: 1 }, { f: 9007199254740993e3 }, { f: 3 }]);
    const texts = linesOf(await exported('jsonl')).map((line) => line.replace(/^.*Z",?/, ''));
    expect(texts).toEqual(['"f":0.5,"n":9007199254740993}', '"f":1e22,"n":1}', '"f":9007199254740993000.0}', '"f":3}']);
  });

  it('leaves out what is in the trash, and what is past the retention', async () => {
    await engine.commit([
      { do: 'createCollection', table: 'r', workspace: 'commons', name: 'kept', retentionSecs: 3_600 },
    ]);
    await engine.addDocuments('r', [doc('old', {}, AT - 10n ** 15n), doc('new', {}), doc('gone', {})]);
    await engine.deleteDocuments('r', ['gone'], {
      trash: 'b1',
      record: () => ({ do: 'putRecord', kind: 'trash', key: 'b1', value: {} }),
    });
    const { rows } = await engine.exportTable({ table: 'r', format: 'jsonl', name: 'r.jsonl' });
    expect([rows, linesOf(join(folder, 'r.jsonl')).map((line) => (parseJson(line) as JsonObject)['_id'])]).toEqual([
      1,
      ['new'],
    ]);
    await engine.commit([{ do: 'trashCollection', table: 'r' }]);
    const again = engine.exportTable({ table: 'r', format: 'jsonl', name: 's.jsonl' });
    await expect(again).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('an export as CSV', () => {
  it('has a header, and the same cells whether the engine wrote them or not', async () => {
    const ids = await fill(ODD);
    const before = records(readFileSync(await exported('csv'), 'utf8'));
    expect(before[0]?.slice(0, 2)).toEqual(['_id', '_event_time']);
    expect(before.map((cells) => cells.length)).toEqual(Array(ODD.length + 1).fill(before[0]?.length));
    const [names = [], ...rows] = before;
    for (const [index, document] of (await readBack(engine, 't', ids)).entries()) {
      const own = names.slice(2).filter((name) => name !== '_extra');
      const [expected = []] = records(`${csvLine(own.map((name) => document?.[name] ?? null))}\n`);
      const found = own.map((name) => rows[index]?.[names.indexOf(name)]);
      expect(found.map(numeric)).toEqual(expected.map(numeric));
    }
    const column = (name: string) => before.map((cells) => cells[before[0]?.indexOf(name) ?? -1]);
    expect(column('l')).toEqual([
      'l',
      '',
      '',
      '[]',
      '["a","b \\"c\\"","d\\n"]',
      '["x"]',
      '',
      '',
      '',
      '["a",5]',
      '',
      '',
      '',
      '',
    ]);
    expect(column('n').slice(9, 11)).toEqual(['not a number', '1.5']);
    expect(column('o').slice(1, 4)).toEqual(['{"a":1,"b":{"c":"x"}}', '{"b":{}}', '{}']);
    expect(column('ts').slice(4, 6)).toEqual(['2026-01-02T03:04:05.5+02:00', '2025-12-31T23:59:59.0+02:00']);
  });

  it('quotes as RFC 4180 has it, and tells an empty text from none', async () => {
    await fill([
      { a: 'x,"y"', b: '' },
      { a: ' x', b: 'l1\r\nl2' },
    ]);
    expect(readFileSync(await exported('csv'), 'utf8')).toBe(
      '_id,_event_time,a,b\nd0,2026-01-01T00:00:00.123456Z,"x,""y""",""\nd1,2026-01-01T00:00:00.123456Z," x","l1\r\nl2"\n',
    );
  });
});

describe('an export as Parquet', () => {
  it("has the engine's types, and beside them what does not fit", async () => {
    await fill(ODD);
    const path = await exported('parquet');
    const file = await openParquet(path);
    const rows: JsonObject[] = [];
    for await (const some of file.documents) rows.push(...some);
    file.close();
    expect(rows).toHaveLength(ODD.length);
    expect(rows[0]).toMatchObject({ _id: 'd0', n: 1, big: 2n ** 60n, huge: 2n ** 100n, o: { a: 1, b: { c: 'x' } } });
    expect(rows[8]).toMatchObject({ _strays: { n: 'not a number', 'o/a': 'x' } });
  });
});

describe('an export', () => {
  it('of an empty collection is a file without documents', async () => {
    expect(readFileSync(await exported('jsonl'), 'utf8')).toBe('');
    expect(readFileSync(await exported('csv'), 'utf8')).toBe('_id,_event_time\n');
  });

  it('that is given up leaves no file, and others go on', async () => {
    await fill(Array.from({ length: 3_000 }, (_, n) => ({ n })));
    const stop = new AbortController();
    const written = exported('jsonl', { signal: stop.signal, onRows: () => stop.abort() });
    await expect(written).rejects.toMatchObject({ code: 'aborted' });
    expect(readdirSync(folder)).toEqual([]);
    expect(linesOf(await exported('jsonl'))).toHaveLength(3_000);
  });

  it('is of one moment, and holds up no write', async () => {
    await fill(Array.from({ length: 30_000 }, (_, n) => ({ n })));
    let added: Promise<unknown> | undefined;
    const path = await exported('jsonl', {
      onRows: () => {
        added ??= engine.addDocuments('t', [doc('d1', { n: 'changed', more: 1 }), doc('late', { n: 1 })]);
      },
    });
    expect(await added).toEqual([{ status: 'replaced' }, { status: 'added' }]);
    const lines = linesOf(path);
    expect(lines).toHaveLength(30_000);
    expect(lines.filter((line) => /"late"|changed/.test(line))).toEqual([]);
  });

  it('does not overwrite, and stays in its folder', async () => {
    const path = await exported('csv');
    await expect(exported('csv')).rejects.toThrow('exists already');
    expect(existsSync(path)).toBe(true);
    await expect(exported('parquet', { name: '../out.parquet' })).rejects.toThrow();
    expect(existsSync(join(folder, '../out.parquet'))).toBe(false);
  });
});

function withoutNulls(document: JsonObject | undefined): JsonObject {
  const left: JsonObject = {};
  for (const [key, value] of Object.entries(document ?? {})) {
    if (Array.isArray(value))
      setField(
        left,
        key,
        value.map((item) => (isPlain(item) ? withoutNulls(item) : item)),
      );
    else if (isPlain(value)) setField(left, key, withoutNulls(value));
    else if (value !== null) setField(left, key, value);
  }
  return left;
}

function isPlain(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A double, however its exponent is written. */
function numeric(cell: string | undefined): string | number | undefined {
  return cell !== undefined && /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/.test(cell) && !Number.isSafeInteger(Number(cell))
    ? Number(cell)
    : cell;
}

/** The records of CSV. */
function records(text: string): string[][] {
  const all: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g)) {
    all.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end === '\n') all.push([]);
  }
  return all.slice(0, -1);
}
