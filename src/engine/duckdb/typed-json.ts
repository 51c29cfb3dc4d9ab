import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBListType,
  DuckDBListValue,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  DuckDBVarCharType,
  HUGEINT,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api';
import { isObject, type JsonValue, stringifyJson } from '../../contract/json.ts';

/** A value as it is bound. */
export interface Typed {
  type: DuckDBType;
  value: DuckDBValue;
}

/** An integer of the smaller of the engine's wide types; undefined beyond 128 bits. */
export function integer(value: bigint): Typed | undefined {
  if (BigInt.asIntN(64, value) === value) return { type: BIGINT, value };
  return BigInt.asIntN(128, value) === value ? { type: HUGEINT, value } : undefined;
}

const JSON_TYPE = DuckDBVarCharType.create('JSON');

const isEmpty = (type: DuckDBType) => type.typeId === DuckDBTypeId.SQLNULL;
const isInteger = (type: DuckDBType) => type.typeId === DuckDBTypeId.BIGINT || type.typeId === DuckDBTypeId.HUGEINT;
const isNumber = (type: DuckDBType) => isInteger(type) || type.typeId === DuckDBTypeId.DOUBLE;

/** A struct's field names fold in the engine, and one without fields does not exist there. */
function isStructLike(names: readonly string[]): boolean {
  return (
    names.length > 0 && new Set(names.map((name) => name.toLowerCase())).size === names.length && !names.includes('')
  );
}

/** The type that holds values of both types; JSON where only JSON does. */
function commonType(a: DuckDBType, b: DuckDBType): DuckDBType {
  if (isEmpty(a) || a === b) return b;
  if (isEmpty(b)) return a;
  if (isInteger(a) && isInteger(b)) return HUGEINT;
  if (isNumber(a) && isNumber(b)) return DOUBLE;
  if (a instanceof DuckDBListType && b instanceof DuckDBListType) {
    return new DuckDBListType(commonType(a.valueType, b.valueType));
  }
  if (a instanceof DuckDBStructType && b instanceof DuckDBStructType) return commonStruct(a, b);
  return JSON_TYPE;
}

function commonStruct(a: DuckDBStructType, b: DuckDBStructType): DuckDBType {
  const names = [...new Set([...a.entryNames, ...b.entryNames])];
  if (!isStructLike(names)) return JSON_TYPE;
  const typeIn = (type: DuckDBStructType, name: string) => type.entryTypes[type.entryNames.indexOf(name)] ?? SQLNULL;
  return new DuckDBStructType(
    names,
    names.map((name) => commonType(typeIn(a, name), typeIn(b, name))),
  );
}

function typeOf(value: JsonValue): DuckDBType {
  if (value === null) return SQLNULL;
  if (typeof value === 'boolean') return BOOLEAN;
  if (typeof value === 'string') return VARCHAR;
  if (typeof value === 'bigint') return integer(value)?.type ?? DOUBLE;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? (integer(BigInt(value))?.type ?? DOUBLE) : DOUBLE;
  if (!isObject(value)) return new DuckDBListType(value.map(typeOf).reduce(commonType, SQLNULL));
  const names = Object.keys(value);
  if (!isStructLike(names)) return JSON_TYPE;
  return new DuckDBStructType(
    names,
    names.map((name) => typeOf(value[name] ?? null)),
  );
}

function valueAs(type: DuckDBType, value: JsonValue): DuckDBValue {
  if (value === null) return null;
  if (type.alias === 'JSON') return stringifyJson(value);
  if (type instanceof DuckDBListType && Array.isArray(value)) {
    return new DuckDBListValue(value.map((item) => valueAs(type.valueType, item)));
  }
  if (type instanceof DuckDBStructType && isObject(value)) {
    const entries: { [key: string]: DuckDBValue } = Object.create(null);
    for (const [index, name] of type.entryNames.entries()) {
      const item = Object.hasOwn(value, name) ? value[name] : null;
      entries[name] = valueAs(type.entryTypes[index] ?? SQLNULL, item ?? null);
    }
    return new DuckDBStructValue(entries);
  }
  if (typeof value === 'number' || typeof value === 'bigint') return isInteger(type) ? BigInt(value) : Number(value);
  return typeof value === 'boolean' || typeof value === 'string' ? value : stringifyJson(value);
}

/**
 * A JSON value with the engine's type for it: numbers are BIGINT, HUGEINT or DOUBLE, arrays LIST of what their items have
 * in common, objects STRUCT; what these cannot hold (mixed items, an empty object) is JSON,
 * and JSON text where it is the whole value: the driver binds no other.
 */
export function typedJson(value: JsonValue): Typed {
  const type = typeOf(value);
  return { type, value: valueAs(type, value) };
}
