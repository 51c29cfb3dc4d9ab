/** @module-tag more */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/contract/json/json.ts';
import {
  joinShapes,
  type MapShape,
  type Shape,
  shapeFromJson,
  shapeToJson,
  widen,
} from '../../../src/engine/duckdb/values/shape.ts';
import { structureOf, typeOf } from '../../../src/engine/duckdb/values/types.ts';
import { propertyRuns } from '../../property.ts';
import { nastyValue } from '../documents.ts';

const shapeOf = (...values: JsonValue[]): Shape => values.reduce<Shape>((shape, value) => widen(shape, value), 'null');
const typeOfAll = (...values: JsonValue[]): string => typeOf(shapeOf(...values));

describe('widen() of scalars', () => {
  test.each<[JsonValue[], Shape]>([
    [[null, null], 'null'],
    [[true, null, false], 'boolean'],
    [[0, -0, 2 ** 53 - 1], 'int53'],
    [[1, 5n], 'int53'],
    [[1, 2n ** 53n], 'int64'],
    [[-(2n ** 63n), 2n ** 63n - 1n], 'int64'],
    [[2n ** 63n, 1], 'hugeint'],
    [[1, -(2n ** 63n) - 1n], 'hugeint'],
    [[2n ** 127n - 1n], 'hugeint'],
    [[1, 0.5], 'double'],
    [[0.5, 1], 'double'],
    [[1e300], 'double'],
    [['', 'x'], 'string'],
  ])('%#: keeps numbers, texts and booleans in the narrowest type', (values, shape) => {
    expect(shapeOf(...values)).toBe(shape);
  });

  test.each<[string, JsonValue[]]>([
    ['an integer beyond a hugeint', [2n ** 127n]],
    ['a negative integer beyond a hugeint', [-(2n ** 127n)]],
    ['a double and an int64, whose digits it would lose', [0.5, 2n ** 53n]],
    ['an int64 and a double', [2n ** 53n, 0.5]],
    ['a hugeint and a double', [2n ** 63n, 0.5]],
    ['a boolean and a number', [true, 1]],
    ['a number and its text', [1, '1']],
    ['a text and a boolean', ['true', true]],
    ['a scalar and a list', [1, [1]]],
    ['a list and an object', [[], {}]],
    ['an object and a text', [{ a: 1 }, 'a']],
  ])('makes JSON of %s', (_, values) => {
    expect(shapeOf(...values)).toBe('json');
    expect(shapeOf(...values.toReversed())).toBe('json');
  });
});

