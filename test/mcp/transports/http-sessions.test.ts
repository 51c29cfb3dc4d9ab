import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, expect, it } from 'vitest';
import { type Refusal, refuse } from '../../../src/mcp/transports/http-body.ts';
import { createSessions } from '../../../src/mcp/transports/http-sessions.ts';

const ASKING = 20;
const MAX = 3;
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

let http: HttpServer | undefined;
afterEach(() => {
  http?.close();
  http?.closeAllConnections();
});

it('sessions that are opened at once count each other', async () => {
  let settled = 0;
  let letGo: () => void = () => undefined;
  // Each waits until all others are as far as they get.
  const all = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const arrive = () => {
    settled += 1;
    if (settled === ASKING) letGo();
  };
  const sessions = createSessions({
    createServer: () => {
      const server = new Server({ name: 'test', version: '1' }, { capabilities: {} });
      const connect = server.connect.bind(server);
      server.connect = async (transport) => {
        arrive();
        await all;
        return connect(transport);
      };
      return server;
    },
    max: MAX,
    hasRoom: () => true,
    onError: () => undefined,
  });
  http = createServer((request, response) => {
    sessions.handle(request, response, INITIALIZE).catch((error: unknown) => {
      arrive();
      refuse(response, error as Refusal);
    });
  });
  await new Promise<void>((resolve) => http?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const answers = await Promise.all(
    Array.from({ length: ASKING }, async () => {
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(INITIALIZE) });
      await answer.text();
      return answer.status;
    }),
  );
  expect(answers.filter((status) => status === 200)).toHaveLength(MAX);
  expect(answers.filter((status) => status === 429 || status === 503)).toHaveLength(ASKING - MAX);
  expect(sessions.size).toBe(MAX);
  await sessions.close();
});
