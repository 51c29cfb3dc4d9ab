import {
  DuckDBArrayVector,
  type DuckDBBlobValue,
  type DuckDBDateValue,
  type DuckDBDecimalValue,
  type DuckDBGeometryValue,
  DuckDBListVector,
  DuckDBMapVector,
  DuckDBStructVector,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionVector,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api';
import { shortestFloat } from '../../../contract/json/floats.ts';
import { type JsonValue, parseJson, setField, stringifyJson } from '../../../contract/json/json.ts';
import { KEYS_MAX, type ReadLimits } from '../../../contract/json/json-reader.ts';
import { withoutTrailing } from '../../../contract/text.ts';
import { quoteName } from '../sql/names.ts';
import { AT_ONCE_CHARS, type Bits, type FromJson, finish, JSON_LIMITS, jsonBits, jsonInOneGo } from './json-bits.ts';
import { dateText, timestampText } from './value-text.ts';

/** Reads one row of a column as JSON. */
export interface Reader {
  (vector: DuckDBVector, row: number): JsonValue;
  /** The same bit by bit, for values of many items: yields about how many bytes of JSON text each bit takes. */
  bits?(vector: DuckDBVector, row: number): Bits;
}

/** Items that are read as one bit. */
const BIT_ITEMS = 256;

function* bitsOf(read: Reader, vector: DuckDBVector, row: number): Bits {
  if (read.bits !== undefined) return yield* read.bits(vector, row);
  const value = read(vector, row);
  yield estimateBytes(value);
  return value;
}

/** A reader of values that are not composite; NULL is always null. */
function leaf<T>(convert: (value: T) => JsonValue): Reader {
  return (vector, row) => {
    const value = vector.getItem(row);
    return value === null ? null : convert(value as T);
  };
}

const asIs: Reader = (vector, row) => vector.getItem(row) as JsonValue;
const asText = leaf<DuckDBValue>(String);

/** Integers that a double cannot hold become text. */
function exactInteger(value: bigint): number | string {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString();
}

/** JSON has no NaN or infinities: they become text. */
function exactDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** A double holds every decimal of so many digits. */
export const DECIMAL_DIGITS_MAX = 15;

function decimalReader(width: number, scale: number, numbers: Numbers): Reader {
  // Both are exact, so the quotient is the double nearest to the decimal.
  if (width <= DECIMAL_DIGITS_MAX) return leaf<DuckDBDecimalValue>((decimal) => Number(decimal.value) / 10 ** scale);
  if (scale === 0) return leaf<DuckDBDecimalValue>(({ value }) => numbers.integer(value));
  const read = numbers.decimal ?? exactDecimal;
  return leaf<DuckDBDecimalValue>(read);
}

/** A decimal of more digits than a double holds becomes text, with all of them. */
export function exactDecimal(decimal: DuckDBDecimalValue): number | string {
  const digits = (decimal.value < 0n ? -decimal.value : decimal.value).toString();
  return withoutTrailing(digits, '0').length <= DECIMAL_DIGITS_MAX ? Number(decimal.toString()) : decimal.toString();
}

function jsonReader({ json, jsonBits: bits }: Numbers, limits?: ReadLimits): Reader {
  const reader: Reader = leaf<string>((text) => json(text, limits));
  if (bits === undefined) return reader;
  reader.bits = function* (vector, row) {
    const text = vector.getItem(row);
    if (typeof text !== 'string') return null;
    if (text.length > AT_ONCE_CHARS) return yield* bits(text, limits);
    yield text.length;
    return json(text, limits);
  };
  return reader;
}

/** The reader for a column of strays, which are read however many they are. */
export function straysReader(numbers: Numbers = AS_TEXT): Reader {
  return jsonReader(numbers, { ...JSON_LIMITS, keysMax: Number.POSITIVE_INFINITY });
}

function listReader(readItem: Reader): Reader {
  // The driver has no other way to check for NULL without copying the items.
  const listOf = (vector: DuckDBVector, row: number) =>
    vector instanceof DuckDBListVector && vector['validity'].itemValid(row) ? vector : null;
  const reader: Reader = (vector, row) => {
    const list = listOf(vector, row);
    return list === null
      ? null
      : readItems(readItem, list.childVector, list.getEntryOffset(row), list.getEntryLength(row));
  };
  reader.bits = function* (vector, row) {
    const list = listOf(vector, row);
    if (list === null) return null;
    const [items, from, length] = [list.childVector, list.getEntryOffset(row), list.getEntryLength(row)];
    const values: JsonValue[] = [];
    for (let at = 0; at < length; ) {
      if (readItem.bits !== undefined) values.push(yield* readItem.bits(items, from + at++));
      else {
        const bit = readItems(readItem, items, from + at, Math.min(BIT_ITEMS, length - at));
        yield estimateBytes(bit);
        for (const value of bit) values.push(value);
        at += bit.length;
      }
    }
    return values;
  };
  return reader;
}

function readItems(read: Reader, items: DuckDBVector, from: number, length: number): JsonValue[] {
  const values: JsonValue[] = new Array(length);
  for (let index = 0; index < length; index++) values[index] = read(items, from + index);
  return values;
}

function arrayReader(length: number, readItem: Reader): Reader {
  return (vector, row) => {
    if (!(vector instanceof DuckDBArrayVector) || !vector['validity'].itemValid(row)) return null;
    const items = vector['childData'];
    return Array.from({ length }, (_, index) => readItem(items, row * length + index));
  };
}

/**
 * A struct becomes an object without the members that are NULL, since a document that lacks a key and one in which it
 * is null are the same; a struct without names, from `row(1, 2)` or list_zip(), becomes a list.
 */
function structReader(names: readonly string[], readers: readonly Reader[]): Reader {
  const hasNames = names.some((name) => name !== '');
  const reader: Reader = (vector, row) => {
    if (!(vector instanceof DuckDBStructVector) || !vector.isItemValid(row)) return null;
    if (!hasNames) return readers.map((read, index) => read(vector.entryVectorAt(index), row));
    const object: { [key: string]: JsonValue } = {};
    for (let index = 0; index < names.length; index++) {
      const value = readers[index]?.(vector.entryVectorAt(index), row) ?? null;
      if (value !== null) setField(object, names[index] ?? '', value);
    }
    return object;
  };
  if (!readers.some(({ bits }) => bits !== undefined)) return reader;
  reader.bits = function* (vector, row) {
    if (!(vector instanceof DuckDBStructVector) || !vector.isItemValid(row)) return null;
    const values: JsonValue[] = [];
    for (const [index, read] of readers.entries()) values.push(yield* bitsOf(read, vector.entryVectorAt(index), row));
    if (!hasNames) return values;
    const object: { [key: string]: JsonValue } = {};
    for (const [index, name] of names.entries()) {
      const value = values[index] ?? null;
      if (value !== null) setField(object, name, value);
    }
    return object;
  };
  return reader;
}

/**
 * A MAP with text keys becomes an object without the keys whose value is NULL, or the JSON text of one with more keys
 * than are listed in a moment; any other MAP a list of `{key, value}`.
 */
function mapReader(hasTextKeys: boolean, readKey: Reader, readValue: Reader): Reader {
  const entriesOf = (vector: DuckDBVector, row: number) => {
    if (!(vector instanceof DuckDBMapVector)) return null;
    const list = vector['listVector'];
    const entries = list['validity'].itemValid(row) ? list.childVector : null;
    if (!(entries instanceof DuckDBStructVector)) return null;
    const from = list.getEntryOffset(row);
    return {
      keys: entries.entryVectorAt(0),
      values: entries.entryVectorAt(1),
      from,
      end: from + list.getEntryLength(row),
    };
  };
  const reader: Reader = (vector, row) => {
    const entries = entriesOf(vector, row);
    if (entries === null) return null;
    if (hasTextKeys && entries.end - entries.from > KEYS_MAX) return finish(reader.bits?.(vector, row));
    const { keys, values, from, end } = entries;
    const rows = Array.from({ length: end - from }, (_, index) => from + index);
    if (!hasTextKeys) return rows.map((at) => ({ key: readKey(keys, at), value: readValue(values, at) }));
    const object: { [key: string]: JsonValue } = {};
    for (const at of rows) {
      const value = readValue(values, at);
      if (value !== null) setField(object, String(readKey(keys, at)), value);
    }
    return object;
  };
  reader.bits = function* (vector, row) {
    const entries = entriesOf(vector, row);
    if (entries === null) return null;
    const { keys, values, from, end } = entries;
    const list: JsonValue[] = [];
    const object: { [key: string]: JsonValue } = {};
    const members: string[] = [];
    const isText = hasTextKeys && end - from > KEYS_MAX;
    for (let at = from; at < end; at++) {
      const key = yield* bitsOf(readKey, keys, at);
      const value = yield* bitsOf(readValue, values, at);
      if (!hasTextKeys) list.push({ key, value });
      else if (value === null) continue;
      else if (isText) members.push(`${JSON.stringify(key)}:${stringifyJson(value)}`);
      else setField(object, String(key), value);
    }
    if (isText) return `{${members.join(',')}}`;
    return hasTextKeys ? object : list;
  };
  return reader;
}

function unionReader(readers: readonly Reader[]): Reader {
  return (vector, row) => {
    if (!(vector instanceof DuckDBUnionVector)) return null;
    const struct = vector['structVector'];
    const member = struct.getItemValue(row, 0);
    if (member === null) return null;
    const index = Number(member);
    return readers[index]?.(struct.entryVectorAt(index + 1), row) ?? null;
  };
}

const BIGINTS = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.BIGNUM,
]);
const SMALL = new Set([
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.ENUM,
  DuckDBTypeId.SQLNULL,
]);

