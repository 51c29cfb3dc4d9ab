import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { exactNumber, type JsonObject, type JsonValue, setField } from '../../contract/json/json.ts';
import { withoutTrailing } from '../../contract/text.ts';
import type { NewDocument } from '../../engine/engine.ts';
import { shortDecimal } from './decimals.ts';

/*
 * DynamoDB's types as documents have them. Its numbers have up to 38 digits: what a double cannot hold stays exact, integers
 * as `bigint`, fractions as text.
 */

export type Item = Readonly<Record<string, AttributeValue>>;

const DECIMAL_DIGITS_MAX = 38;
/** A column is as its first long decimal was, so it gets room for others. */
const SCALE_MIN = 10;
const NUMBER = /^([+-]?)(\d{0,200})(?:\.(\d{0,200}))?(?:[eE]([+-]?\d{1,3}))?$/;

/** A value of a type that the client does not know. */
export class UnknownTypeError extends Error {}

/** An item as a document, with the types of its fields that JSON does not have. Throws `UnknownTypeError`. */
export function documentOfItem(item: Item): { document: JsonObject; declared?: NewDocument['declared'] } {
  const document: JsonObject = {};
  const declared = new Map<string, 'binary' | `decimal ${number} ${number}`>();
  for (const [name, attribute] of Object.entries(item)) {
    const value = jsonOf(attribute);
    setField(document, name, value);
    if (attribute.B !== undefined) declared.set(name, 'binary');
    if (attribute.N === undefined || typeof value !== 'string') continue;
    const type = decimalType(value);
    if (type !== undefined) declared.set(name, type);
  }
  return declared.size === 0 ? { document } : { document, declared };
}

function jsonOf(attribute: AttributeValue | undefined): JsonValue {
  const { S, N, B, BOOL, M, L, SS, NS, BS, NULL } = attribute ?? {};
  if (S !== undefined) return S;
  if (N !== undefined) return numberOf(N);
  if (BOOL !== undefined) return BOOL;
  if (M !== undefined) {
    const object: JsonObject = {};
    for (const [name, value] of Object.entries(M)) setField(object, name, jsonOf(value));
    return object;
  }
  if (L !== undefined) return L.map(jsonOf);
  if (B !== undefined) return base64Of(B);
  if (SS !== undefined) return SS;
  if (NS !== undefined) return NS.map(numberOf);
  if (BS !== undefined) return BS.map(base64Of);
  if (NULL !== undefined) return null;
  throw new UnknownTypeError();
}

/** The text of an attribute that is part of a key. */
export function keyText(attribute: AttributeValue | undefined): string | undefined {
  const { S, N, B } = attribute ?? {};
  if (S !== undefined) return S;
  if (N !== undefined) return plainNumber(N);
  return B === undefined ? undefined : base64Of(B);
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function numberOf(text: string): JsonValue {
  const plain = plainNumber(text);
  if (!plain.includes('.')) return exactNumber(plain);
  const number = Number(plain);
  return shortDecimal(plain) ?? (String(number) === plain ? number : plain);
}

/** A number without an exponent, and without zeros that say nothing. */
function plainNumber(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (sign === undefined) return text;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  const before = String(BigInt(padded.slice(0, at)));
  const after = withoutTrailing(padded.slice(at), '0');
  const plain = after === '' ? before : `${before}.${after}`;
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
}

function decimalType(plain: string): `decimal ${number} ${number}` | undefined {
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.');
  const room = DECIMAL_DIGITS_MAX - (whole === '0' ? 0 : whole.length);
  return fraction.length > room
    ? undefined
    : `decimal ${DECIMAL_DIGITS_MAX} ${Math.max(fraction.length, Math.min(room, SCALE_MIN))}`;
}

/** A key as a checkpoint holds it, and back. */
export function keyToJson(key: Item): JsonObject {
  return Object.fromEntries(
    Object.entries(key).map(([name, { S, N, B }]): [string, JsonObject] => {
      if (B !== undefined) return [name, { B: base64Of(B) }];
      return [name, N === undefined ? { S: S ?? '' } : { N }];
    }),
  );
}

export function keyFromJson(key: JsonObject): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(key).map(([name, value]): [string, AttributeValue] => {
      const { S, N, B } = value as { S?: string; N?: string; B?: string };
      if (B !== undefined) return [name, { B: Buffer.from(B, 'base64') }];
      return [name, N === undefined ? { S: S ?? '' } : { N }];
    }),
  );
}
