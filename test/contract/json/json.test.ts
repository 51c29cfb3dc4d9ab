/** @module-tag more */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonValue, parseJson, stringifyJson } from '../../../src/contract/json/json.ts';
import { propertyRuns } from '../../property.ts';

const BIG = 12345678901234567890n;

describe('parseJson()', () => {
  it.each<[string, JsonValue]>([
    ['12345678901234567890', BIG],
    [' -12345678901234567890 ', -BIG],
    ['[12345678901234567890,1]', [BIG, 1]],
    ['[1,12345678901234567890]', [1, BIG]],
    ['{"a":12345678901234567890}', { a: BIG }],
    ['{"a" : 12345678901234567890 }', { a: BIG }],
    ['{"a":\n12345678901234567890\n}', { a: BIG }],
    ['[9007199254740993,9007199254740992]', [9007199254740993n, 9007199254740992n]],
    ['[9007199254740991,-9007199254740991]', [9007199254740991, -9007199254740991]],
  ])('keeps every digit of %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it.each<[string, JsonValue]>([
    ['0.12345678901234567', Number('0.12345678901234567')],
    ['[-129.98390997759998]', [-129.98390997759998]],
    ['12345678901234567890.5', Number('12345678901234567890.5')],
    ['1e400', Number.POSITIVE_INFINITY],
    ['"12345678901234567890"', '12345678901234567890'],
    [
      '{"a: 12345678901234567890, b":"[12345678901234567890]"}',
      { 'a: 12345678901234567890, b': '[12345678901234567890]' },
    ],
    ['{"a":1,"a":12345678901234567890}', { a: BIG }],
  ])('reads %s as JSON.parse does otherwise', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it.each(['', '{', '[1,]', '{"a":12345678901234567890', '12345678901234567890 1', 'undefined'])(
    'throws SyntaxError for %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it('keeps a key named __proto__ as a key', () => {
    const value = parseJson('{"__proto__":{"a":12345678901234567890}}') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('says so when exact text is nested too deeply to read', () => {
    const deep = `${'['.repeat(100_000)}12345678901234567890${']'.repeat(100_000)}`;
    expect(() => parseJson(deep)).toThrow('nested too deeply');
  });

  it('reads back what stringifyJson() wrote', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constant(null),
        fc.boolean(),
        fc.string(),
        fc
          .bigInt({ min: -(2n ** 127n), max: 2n ** 127n })
          .map((n) => (n === BigInt(Number(n)) && Number.isSafeInteger(Number(n)) ? Number(n) : n)),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, (json) => {
        // Doubles from 2^53 on are written without a point, which reads as an exact integer.
        const expected = JSON.stringify(json, (_, one) => (typeof one === 'bigint' ? `n${one}` : one));
        const back = JSON.stringify(parseJson(stringifyJson(json)), (_, one) =>
          typeof one === 'bigint' ? `n${one}` : one,
        );
        if (!/\d{17}/.test(expected)) expect(back).toBe(expected);
        else expect(back.replaceAll(/"n(-?\d+)"/g, '$1')).toBe(expected.replaceAll(/"n(-?\d+)"/g, '$1'));
      }),
      propertyRuns(100),
    );
  });
});
