import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringifyJson } from '../../../src/contract/json/json.ts';
import { encodeAnswer } from '../../../src/service/app/answer.ts';

async function textOf(answer: object): Promise<string> {
  const encoded = encodeAnswer(answer);
  return typeof encoded === 'string' ? encoded : text(encoded);
}

/** About a megabyte of rows. */
const rows = Array.from({ length: 5_000 }, (_, n) => ({ n, text: `é${'x'.repeat(200)}`, none: null }));

describe('encodeAnswer()', () => {
  test('is the JSON of any answer', async () => {
    const answers = fc.dictionary(
      fc.string(),
      fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.bigInt(), fc.array(fc.jsonValue(), { maxLength: 80 })),
    );
    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        expect(await textOf(answer)).toBe(stringifyJson(answer));
      }),
    );
  });

  test('is the same text in pieces, whatever the size of rows', async () => {
    const large = { text: 'y'.repeat(700_000) };
    const emoji = `x${'😀'.repeat(300_000)}\ud83d`;
    const deep = { a: [{ b: rows }, rows, [], {}, emoji], c: { d: emoji, e: 12345678901234567890n }, toJSON: rows };
    for (const results of [
      rows,
      [...rows.slice(0, 40), large, large, ...rows],
      [[large], ...rows],
      [deep, [deep]],
      [1n, rows, 2n],
      [large],
    ]) {
      const answer = { query_id: 'q', results, nothing: undefined, warnings: [], status: 'COMPLETED' };
      expect(encodeAnswer(answer)).toBeInstanceOf(Readable);
      expect(await textOf(answer)).toBe(stringifyJson(answer));
    }
  });

  test('makes no more of a long one than is read, and gives others their turn', async () => {
    let made = 0;
    const counted = rows.map((row) => ({
      ...row,
      get n() {
        made += 1;
        return row.n;
      },
    }));
    const encoded = encodeAnswer({ results: counted }) as Readable;
    await new Promise((resolve) => setTimeout(resolve, 50));
    // Each is weighed, once or twice, and then written.
    expect(made).toBeLessThan(2 * 4_000);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    await text(encoded);
    clearInterval(timer);
    expect(made).toBeGreaterThanOrEqual(2 * rows.length);
    expect(turns).toBeGreaterThan(0);
  });
});
