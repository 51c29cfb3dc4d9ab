import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../../src/http/client.ts';
import { callTool } from '../../../src/mcp/call.ts';
import { impactTool } from '../../../src/mcp/tools/impact.ts';
import { startTestService, type TestService } from '../../service/harness.ts';
import { fakeClient } from '../fake-client.ts';
import { DELETE_TARGETS, makeDeleteWorkspace } from '../guard/delete-targets.ts';

let service: TestService;
let client: Client;

beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  await makeDeleteWorkspace(client);
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

// biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
async function impact(args: Record<string, unknown>, by = client): Promise<any> {
  return (await callTool({ client: by, name: 'describe_impact', args, confirm: async () => false })).structured;
}

/** Somebody with this role. */
async function someone(role: 'member' | 'read-only'): Promise<{ by: Client; email: string }> {
  const email = `${role}@example.com`;
  await client.createUser({ email, roles: [role] });
  const { key } = await client.createUserApiKey({ user: email, name: 'own' });
  return { by: createClient({ target: { socketPath: service.socket }, apiKey: key ?? '' }), email };
}

/** The question that a human is asked. */
async function questionOf(name: string, args: Record<string, unknown>): Promise<string[]> {
  let question = '';
  const confirm = async (message: string) => {
    question = message;
    return false;
  };
  await callTool({ client, name, args, confirm });
  return question.split('\n');
}

type Args = Record<string, unknown>;
const KINDS: Record<string, (args: Args) => Args> = {
  delete_collection: ({ workspace, collection }) => ({ kind: 'collection', workspace, name: collection }),
  delete_workspace: ({ workspace }) => ({ kind: 'workspace', name: workspace }),
  delete_alias: ({ workspace, alias }) => ({ kind: 'alias', workspace, name: alias }),
  delete_lambda: ({ workspace, queryLambda }) => ({ kind: 'lambda', workspace, name: queryLambda }),
  delete_lambda_version: ({ workspace, queryLambda, version }) => ({
    kind: 'lambda_version',
    workspace,
    name: queryLambda,
    part: version,
  }),
  delete_lambda_tag: ({ workspace, queryLambda, tag }) => ({
    kind: 'lambda_tag',
    workspace,
    name: queryLambda,
    part: tag,
  }),
  delete_integration: ({ integration }) => ({ kind: 'integration', name: integration }),
  delete_user: ({ user }) => ({ kind: 'user', name: user }),
  delete_api_key: ({ name }) => ({ kind: 'api_key', name }),
  delete_user_api_key: ({ user, name }) => ({ kind: 'api_key', name, user }),
  delete_allowlist_entry: ({ name }) => ({ kind: 'allowlist_entry', name }),
};

