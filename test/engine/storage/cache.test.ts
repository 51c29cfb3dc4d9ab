import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cacheAfterMerge, memoryOf } from '../../../src/engine/duckdb/storage/cache.ts';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { logBytesMax } from '../../../src/engine/duckdb/storage/log-size.ts';
import { longTest } from '../../long.ts';
import { LIMITS as USUAL } from '../fixture.ts';
import { temporaryFolder } from '../harness.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const LIMITS = { ...USUAL, memoryBytes: 128 * MIB };
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

let folder: ReturnType<typeof temporaryFolder>;
let store: FileStore;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await FileStore.open({ file: folder.file, limits: LIMITS, log: LOG, load: async () => undefined });
  await store.transaction((sql) => sql('CREATE TABLE x (n DOUBLE)'));
});
afterEach(async () => {
  await store.close();
  folder.dispose();
});

/** Writes random numbers, which take as much space in the file as in the log, in pieces that go through the log. */
async function write(mebibytes: number): Promise<void> {
  const rows = MIB / 16;
  for (let piece = 0; piece < 2 * mebibytes; piece += 1) {
    await store.transaction((sql) => sql(`INSERT INTO x SELECT random() FROM range(${rows})`));
  }
}

const fileBytes = () => statSync(folder.file).size;
const cached = async () => (await store.read(memoryOf)).cache;

test('what merges write stays in memory up to a limit, however much that is', { timeout: 60_000 }, async () => {
  const max = cacheAfterMerge(0, LIMITS.memoryBytes);
  await write(128);
  await expect.poll(fileBytes, { timeout: 30_000 }).toBeGreaterThan(4 * max);
  await expect.poll(cached, { timeout: 10_000 }).toBeLessThanOrEqual(max + logBytesMax(LIMITS.memoryBytes));
  expect(await store.read((sql) => sql(`SELECT current_setting('memory_limit')`))).toEqual([['128.0 MiB']]);
  expect(await store.read((sql) => sql('SELECT count(*) FROM x'))).toEqual([[BigInt(16 * MIB)]]);
});

longTest('what was read before stays there', { timeout: 60_000 }, async () => {
  const max = cacheAfterMerge(0, LIMITS.memoryBytes);
  await write(96);
  await expect.poll(fileBytes, { timeout: 30_000 }).toBeGreaterThan(4 * max);
  // A merge that is under way may let go of what is read meanwhile.
  for (let stayed = 0; stayed < 2; ) {
    await store.read((sql) => sql('SELECT sum(n) FROM x'));
    await sleep(500);
    stayed = (await cached()) > 3 * max ? stayed + 1 : 0;
  }
  const before = await cached();
  const size = fileBytes();
  await write(40);
  await expect.poll(fileBytes, { timeout: 30_000 }).toBeGreaterThan(size + MIB);
  await sleep(500);
  expect(await cached()).toBeGreaterThan(before * 0.9);
});

test('a merge lets go of what it added, but for a part of the memory, and never of what queries read', () => {
  expect(cacheAfterMerge(0, 8 * GIB)).toBe(GIB / 4);
  expect(cacheAfterMerge(GIB / 4 + MIB, 8 * GIB)).toBe(GIB / 4);
  expect(cacheAfterMerge(GIB, 8 * GIB)).toBe(GIB);
  expect(cacheAfterMerge(0, 512 * MIB)).toBe(64 * MIB);
});
