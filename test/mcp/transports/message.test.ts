import { describe, expect, it } from 'vitest';
import { parseMessage, parseMessages } from '../../../src/mcp/transports/message.ts';

describe('parseMessage()', () => {
  it('keeps the digits of integers in arguments, and no other number changes its type', () => {
    const line =
      '{"jsonrpc":"2.0","id":1234567890123456,"method":"tools/call","params":{"name":"t","arguments":{"n":9007199254740993,"m":2}}}';
    expect(parseMessage(line)).toEqual({
      jsonrpc: '2.0',
      id: 1_234_567_890_123_456,
      method: 'tools/call',
      params: { name: 't', arguments: { n: 9_007_199_254_740_993n, m: 2 } },
    });
  });
});

describe('parseMessages()', () => {
  const call = (n: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":${n}}}}`;

  it('keeps the digits in a message and in each of a batch', async () => {
    const exact = { params: { arguments: { n: 9_007_199_254_740_993n } } };
    expect(await parseMessages(call('9007199254740993'))).toMatchObject(exact);
    expect(await parseMessages(`[${call('9007199254740993')}, 7, null, ${call('2')}]`)).toMatchObject([
      exact,
      7,
      null,
      { params: { arguments: { n: 2 } } },
    ]);
  });

  it('leaves what is no message to whoever checks it', async () => {
    for (const text of [
      '12345678901234567890',
      '"1234567890123456789"',
      '{"method":"tools/call","params":1234567890123456789}',
    ]) {
      expect(await parseMessages(text)).toEqual(JSON.parse(text));
    }
    await expect(parseMessages('{')).rejects.toThrow(SyntaxError);
  });
});
