import type { JsonValue } from '../json/json.ts';
import { withoutTrailing } from '../text.ts';
import type { AvroCursor } from './cursor.ts';

export type Read = (cursor: AvroCursor) => JsonValue;

interface Decimals {
  longDecimal(): void;
  mayBeLong(): void;
  isText(): boolean;
}

/** A double holds every decimal of so many digits. */
const DECIMAL_DIGITS_MAX = 15;
const SCALE_MAX = 10_000;
/** A year that has more than four digits, or is before 0, is not one of ISO text as others read it. */
const [MS_MIN, MS_MAX] = [Date.UTC(0, 0, 1) - 1_900 * 366 * 86_400_000, Date.UTC(9999, 11, 31, 23, 59, 59, 999)];

/**
 * How to read a logical type, given how its underlying type is read; that itself if the logical type is none of Avro's,
 * or does not go with it, as the specification says.
 */
export function logicalReader(schema: Record<string, unknown>, read: Read, decimals: Decimals): Read {
  const { type, logicalType, size } = schema;
  const of = (kind: unknown, convert: (value: JsonValue) => JsonValue): Read =>
    type === kind ? (cursor) => convert(read(cursor)) : read;
  switch (logicalType) {
    case 'date':
      return of('int', (days) => instant(BigInt(Number(days)) * 86_400_000_000n, 0)?.slice(0, 10) ?? days);
    case 'time-millis':
      return of('int', (ms) => clock(Number(ms) * 1_000) ?? ms);
    case 'time-micros':
      return of('long', (us) => clock(Number(us)) ?? us);
    case 'timestamp-millis':
    case 'local-timestamp-millis':
      return of('long', (ms) => timestamp(BigInt(ms as number) * 1_000n, 6, logicalType) ?? ms);
    case 'timestamp-micros':
    case 'local-timestamp-micros':
      return of('long', (us) => timestamp(BigInt(us as number), 6, logicalType) ?? us);
    case 'timestamp-nanos':
    case 'local-timestamp-nanos':
      return of('long', (ns) => timestamp(BigInt(ns as number), 9, logicalType) ?? ns);
    case 'uuid':
      return type === 'fixed' && size === 16 ? (cursor) => uuid(bytesOf(read(cursor)).toString('hex')) : read;
    case 'duration':
      return type === 'fixed' && size === 12 ? (cursor) => duration(bytesOf(read(cursor))) : read;
    case 'decimal':
      return decimalReader(schema, read, decimals);
    default:
      return read;
  }
}

const bytesOf = (base64: JsonValue) => Buffer.from(base64 as string, 'base64');

function uuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function duration(bytes: Buffer): string {
  const ms = bytes.readUInt32LE(8);
  return `P${bytes.readUInt32LE(0)}M${bytes.readUInt32LE(4)}DT${ms / 1_000}S`;
}

function timestamp(ticks: bigint, digits: 6 | 9, logicalType: string): string | undefined {
  const extra = digits === 9 ? ((ticks % 1_000n) + 1_000n) % 1_000n : 0n;
  const micros = digits === 9 ? (ticks - extra) / 1_000n : ticks;
  const text = instant(micros, Number(extra));
  return text && `${text}${logicalType.startsWith('local-') ? '' : 'Z'}`;
}

/** ISO text with microseconds, and nanoseconds if there are any; undefined for a year that it has not. */
function instant(micros: bigint, nanos: number): string | undefined {
  const fraction = ((micros % 1_000n) + 1_000n) % 1_000n;
  const ms = Number((micros - fraction) / 1_000n);
  if (ms < MS_MIN || ms > MS_MAX) return undefined;
  const text = new Date(ms).toISOString().slice(0, -1);
  return `${text}${String(fraction).padStart(3, '0')}${nanos === 0 ? '' : String(nanos).padStart(3, '0')}`;
}

function clock(micros: number): string | undefined {
  if (micros < 0 || micros >= 86_400_000_000) return undefined;
  const text = instant(BigInt(micros), 0)?.slice(11);
  return text && withoutTrailing(withoutTrailing(text, '0'), '.');
}

function decimalReader(schema: Record<string, unknown>, read: Read, decimals: Decimals): Read {
  const { type, precision } = schema;
  const scale = schema['scale'] ?? 0;
  const isOne = (type === 'bytes' || type === 'fixed') && Number.isSafeInteger(precision);
  if (!isOne || !Number.isSafeInteger(scale) || Number(scale) < 0 || Number(scale) > SCALE_MAX) return read;
  const { longDecimal, isText, mayBeLong } = decimals;
  if (Number(scale) > 0 && Number(precision) > DECIMAL_DIGITS_MAX) mayBeLong();
  return (cursor) => {
    const unscaled = twosComplement(bytesOf(read(cursor)));
    if (Number(scale) === 0) return Number.isSafeInteger(Number(unscaled)) ? Number(unscaled) : unscaled;
    const text = decimalText(unscaled, Number(scale));
    const digits = withoutTrailing(String(unscaled < 0n ? -unscaled : unscaled), '0').length;
    if (digits > DECIMAL_DIGITS_MAX) longDecimal();
    return digits > DECIMAL_DIGITS_MAX || isText() ? text : Number(text);
  };
}

function twosComplement(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
