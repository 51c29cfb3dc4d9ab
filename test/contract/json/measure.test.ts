import { describe, expect, it } from 'vitest';
import { type JsonValue, parseJson } from '../../../src/contract/json/json.ts';
import { DEPTH_MAX, measure, problemOf } from '../../../src/contract/json/measure.ts';

function nested(levels: number): JsonValue {
  return parseJson('['.repeat(levels) + ']'.repeat(levels));
}

describe('problemOf()', () => {
  it.each([
    ['an emoji', '{"k":"😀"}'],
    ['an empty key', '{"":1}'],
    ['64-bit integers', '[9223372036854775807,-9223372036854775808]'],
    ['a key named __proto__', '{"__proto__":{"x":[1]}}'],
    ['quotes, dots and line breaks in keys', '{"a\\"b.c\\nd; DROP TABLE x":1}'],
  ])('accepts %s', (_, text) => {
    expect(problemOf(parseJson(text))).toBeUndefined();
  });

  it.each([
    ['1e400', '{"a":[0,1e400]}', 'holds a number that is too large at "/a/1"'],
    ['-1e400', '[-1e400]', 'too large at "/0"'],
    ['a lone high surrogate', '{"a/b":"\\ud800"}', 'half of a surrogate pair at "/a~1b"'],
    ['a lone low surrogate', '["x\\udc00y"]', 'half of a surrogate pair at "/0"'],
    ['a key with a lone surrogate', '{"a":{"\\ud800":1}}', 'has a key at "/a" with half'],
    ['a lone surrogate under __proto__', '{"__proto__":"\\ud800"}', 'at "/__proto__"'],
  ])('refuses %s', (_, text, problem) => {
    expect(problemOf(parseJson(text))).toContain(problem);
  });

  it('refuses what is nested too deeply, however deep it is', () => {
    expect(problemOf(nested(DEPTH_MAX))).toBeUndefined();
    for (const levels of [DEPTH_MAX + 1, 1_000, 1_000_000]) {
      expect(problemOf(nested(levels))).toBe(`is nested more than ${DEPTH_MAX} levels deep`);
    }
  });
});

describe('measure()', () => {
  it('counts the bytes of the JSON text', () => {
    const values: JsonValue[] = [
      {},
      [],
      { a: 1 },
      [1, 2.5, true, null, 'é'],
      { name: 'x'.repeat(1_000), list: [{ a: 1 }] },
    ];
    for (const value of values) {
      expect(measure(value).bytes).toBe(Buffer.byteLength(JSON.stringify(value)));
    }
  });
});
