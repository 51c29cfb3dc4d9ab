import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/contract/json/json.ts';
import { ON_LAKE } from '../lake/lake-for.ts';

/** Keys that code might trip over; few enough that documents share them. */
const KEYS = [
  'a',
  'A',
  'b',
  'é',
  'É',
  '__proto__',
  'constructor',
  '_id',
  '_extra',
  '_Meta',
  'rowid',
  '',
  '0',
  '10',
  'a.b',
  'quo"te',
  "apos'trophe",
  'back\\slash',
  'new\nline',
  'nul\u0000',
  'select',
  '😀',
  'x'.repeat(300),
];

const nastyNumber = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.constantFrom(0, 0.1, 1e15, 1e16, 1e18, 1e20, 1e21, 1e300, 5e-324, 1.7976931348623157e308),
);
const nastyBigInt = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }),
  fc.constantFrom(
    2n ** 63n - 1n,
    2n ** 63n,
    -(2n ** 63n),
    -(2n ** 63n) - 1n,
    // A lake has no integers of 39 digits, but for those that are no integers to the engine either.
    ON_LAKE ? 10n ** 38n - 1n : 2n ** 127n - 1n,
    2n ** 127n,
    -(2n ** 127n),
    10n ** 60n,
  ),
);
const nastyString = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('', 'null', '5', '{"a":1}', 'nul\u0000end', '\u2028\n', "'", '"', '\\ud800', '2024-01-01T00:00:00Z'),
);

/** Any JSON value. */
export const nastyValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    nastyNumber,
    nastyBigInt,
    nastyString,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: objectOf(tie('value'), 4),
})).value;

/** An object with some of many keys, as maps have them; nearly all values are alike. */
const keyed: fc.Arbitrary<JsonValue> = fc
  .array(
    fc.tuple(
      fc.nat({ max: 60 }),
      fc.oneof({ weight: 60, arbitrary: fc.integer() }, { weight: 20, arbitrary: nastyNumber }, nastyValue),
    ),
    { maxLength: 8 },
  )
  .map((entries) => Object.fromEntries(entries.map(([n, value]) => [n % 3 === 0 ? String(n) : `K${n}`, value])));

/** A document with nasty keys and values. */
export const nastyDocument: fc.Arbitrary<JsonObject> = objectOf(nastyValue, 6);

/** The same, with objects that become maps. */
export const keyedDocument: fc.Arbitrary<JsonObject> = fc
  .tuple(nastyDocument, keyed, fc.option(fc.array(keyed, { maxLength: 2 })))
  .map(([document, m, l]) => ({ ...document, m, ...(l === null ? {} : { l }) }));

function objectOf(value: fc.Arbitrary<JsonValue>, maxLength: number): fc.Arbitrary<JsonObject> {
  return fc
    .array(fc.tuple(fc.constantFrom(...KEYS), value), { maxLength })
    .map((entries) => Object.fromEntries(entries) as JsonObject);
}

/**
 * A form for comparing documents: null members count as missing, the order of members does not matter, and an integer
 * is the same as number or bigint.
 */
export function canonical(value: JsonValue): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? `integer ${BigInt(value)}` : value;
  if (typeof value === 'bigint') return `integer ${value}`;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(canonical);
  return Object.entries(value)
    .filter(([, member]) => member !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, canonical(member)]);
}
