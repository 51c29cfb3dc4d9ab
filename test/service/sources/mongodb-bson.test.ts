import fc from 'fast-check';
import { Binary, BSON, Code, Decimal128, Double, Int32, Long, ObjectId } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import { BsonError, documentText } from '../../../src/service/sources/mongodb-bson.ts';

const bytesOf = (document: Record<string, unknown>) => Buffer.from(BSON.serialize(document));
/** What the text of a document says. */
function readDocument(bytes: Buffer) {
  const { text, declared } = documentText(bytes);
  return { document: parseJson(text) as JsonObject, declared };
}

const read = (document: Record<string, unknown>) => readDocument(bytesOf(document));
const whyNot = (bytes: Buffer) => {
  try {
    readDocument(bytes);
  } catch (error) {
    return error;
  }
  return undefined;
};

/** A document with one element of this type and value. */
function rawDocument(type: number, value: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(4), Buffer.from([type]), Buffer.from('a\0'), value, Buffer.from([0])]);
  bytes.writeInt32LE(bytes.length);
  return bytes;
}

const text = (value: Buffer | string) => {
  const content = Buffer.concat([Buffer.from(value), Buffer.from([0])]);
  const length = Buffer.alloc(4);
  length.writeInt32LE(content.length);
  return Buffer.concat([length, content]);
};

describe('a document in BSON', () => {
  it('is the same as the driver reads, with what JSON has', () => {
    const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => typeof value === 'object' && value !== null);
    fc.assert(
      fc.property(json, (value) => {
        const bytes = bytesOf({ value });
        expect(JSON.stringify(readDocument(bytes).document)).toBe(JSON.stringify(BSON.deserialize(bytes)));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a key that names a prototype', () => {
    const document = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as Record<string, unknown>;
    expect(JSON.stringify(read(document).document)).toBe('{"__proto__":{"x":1},"constructor":2}');
  });

  it.each([
    ['an integer of 64 bits', { a: Long.fromString('-9223372036854775808') }, -9223372036854775808n],
    ['the largest that a double holds', { a: Long.fromString('9007199254740991') }, 9007199254740991],
    ['a large double', { a: new Double(1e300) }, 1e300],
    ['a date before 1970', { a: new Date(-1) }, '1969-12-31T23:59:59.999Z'],
    ['old binary data', { a: new Binary(Buffer.from([1, 2]), 2) }, 'AQI='],
    ['a UUID of old drivers', { a: new Binary(Buffer.alloc(16), 3) }, 'AAAAAAAAAAAAAAAAAAAAAA=='],
    ['code', { a: new Code('f()') }, { $code: 'f()' }],
    ['code with a scope', { a: new Code('f()', { x: new Int32(1) }) }, { $code: 'f()', $scope: { x: 1 } }],
    [
      'a reference',
      { a: new BSON.DBRef('users', new ObjectId('65a000000000000000000001')) },
      { $ref: 'users', $id: '65a000000000000000000001' },
    ],
    ['a symbol', { a: new BSON.BSONSymbol('s') }, 's'],
    ['a long text', { a: `${'ü'.repeat(100)}\ufffd` }, `${'ü'.repeat(100)}\ufffd`],
    [
      'a decimal that is an integer',
      { a: Decimal128.fromString('123456789012345678901') },
      '123456789012345678901.0000000000',
    ],
    ['a small decimal', { a: Decimal128.fromString('-1.5E-12') }, -1.5e-12],
    [
      'a decimal of many digits after the point',
      { a: Decimal128.fromString('0.1234567890123456789') },
      '0.1234567890123456789',
    ],
    ['a decimal of thousands', { a: Decimal128.fromString('1.5E+3') }, 1500],
    ['no decimal', { a: Decimal128.fromString('NaN') }, 'NaN'],
  ])('has %s', (_, document, expected) => {
    expect(read(document).document['a']).toEqual(expected);
  });

  it.each([
    ['a decimal', { a: Decimal128.fromString('1.5') }, 'decimal 38 10'],
    ['a longer one', { a: Decimal128.fromString('0.12345678901') }, 'decimal 38 18'],
    ['one that no column holds', { a: Decimal128.fromString('0.1234567890123456789') }, undefined],
    ['one of many digits', { a: Decimal128.fromString('1234567890123456789012345678901') }, undefined],
    ['a date', { a: new Date(0) }, 'time'],
    ['something else', { a: 'text' }, undefined],
  ])('declares the type of %s', (_, document, expected) => {
    expect(read(document).declared?.get('a')).toBe(expected);
  });

  it('keeps dates that ISO 8601 cannot write', () => {
    const ms = Buffer.alloc(8);
    ms.writeBigInt64LE(2n ** 62n);
    const { document, declared } = readDocument(rawDocument(0x09, ms));
    expect([document, declared]).toEqual([{ a: { $date: { $numberLong: '4611686018427387904' } } }, undefined]);
  });

  it('has a pointer to another collection', () => {
    const pointer = Buffer.concat([text('shop.users'), Buffer.alloc(12, 1)]);
    expect(readDocument(rawDocument(0x0c, pointer)).document).toEqual({
      a: { $dbPointer: { $ref: 'shop.users', $id: '01'.repeat(12) } },
    });
  });
});

describe('bytes that are no document', () => {
  it.each([
    ['text that is not UTF-8', rawDocument(0x02, text(Buffer.from([0x61, 0xff]))), 'holds text that is not UTF-8'],
    ['a type that there is not', rawDocument(0x20, Buffer.alloc(4)), 'holds a value of the type 32'],
    ['a length beyond the end', rawDocument(0x02, Buffer.from([255, 255, 255, 127])), 'is no valid BSON'],
    ['a negative length', rawDocument(0x05, Buffer.from([255, 255, 255, 255, 0])), 'is no valid BSON'],
    ['nothing', Buffer.alloc(0), 'is no valid BSON'],
  ])('are refused: %s', (_, bytes, why) => {
    expect(whyNot(bytes)).toMatchObject({ message: expect.stringContaining(why) });
  });

  it('are refused where they hold too much', () => {
    let nested: Record<string, unknown> = {};
    for (let level = 0; level < 250; level++) nested = { a: nested };
    expect(whyNot(bytesOf(nested))).toMatchObject({ message: 'is nested more than 200 levels deep' });
    expect(whyNot(bytesOf({ a: new Array(100_001).fill(null) }))).toMatchObject({
      message: 'holds more than 100000 values',
    });
  });

  it('are a document, or refused with a reason, whatever is wrong in them', () => {
    const whole = bytesOf({
      a: 'text',
      b: { c: [new Int32(1), new Date(0), new Binary(Buffer.from([1]), 2)] },
      d: new Code('f', { x: 1 }),
      e: new BSON.BSONRegExp('a', 'i'),
      f: Decimal128.fromString('1.5'),
    });
    for (let at = 0; at < whole.length; at++) {
      for (const byte of [0, 1, 5, 0x7f, 0xff]) {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        for (const one of [bytes, bytes.subarray(0, at)]) {
          const error = whyNot(one);
          expect(error === undefined || error instanceof BsonError || error instanceof RangeError).toBe(true);
        }
      }
    }
  });
});
