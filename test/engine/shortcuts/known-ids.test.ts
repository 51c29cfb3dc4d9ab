import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createKnownIds, type KnownIds } from '../../../src/engine/duckdb/shortcuts/known-ids.ts';
import { HASH_COLUMN, hashOf } from '../../../src/engine/duckdb/tables/columns.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { ODD_IDS } from '../fixture.ts';
import { createDocs, doc, fileTest, openSmall, rowsOf, statusesOf, temporaryFolder, textOf } from '../harness.ts';

const NEW = ['new', 'neu', 'x'.repeat(10_000), '\u{1F601}'];

describe('createKnownIds()', () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  let known: KnownIds;
  let warn: ReturnType<typeof vi.fn<() => void>>;
  /** For each statement, whether it ran within `undisturbed`. */
  let asked: boolean[];
  let isUndisturbed: boolean;

  async function connect() {
    const made = await instance.connect();
    for (const method of ['run', 'runAndReadAll'] as const) {
      const own = made[method].bind(made);
      vi.spyOn(made, method).mockImplementation((sql: string) => {
        asked.push(isUndisturbed);
        return own(sql) as never;
      });
    }
    return made;
  }
  async function undisturbed<T>(work: () => Promise<T>): Promise<T> {
    isUndisturbed = true;
    return work().finally(() => {
      isUndisturbed = false;
    });
  }

  beforeEach(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = await instance.connect();
    await connection.run(`ATTACH ':memory:' AS "_colloquy"; CREATE SCHEMA "_colloquy"."_data";
      CREATE TABLE "_colloquy"."_data"."t" (_id VARCHAR, _meta UBIGINT)`);
    asked = [];
    isUndisturbed = false;
    warn = vi.fn();
    const source = { connect, undisturbed };
    known = createKnownIds(source, { info: () => undefined, warn, error: () => undefined });
  });
  afterEach(async () => {
    await known.close();
    connection.closeSync();
    instance.closeSync();
  });

  async function insert(ids: readonly string[], hash = hashOf('$1')) {
    for (const id of ids) await connection.run(`INSERT INTO "_colloquy"."_data"."t" VALUES ($1, ${hash})`, [id]);
  }
  /** Has the filter built, and waits until it is in use. */
  async function make() {
    for (let write = 0; write < 2; write++) known.stored('t', 1);
    await expect.poll(() => known.try('t', ['none']), { timeout: 20_000 }).toEqual([]);
  }

  test('knows nothing before there were small writes, nor after large ones', () => {
    known.stored('t', 10_000);
    known.stored('t', 10_000);
    known.stored('t', 1);
    expect(known.try('t', NEW)).toBeUndefined();
  });

  test('never says of an id that is there that it is not, whatever its text', async () => {
    const ids = [...ODD_IDS, 'a\u0000b', ...Array.from({ length: 5_000 }, (_, n) => `doc-${n}`)];
    await insert(ODD_IDS);
    await connection.run(
      `INSERT INTO "_colloquy"."_data"."t" SELECT 'doc-' || i, ${hashOf("'doc-' || i")} FROM range(5000) r(i)`,
    );
    await insert(['a\u0000b']);
    await make();
    expect(known.try('t', ids)).toEqual(ids);
    expect(known.try('t', NEW)).toEqual([]);
  });

  test('knows what is added while the filter is made, and after', async () => {
    known.stored('t', 1);
    known.stored('t', 1);
    known.add('t', ['early']);
    await expect.poll(() => known.try('t', ['none']), { timeout: 20_000 }).toEqual([]);
    known.add('t', ['late']);
    expect(known.try('t', ['early', 'late', 'other'])).toEqual(['early', 'late']);
  });

  test('treats half a surrogate pair as an id that may exist', async () => {
    await make();
    expect(known.try('t', ['\ud800', 'a'])).toEqual(['\ud800']);
  });

  test('reads the table undisturbed: a merge beside it could hide rows', async () => {
    await insert(['a', 'b']);
    await make();
    expect(asked.length).toBeGreaterThan(0);
    expect(asked).not.toContain(false);
    expect(warn).not.toHaveBeenCalled();
  });

  test('says where a table cannot be read', async () => {
    for (let write = 0; write < 2; write++) known.stored('gone', 1);
    await vi.waitFor(() =>
      expect(warn).toHaveBeenCalledWith(expect.objectContaining({ table: 'gone' }), expect.anything()),
    );
    expect(known.try('gone', NEW)).toBeUndefined();
  });

  test('has no filter if the table has other hashes', async () => {
    await insert(['a', 'b'], '7');
    known.stored('t', 1);
    known.stored('t', 1);
    await known.close();
    expect(known.try('t', NEW)).toBeUndefined();
  });

  test('knows a table from its first documents on, however large it grows', () => {
    const ids = Array.from({ length: 50_000 }, (_, n) => `doc-${n}`);
    known.begin('t', [...ODD_IDS, 'a\u0000b']);
    let doubted = 0;
    for (let from = 0; from < ids.length; from += 1_000) {
      const some = ids.slice(from, from + 1_000);
      if (known.try('t', some)?.length !== 0) doubted += 1;
      known.add('t', some);
    }
    // Each of them costs a statement.
    expect(doubted).toBeLessThan(5);
    expect(known.try('t', ids)).toEqual(ids);
    expect(known.try('t', [...ODD_IDS, 'a\u0000b'])).toEqual([...ODD_IDS, 'a\u0000b']);
    expect(known.try('t', ['\ud800', 'none'])).toEqual(['\ud800']);
    expect(asked).toEqual([]);
    known.forget('t');
    expect(known.try('t', ['none'])).toBeUndefined();
  });

  test('knows the ids of lines without a list of them, and those of others among them', () => {
    const lines = (prefix: string, first: number, count: number) => ({ prefix, first, ends: Array(count).fill(0) });
    known.begin('t', ['b/one/1', 'b/one/2'], [lines('b/one', 1, 2)]);
    known.addLines('t', [lines('b/one', 3, 5_000), lines('b/two', 1, 60)]);
    expect(
      known.try('t', ['b/one/2', 'b/one/5002', 'b/one/5003', 'b/two/60', 'b/two/61', 'b/three/1', 'none']),
    ).toEqual(['b/one/2', 'b/one/5002', 'b/two/60']);
    known.add('t', ['b/three/7', 'b/two/99']);
    expect(known.tryLines('t', [lines('b/three', 1, 60), lines('b/two', 59, 60), lines('b/one', 5_003, 60)])).toEqual([
      'b/three/7',
      'b/two/59',
      'b/two/60',
      'b/two/99',
    ]);
    const half = lines('b/\ud800', 1, 60);
    expect(known.tryLines('t', [half])).toHaveLength(60);
  });

  test('drops a full filter, which would say of any id that it may exist', async () => {
    await make();
    known.add(
      't',
      Array.from({ length: 5_000 }, (_, n) => `more-${n}`),
    );
    expect(known.try('t', ['none'])).toBeUndefined();
  });
});

