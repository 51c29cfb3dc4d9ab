import { describe, expect, it } from 'vitest';
import { APPROVAL_TTL_MS } from '../../../src/contract/approvals.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import type { ToolResult } from '../../../src/mcp/fence.ts';
import { canShowForms, elicitingHuman } from '../../../src/mcp/guard/guard.ts';
import { createApprovals } from '../../../src/mcp/guard/signed-states.ts';
import { fakeClient } from '../fake-client.ts';

import { ARGS, desk, expectUntouched, shop, typed } from './guard-desk.ts';

describe('a tool that deletes', () => {
  it('asks first, with what would go at this moment', async () => {
    const service = shop({ documents: 1_234 });
    const { inputRequests } = await desk(service).ask();
    const { method, params } = inputRequests.approval;
    expect(method).toBe('elicitation/create');
    expect(params.message).toBe(
      'Delete a collection: workspace "shop", collection "orders".\n1,234 documents in it will be gone.\nThis cannot be undone.',
    );
    expect(params.requestedSchema).toEqual({
      type: 'object',
      properties: { name: { type: 'string', title: 'Type orders to confirm' } },
      required: ['name'],
    });
    expect(service.calls.map(({ operation }) => operation)).not.toContain('deleteCollection');
  });

  it('runs once the name was typed', async () => {
    const service = shop();
    const { ask, answer } = desk(service);
    const result = await answer((await ask()).requestState, typed(' orders '));
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toMatchObject({
      done: 'Deleted a collection: workspace "shop", collection "orders", with 3 documents. Confirmed by a human in the chat. This cannot be undone.',
      status: 'DELETED',
    });
    expect(service.calls.filter(({ operation }) => operation === 'deleteCollection')).toEqual([
      { operation: 'deleteCollection', input: ARGS, signal: undefined },
    ]);
  });

  it('asks for a plain yes where nothing is in it', async () => {
    const service = shop({ documents: 0 });
    const { ask, answer } = desk(service);
    const asked = await ask();
    expect(Object.keys(asked.inputRequests.approval.params.requestedSchema.properties)).toEqual(['yes']);
    expectUntouched(
      service,
      await answer(asked.requestState, { action: 'accept', content: { yes: false } }),
      'declined',
    );
    const again = await ask();
    expect((await answer(again.requestState, { action: 'accept', content: { yes: true } })).isError).toBeUndefined();
  });

  it('names documents by their ids', async () => {
    const service = shop({ documents: 10 });
    const { ask, answer } = desk(service);
    const args = { ...ARGS, data: Array.from({ length: 7 }, (_, index) => ({ _id: `d${index}` })) };
    const asked = await ask('delete_documents', args);
    expect(asked.inputRequests.approval.params.message).toContain(
      '7 documents of the 10 it has will be gone: "d0", "d1", "d2", "d3", "d4", and 2 more.',
    );
    const yes = { action: 'accept', content: { yes: true } };
    expect((await answer(asked.requestState, yes, args, 'delete_documents')).structuredContent).toMatchObject({
      counts: { DELETED: 1 },
    });
  });

  it.each([
    [999, 'yes'],
    [1_000, 'name'],
  ])('asks about %i named documents for a %s', async (count, answer) => {
    const data = Array.from({ length: count }, (_, index) => ({ _id: `d${index}` }));
    const { inputRequests } = await desk(shop({ documents: 5_000 })).ask('delete_documents', { ...ARGS, data });
    expect(Object.keys(inputRequests.approval.params.requestedSchema.properties)).toEqual([answer]);
    expect(JSON.stringify(inputRequests.approval.params.requestedSchema)).toContain(
      answer === 'name' ? 'Type orders to confirm' : 'boolean',
    );
  });

  it('says how many of the named documents exist', async () => {
    const service = shop({ documents: 300, existing: 1 });
    const data = [{ _id: 'a' }, { _id: "b'); DROP" }, { _id: 'a' }];
    const { inputRequests } = await desk(service).ask('delete_documents', { ...ARGS, data });
    expect(inputRequests.approval.params.message).toContain(
      'Of 2 documents named ("a", "b\'); DROP"), 1 exists: 1 document of the 300 it has will be gone.',
    );
    expect(service.calls.find(({ operation }) => operation === 'runQuery')?.input).toEqual({
      sql: {
        query:
          '/* Colloquy asks what would be deleted */ SELECT count(*) AS n, list(_id ORDER BY _id) AS ids FROM "shop"."orders" WHERE _id IN (SELECT unnest(:ids))',
        parameters: [{ name: 'ids', type: 'array', value: ['a', "b'); DROP"] }],
      },
    });
  });

  it('asks also where the named documents cannot be counted', async () => {
    const service = fakeClient({
      getCollection: () => ({ name: 'orders', stats: { doc_count: 3 } }),
      // As an earlier service, which selects by conditions only.
      selectDocuments: () => {
        throw new ApiError('invalid_input', '"where": it is missing.');
      },
      runQuery: () => {
        throw new ApiError('query_timeout', 'no');
      },
    });
    const asked = await desk(service).ask('delete_documents', { ...ARGS, data: [{ _id: 'a' }] });
    expect(asked.inputRequests.approval.params.message).toContain(
      'Of 1 document named ("a"), what exists will be gone; it could not be counted.',
    );
  });

  it.each([
    ['none is named', [], 'none is named'],
    ['the one that is named does not exist', [{ _id: 'x' }], 'it has no document "x"'],
    ['none of the named ones exists', [{ _id: 'x' }, { _id: 'y' }], 'it has none of the 2 that are named'],
    [
      'too many are named',
      Array.from({ length: 20_001 }, (_, index) => ({ _id: `d${index}` })),
      'at most 20,000 may be named in one call',
    ],
  ])('does not ask about documents where %s', async (_, data, why) => {
    const result = (await desk(shop({ existing: 0 })).call('delete_documents', { ...ARGS, data })) as ToolResult;
    expect(result.structuredContent['error']).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(why),
    });
  });

  it('does not ask about a workspace that holds something, and says what', async () => {
    const { client } = fakeClient({
      getWorkspace: () => ({ name: 'shop', collection_count: 2 }),
      listWorkspaceCollections: () => [
        { name: 'a', stats: { doc_count: 5 } },
        { name: 'b', stats: { doc_count: 6 } },
      ],
      listChildWorkspaces: () => [{ name: 'shop.eu' }],
    });
    const result = (await desk({ client, calls: [] }).call('delete_workspace', { workspace: 'shop' })) as ToolResult;
    expect(result.structuredContent).toMatchObject({
      error: {
        code: 'dependent_resources',
        message:
          'Cannot delete workspace "shop": it is not empty. It has 2 collections ("a", "b"), with 11 documents. ' +
          'It has 1 child workspace ("shop.eu"). Delete these first.',
      },
      next: expect.stringContaining('ask the human'),
    });
  });

  it('asks about a workspace whose contents cannot be listed, and says so', async () => {
    const { client } = fakeClient({
      getWorkspace: () => ({ name: 'shop' }),
      listWorkspaceCollections: () => [],
      listWorkspaceAliases: () => [],
      listWorkspaceLambdas: () => [],
      listChildWorkspaces: () => {
        throw new ApiError('internal', 'no');
      },
    });
    const asked = await desk({ client, calls: [] }).ask('delete_workspace', { workspace: 'shop' });
    expect(asked.inputRequests.approval.params.message).toBe(
      'Delete a workspace: workspace "shop".\nIts child workspaces could not be counted.\nThis makes it again: create_workspace {"workspace":"shop"}.',
    );
  });

  it('does not ask about a collection that an alias or a lambda names', async () => {
    const dependents: [string, object][] = [
      ['listCollectionAliases', { name: 'recent', workspace: 'shop' }],
      ['listCollectionLambdas', { name: 'daily', workspace: 'shop', version: 'abc' }],
    ];
    for (const [operation, dependent] of dependents) {
      const { client, calls } = fakeClient({
        getCollection: () => ({ name: 'orders', stats: { doc_count: 3 } }),
        listCollectionAliases: () => [],
        listCollectionLambdas: () => [],
        [operation]: () => [dependent],
      });
      const result = (await desk({ client, calls }).call('delete_collection', ARGS)) as ToolResult;
      expect(result.structuredContent['error']).toMatchObject({ code: 'dependent_resources' });
    }
  });

  it('names a lambda of which several versions query the collection once, and in full', async () => {
    const versions = ['a', 'b'].map((version) => ({ name: 'sales', workspace: 'shop', version }));
    const { client, calls } = fakeClient({
      getCollection: () => ({ name: 'orders', stats: { doc_count: 3 } }),
      listCollectionAliases: () => [],
      listCollectionLambdas: () => [...versions, { name: 'sales', workspace: 'other', version: 'a' }],
    });
    const result = (await desk({ client, calls }).call('delete_collection', ARGS)) as ToolResult;
    expect(result.structuredContent['error']).toMatchObject({
      message: expect.stringContaining(
        'it is used by Query Lambda "shop.sales", Query Lambda "other.sales". Change or delete these first.',
      ),
    });
  });

  it('shows names as JSON, so that none begins a line of its own in the question', async () => {
    const id = '1" will be gone: nothing.\n\nClick Yes';
    const asked = await desk(shop()).ask('delete_documents', { ...ARGS, data: [{ _id: id }] });
    const { message } = asked.inputRequests.approval.params;
    expect(message.split('\n')).toHaveLength(3);
    expect(message).toContain(JSON.stringify(id));
  });

  const version = { version: 'v1', name: 'daily', created_at: 't1' };
  const lambdas = (versions: object[] = [version]) =>
    fakeClient({
      listWorkspaceLambdas: () => [{ name: 'daily', version_count: versions.length, latest_version: version }],
      listLambdaVersions: () => versions,
      getLambdaVersion: () => version,
      listLambdaTags: () => [
        { tag_name: 'latest', version },
        { tag_name: 'prod', version },
        { tag_name: 'old', version: { version: 'v0' } },
      ],
      listWorkspaces: () => [{ name: 'shop' }],
    });
  const LAMBDA = { workspace: 'shop', queryLambda: 'daily' };

  it('wants the name of a lambda typed, and names its versions and tags', async () => {
    const { inputRequests } = await desk(lambdas()).ask('delete_lambda', LAMBDA);
    const { message, requestedSchema } = inputRequests.approval.params;
    expect(message).toContain('It has 1 version ("v1").\nIt has 3 tags ("latest", "prod", "old").');
    expect(message).toContain('\nCalls by "latest", "prod", "old" fail from then on.\n');
    expect(requestedSchema.properties).toEqual({ name: { type: 'string', title: 'Type daily to confirm' } });
  });

  it('says of the last run of a lambda what is known, on one line', async () => {
    const stats = { last_executed: '2026-01-01T00:00:00Z', last_executed_by: 'a@b\n\nClick Yes' };
    const { client, calls } = lambdas([{ ...version, stats }]);
    const listLambdaTags = () => Promise.reject(new ApiError('internal', 'x'));
    const asked = await desk({ client: { ...client, listLambdaTags } as typeof client, calls }).ask(
      'delete_lambda',
      LAMBDA,
    );
    const lines = asked.inputRequests.approval.params.message.split('\n');
    expect(lines).toContain('Its tags could not be counted.');
    expect(lines).toContain('It was last run at 2026-01-01T00:00:00Z by a@b Click Yes: the version "v1".');
  });

  it('says which tags go with a version', async () => {
    const service = lambdas([version, { version: 'v0' }]);
    const { inputRequests } = await desk(service).ask('delete_lambda_version', { ...LAMBDA, version: 'v1' });
    expect(inputRequests.approval.params.message).toContain('Its tags go with it: "prod".');
  });

  it('does not ask about the only version of a lambda, nor about a lambda that does not exist', async () => {
    const only = (await desk(lambdas()).call('delete_lambda_version', { ...LAMBDA, version: 'v1' })) as ToolResult;
    expect(only.structuredContent['error']).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('it is the only one'),
    });
    const none = (await desk(lambdas()).call('delete_lambda', { ...LAMBDA, queryLambda: 'dayly' })) as ToolResult;
    expect(none.structuredContent['error']).toMatchObject({ code: 'not_found', did_you_mean: ['daily'] });
  });

  it('wants the e-mail of a user typed, also of one without keys', async () => {
    const service = fakeClient({ listUsers: () => [{ email: 'ada@example.com' }], listUserApiKeys: () => [] });
    const { inputRequests } = await desk(service).ask('delete_user', { user: 'Ada@example.com' });
    expect(inputRequests.approval.params.requestedSchema.properties).toEqual({
      name: { type: 'string', title: 'Type Ada@example.com to confirm' },
    });
  });

  it('does not ask about the workspace that always exists', async () => {
    const service = fakeClient({});
    const result = (await desk(service).call('delete_workspace', { workspace: 'commons' })) as ToolResult;
    expect(result.structuredContent['error']).toMatchObject({
      code: 'invalid_input',
      message: 'Cannot delete workspace "commons": it always exists. Delete what is in it instead.',
    });
  });

  it('does not ask about what does not exist', async () => {
    const service = shop();
    const result = (await desk(service).call('delete_collection', { ...ARGS, collection: 'order' })) as ToolResult;
    expect(result.structuredContent['error']).toMatchObject({ code: 'not_found', did_you_mean: ['orders'] });
  });

  it('is refused where neither the client nor the service can ask, with what a human can do', async () => {
    const service = shop();
    const args = { workspace: 'shop', collection: 'orders', data: [{ _id: "it's" }] };
    const result = (await desk(service).call('delete_documents', args, { canAsk: false })) as ToolResult;
    expectUntouched(service, result, 'cannot_ask');
    expect(result.content[0]?.text).toContain(
      `colloquy call delete_documents '{"workspace":"shop","collection":"orders","data":[{"_id":"it'\\''s"}]}'`,
    );
    expect(JSON.stringify(result.structuredContent['error'])).toContain('colloquy call delete_documents');
  });

  it('names the command that this very server was started with', () => {
    const round = { canAsk: false, state: undefined, responses: undefined };
    const asker = { principal: 'me', command: 'node /dist/colloquy.js --data-dir /d' };
    const human = elicitingHuman(createApprovals(), round, asker);
    const blast = { message: '', what: '', undo: '', typedName: undefined, target: '', extent: {} };
    return expect(human.ask({ tool: 'delete_workspace', args: { workspace: 'w' }, blast })).resolves.toMatchObject({
      reason: expect.stringMatching(
        /: node \/dist\/colloquy\.js --data-dir \/d call delete_workspace '\{"workspace":"w"\}'$/,
      ),
    });
  });

  it.each([
    ['declined', { action: 'decline' }],
    ['cancelled', { action: 'cancel' }],
    ['mistyped', typed('order')],
    ['mistyped', { action: 'accept', content: {} }],
    ['mistyped', { action: 'accept', content: { name: true } }],
    ['mistyped', { action: 'accept', content: { yes: true } }],
    ['unanswered', undefined],
    ['unanswered', { role: 'user', content: [] }],
  ])('changes nothing when the answer is %s', async (code, approval) => {
    const service = shop();
    const { ask, answer } = desk(service);
    const { requestState } = await ask();
    expectUntouched(service, await answer(requestState, approval), code);
    // The question is used up: a later yes with the same state is refused.
    expectUntouched(service, await answer(requestState, typed('orders')), 'used');
  });

  it('changes nothing when the approval has expired', async () => {
    const service = shop();
    let now = 1_000;
    const { ask, answer } = desk(service, { now: () => now });
    const { requestState } = await ask();
    now += APPROVAL_TTL_MS + 1;
    expectUntouched(service, await answer(requestState, typed('orders')), 'expired');
  });

  it('changes nothing when the approval is used again', async () => {
    const service = shop();
    const { ask, answer } = desk(service);
    const { requestState } = await ask();
    await answer(requestState, typed('orders'));
    service.calls.length = 0;
    expectUntouched(service, await answer(requestState, typed('orders')), 'used');
  });

  it('changes nothing when the arguments changed', async () => {
    const service = shop();
    const { ask, answer } = desk(service);
    const asked = await ask('delete_documents', { ...ARGS, data: [{ _id: 'a' }] });
    const others = { ...ARGS, data: [{ _id: 'b' }] };
    const yes = { action: 'accept', content: { yes: true } };
    expectUntouched(service, await answer(asked.requestState, yes, others, 'delete_documents'), 'changed');
  });

  it('changes nothing when the approval was for another tool', async () => {
    const service = shop();
    const { ask, answer } = desk(service);
    const asked = await ask('delete_documents', { ...ARGS, data: [{ _id: 'a' }] });
    expectUntouched(service, await answer(asked.requestState, typed('orders')), 'changed');
  });

  it('changes nothing when somebody else was asked', async () => {
    const service = shop();
    const mine = desk(service);
    const theirs = desk(service, { principal: 'you', approvals: mine.approvals });
    const { requestState } = await mine.ask();
    expectUntouched(service, await theirs.answer(requestState, typed('orders')), 'changed');
  });

  it('takes the same arguments in another order', async () => {
    const service = shop();
    const { ask, answer } = desk(service);
    const { requestState } = await ask();
    const result = await answer(requestState, typed('orders'), { collection: 'orders', workspace: 'shop' });
    expect(result.isError).toBeUndefined();
  });

  it('changes nothing when the target was replaced in between', async () => {
    let createdAt = '2026-01-01T00:00:00Z';
    const service = shop({ createdAt: () => createdAt });
    const { ask, answer } = desk(service);
    const { requestState } = await ask();
    createdAt = '2026-01-02T00:00:00Z';
    expectUntouched(service, await answer(requestState, typed('orders')), 'replaced');
  });

  it.each([
    ['made up', () => 'eyJub25jZSI6IngifQ.AAAA'],
    ['empty', () => ''],
    ['not a text', () => 7],
    ['signed by another process', (own: string) => own],
    ['altered', (own: string) => `${own[0] === 'e' ? 'f' : 'e'}${own.slice(1)}`],
    ['cut', (own: string) => own.slice(0, -2)],
  ])('changes nothing when the state is %s', async (kind, forge) => {
    const service = shop();
    const { ask, answer } = desk(service);
    const issuer = kind === 'signed by another process' ? desk(service) : { ask };
    const { requestState } = await issuer.ask();
    expectUntouched(service, await answer(forge(requestState), typed('orders')), 'forged');
  });

  it('changes nothing when an answer comes without a question', async () => {
    const service = shop();
    expectUntouched(service, await desk(service).answer(undefined, typed('orders')), 'unasked');
  });

  it('has no argument that stands for a yes', async () => {
    const service = shop();
    const result = (await desk(service).call('delete_collection', { ...ARGS, confirm: true })) as ToolResult;
    expect(result.structuredContent['error']).toMatchObject({ code: 'invalid_input' });
    expect(service.calls).toEqual([]);
  });

  it('shows invisible characters of names as escapes', async () => {
    const service = fakeClient({ getCollection: () => ({ name: 'x', stats: { doc_count: 1 } }) });
    const asked = await desk(service).ask('delete_collection', { workspace: 'w\u202e', collection: 'c\u200b' });
    expect(asked.inputRequests.approval.params.message).toContain('workspace "w\\u202e", collection "c\\u200b"');
  });
});

describe('canShowForms()', () => {
  it('takes elicitation without modes as forms', () => {
    expect(canShowForms({ elicitation: {} })).toBe(true);
    expect(canShowForms({ elicitation: { form: {} } })).toBe(true);
    expect(canShowForms({ elicitation: { form: {}, url: {} } })).toBe(true);
  });

  it('does not take links alone, or nothing, as forms', () => {
    expect(canShowForms({ elicitation: { url: {} } })).toBe(false);
    expect(canShowForms({})).toBe(false);
    expect(canShowForms(undefined)).toBe(false);
  });
});
