import { DuckDBInstance } from '@duckdb/node-api';
import type { PlacesContext } from '../../src/engine/duckdb/queries/places.ts';
import { createQueries, type Queries } from '../../src/engine/duckdb/queries/queries.ts';
import { createKnownStatements } from '../../src/engine/duckdb/shortcuts/known-statements.ts';
import { createLookups } from '../../src/engine/duckdb/shortcuts/lookups.ts';
import { createNames, quoteName, quoteText, schemaOf } from '../../src/engine/duckdb/sql/names.ts';
import { hashOf } from '../../src/engine/duckdb/tables/columns.ts';
import type { EngineLimits, GiveUp, QueryOutcome, QueryRequest } from '../../src/engine/engine.ts';

const ORDERS = `SELECT * FROM (VALUES
    ('o1', TIMESTAMPTZ '2026-01-01 10:00:00Z', {'name': 'Ann', 'city': 'Oslo'}, 12.5, ['a', 'b'], 'open', '{"k": 1}'::JSON),
    ('o2', TIMESTAMPTZ '2026-01-02 10:00:00Z', {'name': 'Bob', 'city': 'Rome'}, 7.25, ['b'], 'closed', '[1, 2]'::JSON),
    ('o3', TIMESTAMPTZ '2026-01-03 10:00:00Z', {'name': 'Cy', 'city': NULL}, NULL, [], 'open', NULL)
  ) AS t(_id, _event_time, customer, amount, tags, status, extra)`;

/** Ids that are easily mistaken for something else. */
export const ODD_IDS = [
  '',
  ' ',
  '7',
  '007',
  '7.0',
  'é',
  'e\u0301',
  'A',
  'a',
  "o'k",
  '"',
  '\\',
  '$id',
  '😀',
  'null',
  'x'.repeat(3_000),
];

function oddRows(): string {
  const rows = ODD_IDS.map((id, n) => `(${quoteText(id)}, ${n}, {'odd': {'n': ${n}}, '_id': '7'}, [${n}, ${n % 3}])`);
  return `SELECT * FROM (VALUES ${rows.join(', ')}) t(_id, n, prod, l)`;
}

/** Collections as the storage half lays them out: a table in `_data`, and a view in the workspace's schema. */
const COLLECTIONS: [workspace: string, name: string, columns: string[], query: string][] = [
  ['commons', 'orders', ['_id', '_event_time', 'customer', 'amount', 'tags', 'status', 'extra'], ORDERS],
  [
    'commons',
    'users',
    ['_id', 'name', 'age'],
    `SELECT * FROM (VALUES ('u1', 'Ann', 31), ('u2', 'Bob', 27)) t(_id, name, age)`,
  ],
  [
    'prod',
    'events',
    ['_id', 'kind', 'n'],
    `SELECT i::VARCHAR AS _id, 'k' || (i % 7) AS kind, i AS n FROM range(1000) t(i)`,
  ],
  ['my-ws', 'my-coll', ['_id', 'x'], `SELECT '1' AS _id, 42 AS x`],
  ['a.b', 'coll', ['_id', 'x'], `SELECT '1' AS _id, 43 AS x`],
  ['temp', 'things', ['_id', 'x'], `SELECT '1' AS _id, 44 AS x`],
  ['commons', 'duckdb_settings', ['_id'], `SELECT 'mine' AS _id`],
  ['commons', 'große', ['_id', 'straße'], `SELECT '1' AS _id, 'é' AS "straße"`],
  ['commons', 'odd', ['_id', 'n', 'prod', 'l'], oddRows()],
  ['commons', 'numbers', ['_id', 'n'], `SELECT * FROM (VALUES ('7', 1), ('007', 2), ('8', 3)) t(_id, n)`],
];

export const LIMITS: EngineLimits = {
  queryTimeoutMs: 20_000,
  resultRowsMax: 100_000,
  resultBytesMax: 64 * 1024 * 1024,
  queriesMax: 4,
  queueMax: 64,
  lookupRowsMin: 0,
  memoryBytes: 512 * 1024 * 1024,
  threads: 2,
  tempBytesMax: 1024 * 1024 * 1024,
};

