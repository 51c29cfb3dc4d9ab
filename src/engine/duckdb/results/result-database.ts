import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { EngineLimits } from '../../engine.ts';
import type { Folders } from '../connections/folders.ts';
import { quoteText } from '../sql/names.ts';

/**
 * A separate in-memory DuckDB that holds kept results and nothing else: SQL over a result cannot reach a collection,
 * whatever it names, and the memory and disk that results take are limited separately from those of queries. What does
 * not fit into its memory goes to files that are removed when it is closed, and after a crash at the next opening.
 */
export interface ResultDatabase {
  connect(): Promise<DuckDBConnection>;
  close(): void;
}

const MIB = 1024 * 1024;
const MEMORY_MAX = 256 * MIB;
const MEMORY_MIN = 64 * MIB;
const DISK_MAX = 1024 * MIB;
/** Small results take as many blocks as they have columns; with the default size that would be 256 KiB each. */
const BLOCK_BYTES = '16384';

/** `count` distinguishes the openings of one process, since statements still running on an earlier one keep its files. */
export async function openResultDatabase(
  { results, exports }: Folders,
  limits: EngineLimits,
  count: number,
): Promise<ResultDatabase> {
  if (count === 1) rmSync(results, { recursive: true, force: true });
  const temp = join(results, String(count));
  mkdirSync(temp, { recursive: true, mode: 0o700 });
  const memoryBytes = Math.min(MEMORY_MAX, Math.max(MEMORY_MIN, Math.floor(limits.memoryBytes / 4)));
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(Math.min(2, limits.threads)),
    memory_limit: `${memoryBytes}B`,
    default_block_size: BLOCK_BYTES,
    temp_directory: temp,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  try {
    const connection = await instance.connect();
    await connection.run(`SET GLOBAL TimeZone = 'UTC'`);
    // If given when the instance is created, it is reported but not enforced.
    await connection.run(`SET GLOBAL max_temp_directory_size = '${Math.min(DISK_MAX, limits.tempBytesMax)}B'`);
    // Parquet is written by the engine itself; the gate lets no SQL of a caller name a file.
    await connection.run(`SET GLOBAL allowed_directories = [${quoteText(exports)}]`);
    await connection.run('SET GLOBAL enable_external_access = false');
    await connection.run('SET GLOBAL errors_as_json = true');
    await connection.run('SET GLOBAL lock_configuration = true');
    connection.closeSync();
  } catch (error) {
    instance.closeSync();
    throw error;
  }
  return {
    connect: () => instance.connect(),
    close() {
      instance.closeSync();
      rmSync(temp, { recursive: true, force: true });
    },
  };
}
