import type { DuckDBConnection } from '@duckdb/node-api';
import { compatMacro } from '../sql/compat.ts';
import { BEGIN } from './session.ts';

/**
 * The macros of `compat.ts` that each connection already has: creating all of them would take longer than most queries.
 */
const made = new WeakMap<DuckDBConnection, Set<string>>();

/** Creates the macros that a session's connection lacks; without `isBegun`, on one that is in no transaction. */
export async function makeMacros(
  connection: DuckDBConnection,
  names: ReadonlySet<string>,
  isBegun = true,
): Promise<void> {
  if (names.size === 0) return;
  const own = made.get(connection) ?? new Set();
  const lacking = [...names].filter((name) => !own.has(name));
  if (lacking.length === 0) return;
  // Not in the session's transaction, which is read-only and rolled back.
  if (isBegun) await connection.run('ROLLBACK');
  for (const name of lacking) {
    await connection.run(compatMacro(name));
    own.add(name);
  }
  made.set(connection, own);
  if (isBegun) await connection.run(BEGIN);
}
