import { type DuckDBConnection, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { Retyped } from '../../results.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { typeName } from '../values/values.ts';
import type { KeptColumn } from './result-store.ts';

/**
 * Parquet has no integers beyond 64 bits: the engine silently writes these as DOUBLE, which changes digits. So they are
 * written as the first of these types that holds every value of the column.
 */
const INTEGERS = ['BIGINT', 'DECIMAL(38,0)', 'VARCHAR'] as const;
const LARGE = new Set([DuckDBTypeId.HUGEINT, DuckDBTypeId.UHUGEINT]);
/** Types that Parquet truncates (to milliseconds), shifts to another time zone, or lacks. */
const AS_TEXT = new Set([DuckDBTypeId.INTERVAL, DuckDBTypeId.TIME_TZ, DuckDBTypeId.BIGNUM]);

interface Source {
  /** The table, as SQL names it. */
  table: string;
  columns: readonly KeptColumn[];
  /** Another option of COPY. */
  option?: string;
}

/** Writes a table to a new Parquet file with every value exact; returns which columns needed another type for that. */
export async function writeParquet(connection: DuckDBConnection, source: Source, path: string): Promise<Retyped[]> {
  const retyped: Retyped[] = [];
  const list: string[] = [];
  for (const column of source.columns) {
    const sql = quoteName(column.name);
    const writtenAs = await typeToWrite(connection, source.table, column);
    list.push(`${writtenAs === undefined ? sql : `CAST(${sql} AS ${writtenAs})`} AS ${sql}`);
    if (writtenAs !== undefined) retyped.push({ name: column.name, type: typeName(column.type), writtenAs });
  }
  const select = `SELECT ${list.join(', ')} FROM ${source.table}`;
  const options = ['FORMAT parquet', ...(source.option === undefined ? [] : [source.option])];
  await connection.run(`COPY (${select}) TO ${quoteText(path)} (${options.join(', ')})`);
  return retyped;
}

/** The type to write a column as; undefined if its own type will do. */
async function typeToWrite(
  connection: DuckDBConnection,
  table: string,
  { name: columnName, type }: KeptColumn,
): Promise<string | undefined> {
  const own = typeName(type);
  const names = INTEGERS.map((integer) => typeName(type, (part) => insteadOf(part, integer)));
  const [first, ...others] = [...new Set(names)];
  if (first === undefined || first === own) return undefined;
  for (const name of [first, ...others].slice(0, -1)) {
    const column = quoteName(columnName);
    // TRY_CAST turns values that do not fit into null, even nested ones, and then the texts differ.
    const text = `CAST(TRY_CAST(${column} AS ${name}) AS VARCHAR)`;
    const changed = `SELECT 1 FROM ${table} WHERE ${text} IS DISTINCT FROM CAST(${column} AS VARCHAR) LIMIT 1`;
    if ((await connection.runAndReadAll(changed)).currentRowCount === 0) return name;
  }
  return others.at(-1) ?? first;
}

function insteadOf(type: DuckDBType, integer: (typeof INTEGERS)[number]): string | undefined {
  if (LARGE.has(type.typeId)) return integer;
  if (AS_TEXT.has(type.typeId)) return 'VARCHAR';
  // Which member a value is would have to be written as well.
  return type.typeId === DuckDBTypeId.UNION && type.memberTypes.some(isChanged) ? 'VARCHAR' : undefined;
}

function isChanged(type: DuckDBType): boolean {
  return typeName(type, (part) => insteadOf(part, 'VARCHAR')) !== typeName(type);
}
