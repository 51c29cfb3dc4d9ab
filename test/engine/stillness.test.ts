import { afterEach, beforeEach, expect, test } from 'vitest';
import { Store } from '../../src/engine/duckdb/store.ts';
import { LIMITS } from './fixture.ts';
import { temporaryFolder } from './harness.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
const COUNT = 'SELECT count(*) FROM x';

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await Store.open({ file: folder.file, limits: LIMITS, log: LOG, load: async () => undefined });
  await store.transaction((sql) => sql('CREATE TABLE x (n INTEGER)'));
});
afterEach(() => folder.dispose());

/** A transaction that goes on until it is told to end. */
async function writing(): Promise<{ end: () => void; ended: Promise<void> }> {
  let end: () => void = () => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((runs) => {
    ended = store.transaction(async (sql) => {
      await sql('INSERT INTO x VALUES (1)');
      runs();
      await mayEnd;
    });
  });
  return { end, ended };
}

/** As if the database had failed in the middle of a statement. */
async function fail(): Promise<void> {
  const failed = store.read(async () => {
    throw new Error('FATAL Error: played by a test');
  });
  await expect(failed).rejects.toThrow('played by a test');
}

test('a database that fails while a backup waits for a write is opened again, and the backup goes on', {
  timeout: 20_000,
}, async () => {
  const { end, ended } = await writing();
  const still = store.still((sql) => sql(COUNT));
  // By then the backup waits.
  await store.read((sql) => sql('SELECT 1'));
  await fail();
  const opening = store.read((sql) => sql(COUNT));
  const later = store.transaction((sql) => sql('INSERT INTO x VALUES (2)'));
  end();
  await ended;
  expect([await opening, await still]).toEqual([[[1n]], [[1n]]]);
  await later;
  expect(await store.read((sql) => sql(COUNT))).toEqual([[2n]]);
  await store.close();
});

test('a backup that waits for a write when the store closes is refused, and holds up nothing', {
  timeout: 20_000,
}, async () => {
  const { end, ended } = await writing();
  const still = store.still((sql) => sql(COUNT));
  const next = store.still((sql) => sql(COUNT));
  await store.read((sql) => sql('SELECT 1'));
  const closed = store.close();
  end();
  await ended;
  await expect(still).rejects.toThrow('shutting down');
  await expect(next).rejects.toThrow('shutting down');
  await closed;
});
