import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { expect, it } from 'vitest';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { createServer } from '../../src/mcp/server.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { fakeClient } from './fake-client.ts';

it('tells a client of the 2025 era that its call goes on while the human reads the question', async () => {
  const service = fakeClient({ getAlias: () => ({ name: 'a', workspace: 'w', collections: ['w.c'] }) });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const [here, there] = InMemoryTransport.createLinkedPair();
  const assistant = {
    connect: async () => service.client,
    version: '1',
    log,
    principal: 'me',
    tools: tools(),
    approvals: createApprovals(),
    guard: 'ask' as const,
    command: 'colloquy',
    means: {},
  };
  const serving = serveStdio(({ era }) => createServer(assistant, era), { transport: there });
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  let hear: (message: string) => void = () => undefined;
  const heard = new Promise<string>((resolve) => {
    hear = resolve;
  });
  // The human answers once the client has been told to wait.
  client.setRequestHandler(ElicitRequestSchema, async () => {
    await heard;
    return { action: 'decline' };
  });
  await client.connect(here);
  const call = {
    method: 'tools/call' as const,
    params: { name: 'delete_alias', arguments: { workspace: 'w', alias: 'a' } },
  };
  const result = await client.request(call, CallToolResultSchema, {
    onprogress: ({ message }) => hear(message ?? ''),
    resetTimeoutOnProgress: true,
  });
  expect(await heard).toMatch(/^delete_alias has been waiting for a human for \d+ s$/);
  expect(result.structuredContent).toMatchObject({ error: { code: 'declined' } });
  await client.close();
  await serving.close();
});