describe('widen() of lists and objects', () => {
  test('gives lists that disagree JSON elements, and stays a list', () => {
    expect(typeOfAll([1, 'a'])).toBe('JSON[]');
    expect(typeOfAll([1], ['a'])).toBe('JSON[]');
    expect(typeOfAll([[1], ['a']], [[]])).toBe('JSON[][]');
  });

  test('joins the fields of objects, in the order they were first seen', () => {
    expect(typeOfAll({ b: 1 }, { a: 'x', b: 0.5 })).toBe('STRUCT("b" DOUBLE, "a" VARCHAR)');
    expect(typeOfAll([{ a: 1 }, null, { b: [null] }])).toBe('STRUCT("a" BIGINT, "b" JSON[])[]');
  });

  test('leaves null and empty objects without a type until something else comes', () => {
    expect(typeOfAll({})).toBe('JSON');
    expect(typeOfAll({ a: null, b: {} })).toBe('STRUCT("a" JSON, "b" JSON)');
    expect(typeOfAll({}, { a: 1 })).toBe('STRUCT("a" BIGINT)');
    expect(typeOfAll([], [null], [1])).toBe('BIGINT[]');
  });

  const many = (value: (index: number) => JsonValue) =>
    Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`k${index}`, value(index)]));

  test.each<[string, JsonValue, JsonValue]>([
    ['an empty key', { '': 1, b: 2 }, { '': 1, b: 'x' }],
    ['keys that differ only in case', { a: 1, A: 2.5 }, { a: 1, A: [2] }],
    ['a key longer than 255', { ['k'.repeat(256)]: 1 }, { ['k'.repeat(256)]: 1, b: true }],
    ['more than 256 keys', many((index) => index), many((index) => (index % 2 === 0 ? index : 'x'))],
  ])('makes a map of an object with %s, or JSON if its values have no type in common', (_, alike, mixed) => {
    expect(typeOf(shapeOf(alike))).toMatch(/^MAP\(VARCHAR, (BIGINT|DOUBLE)\)$/);
    expect(shapeOf(mixed)).toBe('json');
  });

  test('makes JSON of an object with a key that holds U+0000', () => {
    expect(shapeOf({ 'a\u0000': 1 })).toBe('json');
    expect(shapeOf({ a: 1, A: 1 }, { 'a\u0000': 1 })).toBe('json');
  });

  test('makes a map of an object whose key differs from a known one only in case', () => {
    expect(typeOfAll({ city: 1 }, { City: 1 })).toBe('MAP(VARCHAR, BIGINT)');
    expect(typeOfAll({ é: 1, É: 2 })).toBe('STRUCT("é" BIGINT, "É" BIGINT)');
  });

  test('a map holds any keys, and lists a thousand of them', () => {
    const map = shapeOf({ a: 1, A: 1 }, { '': null, b: 0.5 }) as MapShape;
    expect(typeOf(map)).toBe('MAP(VARCHAR, DOUBLE)');
    expect(map.keys).toEqual(new Set(['a', 'A', 'b']));
    const keys = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`k${index}`, index]));
    expect((widen(map, keys) as MapShape).keys).toBeUndefined();
    expect(widen(map, 'x')).toBe('json');
    expect(typeOf(widen(map, { z: 'x' }))).toBe('MAP(VARCHAR, JSON)');
    expect(shapeFromJson(shapeToJson(map))).toEqual(map);
  });

  test('joins a map with another, and with a struct', () => {
    const map = shapeOf({ a: 1, A: 1 });
    expect(typeOf(joinShapes(map, shapeOf({ b: 0.5, B: 2 })))).toBe('MAP(VARCHAR, DOUBLE)');
    expect(typeOf(joinShapes(shapeOf({ b: 0.5 }), map))).toBe('MAP(VARCHAR, DOUBLE)');
    expect(joinShapes(map, shapeOf({ b: 1, c: 'x' }))).toBe('json');
    expect(joinShapes(map, 'string')).toBe('json');
  });

  test('makes JSON of what is nested deeper than 16 levels, and looks no further', () => {
    let value: JsonValue = 1;
    for (let level = 0; level < 100_000; level++) value = [value];
    expect(typeOfAll(value)).toBe(`JSON${'[]'.repeat(16)}`);
  });

  test('keeps fields named like members of Object.prototype', () => {
    const value = JSON.parse('{"__proto__": 1, "constructor": "x", "toString": {"__proto__": true}}');
    expect(typeOfAll(value)).toBe(
      'STRUCT("__proto__" BIGINT, "constructor" VARCHAR, "toString" STRUCT("__proto__" BOOLEAN))',
    );
    expect(structureOf(shapeOf(value))).toBe(
      '{"__proto__":"BIGINT","constructor":"VARCHAR","toString":{"__proto__":"BOOLEAN"}}',
    );
  });
});

describe('widen() for any values', () => {
  test('gives the shape itself back for a value that it holds already', () => {
    fc.assert(
      fc.property(fc.array(nastyValue, { maxLength: 5 }), (values) => {
        const shape = shapeOf(...values);
        for (const value of values) expect(widen(shape, value)).toBe(shape);
      }),
      propertyRuns(100),
    );
  });

  test('gives the same type in any order, save the order of fields', () => {
    fc.assert(
      fc.property(fc.array(nastyValue, { maxLength: 4 }), (values) => {
        const letters = (type: string) => [...type].sort().join('');
        expect(letters(typeOfAll(...values.toReversed()))).toBe(letters(typeOfAll(...values)));
      }),
      propertyRuns(100),
    );
  });
});

describe('shapeToJson() and shapeFromJson()', () => {
  test('are the inverse of each other', () => {
    fc.assert(
      fc.property(fc.array(nastyValue, { maxLength: 3 }), (values) => {
        const shape = shapeOf(...values);
        expect(shapeFromJson(JSON.parse(JSON.stringify(shapeToJson(shape))))).toEqual(shape);
      }),
      propertyRuns(100),
    );
  });

  test.each<JsonValue>([null, 5, 'text', [], {}, { list: 'int' }, { object: ['a'] }, { object: [[1, 'json']] }])(
    'shapeFromJson() refuses %j',
    (json) => {
      expect(() => shapeFromJson(json)).toThrow(TypeError);
    },
  );
});
