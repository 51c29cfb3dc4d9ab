import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import type { Change, Engine } from '../../../src/engine/engine.ts';
import { isLong, MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { openSmall } from '../harness.ts';

let folder: string;
let engine: Engine;

const open = () => openSmall(join(folder, 'data.duckdb'));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-aliases-'));
  engine = await open();
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createWorkspace', workspace: 'my.ws' },
    ...['a', 'b', 'c'].map((name) => collection(name)),
  ]);
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const collection = (name: string): Change => ({ do: 'createCollection', table: name, workspace: 'commons', name });
const alias = (name: string, ...tables: string[]): Change => ({ do: 'putAlias', workspace: 'commons', name, tables });

let ids = 0;
async function add(table: string, ...documents: JsonObject[]) {
  const outcomes = await engine.addDocuments(
    table,
    documents.map((fields) => {
      ids += 1;
      return { id: `d${ids}`, eventTimeMicros: null, fields };
    }),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(documents.map(() => 'added'));
}

async function columnsOf(sql: string) {
  return (await engine.query({ sql })).columns.map(({ name, type }) => `${name} ${type}`);
}

async function rowsOf(sql: string) {
  return (await engine.query({ sql })).rows;
}

describe('an alias of one collection', () => {
  test('has its columns, and follows them', async () => {
    await add('a', { x: 1, o: { k: 'v' } });
    await engine.commit([alias('one', 'a')]);
    expect(await columnsOf('FROM one')).toEqual(await columnsOf('FROM a'));
    await add('a', { x: 'text', y: [1], o: { more: true } });
    expect(await columnsOf('FROM one')).toEqual(await columnsOf('FROM a'));
    expect(await rowsOf('SELECT x, y, o FROM one ORDER BY _id')).toEqual(
      await rowsOf('SELECT x, y, o FROM a ORDER BY _id'),
    );
  });

  test('can be used wherever a collection can', async () => {
    await add('a', { x: 1 }, { x: 2 });
    await engine.commit([{ do: 'putAlias', workspace: 'my.ws', name: 'far-one', tables: ['a'] }]);
    const sql = 'SELECT f.x FROM "my.ws"."far-one" f JOIN a USING (_id) WHERE f.x > :n';
    const found = await engine.query({ sql, parameters: [{ name: 'n', value: 1 }] });
    expect(found).toMatchObject({ rows: [[2]], collections: ['commons.a'], aliases: ['my.ws.far-one'] });
    const expected = { collections: ['commons.a'], aliases: ['my.ws.far-one'], parameters: ['n'] };
    expect(await engine.inspect({ sql, allowMissingParameters: true })).toMatchObject(expected);
  });
});

describe('an alias of several collections', () => {
  test('joins them by name; what disagrees becomes JSON with every value', async () => {
    await engine.commit([alias('all', 'a', 'b', 'c')]);
    await add('a', { n: 1, big: 9_007_199_254_740_993n, o: { x: 1, y: 'q' }, l: [1], s: 'text', nothing: null });
    await add('b', { n: 1.5, big: 0.5, o: { x: 2.5, z: true }, l: ['x'], s: { deep: [null, 1] }, nothing: 7 });
    await add('c', { S: [true], other: '2026-01-01' });
    expect(await columnsOf('FROM "all"')).toEqual([
      '_id VARCHAR',
      '_event_time TIMESTAMP WITH TIME ZONE',
      'n DOUBLE',
      'big JSON',
      'o STRUCT("x" DOUBLE, "y" VARCHAR, "z" BOOLEAN)',
      'l JSON[]',
      's JSON',
      'nothing BIGINT',
      'other VARCHAR',
    ]);
    const rows = await rowsOf('SELECT n, big::VARCHAR, o, l, s, nothing, other FROM "all" ORDER BY length(_id), _id');
    expect(rows).toEqual([
      [1, '9007199254740993', { x: 1, y: 'q' }, [1], 'text', null, null],
      [1.5, '0.5', { x: 2.5, z: true }, ['x'], { deep: [null, 1] }, 7, null],
      [null, null, null, null, [true], null, '2026-01-01'],
    ]);
  });

  test('keeps fields that have no column of their own', async () => {
    await engine.commit([alias('all', 'a', 'b')]);
    await add('a', { x: 1 });
    await add('b', { y: 1, Y: 2 });
    expect(await rowsOf('SELECT x, y, _extra FROM "all" ORDER BY x NULLS LAST')).toEqual([
      [1, null, null],
      [null, 1, { Y: 2 }],
    ]);
  });

  test('has no limit on the size of an object that becomes JSON', async () => {
    await engine.commit([alias('all', 'a', 'b')]);
    const lists = Array.from({ length: 4_000 }, () => [1]);
    await add('a', { o: { lists, gone: null } });
    await add('b', { o: 'text' });
    const rows = await rowsOf('SELECT o FROM "all" ORDER BY length(o::VARCHAR)');
    expect(rows).toEqual([['text'], [{ lists }]]);
  });

  test('yields every value of every collection, whatever the documents', { ...MORE, timeout: 120_000 }, async () => {
    const key = fc.constantFrom('a', 'A', 'b', 'c', 'list', 'x y', '"', '_extra');
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<JsonValue>(null, true, 1, -7, 2 ** 53, 1.5, 9_007_199_254_740_993n, 2n ** 80n, '', 'x', '1'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('k', 'K', 'm', 'n'), tie('value'), { maxKeys: 3 }),
      ),
    }));
    const document = fc.dictionary(key, value, { maxKeys: 5 });
    const batch = fc.record({ table: fc.constantFrom('a', 'b', 'c'), documents: fc.array(document, { maxLength: 3 }) });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 2, maxLength: 6 }), async (batches) => {
        round += 1;
        const own = ['a', 'b', 'c'].map((name) => `${name}${round}`);
        await engine.commit([...own.map(collection), alias(`all${round}`, ...own)]);
        for (const { table, documents } of batches) await add(`${table}${round}`, ...documents);
        const apart = (await Promise.all(own.map((name) => documentsOf(name)))).flat();
        const together = await documentsOf(`all${round}`);
        expect(together.sort()).toEqual(apart.sort());
        const shown = (await rowsOf('SHOW TABLES')).find(([, name]) => name === `all${round}`)?.[3];
        expect((shown as string[]).filter((name) => name !== '_strays')).toEqual(
          (await engine.query({ sql: `FROM all${round}` })).columns.map(({ name }) => name),
        );
      }),
      propertyRuns(40, 10),
    );
  });

  test('of many collections with many fields answers and follows', { timeout: 180_000 }, async () => {
    const count = isLong ? 100 : 20;
    const names = Array.from({ length: count }, (_, n) => `many${n}`);
    await engine.commit([...names.map(collection), alias('many', ...names)]);
    for (const [n, name] of names.entries()) {
      await add(name, { n, ...Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`f${n}_${k}`, k])) });
    }
    expect(await rowsOf('SELECT count(*), sum(n), sum(f12_7) FROM many')).toEqual([
      [count, (count * (count - 1)) / 2, 7],
    ]);
    expect((await engine.query({ sql: 'FROM many LIMIT 1' })).columns).toHaveLength(3 + 10 * count);
  });
});

