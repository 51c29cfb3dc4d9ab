import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { toolsFor } from '../../src/cli/offer.ts';
import { readInvocation } from '../../src/commands.ts';

const PATIENT_MS = 60_000;
const log = { info: () => undefined };
const opened: Server[] = [];

afterEach(() => {
  for (const server of opened.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function remote(listener: RequestListener, args: string[] = []) {
  const server = createServer(listener);
  opened.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const invocation = readInvocation(['--url', url, ...args], { COLLOQUY_API_KEY: 'k' });
  if (invocation.command !== 'stdio') throw new Error(JSON.stringify(invocation));
  return invocation.config;
}

const answering =
  (status: number, body: object): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

describe('toolsFor()', () => {
  test('hides what the role of a remote key cannot use, and what the settings leave out', async () => {
    const config = await remote(answering(200, { email: 'm@example.org', roles: ['member'] }), ['--profile', 'author']);
    const { tools, hidden } = toolsFor(config, log, PATIENT_MS);
    const names = [...(await tools).keys()];
    expect(names).toContain('create_lambda');
    expect(names).not.toContain('add_documents');
    expect(await hidden).toContainEqual({
      tool: 'create_user',
      by: 'settings',
      why: 'toolset "users" is not chosen',
    });

    const reading = await remote(answering(200, { email: 'r@example.org', roles: ['read-only'] }));
    const offered = toolsFor(reading, log, PATIENT_MS);
    expect([...(await offered.tools).keys()]).not.toContain('add_documents');
    expect(await offered.hidden).toContainEqual({
      tool: 'create_user',
      by: 'role',
      why: 'it needs the role admin, and the API key has read-only',
    });
  });

  test.each<[string, RequestListener, number]>([
    ['is not accepted', answering(401, { message: 'no', type: 'AUTHEXCEPTION' }), PATIENT_MS],
    ['has no role that is known', answering(200, { roles: ['owner'] }), PATIENT_MS],
    ['is not answered for in time', () => undefined, 50],
  ])('hides nothing for a key that %s', async (_, listener, waitMs) => {
    const { tools, hidden } = toolsFor(await remote(listener), log, waitMs);
    expect([...(await tools).keys()]).toEqual(expect.arrayContaining(['create_user', 'add_documents', 'run_query']));
    expect((await hidden).filter(({ by }) => by === 'role')).toEqual([]);
  });

  test('knows at once what the local service offers', () => {
    const invocation = readInvocation(['--read-only'], {});
    if (invocation.command !== 'stdio') throw new Error(JSON.stringify(invocation));
    expect(toolsFor(invocation.config, log).tools).toBeInstanceOf(Map);
  });
});
