import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { openError } from '../storage/storage-errors.ts';

/**
 * Keeps other processes out of a node's folder, until the returned function is called: its file is a database, which the
 * engine locks, with nothing in it. Rejects `not_ready` when another process has it.
 */
export async function holdNodeFile(file: string): Promise<() => void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const instance = await DuckDBInstance.create(file, { threads: '1' });
    return () => instance.closeSync();
  } catch (error) {
    throw openError(file, error);
  }
}
