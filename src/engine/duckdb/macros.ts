import type { DuckDBConnection } from '@duckdb/node-api';
import { compatMacro } from './compat.ts';
import { BEGIN } from './session.ts';

/** The macros of `compat.ts` that a connection has by now: to make all of them would take longer than most queries. */
const made = new WeakMap<DuckDBConnection, Set<string>>();

/** Makes the macros on a session's connection that it lacks; without `isBegun`, on one that is in no transaction. */
export async function makeMacros(
  connection: DuckDBConnection,
  names: ReadonlySet<string>,
  isBegun = true,
): Promise<void> {
  if (names.size === 0) return;
  const own = made.get(connection) ?? new Set();
  const lacking = [...names].filter((name) => !own.has(name));
  if (lacking.length === 0) return;
  // Outside the session's transaction, which only reads and is rolled back.
  if (isBegun) await connection.run('ROLLBACK');
  for (const name of lacking) {
    await connection.run(compatMacro(name));
    own.add(name);
  }
  made.set(connection, own);
  if (isBegun) await connection.run(BEGIN);
}
