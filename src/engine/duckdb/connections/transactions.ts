import type { Sql } from './writer.ts';

export const BEGIN = 'BEGIN TRANSACTION';

/**
 * Runs `work` in one transaction: when this resolves, all of it is durable; when it rejects, none of it is in effect,
 * except for an `OutcomeUnknown`.
 */
export type Transaction = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

export interface TransactionOptions {
  isAside?: boolean;
  isOne?: boolean;
}

/** `begin` starts the transaction (default: with that alone), `commit` ends it, or rejects if it is not stored. */
export async function inTransaction<T>(
  sql: Sql,
  work: (sql: Sql) => Promise<T>,
  commit: () => Promise<unknown>,
  begin: () => Promise<unknown> = () => sql.again(BEGIN),
): Promise<T> {
  await begin();
  try {
    const result = await work(sql);
    await commit();
    return result;
  } catch (error) {
    // A failed COMMIT has already rolled back.
    await sql.again('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
