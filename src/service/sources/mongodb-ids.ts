import { BSON } from 'mongodb';
import type { JsonObject } from '../../contract/json/json.ts';
import { type Element, isUuid, stringOf, BSON_TYPES as T, uuidText } from './mongodb-bson.ts';

/*
 * The text of an `_id`. MongoDB's can have any type, and those of a collection nearly always have one: an ObjectId is its
 * hex digits and a text is itself; numbers and UUIDs are as they are written, if the first `_id` that was read is one. All
 * others are canonical Extended JSON. A text that would be taken for another one's is in quotes, so no two are the same, and
 * each can be read back.
 */

/** Of what type are `_id`s that are written as they are, beside ObjectIds and what no text can be taken for. */
export type PlainId = 'text' | 'number' | 'uuid';

const OBJECT_ID = /^[0-9a-f]{24}$/;
const NUMBER = /^(?:-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|Infinity)|NaN)$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What a collection's first `_id` makes plain. */
export function plainBy(bytes: Buffer, id: Element): PlainId {
  if (isUuid(bytes, id)) return 'uuid';
  return id.type === T.int32 || id.type === T.int64 || id.type === T.double ? 'number' : 'text';
}

/** The text of an `_id`; throws `BsonError` if it is not UTF-8. */
export function idText(bytes: Buffer, id: Element, plain: PlainId): string {
  switch (id.type) {
    case T.objectId:
      return bytes.toString('hex', id.from, id.to);
    case T.text: {
      const text = stringOf(bytes, id);
      return isAmbiguous(text, plain) ? JSON.stringify(text) : text;
    }
    case T.int32:
    case T.int64:
    case T.double: {
      const text = numberText(bytes, id);
      if (plain === 'number') return text;
      // Numbers that are equal are one `_id`, whatever their type.
      return JSON.stringify(/^-?\d+$/.test(text) ? { $numberLong: text } : { $numberDouble: text });
    }
    default:
      return plain === 'uuid' && isUuid(bytes, id) ? uuidText(bytes, id) : extendedId(bytes, id);
  }
}

function isAmbiguous(text: string, plain: PlainId): boolean {
  if (text === '' || text.startsWith('{') || text.startsWith('"') || OBJECT_ID.test(text)) return true;
  return (plain === 'number' && NUMBER.test(text)) || (plain === 'uuid' && UUID.test(text));
}

function numberText(bytes: Buffer, { type, from }: Element): string {
  if (type === T.int32) return String(bytes.readInt32LE(from));
  if (type === T.int64) return String(bytes.readBigInt64LE(from));
  const number = bytes.readDoubleLE(from);
  return Number.isInteger(number) ? String(BigInt(number)) : String(number);
}

/** An `_id` as canonical Extended JSON, exact. */
export function extendedId(bytes: Buffer, id: Element): string {
  return BSON.EJSON.stringify(rawId(bytes, id), { relaxed: false });
}

/** An `_id` as the driver takes it. */
export function idFromExtended(text: string): unknown {
  return (BSON.EJSON.parse(`{"_id":${text}}`, { relaxed: false }) as { _id: unknown })._id;
}

/** An `_id` as the driver has it. */
export function rawId(bytes: Buffer, { type, from, to }: Element): unknown {
  const document = Buffer.alloc(4 + 5 + (to - from) + 1);
  document.writeInt32LE(document.length);
  document[4] = type;
  document.write('_id\0', 5, 'latin1');
  bytes.copy(document, 9, from, to);
  return BSON.deserialize(document, { promoteValues: false })['_id'];
}

/** The document at some bytes, such as a resume token, as canonical Extended JSON. */
export function extendedDocument(bytes: Buffer): JsonObject {
  return BSON.EJSON.serialize(BSON.deserialize(bytes, { promoteValues: false }), { relaxed: false }) as JsonObject;
}
