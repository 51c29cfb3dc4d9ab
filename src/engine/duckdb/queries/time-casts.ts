import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { resume } from '../connections/sessions.ts';
import { type ComparedText, ComparedTextError } from '../gate/sql-errors.ts';
import type { Statement } from '../sql/statement.ts';

/** Names of one statement that are cast. */
const CASTS_MAX = 8;

/**
 * Attempts a statement, and again with a cast for each name of text that the engine refuses to compare with a time.
 * If it
 * cannot be parsed so, or too many would be needed, the error is that of the statement as it was written.
 */
export async function withTimeCasts<T>(
  connection: DuckDBConnection,
  statement: Statement,
  attempt: (statement: Statement) => Promise<T>,
): Promise<T> {
  let first: unknown;
  for (let current = statement; ; ) {
    try {
      return await attempt(current);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
      first ??= error;
      if (!(error instanceof ComparedTextError)) throw isOfCast(error) ? first : error;
      if (current.timeCasts.length === CASTS_MAX) throw first;
      current = withCast(current, error.compared);
      await resume(connection);
    }
  }
}

/** What was taken for a name may be none, such as the END of a CASE. */
function isOfCast({ message }: ApiError): boolean {
  return message.startsWith('syntax error');
}

/** Says what was compared otherwise than it was written. */
export function castWarnings({ timeCasts }: Statement): string[] {
  const names = [...new Set(timeCasts)];
  if (names.length === 0) return [];
  return [`${names.join(', ')}: text, compared as a time. Text without a zone counts as UTC.`];
}

function withCast(statement: Statement, { name, start, end, type }: ComparedText): Statement {
  const [before, after] = ['CAST(', ` AS ${type})`];
  const { body: was, timeCasts } = statement;
  const body = `${was.slice(0, start)}${before}${name}${after}${was.slice(end)}`;
  const from = Buffer.byteLength(was.slice(0, start));
  const length = Buffer.byteLength(name);
  /** The offset in what was, of one in what is. */
  const originOf = (offset: number) => {
    if (offset <= from) return offset;
    const inName = Math.min(Math.max(0, offset - from - before.length), length);
    return from + inName + Math.max(0, offset - from - before.length - length - after.length);
  };
  return {
    ...statement,
    body,
    timeCasts: [...timeCasts, name],
    locate: (offset) => statement.locate(originOf(offset)),
    offsetOf: (index) => Buffer.byteLength(body.slice(0, index)),
  };
}
