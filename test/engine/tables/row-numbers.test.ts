import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptStatements, sqlOn } from '../../../src/engine/duckdb/connections/writer.ts';
import { newTable } from '../../../src/engine/duckdb/tables/catalog.ts';
import { hashOf } from '../../../src/engine/duckdb/tables/columns.ts';
import { deleteRows, findRows } from '../../../src/engine/duckdb/tables/find-rows.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  folder.dispose();
});

/** Four pieces of a table, as the engine divides it; the first is deleted, so that a checkpoint moves the others. */
const PIECE = 122_880;
const DOCUMENTS = 4 * PIECE;

test('a write that finds other documents at the places of its own, which a checkpoint moved, is undone', {
  timeout: 120_000,
}, async () => {
  const engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.addDocuments('t', [doc('first', {})]);
  await engine.close();

  const instance = await DuckDBInstance.create(':memory:');
  const [writer, other] = [await instance.connect(), await instance.connect()];
  const sql = sqlOn(writer, new KeptStatements());
  try {
    await sql(`ATTACH '${folder.file}' AS "_colloquy"`);
    await sql(`INSERT INTO "_colloquy"."_data"."t" ("_id", "_event_time", "_meta")
      SELECT 'a' || i, now(), ${hashOf("'a' || i")} FROM range(${DOCUMENTS}) t(i)`);
    await sql('CHECKPOINT "_colloquy"');
    await sql(`DELETE FROM "_colloquy"."_data"."t" WHERE rowid < ${PIECE}`);

    const ids = [`a${PIECE}`, `a${2 * PIECE}`, `a${DOCUMENTS - 1}`];
    const table = newTable({ id: 't', workspace: 'commons', name: 'docs', retentionSecs: null });
    await sql('BEGIN TRANSACTION');
    const rows = await findRows(sql, table, ids);
    expect(rows.map(({ id }) => id).sort()).toEqual([...ids].sort());
    await other.run('CHECKPOINT "_colloquy"');
    await expect(deleteRows(sql, table, rows)).rejects.toThrow(/of 3 documents/);
    await sql('ROLLBACK');

    const count = `SELECT count(*) FROM "_colloquy"."_data"."t"`;
    const [[left], [found]] = [
      (await sql(count))[0] ?? [],
      (await sql(`${count} WHERE "_id" IN ('${ids.join("','")}')`))[0] ?? [],
    ];
    expect(found).toBe(BigInt(ids.length));
    expect(left).toBe(BigInt(DOCUMENTS + 1 - PIECE));
  } finally {
    writer.closeSync();
    other.closeSync();
    instance.closeSync();
  }
});
