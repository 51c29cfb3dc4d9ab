import { isObject } from '../../contract/json/json.ts';
import type { SourceChange } from './source.ts';

export type Declared = NonNullable<SourceChange['declared']>;
type Type = Declared extends ReadonlyMap<string, infer T> ? T : never;

const DECIMAL_DIGITS_MAX = 38;

/** The types of the fields of a record in Avro that JSON has not. */
export function declaredOfSchema(schema: unknown): Declared {
  const declared = new Map<string, Type>();
  if (!isObject(schema) || schema['type'] !== 'record' || !Array.isArray(schema['fields'])) return declared;
  for (const field of schema['fields']) {
    if (!isObject(field) || typeof field['name'] !== 'string') continue;
    const type = typeOf(withoutNull(field['type']));
    if (type !== undefined) declared.set(field['name'], type);
  }
  return declared;
}

/** A union of a type and null is that type, which may be missing. */
function withoutNull(type: unknown): unknown {
  if (!Array.isArray(type)) return type;
  const others = type.filter((one) => one !== 'null');
  return others.length === 1 ? others[0] : undefined;
}

function typeOf(type: unknown): Type | undefined {
  if (type === 'bytes') return 'binary';
  if (!isObject(type)) return undefined;
  const { type: kind, logicalType, precision, scale = 0, size } = type;
  switch (`${String(kind)} ${String(logicalType)}`) {
    case 'int date':
    case 'long timestamp-millis':
    case 'long timestamp-micros':
    case 'long local-timestamp-millis':
    case 'long local-timestamp-micros':
      return 'time';
    case 'int time-millis':
    case 'long time-micros':
      return 'clock';
    case 'string uuid':
      return 'uuid';
    case 'fixed uuid':
      return size === 16 ? 'uuid' : 'binary';
    case 'bytes decimal':
    case 'fixed decimal':
      return decimalType(precision, scale);
    case 'fixed duration':
      return size === 12 ? undefined : 'binary';
    default:
      return kind === 'bytes' || kind === 'fixed' ? 'binary' : undefined;
  }
}

/** Without a fraction it is an integer, which JSON has. */
function decimalType(precision: unknown, scale: unknown): Type | undefined {
  if (!Number.isSafeInteger(precision) || !Number.isSafeInteger(scale)) return 'binary';
  const [digits, fraction] = [Number(precision), Number(scale)];
  if (digits < 1 || digits > DECIMAL_DIGITS_MAX || fraction < 1 || fraction > digits) return undefined;
  return `decimal ${digits} ${fraction}`;
}
