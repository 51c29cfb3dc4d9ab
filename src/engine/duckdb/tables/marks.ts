import type { Sql } from '../connections/store.ts';
import { ID_COLUMN, quoteName, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { isListShape, isMapShape, isObjectShape, objectsIn, type Shape } from '../values/shape.ts';
import { dataTable, type Table } from './catalog.ts';
import { lastColumns, type TableShape } from './columns.ts';
import { conditionOf, findRows } from './find-rows.ts';

/*
 * The mark of a document tells it from what it is after a change, and stays while only others change: a field that a
 * document lacks counts nothing, so it does not matter which fields there are, at any depth. A column that gets another type
 * makes other marks. Marks are compared within one run of the engine, whose `hash` another version may compute otherwise.
 */

/** With more places, an object is hashed whole: a statement has a size. */
const PLACES_MAX = 1_000;
/** As many as a double holds. */
const BITS = '9007199254740991';

/** SQL for the mark of a row, over its columns: below 2^53. */
export function markSql(shape: TableShape): string {
  const isWide = [...shape.columns.values()].flatMap(objectsIn).flat().length > PLACES_MAX;
  const terms = [...shape.columns].flatMap(([name, one]) =>
    isWide ? [termOf(quoteName(name), name)] : termsOf(quoteName(name), one, name),
  );
  const others = [TIME_COLUMN, ...lastColumns(shape)].map((name) => termOf(quoteName(name), name));
  return `(list_sum([${[...terms, ...others].join(', ')}]) & ${BITS})::BIGINT`;
}

function termsOf(sql: string, shape: Shape, place: string, level = 0): string[] {
  if (!isObjectShape(shape)) return [termOf(sql, place, hashedValue(sql, shape, level))];
  return [...shape.fields].flatMap(([key, inner]) =>
    termsOf(`struct_extract(${sql}, ${quoteText(key)})`, inner, `${place}/${key}`, level),
  );
}

function termOf(sql: string, place: string, value = sql): string {
  return `CASE WHEN ${sql} IS NOT NULL THEN hash(${quoteText(place)}, ${value}) END`;
}

/** What is hashed of a value: of the objects in a list or a map, their own sums. */
function hashedValue(sql: string, shape: Shape, level: number): string {
  const inner = isListShape(shape) ? shape.element : isMapShape(shape) ? shape.values : undefined;
  if (inner === undefined || objectsIn(inner).flat().length === 0) return sql;
  const item = `i${level}`;
  const sum = `lambda ${item}: list_sum([${termsOf(item, inner, '', level + 1).join(', ')}])`;
  return isListShape(shape)
    ? `list_transform(${sql}, ${sum})`
    : `map_keys(${sql}), list_transform(map_values(${sql}), ${sum})`;
}

/** Those of the ids whose documents have these marks. `sql` is a transaction that may write. */
export async function withMarks(
  sql: Sql,
  table: Table,
  ids: readonly string[],
  marks: Float64Array,
): Promise<string[]> {
  const { condition, lists } = conditionOf(table, await findRows(sql, table, ids));
  const found = new Map<string, number>();
  for (const list of lists) {
    const statement = `SELECT ${quoteName(ID_COLUMN)}, ${markSql(table.shape)} FROM ${dataTable(table.id)} WHERE ${condition}`;
    for (const [id, mark] of await sql(statement, list)) found.set(String(id), Number(mark));
  }
  return ids.filter((id, index) => found.get(id) === marks[index]);
}