/** How a reader converts numbers that a double, or JSON, does not have. */
export interface Numbers {
  integer: (value: bigint) => JsonValue;
  /** For a decimal with a fraction, of a type with more than 15 digits; absent: `exactDecimal`. */
  decimal?: (value: DuckDBDecimalValue) => JsonValue;
  double: (value: number) => JsonValue;
  json: (text: string, limits?: ReadLimits) => JsonValue;
  /** The same bit by bit; absent: in one go. */
  jsonBits?: (text: string, limits?: ReadLimits) => Bits;
}

const TEXT_NUMBERS: FromJson = { integer: exactInteger, double: exactDouble };

/** For an answer: as text. */
const AS_TEXT: Numbers = {
  integer: exactInteger,
  double: exactDouble,
  json: (text, limits) => jsonInOneGo(text, TEXT_NUMBERS, limits),
  jsonBits: (text, limits) => jsonBits(text, TEXT_NUMBERS, limits),
};

const asInteger: Numbers['integer'] = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

const LINE_NUMBERS: FromJson = { integer: asInteger, double: exactDouble };

/** For a JSON file: as in an answer, except that integers are numbers however long they are. */
export const AS_LINES: Numbers = {
  integer: asInteger,
  double: exactDouble,
  json: (text, limits) => jsonInOneGo(text, LINE_NUMBERS, limits),
  jsonBits: (text, limits) => jsonBits(text, LINE_NUMBERS, limits),
};