/** The documents as texts: without nulls, keys folded as SQL folds them and sorted, numbers by value. */
async function documentsOf(name: string): Promise<string[]> {
  const { columns, rows } = await engine.query({ sql: `FROM ${name}` });
  return rows.map((row) => canonical(Object.fromEntries(columns.map((column, n) => [column.name, row[n] ?? null]))));
}

function canonical(value: JsonValue): string {
  return JSON.stringify(normal(value, true));
}

function normal(value: JsonValue, isDocument = false): unknown {
  if (typeof value === 'bigint') return String(value);
  // Integers beyond 2^53 are text from a BIGINT, but may be numbers from JSON.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : String(value);
  if (Array.isArray(value)) return value.map((item) => normal(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .filter(([, field]) => field !== null)
    .map(([key, field]) => [isDocument ? key.toLowerCase() : key, normal(field)])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

describe('while queries run', () => {
  test('each sees the old or the new, and none fails', { ...MORE, timeout: 120_000 }, async () => {
    const turns = isLong ? 40 : 10;
    const stop = new AbortController();
    await add('a', ...Array.from({ length: 50 }, () => ({ from: 'old' })));
    await engine.commit([alias('now', 'a')]);
    const seen = new Map<string, number>();
    const readers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) {
        const rows = await rowsOf('SELECT "from", count(*) FROM now GROUP BY 1');
        expect(rows).toHaveLength(1);
        expect(rows[0]?.[1]).toBe(50);
        const name = String(rows[0]?.[0]);
        seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    });
    // In each turn a new collection is filled, the alias is pointed at it, and the previous collection is deleted.
    let before = 'a';
    for (let turn = 0; turn < turns; turn++) {
      const next = `t${turn}`;
      await engine.commit([collection(next)]);
      const documents = Array.from({ length: 50 }, () => ({ from: next, [`field${turn}`]: turn }));
      await add(next, ...documents);
      await engine.commit([alias('now', next)]);
      await engine.commit([{ do: 'dropCollection', table: before }]);
      before = next;
    }
    stop.abort();
    await Promise.all(readers);
    expect(seen.size).toBeGreaterThan(turns / 8);
  });

  test('columns come and change types, and none fails', { ...MORE, timeout: 120_000 }, async () => {
    await add('a', { x: 1 });
    await add('b', { x: 2 });
    await engine.commit([alias('pair', 'a', 'b')]);
    const stop = new AbortController();
    let least = 2;
    const readers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) {
        const floor = least;
        const { rows, columns } = await engine.query({ sql: 'FROM pair' });
        expect(rows.length).toBeGreaterThanOrEqual(floor);
        for (const row of rows) expect(row).toHaveLength(columns.length);
      }
    });
    const values: JsonValue[] = [1.5, 'text', { k: 1 }, [1], true];
    const turns = isLong ? 40 : 10;
    for (let turn = 0; turn < turns; turn++) {
      const value = values[turn % values.length] ?? null;
      await add(turn % 2 === 0 ? 'a' : 'b', { x: value, [`f${turn}`]: value, [`f${turn - 1}`]: 'other' });
      least += 1;
    }
    stop.abort();
    await Promise.all(readers);
    expect(await rowsOf('SELECT count(*) FROM pair')).toEqual([[2 + turns]]);
  });

  test('repointing and widening at once end with the columns of what it points at', {
    ...MORE,
    timeout: 60_000,
  }, async () => {
    await engine.commit([alias('busy', 'a')]);
    const turns = isLong ? 20 : 6;
    for (let turn = 0; turn < turns; turn++) {
      await Promise.all([
        add('a', { [`a${turn}`]: turn }),
        engine.commit([turn % 2 === 0 ? alias('busy', 'b', 'a') : alias('busy', 'a')]),
        add('b', { [`b${turn}`]: turn }),
      ]);
    }
    expect(await columnsOf('FROM busy')).toEqual(await columnsOf('FROM a'));
    await engine.commit([alias('busy', 'b', 'a')]);
    expect(await columnsOf('FROM busy')).toHaveLength(2 + 2 * turns);
  });
});

