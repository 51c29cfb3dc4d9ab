import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

/** Sends large bodies, each over a connection of its own. In a thread: what this one writes waits for the service. */
const CALLER = `
  const { workerData: { socketPath, path }, parentPort } = require('node:worker_threads');
  const { Agent, request } = require('undici');
  const dispatcher = new Agent({ pipelining: 0, connect: { socketPath } });
  const how = { dispatcher, method: 'POST', headers: { 'content-type': 'application/json' }, body: ' '.repeat(860_000) };
  const send = () => request('http://localhost' + path, how)
    .then(async ({ statusCode, body }) => (await body.text(), statusCode), ({ code }) => code);
  (async () => { for (let i = 0; i < 100; i++) parentPort.postMessage(await Promise.all([send(), send(), send()])); })();
`;

it.each([
  ['without a key', '/v1/orgs/self/ws/commons/collections/c/docs', 401],
  ['of a path that does not exist', '/v1/nowhere', 404],
  ['of a path that is no path', '/v1/orgs/self/ws/%zz', 400],
])('a refusal %s arrives at a caller who still writes and closes after it', async (_, path, status) => {
  const caller = new Worker(CALLER, { eval: true, workerData: { socketPath: service.socket, path } });
  const told: unknown[] = [];
  caller.on('message', (statuses: unknown[]) => void told.push(...statuses));
  await once(caller, 'exit');
  expect([told.length, ...new Set(told)]).toEqual([300, status]);
});
