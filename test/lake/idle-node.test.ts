import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Mount } from '../../src/service/app/mounts.ts';
import { makeFolder, startTestService, type TestService } from '../service/harness.ts';
import { lakeFor } from './lake-for.ts';

/*
 * A node that nobody has asked anything for a while knows nothing of what another has changed, until it looks.
 */

const O = '/v1/orgs/self';
const COLLECTIONS = `${O}/ws/commons/collections`;

const mount: Mount = {
  path: '/mcp',
  admit: () => false,
  handle: async (_, response) => void response.end('"handled"'),
  close: async () => undefined,
};

let a: TestService;
let b: TestService;

async function startNode(lake: Awaited<ReturnType<typeof lakeFor>>['lake'], secretKey: string): Promise<TestService> {
  const folder = await makeFolder();
  await writeFile(join(folder, 'secret.key'), `${secretKey}\n`, { mode: 0o600 });
  return startTestService({ lake, mounts: [mount], limits: { threads: 2, memoryBytes: 512 * 1024 * 1024 } }, folder);
}

beforeAll(async () => {
  const { lake } = await lakeFor(`/tmp/idle-${process.pid}`);
  const secretKey = randomBytes(32).toString('hex');
  a = await startNode(lake, secretKey);
  b = await startNode(lake, secretKey);
});

afterAll(async () => {
  await b.remove();
  await a.remove();
});

/** Makes a key on the first node. */
async function makeKey(name: string): Promise<string> {
  const { body } = await a.call('POST', `${O}/users/self/apikeys`, { name });
  return body.data.key;
}

test('a key that another node made opens a mounted path, and one that was deleted there does not', async () => {
  const key = await makeKey('mounted');
  expect(await b.call('POST', '/mcp', {}, { key })).toMatchObject({ status: 200, body: 'handled' });
  await a.call('DELETE', `${O}/users/self/apikeys/mounted`);
  expect((await b.call('POST', '/mcp', {}, { key })).status).toBe(401);
});

test('messages go into each collection that another node made, and into none of which the source was paused there', async () => {
  const made = await a.call('POST', `${O}/integrations`, { name: 'site', segment: {} });
  const writeKey: string = made.body.data.segment.connection_string;
  const headers = { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` };
  const send = (messageId: string) => b.call('POST', '/v1/track', { messageId, userId: 'u' }, { key: null, headers });
  const create = (name: string) =>
    a.call('POST', COLLECTIONS, { name, sources: [{ integration_name: 'site' }] }).then(({ status }) => status);
  const idsIn = async (name: string) => {
    const sql = { query: `SELECT _id FROM commons.${name} ORDER BY _id` };
    const { body } = await a.call('POST', `${O}/queries`, { sql });
    return body.results.map((row: { _id: string }) => row._id);
  };
  expect(await create('one')).toBe(200);
  expect((await send('m1')).status).toBe(200);
  expect(await create('two')).toBe(200);
  expect((await send('m2')).status).toBe(200);
  expect(await idsIn('one')).toEqual(['m1', 'm2']);
  expect(await idsIn('two')).toEqual(['m2']);
  for (const name of ['one', 'two'])
    await a.call('POST', `/v1/colloquy/ws/commons/collections/${name}/sources/0/pause`, {});
  expect((await send('m3')).status).toBe(429);
  expect(await idsIn('two')).toEqual(['m2']);
});

test('a body that arrives slowly is refused if another node has deleted its key meanwhile', async () => {
  await a.call('POST', COLLECTIONS, { name: 'slow' });
  const key = await makeKey('slow');
  const body = JSON.stringify({ data: [{ _id: 'x' }] });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = httpRequest(
      {
        socketPath: b.socket,
        path: `${COLLECTIONS}/slow/docs`,
        method: 'POST',
        headers: {
          authorization: `ApiKey ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => resolve(answer.resume().statusCode),
    );
    sent.on('error', reject);
    sent.write(body.slice(0, 5));
    setTimeout(() => {
      a.call('DELETE', `${O}/users/self/apikeys/slow`).then(() => sent.end(body.slice(5)), reject);
    }, 300);
  });
  expect(status).toBe(401);
});
