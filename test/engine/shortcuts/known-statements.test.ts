import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Opened } from '../../../src/engine/duckdb/gate/parse.ts';
import { createKnownStatements } from '../../../src/engine/duckdb/shortcuts/known-statements.ts';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder, untilBusy } from '../harness.ts';

describe('a statement that has passed the gate before', () => {
  const home = temporaryFolder();
  let engine: Engine;
  beforeAll(async () => {
    engine = await openSmall(home.file);
    await createDocs(engine);
    await engine.addDocuments('t', [doc('a', { n: 1 })]);
  });
  afterAll(async () => {
    await engine.close();
    home.dispose();
  });

  test('sees what was written since', async () => {
    const sql = 'SELECT count(*)::INT FROM docs';
    expect(await rowsOf(engine, sql)).toEqual([[1]]);
    await engine.addDocuments('t', [doc('b', { n: 2 })]);
    expect(await rowsOf(engine, sql)).toEqual([[2]]);
  });

  test('sees columns that came since', async () => {
    const sql = 'SELECT * EXCLUDE (_event_time) FROM docs ORDER BY _id LIMIT 1';
    const before = (await engine.query({ sql })).columns.map(({ name }) => name);
    await engine.addDocuments('t', [doc('c', { later: true })]);
    const after = (await engine.query({ sql })).columns.map(({ name }) => name);
    expect(after).toEqual([...before, 'later']);
  });

  test('is right whatever was written, widened, moved or made anew between two runs of it', async () => {
    const [o, p] = [
      { do: 'createCollection', table: 'o', workspace: 'commons', name: 'o' } as const,
      { do: 'createCollection', table: 'p', workspace: 'commons', name: 'p' } as const,
    ];
    await engine.commit([o, p]);
    const point = (table: string) =>
      engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'al', tables: [table] }]);
    await engine.addDocuments(
      'o',
      Array.from({ length: 20 }, (_, n) => doc(`o${n}`, { n, s: `s${n % 3}` })),
    );
    await engine.addDocuments('p', [doc('p', { n: 5, s: 'p' })]);
    await point('o');
    // A kept plan of these would answer by what the table held when the plan was made.
    const texts = [
      'SELECT count(*)::INT FROM o WHERE n > 100',
      'SELECT count(n)::INT, min(n), max(n) FROM o',
      'SELECT count(*)::INT FROM o WHERE n IS NULL',
      'SELECT n, count(*)::INT FROM o GROUP BY n ORDER BY n DESC LIMIT 2',
      'SELECT n FROM o ORDER BY n DESC NULLS LAST LIMIT 1',
      "SELECT n, s FROM o WHERE _id = 'o1'",
      'SELECT max(n), count(*)::INT FROM al',
      'SELECT 1 AS one, typeof(max(n)) FROM o',
    ];
    const byParameter = 'SELECT n FROM o WHERE _id = :x OR n = TRY_CAST(:x AS DOUBLE) ORDER BY n';
    const check = async () => {
      const differs: unknown[] = [];
      const compare = async (sql: string, parameters: Parameter[] = []) => {
        // One text that is known, and one that was never used before.
        const [known, fresh] = [sql, `${sql} /* ${Math.random()} */`].map((text) =>
          engine.query({ sql: text, parameters }).then(
            ({ columns, rows }) => ({ columns, rows }),
            ({ code }: { code: string }) => ({ code }),
          ),
        );
        if (JSON.stringify(await known) !== JSON.stringify(await fresh)) differs.push({ sql, is: await known });
      };
      for (const sql of texts) for (const _ of [0, 1, 2]) await compare(sql);
      for (const value of ['o1', 5, null, true, 'o2']) await compare(byParameter, [{ name: 'x', value }]);
      expect(differs).toEqual([]);
    };
    await check();
    await engine.addDocuments('o', [doc('big', { n: 1_000_000_000 }), doc('none', { s: 'x' })]);
    await check();
    await engine.addDocuments('o', [doc('o1', { n: 'text', s: ['list'] })]);
    await check();
    await point('p');
    await check();
    await engine.deleteDocuments('o', ['big', 'o1']);
    await engine.commit([{ do: 'dropCollection', table: 'o' }]);
    await check();
    await engine.commit([{ ...o, table: 'o2' }]);
    await check();
    await engine.addDocuments('o2', [doc('o1', { s: 'other', n: 0.5 })]);
    await check();
  });

  test('takes new values of its parameters', async () => {
    const sql = 'SELECT n FROM docs WHERE _id = :id';
    const of = async (id: string) => (await engine.query({ sql, parameters: [{ name: 'id', value: id }] })).rows;
    expect([await of('a'), await of('b')]).toEqual([[[1]], [[2]]]);
    await expect(engine.query({ sql })).rejects.toMatchObject({ code: 'query_error' });
  });

  test('calls macros on a connection that has not made them', async () => {
    const sql = "SELECT ARRAY_JOIN(['x', 'y'], '-'), COSINE_SIM([1.0, 0.0], [1.0, 0.0])";
    await engine.query({ sql });
    const results = await Promise.all(Array.from({ length: 4 }, () => rowsOf(engine, sql)));
    expect(results).toEqual(Array.from({ length: 4 }, () => [['x-y', 1]]));
  });

  test('tells the place of an error again', async () => {
    const sql = "SELECT n,\n  error('no')\nFROM docs";
    const failures = [0, 1].map(() => engine.query({ sql }).catch((error: unknown) => error));
    const [first, second] = await Promise.all(failures);
    expect(second).toMatchObject({ code: 'query_error', message: (first as Error).message });
  });

  test('is cut, stopped or ended by an error as before, and leaves its connection fit for the next', async () => {
    const long = 'SELECT count(*) FROM range(1000000000) a, range(:n::BIGINT) b WHERE (a.range * b.range) % 7 = 3';
    const run = (n: number, signal?: AbortSignal) =>
      engine.query({ sql: long, parameters: [{ name: 'n', value: n }], ...(signal === undefined ? {} : { signal }) });
    expect((await run(0)).rows).toEqual([[0]]);
    const strict = "SELECT CASE WHEN n > :most THEN error('too much') ELSE n END FROM docs WHERE _id = 'a'";
    const most = (value: number) => engine.query({ sql: strict, parameters: [{ name: 'most', value }] });
    expect((await most(5)).rows).toEqual([[1]]);
    const many = { sql: 'SELECT i FROM range(:n::BIGINT) t(i)', defaultRowLimit: 3 };
    const first = (n: number) => engine.query({ ...many, parameters: [{ name: 'n', value: n }] });
    expect((await first(2)).cut).toBeNull();
    for (let round = 0; round < 6; round++) {
      expect(await first(100_000)).toMatchObject({ rows: [[0], [1], [2]], cut: { reason: 'asked', limit: 3 } });
      await expect(most(0)).rejects.toMatchObject({ code: 'query_error', message: expect.stringMatching(/too much/) });
      const caller = new AbortController();
      const running = run(1_000, caller.signal);
      const stopped = expect(running).rejects.toMatchObject({ code: 'aborted' });
      await untilBusy();
      caller.abort();
      await stopped;
      await engine.addDocuments('t', [doc('a', { n: 1, round })]);
      expect((await most(5)).rows).toEqual([[1]]);
      expect(await rowsOf(engine, "SELECT round FROM docs WHERE _id = 'a'")).toEqual([[round]]);
    }
  });

  test('is refused when its collection is gone, and reads another of the same name', async () => {
    const sql = 'SELECT n FROM other';
    await expect(engine.query({ sql })).rejects.toThrow(/"other" does not exist/);
    const create = (table: string) =>
      engine.commit([{ do: 'createCollection', table, workspace: 'commons', name: 'other' }]);
    await create('t2');
    await engine.addDocuments('t2', [doc('a', { n: 7 })]);
    expect(await rowsOf(engine, sql)).toEqual([[7]]);
    await engine.commit([{ do: 'dropCollection', table: 't2' }]);
    await expect(engine.query({ sql })).rejects.toThrow(/"other" does not exist/);
    await create('t3');
    await engine.addDocuments('t3', [doc('a', { n: 8 })]);
    expect(await rowsOf(engine, sql)).toEqual([[8]]);
  });
});

describe('createKnownStatements()', () => {
  const opened = (namesVersion: number) => ({ passed: { missing: [] }, namesVersion }) as unknown as Opened;

  test('does not take what the gate let through under other names', () => {
    const names = { version: 2 };
    const known = createKnownStatements(names);
    known.add('a', opened(1));
    expect(known.try('a')).toBeUndefined();
    known.add('a', opened(2));
    expect(known.try('a')).toBeDefined();
    names.version = 3;
    known.add('b', opened(3));
    expect([known.try('a') !== undefined, known.try('b') !== undefined]).toEqual([false, true]);
  });

  test('keeps those used last, within its bounds, and no long text', () => {
    const known = createKnownStatements({ version: 0 });
    for (let index = 0; index < 500; index++) known.add(`a${index}`, opened(0));
    known.try('a0');
    known.add('b', opened(0));
    expect([known.try('a0'), known.try('a1'), known.try('b')].map((one) => one !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    known.add('x'.repeat(20_000), opened(0));
    expect(known.try('x'.repeat(20_000))).toBeUndefined();
  });
});
