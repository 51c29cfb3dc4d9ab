import { expect, test } from 'vitest';
import type { Sql } from '../../../src/engine/duckdb/connections/store.ts';
import { newTable } from '../../../src/engine/duckdb/tables/catalog.ts';
import { createStats } from '../../../src/engine/duckdb/tables/stats.ts';
import { doc, openSmall, temporaryFolder } from '../harness.ts';

test('a table is counted again after a write only, and with a retention each time', async () => {
  let count = 0;
  const run = async () => [[BigInt(count)]];
  const stats = createStats((work) => {
    count += 1;
    return work(Object.assign(run, { again: run }) as Sql);
  });
  const counts = async (retentionSecs: number | null) => {
    const table = newTable({ id: `t${retentionSecs}`, workspace: 'commons', name: 't', retentionSecs });
    const found = [await stats.of(table), await stats.of(table)];
    stats.forget(table.id);
    return [...found, await stats.of(table)].map(({ docCount }) => docCount);
  };
  expect(await counts(null)).toEqual([1, 1, 2]);
  expect(await counts(3_600)).toEqual([3, 4, 5]);
});

test('a table with the id of one that was dropped has figures of its own', async () => {
  const folder = temporaryFolder();
  const engine = await openSmall(folder.file);
  const create = { do: 'createCollection', table: 't', workspace: 'commons', name: 't' } as const;
  await engine.commit([{ do: 'createWorkspace', workspace: 'commons' }, create]);
  await engine.addDocuments('t', [doc('a', {})]);
  expect((await engine.stats('t')).docCount).toBe(1);
  await engine.commit([{ do: 'dropCollection', table: 't' }]);
  await engine.commit([create]);
  expect((await engine.stats('t')).docCount).toBe(0);
  await engine.close();
  folder.dispose();
});
