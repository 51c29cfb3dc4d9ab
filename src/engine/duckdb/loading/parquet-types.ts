import { type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { DeclaredType } from '../../documents.ts';
import { foldName, quoteName, quoteText } from '../sql/names.ts';
import { declaredBy } from '../values/declared.ts';
import { isFieldName, type Shape } from '../values/shape.ts';
import { spelledSql, type TimeShape, timeType } from '../values/time-text.ts';
import { typeName } from '../values/values.ts';

/** The values of a column of a typed file, as a collection has them. */
export interface TypedValues {
  shape: Shape;
  /** SQL for them, of the type of the shape. */
  sql: string;
  declared?: DeclaredType | undefined;
  /** Whether the shape does not say enough: JSON, whose values have shapes of their own. */
  isUntyped?: boolean;
  /** SQL for values that a document lacks or has otherwise: those that JSON cannot express, and times out of range. */
  isLost?: string;
}

/** As documents show times; those of a file without a zone have none. */
const TIMES: TimeShape = 'time 0000-00-00T00:00:00.000000Z';
const LOCAL_TIMES: TimeShape = 'time 0000-00-00T00:00:00.000000';
const DATES: TimeShape = 'time 0000-00-00';
const INTEGERS = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
]);
const DECIMAL_DIGITS_MAX = 15;
const YEARS = `BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'`;

/**
 * What a column of this type is in a collection. Types that only fields of documents can be declared as are text or
 * numbers within lists and objects; `times`: whether times are recognized, which counts there alone.
 */
export function typedValues(type: DuckDBType, sql: string, times: boolean, level = 0): TypedValues {
  const { typeId } = type;
  if (INTEGERS.has(typeId)) return { shape: 'int53', sql: `CAST(${sql} AS BIGINT)` };
  switch (typeId) {
    case DuckDBTypeId.BOOLEAN:
      return { shape: 'boolean', sql };
    case DuckDBTypeId.BIGINT:
      return { shape: 'int64', sql };
    case DuckDBTypeId.UBIGINT:
    case DuckDBTypeId.HUGEINT:
      return { shape: 'hugeint', sql: `CAST(${sql} AS HUGEINT)` };
    case DuckDBTypeId.DOUBLE:
      return { shape: 'double', sql: `CASE WHEN isfinite(${sql}) THEN ${sql} END`, isLost: `NOT isfinite(${sql})` };
    case DuckDBTypeId.FLOAT:
      // Cast to a double, 0.1 would become 0.10000000149011612.
      return {
        shape: 'double',
        sql: `CASE WHEN isfinite(${sql}) THEN CAST(CAST(${sql} AS VARCHAR) AS DOUBLE) END`,
        isLost: `NOT isfinite(${sql})`,
      };
    case DuckDBTypeId.VARCHAR:
      return typeName(type) === 'JSON' ? { shape: 'json', sql, isUntyped: true } : { shape: 'string', sql };
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
      return listValues(type, sql, times, level);
    case DuckDBTypeId.STRUCT:
      return structValues(type, sql, times, level);
    case DuckDBTypeId.MAP:
      return mapValues(type, sql, times, level);
    case DuckDBTypeId.SQLNULL:
      return { shape: 'null', sql: 'NULL::JSON' };
    default:
      return declaredValues(type, sql, times, level);
  }
}

function declaredValues(type: DuckDBType, sql: string, times: boolean, level: number): TypedValues {
  const declared = declaredBy(type);
  if (declared === undefined) return { shape: 'string', sql: `CAST(${sql} AS VARCHAR)` };
  if (declared === 'time') return timeValues(type, sql, times || level === 0, declared);
  if (level === 0) return { shape: declared, sql, declared };
  if (declared === 'binary') return { shape: 'string', sql: `base64(${sql})` };
  if (type.typeId !== DuckDBTypeId.DECIMAL) return { shape: 'string', sql: `CAST(${sql} AS VARCHAR)` };
  return type.width <= DECIMAL_DIGITS_MAX
    ? { shape: 'double', sql: `CAST(${sql} AS DOUBLE)` }
    : { shape: 'string', sql: `CAST(${sql} AS VARCHAR)` };
}