/** For a document: integers as they are; the caller has to refuse NaN and infinities. */
export const AS_NUMBERS: Numbers = { integer: asInteger, double: (value) => value, json: parseJson };

/** The reader for a column: chosen once, since it runs once per value. */
export function readerOf(type: DuckDBType, numbers: Numbers = AS_TEXT): Reader {
  if (SMALL.has(type.typeId)) return asIs;
  if (BIGINTS.has(type.typeId)) return leaf<bigint>(numbers.integer);
  switch (type.typeId) {
    case DuckDBTypeId.VARCHAR:
      return isJson(type) ? jsonReader(numbers) : asIs;
    case DuckDBTypeId.DOUBLE:
      return leaf<number>(numbers.double);
    case DuckDBTypeId.FLOAT:
      return leaf<number>((value) => (Number.isFinite(value) ? shortestFloat(value) : numbers.double(value)));
    case DuckDBTypeId.DECIMAL:
      return decimalReader(type.width, type.scale, numbers);
    case DuckDBTypeId.DATE:
      return leaf<DuckDBDateValue>(dateText);
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_TZ:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
    case DuckDBTypeId.TIMESTAMP_NS:
      return leaf<Parameters<typeof timestampText>[0]>(timestampText);
    case DuckDBTypeId.BLOB:
    case DuckDBTypeId.GEOMETRY:
      return leaf<DuckDBBlobValue | DuckDBGeometryValue>(({ bytes }) => Buffer.from(bytes).toString('base64'));
    case DuckDBTypeId.LIST:
      return listReader(readerOf(type.valueType, numbers));
    case DuckDBTypeId.ARRAY:
      return arrayReader(type.length, readerOf(type.valueType, numbers));
    case DuckDBTypeId.STRUCT:
      return structReader(
        type.entryNames,
        type.entryTypes.map((entry) => readerOf(entry, numbers)),
      );
    case DuckDBTypeId.MAP:
      return mapReader(
        type.keyType.typeId === DuckDBTypeId.VARCHAR,
        readerOf(type.keyType, numbers),
        readerOf(type.valueType, numbers),
      );
    case DuckDBTypeId.UNION:
      return unionReader(type.memberTypes.map((member) => readerOf(member, numbers)));
    default:
      return asText;
  }
}

function isJson(type: DuckDBType): boolean {
  return type.alias === 'JSON';
}

/**
 * The SQL name of a type, as in `column_fields`: the engine's, except that JSON is called JSON at every depth.
 * `instead` may give another type for each part of it.
 */
export function typeName(type: DuckDBType, instead?: (part: DuckDBType) => string | undefined): string {
  const other = instead?.(type);
  if (other !== undefined) return other;
  if (isJson(type)) return 'JSON';
  switch (type.typeId) {
    case DuckDBTypeId.LIST:
      return `${typeName(type.valueType, instead)}[]`;
    case DuckDBTypeId.ARRAY:
      return `${typeName(type.valueType, instead)}[${type.length}]`;
    case DuckDBTypeId.STRUCT:
      return `STRUCT(${partNames(type.entryNames, type.entryTypes, instead)})`;
    case DuckDBTypeId.UNION:
      return `UNION(${partNames(type.memberTags, type.memberTypes, instead)})`;
    case DuckDBTypeId.MAP:
      return `MAP(${typeName(type.keyType, instead)}, ${typeName(type.valueType, instead)})`;
    default:
      return type.toString();
  }
}

function partNames(names: readonly string[], types: readonly DuckDBType[], instead: Parameters<typeof typeName>[1]) {
  return types.map((type, index) => `${quoteName(names[index] ?? '')} ${typeName(type, instead)}`).join(', ');
}

/** Estimates the bytes of a value as JSON text: accurate enough to keep a result within its limit. */
export function estimateBytes(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value) bytes += estimateBytes(item);
  else for (const [key, item] of Object.entries(value)) bytes += key.length + 4 + estimateBytes(item);
  return bytes;
}
