import { DuckDBBlobValue, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { type Run, rowsIn, type Sql } from '../connections/writer.ts';
import { quoteText } from '../sql/names.ts';

/** A longer text is not written into a statement: that takes several times as long as the rest of it. */
const LITERAL_MAX = 32 * 1024;
/** Large values of the statement that runs. */
const GIVEN = 'temp.main.given_values';

/**
 * Statements on a connection to a lake. One that is prepared belongs to our thread, which starts and releases it: both may
 * wait for the catalog, and releasing it for the store, whose files are closed then. So statements are run as text, from
 * its first look to its end on the engine's threads, with their values in it, or beside it in a table in memory.
 */
export function lakeSql(connection: DuckDBConnection): Sql {
  const run: Run = async (text, ...values) => {
    const large = values.map(isLarge);
    if (!large.includes(true)) return rowsIn(await connection.run(withValues(text, values.map(literal))));
    const names = values.map((_, at) => `v${at}`);
    const given = names.filter((_, at) => large[at]);
    const types = values.flatMap((value, at) => (large[at] ? [typeof value === 'string' ? 'VARCHAR' : 'BLOB'] : []));
    await connection.run(
      `CREATE OR REPLACE TEMP TABLE given_values (${given.map((name, at) => `${name} ${types[at]}`)})`,
    );
    await connection.run(
      `INSERT INTO ${GIVEN} VALUES (${given.map((_, at) => `$${at + 1}`)})`,
      values.filter((_, at) => large[at]),
    );
    const sql = values.map((value, at) => (large[at] ? `(SELECT ${names[at]} FROM ${GIVEN})` : literal(value)));
    const rows = await rowsIn(await connection.run(withValues(text, sql)));
    // A transaction that failed takes it along.
    await connection.run(`DROP TABLE ${GIVEN}`);
    return rows;
  };
  return Object.assign(run, { again: run });
}

function isLarge(value: DuckDBValue): boolean {
  if (typeof value === 'string') return value.length > LITERAL_MAX;
  return value instanceof DuckDBBlobValue && value.bytes.length > LITERAL_MAX;
}

const QUOTED_OR_VALUE = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d{1,3})/g;

function withValues(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  return text.replace(QUOTED_OR_VALUE, (part: string, number: string | undefined) =>
    number === undefined ? part : (values[Number(number) - 1] ?? 'NULL'),
  );
}

/** Throws `invalid_input` for text with U+0000: where such a text is compared, the engine's extension cuts its SQL off there. */
function literal(value: DuckDBValue): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `(${value})::${BigInt.asIntN(64, value) === value ? 'BIGINT' : 'HUGEINT'}`;
  if (typeof value === 'string' && !value.includes('\u0000')) return quoteText(value);
  if (value instanceof DuckDBBlobValue) return `from_hex('${Buffer.from(value.bytes).toString('hex')}')`;
  throw new ApiError('invalid_input', 'A name or key with the character U+0000 cannot be stored in a lake.');
}
