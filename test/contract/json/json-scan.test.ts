import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import {
  checkJson,
  exactNumber,
  type JsonValue,
  parseJson,
  parseJsonInTurns,
} from '../../../src/contract/json/json.ts';
import {
  createJsonReader,
  DEPTH_MAX,
  JsonTextError,
  KEYS_MAX,
  NUMBER_CHARS_MAX,
} from '../../../src/contract/json/json-reader.ts';
import {
  endOfItem,
  ITEM_BYTES_MAX,
  ITEM_VALUES_MAX,
  scanJson,
  VALUES_MAX,
} from '../../../src/contract/json/json-scan.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';

const tooMany = () => new Error('too many entries');
const scan = (text: string, max?: number) =>
  scanJson(Buffer.from(text), { what: 'It', ...(max === undefined ? {} : { data: { max, tooMany } }) });

const space = fc.constantFrom('', '', ' ', '\n\t', '\r\n');
const texts = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('""', '"\\""', '"\\\\"', '"\\u00e9\\ud83d\\ude00"', '"\\ud800"', '"[{,:"', '"__proto__"', '"data"'),
);
const numbers = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1.5',
    '1e400',
    '-1E-7',
    '9007199254740993',
    '12345678901234567890',
    '0.12345678901234567',
  ),
  fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
);

/** JSON texts of every form, with white space between their parts. */
const { json } = fc.letrec<{ json: string; list: string; object: string }>((tie) => ({
  json: fc.oneof({ maxDepth: 5 }, texts, numbers, fc.constantFrom('true', 'false', 'null'), tie('list'), tie('object')),
  list: fc
    .tuple(space, fc.array(tie('json'), { maxLength: 5 }))
    .map(([gap, items]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(texts, tie('json')), { maxLength: 5 }))
    .map(([gap, fields]) => `{${gap}${fields.map(([key, value]) => `${key}${gap}:${value}`).join(`,${gap}`)}${gap}}`),
}));

/** Texts that are nearly JSON: cut, doubled, or with something put into them. */
const broken = fc
  .tuple(
    json,
    fc.nat(),
    fc.constantFrom('', ',', ']', '}', '[', '{', '"', '\\', ':', '0', '-', 'e', '.', 't', '\u0001', '\ufeff'),
  )
  .chain(([text, seed, extra]) => {
    const at = seed % (text.length + 1);
    return fc.constantFrom(text.slice(0, at) + extra, text.slice(0, at) + extra + text.slice(at), text + extra + text);
  });

/** What the built-in parser reads; undefined for what it refuses. */
function builtIn(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function read(text: string, characters: number): JsonValue {
  const reader = createJsonReader(text, exactNumber);
  while (!reader.read(characters)) if (reader.position > text.length) throw new Error('read past the end');
  return reader.value;
}

/** Doubles where the exact parser has larger integers. */
function asDoubles(value: JsonValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(asDoubles);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, asDoubles(one)]));
}

