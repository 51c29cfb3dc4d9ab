import { DuckDBBlobValue, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { type Run, rowsIn, type Sql } from '../connections/writer.ts';
import { quoteText } from '../sql/names.ts';

/**
 * Statements on a connection to a lake. One that is prepared belongs to our thread, which starts and releases it: both may
 * wait for the catalog, and releasing it for the store, whose files are closed then. So statements are run as text, from
 * its first look to its end on the engine's threads, with their values in it.
 */
export function lakeSql(connection: DuckDBConnection): Sql {
  const run: Run = async (text, ...values) => rowsIn(await connection.run(withLiterals(text, values)));
  return Object.assign(run, { again: run });
}

const QUOTED_OR_VALUE = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d{1,3})/g;

function withLiterals(text: string, values: readonly DuckDBValue[]): string {
  if (values.length === 0) return text;
  return text.replace(QUOTED_OR_VALUE, (part: string, number: string | undefined) =>
    number === undefined ? part : literal(values[Number(number) - 1] ?? null),
  );
}

/** Throws `invalid_input` for text with U+0000: where such a text is compared, the engine's extension cuts its SQL off there. */
function literal(value: DuckDBValue): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? `${value}::BIGINT` : `${value}::HUGEINT`;
  if (typeof value === 'string' && !value.includes('\u0000')) return quoteText(value);
  if (value instanceof DuckDBBlobValue) return `from_hex('${Buffer.from(value.bytes).toString('hex')}')`;
  throw new ApiError('invalid_input', 'A name or key with the character U+0000 cannot be stored in a lake.');
}
