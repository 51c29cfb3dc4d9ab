import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EntryReader, jsonReader, linesReader } from '../../../src/cli/files/json-entries.ts';
import { WRITE_BYTES_MAX } from '../../../src/contract/documents.ts';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import type { FileEntry } from '../../../src/mcp/tools/file.ts';

/** Feeds text to a reader in pieces of `pieceBytes` bytes, and returns what it reads. */
async function readAll(reader: EntryReader, text: string | Buffer, pieceBytes = 7) {
  const bytes = Buffer.from(text);
  const entries: FileEntry[] = [];
  for (let at = 0; at <= bytes.length; at += pieceBytes) {
    const isEnd = at >= bytes.length;
    const found = await (isEnd ? reader.end() : reader.read(bytes.subarray(at, at + pieceBytes)));
    entries.push(...found.entries.map(({ entry }) => entry));
    if (found.failure !== undefined) return { entries, failure: found.failure.message };
    if (isEnd) return { entries, failure: undefined };
  }
  const { entries: rest, failure } = await reader.end();
  return { entries: [...entries, ...rest.map(({ entry }) => entry)], failure: failure?.message };
}

const documentsOf = (entries: readonly FileEntry[]) =>
  entries.map((entry) => ('document' in entry ? entry.document : entry.problem));

const anyDocument = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>;
const layout = fc.constantFrom('', ' ', '\n', ' \r\n\t');

describe('jsonReader()', () => {
  it('reads every array of documents as if it came whole, wherever the pieces end', async () => {
    const property = fc.asyncProperty(
      fc.array(anyDocument, { maxLength: 6 }),
      layout,
      fc.integer({ min: 1, max: 40 }),
      async (documents, space, pieceBytes) => {
        const texts = documents.map((document) => JSON.stringify(document, null, space === '\n' ? 2 : 0));
        const text = `${space}[${space}${texts.join(`${space},${space}`)}${space}]${space}`;
        const { entries, failure } = await readAll(jsonReader(), text, pieceBytes);
        expect(failure).toBeUndefined();
        expect(documentsOf(entries)).toEqual(parseJson(text));
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  it('reads one document, and several without commas', async () => {
    expect(documentsOf((await readAll(jsonReader(), '\ufeff {"a": "]"}')).entries)).toEqual([{ a: ']' }]);
    expect(documentsOf((await readAll(jsonReader(), '{"a":1}{"a":2}\n{"a":3}')).entries)).toHaveLength(3);
    expect((await readAll(jsonReader(), ' \n')).entries).toEqual([]);
  });

  it('keeps every digit of an integer', async () => {
    const { entries } = await readAll(jsonReader(), '[{"n":9007199254740993}]');
    expect(documentsOf(entries)).toEqual([{ n: 9007199254740993n }]);
  });

  it('names items that are no documents with their line, and reads on', async () => {
    const { entries } = await readAll(jsonReader(), '[{"a":1},\n 5,\n "x", [1], null,\n{"a":2}]');
    expect(entries.map(({ at }) => at)).toEqual([1, 2, 3, 3, 3, 4]);
    expect(entries.filter((entry) => 'problem' in entry)).toHaveLength(4);
  });

  it.each([
    ['[{"a":1},\n{"a":oops},{"a":3}]', 'the value that begins on line 2 is no JSON'],
    ['[{"a":1}\n{"a":2}]', 'line 2: "{" stands where "," or "]" should'],
    ['[{"a":1},]', '"]" stands where a document should'],
    ['[{"a":1},{"a":', 'the file ends inside the value that begins on line 1'],
    ['[{"a":1}', 'the file ends before its list does'],
    ['[{"a":1},', 'the file ends before its list does'],
    ['[{"a":1}] x', 'stands where nothing more should'],
  ])('stops at %j, behind what is good', async (text, message) => {
    const { entries, failure } = await readAll(jsonReader(), text);
    expect(failure).toContain(message);
    expect(documentsOf(entries)).toEqual([{ a: 1 }]);
  });

  it('refuses a document that is too large for a request, and keeps none of it', async () => {
    const large = `{"a":"${'x'.repeat(WRITE_BYTES_MAX)}"}`;
    const { entries } = await readAll(jsonReader(), `[${large},{"a":1}]`, 1_000_000);
    expect(documentsOf(entries)).toEqual([expect.stringContaining('10 MiB'), { a: 1 }]);
  });
});

describe('linesReader()', () => {
  it('reads on behind a line that is no document, and names it', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":1}\r\n\n{"a":\n[1]\n{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{"é":2}'),
    ]);
    for (const pieceBytes of [1, 3, 1_000]) {
      const { entries } = await readAll(linesReader(), bytes, pieceBytes);
      expect(entries.map(({ at }) => at)).toEqual([1, 3, 4, 5, 6]);
      expect(documentsOf(entries)).toEqual([
        { a: 1 },
        expect.stringContaining('is no JSON'),
        'is no JSON object',
        expect.stringContaining('is not valid UTF-8, and may be Latin-1'),
        { é: 2 },
      ]);
    }
  });
});
