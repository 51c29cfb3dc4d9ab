import { expect, test } from 'vitest';
import { openLake } from '../../src/engine/duckdb/open-lake.ts';
import { createDocs, doc, rowsOf, temporaryFolder } from '../engine/harness.ts';
import { lakeFor } from './lake-for.ts';

// As a store of Google is signed in to, at one that speaks S3, as Google's does.
test('a lake in a bucket of Google', async () => {
  const { file, dispose } = temporaryFolder();
  const { lake } = await lakeFor(file);
  const data = lake.data.replace('s3://', 'gs://');
  const open = async () => openLake({ file: (await lakeFor(file)).file, lake: { ...lake, data } });
  const [a, b] = [await open(), await open()];
  try {
    await createDocs(a);
    await b.refresh();
    await a.addDocuments('t', [doc('1', { n: 1 }), doc('2', { n: 2 })]);
    await b.refresh();
    await b.deleteDocuments('t', ['1']);
    await a.refresh();
    expect(await rowsOf(a, 'SELECT _id, n FROM docs')).toEqual([['2', 2]]);
    await expect(a.query({ sql: `SELECT * FROM read_parquet('${data}/**')` })).rejects.toThrow(/read_parquet/);
  } finally {
    for (const node of [a, b]) await node.close();
    dispose();
  }
});
