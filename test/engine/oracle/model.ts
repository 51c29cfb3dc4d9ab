import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';

/** Random documents of a collection, most of which agree on types, and what SQL should see of them. */

const few = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<JsonValue>, weight = 14) =>
  fc.oneof({ weight, arbitrary: usual as fc.Arbitrary<JsonValue> }, { weight: 1, arbitrary: odd });

const word = fc.constantFrom('a', 'b', 'bb', 'c', 'C', 'é', 'zz', '', "it's", 'x"y', '10', '9');
const small = fc.integer({ min: -5, max: 20 });
const fraction = fc.constantFrom(0.5, -1.25, 2.75, 100.125);
const big = fc.constantFrom(2n ** 53n + 1n, 2n ** 62n + 1n, -(2n ** 60n) - 1n);
const huge = fc.constantFrom(2n ** 80n + 1n, -(2n ** 100n));
const instant = fc.integer({ min: 0, max: 400 }).map((n) => new Date(Date.UTC(2026, 0, 1) + n * 7_201_000));
const time = fc.oneof(
  { weight: 12, arbitrary: instant.map((at) => at.toISOString()) },
  { weight: 1, arbitrary: instant.map((at) => `${at.toISOString().slice(0, 19)}Z`) },
  { weight: 1, arbitrary: instant.map((at) => `${new Date(+at + 7_200_000).toISOString().slice(0, 19)}+02:00`) },
);
const day = fc.oneof(
  { weight: 30, arbitrary: instant.map((at) => at.toISOString().slice(0, 10)) },
  { weight: 1, arbitrary: instant.map((at) => at.toISOString().slice(0, 19)) },
);
const odd: fc.Arbitrary<JsonValue> = fc.oneof(
  word,
  small,
  fraction,
  big,
  fc.boolean(),
  fc.array(small as fc.Arbitrary<JsonValue>, { maxLength: 2 }),
  fc.record({ k: word }) as fc.Arbitrary<JsonValue>,
  fc.constant<JsonValue>({}),
);

const KEYS = Array.from({ length: 60 }, (_, n) => (n % 7 === 0 ? `k/${n}~` : n % 11 === 0 ? `K${n - 1}` : `k${n}`));
const keyed = (value: fc.Arbitrary<JsonValue>) =>
  fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 3 }) as fc.Arbitrary<JsonValue>;
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 8 });

/** Fields of a document; null and missing are the same. */
export const fieldsArbitrary = fc.record(
  {
    n: some(few(small, odd)),
    d: some(few(fc.oneof(small, fraction) as fc.Arbitrary<number>, fc.oneof(odd, huge))),
    i: some(few(fc.oneof(small, big) as fc.Arbitrary<JsonValue>, word, 25)),
    s: some(few(word, odd)),
    b: some(few(fc.boolean(), odd)),
    t: some(few(time, odd)),
    day: some(few(day, odd)),
    lt: some(few(fc.array(few(time, odd, 20), { maxLength: 3 }), odd)),
    l: some(few(fc.array(few(some(small), odd, 20), { maxLength: 4 }), odd)),
    lo: some(
      few(
        fc.array(
          few(
            fc.record({ k: word, v: some(few(small, odd)) }, { requiredKeys: [] }) as fc.Arbitrary<JsonValue>,
            odd,
            20,
          ),
          { maxLength: 3 },
        ),
        odd,
      ),
    ),
    o: some(
      few(
        fc.record(
          {
            x: some(few(small, odd)),
            y: some(few(word, odd)),
            X: some(small),
            'q "k"': word,
            e: fc.constant({}),
            el: fc.constant([]),
          },
          { requiredKeys: [] },
        ) as fc.Arbitrary<JsonValue>,
        odd,
      ),
    ),
    m: some(few(keyed(few(small, odd, 30)), odd, 30)),
    mix: some(odd),
    N: fc.option(small, { freq: 1, nil: null }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

/** A value without keys that are null. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member as JsonValue)]));
}

/** A text that is the same for equal values, whatever the order of keys. */
export function sameText(value: JsonValue): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : `${value}`;
  if (Array.isArray(value)) return `[${value.map(sameText)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${sameText(member as JsonValue)}`)}}`;
}

const stepsOf = (place: string) => place.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Gives the value at a place. */
export function valueAt(root: JsonValue, place: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const step of stepsOf(place)) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (typeof value === 'object' && value !== null) value = (value as JsonObject)[step];
    else return undefined;
  }
  return value;
}

/** Puts a value at a place; undefined removes a key. */
export function setAt(root: JsonObject, place: string, value: JsonValue | undefined): void {
  const steps = stepsOf(place);
  const last = steps.pop() ?? '';
  let holder: JsonValue = root;
  for (const step of steps) {
    holder = (Array.isArray(holder) ? holder[Number(step)] : (holder as JsonObject)[step]) ?? null;
  }
  if (Array.isArray(holder)) holder[Number(last)] = value ?? null;
  else if (value === undefined) delete (holder as JsonObject)[last];
  else (holder as JsonObject)[last] = value;
}
