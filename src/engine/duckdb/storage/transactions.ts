import { isCommitted, mayBeCommitted, OutcomeUnknown } from './storage-errors.ts';
import type { Sql } from './writer.ts';

/**
 * Runs `work` in one transaction: when this resolves, all of it is durable; when it rejects, none of it is in effect,
 * except for `OutcomeUnknown`.
 */
export type Transaction = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

/** Waits for a statement that commits; undefined if it has committed but failed all the same. */
function settled<T>(committed: Promise<T>, onLate: (error: unknown) => void): Promise<T | undefined> {
  return committed.catch((error: unknown) => {
    if (!isCommitted(error)) throw mayBeCommitted(error) ? new OutcomeUnknown(error) : error;
    onLate(error);
    return undefined;
  });
}

/** `onLate` is called with an error that came after the commit: the work is done, but the database may be unusable. */
export async function inTransaction<T>(
  sql: Sql,
  work: (sql: Sql) => Promise<T>,
  onLate: (error: unknown) => void,
): Promise<T> {
  await sql.again('BEGIN TRANSACTION');
  try {
    const result = await work(sql);
    await settled(sql.again('COMMIT'), onLate);
    return result;
  } catch (error) {
    // A failed COMMIT has already rolled back.
    await sql.again('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
