import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from './harness.ts';

test('a large log goes into the database file when nothing is written for a while, and writing goes on', {
  timeout: 90_000,
}, async () => {
  const folder = temporaryFolder();
  const logBytes = () => statSync(`${folder.file}.wal`, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    const text = 'x'.repeat(1_000_000);
    await engine.addDocuments(
      't',
      Array.from({ length: 20 }, (_, index) => doc(`${index}`, { text: `${index}${text}` })),
    );
    expect(logBytes()).toBeGreaterThan(16 * 1024 * 1024);
    await expect.poll(logBytes, { timeout: 60_000 }).toBeLessThan(1024 * 1024);
    await engine.addDocuments('t', [doc('last', { text: 'y' })]);
    expect(await rowsOf(engine, 'SELECT count(*), count(DISTINCT text) FROM docs')).toEqual([[21, 21]]);
    await engine.close();
    const again = await openSmall(folder.file);
    expect(await rowsOf(again, 'SELECT count(*) FROM docs')).toEqual([[21]]);
    await again.close();
  } finally {
    folder.dispose();
  }
});
