import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import { ITEM_BYTES_MAX } from '../../../src/contract/json/json-scan.ts';
import { itemsOf, jsonParts } from '../../../src/service/loading/json-parts.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';

/** How much is a part, so that small texts have several. */
interface Cut {
  /** Sizes of the chunks, in turn. */
  chunks?: readonly number[];
  firstBytes?: number;
  partBytes?: number;
  isLines?: boolean;
  line?: number;
}

async function* chunksOf(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** The texts of the documents with their lines, the number of parts, and why the stream is no JSON. */
async function read(text: string | Buffer, { chunks = [7], ...options }: Cut = {}) {
  const items: { at: number; text: string }[] = [];
  let parts = 0;
  try {
    for await (const part of jsonParts(chunksOf(Buffer.from(text), chunks), options)) {
      parts += 1;
      for (const { start, end, line } of itemsOf(part)) {
        items.push({ at: line, text: part.bytes.toString('utf8', start, end).replace(/\s*\r$/, '') });
      }
    }
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_input' });
    return { items, parts, failure: (error as Error).message };
  }
  return { items, parts, failure: undefined };
}

const parsed = (items: readonly { text: string }[]) => items.map(({ text }) => parseJson(text));
const linesOf = (items: readonly { at: number }[]) => items.map(({ at }) => at);

const anyDocument = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;
const documents = fc.array(anyDocument, { maxLength: 8 });
const space = fc.constantFrom('', ' ', '\n', ' \r\n\t', '\n\n');
const mark = fc.constantFrom('', '\ufeff');
const cut: fc.Arbitrary<Cut> = fc.record({
  chunks: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
  firstBytes: fc.integer({ min: 1, max: 80 }),
  partBytes: fc.integer({ min: 1, max: 80 }),
});

describe('jsonParts(), wherever the chunks and the parts end', () => {
  it('has the documents of every list', MORE, async () => {
    const property = fc.asyncProperty(documents, space, mark, cut, async (given, gap, bom, how) => {
      const texts = given.map((document) => JSON.stringify(document, null, gap === '\n' ? 2 : 0));
      const text = `${gap}[${gap}${texts.join(`${gap},${gap}`)}${gap}]${gap}`;
      const { items, failure } = await read(`${bom}${text}`, how);
      expect(failure).toBeUndefined();
      expect(parsed(items)).toEqual(parseJson(text));
    });
    await fc.assert(property, propertyRuns(1_000));
  });

  it('has those of all lines, with the numbers of these', MORE, async () => {
    const property = fc.asyncProperty(documents, fc.boolean(), mark, cut, async (given, isLines, bom, how) => {
      const texts = given.flatMap((document, at) => [JSON.stringify(document), ...(at % 3 === 0 ? ['', ' '] : [])]);
      const { items, failure } = await read(`${bom}${texts.join('\r\n')}`, { ...how, isLines });
      expect(failure).toBeUndefined();
      expect(parsed(items)).toEqual(given.map((document) => parseJson(JSON.stringify(document))));
      expect(linesOf(items)).toEqual(texts.flatMap((one, at) => (one.trim() === '' ? [] : [at + 1])));
    });
    await fc.assert(property, propertyRuns(1_000));
  });

  it('has those that follow each other, on several lines each or on one', MORE, async () => {
    const property = fc.asyncProperty(documents, fc.constantFrom(0, 2), mark, cut, async (given, indent, bom, how) => {
      // A first document alone on its line would make a document of each line.
      const all = [{ first: 1 }, { second: 2 }, ...given];
      const text = all.map((one) => JSON.stringify(one, null, indent)).join(indent === 0 ? '' : '\n');
      const { items, failure } = await read(`${bom}${text}`, how);
      expect(failure).toBeUndefined();
      expect(parsed(items)).toEqual(all.map((one) => parseJson(JSON.stringify(one))));
    });
    await fc.assert(property, propertyRuns(1_000));
  });

  it('finds the same documents and the same failure in text that is broken somewhere', MORE, async () => {
    const broken = fc.tuple(documents, space, fc.nat(), fc.constantFrom('', ',', ']', '}', '"', '{', '[', 'x', '\n'));
    const property = fc.asyncProperty(broken, cut, async ([given, gap, place, wrong], how) => {
      const text = `[${given.map((one) => JSON.stringify(one)).join(`,${gap}`)}]`;
      const at = place % (text.length + 1);
      const spoilt = `${text.slice(0, at)}${wrong}${text.slice(at + (wrong === '' ? 1 : 0))}`;
      const whole = await read(spoilt, { chunks: [spoilt.length] });
      const { items, failure } = await read(spoilt, how);
      expect({ items, failure }).toEqual({ items: whole.items, failure: whole.failure });
    });
    await fc.assert(property, propertyRuns(2_000));
  });

  it('yields a first part soon and others as they come, each valid while the next one is looked at', async () => {
    const text = Array.from({ length: 200 }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(n) })).join('\n');
    const held: { bytes: Buffer; copy: Buffer }[] = [];
    let count = 0;
    for await (const { bytes } of jsonParts(chunksOf(Buffer.from(text), [100]), {
      firstBytes: 500,
      partBytes: 2_000,
    })) {
      count += 1;
      const before = held.at(-1);
      if (before !== undefined) expect(before.bytes.equals(before.copy)).toBe(true);
      if (count === 1) expect(bytes.length).toBeLessThan(700);
      held.push({ bytes, copy: Buffer.from(bytes) });
    }
    expect(count).toBeGreaterThan(8);
    expect(Buffer.concat(held.map(({ copy }) => copy)).toString()).toBe(text);
  });
});

