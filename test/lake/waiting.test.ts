import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBPreparedStatement } from '@duckdb/node-api';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { keysOf } from '../../src/engine/duckdb/lake/fence.ts';
import { createLakeLocks } from '../../src/engine/duckdb/lake/lake-locks.ts';
import { lakeCatalogOf } from '../../src/engine/duckdb/lake/lake-options.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../engine/harness.ts';
import { lakeFor } from './lake-for.ts';

const WAIT_MS = 1_000;

test('whoever waits behind those that wait for another node waits no longer than they', async () => {
  const { lake } = await lakeFor(`/tmp/waiting-${process.pid}`);
  // As a node has it that does not go on: paused, or on a machine that is.
  const other = new pg.Client({ connectionString: lake.catalog });
  await other.connect();
  const { client } = lakeCatalogOf(lake.catalog);
  const locks = createLakeLocks({ client, waitMs: WAIT_MS, refresh: async () => undefined, failed: (error) => error });
  const waitedMs = async () => {
    const from = performance.now();
    await expect(locks.hold(['t'], async () => undefined)).rejects.toMatchObject({ code: '55P03' });
    return performance.now() - from;
  };
  await other.query('SELECT pg_advisory_lock($1::bigint)', [keysOf('t').lock]);
  const late = delay(WAIT_MS / 2).then(waitedMs);
  const [first, ...behindIt] = await Promise.all([waitedMs(), waitedMs(), waitedMs(), waitedMs(), late]);
  for (const ms of [first, ...behindIt]) {
    expect(ms).toBeGreaterThan(WAIT_MS - 100);
    expect(ms).toBeLessThan(first + WAIT_MS);
  }
  // A time of its own has whoever comes later, and who waits for others of this node.
  const next = locks.hold(['t'], () => delay(2 * WAIT_MS));
  await delay(WAIT_MS / 2);
  await other.query('SELECT pg_advisory_unlock($1::bigint)', [keysOf('t').lock]);
  const behind = locks.hold(['t'], async () => 'done');
  await next;
  expect(await behind).toBe('done');
  await locks.close();
  await other.end();
});

test("a query is started by the engine's thread, which may wait for the catalog, and not by ours", async () => {
  const folder = temporaryFolder();
  const engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('1', { n: 1 })]);
  const started = vi.spyOn(DuckDBPreparedStatement.prototype, 'startStream');
  expect(await rowsOf(engine, 'SELECT n FROM docs')).toEqual([[1]]);
  expect(started).not.toHaveBeenCalled();
  vi.restoreAllMocks();
  await engine.close();
  folder.dispose();
});
