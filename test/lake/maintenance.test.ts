import { once } from 'node:events';
import type { DuckDBValue } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foldersIn } from '../../src/engine/duckdb/connections/folders.ts';
import { createCatalogClient } from '../../src/engine/duckdb/lake/catalog-client.ts';
import { onLakeOpened } from '../../src/engine/duckdb/lake/lake-database.ts';
import { createLakeLocks } from '../../src/engine/duckdb/lake/lake-locks.ts';
import { CATALOG_SCHEMA, lakeCatalogOf, lakeDataOf } from '../../src/engine/duckdb/lake/lake-options.ts';
import { LakeStore } from '../../src/engine/duckdb/lake/lake-store.ts';
import { leadOn } from '../../src/engine/duckdb/lake/leading.ts';
import { expire, type MaintenanceContext, tidy } from '../../src/engine/duckdb/lake/maintenance.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Leading } from '../../src/engine/sharing.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../engine/harness.ts';
import { inCatalog, lakeFor } from './lake-for.ts';

const folder = temporaryFolder();
const failures: unknown[] = [];
let a: Engine;
let b: Engine;
let context: MaintenanceContext;
let data: string;
let closing: (() => Promise<unknown>)[];

beforeAll(async () => {
  const { lake, file } = await lakeFor(folder.file);
  const place = {
    catalog: lakeCatalogOf(lake.catalog),
    data: lakeDataOf(lake.data),
    extensionFolder: lake.extensionFolder,
    objectStore: lake.objectStore,
    folders: foldersIn(`${file}.folder`),
  };
  data = place.data;
  const client = createCatalogClient(place.catalog.client);
  const locks = createLakeLocks({
    client: place.catalog.client,
    refresh: async () => undefined,
    failed: (error) => error,
  });
  // So that neither node does beside the tests what they do step by step.
  const leading = await new Promise<Leading>((resolve) => {
    const own: Leading = leadOn(
      locks,
      'maintenance',
      async (signal) => {
        resolve(own);
        await once(signal, 'abort');
      },
      (error) => failures.push(error),
    );
  });
  [a, b] = [await openSmall(folder.file), await openSmall(folder.file)];
  await createDocs(a);
  await b.refresh();
  const log = { info: () => undefined, warn: (what: object) => failures.push(what), error: () => undefined };
  const limits = { threads: 2, memoryBytes: 2 ** 29, tempBytesMax: 2 ** 30 } as Parameters<
    typeof LakeStore.open
  >[0]['limits'];
  const store = await LakeStore.open({
    place,
    limits,
    log,
    client,
    node: 'maintenance',
    held: () => locks.held(),
    fits: async () => true,
  });
  const opened: MaintenanceContext['opened'] = (work) => onLakeOpened(place, limits, work);
  context = { client, locks, log, opened, transaction: (work, options) => store.transaction(work, options) };
  closing = [() => leading.stop(), () => store.close(), () => locks.close(), () => client.close()];
});

afterAll(async () => {
  for (const close of closing) await close();
  await a.close();
  await b.close();
  folder.dispose();
});

const files = async () => {
  const [row] = await inCatalog(
    folder.file,
    `SELECT count(*) AS n FROM ${CATALOG_SCHEMA}.ducklake_data_file f JOIN ${CATALOG_SCHEMA}.ducklake_table t USING (table_id)
     WHERE f.end_snapshot IS NULL AND t.end_snapshot IS NULL AND t.table_name = 't'`,
  );
  return Number(row?.['n']);
};

test('many small files become few while four write, and nothing is lost', async () => {
  const stopping = new AbortController();
  const longest: number[] = [];
  const written = new Map<string, number>();
  const writers = [a, b, a, b].map(async (engine, writer) => {
    for (let n = 0; n < 30; n++) {
      const startedAt = performance.now();
      const id = `${writer}-${n % 20}`;
      await engine.addDocuments('t', [doc(id, { n, o: { text: `it's ${n}`, at: [n] } })]);
      written.set(id, n);
      longest.push(performance.now() - startedAt);
    }
  });
  let isDone = false;
  const tidying = (async () => {
    while (!isDone) await tidy(context, stopping.signal, { quietSecs: 0 });
  })();
  await Promise.all(writers);
  isDone = true;
  await tidying;
  for (let round = 0; round < 4; round++) await tidy(context, stopping.signal, { quietSecs: 0 });
  process.stdout.write(
    `the longest of ${longest.length} writes: ${Math.max(...longest).toFixed(0)} ms; files left: ${await files()}\n`,
  );
  expect(failures).toEqual([]);
  expect(await files()).toBeLessThan(25);
  for (const engine of [a, b]) {
    await engine.refresh();
    const rows = await rowsOf(engine, 'SELECT _id, n, o.text, o.at FROM docs ORDER BY _id');
    expect(rows).toEqual([...written].sort(([x], [y]) => (x < y ? -1 : 1)).map(([id, n]) => [id, n, `it's ${n}`, [n]]));
    expect((await engine.stats('t')).docCount).toBe(80);
  }
  await a.changeDocuments('t', ['0-1', '1-1'], (document) => ({ ...document, n: -1 }));
  expect(await a.deleteDocuments('t', ['0-1', '1-1', '2-1'])).toBe(3);
});

