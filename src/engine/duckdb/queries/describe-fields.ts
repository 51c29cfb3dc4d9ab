import {
  type DuckDBConnection,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api';
import type { JsonValue } from '../../../contract/json/json.ts';
import { holdsTextOf, placeOf, STRAYS_COLUMN, stepsOf, strayCountsSql } from '../../../contract/strays.ts';
import { EXTRA_COLUMN, type NamedTable, type Names, quoteName, quoteText } from '../sql/names.ts';
import type { Rows } from '../values/rows.ts';
import { viewOf } from './stray-warnings.ts';

/**
 * The answer of DESCRIBE for a collection, as other services give it: a row for each path and type, with how many values
 * have it, of how many that could: all documents at the top, those with the object around it within one, all items in a
 * list (`*`, also for the values of a map).
 */
interface Field {
  path: readonly string[];
  type: string;
  /** SQL for numbers over all rows. */
  occurrences: string;
  total: string;
}

/** Fields that are counted in one statement, and at all. */
const FIELDS_AT_ONCE = 300;
const FIELDS_MAX = 10_000;

/** An expression with one value a row, or with a list of them. */
interface Values {
  sql: string;
  areMany: boolean;
}

const ITEM = '*';
const counted = ({ sql, areMany }: Values, condition = ''): string => {
  if (!areMany) return condition === '' ? `count(${sql})` : `count(*) FILTER (${condition.replaceAll('$', sql)})`;
  const filtered = condition === '' ? sql : `list_filter(${sql}, lambda _v: ${condition.replaceAll('$', '_v')})`;
  return `coalesce(sum(list_count(${filtered})), 0)`;
};
const lengthOf = ({ sql, areMany }: Values): string =>
  `coalesce(sum(${areMany ? `list_sum(list_transform(${sql}, lambda _l: len(_l)))` : `len(${sql})`}), 0)`;
const within = ({ sql, areMany }: Values, part: (value: string) => string): Values => ({
  sql: areMany ? `list_transform(${sql}, lambda _v: ${part('_v')})` : part(sql),
  areMany,
});
const itemsOf = ({ sql, areMany }: Values): Values => ({ sql: areMany ? `flatten(${sql})` : sql, areMany: true });

const JSON_TYPES: readonly (readonly [name: string, types: string])[] = [
  ['string', "'VARCHAR'"],
  ['int', "'BIGINT', 'UBIGINT', 'HUGEINT'"],
  ['float', "'DOUBLE'"],
  ['bool', "'BOOLEAN'"],
  ['array', "'ARRAY'"],
  ['object', "'OBJECT'"],
];
const typeOfJson = (type: string) => JSON_TYPES.find(([, types]) => types.includes(`'${type}'`))?.[0] ?? 'null';

const NAMES: ReadonlyMap<DuckDBTypeId, string> = new Map([
  [DuckDBTypeId.VARCHAR, 'string'],
  [DuckDBTypeId.BOOLEAN, 'bool'],
  [DuckDBTypeId.DOUBLE, 'float'],
  [DuckDBTypeId.DECIMAL, 'float'],
  [DuckDBTypeId.BIGINT, 'int'],
  [DuckDBTypeId.HUGEINT, 'int'],
  [DuckDBTypeId.DATE, 'date'],
  [DuckDBTypeId.TIME, 'time'],
  [DuckDBTypeId.TIMESTAMP, 'datetime'],
  [DuckDBTypeId.TIMESTAMP_TZ, 'timestamp'],
  [DuckDBTypeId.BLOB, 'bytes'],
]);

function* fieldsOf(path: readonly string[], type: DuckDBType, values: Values, total: string): Generator<Field> {
  const here = (name: string, condition?: string): Field => ({
    path,
    type: name,
    occurrences: counted(values, condition),
    total,
  });
  if (type.alias === 'JSON') {
    for (const [name, types] of JSON_TYPES) yield here(name, `json_type($) IN (${types})`);
  } else if (type instanceof DuckDBStructType) {
    yield here('object');
    for (const [index, name] of type.entryNames.entries()) {
      const inner = within(values, (value) => `struct_extract(${value}, ${quoteText(name)})`);
      yield* fieldsOf([...path, name], type.entryTypes[index] as DuckDBType, inner, counted(values));
    }
  } else if (type instanceof DuckDBMapType || type instanceof DuckDBListType) {
    const isMap = type instanceof DuckDBMapType;
    yield here(isMap ? 'object' : 'array');
    const lists = isMap ? within(values, (value) => `map_values(${value})`) : values;
    yield* fieldsOf([...path, ITEM], type.valueType, itemsOf(lists), lengthOf(lists));
  } else yield here(NAMES.get(type.typeId) ?? type.toString().toLowerCase());
}

/** The rows of DESCRIBE for a collection or an alias. */
export async function describeFields(connection: DuckDBConnection, names: Names, table: NamedTable): Promise<Rows> {
  const view = viewOf(names, table.workspace, table.name);
  const shape = await connection.runAndReadAll(`SELECT * FROM ${view} LIMIT 0`);
  const fields = shape.columnNames().flatMap((name, index) => {
    if (name === STRAYS_COLUMN || name === EXTRA_COLUMN) return [];
    return [...fieldsOf([name], shape.columnType(index), { sql: quoteName(name), areMany: false }, 'count(*)')];
  });
  const counts = new Map<string, { path: readonly string[]; type: string; occurrences: number; total: number }>();
  const add = (path: readonly string[], type: string, occurrences: number, total: number) => {
    const key = JSON.stringify([path, type]);
    const before = counts.get(key);
    if (before !== undefined) before.occurrences += occurrences;
    else counts.set(key, { path, type, occurrences, total });
  };
  /** Of each path, also where all of its values are strays. */
  const totals = new Map<string, number>();
  const some = fields.slice(0, FIELDS_MAX);
  for (let at = 0; at < some.length; at += FIELDS_AT_ONCE) {
    const batch = some.slice(at, at + FIELDS_AT_ONCE);
    const list = batch.flatMap(({ occurrences, total }) => [occurrences, total]).join(', ');
    const [row = []] = (await connection.runAndReadAll(`SELECT ${list} FROM ${view}`)).getRows();
    for (const [index, { path, type }] of batch.entries()) {
      const [occurrences, total] = [Number(row[2 * index]), Number(row[2 * index + 1])];
      totals.set(JSON.stringify(path), total);
      if (occurrences > 0) add(path, type, occurrences, total);
    }
  }
  if (shape.columnNames().includes(EXTRA_COLUMN)) {
    const all = `(SELECT count(*) FROM ${view})`;
    const sql = `SELECT e.key, json_type(e.value), count(*), any_value(${all}) FROM ${view} AS d, json_each(d.${EXTRA_COLUMN}) AS e GROUP BY 1, 2 ORDER BY 1, 2`;
    for (const [key, type, count, total] of (await connection.runAndReadAll(sql)).getRows())
      add([String(key)], typeOfJson(String(type)), Number(count), Number(total));
  }
  for (const { path, type, count } of await strayCounts(connection, table, view))
    add(path, type, count, totals.get(JSON.stringify(path)) ?? 0);
  return {
    columns: [
      { name: 'field', type: 'VARCHAR[]' },
      { name: 'type', type: 'VARCHAR' },
      { name: 'occurrences', type: 'BIGINT' },
      { name: 'total', type: 'BIGINT' },
    ],
    rows: [...counts.values()]
      .filter(({ occurrences }) => occurrences > 0)
      .map(({ path, type, occurrences, total }): JsonValue[] => [[...path], type, occurrences, total]),
    cut: null,
  };
}

/** The values that do not fit, by path and type; those that are only spelled otherwise are in their columns as well. */
async function strayCounts(connection: DuckDBConnection, table: NamedTable, view: string) {
  const columns = [...(table.strays ?? [])];
  if (columns.length === 0 || table.fieldAt === undefined) return [];
  const items = columns.flatMap((column) => table.itemPlaces?.(column) ?? []);
  const itemPlaces = new Set(items);
  const counts = strayCountsSql(view, { items, areTyped: table.written !== undefined });
  const result = await connection.runAndReadAll(`SELECT place, json, type, "values" FROM ${counts} ORDER BY 1, 2`);
  return result.getRows().flatMap(([at, type, time, count]) => {
    const { type: column } = table.fieldAt?.(String(at)) ?? { type: null };
    if (holdsTextOf(column, time === null ? null : String(time))) return [];
    const steps = stepsOf(String(at));
    const path = steps.map((step, index) => (itemPlaces.has(placeOf(steps.slice(0, index + 1))) ? ITEM : step));
    const stray = { path, type: typeOfJson(String(type)), count: Number(count) };
    // SQL sees the text of it, or a number that is rounded: so its column has counted it.
    const isNumber = stray.type === 'int' || stray.type === 'float';
    const seen = column === 'VARCHAR' ? 'string' : column === 'DOUBLE' && isNumber ? 'float' : undefined;
    return seen === undefined ? [stray] : [stray, { ...stray, type: seen, count: -stray.count }];
  });
}
