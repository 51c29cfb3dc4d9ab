import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { heldError, isHeldError } from '../connections/held.ts';
import { quoteText } from '../sql/names.ts';

/**
 * Keeps other processes from opening a database file for writing until the returned function is called; neither the
 * file nor its log is changed. A missing or damaged file cannot be held, but nobody can open it either. Rejects
 * `not_ready` when another process has it open.
 */
export async function holdDatabase(path: string): Promise<() => void> {
  const file = resolve(path);
  if (!existsSync(file)) return () => undefined;
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const release = () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    await connection.run(`ATTACH ${quoteText(file)} AS held (READ_ONLY)`);
  } catch (error) {
    if (isHeldError(error)) {
      release();
      throw heldError(file, error);
    }
  }
  return release;
}
