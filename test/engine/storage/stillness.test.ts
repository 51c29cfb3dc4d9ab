import { existsSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { Stillness } from '../../../src/engine/duckdb/storage/stillness.ts';
import { LIMITS } from '../fixture.ts';
import { temporaryFolder } from '../harness.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
const COUNT = 'SELECT count(*) FROM x';

let folder: ReturnType<typeof temporaryFolder>;
let store: FileStore;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await FileStore.open({ file: folder.file, limits: LIMITS, log: LOG, load: async () => undefined });
  await store.transaction((sql) => sql('CREATE TABLE x (n INTEGER)'));
});
afterEach(() => folder.dispose());

/** A transaction that runs until it is told to end. */
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

/** Makes the store believe that the database failed in the middle of a statement. */
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
  // By then the backup is waiting.
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

test('undisturbed reads and still() wait for each other', {
  timeout: 20_000,
}, async () => {
  const order: string[] = [];
  let end: () => void = () => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  const deciding = store.undisturbed(async () => {
    await mayEnd;
    order.push('undisturbed');
  });
  const still = store.still(async () => order.push('still'));
  // By then `still` is waiting.
  await store.read((sql) => sql('SELECT 1'));
  const select = store.undisturbed(() => store.read((sql) => sql(COUNT))).then(() => order.push('select'));
  expect(await store.read((sql) => sql(COUNT))).toEqual([[0n]]);
  end();
  await Promise.all([deciding, still, select]);
  expect(order).toEqual(['undisturbed', 'still', 'select']);
  await store.close();
});

test('a read waits for unread(), unless an earlier read takes too long', async () => {
  await store.close();
  const stillness = new Stillness();
  const order: string[] = [];
  const read = (name: string) => stillness.read(async () => order.push(name));
  let end: () => void = () => undefined;
  const long = stillness.read(() => new Promise<void>((resolve) => (end = resolve)));
  let waiting: Promise<number> = Promise.resolve(0);
  await stillness.alone(() => {
    const done = stillness.unread(10, async (isUnread) => order.push(`unread ${isUnread}`));
    waiting = read('beside');
    return done;
  });
  await waiting;
  expect(order.sort()).toEqual(['beside', 'unread false']);
  const last = stillness.alone(() => {
    const done = stillness.unread(60_000, async (isUnread) => order.push(`unread ${isUnread}`));
    waiting = read('after');
    return done;
  });
  end();
  await Promise.all([long, last, waiting]);
  expect(order.slice(2)).toEqual(['unread true', 'after']);
});

test('a read that is told to stop does not wait', async () => {
  await store.close();
  const stillness = new Stillness();
  const stop = new AbortController();
  await stillness.unread(0, async () => {
    const early = stillness.read(async () => stop.signal.aborted, stop.signal);
    stop.abort(new Error('stopped'));
    expect(await early).toBe(true);
    expect(await stillness.read(async () => 'at once', stop.signal)).toBe('at once');
  });
});

test('the log is merged before the instance is closed, which holds the thread', async () => {
  await store.transaction((sql) => sql('INSERT INTO x VALUES (1)'));
  const log = `${folder.file}.wal`;
  expect(existsSync(log)).toBe(true);
  const close = DuckDBInstance.prototype.closeSync;
  const left: boolean[] = [];
  const spy = vi.spyOn(DuckDBInstance.prototype, 'closeSync').mockImplementation(function (this: DuckDBInstance) {
    left.push(existsSync(log));
    close.call(this);
  });
  await store.close();
  spy.mockRestore();
  expect(left).toEqual([false]);
});