test('ids stay unique through any sequence of small writes', { ...MORE, timeout: 120_000 }, async () => {
  const id = fc.integer({ min: 0, max: 12 }).map((n) => `d${n}`);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.uniqueArray(id, { minLength: 1, maxLength: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.uniqueArray(id, { minLength: 1, maxLength: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ widen: id }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      const folder = temporaryFolder();
      const engine = await openSmall(folder.file);
      try {
        await createDocs(engine);
        const model = new Map<string, number>();
        for (const [round, one] of steps.entries()) {
          if ('add' in one) {
            const outcomes = await engine.addDocuments(
              't',
              one.add.map((key) => doc(key, { n: round })),
            );
            expect(statusesOf(outcomes)).toEqual(one.add.map((key) => (model.has(key) ? 'replaced' : 'added')));
            for (const key of one.add) model.set(key, round);
          } else if ('remove' in one) {
            await engine.deleteDocuments('t', one.remove);
            for (const key of one.remove) model.delete(key);
          } else {
            await engine.addDocuments('t', [doc(one.widen, { n: round, [`f${round}`]: true })]);
            model.set(one.widen, round);
          }
        }
        const rows = await rowsOf(engine, 'SELECT _id, n FROM docs ORDER BY _id');
        expect(rows).toEqual([...model].sort(([a], [b]) => (a < b ? -1 : 1)));
      } finally {
        await engine.close();
        folder.dispose();
      }
    }),
    propertyRuns(3),
  );
});

