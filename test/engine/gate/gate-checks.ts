import type { Fixture } from '../fixture.ts';

/** Internal names that a text reveals and the statement itself did not contain. */
export function leaked(text: string, sql: string): string[] {
  const names = text.toLowerCase().match(/_colloquy|_data\b|_meta\b|\bt\d+\b|secret|root:x|pg_class|duckdb_\w+/g) ?? [];
  return names.filter((name) => !sql.toLowerCase().includes(name));
}

/** Everything that a statement could have changed. */
export async function stateOf(fixture: Fixture): Promise<string> {
  const parts = [
    'SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL',
    'SELECT database_name, schema_name, table_name, estimated_size FROM duckdb_tables() ORDER BY ALL',
    'SELECT schema_name FROM duckdb_schemas() ORDER BY ALL',
    'SELECT database_name FROM duckdb_databases() ORDER BY ALL',
    'SELECT name, value FROM duckdb_settings() ORDER BY ALL',
    'SELECT sequence_name FROM duckdb_sequences()',
    'SELECT type_name FROM duckdb_types() WHERE NOT internal',
    'SELECT * FROM _meta.keys',
  ];
  const results: unknown[] = [];
  for (const sql of parts) results.push(await fixture.direct(sql));
  return JSON.stringify(results, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}
