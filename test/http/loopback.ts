import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../src/http/client.ts';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Answer = (response: ServerResponse, request: Seen) => void;

export const KEY = 'sekrit-key-0123456789';

const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A real server that gives these answers in turn, and the last one to all further requests. */
export async function serve(answers: Answer[], socketPath?: string) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    seen.push(one);
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    if (answer === undefined) throw new Error(`unexpected request ${one.method} ${one.url}`);
    answer(response, one);
  });
  await new Promise<void>((resolve) =>
    socketPath === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(socketPath, resolve),
  );
  opened.push(() => stop(server));
  const url = socketPath === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : '';
  return { seen, url, server };
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A JSON answer (a string is sent as it is). */
export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** A client whose pauses between attempts are recorded, not waited for. */
export function client(url: string, options: Partial<ClientOptions> = {}) {
  const pauses: number[] = [];
  const made = createClient({
    target: { url },
    apiKey: KEY,
    timeoutMs: 10_000,
    ...options,
    retry: { random: () => 1, pause: async (ms) => void pauses.push(ms), ...options.retry },
  });
  opened.push(() => made.close());
  return Object.assign({ pauses }, { api: made as Client });
}

/** The error that a promise rejects with; fails when it resolves. */
export async function failure(promise: Promise<unknown>) {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in outcome)) throw new Error(`expected a rejection, got ${JSON.stringify(outcome.value)}`);
  return outcome.error as { code: string; message: string; status?: number; details: Record<string, unknown> } & Error;
}
