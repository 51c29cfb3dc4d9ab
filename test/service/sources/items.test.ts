import { describe, expect, it } from 'vitest';
import { documentAtOnce, documentOf } from '../../../src/service/sources/items.ts';

const bytesOf = (text: string) => Buffer.from(text);
const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

describe('documentOf()', () => {
  it.each([
    ['a small object', '{"n": 12345678901234567890}', { n: 12345678901234567890n }],
    ['a large one', `{"text": "${'x'.repeat(200_000)}"}`, { text: 'x'.repeat(200_000) }],
    ['one within white space', ' \n\t{"a": 1}\r\n', { a: 1 }],
    ['one behind a byte order mark', '\ufeff{"a": 1}', { a: 1 }],
  ])('reads %s', async (_, text, document) => {
    expect(await documentOf(bytesOf(text))).toEqual({ document });
  });

  it.each([
    ['a list', '[1]', 'is no JSON object'],
    ['nothing', '', 'is no JSON: '],
    ['one that does not end', '{"a": 1', 'does not end'],
    ['one behind which there is more', '{"a": 1} {"b": 2}', 'is no JSON: '],
    ['one that is nested too deeply', nested(5_000), 'is nested too deeply'],
    ['one that is nested too deeply, within white space', ` ${nested(5_000)} `, 'is nested too deeply'],
  ])('refuses %s', async (_, text, reason) => {
    expect(await documentOf(bytesOf(text))).toEqual({ reason: expect.stringContaining(reason) });
    expect(documentAtOnce(bytesOf(text))).toBeUndefined();
  });

  it('refuses bytes that are no text, and too many', async () => {
    expect(await documentOf(Buffer.from([0x7b, 0xff, 0x7d]))).toEqual({ reason: 'is not text in UTF-8' });
    expect(await documentOf(Buffer.alloc(11 * 1024 * 1024, 0x20))).toEqual({
      reason: expect.stringContaining('one document may have'),
    });
  });
});
