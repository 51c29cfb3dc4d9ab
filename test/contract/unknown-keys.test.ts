import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnyObject, Json, resource } from '../../src/contract/fields.ts';
import { pathText, saysSomething, unknownKeys } from '../../src/contract/unknown-keys.ts';

const Inner = resource({ a: z.string() });
const schema = resource({
  inner: Inner,
  list: z.array(z.object({ deep: Inner.optional() })),
  either: z.union([z.string(), Inner]),
  byName: z.record(z.string(), Inner),
  free: AnyObject,
  any: Json,
});

const pathsIn = (known: unknown, value: unknown) => unknownKeys(known, value).map(({ path }) => pathText(path));

describe('unknownKeys()', () => {
  it('finds none in what the schema describes', () => {
    expect(pathsIn(schema, {})).toEqual([]);
    expect(pathsIn(schema, { inner: null, list: [], either: 'x', free: { x: { y: 1 } }, any: { z: [1] } })).toEqual([]);
    expect(pathsIn(schema, { byName: { one: { a: 'x' }, two: null }, either: { a: 'x' } })).toEqual([]);
    expect(pathsIn(schema, null)).toEqual([]);
  });

  it.each([
    [{ new: 1 }, ['new']],
    [{ inner: { a: 'x', b: null } }, ['inner.b']],
    [{ list: [{ deep: {} }, { deep: { b: 1 }, c: 2 }] }, ['list[1].deep.b', 'list[1].c']],
    [{ either: { a: 'x', b: 1 } }, ['either.b']],
    [{ byName: { one: { b: 1 } } }, ['byName.one.b']],
    [{ constructor: 1, __proto: 2 }, ['constructor', '__proto']],
  ])('of %j are %j', (value, found) => {
    expect(pathsIn(schema, value)).toEqual(found);
  });

  it('looks through refinements', () => {
    expect(
      pathsIn(
        z.object({ a: z.object({}).refine(() => true) }).superRefine(() => undefined),
        { a: { b: 1 } },
      ),
    ).toEqual(['a.b']);
  });
});

describe('saysSomething()', () => {
  it.each([[false], [0], [''], [[null, 0]], [{ a: { b: [''] } }]])('of %j is yes', (value) => {
    expect(saysSomething(value)).toBe(true);
  });
  it.each([[null], [undefined], [{}], [[]], [{ a: null, b: [{}, []] }]])('of %j is no', (value) => {
    expect(saysSomething(value)).toBe(false);
  });
});