describe('jsonParts()', () => {
  it('has one document, and several without commas', async () => {
    expect(parsed((await read('\ufeff {"a": "]"}')).items)).toEqual([{ a: ']' }]);
    expect(parsed((await read('{"a":1}{"a":2}\n{"a":3}')).items)).toHaveLength(3);
    for (const nothing of ['', ' \n', '\ufeff', '[]', ' [ \n ] ']) {
      expect(await read(nothing)).toMatchObject({ items: [], failure: undefined });
    }
  });

  it('keeps every digit of an integer', async () => {
    expect(parsed((await read('[{"n":9007199254740993}]')).items)).toEqual([{ n: 9007199254740993n }]);
  });

  it.each([1, 7, 1_000])('names items that are no documents with their line, in parts of %i bytes', async (size) => {
    const how = { firstBytes: size, partBytes: size };
    const { items } = await read('[{"a":1},\n 5,\n "x,]", [1], null,\n{"a":2}]', how);
    expect(linesOf(items)).toEqual([1, 2, 3, 3, 3, 4]);
    expect(parsed(items)).toEqual([{ a: 1 }, 5, 'x,]', [1], null, { a: 2 }]);
  });

  it('counts lines from the one it is told, over all parts', async () => {
    const text = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`).join(',\n');
    const { items, parts } = await read(`[\n${text}\n]`, { firstBytes: 20, partBytes: 40, line: 10 });
    expect(parts).toBeGreaterThan(5);
    expect(linesOf(items)).toEqual(Array.from({ length: 50 }, (_, n) => 11 + n));
    const { failure } = await read(`[\n${text}\n}`, { firstBytes: 20, partBytes: 40, line: 10 });
    expect(failure).toContain('at line 61: "}" stands where "," or "]" should');
  });

  it.each([
    ['[{"a":1}\n{"a":2}]', 'line 2: "{" stands where "," or "]" should'],
    ['[{"a":1},]', '"]" stands where a document should'],
    ['[{"a":1},,{"a":2}]', '"," stands where a document should'],
    ['[{"a":1},\n{"a":', 'the document that begins on line 2 does not end'],
    ['[{"a":1},\n{"a":]}', 'the document that begins on line 2 does not end'],
    ['[{"a":1}', 'the file ends before its list does'],
    ['[{"a":1},', 'the file ends before its list does'],
    ['[{"a":1}] x', '"x" stands where nothing more should'],
    ['{"a":1}{"b":\n', 'the document that begins on line 1 does not end'],
  ])('stops at %j, behind what is good', async (text, message) => {
    for (const size of [1, 5, 1_000]) {
      const { items, failure } = await read(text, { firstBytes: size, partBytes: size });
      expect(failure).toMatch(/^The file is not JSON, at line \d: .*\.$/);
      expect(failure).toContain(message);
      expect(parsed(items)).toEqual([{ a: 1 }]);
    }
  });

  it('goes on behind a line that is no document, and names it', async () => {
    const text = Buffer.concat([
      Buffer.from('{"a":1}\r\n\n{"a":\n[1]\n{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{"é":2}'),
    ]);
    for (const size of [1, 3, 1_000]) {
      const { items, failure } = await read(text, { chunks: [size], firstBytes: size, partBytes: size });
      expect(failure).toBeUndefined();
      expect(items).toEqual([
        { at: 1, text: '{"a":1}' },
        { at: 3, text: '{"a":' },
        { at: 4, text: '[1]' },
        { at: 5, text: '{"a":"\ufffd"}' },
        { at: 6, text: '{"é":2}' },
      ]);
    }
  });

  it('has a mark at the beginning of UTF-8 in no document, however long the first line is', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(600 * 1024) });
    const { items } = await read(`\ufeff${long}\n{"b":1}`, { chunks: [64 * 1024], isLines: true });
    expect(items.map(({ text }) => text.slice(0, 6))).toEqual(['{"a":"', '{"b":1']);
  });

  it('knows lines by the first, however long it is, and a list behind any white space', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(600 * 1024) });
    const lines = await read(`${long}\n{"b":\n{"c":1}`, { chunks: [64 * 1024] });
    expect(lines.failure).toBeUndefined();
    expect(linesOf(lines.items)).toEqual([1, 2, 3]);
    const list = await read(`${' '.repeat(600 * 1024)}\n[{"a":1},{"b":1}]`, { chunks: [64 * 1024] });
    expect(list.items).toEqual([
      { at: 2, text: '{"a":1}' },
      { at: 2, text: '{"b":1}' },
    ]);
  });

  it('keeps no more of a document that is too long than shows that it is, and goes on behind it', async () => {
    // Brackets and quotes in its texts, and a character of several bytes wherever it is cut.
    const long = `{"b":[{"a":\n"${'é]}{\\"'.repeat(ITEM_BYTES_MAX / 2)}"}]}`;
    for (const text of [
      `[{"b":1},${long},\n{"a":1}]`,
      `{"b":1}${long}\n{"a":1}`,
      `[{"b":1},${long.slice(12, -3)},\n{"a":1}]`,
    ]) {
      for (const chunk of [100_000, 100_000_000]) {
        const { items, failure } = await read(text, { chunks: [chunk] });
        expect(failure).toBeUndefined();
        const last = text.split('\n').length;
        expect(linesOf(items)).toEqual([1, 1, last]);
        expect([items[0]?.text, items[2]?.text]).toEqual(['{"b":1}', '{"a":1}']);
        expect(items[1]?.text.length).toBeGreaterThan(ITEM_BYTES_MAX / 2);
        if (chunk < ITEM_BYTES_MAX) expect(items[1]?.text.length).toBeLessThan(2.1 * ITEM_BYTES_MAX);
      }
    }
  });

  it('has a document that is nested too deeply by itself, and goes on behind it', async () => {
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const rest = `,{"c":"${'x'.repeat(1024 * 1024)}"}`.repeat(12);
    for (const text of [`[{"b":1},${deep},{"c":1}]`, `[${deep}${rest},{"c":1}]`]) {
      const { items, failure } = await read(text, { chunks: [100_000] });
      expect(failure).toBeUndefined();
      expect(items.some((one) => one.text === deep)).toBe(true);
      expect(items.at(-1)?.text).toBe('{"c":1}');
    }
  });

  it('says of a document that is too long and does not end where it begins', async () => {
    const { items, failure } = await read(`[{"b":1},\n{"a":"${'x'.repeat(2 * ITEM_BYTES_MAX)}`, { chunks: [100_000] });
    expect(items).toHaveLength(2);
    expect(failure).toContain('the document that begins on line 2 does not end');
  });

  it.each([
    ['indented', JSON.stringify({ b: [1, { c: 2 }], d: {} }, null, 2)],
    ['not indented', '{\n"b": [1,\r\n {"c": 2}],\n\n"d": {\n}\n}'],
    ['begun on a line', '{ "b": [1, {\n  "c": 2 }],\n "d": {} }'],
  ])('has documents over several lines behind others that have one each: %s', async (_, wide) => {
    const text = `{"a":1}\n{"a":2}\n\n${wide}\n${wide}\n{"a":3}`;
    const wanted = [{ a: 1 }, { a: 2 }, parseJson(wide), parseJson(wide), { a: 3 }];
    for (let size = 1; size < 60; size++) {
      const { items, failure } = await read(text, { chunks: [size], firstBytes: size, partBytes: size });
      expect(failure).toBeUndefined();
      expect(parsed(items)).toEqual(wanted);
      expect(items[2]?.at).toBe(4);
    }
  });

  it('takes a line that is cut off for one, whatever it ends with', async () => {
    for (const cutOff of ['{', '{"a":', '{"a":[', '{"a":1,']) {
      for (const size of [1, 5, 1_000]) {
        const text = `{"a":1}\n${cutOff}\n{"a":2}\n${cutOff}`;
        const { items, failure } = await read(text, { chunks: [size], firstBytes: size, partBytes: size });
        expect(failure).toBeUndefined();
        expect(items.map((one) => one.text)).toEqual(['{"a":1}', cutOff, '{"a":2}', cutOff]);
      }
    }
  });

  it('keeps no more of a line that is too long than shows that it is, and goes on behind it', async () => {
    const long = `{"a":"${'x'.repeat(4 * ITEM_BYTES_MAX)}"}`;
    for (const chunk of [100_000, 50_000_000]) {
      const text = `{"b":1}\n${long}\n\n{"c":1}`;
      const { items, failure } = await read(text, { chunks: [chunk], isLines: true });
      expect(failure).toBeUndefined();
      expect(linesOf(items)).toEqual([1, 2, 4]);
      expect(items[1]?.text.length).toBeGreaterThan(ITEM_BYTES_MAX);
      if (chunk < ITEM_BYTES_MAX) expect(items[1]?.text.length).toBeLessThan(2.1 * ITEM_BYTES_MAX);
      expect(items[2]?.text).toBe('{"c":1}');
    }
  });

  it('counts the lines of many documents on one line about as fast as those on many', () => {
    const took = (gap: string) => {
      const bytes = Buffer.from(Array.from({ length: 150_000 }, (_, n) => `{"n":${n},"text":"some text"}`).join(gap));
      const began = performance.now();
      let count = 0;
      for (const { line } of itemsOf({ bytes, line: 1, isLines: false })) count += line > 0 ? 1 : 0;
      expect(count).toBe(150_000);
      return performance.now() - began;
    };
    took('\n');
    // A search of the next line behind each document takes twenty times as long.
    expect(took(' ')).toBeLessThan(5 * took('\n') + 500);
  });
});