const aside = Array.from({ length: 20 }, (_, n) => `aside-${n} ${n}`);

test.each([
  ['adds rows', 1, [...aside, 'beside-1 1'], () => a.addDocuments('t', [doc('beside-1', { n: 1 })])],
  [
    'adds a field',
    1,
    [...aside, 'beside-1 1', 'beside-2 2'],
    () => a.addDocuments('t', [doc('beside-2', { n: 2, more: 'x' })]),
  ],
  [
    'deletes rows of them',
    2,
    [...aside.filter((one) => one !== 'aside-3 3'), 'beside-2 2'],
    () => a.deleteDocuments('t', ['beside-1', 'aside-3']),
  ],
])('who %s while files are put together does not wait, and nothing is lost', async (_, tries, left, write) => {
  for (let n = 0; n < 20; n++) await a.addDocuments('t', [doc(`aside-${n}`, { n })]);
  const before = await files();
  let calls = 0;
  const transaction: MaintenanceContext['transaction'] = (work, options) =>
    context.transaction(async (sql) => {
      let isOfTable = false;
      const noted: typeof sql = Object.assign((text: string, ...values: DuckDBValue[]) => {
        isOfTable = text.includes("'t'") && text.includes('merge_adjacent');
        return sql(text, ...values);
      }, sql);
      const rows = await work(noted);
      if (isOfTable && calls++ === 0) await write();
      return rows;
    }, options);
  await tidy({ ...context, transaction }, new AbortController().signal, { quietSecs: 0 });
  expect(failures).toEqual([]);
  expect(calls).toBe(tries);
  expect(await files()).toBeLessThan(before - 10);
  await b.refresh();
  const ids = (await rowsOf(b, "SELECT _id, n FROM docs WHERE _id LIKE '%side%'")).map(([id, n]) => `${id} ${n}`);
  expect(ids.sort()).toEqual([...left].sort());
});

test('what fails is told and tried once more with the next look, and what another has done meanwhile is not done again', async () => {
  for (let n = 0; n < 20; n++) await a.addDocuments('t', [doc(`failing-${n}`, { n })]);
  const before = await files();
  const inVain = new Map<string, string>();
  let calls = 0;
  const tidyWith = (failing: (call: () => Promise<unknown>) => Promise<void>) => {
    const transaction: MaintenanceContext['transaction'] = (work, options) =>
      context.transaction(async (sql) => {
        let isOfTable = false;
        const noted: typeof sql = Object.assign((text: string, ...values: DuckDBValue[]) => {
          isOfTable = text.includes("'t'");
          return sql(text, ...values);
        }, sql);
        const rows = await work(noted);
        if (isOfTable) calls += 1;
        if (isOfTable) await failing(() => tidy(context, new AbortController().signal, { quietSecs: 0 }));
        return rows;
      }, options);
    return tidy({ ...context, transaction }, new AbortController().signal, { quietSecs: 0, inVain });
  };
  await tidyWith(async () => {
    throw new Error('the store is away');
  });
  expect([calls, failures.splice(0).length, inVain.has('t merge')]).toEqual([1, 1, false]);
  await tidyWith(async (other) => void (await other()));
  expect([calls, failures]).toEqual([2, []]);
  await tidy(context, new AbortController().signal, { quietSecs: 0 });
  expect(await files()).toBeLessThan(before - 10);
});

test('what is deleted for the most part is written anew', async () => {
  await a.addDocuments(
    't',
    Array.from({ length: 400 }, (_, n) => doc(`many-${n}`, { n })),
  );
  await a.deleteDocuments(
    't',
    Array.from({ length: 390 }, (_, n) => `many-${n}`),
  );
  const hollow = async () => {
    const [row] = await inCatalog(
      folder.file,
      `SELECT coalesce(sum(delete_count), 0) AS n FROM ${CATALOG_SCHEMA}.ducklake_delete_file WHERE end_snapshot IS NULL`,
    );
    return Number(row?.['n']);
  };
  expect(await hollow()).toBeGreaterThanOrEqual(390);
  for (let round = 0; round < 3; round++) await tidy(context, new AbortController().signal);
  expect(failures).toEqual([]);
  expect(await hollow()).toBeLessThan(50);
  await b.refresh();
  expect(await rowsOf(b, "SELECT count(*) FROM docs WHERE _id LIKE 'many-%'")).toEqual([[10]]);
});

