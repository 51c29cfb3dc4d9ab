import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import { ApiError } from '../../contract/errors.ts';
import { scanJson } from '../../contract/json/json-scan.ts';
import { enterBody } from '../../contract/turns/long-bodies.ts';
import { MESSAGE_BYTES_MAX, parseMessages } from './message.ts';

/** A request answered with an HTTP error, whose body MCP clients read as a JSON-RPC error without an id. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The SDK's error code for requests that the transport itself refuses. */
export const REFUSED = -32_000;
export const SESSION_NOT_FOUND = -32_001;
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;

/** How much of an oversized body is read before the answer, which a client that still writes may not read otherwise. */
const DRAIN_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;
const CLOSE = { connection: 'close' };
const MEBIBYTE = 1024 * 1024;

export function refuse(response: ServerResponse, { status, code, message, headers }: Refusal): void {
  if (response.headersSent) return void response.destroy();
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

/** Calls back when a response is finished or its client is gone; at once if that has already happened. */
export function onceOver(response: ServerResponse, callback: () => void): void {
  if (response.closed || response.destroyed) callback();
  else response.once('close', callback);
}

export function closing(): Refusal {
  return new Refusal(503, REFUSED, 'The service is closing. Try again in a moment.', { 'retry-after': '1', ...CLOSE });
}

export function notAllowed(method: string | undefined): Refusal {
  return new Refusal(405, REFUSED, `MCP knows no ${method} requests. Use POST.`, { allow: 'POST, GET, DELETE' });
}

export function failed(): Refusal {
  return new Refusal(500, INTERNAL_ERROR, 'The server failed unexpectedly. Try again.');
}

/** The message, or batch of messages, in a request's body, unchecked; `caller` is its key. Throws `Refusal`. */
export async function readMessages(request: IncomingMessage, caller: string, signal: AbortSignal): Promise<unknown> {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
  if (!isJsonContentType(type ?? null)) {
    throw new Refusal(
      415,
      REFUSED,
      'The message is not declared as JSON. Send it as "Content-Type: application/json".',
    );
  }
  if (encoding !== 'identity') {
    throw new Refusal(415, REFUSED, 'The message has a Content-Encoding. Send it without.');
  }
  const { bytes: length, chunks } = await untilClosing(collect(request), signal);
  let leave = () => {};
  try {
    leave = await enterBody({ length, isWrite: false, caller, signal });
    const bytes = Buffer.concat(chunks, length);
    await scanJson(bytes, { what: 'The message' });
    return await parseMessages(decode(bytes));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof ApiError) throw refusalOf(error);
    // The parser's own message would quote the text, whatever it contains.
    throw new Refusal(400, PARSE_ERROR, 'Parse error: the body of the request is not valid JSON.');
  } finally {
    leave();
  }
}

function refusalOf({ code, status = 400, message, details: { retryAfterMs } }: ApiError): Refusal {
  if (code === 'aborted') return closing();
  if (retryAfterMs === undefined) return new Refusal(status, REFUSED, message);
  return new Refusal(status, REFUSED, message, { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) });
}

async function collect(request: IncomingMessage): Promise<{ bytes: number; chunks: Buffer[] }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Giving up must not destroy the connection, which still carries the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= MESSAGE_BYTES_MAX) chunks.push(chunk);
      else if (bytes <= DRAIN_BYTES_MAX) chunks.length = 0;
      else break;
    }
  } catch {
    throw new Refusal(400, REFUSED, 'The request ended before its body was complete. Send it again.', CLOSE);
  }
  if (bytes <= MESSAGE_BYTES_MAX) return { bytes, chunks };
  const most = `${MESSAGE_BYTES_MAX} bytes (${MESSAGE_BYTES_MAX / MEBIBYTE} MiB)`;
  throw new Refusal(413, REFUSED, `The message is larger than ${most}. Write documents in smaller batches.`, CLOSE);
}

/** A body that is still arriving must not delay closing the service. */
function untilClosing<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(closing());
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(400, PARSE_ERROR, 'Parse error: the body of the request is not valid UTF-8.');
  }
}
