import type { DuckDBConnection } from '@duckdb/node-api';
import { resume } from '../connections/sessions.ts';
import { fieldOfText } from '../gate/text-orders.ts';
import { type Cast, isNumber, isTime, pathOf } from '../sql/corrections/casts.ts';
import { type Reading, readingFor, type Sampled } from '../sql/corrections/readings.ts';
import { type NamedTable, type Names, quoteName } from '../sql/names.ts';
import { viewOf } from './stray-warnings.ts';

/**
 * Values of a field that are looked at before a cast of it is said to be right, of its first documents: so that it costs
 * milliseconds, however many there are and however few of them have it.
 */
const VALUES_MAX = 1_000;
const ROWS_MAX = 20_000;
/** Longer texts are none that a cast reads. */
const CHARS_MAX = 64;

/** A type that means the same to the engine as in the SQL of a caller. */
const TYPE = /^[a-z ]+(?:\(\d+(?:, ?\d+)?\))?$/i;

/**
 * How a cast of a field of text has to be, by its values; `failing` is one that an error has named. Undefined: it is of
 * something else, or there are none.
 */
export async function readingOf(
  cast: Cast,
  { names, tables, connection }: { names: Names; tables: readonly NamedTable[]; connection: DuckDBConnection },
  failing?: string,
): Promise<Reading | 'right' | undefined> {
  const path = pathOf(cast.operand);
  if (path === undefined || !TYPE.test(cast.type) || !(isNumber(cast.type) || isTime(cast.type))) return undefined;
  const field = fieldOfText(path, tables);
  if (field === undefined) return undefined;
  await resume(connection);
  const values = await valuesOf(field, cast.type, { names, connection });
  if (failing !== undefined && values.every(({ isRead }) => isRead)) values.push({ text: failing, isRead: false });
  return values.length === 0 ? undefined : readingFor(cast, values);
}

/** Texts of a field, and whether a cast to a type reads them. */
export async function valuesOf(
  { table: { workspace, name }, path }: { table: NamedTable; path: readonly string[] },
  asked: string,
  { names, connection }: { names: Names; connection: DuckDBConnection },
): Promise<Sampled[]> {
  // INT is wide here.
  const type = /^int(?:eger)?$/i.test(asked) ? 'BIGINT' : asked;
  const sql = `SELECT v[:${CHARS_MAX}], length(v) <= ${CHARS_MAX} AND TRY_CAST(v AS ${type}) IS NOT NULL
    FROM (SELECT ${path.map(quoteName).join('.')} AS v FROM ${viewOf(names, workspace, name)} LIMIT ${ROWS_MAX}) WHERE v IS NOT NULL LIMIT ${VALUES_MAX}`;
  try {
    const result = await connection.runAndReadAll(sql);
    return result.getRows().map(([text, isRead]) => ({ text: String(text), isRead: isRead === true }));
  } catch {
    // It only serves a hint, and must not hide what there is to tell.
    await resume(connection);
    return [];
  }
}