test('small files of which a little is deleted become few, too', async () => {
  const ids = (batch: number) => Array.from({ length: 40 }, (_, n) => `holed-${batch}-${n}`);
  for (let batch = 0; batch < 20; batch++) {
    await a.addDocuments(
      't',
      ids(batch).map((id, n) => doc(id, { n })),
    );
    await a.deleteDocuments('t', ids(batch).slice(0, 2));
  }
  expect(await files()).toBeGreaterThan(19);
  for (let round = 0; round < 6; round++) await tidy(context, new AbortController().signal, { quietSecs: 0 });
  expect(failures).toEqual([]);
  expect(await files()).toBeLessThan(18);
  await b.refresh();
  expect(await rowsOf(b, "SELECT count(*), sum(n) FROM docs WHERE _id LIKE 'holed-%'")).toEqual([[20 * 38, 20 * 779]]);
});

/** Rows of metadata in the catalog that were deleted, but for what the last snapshot deleted. */
async function deadRows(): Promise<number> {
  const names = await inCatalog(folder.file, `SELECT table_name FROM ${CATALOG_SCHEMA}.ducklake_inlined_data_tables`);
  const last = `(SELECT max(snapshot_id) FROM ${CATALOG_SCHEMA}.ducklake_snapshot)`;
  const counts = names.map(
    ({ table_name: name }) => `SELECT count(*) AS n FROM ${CATALOG_SCHEMA}."${name}" WHERE end_snapshot < ${last}`,
  );
  const [sum] = await inCatalog(folder.file, `SELECT sum(n) AS n FROM (${counts.join(' UNION ALL ')}) AS counted`);
  return Number(sum?.['n']);
}

test('records that were deleted before snapshots went are forgotten by a node that was away', async () => {
  const told: string[] = [];
  const known = new Set<string>();
  b.onRecords((changes, isAll) => {
    if (isAll) known.clear();
    for (const change of changes) {
      told.push(change.do);
      if (change.do === 'putRecord') known.add(change.key);
      else known.delete(change.key);
    }
  });
  await a.commit(['one', 'two'].map((key) => ({ do: 'putRecord', kind: 'x', key, value: {} })));
  await b.refresh();
  expect([...known].sort()).toEqual(['one', 'two']);
  await a.commit([{ do: 'deleteRecord', kind: 'x', key: 'one' }]);
  await a.commit([{ do: 'putRecord', kind: 'x', key: 'three', value: {} }]);
  await a.addDocuments('t', [doc('last', { n: 1 })]);
  expect(await deadRows()).toBeGreaterThan(0);
  await expire(context, { orphans: true, kept: "INTERVAL '0 seconds'" });
  expect(failures).toEqual([]);
  const [left] = await inCatalog(folder.file, `SELECT count(*) AS n FROM ${CATALOG_SCHEMA}.ducklake_snapshot`);
  expect(Number(left?.['n'])).toBeLessThan(4);
  expect(await deadRows()).toBe(0);
  await b.refresh();
  expect([...known].sort()).toEqual(['three', 'two']);
  expect(await rowsOf(b, "SELECT n FROM docs WHERE _id = 'last'")).toEqual([[1]]);
});

test('files of tables that no row names go, and none if others have theirs there, too', async () => {
  const name = (n: number) => `_data/c_0123456789abcdef/ducklake-01890000-0000-7000-8000-00000000000${n}.parquet`;
  const put = (path: string) =>
    context.opened(async (sql) => void (await sql(`COPY (SELECT 1 AS a) TO '${data}${path}' (FORMAT parquet)`)));
  const left = async () => {
    let files: string[] = [];
    await context.opened(async (sql) => {
      const found = await sql(`SELECT file FROM glob('${data}**/ducklake-01890000-*.parquet') ORDER BY 1`);
      files = found.map(([file]) => String(file).slice(data.length));
    });
    return files;
  };
  const everything = { orphans: true, orphaned: "INTERVAL '0 seconds'" };
  await put(name(1));
  expect(await left()).toEqual([name(1)]);
  await expire(context, everything);
  expect([await left(), failures]).toEqual([[], []]);
  await put(name(2));
  await put(`test/${name(3)}`);
  await expire(context, everything);
  expect(await left()).toEqual([name(2), `test/${name(3)}`]);
  expect(failures).toEqual([{ file: `${data}test/${name(3)}` }]);
});
