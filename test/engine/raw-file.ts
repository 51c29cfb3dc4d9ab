import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** Runs statements on a database file that nobody has open, one transaction each; returns the rows of the last. */
export async function runOnFile(file: string, statements: readonly string[]): Promise<unknown[][]> {
  mkdirSync(dirname(file), { recursive: true });
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
    await connection.run(`ATTACH '${file}' AS "_colloquy"`);
    await connection.run('USE "_colloquy"');
    let rows: unknown[][] = [];
    for (const statement of statements) rows = (await connection.runAndReadAll(statement)).getRowsJson();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
