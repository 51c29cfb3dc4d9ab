import type { Run } from '../connections/writer.ts';

/**
 * What a merge writes stays in the engine's memory, as if it had been read. So that this does not grow with all that is
 * written, up to the engine's limit, a merge lets go of what it added beyond so much. Measured with a load of 2 GB, which
 * leaves 22 MB with each merge: 875 MB of the process at most and no more after the first 1.3 GB, instead of 988 and growing.
 */
const CACHE_BYTES_MAX = 256 * 1024 * 1024;
/** With more than so many times that in memory, queries have read it. */
const READ_SHARE = 1.25;

/** How much of the file may be in memory after a merge that found `before` there, of an engine with this much. */
export function cacheAfterMerge(before: number, memoryBytes: number): number {
  const max = Math.min(CACHE_BYTES_MAX, Math.floor(memoryBytes / 8));
  return before > max * READ_SHARE ? before : max;
}

/** What the engine's memory is used for, in bytes. */
export interface Memory {
  all: number;
  /** Parts of the file that can be read again. */
  cache: number;
}

export async function memoryOf(sql: Run): Promise<Memory> {
  const [row] = await sql(
    `SELECT sum(memory_usage_bytes)::DOUBLE, sum(memory_usage_bytes) FILTER (tag = 'BASE_TABLE')::DOUBLE FROM duckdb_memory()`,
  );
  return { all: Number(row?.[0] ?? 0), cache: Number(row?.[1] ?? 0) };
}

/**
 * Lets go of what was used longest ago until the cache has at most `max` bytes: by a limit on memory that holds for a
 * moment, and that leaves queries as much room as the rest of the cache has. Then it is `memoryBytes` again.
 */
export async function letGoOfCache(sql: Run, max: number, memoryBytes: () => number): Promise<void> {
  const { all, cache } = await memoryOf(sql);
  if (cache <= max) return;
  // Parts that are in use stay, and the engine may refuse the limit.
  await sql(`SET GLOBAL memory_limit = '${Math.ceil(all - cache + max)}B'`).catch(() => undefined);
  await sql(`SET GLOBAL memory_limit = '${memoryBytes()}B'`);
}