export interface Fixture {
  queries: Queries;
  /** Rows of a statement, as arrays. */
  rows(sql: string, request?: Partial<QueryRequest>): Promise<QueryOutcome['rows']>;
  /** Runs SQL on a connection that bypasses the gate. */
  direct(sql: string): Promise<unknown[][]>;
  close(): Promise<void>;
}

/**
 * The hashes of ids in the tables: correct, wrong (so that no document is found by hash), or not offered to queries.
 */
export type Hashes = 'right' | 'wrong' | 'none';

/** An in-memory DuckDB with handmade collections, and queries over it. */
export async function createFixture(
  limits: Partial<EngineLimits> = {},
  hashes: Hashes = 'right',
  ends: Pick<PlacesContext, 'giveUp' | 'stuckAfterMs'> = {},
): Promise<Fixture> {
  const all = { ...LIMITS, ...limits };
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(all.threads),
    memory_limit: `${Math.floor(all.memoryBytes / 1024 / 1024)}MiB`,
  });
  const admin = await instance.connect();
  const names = createNames();
  await admin.run(`ATTACH ':memory:' AS _colloquy`);
  await admin.run('USE _colloquy');
  await admin.run(
    "SET GLOBAL TimeZone = 'UTC'; SET GLOBAL enable_external_access = false; SET GLOBAL errors_as_json = true; SET GLOBAL lock_configuration = true",
  );
  await admin.run("CREATE SCHEMA _data; CREATE SCHEMA _meta; CREATE TABLE _meta.keys AS SELECT 'secret' AS key");
  for (const workspace of new Set(['commons', 'empty', ...COLLECTIONS.map(([name]) => name)])) {
    names.putWorkspace(workspace);
    await admin.run(`CREATE SCHEMA ${quoteName(schemaOf(workspace))}`);
  }
  const hash = hashes === 'wrong' ? '0::UBIGINT' : hashOf('_id');
  for (const [index, [workspace, name, columns, query]] of COLLECTIONS.entries()) {
    await admin.run(`CREATE TABLE _data.t${index} AS SELECT *, ${hash} AS _meta FROM (${query})`);
    const select = `SELECT * EXCLUDE (_meta) FROM _colloquy._data.t${index}`;
    await admin.run(`CREATE VIEW ${quoteName(schemaOf(workspace))}.${quoteName(name)} AS ${select}`);
    const lookup = {
      rows: (id: string) => `${select} WHERE _meta = ${hashOf(id)}`,
      size: `SELECT count(*) FROM _colloquy._data.t${index}`,
    };
    names.putTable({
      workspace,
      name,
      kind: 'collection',
      columns: () => columns,
      ...(hashes === 'none' ? {} : { lookup }),
    });
  }
  await admin.run('CREATE VIEW commons.recent AS SELECT * FROM commons.orders');
  names.putTable({ workspace: 'commons', name: 'recent', kind: 'alias', columns: () => COLLECTIONS[0]?.[2] ?? [] });

  const connect = async () => {
    const connection = await instance.connect();
    await connection.run('USE _colloquy.commons');
    return connection;
  };
  const giveUp = ({ message }: GiveUp) => {
    throw new Error(message);
  };
  const known = createKnownStatements(names);
  const lookups = createLookups(names, all.lookupRowsMin);
  const memoryBytes = () => all.memoryBytes;
  const queries = createQueries({ connect, names, known, lookups, limits: all, memoryBytes, giveUp, ...ends });
  return {
    queries,
    rows: async (sql, request = {}) => (await queries.query({ ...request, sql })).rows,
    direct: async (sql) => (await admin.runAndReadAll(sql)).getRowsJS(),
    close: async () => {
      await queries.close();
      admin.disconnectSync();
      instance.closeSync();
    },
  };
}
