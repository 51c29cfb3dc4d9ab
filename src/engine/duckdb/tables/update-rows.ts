import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { Sql } from '../connections/store.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { storedSql } from '../values/declared.ts';
import { batchesOfLines } from '../values/lines.ts';
import type { Shape } from '../values/shape.ts';
import { structureOfColumns } from '../values/types.ts';
import { dataTable, type Table } from './catalog.ts';
import { requireAll } from './find-rows.ts';

/** Names that no field can have, so that they are never taken for a field's column. */
const SOURCE = quoteName(TIME_COLUMN);
const TARGET = quoteName(EXTRA_COLUMN);
const KEY = quoteName(ID_COLUMN);

/** Which row of a table a line is for. */
export interface RowMatch {
  /** SQL for what the line's key is compared with; `of` stands before each column. */
  key(of: string): string;
  type: 'BIGINT' | 'VARCHAR';
  /** SQL condition for the rows that may be meant; default: all. */
  among?: ((of: string) => string) | undefined;
}

/** What is stored anew of each row: these columns, and its strays. */
export interface RowPart {
  columns: ReadonlyMap<string, Shape>;
  strays: boolean;
}

/**
 * Stores columns of rows anew; the others stay as they are. A line is a JSON object with the row's key as `k`, fields as
 * `f`, and strays as `s`.
 */
export async function updateRows<T>(
  sql: Sql,
  table: Table,
  { part, match }: { part: RowPart; match: RowMatch },
  items: Iterable<T>,
  lineOf: (item: T) => string,
): Promise<void> {
  const statement = updateStatement(table, part, match);
  for await (const lines of batchesOfLines(items, lineOf)) {
    const [counted] = await sql(statement, lines.join('\n'));
    requireAll(lines, Number(counted?.[0]));
  }
}

function updateStatement(table: Table, { columns, strays }: RowPart, { key, type, among }: RowMatch): string {
  const fields = [...columns.keys()].map(quoteName);
  const names = strays ? [...fields, quoteName(STRAYS_COLUMN)] : fields;
  const stored = [...columns].map(
    ([name, shape]) => `${storedSql(`d.f.${quoteName(name)}`, shape)} AS ${quoteName(name)}`,
  );
  const values = [...stored, ...(strays ? [`d.s AS ${quoteName(STRAYS_COLUMN)}`] : [])];
  const structure = `{"k":"${type}","f":${structureOfColumns(columns)}${strays ? ',"s":"JSON"' : ''}}`;
  const parsed = `from_json(unnest(string_split($1, chr(10))), ${quoteText(structure)})`;
  const of = `${TARGET}.`;
  return `UPDATE ${dataTable(table.id)} AS ${TARGET} SET ${names.map((name) => `${name} = ${SOURCE}.${name}`).join(', ')}
    FROM (SELECT d.k AS ${KEY}, ${values.join(', ')} FROM (SELECT ${parsed} AS d)) AS ${SOURCE}
    WHERE ${key(of)} = ${SOURCE}.${KEY}${among === undefined ? '' : ` AND ${among(of)}`}`;
}
