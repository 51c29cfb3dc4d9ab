import { DuckDBInstance, type DuckDBPreparedStatement } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeptStatements, openWriter, type Writer } from '../../../src/engine/duckdb/connections/writer.ts';

let instance: DuckDBInstance;
let statements: KeptStatements;
let [one, other]: Writer[] = [];

beforeEach(async () => {
  instance = await DuckDBInstance.create(':memory:');
  statements = new KeptStatements();
  [one, other] = [await openWriter(instance, statements), await openWriter(instance, statements)];
  await one.sql('CREATE TABLE t (n INTEGER)');
});

afterEach(() => {
  statements.clear();
  one?.connection.closeSync();
  other?.connection.closeSync();
  instance.closeSync();
});

const INSERT = 'INSERT INTO t SELECT $1::INTEGER';

/** The statement that the next run of a text takes. */
async function nextOf({ connection }: Writer, text = INSERT): Promise<DuckDBPreparedStatement> {
  const kept = await statements.take(connection, text);
  statements.giveBack(kept);
  return kept.statement;
}

describe('a kept statement', () => {
  test('is run again, whatever values it has', async () => {
    if (one === undefined) throw new Error('no writer');
    await one.sql.again(INSERT, 1);
    const kept = await nextOf(one);
    await one.sql.again(INSERT, 2);
    expect(await nextOf(one)).toBe(kept);
    expect(await one.sql('SELECT n FROM t ORDER BY n')).toEqual([[1], [2]]);
  });

  test.each([
    ['of another table', 'CREATE TABLE other (x INTEGER)'],
    ['of a view', 'CREATE VIEW v AS SELECT 1 AS x'],
    ['of its table', 'ALTER TABLE t ADD COLUMN m INTEGER DEFAULT 7'],
  ])('does not outlive a change of the schema, %s, of any connection', async (_, change) => {
    if (one === undefined || other === undefined) throw new Error('no writer');
    await one.sql.again('INSERT INTO t(n) SELECT $1::INTEGER', 1);
    const before = await nextOf(one, 'INSERT INTO t(n) SELECT $1::INTEGER');
    await other.sql.again('BEGIN TRANSACTION');
    await other.sql(change);
    const during = await nextOf(one, 'INSERT INTO t(n) SELECT $1::INTEGER');
    await other.sql.again('COMMIT');
    const after = await nextOf(one, 'INSERT INTO t(n) SELECT $1::INTEGER');
    expect(new Set([before, during, after]).size).toBe(3);
    await one.sql.again('INSERT INTO t(n) SELECT $1::INTEGER', 2);
    expect(await nextOf(one, 'INSERT INTO t(n) SELECT $1::INTEGER')).toBe(after);
    expect(await one.sql('SELECT n FROM t ORDER BY n')).toEqual([[1], [2]]);
  });

  test('that runs while the schema changes is not kept', async () => {
    if (one === undefined || other === undefined) throw new Error('no writer');
    const running = await statements.take(one.connection, INSERT);
    await other.sql('CREATE TABLE other (x INTEGER)');
    statements.giveBack(running);
    expect(await nextOf(one)).not.toBe(running.statement);
  });
});
