import { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { expect } from 'vitest';
import type { Client } from '../../src/http/client.ts';
import type { Assistant } from '../../src/mcp/assistant.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { createServer } from '../../src/mcp/server.ts';
import { tools } from '../../src/mcp/tools/tools.ts';

export interface FormParams {
  message: string;
  requestedSchema: { properties: Record<string, { title: string }> };
}

export interface HumanAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | boolean>;
}

export interface PeerOptions {
  /**
   * Answers questions. If absent although `capable`, the client returns the question to the caller of `call`, if its
   * era allows that.
   */
  human?: (params: FormParams) => HumanAnswer | Promise<HumanAnswer>;
  /** Whether the client declares that it can ask. */
  capable: boolean;
}

export interface RawResult {
  isError?: unknown;
  structuredContent?: Record<string, unknown> | undefined;
  requestState?: unknown;
}

export interface Peer {
  /** `params` are sent as they are. */
  call(params: Record<string, unknown>): Promise<RawResult>;
  close(): Promise<void>;
}

const INFO = { name: 'test', version: '1' };
const MODERN = '2026-07-28';

function serve(assistant: Assistant) {
  const [here, there] = InMemoryTransport.createLinkedPair();
  serveStdio(({ era }) => createServer(assistant, era), { transport: there });
  return here;
}

/** An assistant with all tools that asks before it deletes; a fault of the server itself fails the test. */
export function askingAssistant(client: () => Client): Assistant {
  return {
    connect: async () => client(),
    version: '1',
    log: { info: () => {}, warn: () => {}, error: (details: object) => expect.unreachable(JSON.stringify(details)) },
    principal: 'me',
    tools: tools(),
    approvals: createApprovals(),
    guard: 'ask',
    command: 'colloquy',
    means: {},
  };
}

/** A client of each era, connected to a server of its own in this process through the complete wire format. */
export const PEERS: Readonly<Record<string, (assistant: Assistant, options: PeerOptions) => Promise<Peer>>> = {
  '2025-11-25': async (assistant, { human, capable }) => {
    const client = new LegacyClient(INFO, { capabilities: capable ? { elicitation: {} } : {} });
    if (human !== undefined) {
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({ ...(await human(params as FormParams)) }));
    }
    await client.connect(serve(assistant));
    return {
      call: async (params) =>
        (await client.request(
          { method: 'tools/call', params: params as { name: string } },
          CallToolResultSchema,
        )) as RawResult,
      close: () => client.close(),
    };
  },
  [MODERN]: async (assistant, { human, capable }) => {
    const client = new ModernClient(INFO, {
      capabilities: capable ? { elicitation: {} } : {},
      versionNegotiation: { mode: { pin: MODERN } },
      inputRequired: { autoFulfill: human !== undefined },
    });
    if (human !== undefined) {
      client.setRequestHandler('elicitation/create', async ({ params }) => ({
        ...(await human(params as unknown as FormParams)),
      }));
    }
    await client.connect(serve(assistant));
    const options = human === undefined ? { allowInputRequired: true } : {};
    return {
      call: async (params) => (await client.request({ method: 'tools/call', params } as never, options)) as RawResult,
      close: () => client.close(),
    };
  },
};

/** A human who fills in the form and agrees. */
export function agree({ requestedSchema: { properties } }: FormParams): HumanAnswer {
  const name = /^Type (.*) to confirm$/.exec(properties['name']?.title ?? '')?.[1];
  return { action: 'accept', content: name === undefined ? { yes: true } : { name } };
}
