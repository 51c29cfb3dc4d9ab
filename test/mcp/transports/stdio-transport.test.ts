import { PassThrough } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { stdioTransport } from '../../../src/mcp/transports/stdio-transport.ts';

async function open() {
  const input = new PassThrough();
  const output = new PassThrough();
  const { transport, ended } = stdioTransport({ input, output });
  const seen = { messages: [] as JSONRPCMessage[], errors: [] as Error[], closed: 0 };
  transport.onmessage = (message) => void seen.messages.push(message);
  transport.onerror = (error) => void seen.errors.push(error);
  transport.onclose = () => void seen.closed++;
  await transport.start();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { input, output, transport, ended, seen, settle };
}

const ping = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`;

describe('stdioTransport()', () => {
  it('reads messages however the bytes are cut', async () => {
    const { input, seen, settle } = await open();
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'é🙂' })}\r\n\n${ping(2)}`);
    for (const byte of bytes) input.write(Buffer.from([byte]));
    await settle();
    expect(seen.messages).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'é🙂' },
      { jsonrpc: '2.0', id: 2, method: 'ping' },
    ]);
  });

  it('reports what is no message, and goes on', async () => {
    const { input, seen, settle } = await open();
    input.write(`not json\n{"jsonrpc":"1.0"}\n[]\n${ping(3)}`);
    await settle();
    expect(seen.errors).toHaveLength(3);
    expect(seen.messages).toHaveLength(1);
    expect(seen.closed).toBe(0);
  });

  it('answers requests that it cannot read, so that nobody waits for ever', async () => {
    const { input, output, seen, settle } = await open();
    const broken = [
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: [] },
      [{ jsonrpc: '2.0', id: 'two', method: 'ping' }, null, { jsonrpc: '2.0', method: 'notifications/initialized' }],
      { jsonrpc: '1.0', id: 3, method: 'ping' },
      { jsonrpc: '2.0', id: null, method: 'ping' },
      { jsonrpc: '2.0', id: 5, neither: 'a request nor an answer' },
    ];
    for (const message of broken) input.write(`${JSON.stringify(message)}\n`);
    await settle();
    const lines = String(output.read() ?? '')
      .trim()
      .split('\n');
    const answers = lines.map((line) => JSON.parse(line));
    expect(answers.map(({ id, error }) => [id, error.code])).toEqual([
      [1, -32_600],
      ['two', -32_600],
      [3, -32_600],
    ]);
    expect(answers[0].error.message).toContain('Send one object per line');
    expect(seen).toMatchObject({ messages: [], closed: 0 });
    expect(seen.errors).toHaveLength(broken.length);
  });

  it('closes once when the input ends', async () => {
    const { input, transport, ended, seen } = await open();
    input.end();
    await ended;
    await transport.close();
    expect(seen.closed).toBe(1);
    await expect(transport.send({ jsonrpc: '2.0', id: 1, result: {} })).rejects.toThrow('closed');
  });

  it('closes when the output breaks', async () => {
    const { output, seen, settle } = await open();
    output.destroy(new Error('EPIPE'));
    await settle();
    expect(seen).toMatchObject({ closed: 1, errors: [{ message: 'EPIPE' }] });
  });

  it('writes one message per line', async () => {
    const { output, transport } = await open();
    await transport.send({ jsonrpc: '2.0', id: 1, result: { text: 'a\nb' } });
    expect(output.read().toString()).toBe('{"jsonrpc":"2.0","id":1,"result":{"text":"a\\nb"}}\n');
  });

  it('gives up on a line without end', async () => {
    const { input, seen, settle } = await open();
    for (let index = 0; index < 25; index++) input.write(Buffer.alloc(1024 * 1024, 0x61));
    await settle();
    expect(seen).toMatchObject({ closed: 1, messages: [] });
  });
});
