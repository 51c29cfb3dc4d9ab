import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { engineErrorText, firstLine } from '../connections/engine-error.ts';
import { heldError, isHeldError } from '../connections/held.ts';

/**
 * Keeps other processes out of a node's folder, until the returned function is called: its file is a database, which the
 * engine locks, with nothing in it. Rejects `not_ready` when another process has it.
 */
export async function holdNodeFile(file: string): Promise<() => void> {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const instance = await DuckDBInstance.create(file, { threads: '1' });
    return () => instance.closeSync();
  } catch (error) {
    if (isHeldError(error)) throw heldError(file, error);
    const message = `Cannot use the folder of the node's file ${JSON.stringify(file)}: ${firstLine(engineErrorText(error))}.`;
    throw new ApiError('internal', message, { cause: error });
  }
}
