import type { DuckDBConnection } from '@duckdb/node-api';
import { creating } from '../sql/macros.ts';
import { MATCHING_MACROS, operatorOf } from '../sql/matching.ts';
import { begin } from './sessions.ts';

/** The macros that each connection already has. */
const made = new WeakMap<DuckDBConnection, Set<string>>();

/**
 * Creates the macros that a session's connection lacks, and drops those that stand in the place of operators that the
 * statement does not need guarded.
 */
export async function makeMacros(connection: DuckDBConnection, names: ReadonlySet<string>): Promise<void> {
  const own = made.get(connection) ?? new Set();
  if (names.size === 0 && own.size === 0) return;
  const standing = [...own].filter((name) => MATCHING_MACROS.has(name) && !names.has(name));
  const isGone = (name: string) => standing.some((gone) => operatorOf(gone) === name);
  const lacking = [...names].filter((name) => !own.has(name) || isGone(name));
  if (lacking.length === 0 && standing.length === 0) return;
  // What stands in the place of a macro, too, comes after it.
  lacking.sort((a, b) => Number(MATCHING_MACROS.has(a)) - Number(MATCHING_MACROS.has(b)));
  // Not in the session's transaction, which is read-only and rolled back.
  await connection.run('ROLLBACK');
  for (const name of standing) {
    await connection.run(`DROP MACRO temp.main."${operatorOf(name)}"`);
    own.delete(name);
    own.delete(operatorOf(name));
  }
  for (const name of lacking) {
    await connection.run(creating(name));
    own.add(name);
  }
  made.set(connection, own);
  await begin(connection);
}
