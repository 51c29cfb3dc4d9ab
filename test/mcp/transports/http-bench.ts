import { once } from 'node:events';
import { createServer as createHttpServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type ServerNotifier, type SubscriptionFilter } from '@modelcontextprotocol/server';
import { expect } from 'vitest';
import type { ApiError } from '../../../src/contract/errors.ts';
import { stringifyJson } from '../../../src/contract/json/json.ts';
import {
  createHttpServing,
  type HttpServing,
  type HttpServingOptions,
  type Party,
} from '../../../src/mcp/transports/http.ts';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';

export interface Caller {
  keyHash: string;
  isKnown: () => boolean;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
  message: any;
}

export interface Bench {
  port: number;
  serving: HttpServing<Caller>;
  opened: string[];
  closed: string[];
  /** Keys that were deleted. */
  gone: Set<string>;
  /** Running calls of "wait"; each ends when its function is called, or when it is cancelled. */
  waiting: (() => void)[];
  cancelled: number;
  told: ServerNotifier[];
  filters: SubscriptionFilter[];
  send(method: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
}

const ends: (() => Promise<void>)[] = [];

/** Ends all servers that were started. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** A server with the tools "echo" and "wait", which identifies its callers by the header "x-key". */
export async function start(options: Partial<HttpServingOptions<Caller>> = {}): Promise<Bench> {
  const made: Omit<Bench, 'port' | 'serving' | 'send'> = {
    opened: [],
    closed: [],
    gone: new Set(),
    waiting: [],
    cancelled: 0,
    told: [],
    filters: [],
  };
  const bench = made as Bench;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const open = ({ keyHash }: Caller): Party => {
    bench.opened.push(keyHash);
    return {
      createServer: () => serverOf(bench),
      listening: (filter, notify) => {
        bench.filters.push(filter);
        bench.told.push(notify);
        return () => bench.filters.splice(bench.filters.indexOf(filter), 1);
      },
      close: async () => void bench.closed.push(keyHash),
    };
  };
  bench.serving = createHttpServing({ open, log, ...options });
  const server = createHttpServer((request, response) => {
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const keyHash = request.headers['x-key']?.toString() ?? 'one';
    const caller = { keyHash, isKnown: () => !bench.gone.has(keyHash) };
    try {
      if (bench.serving.admit(request, response)) return;
    } catch (error) {
      response.writeHead((error as ApiError).status ?? 500).end((error as ApiError).message);
      return;
    }
    void bench.serving.handle(request, response, caller, stop.signal);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  bench.port = (server.address() as AddressInfo).port;
  bench.send = (method, body, headers = {}) => exchange(bench.port, method, body, headers);
  ends.push(async () => {
    await bench.serving.close();
    server.closeAllConnections();
    server.close();
  });
  return bench;
}

function serverOf(bench: Bench): Server {
  const server = new Server(
    { name: 'bench', version: '1' },
    { capabilities: { tools: {}, resources: { subscribe: true } } },
  );
  server.setRequestHandler('tools/list', () => ({ tools: [] }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    if (params.name === 'wait') {
      const { signal } = ctx.mcpReq;
      await new Promise<void>((resolve) => {
        bench.waiting.push(resolve);
        signal.addEventListener('abort', () => {
          bench.cancelled++;
          resolve();
        });
      });
    }
    return { content: [{ type: 'text', text: stringifyJson(params.arguments ?? {}) }] };
  });
  return server;
}

function exchange(port: number, method: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const text = typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method, path: '/mcp', headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const received = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers: fields } = answer;
        resolve({ status, headers: fields, text: received, message: lastMessage(received) });
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

/** The JSON of an answer, or of a stream's last event. */
function lastMessage(text: string): unknown {
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  try {
    return JSON.parse(data.at(-1)?.slice(6) ?? text);
  } catch {
    return undefined;
  }
}

export const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function modern(method: string, params: Record<string, unknown> = {}, name?: string) {
  const headers = {
    ...JSON_TYPE,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
  };
  return { body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }, headers };
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

export async function openSession({ send }: Bench, key = 'one'): Promise<Record<string, string>> {
  const answer = await send('POST', INITIALIZE, { ...JSON_TYPE, 'x-key': key });
  expect(answer.status, answer.text).toBe(200);
  const id = String(answer.headers['mcp-session-id']);
  const headers = { ...JSON_TYPE, 'x-key': key, 'mcp-session-id': id, 'mcp-protocol-version': LEGACY };
  await send('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  return headers;
}

export const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
export const call = (name: string, id = 3) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
});

/** Opens a stream and keeps it open; resolves once its headers have arrived. */
export async function stream({ port }: Bench, method: string, headers: Record<string, string>, body?: unknown) {
  const sent = httpRequest({ port, host: '127.0.0.1', method, path: '/mcp', headers });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = await once(sent, 'response');
  let text = '';
  answer.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  answer.on('error', () => undefined);
  sent.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    answer.once('close', () => resolve());
  });
  return { status: answer.statusCode as number, text: () => text, ended, drop: () => sent.destroy() };
}

export async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries > 2_000) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