/** Times have microseconds: further digits are dropped. */
function timeValues(type: DuckDBType, sql: string, isTime: boolean, declared: DeclaredType): TypedValues {
  const isDate = type.typeId === DuckDBTypeId.DATE;
  const isLocal = !isDate && type.typeId !== DuckDBTypeId.TIMESTAMP_TZ;
  const shape = isDate ? DATES : isLocal ? LOCAL_TIMES : TIMES;
  const fits = `isfinite(${sql}) AND CAST(${sql} AS DATE) ${YEARS}`;
  const held = `CASE WHEN ${fits} THEN CAST(${sql} AS ${timeType(shape)}) END`;
  const isLost = `NOT (${fits})`;
  if (!isTime) return { shape: 'string', sql: spelledSql(held, shape), isLost };
  return { shape, sql: held, declared, isLost };
}

function listValues(
  type: Extract<DuckDBType, { valueType: DuckDBType }>,
  sql: string,
  times: boolean,
  level: number,
): TypedValues {
  const item = `x${level}`;
  const inner = typedValues(type.valueType, item, times, level + 1);
  if (inner.isUntyped === true) return { shape: 'json', sql: `to_json(${sql})`, isUntyped: true };
  const isList = type.typeId === DuckDBTypeId.LIST;
  const list = isList ? sql : `CAST(${sql} AS ${typeName(type.valueType)}[])`;
  const values = inner.sql === item ? list : `list_transform(${list}, lambda ${item}: ${inner.sql})`;
  const isLost = inner.isLost && `len(list_filter(${list}, lambda ${item}: coalesce(${inner.isLost}, false))) > 0`;
  return { shape: { element: inner.shape }, sql: values, ...(isLost === undefined ? {} : { isLost }) };
}

function structValues(
  type: Extract<DuckDBType, { entryNames: readonly string[] }>,
  sql: string,
  times: boolean,
  level: number,
): TypedValues {
  const untyped: TypedValues = { shape: 'json', sql: `to_json(${sql})`, isUntyped: true };
  const names = new Set(type.entryNames.map(foldName));
  if (names.size < type.entryNames.length || !type.entryNames.every(isFieldName)) return untyped;
  const members: string[] = [];
  const lost: string[] = [];
  const fields = new Map<string, Shape>();
  let isChanged = false;
  for (const [index, name] of type.entryNames.entries()) {
    const own = `struct_extract(${sql}, ${quoteText(name)})`;
    const inner = typedValues(type.entryTypes[index] as DuckDBType, own, times, level + 1);
    if (inner.isUntyped === true) return untyped;
    isChanged ||= inner.sql !== own;
    if (inner.isLost !== undefined) lost.push(`coalesce(${inner.isLost}, false)`);
    members.push(`${quoteName(name)} := ${inner.sql}`);
    fields.set(name, inner.shape);
  }
  const packed = `CASE WHEN ${sql} IS NOT NULL THEN struct_pack(${members.join(', ')}) END`;
  return {
    shape: { fields },
    sql: isChanged ? packed : sql,
    ...(lost.length === 0 ? {} : { isLost: `(${lost.join(' OR ')})` }),
  };
}

/** Keys in order, since two maps are equal only if theirs are in the same. */
function mapValues(
  type: Extract<DuckDBType, { keyType: DuckDBType }>,
  sql: string,
  times: boolean,
  level: number,
): TypedValues {
  const entry = `x${level}`;
  const value = `struct_extract(${entry}, 'value')`;
  const inner = typedValues(type.valueType, value, times, level + 1);
  if (inner.isUntyped === true) return { shape: 'json', sql: `to_json(${sql})`, isUntyped: true };
  const entries = `list_filter(map_entries(${sql}), lambda ${entry}: ${value} IS NOT NULL)`;
  const pairs = `list_transform(${entries}, lambda ${entry}: {'key': CAST(struct_extract(${entry}, 'key') AS VARCHAR), 'value': ${inner.sql}})`;
  const isLost =
    inner.isLost && `len(list_filter(map_entries(${sql}), lambda ${entry}: coalesce(${inner.isLost}, false))) > 0`;
  return {
    shape: { values: inner.shape, keys: undefined },
    sql: `CASE WHEN ${sql} IS NOT NULL THEN map_from_entries(list_sort(${pairs})) END`,
    ...(isLost === undefined ? {} : { isLost }),
  };
}

/** Whether there are decimals within lists or objects that a double does not hold, and that are text for that. */
export function holdsLongDecimals(type: DuckDBType, level = 0): boolean {
  switch (type.typeId) {
    case DuckDBTypeId.DECIMAL:
      return level > 0 && type.width > DECIMAL_DIGITS_MAX;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY:
    case DuckDBTypeId.MAP:
      return holdsLongDecimals(type.valueType, level + 1);
    case DuckDBTypeId.STRUCT:
      return type.entryTypes.some((one) => holdsLongDecimals(one, level + 1));
    default:
      return false;
  }
}
