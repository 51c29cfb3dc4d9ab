import { DuckDBInstance } from '@duckdb/node-api';
import { COLUMNS } from './documents.ts';

export interface Baseline {
  run(sql: string): Promise<unknown[][]>;
  close(): void;
}

/** DuckDB alone, on a file of its own, in this process. */
export async function openBaseline(file: string): Promise<Baseline> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  return {
    run: async (sql) => (await connection.runAndReadAll(sql)).getRowsJson(),
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** SQL that loads a file of JSON lines into columns declared by hand. */
export function loadSql(table: string, file: string): string {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name}: '${type}'`);
  return `CREATE TABLE ${table} AS SELECT * FROM read_json('${file}', format='newline_delimited', columns={${columns.join(', ')}})`;
}
