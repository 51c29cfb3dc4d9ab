import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import type { Assistant } from '../../src/mcp/assistant.ts';
import { type AuditRecord, auditedArguments } from '../../src/mcp/audit.ts';
import { callTool } from '../../src/mcp/call.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { fakeClient, notFound } from './fake-client.ts';
import { ARGS, shop } from './guard/guard-desk.ts';
import { agree, PEERS } from './peers.ts';

function toolNamed(name: string) {
  const tool = tools().get(name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool;
}

function kept(name: string, args: Record<string, unknown>): Record<string, unknown> {
  return auditedArguments(toolNamed(name), args) as Record<string, unknown>;
}

const SERVICE = {
  listWorkspaces: () => [{ name: 'w' }],
  getCollection: () => ({ name: 'c', workspace: 'w', created_at: 't', stats: { doc_count: 2 } }),
  deleteCollection: () => ({ name: 'c', workspace: 'w' }),
  listCollectionAliases: () => [],
  listWorkspaceAliases: () => [],
  listWorkspaceLambdas: () => [],
  getAbout: () => ({ version: '1', user: 'ann@example.com', api_key: 'laptop' }),
  runQuery: () => {
    throw new ApiError('query_error', 'no such column');
  },
};

function assistant(records: AuditRecord[]): Assistant {
  return {
    connect: async () => fakeClient(SERVICE).client,
    version: '1',
    log: { info: () => {}, warn: () => {}, error: () => {} },
    principal: 'me',
    tools: tools(),
    hidden: [{ tool: 'create_user', why: 'it is hidden', by: 'settings' } as never],
    approvals: createApprovals(),
    guard: 'ask',
    command: 'colloquy',
    means: {},
    audit: { transport: 'stdio', observe: (record) => void records.push(record) },
  };
}

describe.each(Object.entries(PEERS))('the audit of calls in era %s', (_, open) => {
  it('has who called what, how, and what became of it', async () => {
    const records: AuditRecord[] = [];
    const peer = await open(assistant(records), { capable: true, human: agree });
    await peer.call({ name: 'list_workspaces', arguments: {} });
    await peer.call({ name: 'run_query', arguments: { query: 'SELECT 1' } });
    // Nothing is asked of the service.
    await peer.call({ name: 'run_query', arguments: { quest: 'x' } });
    await peer.close();
    expect(records).toMatchObject([
      { tool: 'list_workspaces', outcome: 'ok', rows: 1, arguments: {} },
      { tool: 'run_query', outcome: 'query_error', arguments: { query: 'SELECT 1' } },
      { tool: 'run_query', outcome: 'invalid_input', arguments: { quest: '[unknown]' } },
    ]);
    for (const record of records) {
      expect(record).toMatchObject({ user: 'ann@example.com', key: 'laptop' });
      expect(record).toMatchObject({ principal: 'me', client: { name: 'test', version: '1' }, transport: 'stdio' });
      expect(['legacy', 'modern']).toContain(record.era);
      expect(record.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(record.bytes).toBeGreaterThan(10);
      expect(record.tokens).toBeGreaterThan(5);
      expect(record.duration_ms).toBeGreaterThanOrEqual(0);
    }
  });

  it('has the answer of the human', async () => {
    const records: AuditRecord[] = [];
    const args = { name: 'delete_collection', arguments: { workspace: 'w', collection: 'c' } };
    const yes = await open(assistant(records), { capable: true, human: agree });
    await yes.call(args);
    await yes.close();
    expect(records.at(-1)).toMatchObject({ tool: 'delete_collection', guard: 'approved', outcome: 'ok' });
    const no = await open(assistant(records), { capable: true, human: () => ({ action: 'decline' }) });
    await no.call(args);
    await no.close();
    expect(records.at(-1)).toMatchObject({ guard: 'declined', outcome: 'declined' });
  });

  it('has attempts at tools that are not there or not offered', async () => {
    const records: AuditRecord[] = [];
    const side = assistant(records);
    const peer = await open(
      { ...side, tools: new Map([...tools()].filter(([name]) => name !== 'create_user')) },
      { capable: false },
    );
    await expect(peer.call({ name: 'drop_everything', arguments: {} })).rejects.toThrow();
    await peer.call({ name: 'create_user', arguments: { email: 'a@b.c', roles: ['admin'] } });
    await peer.close();
    expect(records).toMatchObject([
      { tool: 'drop_everything', outcome: 'unknown_tool' },
      { tool: 'create_user', outcome: 'not_offered' },
    ]);
  });
});

describe('callTool()', () => {
  it('is recorded as well', async () => {
    const records: AuditRecord[] = [];
    const { client } = fakeClient(SERVICE);
    const audit = { transport: 'call', observe: (record: AuditRecord) => void records.push(record) };
    await callTool({ client, name: 'list_workspaces', args: {}, confirm: async () => false, audit });
    expect(records).toMatchObject([{ principal: 'terminal', transport: 'call', tool: 'list_workspaces' }]);
    expect(records[0]).not.toHaveProperty('era');
  });

  it.each([
    ['that has no such endpoint', { getAbout: () => Promise.reject(notFound('no such path')) }, 'bob@example.com'],
    ['of an earlier version', { getAbout: () => ({ api_key: 'laptop' }) }, 'bob@example.com'],
    ['that does not answer', { getAbout: () => Promise.reject(new ApiError('request_timeout', 'late')) }, undefined],
  ])('names the user alone for a service %s, and waits for nobody', async (_, answers, user) => {
    const records: AuditRecord[] = [];
    const getCurrentUser = () => ({ email: 'bob@example.com' });
    const { client } = fakeClient({ ...SERVICE, getCurrentUser, ...answers });
    const audit = { transport: 'call', observe: (record: AuditRecord) => void records.push(record) };
    await callTool({ client, name: 'list_workspaces', args: {}, confirm: async () => false, audit });
    expect([records[0]?.user, records[0]?.key]).toEqual([user, undefined]);
  });
});

describe('a deletion', () => {
  it('says where it could not be recorded, and nothing else does', async () => {
    const { client } = shop();
    const audit = { transport: 'call', observe: async () => false };
    const call = (name: string, args: object) =>
      callTool({ client, name, args: { ...args }, guard: 'off', confirm: async () => true, audit });
    const deleted = await call('delete_collection', ARGS);
    expect(deleted.structured['not_recorded']).toContain('could not be written to the audit log');
    expect(deleted.text).toContain('could not be written to the audit log');
    expect((await call('list_workspaces', {})).structured).not.toHaveProperty('not_recorded');
  });
});

describe('auditedArguments()', () => {
  it.each<[string, Record<string, unknown>, unknown]>([
    [
      'plain',
      { s3: { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: 'hush-hush' } } },
      { s3: { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: '[secret]' } } },
    ],
    ['by reference', { mongodb: { connection_uri: 'file:a/b.txt' } }, { mongodb: { connection_uri: 'file:a/b.txt' } }],
    [
      'by what only looks like one',
      { mongodb: { connection_uri: 'env:hush-hush' } },
      { mongodb: { connection_uri: '[secret]' } },
    ],
    [
      'of any shape',
      { gcs: { gcp_service_account: { a: { b: 'hush-hush' } } } },
      { gcs: { gcp_service_account: '[secret]' } },
    ],
    ['as JSON text', { s3: '{"cloud_access_key":"hush-hush"}' }, { s3: { cloud_access_key: '[removed]' } }],
    ['in an unknown field', { s3: { password: 'hush-hush' } }, { s3: { password: '[unknown]' } }],
    ['in an unknown argument', { password: 'hush-hush' }, { password: '[unknown]' }],
    [
      'in an unknown field beside a secret',
      { kafka: { kafka_topic_names: ['a'], kafka_data_format: 'json', security_config: { password: 'hush-hush' } } },
      { kafka: { kafka_topic_names: ['a'], kafka_data_format: 'json', security_config: { password: '[unknown]' } } },
    ],
    [
      'in an unknown field, as JSON text',
      { kafka: '{"kafka_topic_names":["a"],"sasl_password":"hush-hush"}' },
      { kafka: { kafka_topic_names: ['a'], sasl_password: '[unknown]' } },
    ],
    [
      'in the place of a list',
      { kafka: { kafka_topic_names: { a: 'hush-hush' } } },
      { kafka: { kafka_topic_names: '[removed]' } },
    ],
    ['in the place of a text', { description: { a: 'hush-hush' } }, { description: '[removed]' }],
    [
      'twice',
      { description: 'it is hush-hush', segment: { signing_secret: 'hush-hush' } },
      { description: 'it is ********', segment: { signing_secret: '[secret]' } },
    ],
  ])('removes a secret that is given %s', (_, args, expected) => {
    expect(kept('create_integration', { integration: 'a', ...args })).toEqual({
      integration: 'a',
      ...(expected as object),
    });
  });

  it('keeps what is free-form, and of closed fields those that are known', () => {
    const parameter = { name: 'p', type: 'object', value: { any: ['x'] } };
    expect(
      kept('run_query', {
        query: 'SELECT :p',
        sql_parameters: [parameter],
        parameters: [{ ...parameter, token: 'x' }],
      }),
    ).toEqual({
      query: 'SELECT :p',
      sql_parameters: '[unknown]',
      parameters: [{ ...parameter, token: '[unknown]' }],
    });
    const data = [{ _id: 'a', password: 'as it is' }];
    expect(kept('add_documents', { workspace: 'w', collection: 'c', data })).toMatchObject({ data });
    const patch = [{ op: 'add', path: '/a', value: { b: 1 }, secret: 'x' }];
    expect(kept('patch_documents', { workspace: 'w', collection: 'c', data: [{ _id: 'a', patch }] })).toMatchObject({
      data: [{ _id: 'a', patch: [{ op: 'add', path: '/a', value: { b: 1 }, secret: '[unknown]' }] }],
    });
    expect(
      kept('create_collection', { sources: [{ s3: { bucket: 'b', prefixes: ['p'], secret_access: 'x' } }] }),
    ).toEqual({
      sources: [{ s3: { bucket: 'b', prefixes: ['p'], secret_access: '[secret]' } }],
    });
    expect(kept('create_workspace', { workspace: 'not a name!' })).toEqual({ workspace: 'not a name!' });
    expect(kept('describe_collection', { workspace: 'w', collection: 'c', key: 'x' })).toEqual({
      workspace: 'w',
      collection: 'c',
      key: '[unknown]',
    });
  });

  it('masks what looks like an API key, and where a cut would halve it', () => {
    const key = `${'Ab1'.repeat(21)}Z`;
    expect(kept('run_query', { query: `SELECT '${key}'` })).toEqual({ query: "SELECT 'Ab1A…'" });
    expect(JSON.stringify(kept('run_query', { query: `${'x '.repeat(240)}${key}${' y'.repeat(900)}` }))).not.toContain(
      key.slice(0, 30),
    );
  });

  it('stays short and serializable, whatever it is', () => {
    let deep: unknown = 'x';
    for (let level = 0; level < 3_000; level++) deep = [deep];
    const documents = Array.from({ length: 500 }, (_, n) => ({ n, text: '\u202e€'.repeat(2_000), big: 2n ** 70n }));
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key-${n}`, 'v'.repeat(100)]));
    for (const data of [documents, deep, [wide], 'x'.repeat(1_000_000), ['€'.repeat(100_000)]]) {
      const text = JSON.stringify(kept('add_documents', { workspace: 'w', collection: 'c', data }));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_500);
      expect(text).not.toContain('\u202e');
      expect(text).toContain('"workspace"');
    }
  });
});