test('what writes come while a filter is made is found again', { timeout: 60_000 }, async () => {
  const folder = temporaryFolder();
  const engine = await openSmall(folder.file);
  try {
    await createDocs(engine);
    const ids = Array.from({ length: 60 }, (_, n) => `id-${n}`);
    const adds = ids.map((key) => engine.addDocuments('t', [doc(key, { n: 1 })]));
    const load = engine.addDocuments(
      't',
      Array.from({ length: 3_000 }, (_, n) => doc(`load-${n}`, { n: 1 })),
    );
    await Promise.all([...adds, load]);
    const again = await Promise.all(
      [...ids, 'load-0', 'load-2999'].map((key) => engine.addDocuments('t', [doc(key, { n: 2 })])),
    );
    expect(new Set(again.flatMap(statusesOf))).toEqual(new Set(['replaced']));
    expect(await rowsOf(engine, 'SELECT count(*)::INT, count(DISTINCT _id)::INT FROM docs')).toEqual([[3_060, 3_060]]);
  } finally {
    await engine.close();
    folder.dispose();
  }
});

fileTest('the engine does not look for new ids once it has the filter of a table', { timeout: 60_000 }, async () => {
  const folder = temporaryFolder();
  let engine = await openSmall(folder.file);
  const prepare = vi.spyOn(DuckDBConnection.prototype, 'prepare');
  const sought = async (id: string) => {
    prepare.mockClear();
    await engine.addText('t', textOf([{ _id: id, n: 1 }]));
    return prepare.mock.calls.filter(([sql]) => sql.startsWith('SELECT') && sql.includes(`"${HASH_COLUMN}" =`)).length;
  };
  try {
    await createDocs(engine);
    await engine.addDocuments('t', [doc('first', { n: 1 })]);
    // It has one from its first documents on.
    expect(await sought('second')).toBe(0);
    expect(await sought('first')).toBe(1);
    await engine.close();
    engine = await openSmall(folder.file);
    expect(await sought('third')).toBe(1);
    for (let round = 0; ; round++) {
      if ((await sought(`id-${round}`)) === 0) break;
    }
    expect(await sought('first')).toBe(1);
  } finally {
    prepare.mockRestore();
    await engine.close();
    folder.dispose();
  }
});

fileTest('ids stay unique where the first documents of a table were not stored', async () => {
  const folder = temporaryFolder();
  const engine = await openSmall(folder.file);
  try {
    await createDocs(engine);
    const failed = engine.storeBatch('t', {
      documents: [doc('a', { n: 1 })],
      deletes: [],
      records: () => {
        throw new Error('not now');
      },
    });
    await expect(failed).rejects.toThrow();
    expect(statusesOf(await engine.addDocuments('t', [doc('a', { n: 1 }), doc('b', { n: 1 })]))).toEqual([
      'added',
      'added',
    ]);
    expect(statusesOf(await engine.addDocuments('t', [doc('a', { n: 2 }), doc('c', { n: 1 })]))).toEqual([
      'replaced',
      'added',
    ]);
    expect(await rowsOf(engine, 'SELECT count(*)::INT, count(DISTINCT _id)::INT FROM docs')).toEqual([[3, 3]]);
  } finally {
    await engine.close();
    folder.dispose();
  }
});
