import type { DuckDBConnection } from '@duckdb/node-api';
import { resume } from '../../connections/sessions.ts';

/** How long looks at one answer take: that is there, and waits. */
export const LOOKS_MS = 2_000;
const INTERRUPT_MS = 50;

/** Looks until a moment, as of `performance.now()`, at which what the connection runs is interrupted. */
export async function untilLate<T>(connection: DuckDBConnection, until: number, look: () => Promise<T>): Promise<T> {
  const watching = setInterval(() => performance.now() > until && connection.interrupt(), INTERRUPT_MS);
  try {
    return await look();
  } finally {
    clearInterval(watching);
  }
}

/** The same; undefined: it failed, or was not done by then. The connection takes statements again. */
export async function inTime<T>(
  connection: DuckDBConnection,
  until: number,
  look: () => Promise<T>,
): Promise<T | undefined> {
  if (performance.now() > until) return undefined;
  try {
    return await untilLate(connection, until, look);
  } catch {
    await resume(connection);
    return undefined;
  }
}
