import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CATALOG_SCHEMA } from '../../src/engine/duckdb/lake/lake-options.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../engine/harness.ts';
import { lakeFor } from './lake-for.ts';

/*
 * What a lake's extensions add to what the engine can be asked for. Below the lake's place the engine may read and write files,
 * so it is the gate alone that keeps statements from them.
 */

const folder = temporaryFolder();
let engine: Engine;
let data: string;

beforeAll(async () => {
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('1', { n: 1 })]);
  data = (await lakeFor(folder.file)).lake.data;
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

/** "PLACE" stands for where the lake's files are. */
const STATEMENTS = [
  "SELECT * FROM read_parquet('PLACE/**')",
  "SELECT * FROM parquet_scan('PLACE/**')",
  "SELECT * FROM parquet_metadata('PLACE/**')",
  "SELECT * FROM glob('PLACE/**')",
  "SELECT * FROM read_blob('PLACE/**')",
  "SELECT * FROM 'PLACE/x.parquet'",
  "COPY (SELECT 1) TO 'PLACE/x.parquet'",
  "SELECT * FROM postgres_query('_colloquy', 'SELECT 1')",
  "CALL postgres_execute('_colloquy', 'SELECT 1')",
  "SELECT * FROM postgres_scan('host=127.0.0.1', 'public', 't')",
  "ATTACH 'host=127.0.0.1' AS other (TYPE postgres)",
  "ATTACH 'ducklake:postgres:host=127.0.0.1' AS other",
  'SELECT * FROM duckdb_secrets()',
  "CREATE SECRET (TYPE s3, KEY_ID 'x')",
  'SELECT * FROM duckdb_databases()',
  'SELECT * FROM duckdb_settings()',
  `SELECT * FROM "__ducklake_metadata__colloquy"."${CATALOG_SCHEMA}"."ducklake_metadata"`,
  `SELECT * FROM ${CATALOG_SCHEMA}.ducklake_snapshot`,
  'SELECT * FROM "_meta"."records"',
  'SELECT * FROM "_data"."t"',
  'SELECT rowid FROM docs',
  'SELECT filename FROM docs',
  'SELECT snapshot_id FROM docs',
  'SELECT * FROM docs AT (VERSION => 1)',
  ...[
    "ducklake_snapshots('_colloquy')",
    "ducklake_table_info('_colloquy')",
    "ducklake_table_changes('_colloquy', 'commons', 'docs', 0, 9)",
    "ducklake_table_insertions('_colloquy', 'commons', 'docs', 0, 9)",
    "ducklake_list_files('_colloquy', 't')",
    "ducklake_options('_colloquy')",
    "ducklake_settings('_colloquy')",
  ].map((call) => `SELECT * FROM ${call}`),
  ...[
    "ducklake_expire_snapshots('_colloquy', older_than => now())",
    "ducklake_cleanup_old_files('_colloquy', cleanup_all => true)",
    "ducklake_delete_orphaned_files('_colloquy', cleanup_all => true)",
    "ducklake_flush_inlined_data('_colloquy')",
    "ducklake_set_option('_colloquy', 'encrypted', true)",
    "ducklake_set_commit_message('_colloquy', 'x', 'y')",
    "ducklake_add_data_files('_colloquy', 't', 'x')",
    "_colloquy.set_option('encrypted', true)",
  ].map((call) => `CALL ${call}`),
  'SELECT pg_clear_cache()',
  "SET s3_access_key_id = 'x'",
  'LOAD httpfs',
];

describe('a statement cannot reach around the collections', () => {
  test.each(STATEMENTS)('%s', async (sql) => {
    await expect(engine.query({ sql: sql.replace('PLACE', data) })).rejects.toMatchObject({
      code: expect.stringMatching(/^(query_error|invalid_input|forbidden)$/),
    });
  });

  test('and all is as before', async () => {
    expect(await rowsOf(engine, 'SELECT _id, n FROM docs')).toEqual([['1', 1]]);
  });
});
