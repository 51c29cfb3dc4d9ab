import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { resume } from '../connections/sessions.ts';
import { ComparedTextError } from '../gate/sql-errors.ts';
import { readStatement, type Statement } from '../sql/statement.ts';

/** How a statement is attempted. */
export interface Attempt {
  sql: string;
  /** Where the words begin that have their second spelling (`ownForms`), in UTF-16 units. */
  second: ReadonlySet<number>;
  /** Undefined: it has to be read from these. */
  statement: Statement | undefined;
  /** Of the attempts before this one. */
  errors: readonly Error[];
}

/** What has failed; its statement is undefined if it could not be read. */
export interface Failed extends Attempt {
  error: Error;
}

/** A way to attempt a statement again that failed. */
export interface Way {
  /** Whether its error is one for which there may be another. */
  isFor(failed: Failed): boolean;
  /** Null: there is no other. */
  next(failed: Failed): Attempt | null | Promise<Attempt | null>;
}

/** Whether an error is one of what was written. */
export function isOfSql(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'query_error';
}

export function isUnparsed(error: Error): boolean {
  return error.message.startsWith('syntax error');
}

/**
 * Attempts the statement of a text, and again as long as the first of the `ways` that an error is for knows another. If
 * that knows none, the error is the first of a statement that could be parsed, since later ones are of what nobody wrote.
 * `moments`: see `Spelled`; `known` gives the statement of a text if it has been read before with the same.
 */
export async function attemptAgain<T>(
  connection: DuckDBConnection,
  text: string,
  ways: readonly Way[],
  attempt: (statement: Statement, sql: string) => Promise<T>,
  moments: ReadonlySet<string> = new Set(),
  known: (sql: string) => Statement | undefined = () => undefined,
): Promise<T> {
  let current: Attempt = { sql: text, second: new Set(), statement: undefined, errors: [] };
  for (;;) {
    const { sql, second, errors } = current;
    let { statement } = current;
    try {
      statement ??= (second.size === 0 ? known(sql) : undefined) ?? (await readStatement(sql, { second, moments }));
      return await attempt(statement, sql);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const failed = { ...current, statement, error };
      const way = ways.find((one) => one.isFor(failed));
      if (way === undefined) throw sql === text ? error : withoutPlace(error);
      await resume(connection);
      const next = await way.next(failed);
      if (next === null) throw toTell([...errors, error]);
      current = next;
    }
  }
}

/** Positions in a query that nobody has written mean nothing. */
export function withoutPlace(error: Error): Error {
  return isOfSql(error) ? new ApiError(error.code, error.message, { cause: error }) : error;
}

/** Of text that is compared with a time only if there is no other: the cast may have been found. */
function toTell(errors: readonly Error[]): Error | undefined {
  const parsed = errors.filter((error) => !isUnparsed(error));
  return parsed.find((error) => !(error instanceof ComparedTextError)) ?? parsed[0] ?? errors.at(-1);
}
