import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { MESSAGE_BYTES_MAX, parseMessage } from './message.ts';

const LINE_FEED = 0x0a;
const INVALID_REQUEST = -32_600;

interface Streams {
  input: Readable;
  output: Writable;
}

/**
 * JSON-RPC messages, one per line. Unlike the SDK's own transport, it keeps the integers in a tool's arguments exact,
 * as `bigint` beyond 2^53, so that no document loses digits on its way in, and accepts a line as long as the largest
 * possible write. `ended` resolves when it closes, for whatever reason.
 */
export function stdioTransport({ input, output }: Streams): { transport: Transport; ended: Promise<void> } {
  const onData = lineReader(receive, () => fail(new Error(`a message is longer than ${MESSAGE_BYTES_MAX} bytes`)));
  let isClosed = false;

  const transport: Transport = { start, send, close };
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });

  function receive(line: string): void {
    if (line.trim() === '') return;
    let message: JSONRPCMessage;
    try {
      message = parseMessage(line);
    } catch {
      // The parser's own message would quote the line, whatever it contains, in the log.
      transport.onerror?.(new Error('a line on stdin is no JSON-RPC message'));
      for (const id of requestIds(line)) send(invalidRequest(id)).catch(() => undefined);
      return;
    }
    transport.onmessage?.(message);
  }

  function fail(error: unknown): void {
    transport.onerror?.(toError(error));
    void close();
  }

  function onEnd(): void {
    void close();
  }

  async function start(): Promise<void> {
    input.on('data', onData);
    input.once('end', onEnd);
    input.once('close', onEnd);
    input.on('error', fail);
    output.on('error', fail);
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    if (isClosed) throw new Error('the connection is closed');
    await new Promise<void>((resolve, reject) => {
      output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    // The error listeners stay: a late write to a reader that is gone must not end the process.
    input.off('data', onData);
    input.pause();
    transport.onclose?.();
    end();
  }

  return { transport, ended };
}

/** Whoever sent a request waits for an answer, so one that cannot be read is answered wherever its id can be. */
function requestIds(line: string): (string | number)[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [];
  }
  return (Array.isArray(value) ? value : [value]).flatMap((one: { id?: unknown; method?: unknown } | null) => {
    const id = one?.id;
    return one?.method !== undefined && (typeof id === 'string' || typeof id === 'number') ? [id] : [];
  });
}

function invalidRequest(id: string | number): JSONRPCMessage {
  const message =
    'Invalid Request: the line is no JSON-RPC message of this protocol. Send one object per line, no batch, with "jsonrpc": "2.0" and an object as "params".';
  return { jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } };
}

/** Splits bytes into lines; a line that is too long is reported and not kept. */
function lineReader(onLine: (line: string) => void, onTooLong: () => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      rest = rest.subarray(end + 1);
      parts = [];
      size = 0;
      onLine(line.toString('utf8'));
    }
    size += rest.length;
    if (size > MESSAGE_BYTES_MAX) {
      parts = [];
      onTooLong();
    } else if (rest.length > 0) {
      parts.push(rest);
    }
  };
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