describe('describe_impact', () => {
  it.each(Object.keys(DELETE_TARGETS).filter((tool) => !tool.startsWith('delete_documents')))(
    'says of what %s deletes exactly what the human is asked',
    async (tool) => {
      const args = (await DELETE_TARGETS[tool]?.make(client, 1)) ?? {};
      const [, ...question] = await questionOf(tool, args);
      const told = await impact(KINDS[tool]?.(args) ?? {});
      expect([...told.facts, told.undo]).toEqual(question);
      expect(told).toMatchObject({ tool, can_be_deleted: true });
      expect(told.refused_because).toBeUndefined();
    },
  );

  it('says of a collection what reads it, with tags, and that it cannot go because of these', async () => {
    const workspace = 'impact';
    await client.createWorkspace({ name: workspace });
    await client.createCollection({ workspace, name: 'orders' });
    await client.addDocuments({ workspace, collection: 'orders', data: [{ _id: 'a', n: 1 }, { n: 2 }] });
    await client.createAlias({ workspace, name: 'recent', collections: [`${workspace}.orders`] });
    const sql = { query: `SELECT * FROM ${workspace}.orders` };
    const { version } = await client.createLambda({ workspace, name: 'daily', sql });
    await client.tagLambdaVersion({ workspace, queryLambda: 'daily', tag_name: 'production', version: version ?? '' });
    const told = await impact({ kind: 'collection', workspace, name: 'orders' });
    expect(told).toMatchObject({ can_be_deleted: false, counts: { documents: 2, aliases: 1, lambdas: 1 } });
    const facts = told.facts.join('\n');
    expect(facts).toMatch(/2 documents in it will be gone\. That is \d+ B of JSON\./);
    expect(facts).toContain('It has 1 alias ("impact.recent").');
    expect(facts).toContain('It has 1 lambda ("impact.daily"), with the tags "impact.daily:production".');
    expect(told.refused_because).toBe(
      'Cannot delete collection "orders": it is used by alias "impact.recent", Query Lambda "impact.daily". Change or delete these first.',
    );
    const whole = await impact({ kind: 'workspace', name: workspace });
    expect(whole.counts).toEqual({ collections: 1, aliases: 1, lambdas: 1, 'child workspaces': 0 });
    expect(whole.facts.join('\n')).toContain('It has 1 collection ("impact.orders"), with 2 documents.');
    const tag = await impact({ kind: 'lambda_tag', workspace, name: 'daily', part: 'production' });
    expect(tag.facts).toEqual([`It is on the version "${version}", which stays; calls by this tag fail from then on.`]);
    const alias = await impact({ kind: 'alias', workspace, name: 'recent' });
    expect(alias.facts).toContain('It stands for "impact.orders".');
  });

  it('names what answers otherwise afterwards, what was before a change, and the call that takes it back', async () => {
    const workspace = 'before';
    await client.createWorkspace({ name: workspace });
    for (const name of ['a', 'b']) await client.createCollection({ workspace, name });
    const call = async (name: string, args: Record<string, unknown>) =>
      (await callTool({ client, name, args, confirm: async () => true })).structured;
    const again = async ({ done }: Record<string, unknown>) => {
      const [, name = '', args = ''] = /This makes it again: (\w+) (\{.*\})\.$/.exec(String(done)) ?? [];
      return await call(name, JSON.parse(args) as Record<string, unknown>);
    };
    const place = { workspace, queryLambda: 'l' };
    const { version: first } = await client.createLambda({ workspace, name: 'l', sql: { query: 'SELECT 1' } });
    const { version: second } = await client.createLambdaVersion({ ...place, sql: { query: 'SELECT 2' } });
    const tag = { workspace, lambda: 'l', tag: 'prod' };
    expect(await call('tag_lambda_version', { ...tag, version: first })).not.toHaveProperty('was');
    expect(await call('tag_lambda_version', { ...tag, version: second })).toMatchObject({ was: first });
    const asked = await impact({ kind: 'lambda_tag', workspace, name: 'l', part: 'prod' });
    const deleted = await call('delete_lambda_tag', tag);
    expect(deleted['done']).toContain(asked.undo);
    expect(asked.undo).toContain('This makes it again: tag_lambda_version {');
    expect(await again(deleted)).toMatchObject({ tag_name: 'prod', version: { version: second } });
    const afterwards = [
      'Calls by "prod" fail from then on.',
      `Callers of "latest" get the older version "${first}" from then on.`,
    ];
    const told = await impact({ kind: 'lambda_version', workspace, name: 'l', part: second ?? '' });
    expect(told.facts).toEqual(expect.arrayContaining(afterwards));
    const gone = await call('delete_lambda_version', { workspace, lambda: 'l', version: second });
    expect(gone['done']).toContain(`with 1 tag. ${afterwards.join(' ')} Confirmed by`);
    const alias = { workspace, alias: 'current' };
    await call('create_alias', { ...alias, collections: ['before.a'], description: 'x' });
    expect(await call('update_alias', { ...alias, collections: ['before.b'] })).toMatchObject({ was: ['before.a'] });
    expect(await again(await call('delete_alias', alias))).toMatchObject({ collections: ['before.b'] });
    await client.createWorkspace({ name: 'shortlived', description: 'why' });
    expect(await again(await call('delete_workspace', { workspace: 'shortlived' }))).toMatchObject({
      name: 'shortlived',
      description: 'why',
    });
  });

  it('of a lambda looks at the runs of all its versions, and says whose calls fail', async () => {
    const [workspace, queryLambda] = ['commons', 'in-use'];
    const place = { workspace, queryLambda };
    const { version: first } = await client.createLambda({ workspace, name: queryLambda, sql: { query: 'SELECT 1' } });
    await client.tagLambdaVersion({ ...place, tag_name: 'production', version: first ?? '' });
    await client.createLambdaVersion({ ...place, sql: { query: 'SELECT 2' } });
    const ask = async () => (await impact({ kind: 'lambda', workspace, name: queryLambda })).facts.join('\n');
    expect(await ask()).not.toContain('last run');
    await client.executeLambdaTag({ ...place, tag: 'production' });
    const facts = await ask();
    expect(facts).toMatch(
      new RegExp(`It was last run at \\S+Z by admin@localhost: the version "${first}", with the tags "production"\\.`),
    );
    expect(facts).toContain('Calls by "latest", "production" fail from then on.');
    const part = { kind: 'lambda_version', workspace, name: queryLambda, part: first };
    expect((await impact(part)).facts.join('\n')).toMatch(/It was last run at \S+Z by admin@localhost\./);
    await client.deleteLambdaTag({ ...place, tag: 'production' });
    expect(await ask()).toContain(`the version "${first}", which has no tag.`);
  });

  it('names the tool that undoes it to whoever has that tool', async () => {
    await client.createCollection({ workspace: 'commons', name: 'undone' });
    const undoWith = async (offered: ReadonlyMap<string, unknown> | undefined) => {
      const context = { client, signal: undefined, progress: () => undefined, means: {}, offered };
      const told = await impactTool().run(context, { kind: 'collection', name: 'undone' });
      return told.data['undo'];
    };
    expect(await undoWith(new Map([['restore_from_trash', {}]]))).toMatch(
      /^It goes to the trash until 20\d\d-\d\d-\d\d: the answer of the delete has the call of restore_from_trash\.$/,
    );
    for (const without of [undefined, new Map()]) expect(await undoWith(without)).toContain('`colloquy trash restore`');
  });

  it('says which collections an integration feeds, and what feeds a collection', async () => {
    // This service has no external sources; others do.
    const fed = { workspace: 'commons', name: 'fed', sources: [{ integration_name: 'feed' }], stats: { doc_count: 3 } };
    const other = fakeClient({
      getIntegration: () => ({ name: 'feed', collections: [fed] }),
      getCollection: () => fed,
      listCollectionAliases: () => [],
      listCollectionLambdas: () => [],
    });
    const ask = async (args: Record<string, unknown>) =>
      (await callTool({ client: other.client, name: 'describe_impact', args, confirm: async () => false })).structured;
    expect(await ask({ kind: 'integration', name: 'feed' })).toMatchObject({
      can_be_deleted: false,
      refused_because: expect.stringContaining('"commons.fed"'),
    });
    expect((await ask({ kind: 'collection', name: 'fed' }))['facts']).toContain(
      'It has 1 source, from the integrations "feed".',
    );
  });

  it('says when a key was used, and which of its user are there', async () => {
    await client.createUser({ email: 'k@example.com', roles: ['member'] });
    await client.createUserApiKey({ user: 'k@example.com', name: 'wall' });
    expect((await impact({ kind: 'api_key', name: 'wall', user: 'k@example.com' })).facts).toContain(
      'It was never used.',
    );
    expect((await impact({ kind: 'user', name: 'k@example.com' })).facts).toContain('It has 1 API key ("wall").');
    const own = (await client.getAbout({})).api_key ?? '';
    const told = await impact({ kind: 'api_key', name: own });
    expect(told.facts.join('\n')).toMatch(/It was last used at 20\d\d-.*\n.*This server itself uses this API key/);
    expect(told.human_confirms).toBe('by typing its name');
    const args = { kind: 'api_key', name: own };
    const unguarded = await callTool({
      client,
      name: 'describe_impact',
      args,
      confirm: async () => false,
      guard: 'off',
    });
    expect(unguarded.structured).toMatchObject({ human_confirms: 'not: nobody is asked' });
  });

  it.each([
    [
      { kind: 'lambda', name: 'l', part: 'v1' },
      '"part" is of no thing of kind "lambda": the kind is lambda_version or',
    ],
    [{ kind: 'user', name: 'u@example.com', part: 'x' }, '"part" is of no thing of kind "user"'],
    [{ kind: 'user', name: 'u@example.com', user: 'x' }, '"user" is of API keys only, not of kind "user"'],
  ])('refuses what the kind does not have: %j', async (args, why) => {
    expect(await impact(args)).toMatchObject({
      error: { code: 'invalid_input', message: expect.stringContaining(why) },
    });
  });

  it('says what the role of the key forbids, and no human is asked about it', async () => {
    const { by, email } = await someone('read-only');
    await client.createCollection({ workspace: 'commons', name: 'kept' });
    await client.createUser({ email: 'other@example.com', roles: ['member'] });
    for (const [args, why] of [
      [
        { kind: 'user', name: 'other@example.com' },
        'Cannot delete user "other@example.com": it needs the role admin, and',
      ],
      [{ kind: 'collection', name: 'kept' }, 'Cannot delete collection "kept": it needs the role member, and'],
    ] as const) {
      expect(await impact(args, by)).toMatchObject({
        can_be_deleted: false,
        refused_because: `${why} the API key has read-only.`,
      });
    }
    let asked = 0;
    const confirm = async () => {
      asked += 1;
      return true;
    };
    const args = { workspace: 'commons', collection: 'kept' };
    const { structured } = await callTool({ client: by, name: 'delete_collection', args, confirm });
    expect(structured['error']).toMatchObject({ code: 'forbidden' });
    expect(asked).toBe(0);
    for (const user of [undefined, email, email.toUpperCase(), 'self']) {
      const told = await impact({ kind: 'api_key', name: 'own', ...(user === undefined ? {} : { user }) }, by);
      expect(told).toMatchObject({ tool: 'delete_api_key', can_be_deleted: true });
    }
    await by.close();
  });

  it('says of the own user by any name that it cannot be deleted', async () => {
    const { email } = await client.getCurrentUser({});
    for (const name of [email ?? '', 'self']) {
      expect(await impact({ kind: 'user', name })).toMatchObject({
        counts: { 'API keys': expect.any(Number) },
        can_be_deleted: false,
        refused_because: expect.stringContaining('the API key of this server belongs to it'),
      });
    }
  });

  it.each([
    [{ kind: 'user', name: 'none' }, 'list_users', 'user "none"'],
    [{ kind: 'api_key', name: 'none' }, 'list_api_keys', 'API key "none"'],
    [{ kind: 'api_key', name: 'none', user: 'none' }, 'list_users', 'User "none"'],
    [{ kind: 'integration', name: 'none' }, 'list_integrations', 'Integration "none"'],
    [{ kind: 'allowlist_entry', name: 'none' }, 'list_allowlist_entries', '"none"'],
  ])('says where to look for what there is not: %j', async (args, listers, what) => {
    expect(await impact(args)).toMatchObject({
      error: { code: 'not_found', message: expect.stringContaining(what) },
      next: `List what exists with ${listers} and use one of those names.`,
    });
  });

  it('says of a version nothing that is true of an alias', async () => {
    await client.createCollection({ workspace: 'commons', name: 'read' });
    const place = { workspace: 'commons', queryLambda: 'reads' };
    const { version } = await client.createLambda({
      workspace: 'commons',
      name: 'reads',
      sql: { query: 'SELECT * FROM read' },
    });
    await client.createLambdaVersion({ ...place, sql: { query: 'SELECT 1 AS n' } });
    expect((await impact({ kind: 'lambda_version', name: 'reads', part: version })).facts).toEqual([]);
  });

  it('refuses what it cannot look up, with names that are close', async () => {
    expect(await impact({ kind: 'collection', workspace: 'impact', name: 'order' })).toMatchObject({
      error: { code: 'not_found' },
    });
    expect(await impact({ kind: 'lambda_tag', workspace: 'impact', name: 'daily' })).toMatchObject({
      error: { code: 'invalid_input', message: expect.stringContaining('give the tag of the lambda as "part"') },
    });
    const about = await impact({ kind: 'workspace', name: 'commons' });
    expect(about).toMatchObject({
      can_be_deleted: false,
      refused_because: expect.stringContaining('it always exists'),
    });
  });
});

