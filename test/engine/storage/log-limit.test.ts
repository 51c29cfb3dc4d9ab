import { cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { longTest } from '../../long.ts';
import { LIMITS as USUAL } from '../fixture.ts';
import { temporaryFolder } from '../harness.ts';

const MIB = 1024 * 1024;
const LIMITS = { ...USUAL, memoryBytes: 128 * MIB };
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

let folder: ReturnType<typeof temporaryFolder>;
let store: FileStore;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await open(folder.file);
});
afterEach(async () => {
  await store.close();
  folder.dispose();
});

const open = (file: string) => FileStore.open({ file, limits: LIMITS, log: LOG, load: async () => undefined });
const logBytes = () => statSync(`${folder.file}.wal`, { throwIfNoEntry: false })?.size ?? 0;

/** Writes more than the maximum size of the log. */
async function fillLog(): Promise<void> {
  for (let part = 0; part < 8; part += 1) await writeSome();
}

/** Writes enough that a merge is worth it, but leaves the log short. */
async function writeSome(): Promise<void> {
  const bytes = `repeat(md5(r::VARCHAR || random()::VARCHAR), 1000)`;
  await store.transaction((sql) => sql(`INSERT INTO filler SELECT ${bytes} FROM range(200) x(r)`));
}

test('a log that is too long goes into the file once nothing else writes, and a crash then finds all', {
  timeout: 60_000,
}, async () => {
  await store.transaction(async (sql) => {
    await sql('CREATE TABLE docs AS SELECT r AS id, 0 AS version FROM range(1000) x(r)');
    await sql('CREATE TABLE filler (x VARCHAR)');
  });
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  // Deletes at once, but inserts and commits only when the log has been too long for a while.
  const replaced = store.transaction(async (sql) => {
    await sql('DELETE FROM docs WHERE id % 3 = 0');
    await held;
    await sql('INSERT INTO docs SELECT r, 1 FROM range(1000) x(r) WHERE r % 3 = 0');
  });
  const filled = fillLog();
  await expect.poll(logBytes, { timeout: 30_000 }).toBeGreaterThan(LIMITS.memoryBytes / 4);
  const full = logBytes();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(logBytes()).toBeGreaterThanOrEqual(full);
  goOn();
  await Promise.all([replaced, filled]);
  await expect.poll(logBytes, { timeout: 30_000 }).toBeLessThan(full);
  const copy = join(folder.folder, 'copy');
  cpSync(join(folder.file, '..'), copy, { recursive: true });
  const after = await open(join(copy, '_colloquy.duckdb'));
  const [row] = await after.read((sql) => sql('SELECT count(*), count(DISTINCT id), sum(version) FROM docs'));
  expect(row?.map(Number)).toEqual([1_000, 1_000, 334]);
  await after.close();
});

test('a log that is too long waits for a query from before the last change, and writes wait with it', {
  timeout: 60_000,
}, async () => {
  await store.transaction((sql) => sql('CREATE TABLE docs AS SELECT r AS id, 0 AS version FROM range(1000) x(r)'));
  let end: () => void = () => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  const reading = store.reading(() => mayEnd);
  const query = await store.connect();
  await query.run('BEGIN TRANSACTION READ ONLY');
  await query.run('SELECT sum(version) FROM docs');
  // Changed in place: the engine keeps the old values for the query.
  const bytes = `repeat(md5(r::VARCHAR || random()::VARCHAR), 1000)`;
  await store.transaction(async (sql) => {
    await sql('UPDATE docs SET version = 1 WHERE id % 3 = 0');
    await sql(`CREATE TABLE filler AS SELECT ${bytes} AS x FROM range(5000) x(r)`);
  });
  const full = logBytes();
  expect(full).toBeGreaterThan(LIMITS.memoryBytes);
  // A write that comes before the look at the log's size is not held up; the first after it is.
  let isWritten = true;
  let next: Promise<void> = Promise.resolve();
  while (isWritten) {
    isWritten = false;
    next = store
      .transaction((sql) => sql('UPDATE docs SET version = 2 WHERE id = 1'))
      .then(() => {
        isWritten = true;
      });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(Number((await query.runAndReadAll('SELECT sum(version) FROM docs')).getRows()[0]?.[0])).toBe(0);
  await query.run('ROLLBACK');
  query.closeSync();
  end();
  await Promise.all([reading, next]);
  expect(logBytes()).toBeLessThan(full / 100);
});

/**
 * Rows in a piece of a table, as the engine divides it; the first pieces are deleted, so that a merge may move the
 * rest.
 */
const PIECE = 122_880;

longTest(
  'a long log goes into the file without moving a row, and so does a short one beside a query; after it, rows move',
  {
    timeout: 60_000,
  },
  async () => {
    await store.transaction(async (sql) => {
      await sql(`CREATE TABLE docs AS SELECT r AS id FROM range(${4 * PIECE}) x(r)`);
      await sql('CREATE TABLE filler (x VARCHAR)');
    });
    await fillLog();
    await expect.poll(logBytes, { timeout: 30_000 }).toBeLessThan(LIMITS.memoryBytes / 4);
    const last = 4 * PIECE - 1;
    const placeOfLast = async () => {
      const rows = await store.read((sql) => sql(`SELECT rowid FROM docs WHERE id = ${last}`));
      return Number(rows[0]?.[0]);
    };
    const merged = async (write: () => Promise<void>) => {
      await write();
      await expect.poll(logBytes, { timeout: 30_000 }).toBeLessThan(MIB);
    };
    await store.transaction((sql) => sql(`DELETE FROM docs WHERE id < ${2 * PIECE}`));
    let end: () => void = () => undefined;
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    const query = store.reading(() => mayEnd);
    await merged(async () => {
      await fillLog();
      // Writes wait for a merge that is due.
      await store.transaction((sql) => sql('DELETE FROM filler'));
    });
    expect(await placeOfLast()).toBe(last);
    await merged(writeSome);
    expect(await placeOfLast()).toBe(last);
    const late: string[] = [];
    const another = store.reading(async () => late.push('read'));
    end();
    await Promise.all([query, another]);
    await merged(writeSome);
    expect(await placeOfLast()).toBeLessThan(last - PIECE);
  },
);