describe('createJsonReader()', () => {
  it('reads what the built-in parser reads, and refuses the rest, in steps of any length', MORE, () => {
    fc.assert(
      fc.property(fc.oneof(json, broken), fc.integer({ min: 1, max: 40 }), (text, characters) => {
        const expected = builtIn(text);
        if (expected === undefined) expect(() => read(text, characters)).toThrow(JsonTextError);
        else {
          expect(asDoubles(read(text, characters))).toEqual(expected.value);
          expect(Object.keys(Object(read(text, characters)))).toEqual(Object.keys(Object(expected.value)));
        }
      }),
      propertyRuns(2_000),
    );
  });

  it('stops within a long string', () => {
    const text = `{"${'k'.repeat(10_000)}":"${'x'.repeat(10_000)}\\n"}`;
    const reader = createJsonReader(text, exactNumber);
    let steps = 1;
    for (let before = 0; !reader.read(100); steps += 1) {
      expect(reader.position - before).toBeLessThanOrEqual(110);
      before = reader.position;
    }
    expect(steps).toBeGreaterThan(100);
    expect(reader.value).toEqual(JSON.parse(text));
  });

  it('says where a text stops to be JSON: what is before may still become JSON', () => {
    fc.assert(
      fc.property(broken, (text) => {
        if (builtIn(text) !== undefined) return;
        const reader = createJsonReader(text);
        let position = -1;
        try {
          reader.read(Number.POSITIVE_INFINITY);
        } catch (error) {
          position = error instanceof JsonTextError ? error.position : -1;
        }
        expect(position).toBeGreaterThanOrEqual(0);
        expect(position).toBeLessThanOrEqual(text.length);
        // With another end, no reader finds a fault before that place.
        for (const end of ['', '"', ']', '}', '0']) {
          try {
            createJsonReader(text.slice(0, position) + end).read(Number.POSITIVE_INFINITY);
          } catch (error) {
            expect((error as JsonTextError).position).toBeGreaterThanOrEqual(position);
          }
        }
      }),
      propertyRuns(500),
    );
  });

  it('keeps digits, the last of equal keys, and a key named __proto__', () => {
    const text = '{"a":1,"__proto__":{"x":12345678901234567890},"a":[2]}';
    const value = read(text, 1) as { a: JsonValue };
    expect(Object.keys(value)).toEqual(['a', '__proto__']);
    expect(value.a).toEqual([2]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(parseJson(text)).toEqual(value);
  });

  it('refuses too long a number, and too deep a text', () => {
    expect(read(`${'7'.repeat(NUMBER_CHARS_MAX)}`, 5)).toBe(BigInt('7'.repeat(NUMBER_CHARS_MAX)));
    expect(() => read('7'.repeat(NUMBER_CHARS_MAX + 1), 5)).toThrow('a number of more than 1000 characters');
    expect(read(`${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}`, 5)).toHaveLength(1);
    expect(() => read(`${'['.repeat(DEPTH_MAX + 1)}x`, 5)).toThrow('nested too deeply');
  });
});

describe('parseJsonInTurns()', () => {
  it('lets others have their turn while it reads a long text', async () => {
    const text = `[${'{"a":[1,2,"x\\n"]},'.repeat(100_000)}12345678901234567890]`;
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    const value = await parseJsonInTurns(text);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
    expect(value).toEqual(parseJson(text));
    await expect(checkJson(`${text}]`)).rejects.toMatchObject({ position: text.length });
  });
});

/** The limits, counted over a value in the plainest way. */
function countOf(value: unknown, depth = 1): { values: number; keys: number; depth: number } {
  const counts = { values: 1, keys: 0, depth: 0 };
  if (typeof value !== 'object' || value === null) return counts;
  const members = Object.values(value);
  if (!Array.isArray(value)) counts.keys = members.length;
  counts.depth = depth;
  for (const member of members) {
    const inner = countOf(member, depth + 1);
    counts.values += inner.values;
    counts.keys = Math.max(counts.keys, inner.keys);
    counts.depth = Math.max(counts.depth, inner.depth);
  }
  return counts;
}

describe('scanJson()', () => {
  it('lets every JSON text within the limits pass, and finds its entries', MORE, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(json, { maxLength: 6 }), space, json, async (items, gap, other) => {
        const text = `${gap}{"other":${other},${gap}"data"${gap}:${gap}[${items.join(`,${gap}`)}${gap}]${gap}}`;
        const bytes = Buffer.from(text);
        const list = await scan(text, 6);
        expect(await scan(text)).toBeUndefined();
        expect(bytes.toString('utf8', list?.start, list?.end)).toBe(`[${items.join(`,${gap}`)}${gap}]`);
        const found = items.map((_, at) => bytes.toString('utf8', list?.items[2 * at], list?.items[2 * at + 1]).trim());
        expect(found).toEqual(items.map((item) => item.trim()));
        expect(list?.items).toHaveLength(2 * items.length);
      }),
      propertyRuns(500),
    );
  });

  it('agrees with a count of what was parsed, whatever the bytes are', async () => {
    const tiny = fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', '1', '-', ' ', '"data"', '{"data":[');
    const noise = fc.oneof(
      fc.array(tiny, { maxLength: 30 }).map((parts) => Buffer.from(parts.join(''))),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      broken.map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(noise, async (bytes) => {
        // Nothing here is over a limit.
        const list = await scanJson(bytes, { what: 'It', data: { max: 100, tooMany } });
        const value = builtIn(bytes.toString());
        if (value === undefined || list === undefined) return;
        const data = (value.value as { data?: unknown }).data;
        if (!/\\u/.test(bytes.toString())) expect(data).toHaveLength(list.items.length / 2);
      }),
      propertyRuns(2_000),
    );
  });

  it.each([
    ['values', VALUES_MAX, (n: number) => `[${'1,'.repeat(n - 2)}1]`, 'holds more than 200,000 values'],
    ['empty lists', VALUES_MAX / 2, (n: number) => `[${'[],'.repeat(n - 2)}[]]`, undefined],
    ['keys', KEYS_MAX, (n: number) => `{${'"a":1,'.repeat(n - 1)}"a":1}`, 'an object of more than 20,000 keys'],
    ['levels', DEPTH_MAX, (n: number) => '['.repeat(n) + ']'.repeat(n), 'nested more than 2,000 levels deep'],
    ['digits', NUMBER_CHARS_MAX, (n: number) => `[${'7'.repeat(n)}]`, 'a number of more than 1,000 characters'],
  ] as const)('counts %s', async (_, most, textOf, why) => {
    await expect(scan(textOf(most))).resolves.toBeUndefined();
    expect(countOf(JSON.parse(textOf(most))).values).toBeLessThanOrEqual(VALUES_MAX);
    if (why === undefined) return;
    await expect(scan(textOf(most + 1))).rejects.toThrow(why);
    await expect(scan(textOf(most + 1))).rejects.toThrow(ApiError);
  });

  it.each([
    ['values', ITEM_VALUES_MAX, (n: number) => `[${'1,'.repeat(n - 2)}1]`, '"data[1]" holds more than 100,000 values'],
  ] as const)('counts %s of each entry by itself', async (_, most, textOf, why) => {
    const body = (n: number) => `{"data":[1,${textOf(n)},${textOf(most)}]}`;
    await expect(scan(body(most), 3)).resolves.toMatchObject({ items: { length: 6 } });
    await expect(scan(body(most + 1), 3)).rejects.toThrow(why);
    await expect(scan(body(most), 2)).rejects.toThrow('too many entries');
  });

  it('finds the end of one entry, unless it is over a limit or has none', () => {
    const endOf = (text: string) => endOfItem(Buffer.from(`,${text},`), 1);
    for (const text of ['{}', '[]', '{"a":"}\\"]","b":[{}]}', `[${'1,'.repeat(ITEM_VALUES_MAX - 2)}1]`]) {
      expect(endOf(text)).toBe(1 + text.length);
    }
    for (const text of [
      '{',
      '[}',
      '{"a',
      `[${'1,'.repeat(ITEM_VALUES_MAX - 1)}1]`,
      `["${'x'.repeat(ITEM_BYTES_MAX)}"]`,
    ]) {
      expect(endOf(text)).toBe(-1);
    }
  });
});
