import { isUtf8 } from 'node:buffer';
import { ITEM_BYTES_MAX, ITEM_VALUES_MAX } from '../../contract/json/json-scan.ts';
import type { DeclaredType, NewDocument } from '../../engine/engine.ts';
import { dateText, doubleText } from './extended-json.ts';
import { readDecimal, topDecimal } from './mongodb-decimals.ts';

/*
 * BSON, the binary form of MongoDB's documents, as documents of this service. Read here and not by the driver: one document
 * that is none must not fail the batch that it comes in, and each value has to be as exact as JSON can have it. Types that
 * JSON lacks and that are rare are as MongoDB's canonical Extended JSON writes them.
 */

/** Types of elements, as the specification numbers them. */
export const BSON_TYPES = {
  double: 0x01,
  text: 0x02,
  object: 0x03,
  list: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  pointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  scopedCode: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal: 0x13,
  minKey: 0xff,
  maxKey: 0x7f,
} as const;
const T = BSON_TYPES;

/** Documents of MongoDB are nested at most 180 levels deep. */
const DEPTH_MAX = 200;
/** Shorter texts are read faster here than by a call into the runtime. */
const SHORT_TEXT = 24;
const UUID_SUBTYPE = 4;
const OLD_BINARY_SUBTYPE = 2;

/** One element of a document: where its value lies in the bytes. */
export interface Element {
  name: string;
  type: number;
  from: number;
  to: number;
}

/** Why bytes are no document, as a clause. */
export class BsonError extends Error {}

/** A document as JSON text, without its `_id`. Throws `BsonError` if it is none that can be stored. */
export function documentText(bytes: Buffer): { text: string; declared: NewDocument['declared'] } {
  if (bytes.length > ITEM_BYTES_MAX)
    throw new BsonError(`has ${bytes.length} bytes, and one document may have ${ITEM_BYTES_MAX}`);
  let text = '';
  let types: Map<string, DeclaredType> | undefined;
  const reading = { bytes, values: 0 };
  for (const element of elementsOf(bytes)) {
    if (element.name === '_id') continue;
    const { value, type } = topValue(reading, element);
    text += `${text === '' ? '{' : ','}${keyText(element.name)}${value}`;
    if (type === undefined) types?.delete(element.name);
    else {
      types ??= new Map();
      types.set(element.name, type);
    }
  }
  return { text: text === '' ? '{}' : `${text}}`, declared: types };
}

/** Documents have the same keys again and again. */
const keyTexts = new Map<string, string>();
const KEY_TEXTS_MAX = 1_000;

function keyText(name: string): string {
  const known = keyTexts.get(name);
  if (known !== undefined) return known;
  const text = `${JSON.stringify(name)}:`;
  if (keyTexts.size < KEY_TEXTS_MAX) keyTexts.set(name, text);
  return text;
}

interface Reading {
  bytes: Buffer;
  values: number;
}

/** The value of a field of the document itself, with the type that JSON lacks. */
function topValue(reading: Reading, element: Element): { value: string; type?: DeclaredType | undefined } {
  const { bytes } = reading;
  const { type, from, to } = element;
  if (type === T.decimal) {
    const decimal = topDecimal(bytes.subarray(from, to));
    return { value: JSON.stringify(decimal.value), type: decimal.type };
  }
  const value = valueText(reading, element, 0);
  if (type === T.date) return { value, type: value.startsWith('"') ? 'time' : undefined };
  if (type !== T.binary) return { value };
  return { value, type: isUuid(bytes, element) ? 'uuid' : 'binary' };
}

/** Whether an element is binary data of the subtype for UUIDs. That of old drivers, 3, has its bytes in an order of theirs. */
export function isUuid(bytes: Buffer, { type, from, to }: Element): boolean {
  return type === T.binary && bytes[from + 4] === UUID_SUBTYPE && to - from === 5 + 16;
}

