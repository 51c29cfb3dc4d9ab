import { cpSync, existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Run } from '../../../src/engine/duckdb/connections/writer.ts';
import { migrate } from '../../../src/engine/duckdb/tables/migrations.ts';
import { MORE, someOf } from '../../long.ts';
import { doc, openSmall, readBack, rowsOf, temporaryFolder } from '../harness.ts';
import { runOnFile } from '../raw-file.ts';

// What earlier versions wrote, exactly. Never change a line of it: such files exist.

const VERSION_1 = [
  'CREATE SCHEMA IF NOT EXISTS "commons"',
  'CREATE SCHEMA IF NOT EXISTS "_meta"',
  'CREATE TABLE IF NOT EXISTS "_meta"."versions" (version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE)',
  'CREATE SCHEMA "_data"',
  'CREATE TABLE "_meta"."records" (kind VARCHAR, key VARCHAR, value JSON)',
  'CREATE TABLE "_meta"."workspaces" (name VARCHAR)',
  'CREATE TABLE "_meta"."tables" (id VARCHAR, workspace VARCHAR, name VARCHAR, shape JSON)',
  'INSERT INTO "_meta"."versions" VALUES (1, now())',
];

const VERSION_2 = [
  'ALTER TABLE "_meta"."tables" ADD COLUMN retention_secs BIGINT',
  'INSERT INTO "_meta"."versions" VALUES (2, now())',
];

const VERSION_3 = [
  'CREATE TABLE "_meta"."aliases" (workspace VARCHAR, name VARCHAR, tables JSON)',
  'INSERT INTO "_meta"."versions" VALUES (3, now())',
];

const VERSION_4 = [
  'ALTER TABLE "_meta"."tables" ADD COLUMN trashed BOOLEAN',
  'CREATE TABLE "_meta"."trash" (id VARCHAR, shape JSON)',
  'CREATE TABLE "_meta"."trash_documents" (trash VARCHAR, id VARCHAR, event_time TIMESTAMP WITH TIME ZONE, fields JSON, extra JSON, bytes BIGINT)',
  'INSERT INTO "_meta"."versions" VALUES (4, now())',
];

const VERSION_5 = ['INSERT INTO "_meta"."versions" VALUES (5, now())'];

const SHAPE =
  '{"columns":[["n","int53"],["big","int64"],["tags",{"list":"string"}],["place",{"object":[["city","string"]]}],["odd","json"]],"extra":true}';

const CONTENTS = [
  `INSERT INTO "_meta"."workspaces" VALUES ('commons'), ('my.child'), ('main')`,
  'CREATE SCHEMA "my.child"',
  'CREATE SCHEMA "_main"',
  `INSERT INTO "_meta"."records" VALUES
     ('workspace', 'commons', '{"name":"commons","n":9007199254740993}'), ('k', 'ü', '{"s":"it''s"}')`,
  `CREATE TABLE "_data"."c_1" ("_id" VARCHAR NOT NULL, "_event_time" TIMESTAMP WITH TIME ZONE NOT NULL)`,
  'ALTER TABLE "_data"."c_1" ADD COLUMN "n" BIGINT',
  'ALTER TABLE "_data"."c_1" ADD COLUMN "big" BIGINT',
  'ALTER TABLE "_data"."c_1" ADD COLUMN "tags" VARCHAR[]',
  'ALTER TABLE "_data"."c_1" ADD COLUMN "place" STRUCT("city" VARCHAR)',
  'ALTER TABLE "_data"."c_1" ADD COLUMN "odd" JSON',
  'ALTER TABLE "_data"."c_1" ADD COLUMN "_extra" JSON',
  `INSERT INTO "_data"."c_1" VALUES
     ('a', '2020-01-02 03:04:05.678901+00', 1, 9007199254740993, ['x', 'y'], {'city': 'Ulm'}, '"text"', '{"":5}'),
     ('b', '2021-01-01 00:00:00+00', NULL, NULL, NULL, NULL, '[1,2]', NULL)`,
  `CREATE OR REPLACE VIEW "commons"."docs" AS
     SELECT "_id", "_event_time", "n", "big", "tags", "place", "odd", "_extra" FROM "_colloquy"."_data"."c_1"`,
  `CREATE TABLE "_data"."c_2" ("_id" VARCHAR NOT NULL, "_event_time" TIMESTAMP WITH TIME ZONE NOT NULL)`,
  `CREATE OR REPLACE VIEW "my.child"."empty" AS SELECT "_id", "_event_time" FROM "_colloquy"."_data"."c_2"`,
];