describe('the allowlist entry that holds the address of the call', () => {
  it('is named as the only one, and refused before a human is asked', async () => {
    const entries = [{ name: 'office' }, { name: 'home' }];
    const admitted = (names: string[] | null) =>
      ({
        getAllowlistEntry: async () => entries[0],
        listAllowlistEntries: async () => entries,
        getAbout: async () => ({ admitted_by: names }),
        getCurrentUser: async () => ({ roles: ['admin'] }),
      }) as unknown as Client;
    const ask = async (names: string[] | null) =>
      (
        await callTool({
          client: admitted(names),
          name: 'describe_impact',
          args: { kind: 'allowlist_entry', name: 'office' },
          confirm: async () => false,
        })
      ).structured;
    expect(await ask(['office'])).toMatchObject({
      can_be_deleted: false,
      facts: ['It alone holds the address of this call.'],
      refused_because: expect.stringContaining('would be locked out'),
    });
    expect(await ask(['office', 'home'])).toMatchObject({
      can_be_deleted: true,
      facts: ['It holds the address of this call, as do "home".'],
    });
    expect(await ask(['home'])).toMatchObject({ facts: ['It does not hold the address of this call.'] });
    expect(await ask(null)).toMatchObject({ facts: ['The address of this call is let in without it.'] });
  });

  it('is named by the service', async () => {
    const own = await startTestService({ listen: [{ host: '127.0.0.1', port: 0 }], trustProxy: ['127.0.0.1'] });
    const [url = ''] = own.service.addresses;
    const from = (ip: string) =>
      fetch(`${url}/v1/colloquy`, {
        headers: { authorization: `ApiKey ${own.key}`, 'x-forwarded-for': ip },
      }).then(async (answer) => ((await answer.json()) as { data: { admitted_by: unknown } }).data.admitted_by);
    const here = createClient({ target: { url }, apiKey: own.key });
    expect(await from('203.0.113.7')).toBeNull();
    await here.createAllowlistEntry({ name: 'one', ip_address: '203.0.113.7' });
    await here.createAllowlistEntry({ name: 'range', ip_address: '203.0.113.0/24' });
    await here.createAllowlistEntry({ name: 'other', ip_address: '198.51.100.1' });
    expect(await from('203.0.113.7')).toEqual(['one', 'range']);
    expect(await from('198.51.100.1')).toEqual(['other']);
    expect((await here.getAbout({})).admitted_by).toBeNull();
    await here.close();
    await own.remove();
  });
});
