import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { EngineLimits } from '../../engine.ts';
import { CATALOG, DEFAULT_SCHEMA, quoteName, quoteText } from '../sql/names.ts';

/** Of an in-memory database to which the data are attached. */
export function instanceOptions({ threads, memoryBytes }: EngineLimits, temp: string): Record<string, string> {
  return {
    threads: String(threads),
    memory_limit: `${memoryBytes}B`,
    temp_directory: temp,
    // Returns memory to the system seconds after a load, not with the next load.
    allocator_background_threads: 'true',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  };
}

/** To be run before anything else. */
export async function prepare(connection: DuckDBConnection, { tempBytesMax }: EngineLimits): Promise<void> {
  await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
  // If given when the instance is created, it is reported but not enforced.
  await connection.run(`SET GLOBAL max_temp_directory_size = '${tempBytesMax}B'`);
}

/** From now on no statement can reach a file outside of these folders and of what is attached, or change a setting. */
export async function shutIn(connection: DuckDBConnection, folders: readonly string[]): Promise<void> {
  await connection.run(`SET GLOBAL allowed_directories = [${folders.map(quoteText).join(', ')}]`);
  // Not earlier, since it shuts out every file but the attached one, and those.
  await connection.run('SET GLOBAL enable_external_access = false');
  // The engine's size may change at run time; no other setting may.
  await connection.run(`SET GLOBAL allowed_configs = ['threads', 'memory_limit']`);
  // Without this, errors do not give their positions as numbers (`engine-error.ts`).
  await connection.run('SET GLOBAL errors_as_json = true');
  await connection.run('SET GLOBAL lock_configuration = true');
}

/** A connection that resolves names in the data. */
export async function connectTo(instance: DuckDBInstance): Promise<DuckDBConnection> {
  const connection = await instance.connect();
  try {
    await connection.run(`USE ${quoteName(CATALOG)}.${quoteName(DEFAULT_SCHEMA)}`);
  } catch (error) {
    connection.closeSync();
    throw error;
  }
  return connection;
}
