import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKnownStatements } from '../../src/engine/duckdb/known-statements.ts';
import type { Opened } from '../../src/engine/duckdb/parse.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from './harness.ts';

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
    expect(known.find('a')).toBeUndefined();
    known.add('a', opened(2));
    expect(known.find('a')).toBeDefined();
    names.version = 3;
    known.add('b', opened(3));
    expect([known.find('a'), known.find('b')]).toEqual([undefined, undefined]);
  });

  test('keeps those used last, within its bounds, and no long text', () => {
    const known = createKnownStatements({ version: 0 });
    for (let index = 0; index < 500; index++) known.add(`a${index}`, opened(0));
    known.find('a0');
    known.add('b', opened(0));
    expect([known.find('a0'), known.find('a1'), known.find('b')].map((one) => one !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    known.add('x'.repeat(20_000), opened(0));
    expect(known.find('x'.repeat(20_000))).toBeUndefined();
  });
});
