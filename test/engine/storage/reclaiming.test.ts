import { statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { Reclaiming, takenRows, UNREAD_LONG_MS } from '../../../src/engine/duckdb/storage/merge.ts';
import { LIMITS } from '../fixture.ts';
import { temporaryFolder } from '../harness.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
/** Four pieces of a table, as the engine divides it. */
const ROWS = 4 * 122_880;

let folder: ReturnType<typeof temporaryFolder>;
let store: FileStore;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await FileStore.open({ file: folder.file, limits: LIMITS, log: LOG, load: async () => undefined });
  await store.transaction(async (sql) => {
    await sql('CREATE TABLE x (n INTEGER, text VARCHAR)');
    await sql(`INSERT INTO x SELECT i, NULL FROM range(${ROWS}) t(i)`);
  });
});
afterEach(async () => {
  await store.close();
  folder.dispose();
});

/** Makes a log that is put into the file at the first pause. */
const write = () => store.transaction((sql) => sql(`INSERT INTO x VALUES (-1, '${'x'.repeat(6_000_000)}')`));

const logBytes = () => statSync(`${folder.file}.wal`, { throwIfNoEntry: false })?.size ?? 0;

/** Rows that the table takes space for. */
async function taken(): Promise<number> {
  const [row] = await store.read((sql) =>
    sql(`SELECT estimated_size::DOUBLE FROM duckdb_tables() WHERE table_name = 'x'`),
  );
  return Number(row?.[0]);
}

test('the space of most rows is reclaimed while the database is open and read', { timeout: 90_000 }, async () => {
  await store.transaction((sql) => sql('DELETE FROM x WHERE n % 4 <> 0'));
  await write();
  await expect.poll(taken, { timeout: 60_000 }).toBeLessThan(ROWS / 2);
  expect(await store.read((sql) => sql('SELECT count(*) FROM x'))).toEqual([[BigInt(ROWS / 4 + 1)]]);
});

test('no row moves for a tenth of them while others read', { timeout: 90_000 }, async () => {
  await store.transaction((sql) => sql('DELETE FROM x WHERE n < 60000'));
  await store.reading(async () => undefined);
  await write();
  await expect.poll(logBytes, { timeout: 60_000 }).toBeLessThan(1024 * 1024);
  expect(await taken()).toBe(ROWS + 1);
});

describe('space is reclaimed', () => {
  const one = (rows: number, deleted: number) => new Map([['x', { rows, deleted }]]);

  test('of many deleted rows, if nobody has read for long', () => {
    const reclaiming = new Reclaiming();
    reclaiming.look(one(1_000_000, 10_000));
    expect(reclaiming.isDue(UNREAD_LONG_MS)).toBe(false);
    reclaiming.look(one(1_000_000, 60_000));
    expect(reclaiming.isDue(UNREAD_LONG_MS)).toBe(true);
    expect(reclaiming.isDue(UNREAD_LONG_MS - 1)).toBe(false);
  });

  test('of few rows, if nobody has read for long and they are half of a table', () => {
    const reclaiming = new Reclaiming();
    reclaiming.look(new Map([...one(2_000, 1_000), ['y', { rows: 1_000_000, deleted: 0 }]]));
    expect(reclaiming.isDue(UNREAD_LONG_MS)).toBe(true);
    expect(reclaiming.isDue(0)).toBe(false);
  });

  test('whoever reads, if half of all rows are deleted, and many', () => {
    const reclaiming = new Reclaiming();
    reclaiming.look(one(1_000_000, 500_000));
    expect(reclaiming.isDue(0)).toBe(true);
    reclaiming.look(one(2_000, 2_000));
    expect(reclaiming.isDue(0)).toBe(false);
  });

  test('again, if there was something to reclaim', () => {
    const reclaiming = new Reclaiming();
    reclaiming.look(one(1_000_000, 500_000));
    reclaiming.moved(one(800_000, 300_000));
    expect(reclaiming.isDue(UNREAD_LONG_MS)).toBe(true);
  });

  test('not again where the engine left the rows in their places, until there are many more', () => {
    const reclaiming = new Reclaiming();
    reclaiming.look(one(1_000_000, 200_000));
    reclaiming.moved(one(1_000_000, 200_000));
    expect(reclaiming.isWorthIt).toBe(false);
    reclaiming.look(one(1_000_000, 240_000));
    expect(reclaiming.isWorthIt).toBe(false);
    reclaiming.look(one(1_000_000, 260_000));
    expect(reclaiming.isDue(UNREAD_LONG_MS)).toBe(true);
  });
});

test('deleted rows are counted in tables that have some, whatever their names', async () => {
  await store.transaction(async (sql) => {
    await sql('CREATE SCHEMA "a ""b"');
    await sql('CREATE TABLE "a ""b"."c.d" AS SELECT i FROM range(1000) t(i)');
    await sql('CREATE TABLE few AS SELECT i FROM range(10) t(i)');
  });
  await store.transaction((sql) => sql('DELETE FROM "a ""b"."c.d" WHERE i < 400'));
  const taken = await store.read((sql) => takenRows(sql));
  expect([...taken.values()]).toEqual([
    { rows: 1_000, deleted: 400 },
    { rows: ROWS, deleted: 0 },
  ]);
});
