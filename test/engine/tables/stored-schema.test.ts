import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { doc, openSmall, readBack, temporaryFolder } from '../harness.ts';
import { runOnFile } from '../raw-file.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  folder.dispose();
});

const onFile = (statements: readonly string[]) => runOnFile(folder.file, statements);
const versions = () => onFile(['SELECT version FROM "_meta"."versions" ORDER BY version']);
const tables = () => onFile(['SELECT table_name FROM duckdb_tables() ORDER BY ALL']);

const VERSIONS = [
  'CREATE SCHEMA "commons"',
  'CREATE SCHEMA "_meta"',
  'CREATE TABLE "_meta"."versions" (version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE)',
];

test('an empty file gets the tables of the version that it is then of: who changes one raises that', async () => {
  await (await openSmall(folder.file)).close();
  const columns = `SELECT table_name, string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_index)
    FROM duckdb_columns() WHERE schema_name = '_meta' AND table_name <> 'log_marks' GROUP BY 1 ORDER BY 1`;
  expect(await onFile([columns])).toEqual([
    ['aliases', 'workspace VARCHAR, name VARCHAR, tables JSON'],
    ['memory', 'table_id VARCHAR, source INTEGER, key VARCHAR, value VARCHAR'],
    ['records', 'kind VARCHAR, key VARCHAR, value JSON'],
    ['tables', 'id VARCHAR, workspace VARCHAR, name VARCHAR, shape JSON, retention_secs BIGINT, trashed BOOLEAN'],
    ['trash', 'id VARCHAR, shape JSON, table_id VARCHAR, number UBIGINT'],
    [
      'trash_documents',
      'trash VARCHAR, id VARCHAR, event_time TIMESTAMP WITH TIME ZONE, fields JSON, extra JSON, bytes BIGINT, strays JSON',
    ],
    ['versions', 'version INTEGER, migrated_at TIMESTAMP WITH TIME ZONE'],
    ['workspaces', 'name VARCHAR'],
  ]);
  expect(await versions()).toEqual([[11]]);
});

test('a file in which each version so far has left its number is opened', async () => {
  const engine = await openSmall(folder.file);
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]);
  await engine.addDocuments('t', [doc('a', { n: 1 })]);
  await engine.close();
  const all = Array.from({ length: 10 }, (_, index) => `(${index + 1}, now())`).join();
  await onFile([`INSERT INTO "_meta"."versions" VALUES ${all}`]);
  const again = await openSmall(folder.file);
  expect(await readBack(again, 't', ['a'])).toEqual([{ n: 1 }]);
  await again.close();
});

test.each([
  [12, /its schema version is 12, and this program reads 11: a newer version wrote it\. Install a newer colloquy\./],
  [10, /its schema version is 10, .* a development version .* wrote it\. Export its documents with that one/],
])('a file of version %d is refused, and left as it is', async (version, why) => {
  await onFile([...VERSIONS, `INSERT INTO "_meta"."versions" VALUES (1, now()), (${version}, now())`]);
  const before = readFileSync(folder.file);
  await expect(openSmall(folder.file)).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringMatching(why),
  });
  expect(readFileSync(folder.file).equals(before)).toBe(true);
  expect(existsSync(`${folder.file}.wal`)).toBe(false);
});

test('nothing is left of tables that fail halfway, and the next start makes them', async () => {
  // The table that the third statement creates is already there.
  await onFile([...VERSIONS, 'CREATE TABLE "_meta"."workspaces" (other INTEGER)']);
  await expect(openSmall(folder.file)).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringMatching(
      /^Cannot open the database ".*": Catalog Error: Table with name "workspaces" already exists/,
    ),
  });
  expect(await tables()).toEqual([['versions'], ['workspaces']]);
  expect(await versions()).toEqual([]);
  await onFile(['DROP TABLE "_meta"."workspaces"']);
  await (await openSmall(folder.file)).close();
  expect(await versions()).toEqual([[11]]);
});
