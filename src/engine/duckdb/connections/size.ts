import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { EngineSize } from '../../engine.ts';
import { firstLine } from './engine-error.ts';

/** Changes threads and memory of all connections. */
export async function setSize(connection: DuckDBConnection, { threads, memoryBytes }: EngineSize): Promise<void> {
  await connection.run(`SET GLOBAL memory_limit = '${memoryBytes}B'`);
  await connection.run(`SET GLOBAL threads = ${threads}`);
}

/** The contract's error for a failed change of size. */
export function resizeError({ threads, memoryBytes }: EngineSize, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const what = `Cannot resize the engine to ${threads} threads and ${Math.floor(memoryBytes / 1024 / 1024)} MiB of memory`;
  if (/Out of Memory|could not free up enough memory/i.test(message)) {
    return new ApiError(
      'resource_exceeded',
      `${what}: what runs now holds more memory. Try again when it has finished, or choose a larger size.`,
      { cause: error },
    );
  }
  return new ApiError('internal', `${what}: ${firstLine(message)}.`, { cause: error });
}
