import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command, freePort, installed } from './servers/server.ts';
import { ITEMS, type SourceService, startSourceService, until } from './source-tests.ts';

const VERSION = '3.1.0';

interface Analytics {
  track(event: object): void;
  closeAndFlush(): Promise<void>;
  on(event: 'error', listener: (error: unknown) => void): void;
}
type AnalyticsClass = new (settings: object) => Analytics;

let Client: AnalyticsClass;
let service: SourceService;
let port: number;
let key: string;

beforeAll(async () => {
  const folder = await installed('segment', (to) =>
    command('npm', [
      'install',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefix',
      to,
      `@segment/analytics-node@${VERSION}`,
    ]).then(() => undefined),
  );
  Client = createRequire(join(folder, 'package.json'))('@segment/analytics-node').Analytics;
  port = await freePort();
  service = await startSourceService(undefined, { listen: [{ host: '127.0.0.1', port }] });
  key = await newKey('events');
  const answer = await service.createCollection('events', { integration_name: 'events' });
  expect(answer.text).toContain('"status":"CREATED"');
});
afterAll(() => service?.remove());

async function newKey(name: string, connection = {}): Promise<string> {
  const made = (await service.createIntegration(name, 'segment', connection)) as {
    data: { segment: { connection_string: string } };
  };
  return made.data.segment.connection_string;
}

const url = () => `http://127.0.0.1:${port}`;

async function send(path: string, body: string, headers: Record<string, string> = {}, writeKey = key) {
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  const answer = await fetch(`${url()}${path}`, {
    method: 'POST',
    body,
    headers: { authorization, 'content-type': 'application/json', ...headers },
  });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
}

describe('the library of Segment', () => {
  it('sends all its events, and a repeated delivery changes nothing', async () => {
    const client = new Client({ writeKey: key, host: url(), flushAt: 100, maxRetries: 10 });
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    const from = performance.now();
    for (let n = 1; n <= ITEMS; n++) {
      const event = {
        userId: `u${n}`,
        event: 'Bought',
        properties: { n },
        messageId: `m${n}`,
        timestamp: new Date(1_700_000_000_000 + n),
      };
      client.track(event);
    }
    await client.closeAndFlush();
    expect(errors).toEqual([]);
    const ms = performance.now() - from;
    process.stdout.write(`segment: ${ITEMS} events in ${Math.round(ms)} ms, ${Math.round((ITEMS / ms) * 1_000)}/s\n`);
    expect(await service.count('events')).toBe(ITEMS);
    const [row] = await service.rows(
      "SELECT type, event, userId, properties.n AS n, _event_time FROM commons.events WHERE _id = 'm7'",
    );
    expect(row).toMatchObject({
      type: 'track',
      event: 'Bought',
      userId: 'u7',
      n: 7,
      _event_time: '2023-11-14T22:13:20.007000Z',
    });
    const again = await send(
      '/v1/batch',
      JSON.stringify({ batch: [{ type: 'track', messageId: 'm7', event: 'Bought' }] }),
    );
    expect(again).toMatchObject({ status: 200, text: '{"success":true}' });
    expect(await service.count('events')).toBe(ITEMS);
    const { source } = await service.source('events');
    expect(source.status).toMatchObject({ state: 'ACTIVE', total_processed_items: ITEMS + 1, total_error_items: 0 });
  });

  it('keeps its events while the source is paused, and brings them after that', async () => {
    await service.control('events', 'pause');
    const client = new Client({ writeKey: key, host: url(), flushAt: 10, maxRetries: 20 });
    for (let n = 1; n <= 10; n++) client.track({ userId: 'p', event: 'Paused', messageId: `p${n}` });
    const refused = await send('/v1/track', '{"messageId": "x"}');
    expect(refused).toMatchObject({ status: 503, retryAfter: '10' });
    await service.control('events', 'resume');
    await client.closeAndFlush();
    await until(
      () => service.rows("SELECT count(*) AS n FROM commons.events WHERE event = 'Paused'"),
      (rows) => JSON.stringify(rows) === '[{"n":10}]',
    );
  });
});

describe('what else comes', () => {
  it('is a message of each type, at its own address', async () => {
    for (const type of ['track', 'identify', 'page', 'screen', 'group', 'alias']) {
      expect(await send(`/v1/${type}`, JSON.stringify({ messageId: `one-${type}`, writeKey: key }))).toMatchObject({
        status: 200,
      });
    }
    const rows = await service.rows("SELECT _id, type FROM commons.events WHERE _id LIKE 'one-%' ORDER BY _id");
    expect(rows).toHaveLength(6);
    expect(rows[0]).toEqual({ _id: 'one-alias', type: 'alias' });
    expect(JSON.stringify(await service.rows("SELECT * FROM commons.events WHERE _id LIKE 'one-%'"))).not.toContain(
      key,
    );
  });

  it('without a messageId is kept aside', async () => {
    expect(
      await send('/v1/import', JSON.stringify({ batch: [{ event: 'no id' }, 7, { messageId: 'good' }] })),
    ).toMatchObject({ status: 200 });
    const { source, refused } = await service.source('events');
    expect(source.status.total_error_items).toBe(2);
    expect(refused).toMatchObject([
      { reason: 'is no JSON object', text: '7' },
      { reason: 'has no messageId', text: '{"event":"no id"}' },
    ]);
  });

  it.each([
    ['another key', '/v1/batch', '{"batch":[]}', 401],
    ['text that is no JSON', '/v1/batch', '{"batch":[', 400],
    ['no batch', '/v1/batch', '{}', 400],
    ['a list in the place of a message', '/v1/track', '[]', 400],
    ['too much', '/v1/batch', `{"batch":["${'x'.repeat(11 * 1024 * 1024)}"]}`, 413],
  ])('with %s is refused', async (what, path, body, status) => {
    const answer = await send(path, body, {}, what === 'another key' ? 'x'.repeat(64) : key);
    expect(answer.status).toBe(status);
  });

  it('has to be signed where a signing secret was given', async () => {
    const signed = await newKey('signed', { signing_secret: 'sign-secret' });
    await service.createCollection('signed', { integration_name: 'signed', segment: {} });
    const body = JSON.stringify({ messageId: 's1' });
    const signature = createHmac('sha1', 'sign-secret').update(body).digest('hex');
    expect((await send('/v1/track', body, {}, signed)).status).toBe(401);
    expect(
      (
        await send(
          '/v1/track',
          body,
          { 'x-signature': signature.replace(/^./, (c) => (c === '0' ? '1' : '0')) },
          signed,
        )
      ).status,
    ).toBe(401);
    expect((await send('/v1/track', body, { 'x-signature': signature }, signed)).status).toBe(200);
    expect(await service.count('signed')).toBe(1);
  });

  it('at once from many loses no count', async () => {
    const before = (await service.source('events')).source.status.total_processed_items;
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => send('/v1/track', JSON.stringify({ messageId: `many${n}` }))),
    );
    expect((await service.source('events')).source.status.total_processed_items).toBe(before + 50);
  });

  it('for an integration without a collection is told to come again', async () => {
    const lonely = await newKey('lonely');
    expect(await send('/v1/track', '{"messageId":"a"}', {}, lonely)).toMatchObject({ status: 503 });
  });
});
