import { expect } from 'vitest';
import { runTool } from '../../../src/mcp/call.ts';
import type { ToolResult } from '../../../src/mcp/fence.ts';
import { elicitingHuman, type Round } from '../../../src/mcp/guard/guard.ts';
import { type Approvals, createApprovals } from '../../../src/mcp/guard/signed-states.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { type FakeClient, fakeClient, notFound } from '../fake-client.ts';

export const ARGS = { workspace: 'shop', collection: 'orders' };

/** A service with one collection. */
export function shop(part: { documents?: number; existing?: number; createdAt?: () => string } = {}): FakeClient {
  const { documents = 3, existing, createdAt = () => '2026-01-01T00:00:00Z' } = part;
  return fakeClient({
    getCollection: ({ collection }) => {
      if (collection !== 'orders') throw notFound(`Collection "${collection}" does not exist in workspace "shop"`);
      return { name: 'orders', workspace: 'shop', created_at: createdAt(), stats: { doc_count: documents } };
    },
    listWorkspaces: () => [{ name: 'shop' }],
    listWorkspaceCollections: () => [{ name: 'orders' }],
    runQuery: ({ sql }) => {
      const { parameters } = sql as { parameters: { value: unknown[] }[] };
      return { results: [{ n: existing ?? parameters[0]?.value.length }] };
    },
    listCollectionAliases: () => [],
    listCollectionLambdas: () => [],
    listWorkspaceAliases: () => [],
    listWorkspaceLambdas: () => [],
    requestApproval: () => {
      throw notFound('There is no endpoint at the path "/v1/colloquy/approvals".');
    },
    // As a service of another maker: named documents are then looked up by a query.
    selectDocuments: () => {
      throw notFound('There is no endpoint at this path.');
    },
    deleteCollection: () => ({ name: 'orders', workspace: 'shop', status: 'DELETED' }),
    deleteDocuments: () => ({ data: [{ _id: 'a', status: 'DELETED' }], last_offset: '1' }),
  });
}

interface Asked {
  resultType: 'input_required';
  inputRequests: { approval: { method: string; params: { message: string; requestedSchema: { properties: object } } } };
  requestState: string;
}

/** Calls tools, and answers what they ask. */
export function desk(
  service: FakeClient,
  options: { now?: () => number; principal?: string; approvals?: Approvals } = {},
) {
  const { principal = 'me', approvals = createApprovals(options) } = options;
  const asker = { principal, command: 'colloquy', approveCommand: 'colloquy approve' };
  const call = async (name: string, args: Record<string, unknown>, round: Partial<Round> = {}) => {
    const tool = tools().get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const human = elicitingHuman(approvals, { canAsk: true, state: undefined, responses: undefined, ...round }, asker);
    const faults: unknown[] = [];
    const result = await runTool({
      tool,
      args,
      connect: async () => service.client,
      human,
      signal: undefined,
      onFault: (error) => faults.push(error),
    });
    expect(faults).toEqual([]);
    return result;
  };
  const ask = async (name = 'delete_collection', args: Record<string, unknown> = ARGS) => {
    const asked = (await call(name, args)) as unknown as Asked;
    expect(asked.resultType).toBe('input_required');
    return asked;
  };
  const answer = (
    state: unknown,
    approval: unknown,
    args: Record<string, unknown> = ARGS,
    name = 'delete_collection',
  ) => call(name, args, { state, responses: { approval } }) as Promise<ToolResult>;
  return { call, ask, answer, approvals };
}

export const typed = (name: string) => ({ action: 'accept', content: { name } });

export function expectUntouched(service: FakeClient, result: ToolResult, code: string) {
  expect(service.calls.filter(({ operation }) => operation.startsWith('delete'))).toEqual([]);
  expect(result.isError).toBe(true);
  expect(result.structuredContent['error']).toMatchObject({ code });
  expect(result.content[0]?.text).toContain('Nothing was changed');
}