const TABLES = `('c_1', 'commons', 'docs', '${SHAPE}'), ('c_2', 'my.child', 'empty', '{"columns":[],"extra":false}')`;
const TABLES_1 = [`INSERT INTO "_meta"."tables" (id, workspace, name, shape) VALUES ${TABLES}`];
const TABLES_2 = [
  ...TABLES_1,
  // With a retention of an hour: its first document is long past it.
  `INSERT INTO "_meta"."tables" VALUES ('c_3', 'commons', 'short', '{"columns":[],"extra":false}', 3600)`,
  `CREATE TABLE "_data"."c_3" ("_id" VARCHAR NOT NULL, "_event_time" TIMESTAMP WITH TIME ZONE NOT NULL)`,
  `INSERT INTO "_data"."c_3" VALUES ('old', '2020-01-01 00:00:00+00'), ('new', '2999-01-01 00:00:00+00')`,
  `CREATE OR REPLACE VIEW "commons"."short" AS SELECT "_id", "_event_time" FROM "_colloquy"."_data"."c_3"
     WHERE "_event_time" > now() - INTERVAL 3600 SECOND`,
];
const ALIASES_3 = [
  `INSERT INTO "_meta"."aliases" VALUES ('my.child', 'all', '["c_1"]')`,
  `CREATE OR REPLACE VIEW "my.child"."all" AS
     SELECT "_id", "_event_time", "n", "big", "tags", "place", "odd", "_extra" FROM "_colloquy"."commons"."docs"`,
];
// A collection in the trash, and two deleted documents of one that is not.
const TRASH_4 = [
  `INSERT INTO "_meta"."tables" VALUES ('c_4', 'commons', 'gone', '{"columns":[["n","int53"]],"extra":false}', NULL, true)`,
  `CREATE TABLE "_data"."c_4" ("_id" VARCHAR NOT NULL, "_event_time" TIMESTAMP WITH TIME ZONE NOT NULL, "n" BIGINT)`,
  `INSERT INTO "_data"."c_4" VALUES ('g', '2020-01-01 00:00:00+00', 7)`,
  `INSERT INTO "_meta"."trash" VALUES ('k_1', '${SHAPE}')`,
  `INSERT INTO "_meta"."trash_documents" VALUES
     ('k_1', 'x', '2020-01-02 03:04:05.678901+00', '{"n":5,"big":null,"tags":null,"place":{"city":null},"odd":{"kept":null}}', '{"":1}', 70),
     ('k_1', 'y', '2021-01-01 00:00:00+00', '{"n":null,"big":9007199254740993,"tags":["z"],"place":null,"odd":null}', NULL, 60)`,
];

const HASHES_5 = ['c_1', 'c_2', 'c_3', 'c_4'].flatMap((id) => [
  `ALTER TABLE "_data"."${id}" ADD COLUMN "_meta" UBIGINT`,
  `ALTER TABLE "_data"."${id}" ALTER COLUMN "_meta" SET DATA TYPE UBIGINT USING (md5_number("_id") >> 64)::UBIGINT`,
]);

