import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { hashOf, IS_LIVE } from '../../src/engine/duckdb/tables/columns.ts';

/**
 * Opens a copy of a database that nobody has open, and checks what no query shows. Returns what is wrong: ids that
 * exist twice, hashes that do not match their ids, and deleted rows that nothing in the trash stands for.
 */
export async function lookInside(folder: string, copy: string): Promise<string[]> {
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.startsWith('_colloquy.duckdb')) cpSync(join(folder, name), join(copy, name));
  }
  const instance = await DuckDBInstance.create(':memory:', { threads: '2', memory_limit: '1GB' });
  const connection = await instance.connect();
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRows();
  const wrong: string[] = [];
  try {
    await connection.run(`ATTACH '${join(copy, '_colloquy.duckdb')}' AS "_colloquy"`);
    await connection.run('USE "_colloquy"');
    for (const [id, name] of await rows('SELECT id, name FROM "_meta"."tables"')) {
      const [row] = await rows(
        `SELECT count(*) FILTER (${IS_LIVE}) - count(DISTINCT "_id") FILTER (${IS_LIVE}),
           count(*) FILTER ("_meta" IS NULL OR (${IS_LIVE} AND "_meta" <> ${hashOf('"_id"')})),
           count(*) FILTER (NOT ${IS_LIVE} AND "_meta" NOT IN (SELECT number FROM "_meta"."trash" WHERE table_id = '${id}'))
         FROM "_data"."${id}"`,
      );
      if (Number(row?.[0]) !== 0) wrong.push(`${row?.[0]} ids of ${name} (table ${id}) are there twice`);
      if (Number(row?.[1]) !== 0) wrong.push(`${row?.[1]} hashes of ${name} (table ${id}) are not those of the ids`);
      if (Number(row?.[2]) !== 0)
        wrong.push(`${row?.[2]} rows of ${name} (table ${id}) are of no deletion in the trash`);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(copy, { recursive: true, force: true });
  }
  return wrong;
}
