import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quietMsOf } from '../../../src/engine/duckdb/storage/log-size.ts';
import { isLong } from '../../long.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.dispose());

/** Beyond 1 MiB, a log waits for a pause of the longer the larger it is. */
const DOCUMENTS = isLong ? 20 : 5;

const logBytes = () => statSync(`${folder.file}.wal`, { throwIfNoEntry: false })?.size ?? 0;

test('a large log goes into the database file when nothing is written for a while, and writing goes on', {
  timeout: 90_000,
}, async () => {
  const engine = await openSmall(folder.file);
  await createDocs(engine);
  const text = 'x'.repeat(1_000_000);
  await engine.addDocuments(
    't',
    Array.from({ length: DOCUMENTS }, (_, index) => doc(`${index}`, { text: `${index}${text}` })),
  );
  expect(logBytes()).toBeGreaterThan(DOCUMENTS * 0.8 * 1024 * 1024);
  await expect.poll(logBytes, { timeout: 60_000 }).toBeLessThan(1024 * 1024);
  await engine.addDocuments('t', [doc('last', { text: 'y' })]);
  expect(await rowsOf(engine, 'SELECT count(*), count(DISTINCT text) FROM docs')).toEqual([
    [DOCUMENTS + 1, DOCUMENTS + 1],
  ]);
  await engine.close();
  const again = await openSmall(folder.file);
  expect(await rowsOf(again, 'SELECT count(*) FROM docs')).toEqual([[DOCUMENTS + 1]]);
  await again.close();
});

test('a log that grows by pieces of metadata alone goes into the database file between them', {
  timeout: 90_000,
}, async () => {
  const engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('large', { text: 'x'.repeat(6_000_000) })]);
  expect(logBytes()).toBeGreaterThan(5 * 1024 * 1024);
  // One after the other, as long as it takes, without a pause in between.
  const endsAt = performance.now() + 60_000;
  for (let n = 0; logBytes() > 1024 * 1024 && performance.now() < endsAt; n += 1) {
    await engine.commit([{ do: 'putRecord', kind: 'a', key: `${n % 7}`, value: { n } }]);
    await sleep(20);
  }
  expect(logBytes()).toBeLessThan(1024 * 1024);
  expect(await rowsOf(engine, 'SELECT strlen(text) FROM docs')).toEqual([[6_000_000]]);
  await engine.close();
});

test('the longer a log, the longer the pause that it waits for', () => {
  const mib = 1024 * 1024;
  expect([1, 4, 8, 32, 63, 250].map((size) => quietMsOf(size * mib))).toEqual([
    undefined,
    1_000,
    2_000,
    8_000,
    15_000,
    15_000,
  ]);
});