const FILES: readonly (readonly [string, readonly string[]])[] = [
  ['version 1', [...VERSION_1, ...CONTENTS, ...TABLES_1]],
  ['version 1, opened by version 2', [...VERSION_1, ...CONTENTS, ...TABLES_1, ...VERSION_2]],
  ['version 2', [...VERSION_1, ...VERSION_2, ...CONTENTS, ...TABLES_2]],
  ['version 3', [...VERSION_1, ...VERSION_2, ...VERSION_3, ...CONTENTS, ...TABLES_2, ...ALIASES_3]],
  [
    'version 4',
    [...VERSION_1, ...VERSION_2, ...VERSION_3, ...CONTENTS, ...TABLES_2, ...ALIASES_3, ...VERSION_4, ...TRASH_4],
  ],
  [
    'version 5',
    [
      ...VERSION_1,
      ...VERSION_2,
      ...VERSION_3,
      ...CONTENTS,
      ...TABLES_2,
      ...ALIASES_3,
      ...VERSION_4,
      ...TRASH_4,
      ...HASHES_5,
      ...VERSION_5,
    ],
  ],
];

const hasTrash = (name: string) => name === 'version 4' || name === 'version 5';
const hasAlias = (name: string) => name === 'version 3' || hasTrash(name);
const hasRetention = (name: string) => name === 'version 2' || hasAlias(name);

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  folder.dispose();
});

const onFile = (statements: readonly string[], file = folder.file) => runOnFile(file, statements);

const VERSIONS = 'SELECT version FROM "_meta"."versions" ORDER BY version';
const versions = () => onFile([VERSIONS]);
const versionsOf = (file: string) => onFile([VERSIONS], file);

describe.each(FILES)('a file of %s', (name, statements) => {
  test('is opened with all that it holds', async () => {
    await onFile(statements);
    const engine = await openSmall(folder.file);
    expect(engine.records).toEqual([
      { kind: 'workspace', key: 'commons', value: { name: 'commons', n: 2n ** 53n + 1n } },
      { kind: 'k', key: 'ü', value: { s: "it's" } },
    ]);
    expect(await readBack(engine, 'c_1', ['a', 'b', 'c'])).toEqual([
      { n: 1, big: 2n ** 53n + 1n, tags: ['x', 'y'], place: { city: 'Ulm' }, odd: 'text', '': 5 },
      { odd: [1, 2] },
      undefined,
    ]);
    expect(await rowsOf(engine, 'SELECT _id, n, place.city, epoch_us(_event_time) FROM docs ORDER BY _id')).toEqual([
      ['a', 1, 'Ulm', expect.anything()],
      ['b', null, null, expect.anything()],
    ]);
    expect(
      await rowsOf(engine, `SELECT count(*) FROM docs WHERE _event_time = '2020-01-02 03:04:05.678901+00'`),
    ).toEqual([[1]]);
    expect(await rowsOf(engine, 'SELECT count(*) FROM "my.child"."empty"')).toEqual([[0]]);
    if (hasRetention(name)) {
      expect(await rowsOf(engine, 'SELECT _id FROM short')).toEqual([['new']]);
      expect((await engine.stats('c_3')).docCount).toBe(1);
    }
    if (hasAlias(name)) expect(await rowsOf(engine, 'SELECT count(*) FROM "my.child"."all"')).toEqual([[2]]);
    await engine.close();
  });

  test('keeps documents of any age, takes new ones, and can be given all that is new', async () => {
    await onFile(statements);
    const engine = await openSmall(folder.file);
    await engine.purge('c_1', Date.now());
    expect((await engine.stats('c_1')).docCount).toBe(2);
    // Wider documents than before: the table, its view and the views of its aliases change.
    await engine.addDocuments('c_1', [doc('a', { n: 'two', more: true }), doc('c', { n: 2.5 })]);
    await engine.addDocuments('c_2', [doc('d', { n: 3 })]);
    await engine.commit([
      { do: 'createCollection', table: 'c_9', workspace: 'main', name: 'kept', retentionSecs: 3_600 },
      { do: 'putAlias', workspace: 'commons', name: 'both', tables: ['c_1', 'c_2'] },
      { do: 'putRecord', kind: 'k', key: 'ü', value: { s: 'new' } },
    ]);
    await engine.addDocuments('c_9', [doc('old', {}, 0n), doc('now', {})]);
    await engine.close();

    const again = await openSmall(folder.file);
    expect(await rowsOf(again, 'SELECT _id, n FROM "both" ORDER BY _id')).toEqual([
      ['a', 'two'],
      ['b', null],
      ['c', 2.5],
      ['d', 3],
    ]);
    expect(await rowsOf(again, 'SELECT _id FROM "main"."kept"')).toEqual([['now']]);
    expect(again.records.find(({ key }) => key === 'ü')?.value).toEqual({ s: 'new' });
    if (hasAlias(name)) expect(await rowsOf(again, 'SELECT count(more) FROM "my.child"."all"')).toEqual([[1]]);
    if (hasTrash(name)) {
      await again.commit([{ do: 'restoreCollection', table: 'c_4' }]);
      expect(await rowsOf(again, 'SELECT _id, n FROM gone')).toEqual([['g', 7]]);
      expect(await again.restoreDocuments('k_1', 'c_1', () => [])).toMatchObject({ docCount: 2 });
      expect(await readBack(again, 'c_1', ['x', 'y'])).toEqual([
        { n: 5, place: {}, odd: {}, '': 1 },
        { big: 2n ** 53n + 1n, tags: ['z'] },
      ]);
    }
    await again.commit(
      [
        { do: 'dropAlias', workspace: 'commons', name: 'both' },
        { do: 'dropCollection', table: 'c_2' },
        { do: 'dropWorkspace', workspace: hasAlias(name) ? 'unused' : 'my.child' },
      ].filter((change) => change.workspace !== 'unused') as Parameters<typeof again.commit>[0],
    );
    await again.close();
    expect(await versions()).toEqual([[1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11]]);
  });
});

