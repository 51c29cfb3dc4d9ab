import { type DuckDBConnection, DuckDBTypeId } from '@duckdb/node-api';
import type { JsonValue } from '../../../contract/json/json.ts';
import type { ColumnProfile } from '../../results.ts';
import { fromTable, type KeptColumn, type KeptTable, RESULT_TABLE } from '../results/result-store.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { FRACTION_IDS, INSTANT_IDS, INTEGER_IDS } from '../sql/type-kinds.ts';
import { readRows } from '../values/rows.ts';
import { typeName } from '../values/values.ts';
import { misorderOf, orderSample } from './looks/orders.ts';
import { type Data, fewTextsOf } from './looks/samples.ts';

const PROFILED_COLUMNS_MAX = 100;
/** Number of characters of a text that a profile shows. */
const PROFILED_CHARS_MAX = 200;
const SAMPLES = 5;
/** Frequent values are taken from so many rows. */
const SAMPLED_ROWS_MAX = 10_000;
/** Different values are counted in results of at most so many values, which takes less than a second. */
const COUNTED_VALUES_MAX = 5_000_000;
/** Of each column: `strayFigures` and `figuresOf`. */
const FIGURES = 7;

/** Where the fields of a kept result are read. */
export const keptData = (table: KeptTable, connection: DuckDBConnection): Data => ({
  connection,
  viewOf: () => fromTable(table),
});

/** Types whose values can be compared and shown in one line. */
const COMPARED: ReadonlySet<DuckDBTypeId> = new Set([
  ...[DuckDBTypeId.BOOLEAN, DuckDBTypeId.VARCHAR, DuckDBTypeId.UUID, DuckDBTypeId.ENUM, DuckDBTypeId.TIME],
  ...[...INTEGER_IDS, ...FRACTION_IDS, ...INSTANT_IDS],
]);

/**
 * Count, number of distinct values, least, greatest and most frequent value of a column; NULL if values are not
 * compared. `by` is SQL for what text is that has another order.
 */
function figuresOf({ name, type }: KeptColumn, isCounted: boolean, few: string, by?: string): string[] {
  const column = quoteName(name);
  const isText = type.typeId === DuckDBTypeId.VARCHAR;
  if (!COMPARED.has(type.typeId) || (isText && typeName(type) === 'JSON')) {
    return [`count(${column})`, 'NULL', 'NULL', 'NULL', 'NULL'];
  }
  const short = (value: string) => (isText ? `left(${value}, ${PROFILED_CHARS_MAX})` : value);
  return [
    `count(${column})`,
    isCounted ? `count(DISTINCT ${column})` : 'NULL',
    short(by === undefined ? `min(${column})` : `arg_min(${column}, TRY(${by}))`),
    short(by === undefined ? `max(${column})` : `arg_max(${column}, TRY(${by}))`),
    `(SELECT approx_top_k(${short(column)}, ${SAMPLES}) FROM ${few})`,
  ];
}

/** Types whose values documents may spell in several ways. */
const SPELLED: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIME,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_TZ,
  DuckDBTypeId.UUID,
]);

/** How many values of a column do not fit, and how many of these it has as NULL. */
function strayFigures({ shown, stored }: KeptTable, column: KeptColumn): string[] {
  const strays = shown?.strays === undefined ? undefined : stored[shown.strays];
  const place = shown?.columns[stored.indexOf(column)]?.place ?? null;
  if (strays === undefined || place === null) return ['0', '0'];
  const isStray = `list_contains(json_keys(${quoteName(strays.name)}), ${quoteText(place)})`;
  const hidden = `count(*) FILTER (WHERE ${isStray} AND ${quoteName(column.name)} IS NULL)`;
  // What such a column has is only spelled otherwise, and in all figures.
  return SPELLED.has(column.type.typeId) ? [hidden, hidden] : [`count(*) FILTER (WHERE ${isStray})`, hidden];
}

/** SQL for the numbers and days that columns of text hold, as far as these have another order than their texts. */
async function meantBy(
  table: KeptTable,
  columns: readonly KeptColumn[],
  connection: DuckDBConnection,
): Promise<Map<KeptColumn, string>> {
  const meant = new Map<KeptColumn, string>();
  const result = { workspace: '', name: RESULT_TABLE, kind: 'collection', columns: () => [] } as const;
  const ofText = columns.filter(({ type }) => type.typeId === DuckDBTypeId.VARCHAR && typeName(type) !== 'JSON');
  const samples = ofText.map(({ name }) => orderSample({ table: result, path: [name] }));
  const texts = await fewTextsOf(samples, keptData(table, connection));
  for (const [at, column] of ofText.entries()) {
    const found = misorderOf(quoteName(column.name), texts[at] ?? []);
    if (found?.sql !== undefined) meant.set(column, found.sql);
  }
  return meant;
}

/** What the columns of a kept result have. */
export async function readProfile(
  connection: DuckDBConnection,
  table: KeptTable,
  signal: AbortSignal,
): Promise<ColumnProfile[]> {
  const columns = table.columns.slice(0, PROFILED_COLUMNS_MAX);
  const isCounted = table.rows * columns.length <= COUNTED_VALUES_MAX;
  const meant = await meantBy(table, columns, connection);
  const figures = columns.map((column) => [
    ...strayFigures(table, column),
    ...figuresOf(column, isCounted, 'few', meant.get(column)),
  ]);
  const few = `WITH few AS MATERIALIZED (SELECT * FROM ${fromTable(table)} LIMIT ${SAMPLED_ROWS_MAX})`;
  const result = await connection.stream(`${few} SELECT ${figures.flat().join(', ')} FROM ${fromTable(table)}`);
  const { rows } = await readRows(result, { rowsMax: 1, bytesMax: Number.POSITIVE_INFINITY }, signal);
  const values = rows[0] ?? [];
  return columns.map(({ name, type }, index) => {
    const [strays, hidden, count, distinct, min, max, samples] = values.slice(index * FIGURES, (index + 1) * FIGURES);
    return {
      name,
      type: typeName(type),
      nulls: table.rows - Number(count ?? 0) - Number(hidden ?? 0),
      strays: Number(strays ?? 0),
      distinct: distinct === null || distinct === undefined ? null : Number(distinct),
      min: min ?? null,
      max: max ?? null,
      samples: Array.isArray(samples) ? (samples as JsonValue[]).filter((value) => value !== null) : [],
    };
  });
}