describe('changes of aliases', () => {
  test('are there after the file is opened again', async () => {
    await add('a', { x: 1 });
    await engine.commit([alias('kept', 'a', 'b'), alias('gone', 'a'), alias('moved', 'a')]);
    await engine.commit([{ do: 'dropAlias', workspace: 'commons', name: 'gone' }, alias('moved', 'b')]);
    await engine.close();
    engine = await open();
    await add('b', { x: 'text', y: 1 });
    expect(await rowsOf('SELECT x, y FROM kept ORDER BY y NULLS FIRST')).toEqual([
      [1, null],
      ['text', 1],
    ]);
    expect(await rowsOf('SELECT x FROM moved')).toEqual([['text']]);
    await expect(rowsOf('FROM gone')).rejects.toMatchObject({ code: 'query_error' });
    await expect(engine.commit([{ do: 'dropCollection', table: 'a' }])).rejects.toMatchObject({
      code: 'dependent_resources',
    });
  });

  test('see the changes before them in one commit', async () => {
    await engine.commit([collection('fresh'), alias('x', 'fresh', 'a')]);
    await engine.commit([
      alias('x', 'b'),
      { do: 'dropCollection', table: 'fresh' },
      { do: 'dropAlias', workspace: 'commons', name: 'x' },
      collection('x'),
    ]);
    await add('x', { is: 'collection' });
    expect(await rowsOf('SELECT "is" FROM x')).toEqual([['collection']]);
  });

  test.each<[string, Change[], string]>([
    ['no such workspace', [{ do: 'putAlias', workspace: 'nope', name: 'x', tables: ['a'] }], 'not_found'],
    ['no such table', [alias('x', 'nope')], 'not_found'],
    ['a table that goes away', [{ do: 'dropCollection', table: 'a' }, alias('x', 'a')], 'not_found'],
    ['no table', [alias('x')], 'invalid_input'],
    ['a table twice', [alias('x', 'a', 'b', 'a')], 'invalid_input'],
    ['the name of a collection', [alias('A', 'b')], 'already_exists'],
    ['a name in other letters', [alias('x', 'b'), alias('X', 'b')], 'already_exists'],
    ['a collection with its name', [alias('x', 'b'), collection('X')], 'already_exists'],
    ['its collection dropped', [alias('x', 'b', 'c'), { do: 'dropCollection', table: 'c' }], 'dependent_resources'],
    [
      'its workspace dropped',
      [
        { do: 'putAlias', workspace: 'my.ws', name: 'x', tables: ['a'] },
        { do: 'dropWorkspace', workspace: 'my.ws' },
      ],
      'dependent_resources',
    ],
    ['dropped and not there', [{ do: 'dropAlias', workspace: 'commons', name: 'x' }], 'not_found'],
    ['a collection dropped as one', [{ do: 'dropAlias', workspace: 'commons', name: 'a' }], 'not_found'],
  ])('are refused, and nothing of them stays: %s', async (_, changes, code) => {
    await expect(engine.commit(changes)).rejects.toMatchObject({ code });
    const left = await rowsOf('SHOW ALL TABLES');
    expect(left.map(([, name]) => name)).toEqual(['a', 'b', 'c']);
  });
});