describe('migrate()', () => {
  test('makes of an empty file what it makes of one of the first version', async () => {
    const layout = `SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE schema_name = '_meta' ORDER BY ALL`;
    await (await openSmall(folder.file)).close();
    const fresh = await onFile([layout]);
    folder.dispose();
    await onFile(VERSION_1);
    await (await openSmall(folder.file)).close();
    const migrated = await onFile([layout]);
    expect(migrated).toEqual(fresh);
    expect(fresh.map(([, name]) => name)).toEqual([
      'aliases',
      'log_marks',
      'memory',
      'records',
      'tables',
      'trash',
      'trash_documents',
      'versions',
      'workspaces',
    ]);
  });

  test('refuses a file of a later version, and leaves it as it is', async () => {
    await onFile([
      ...VERSION_1,
      ...CONTENTS,
      ...TABLES_1,
      ...VERSION_2,
      ...VERSION_3,
      ...VERSION_4,
      'ALTER TABLE "_meta"."tables" RENAME COLUMN shape TO form',
      'INSERT INTO "_meta"."versions" VALUES (12, now())',
    ]);
    const before = readFileSync(folder.file);
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(
        /its schema version 12 is newer than 11, the latest that this program knows\. Update this program\./,
      ),
    });
    expect(readFileSync(folder.file).equals(before)).toBe(true);
    expect(existsSync(`${folder.file}.wal`)).toBe(false);
  });

  test('leaves a file as it was where a step fails, and can go on once it does not', async () => {
    // Step 3 finds its table already there: step 2 is done and stays, and nothing of step 3 remains.
    const obstacle = 'CREATE TABLE "_meta"."aliases" (other INTEGER)';
    await onFile([...VERSION_1, ...CONTENTS, ...TABLES_1, obstacle]);
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(
        /^Cannot open the database ".*": Catalog Error: Table with name "aliases" already exists/,
      ),
    });
    expect(await versions()).toEqual([[1], [2]]);
    expect(await onFile(['SELECT count(*), count(retention_secs) FROM "_meta"."tables"'])).toEqual([['2', '0']]);
    expect(await onFile(['SELECT count(*) FROM "commons"."docs"'])).toEqual([['2']]);
    await onFile(['DROP TABLE "_meta"."aliases"']);
    const engine = await openSmall(folder.file);
    expect((await engine.stats('c_1')).docCount).toBe(2);
    await engine.close();
    expect(await versions()).toEqual([[1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11]]);
  });

  test('leaves nothing of a step that fails halfway', async () => {
    // So far only the first version has several statements: the table that its third creates is already there.
    const before = [
      'CREATE SCHEMA "_meta"',
      'CREATE TABLE "_meta"."versions" (version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE)',
      'CREATE TABLE "_meta"."workspaces" (other INTEGER)',
    ];
    await onFile(before);
    await expect(openSmall(folder.file)).rejects.toMatchObject({ code: 'internal' });
    const tables = await onFile(['SELECT table_name FROM duckdb_tables() ORDER BY ALL']);
    expect(tables).toEqual([['versions'], ['workspaces']]);
    expect(await versions()).toEqual([]);
  });
});

