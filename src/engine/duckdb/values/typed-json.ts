import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBType,
  type DuckDBValue,
  DuckDBVarCharType,
  HUGEINT,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api';
import { isObject, type JsonValue } from '../../../contract/json/json.ts';
import { isTypedShape } from './declared.ts';
import { exactText } from './exact-text.ts';
import { isListShape, isMapShape, isObjectShape, type Scalar, type Shape, widen } from './shape.ts';

/** A value to bind, with its type. */
export interface Typed {
  type: DuckDBType;
  value: DuckDBValue;
}

/** An integer in the smaller fitting wide type of the engine; undefined beyond 128 bits. */
export function integer(value: bigint): Typed | undefined {
  if (BigInt.asIntN(64, value) === value) return { type: BIGINT, value };
  return BigInt.asIntN(128, value) === value ? { type: HUGEINT, value } : undefined;
}

const EMPTY_OBJECT = new DuckDBMapType(VARCHAR, VARCHAR);
const JSON_TYPE = DuckDBVarCharType.create('JSON');

const SCALAR_TYPES: Readonly<Record<Scalar, DuckDBType>> = {
  // Untyped, it fits wherever a value of any type would.
  null: SQLNULL,
  boolean: BOOLEAN,
  int53: BIGINT,
  int64: BIGINT,
  hugeint: HUGEINT,
  double: DOUBLE,
  string: VARCHAR,
  json: JSON_TYPE,
};

function typeOf(shape: Shape): DuckDBType {
  if (isListShape(shape)) return new DuckDBListType(typeOf(shape.element));
  if (isMapShape(shape)) return JSON_TYPE;
  // No JSON value by itself is of these.
  if (isTypedShape(shape)) return VARCHAR;
  if (!isObjectShape(shape)) return SCALAR_TYPES[shape];
  // There is no struct without fields.
  if (shape.fields.size === 0) return JSON_TYPE;
  return new DuckDBStructType([...shape.fields.keys()], [...shape.fields.values()].map(typeOf));
}

function valueAs(type: DuckDBType, value: JsonValue): DuckDBValue {
  if (value === null) return null;
  if (type === JSON_TYPE) return exactText(value);
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
  if (typeof value === 'number' || typeof value === 'bigint') return type === DOUBLE ? Number(value) : BigInt(value);
  if (typeof value === 'object') throw new TypeError('a value is not of the shape that was made of it');
  return value;
}

/**
 * A JSON value with the engine's type for it, by the same rule as for documents (`widen`): the narrowest that keeps
 * every value exactly. What has no such type (mixed items, an integer of more than 128 bits) is JSON, and is bound as JSON
 * text if it is the whole value: the driver cannot bind it otherwise. An object without keys is a map without.
 */
export function typedJson(value: JsonValue): Typed {
  if (isObject(value) && Object.keys(value).length === 0) return { type: EMPTY_OBJECT, value: new DuckDBMapValue([]) };
  const type = typeOf(widen('null', value));
  return { type, value: valueAs(type, value) };
}
