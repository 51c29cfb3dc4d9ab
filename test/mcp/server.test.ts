import { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { hiddenTools, type Offer, offeredTools } from '../../src/mcp/offer.ts';
import { createServer } from '../../src/mcp/server.ts';
import { type FakeClient, fakeClient } from './fake-client.ts';

const INFO = { name: 'test', version: '1' };
const ARGS = { workspace: 'w', collection: 'c' };
const CALL = { name: 'delete_collection', arguments: ARGS };

function service(): FakeClient {
  return fakeClient({
    getCollection: () => ({ name: 'c', workspace: 'w', created_at: 't', stats: { doc_count: 2 } }),
    deleteCollection: () => ({ name: 'c', workspace: 'w', status: 'DELETED' }),
    listWorkspaces: () => [{ name: 'w' }],
    requestApproval: () => {
      throw new ApiError('not_found', 'no');
    },
  });
}

type Connect = () => Promise<FakeClient['client']>;

function serve(connect: Connect, offer: Offer | Promise<Offer> = {}) {
  const [here, there] = InMemoryTransport.createLinkedPair();
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const assistant = {
    version: '1.2.3',
    log,
    principal: 'test',
    tools: offer instanceof Promise ? offer.then(offeredTools) : offeredTools(offer),
    hidden: offer instanceof Promise ? offer.then(hiddenTools) : hiddenTools(offer),
    approvals: createApprovals(),
    guard: 'ask' as const,
    command: 'colloquy',
    means: {},
  };
  serveStdio(({ era }) => createServer({ ...assistant, connect }, era), { transport: there });
  return here;
}

type Answer = { action: 'accept' | 'decline'; content?: Record<string, string> };

interface Plain {
  isError?: unknown;
  structuredContent?: unknown;
}

/** The same call from a client of each era, which answers every question with `answer`. */
const eras: [
  string,
  (
    connect: Connect,
    answer: Answer | undefined,
    offer?: Offer | Promise<Offer>,
  ) => Promise<{ call: (params: typeof CALL) => Promise<Plain>; tools: () => Promise<object> }>,
][] = [
  [
    '2025-11-25',
    async (connect, answer, offer) => {
      const client = new LegacyClient(INFO, { capabilities: answer === undefined ? {} : { elicitation: {} } });
      if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, () => answer);
      await client.connect(serve(connect, offer));
      return { call: async (params) => (await client.callTool(params)) as Plain, tools: () => client.listTools() };
    },
  ],
  [
    '2026-07-28',
    async (connect, answer, offer) => {
      const client = new ModernClient(INFO, {
        capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      });
      if (answer !== undefined) client.setRequestHandler('elicitation/create', () => answer);
      await client.connect(serve(connect, offer));
      return { call: (params) => client.callTool(params), tools: () => client.listTools() };
    },
  ],
];

describe.each(eras)('the server in era %s', (_, open) => {
  it('lists its tools without a service', async () => {
    const { tools } = await open(() => Promise.reject(new Error('not now')), undefined);
    expect(((await tools()) as { tools: object[] }).tools.length).toBeGreaterThan(15);
  });

  it('lists what is offered, known at once or a moment later, and refuses the rest with the reason', async () => {
    const { client, calls } = service();
    for (const offer of [{ readOnly: true }, Promise.resolve({ roles: ['read-only'] })]) {
      const { call, tools } = await open(async () => client, { action: 'accept', content: { name: 'c' } }, offer);
      const listed = ((await tools()) as { tools: { name: string }[] }).tools.map(({ name }) => name);
      expect(listed).toContain('run_query');
      expect(listed).not.toContain(CALL.name);
      const refused = (await call(CALL)) as { isError: boolean; content: { text: string }[] };
      expect(refused).toMatchObject({ isError: true, structuredContent: { error: { code: 'forbidden' } } });
      expect(refused.content[0]?.text).toMatch(
        /does not offer it, since (the server is set to read only|it needs the role member)/,
      );
      expect(refused.content[0]?.text).toContain('A human can change that');
    }
    expect(calls).toEqual([]);
  });

  it('deletes after the human agreed, once', async () => {
    const { client, calls } = service();
    const { call } = await open(async () => client, { action: 'accept', content: { name: 'c' } });
    expect((await call(CALL)).structuredContent).toMatchObject({ status: 'DELETED' });
    expect(calls.filter(({ operation }) => operation === 'deleteCollection')).toHaveLength(1);
  });

  it.each([
    ['declined', { action: 'decline' }],
    ['cannot_ask', undefined],
  ] as const)('deletes nothing when %s', async (code, answer) => {
    const { client, calls } = service();
    const { call } = await open(async () => client, answer);
    const result = await call(CALL);
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code } } });
    expect(calls.map(({ operation }) => operation)).not.toContain('deleteCollection');
  });

  it('tells why the service cannot be reached, and tries again at the next call', async () => {
    const { client } = service();
    let attempts = 0;
    const { call } = await open(async () => {
      if (attempts++ === 0) throw new ApiError('connection_failed', 'Cannot start the service.');
      return client;
    }, undefined);
    const list = { name: 'list_workspaces', arguments: {} } as unknown as typeof CALL;
    expect(await call(list)).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'connection_failed' } },
    });
    expect((await call(list)).isError).toBeUndefined();
  });
});

describe('the server in era 2026-07-28', () => {
  it('sends lists with a time to live and its name', async () => {
    const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(serve(async () => service().client));
    expect(client.getServerVersion()).toMatchObject({ name: 'colloquy', version: '1.2.3' });
    expect(await client.listTools()).toMatchObject({ ttlMs: 3_600_000 });
    expect(await client.readResource({ uri: 'colloquy://workspaces' })).toMatchObject({ ttlMs: 5_000 });
  });

  it('refuses a state that it did not issue, on the wire', async () => {
    const { client: fake, calls } = service();
    const client = new ModernClient(INFO, {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    await client.connect(serve(async () => fake));
    const inputResponses = { approval: { action: 'accept', content: { name: 'c' } } };
    const params = { ...CALL, requestState: 'e30.AAAA', inputResponses };
    const result = await client.request({ method: 'tools/call', params } as never);
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'forged' } } });
    expect(calls.map(({ operation }) => operation)).not.toContain('deleteCollection');
  });
});