/** Opens a copy of the files, and checks that everything is there. */
async function expectWhole(copy: string): Promise<void> {
  const engine = await openSmall(copy);
  try {
    expect(engine.records).toHaveLength(2);
    expect(await readBack(engine, 'c_1', ['a', 'b'])).toEqual([
      { n: 1, big: 2n ** 53n + 1n, tags: ['x', 'y'], place: { city: 'Ulm' }, odd: 'text', '': 5 },
      { odd: [1, 2] },
    ]);
    // Looked up by the hash of the id.
    expect(await rowsOf(engine, `SELECT n FROM docs WHERE _id = 'a'`)).toEqual([[1]]);
    await engine.addDocuments('c_1', [doc('a', { n: 5 })]);
    expect(await rowsOf(engine, 'SELECT count(*), sum(n) FROM docs')).toEqual([[2, 5]]);
  } finally {
    await engine.close();
  }
  expect(await versionsOf(copy)).toEqual([[1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11]]);
}

describe.each(
  someOf(
    FILES.filter(([name]) => name === 'version 1' || name === 'version 5'),
    2,
  ),
)('a service that is killed while it migrates a file of %s', MORE, (_, statements) => {
  const copyOf = (name: string) => join(folder.folder, name, basename(folder.file));

  /** Migrates the file, and leaves the log beside it for `look`; `after` is called after each statement. */
  async function migrated(after: () => void, look: () => Promise<void>): Promise<void> {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const run: Run = async (text, ...values) => {
      const rows = (await connection.runAndReadAll(text, values)).getRows();
      after();
      return rows;
    };
    const sql = Object.assign(run, { again: run });
    try {
      await connection.run(`ATTACH '${folder.file}' AS "_colloquy"`);
      await connection.run('USE "_colloquy"');
      await migrate(async (work) => {
        await sql('BEGIN TRANSACTION');
        const result = await work(sql);
        await sql('COMMIT');
        return result;
      });
      await look();
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  }

  test('after any of the statements: the next one goes on', { timeout: 120_000 }, async () => {
    await onFile(statements);
    const copies: string[] = [];
    let seen = '';
    const copy = () => {
      // A copy of what a kill would leave now, if it differs from that after the previous statement.
      const now = [folder.file, `${folder.file}.wal`]
        .map((path) => (existsSync(path) ? statSync(path).size : 0))
        .join();
      if (now !== seen) copies.push(copyOf(`copy-${copies.length}`));
      if (now !== seen) cpSync(dirname(folder.file), dirname(copies.at(-1) ?? ''), { recursive: true });
      seen = now;
    };
    await migrated(copy, async () => undefined);
    expect(copies.length).toBeGreaterThan(1);
    for (const one of copies) await expectWhole(one);
  });

  test('while the log is written: the next one goes on', { timeout: 120_000 }, async () => {
    await onFile(statements);
    const copies: string[] = [];
    await migrated(
      () => undefined,
      async () => {
        const length = statSync(`${folder.file}.wal`).size;
        for (const share of [0.01, 0.3, 0.6, 0.97]) {
          const copy = copyOf(`cut-${share}`);
          cpSync(dirname(folder.file), dirname(copy), { recursive: true });
          truncateSync(`${copy}.wal`, Math.floor(length * share));
          copies.push(copy);
        }
      },
    );
    for (const copy of copies) await expectWhole(copy);
  });
});