export function uuidText(bytes: Buffer, { from, to }: Element): string {
  const hex = bytes.toString('hex', from + 5, to);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The elements of the document at an offset, in order. Throws `BsonError`. */
export function* elementsOf(bytes: Buffer, start = 0): Generator<Element> {
  const end = endOf(bytes, start, bytes.length);
  let at = start + 4;
  while (at < end - 1) {
    const element = elementAt(bytes, at, end - 1);
    yield element;
    at = element.to;
  }
}

/** Where the document at an offset ends. */
function endOf(bytes: Buffer, start: number, limit: number): number {
  const end = start + 4 > limit ? limit + 1 : start + bytes.readInt32LE(start);
  if (end < start + 5 || end > limit || bytes[end - 1] !== 0) throw new BsonError('is no valid BSON');
  return end;
}

function elementAt(bytes: Buffer, at: number, limit: number): Element {
  const type = bytes[at] ?? 0;
  const nameEnd = zeroAt(bytes, at + 1, limit);
  const name = textOf(bytes, at + 1, nameEnd);
  const from = nameEnd + 1;
  const to = from + sizeOf(bytes, type, from, limit);
  if (to > limit) throw new BsonError('is no valid BSON');
  return { name, type, from, to };
}

function zeroAt(bytes: Buffer, from: number, limit: number): number {
  const at = bytes.indexOf(0, from);
  if (at < 0 || at >= limit) throw new BsonError('is no valid BSON');
  return at;
}

/** Size of a value in bytes. */
function sizeOf(bytes: Buffer, type: number, from: number, limit: number): number {
  switch (type) {
    case T.undefined:
    case T.null:
    case T.minKey:
    case T.maxKey:
      return 0;
    case T.boolean:
      return 1;
    case T.int32:
      return 4;
    case T.double:
    case T.date:
    case T.timestamp:
    case T.int64:
      return 8;
    case T.objectId:
      return 12;
    case T.decimal:
      return 16;
    case T.text:
    case T.code:
    case T.symbol:
      return 4 + lengthAt(bytes, from, limit, 1);
    case T.binary:
      return 5 + lengthAt(bytes, from, limit, 0);
    case T.object:
    case T.list:
    case T.scopedCode:
      return lengthAt(bytes, from, limit, 5);
    case T.pointer:
      return 16 + lengthAt(bytes, from, limit, 1);
    case T.regex:
      return zeroAt(bytes, zeroAt(bytes, from, limit) + 1, limit) + 1 - from;
    default:
      throw new BsonError(`holds a value of the type ${type}, which BSON does not have`);
  }
}

function lengthAt(bytes: Buffer, from: number, limit: number, min: number): number {
  const length = from + 4 > limit ? -1 : bytes.readInt32LE(from);
  if (length < min) throw new BsonError('is no valid BSON');
  return length;
}

/** The text of bytes, which must be UTF-8. */
function textOf(bytes: Buffer, from: number, to: number): string {
  if (to - from <= SHORT_TEXT) {
    let text = '';
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0;
      if (byte > 0x7f) return longTextOf(bytes, from, to);
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return longTextOf(bytes, from, to);
}

function longTextOf(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to);
  // What is no UTF-8 has become this character; or it was there.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(from, to))) throw new BsonError('holds text that is not UTF-8');
  return text;
}

/** The text of an element that is one. */
export function stringOf(bytes: Buffer, { from, to }: Element): string {
  return textOf(bytes, from + 4, to - 1);
}

/** A value as JSON text. */
function valueText(reading: Reading, element: Element, depth: number): string {
  const { bytes } = reading;
  const { type, from, to } = element;
  reading.values += 1;
  if (reading.values > ITEM_VALUES_MAX) throw new BsonError(`holds more than ${ITEM_VALUES_MAX} values`);
  switch (type) {
    case T.text:
    case T.symbol:
      return JSON.stringify(stringOf(bytes, element));
    case T.int32:
      return String(bytes.readInt32LE(from));
    case T.int64:
      return String(bytes.readBigInt64LE(from));
    case T.double:
      return doubleText(bytes.readDoubleLE(from));
    case T.boolean:
      return bytes[from] === 0 ? 'false' : 'true';
    case T.objectId:
      return `"${bytes.toString('hex', from, to)}"`;
    case T.date:
      return dateText(bytes.readBigInt64LE(from));
    case T.object:
    case T.list:
      return containerText(reading, element, depth + 1);
    case T.undefined:
    case T.null:
      return 'null';
    case T.binary:
      return `"${isUuid(bytes, element) ? uuidText(bytes, element) : base64Of(bytes, element)}"`;
    case T.decimal:
      return JSON.stringify(readDecimal(bytes.subarray(from, to)));
    default:
      return rareText(reading, element, depth);
  }
}

function containerText(reading: Reading, { type, from }: Element, depth: number): string {
  if (depth > DEPTH_MAX) throw new BsonError(`is nested more than ${DEPTH_MAX} levels deep`);
  const isList = type === T.list;
  let text = '';
  for (const element of elementsOf(reading.bytes, from)) {
    const value = valueText(reading, element, depth);
    text += `${text === '' ? '' : ','}${isList ? value : keyText(element.name) + value}`;
  }
  return isList ? `[${text}]` : `{${text}}`;
}

function base64Of(bytes: Buffer, { from, to }: Element): string {
  // Its length stands there twice.
  return bytes.toString('base64', from + (bytes[from + 4] === OLD_BINARY_SUBTYPE ? 9 : 5), to);
}

function rareText(reading: Reading, element: Element, depth: number): string {
  const { bytes } = reading;
  const { type, from, to } = element;
  switch (type) {
    case T.timestamp:
      return `{"$timestamp":{"t":${bytes.readUInt32LE(from + 4)},"i":${bytes.readUInt32LE(from)}}}`;
    case T.regex: {
      const end = zeroAt(bytes, from, to);
      const [pattern, options] = [textOf(bytes, from, end), textOf(bytes, end + 1, to - 1)];
      return JSON.stringify({ $regularExpression: { pattern, options } });
    }
    case T.code:
      return JSON.stringify({ $code: stringOf(bytes, element) });
    case T.scopedCode: {
      const textEnd = from + 8 + lengthAt(bytes, from + 4, to, 1);
      if (textEnd > to) throw new BsonError('is no valid BSON');
      const scope = { name: '', type: T.object, from: textEnd, to };
      const code = JSON.stringify(textOf(bytes, from + 8, textEnd - 1));
      return `{"$code":${code},"$scope":${containerText(reading, scope, depth + 1)}}`;
    }
    case T.pointer: {
      const $id = bytes.toString('hex', to - 12, to);
      return JSON.stringify({ $dbPointer: { $ref: textOf(bytes, from + 4, to - 13), $id } });
    }
    default:
      return type === T.minKey ? '{"$minKey":1}' : '{"$maxKey":1}';
  }
}
