import { expect, test } from 'vitest';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../engine/harness.ts';

test('conditions find what was there before a column had its type', async () => {
  const { file, dispose } = temporaryFolder();
  const engine = await openSmall(file);
  try {
    await createDocs(engine);
    const add = (values: readonly (number | bigint | null)[]) =>
      engine.addDocuments(
        't',
        values.map((n, at) => doc(`${values.length}-${at}`, { n })),
      );
    await add([null, 12, -5, 9_007_199_254_740_993n, 5]);
    // The column becomes one of doubles, and one value does not fit it: the table is written anew, in several files of one transaction.
    await add([6, 2.75, 1]);
    await add([17]);
    const counted = 'SELECT count(*) FILTER (n <= 9), (SELECT count(*) FROM docs WHERE n <= 9) FROM docs';
    expect(await rowsOf(engine, counted)).toEqual([[5, 5]]);
  } finally {
    await engine.close();
    dispose();
  }
});
