import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnyObject, Json, resource } from '../../src/contract/fields.ts';
import { deviations, unknownKeys } from './strict.ts';

const Inner = resource({ a: z.string() });
const schema = resource({
  inner: Inner,
  list: z.array(z.object({ deep: Inner.optional() })),
  either: z.union([z.string(), Inner]),
  byName: z.record(z.string(), Inner),
  free: AnyObject,
  any: Json,
});

describe('unknownKeys()', () => {
  it('finds none in what the schema describes', () => {
    expect(unknownKeys(schema, {})).toEqual([]);
    expect(unknownKeys(schema, { inner: null, list: [], either: 'x', free: { x: { y: 1 } }, any: { z: [1] } })).toEqual(
      [],
    );
    expect(unknownKeys(schema, { byName: { one: { a: 'x' }, two: null }, either: { a: 'x' } })).toEqual([]);
    expect(unknownKeys(schema, null)).toEqual([]);
  });

  it.each([
    [{ new: 1 }, ['new']],
    [{ inner: { a: 'x', b: null } }, ['inner.b']],
    [{ list: [{ deep: {} }, { deep: { b: 1 }, c: 2 }] }, ['list[1].deep.b', 'list[1].c']],
    [{ either: { a: 'x', b: 1 } }, ['either.b']],
    [{ byName: { one: { b: 1 } } }, ['byName.one.b']],
    [{ constructor: 1, __proto: 2 }, ['constructor', '__proto']],
  ])('of %j are %j', (value, found) => {
    expect(unknownKeys(schema, value)).toEqual(found);
  });

  it('looks through refinements', () => {
    expect(
      unknownKeys(
        z.object({ a: z.object({}).refine(() => true) }).superRefine(() => undefined),
        { a: { b: 1 } },
      ),
    ).toEqual(['a.b']);
  });
});

describe('deviations()', () => {
  it('are wrong types and unknown keys alike', () => {
    expect(deviations(schema, { inner: { a: 'x' } })).toEqual([]);
    expect(deviations(schema, { inner: { a: 1, b: 2 } })).toEqual([
      expect.stringMatching(/^inner\.a: /),
      'inner.b: is not in the schema',
    ]);
  });
});
