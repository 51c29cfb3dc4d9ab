import { DuckDBDecimalValue, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { JsonValue } from '../../../contract/json/json.ts';
import { withoutTrailing } from '../../../contract/text.ts';
import type { DeclaredType } from '../../engine.ts';
import { isTimeShape, type TimeShape, timeIn } from './time-text.ts';
import { AS_NUMBERS, DECIMAL_DIGITS_MAX, exactDecimal } from './values.ts';

/*
 * Types that no value of JSON has by itself: what brings the documents declares them, such as the SQL of a field
 * mapping. A document has such a value as answers do: a decimal as a number, or as text beyond 15 digits; bytes as
 * base64; the others as text.
 */

/** The shape of a column of a declared type, but for times, whose shape has how they are spelled. */
export type DeclaredShape = Exclude<DeclaredType, 'time' | 'datetime'>;
type DecimalShape = Extract<DeclaredShape, `decimal ${string}`>;
/** The shape of a column whose values documents have as text, or as a number, and the engine as another type. */
export type TypedShape = TimeShape | DeclaredShape;

const DECIMAL = /^decimal (\d+) (\d+)$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CLOCK = /^([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const NUMBER = /^-?\d{1,40}(?:\.\d{1,40})?$/;

export function isDeclaredShape(shape: unknown): shape is DeclaredShape {
  return shape === 'uuid' || shape === 'binary' || shape === 'clock' || isDecimal(shape);
}

export function isTypedShape(shape: unknown): shape is TypedShape {
  return isTimeShape(shape) || isDeclaredShape(shape);
}

export function isDecimal(shape: unknown): shape is DecimalShape {
  return typeof shape === 'string' && DECIMAL.test(shape);
}

/** Whether a double holds every decimal of the type. */
export function isShortDecimal(shape: unknown): boolean {
  return isDecimal(shape) && digitsOf(shape)[0] <= DECIMAL_DIGITS_MAX;
}

/** The engine's type of such a column. */
export function declaredSqlType(shape: DeclaredShape): string {
  if (isDecimal(shape)) return `DECIMAL(${digitsOf(shape).join(',')})`;
  return { uuid: 'UUID', binary: 'BLOB', clock: 'TIME' }[shape];
}

/** What the type of an expression declares of its values; undefined: nothing, they are as JSON has them. */
export function declaredBy(type: DuckDBType): 'time' | DeclaredShape | undefined {
  switch (type.typeId) {
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_TZ:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
    case DuckDBTypeId.TIMESTAMP_NS:
      return 'time';
    case DuckDBTypeId.TIME:
      return 'clock';
    case DuckDBTypeId.UUID:
      return 'uuid';
    case DuckDBTypeId.BLOB:
      return 'binary';
    case DuckDBTypeId.DECIMAL:
      return `decimal ${type.width} ${type.scale}`;
    default:
      return undefined;
  }
}

/**
 * What a column of this type holds of a value, which is the value itself if the column gives it back; undefined: the value
 * does not fit. Only times and UUIDs can be spelled otherwise than they come back.
 */
export function typedIn(value: JsonValue, shape: TypedShape): JsonValue | undefined {
  if (isDecimal(shape)) return decimalIn(value, shape) === value ? value : undefined;
  if (typeof value !== 'string') return undefined;
  if (isTimeShape(shape)) return timeIn(value, shape);
  if (shape === 'uuid') return UUID.test(value) ? value.toLowerCase() : undefined;
  if (shape === 'binary') return isBase64(value) ? value : undefined;
  return CLOCK.test(value) ? clockText(value) : undefined;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text) && Buffer.from(text, 'base64').toString('base64') === text;
}

/** As the engine writes it. */
function clockText(text: string): string {
  const [seconds = '', fraction = ''] = (text.length === 5 ? `${text}:00` : text).split('.');
  const digits = withoutTrailing(fraction, '0');
  return digits === '' ? seconds : `${seconds}.${digits}`;
}

function decimalIn(value: JsonValue, shape: DecimalShape): JsonValue | undefined {
  const [width, scale] = digitsOf(shape);
  const text = plainText(value);
  if (!NUMBER.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  const digits = withoutTrailing(fraction, '0');
  const unscaled = BigInt(whole + digits.slice(0, scale).padEnd(scale, '0'));
  if (digits.length > scale || String(unscaled).replace('-', '').length > width) return undefined;
  if (scale > 0) return exactDecimal(new DuckDBDecimalValue(unscaled, width, scale));
  return AS_NUMBERS.integer(unscaled);
}

/** A number without an exponent, as far as decimals go. */
function plainText(value: JsonValue): string {
  if (typeof value === 'string' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') return '';
  const [mantissa = '', exponent = ''] = String(value).split('e-');
  if (exponent === '') return mantissa;
  const digits = mantissa.replace('.', '').replace('-', '');
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(Number(exponent) - 1)}${digits}`;
}

/** Whether a text is a decimal of more digits than a double holds, as documents have such. */
export function isLongDecimal(value: JsonValue): value is string {
  if (typeof value !== 'string' || !NUMBER.test(value) || !value.includes('.')) return false;
  return withoutTrailing(value.replace(/^[-0.]+|\./g, ''), '0').length > DECIMAL_DIGITS_MAX;
}

/**
 * The number within `from` that leaves digits of a decimal, which was computed from it, unsure: a double has 15. `isCast`:
 * the decimal has the digits of its text.
 */
export function unsureIn(from: JsonValue, decimal: JsonValue, isCast: boolean): number | undefined {
  // Up to 15 digits are a number; and a double has integers up to 2^53.
  if (typeof decimal !== 'string' || BigInt(decimal.replace(/[-.]/g, '')) <= Number.MAX_SAFE_INTEGER) return undefined;
  if (typeof from === 'object' && from !== null) {
    return Object.values(from)
      .map((one) => unsureIn(one ?? null, decimal, false))
      .find((one) => one !== undefined);
  }
  if (typeof from !== 'number' || Number.isSafeInteger(from)) return undefined;
  const digits = withoutTrailing((String(from).split('e')[0] ?? '').replace(/^[-0.]+|\./g, ''), '0');
  return isCast && digits.length <= DECIMAL_DIGITS_MAX ? undefined : from;
}

function digitsOf(shape: DecimalShape): [width: number, scale: number] {
  const [, width, scale] = DECIMAL.exec(shape) ?? [];
  return [Number(width), Number(scale)];
}

/** The JSON text of a decimal that fits, for the engine to store: as a number it would go through a double. */
export function decimalText(value: JsonValue): string {
  return `"${plainText(value)}"`;
}

/** SQL for what a column of this shape stores, given what `from_json` makes of it as `structureOfColumns` says. */
export function storedSql(sql: string, shape: unknown): string {
  if (isDecimal(shape)) return `CAST(${sql} AS ${declaredSqlType(shape)})`;
  return shape === 'binary' ? `from_base64(${sql})` : sql;
}

/** SQL for the JSON of such a value, as documents have it. */
export function declaredJson(sql: string, shape: DeclaredShape): string {
  if (shape === 'binary') return `to_json(base64(${sql}))`;
  if (!isDecimal(shape) || digitsOf(shape)[1] === 0) return `to_json(${sql})`;
  const digits = `trim(replace(replace(CAST(${sql} AS VARCHAR), '-', ''), '.', ''), '0')`;
  return `CASE WHEN length(${digits}) <= ${DECIMAL_DIGITS_MAX} THEN to_json(${sql}) ELSE to_json(CAST(${sql} AS VARCHAR)) END`;
}
