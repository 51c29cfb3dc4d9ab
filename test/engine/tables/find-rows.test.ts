import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hashOf } from '../../../src/engine/duckdb/tables/columns.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { columnsOf, createDocs, doc, openSmall, readBack, rowsOf, statusesOf, temporaryFolder } from '../harness.ts';

let engine: Engine;
let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

test('the hash of an id is nothing that SQL can see, and no field is mistaken for it', async () => {
  await engine.addDocuments('t', [doc('a', { _meta: 1, _META: 2, n: 3 })]);
  await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'also', tables: ['t'] }]);
  for (const name of ['docs', 'also']) {
    expect(await columnsOf(engine, name)).toEqual([
      '_id VARCHAR',
      '_event_time TIMESTAMP WITH TIME ZONE',
      'n BIGINT',
      '_extra JSON',
    ]);
    for (const sql of [
      `SELECT _meta FROM ${name}`,
      `SELECT x._meta FROM ${name} x`,
      `SELECT COLUMNS('_meta') FROM ${name}`,
      `SELECT 1 FROM ${name} WHERE _meta > 0`,
      `SELECT rowid FROM ${name}`,
    ]) {
      await expect(engine.query({ sql })).rejects.toMatchObject({ code: 'query_error' });
    }
    const [[row] = []] = await rowsOf(engine, `SELECT to_json(x)::VARCHAR FROM ${name} x`);
    expect(Object.keys(JSON.parse(String(row)))).toEqual(['_id', '_event_time', 'n', '_extra']);
  }
  expect(await readBack(engine, 't', ['a'])).toEqual([{ _meta: 1, _META: 2, n: 3 }]);
});

test('the hash of an id is the one that is stored in files there are, with its highest bit set', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(
    `SELECT count(*) FILTER (${hashOf('id')} = md5_number_lower(id) | (1::UBIGINT << 63)), any_value(typeof(${hashOf('id')}))
      FROM (SELECT 'id ' || n AS id FROM range(20_000) t(n) UNION ALL VALUES (''), ('é'), ('🎈'), ('a"b\\c'))`,
  );
  expect(reader.getRows()).toEqual([[20_004n, 'UBIGINT']]);
  connection.closeSync();
  instance.closeSync();
});

// These numbers of ids are searched for in different ways, and these numbers of rows are read in different ways.
test.each([1, 2, 49, 50, 51, 200, 201, 5_000])(
  '%i documents are found, changed, replaced and deleted',
  async (count) => {
    const all = Array.from({ length: 6_000 }, (_, n) => n);
    await engine.addDocuments(
      't',
      all.map((n) => doc(`id ${n}`, { n, l: [n] })),
    );
    const step = Math.floor(all.length / count);
    const chosen = Array.from({ length: count }, (_, index) => index * step);
    const ids = chosen.map((n) => `id ${n}`);
    const set = (more: number, fields?: ReadonlySet<string>) =>
      engine.changeDocuments(
        't',
        [...ids, 'none'],
        (document) => ({ ...document, n: Number(document['n']) + more }),
        fields,
      );
    const changed = [...ids.map(() => 'changed'), 'error'];
    expect(statusesOf(await set(10_000, new Set(['n'])))).toEqual(changed);
    expect(statusesOf(await set(20_000))).toEqual(changed);
    expect((await readBack(engine, 't', ids)).map((document) => document?.['n'])).toEqual(
      chosen.map((n) => n + 30_000),
    );
    const counts = 'SELECT count(*), count(DISTINCT _id), count(*) FILTER (n >= 30000), sum(l[1]) FROM docs';
    const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
    expect(await rowsOf(engine, counts)).toEqual([[6_000, 6_000, count, sum(all)]]);
    const replaced = await engine.addDocuments(
      't',
      chosen.map((n) => doc(`id ${n}`, { n: -1, l: [n] })),
    );
    expect(replaced.every(({ status }) => status === 'replaced')).toBe(true);
    expect(await rowsOf(engine, counts)).toEqual([[6_000, 6_000, 0, sum(all)]]);
    const keep = { trash: 'k', record: () => ({ do: 'putRecord', kind: 'trash', key: 'k', value: {} }) as const };
    expect(await engine.deleteDocuments('t', [...ids, 'none'], keep)).toBe(ids.length);
    const left = sum(all) - sum(chosen);
    expect(await rowsOf(engine, counts)).toEqual([[6_000 - count, 6_000 - count, 0, left]]);
    expect(await engine.restoreDocuments('k', 't', () => [])).toMatchObject({ docCount: count });
    expect(await rowsOf(engine, counts)).toEqual([[6_000, 6_000, 0, sum(all)]]);
  },
);
