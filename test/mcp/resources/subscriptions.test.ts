import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Changes, createChanges, URIS_MAX } from '../../../src/mcp/changes.ts';
import { listenFor } from '../../../src/mcp/resources/subscriptions.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';
import { ERAS, type EraClient, fillShop, openStage, type Stage } from '../era-clients.ts';
import { fakeClient } from '../fake-client.ts';

const ROOT = 'colloquy://workspaces';
const SHOP = `${ROOT}/shop`;
const ORDERS = `${SHOP}/collections/orders`;
const BIG = `${SHOP}/lambdas/big`;

describe.each(ERAS)('subscriptions in era $name', ({ open, name }) => {
  let stage: Stage;
  let client: EraClient;
  let versions: { first: string; second: string };
  beforeAll(async () => {
    stage = await openStage();
    versions = await fillShop(stage);
    client = await open(stage.assistant());
  });
  afterAll(async () => {
    await client.close();
    await stage.remove();
  });

  const call = async (tool: string, args: Record<string, unknown>) => {
    const result = (await client.callTool({ name: tool, arguments: args })) as { isError?: boolean; content?: unknown };
    expect(result.isError, JSON.stringify(result.content)).toBeFalsy();
  };
  const add = (id: string) => call('add_documents', { workspace: 'shop', collection: 'orders', data: [{ _id: id }] });

  it('tell of a write through the same server, and no more after their end', async () => {
    const stop = await client.follow(ORDERS, BIG);
    let from = client.told.length;
    await add('a');
    await client.untilTold(ORDERS, from);
    expect(client.told.slice(from)).not.toContain(BIG);
    from = client.told.length;
    const lambda = { workspace: 'shop', queryLambda: 'big' };
    await call('tag_lambda_version', { ...lambda, tag_name: 'production', version: versions.second });
    await client.untilTold(BIG, from);
    await stop();

    const again = await client.follow(BIG);
    from = client.told.length;
    await add('b');
    await call('tag_lambda_version', { ...lambda, tag_name: 'production', version: versions.first });
    await client.untilTold(BIG, from);
    expect(client.told.slice(from)).toEqual([BIG]);
    await again();
  });

  it('tell of what somebody else changes', async () => {
    const stop = await client.follow(ORDERS, SHOP);
    const from = client.told.length;
    // In the newer era the answer to a request to listen does not wait for the first look.
    for (let n = 0; client.told.indexOf(ORDERS, from) < 0; n++) {
      const data = [{ _id: '1', total: n }];
      await stage.other.addDocuments({ workspace: 'shop', collection: 'orders', data });
      await Promise.race([client.untilTold(ORDERS, from), new Promise((resolve) => setTimeout(resolve, 200))]);
    }
    await client.untilTold(SHOP, from);
    await stop();
  });

  it('do not take a query for a change', async () => {
    const stop = await client.follow(ORDERS, BIG);
    await add('c');
    const from = client.told.length;
    await call('run_query', { query: 'SELECT * FROM shop.orders' });
    await call('execute_lambda_tag', { workspace: 'shop', queryLambda: 'big', tag: 'production' });
    await add('d');
    await client.untilTold(ORDERS, from);
    expect(client.told.slice(from)).not.toContain(BIG);
    await stop();
  });

  it('tell that what is listed has changed', async () => {
    const stop = await client.follow();
    let from = client.told.length;
    await call('create_collection', { workspace: 'shop', name: 'new' });
    await client.untilTold('list', from);
    from = client.told.length;
    await call('delete_collection', { workspace: 'shop', collection: 'new' });
    await client.untilTold('list', from);
    await stop();
  });

  it('tell of the end of what they are for', async () => {
    await call('create_collection', { workspace: 'shop', name: 'brief' });
    const stop = await client.follow(`${SHOP}/collections/brief`);
    const from = client.told.length;
    await call('delete_collection', { workspace: 'shop', collection: 'brief' });
    await client.untilTold(`${SHOP}/collections/brief`, from);
    await stop();
  });

  // The later protocols acknowledge a listener before the server is asked.
  if (name === '2025-11-25') {
    it('are refused for what does not exist, with what is near', async () => {
      await expect(client.follow(`${SHOP}/collections/ordrs`)).rejects.toThrow(/Did you mean "?orders/);
      await expect(client.follow('colloquy://nothing')).rejects.toThrow(/resources are/);
    });
  }
});

describe('createChanges()', () => {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const notify = { resourceUpdated: () => {}, resourcesChanged: () => {} };
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  it('asks nothing of the service while nobody listens', async () => {
    const { client, calls } = fakeClient({ listWorkspaces: () => [] });
    const changes = createChanges({ connect: async () => client, log, everyMs: 5 });
    const written = changes.listen({ uris: [], list: 'written' }, notify);
    changes.look();
    expect(calls).toEqual([]);
    const { stop, ready } = changes.listen({ uris: [ROOT], list: false }, notify);
    await ready;
    await until(() => calls.length >= 3);
    stop();
    written.stop();
    const before = calls.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls.length - before).toBeLessThanOrEqual(1);
  });

  it('goes on after a failure, and tells of what changed meanwhile', async () => {
    let fails = false;
    let name = 'a';
    const { client, calls } = fakeClient({
      listWorkspaces: () => {
        if (fails) throw new Error('gone');
        return [{ name }];
      },
    });
    const told: string[] = [];
    const warned: string[] = [];
    const changes = createChanges({
      connect: async () => client,
      log: { ...log, warn: (_, message) => warned.push(message) },
      everyMs: 5,
    });
    const { ready } = changes.listen(
      { uris: [ROOT], list: false },
      { ...notify, resourceUpdated: (uri) => told.push(uri) },
    );
    await ready;
    fails = true;
    const failing = calls.length;
    await until(() => calls.length >= failing + 2);
    name = 'b';
    fails = false;
    await until(() => told.length > 0);
    expect(told).toEqual([ROOT]);
    expect(warned[0]).toMatch(/could not look for changes/);
    changes.close();
  });

  it('notifies of a write that the first poll may already have seen', async () => {
    const { client } = fakeClient({ listWorkspaces: () => [{ name: 'always the same' }] });
    const told: string[] = [];
    const own = { ...notify, resourceUpdated: (uri: string) => void told.push(uri) };
    const changes = createChanges({ connect: async () => client, log, everyMs: 60_000 });
    const { ready, stop } = changes.listen({ uris: [ROOT], list: false }, own);
    const tool = tools().get('create_workspace');
    if (tool === undefined) throw new Error('no tool');
    const written = changes.writing(tool, { name: 'w' });
    await ready;
    written();
    await until(() => told.length > 0);
    // The next write is seen or not by looking.
    changes.writing(tool, { name: 'w' })();
    await changes.listen({ uris: [ROOT], list: false }, own).ready;
    expect(told).toEqual([ROOT]);
    stop();
    changes.close();
  });

  it('tells of a write through another principal at once', async () => {
    let name = 'a';
    const { client } = fakeClient({ listWorkspaces: () => [{ name }] });
    const told: string[] = [];
    const peers = new Set<Changes>();
    const options = { connect: async () => client, log, peers, everyMs: 60_000 };
    const [one, other] = [createChanges(options), createChanges(options)];
    const own = { ...notify, resourceUpdated: (uri: string) => void told.push(uri) };
    await one.listen({ uris: [ROOT], list: false }, own).ready;
    const tool = tools().get('create_workspace');
    if (tool === undefined) throw new Error('no tool');
    const written = other.writing(tool, { name: 'b' });
    name = 'b';
    written();
    await until(() => told.length > 0);
    one.close();
    expect(peers).toEqual(new Set([other]));
    other.close();
  });

  it('keeps no more addresses than it watches', () => {
    const asked: string[][] = [];
    const changes = {
      listen: ({ uris }: { uris: readonly string[] }) => {
        asked.push([...uris]);
        return { stop: () => undefined, ready: Promise.resolve() };
      },
    } as unknown as Changes;
    listenFor(changes)({ resourceSubscriptions: Array(300_000).fill(ROOT) }, notify);
    expect(asked[0]).toHaveLength(URIS_MAX);
  });

  it('notifies each listener once, and watches a limited number of addresses', async () => {
    let count = 0;
    const { client, calls } = fakeClient({
      listWorkspaces: () => [{ name: `w${count}` }],
      listWorkspaceCollections: () => [],
      listWorkspaceLambdas: () => [],
    });
    const told: string[] = [];
    const own = { ...notify, resourceUpdated: (uri: string) => void told.push(uri) };
    const changes = createChanges({ connect: async () => client, log, everyMs: 60_000 });
    await changes.listen({ uris: [ROOT], list: false }, own).ready;
    const many = Array.from({ length: 2 * URIS_MAX }, (_, n) => `${ROOT}/w${n}`);
    await changes.listen({ uris: [ROOT, ...many], list: false }, own).ready;
    expect(calls.filter(({ operation }) => operation === 'listWorkspaceCollections').length).toBeLessThan(URIS_MAX);
    count = 1;
    changes.look();
    await until(() => told.length > 0);
    expect(told.filter((uri) => uri === ROOT)).toEqual([ROOT]);
    changes.close();
  });
});
