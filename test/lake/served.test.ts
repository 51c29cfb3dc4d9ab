import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runDemo } from '../../src/cli/demo/demo.ts';
import { dataFolder } from '../scenarios/binary.ts';
import { openLegacy, openModern } from '../scenarios/drivers.ts';
import { type Served, startServe } from '../scenarios/served.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { kill, type ServedLake, serveLake, sharedPlaces } from './served-lake.ts';

/*
 * Nodes as an operator starts them, of which each request goes to another one.
 */

let lake: ServedLake;
let nodes: (Served & { folder: string })[];
let balancer: Balancer;

beforeAll(async () => {
  lake = await serveLake(sharedPlaces());
  // At once, on an empty lake.
  nodes = await Promise.all([lake.start(), lake.start()]);
  balancer = await startBalancer(nodes.map(({ base }) => base));
});

afterAll(async () => {
  await balancer.close();
  await lake.close();
});

async function api(method: string, path: string, body?: unknown, { key = nodes[0]?.key, base = balancer.base } = {}) {
  const answer = await fetch(new URL(`/v1/orgs/self${path}`, base), {
    method,
    headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers of many endpoints
  return { status: answer.status, body: (await answer.json()) as any };
}

const rows = async (query: string) => (await api('POST', '/queries', { sql: { query } })).body.results;

// The first, since it says what there is.
test('the demo is right, unchanged', async () => {
  expect(await runDemo(undefined, { url: balancer.base, key: nodes[0]?.key ?? '' })).toBe(0);
});

test('both nodes take the key of either, and each request sees what the one before stored', async () => {
  expect((await api('POST', '/ws/commons/collections', { name: 'orders' })).status).toBe(200);
  for (let n = 0; n < 10; n++) {
    const { body } = await api('POST', '/ws/commons/collections/orders/docs', {
      data: [{ _id: `${n}`, n, [`f${n}`]: n }],
    });
    expect(body.data).toMatchObject([{ status: 'ADDED' }]);
    expect(await rows(`SELECT count(*) AS count, max(f${n}) AS field FROM commons.orders`)).toEqual([
      { count: n + 1, field: n },
    ]);
  }
  for (const { key } of nodes) expect((await api('GET', '/ws', undefined, { key })).status).toBe(200);
  expect(Math.min(...balancer.given.values())).toBeGreaterThan(5);
});

test('a key that is deleted stops working on every node at once', async () => {
  const made = await api('POST', '/users/self/apikeys', { name: 'short-lived' });
  const { key } = made.body.data;
  for (const { base } of nodes) expect((await api('GET', '/ws', undefined, { key, base })).status).toBe(200);
  expect((await api('DELETE', '/users/self/apikeys/short-lived', undefined, { base: nodes[0]?.base })).status).toBe(
    200,
  );
  for (const { base } of nodes) expect((await api('GET', '/ws', undefined, { key, base })).status).toBe(401);
});

test('lambdas, tags and aliases of one node are there on all', async () => {
  const lambda = { name: 'total', sql: { query: 'SELECT sum(n) AS total FROM commons.orders WHERE n < :below' } };
  const first = { base: nodes[0]?.base };
  const second = { base: nodes[1]?.base };
  const created = await api('POST', '/ws/commons/lambdas', lambda, first);
  const { version } = created.body.data;
  await api('POST', '/ws/commons/lambdas/total/tags', { tag_name: 'live', version }, second);
  const parameters = [{ name: 'below', type: 'int', value: '4' }];
  for (const at of [first, second]) {
    const run = await api('POST', '/ws/commons/lambdas/total/tags/live', { parameters }, at);
    expect(run.body.results).toEqual([{ total: 6 }]);
  }
  await api('POST', '/ws/commons/aliases', { name: 'all_orders', collections: ['commons.orders'] }, second);
  expect(await rows('SELECT count(*) AS count FROM commons.all_orders')).toEqual([{ count: 10 }]);
});

test.each(['2025-11-25', '2026-07-28'])('an assistant of the protocol %s works with either node', async (era) => {
  for (const node of nodes) {
    const options = { requestInit: { headers: { authorization: `Bearer ${nodes[0]?.key}` } } };
    const session =
      era === '2025-11-25'
        ? await openLegacy(new LegacyHttp(node.url, options), undefined, async () => undefined)
        : await openModern(new ModernHttp(node.url, options), undefined);
    const answer = await session.call('run_query', { query: 'SELECT max(n) AS most FROM commons.orders' });
    expect(answer).toMatchObject({ isError: false, text: expect.stringMatching(/"most":\s*9\b|\b9\n/) });
    await session.close();
  }
});

test('a client of the protocol without sessions needs no node of its own', async () => {
  const options = { requestInit: { headers: { authorization: `Bearer ${nodes[0]?.key}` } } };
  const session = await openModern(new ModernHttp(new URL('/mcp', balancer.base), options), undefined);
  for (let n = 0; n < 4; n++) {
    const answer = await session.call('run_query', { query: `SELECT ${n} + count(*) AS n FROM commons.orders` });
    expect(answer).toMatchObject({ isError: false, text: expect.stringMatching(new RegExp(`\\b${10 + n}\\b`)) });
  }
  await session.close();
});

const isRefused = (error: Error) => (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';

test('a node that is killed takes nothing along, and one that is started again goes on', async () => {
  const third = await lake.start();
  balancer.nodes.push(third.base);
  expect((await api('GET', '/ws', undefined, { base: third.base })).status).toBe(200);
  kill(third);
  // Until the system has ended it, its port takes connections, which then break.
  await vi.waitUntil(() => fetch(third.base).then(() => false, isRefused), { timeout: 20_000 });
  for (let n = 0; n < 6; n++) {
    const answer = await api('POST', '/ws/commons/collections/orders/docs', { data: [{ _id: `k${n}`, n }] });
    expect(answer.status).toBe(200);
  }
  balancer.nodes.pop();
  const again = await lake.start(third.folder);
  expect(again.key).toBe(third.key);
  const { body } = await api('POST', '/queries', { sql: { query: 'SELECT count(*) AS n FROM commons.orders' } }, again);
  expect(body.results).toEqual([{ n: 16 }]);
});

test('what is not a lake, or may not be one, is refused before anything is made', async () => {
  const withPassword = lake.flags.map((flag) => flag.replace('@', ':secret@'));
  await expect(startServe(nodes[0]?.folder ?? '', withPassword)).rejects.toThrow(/ended before it listened/);
  const folder = await dataFolder();
  const embedded = await startServe(folder.path);
  await embedded.stop();
  await expect(lake.start(folder.path)).rejects.toThrow(/ended before it listened/);
  const node = await lake.start();
  await node.stop();
  await expect(startServe(node.folder)).rejects.toThrow(/ended before it listened/);
  await folder.remove();
});
