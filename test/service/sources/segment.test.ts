import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, makeFolder, startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const SIGNING = 'a-signing-secret';

let service: TestService;
const keys: Record<string, string> = {};
beforeAll(async () => {
  service = await start();
  for (const [name, segment] of Object.entries({ site: {}, hook: { signing_secret: SIGNING }, nowhere: {} })) {
    const answer = await service.call('POST', '/v1/orgs/self/integrations', { name, segment });
    keys[name] = answer.body.data.segment.connection_string;
  }
  await create('events', 'site');
});
afterAll(() => service.remove());

async function create(name: string, integration: string, source: object = {}, settings: object = {}): Promise<void> {
  const sources = [{ integration_name: integration, ...source }];
  const answer = await service.call('POST', COLLECTIONS, { name, sources, ...settings });
  expect(answer.text).toContain('"segment":{}');
}

async function start(folder?: string): Promise<TestService> {
  const home = folder ?? (await makeFolder());
  const listen = [{ path: `${home}/service.sock` }, { host: '127.0.0.1', port: 0 }];
  return startTestService({ listen, trustProxy: ['127.0.0.1'] }, home);
}

interface Sending {
  key?: string | null;
  headers?: Record<string, string>;
  raw?: string | Buffer;
}

function send(path: string, body: unknown, { key = keys['site'] ?? '', headers = {}, raw }: Sending = {}) {
  const login: Record<string, string> =
    key === null ? {} : { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` };
  const rawBody = raw ?? JSON.stringify(body);
  return service.call('POST', `/v1/${path}`, undefined, { key: null, rawBody, headers: { ...login, ...headers } });
}

function expectRefused(answer: Answer, status: number, why: string): void {
  expect(answer.body.message).toContain(why);
  expect(answer.status).toBe(status);
  expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
  for (const key of Object.values(keys)) expect(answer.text).not.toContain(key);
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  const answer = await service.call('POST', '/v1/orgs/self/queries', { sql: { query: sql } });
  expect(answer.body).toHaveProperty('results');
  return answer.body.results;
}

async function reportOf(collection: string) {
  const answer = await service.call('GET', `/v1/colloquy/ws/commons/collections/${collection}/sources/0`);
  return answer.body.data;
}

const control = (collection: string, verb: string) =>
  service.call('POST', `/v1/colloquy/ws/commons/collections/${collection}/sources/0/${verb}`, {});

const messages = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    type: 'track',
    messageId: `m${from + index}`,
    event: 'Seen',
    userId: `u${index % 7}`,
    timestamp: '2026-11-20T18:00:00.000Z',
  }));

describe('messages as the libraries and webhooks of Segment send them', () => {
  it('one by one, to the path of their type', async () => {
    for (const type of ['track', 'identify', 'page', 'screen', 'group', 'alias']) {
      const message = { messageId: `one-${type}`, userId: 'u', timestamp: '2026-11-20T18:00:00.123Z' };
      const answer = await send(type, message);
      expect([answer.status, answer.body]).toEqual([200, { success: true }]);
      expect(answer.headers).not.toHaveProperty('www-authenticate');
    }
    const [first] = await rows("SELECT * FROM commons.events WHERE _id = 'one-alias'");
    expect(first).toEqual({
      _id: 'one-alias',
      _event_time: '2026-11-20T18:00:00.123000Z',
      messageId: 'one-alias',
      type: 'alias',
      userId: 'u',
      timestamp: '2026-11-20T18:00:00.123Z',
    });
    expect(await rows("SELECT count(*) AS n FROM commons.events WHERE _id LIKE 'one-%'")).toEqual([{ n: 6 }]);
  });

  it('as a batch, with what is said of all, the key in the body, compressed, and as text', async () => {
    const [a, b] = [
      { messageId: 'b-a', type: 'track', context: { ip: '2.2.2.2' } },
      { messageId: 'b-b', type: 'page', writeKey: keys['site'] },
    ];
    const body = {
      batch: [a, b],
      context: { ip: '1.1.1.1' },
      integrations: null,
      writeKey: keys['site'],
      sentAt: 'now',
    };
    expect((await send('batch', body, { key: null, headers: { 'content-type': 'text/plain' } })).status).toBe(200);
    const found = "SELECT * FROM commons.events WHERE _id LIKE 'b-%' ORDER BY _id";
    const stored = [
      { _id: 'b-a', ...a },
      { _id: 'b-b', messageId: 'b-b', type: 'page', context: { ip: '1.1.1.1' } },
    ];
    expect(await rows(found)).toMatchObject(stored);
    const raw = gzipSync(JSON.stringify({ batch: [{ ...b, messageId: 'b-c' }] }));
    expect((await send('import', undefined, { raw, headers: { 'content-encoding': 'gzip' } })).status).toBe(200);
    // As webhooks send several.
    expect((await send('import', [{ messageId: 'b-d', type: 'track' }])).status).toBe(200);
    expect((await rows(found)).map(({ _id }) => _id)).toEqual(['b-a', 'b-b', 'b-c', 'b-d']);
    const all = JSON.stringify(await rows('SELECT * FROM commons.events'));
    expect(all).not.toContain(keys['site']);
    expect(all).not.toContain('sentAt');
  });

  it('repeated change nothing, and the last of one id wins', async () => {
    await create('repeated', 'site');
    const batch = [...messages(0, 50), { type: 'track', messageId: 'm0', event: 'Last' }];
    for (const _ of [1, 2, 3]) expect((await send('batch', { batch, sentAt: new Date() })).status).toBe(200);
    for (const name of ['repeated', 'events']) {
      expect(await rows(`SELECT count(*) AS n FROM commons.${name} WHERE _id LIKE 'm%'`)).toEqual([{ n: 50 }]);
      expect(await rows(`SELECT event FROM commons.${name} WHERE _id = 'm0'`)).toEqual([{ event: 'Last' }]);
    }
    await service.call('DELETE', `${COLLECTIONS}/repeated`);
  });

  it('without id are refused into the refused items, with no key, and the others are stored', async () => {
    await create('partly', 'site');
    const key = keys['site'];
    const batch = [
      { type: 'track', writeKey: key },
      7,
      [key],
      { messageId: 3 },
      { messageId: 'x'.repeat(2_000) },
      { messageId: 'ok' },
    ];
    expect((await send('batch', { batch })).status).toBe(200);
    const { source, refused } = await reportOf('partly');
    expect(source).toMatchObject({ integration_name: 'site', on_error: 'skip', segment: {} });
    expect(source.status).toMatchObject({
      state: 'ACTIVE',
      total_processed_items: 1,
      total_error_items: 5,
      last_processed_item: 'ok',
      last_error_item: 'x'.repeat(2_000),
    });
    expect(refused.map((one: { item: string; reason: string }) => [one.item.slice(0, 8), one.reason])).toEqual([
      ['xxxxxxxx', expect.stringContaining('"_id"')],
      ['batch[3]', 'has a "messageId" that is no text'],
      ['batch[2]', 'is no JSON object'],
      ['batch[1]', 'is no JSON object'],
      ['batch[0]', 'has no "messageId"'],
    ]);
    expect(refused[2].text).toBe('["********"]');
    expect(JSON.stringify(refused)).not.toContain(key);
    await service.call('DELETE', `${COLLECTIONS}/partly`);
  });

  it("go through the collection's query", async () => {
    const sql = "SELECT _id, upper(event) AS event FROM _input WHERE userId = 'u1'";
    await create('mapped', 'site', {}, { field_mapping_query: { sql } });
    expect((await send('batch', { batch: messages(100, 14) })).status).toBe(200);
    expect(await rows('SELECT * EXCEPT (_event_time) FROM commons.mapped ORDER BY _id')).toEqual([
      { _id: 'm101', event: 'SEEN' },
      { _id: 'm108', event: 'SEEN' },
    ]);
    await service.call('DELETE', `${COLLECTIONS}/mapped`);
  });

  it('at once lose no document and no count', async () => {
    await create('counted', 'site');
    const requests = Array.from({ length: 60 }, (_, n) => send('batch', { batch: [...messages(n * 20, 20), { n }] }));
    const answers = await Promise.all(requests);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await rows('SELECT count(*) AS n FROM commons.counted')).toEqual([{ n: 1_200 }]);
    const { source, refused } = await reportOf('counted');
    expect(source.status).toMatchObject({ total_processed_items: 1_200, total_error_items: 60 });
    expect(refused).toHaveLength(60);
    await service.stop();
    service = await start(service.folder);
    expect((await reportOf('counted')).source.status).toMatchObject({
      total_processed_items: 1_200,
      total_error_items: 60,
    });
    await service.call('DELETE', `${COLLECTIONS}/counted`);
  });
});

describe('a source that does not take messages now', () => {
  it('keeps them with their sender while it is paused, and the others of the integration go on', async () => {
    await create('paused', 'site');
    const paused = await control('paused', 'pause');
    expect(paused.body.data.source.status.state).toBe('PAUSED');
    const answer = await send('track', { messageId: 'later' });
    expectRefused(answer, 429, 'The source of "commons.paused" is paused');
    expect(answer.headers['retry-after']).toBe('30');
    expect(await rows('SELECT * FROM commons.paused')).toEqual([]);
    expect(await rows("SELECT _id FROM commons.events WHERE _id = 'later'")).toEqual([{ _id: 'later' }]);
    const resumed = await control('paused', 'resume');
    expect(resumed.body.data.source.status.state).toBe('ACTIVE');
    expect((await send('track', { messageId: 'later' })).status).toBe(200);
    expect(await rows('SELECT _id FROM commons.paused')).toEqual([{ _id: 'later' }]);
    expect((await reportOf('paused')).source.status.total_processed_items).toBe(1);
  });

  it('is paused and resumed between what is stored, so that neither is forgotten', async () => {
    const sending = Array.from({ length: 40 }, (_, n) => send('batch', { batch: messages(n * 10, 10) }));
    const [paused, ...answers] = await Promise.all([control('paused', 'pause'), ...sending]);
    expect(paused.status).toBe(200);
    const { source } = await reportOf('paused');
    expect(source.status.state).toBe('PAUSED');
    const stored = answers.filter(({ status }) => status === 200).length;
    expect(answers.length - stored).toBe(answers.filter(({ status }) => status === 429).length);
    expect(source.status.total_processed_items).toBe(1 + stored * 10);
    await control('paused', 'resume');
    expect((await control('paused', 'restart')).body.data.source.status.total_processed_items).toBe(0);
    await service.call('DELETE', `${COLLECTIONS}/paused`);
  });

  it('stands still at a message that is no document, if it is told to', async () => {
    await create('strict', 'site', { on_error: 'stop' });
    const body = { batch: [{ messageId: 's1' }, { event: 'no id' }] };
    expectRefused(await send('batch', body), 429, 'stands still: batch[1] has no "messageId"');
    const { source, refused } = await reportOf('strict');
    expect(source.status).toMatchObject({ state: 'ERROR', last_error_item: 'batch[1]', total_processed_items: 0 });
    expect(source.status.message).toContain('then resume');
    expect(refused).toHaveLength(1);
    expectRefused(await send('track', { messageId: 's2' }), 429, 'stands still');
    await control('strict', 'resume');
    expect((await send('track', { messageId: 's2' })).status).toBe(200);
    expect(await rows('SELECT _id FROM commons.strict')).toEqual([{ _id: 's2' }]);
    await service.call('DELETE', `${COLLECTIONS}/strict`);
  });

  it('says so where their integration is gone when it comes back from the trash', async () => {
    await service.call('POST', '/v1/orgs/self/integrations', { name: 'brief', segment: {} });
    await create('thrown', 'brief');
    await service.call('DELETE', `${COLLECTIONS}/thrown`);
    await service.call('DELETE', '/v1/orgs/self/integrations/brief');
    const listed = await service.call('GET', '/v1/colloquy/trash');
    const { id } = listed.body.data.find((one: { name: string }) => one.name === 'thrown');
    await service.call('POST', `/v1/colloquy/trash/${id}/restore`, {});
    const { status } = (await reportOf('thrown')).source;
    expect(status).toMatchObject({
      state: 'ERROR',
      message: expect.stringContaining('"brief" does not exist any more'),
    });
    await service.call('POST', '/v1/orgs/self/integrations', { name: 'brief', segment: {} });
    expect((await reportOf('thrown')).source.status.state).toBe('ACTIVE');
  });

  it('is none: they stay with their sender', async () => {
    const answer = await send('track', { messageId: 'a' }, { key: keys['nowhere'] ?? '' });
    expectRefused(answer, 429, 'No collection has a source of the integration "nowhere"');
    expect(answer.headers['retry-after']).toBe('30');
  });
});

describe('requests that are refused', () => {
  it.each<[string, () => Promise<Answer>, number, string]>([
    ['no key', () => send('track', { messageId: 'a' }, { key: null }), 401, 'The request has no write key'],
    ['an unknown key', () => send('track', {}, { key: 'an-unknown-key-1234' }), 401, 'The write key is not known here'],
    [
      'an unknown key in the body',
      () => send('track', { writeKey: 'unknown' }, { key: null }),
      401,
      'is not known here',
    ],
    ['an API key', () => service.call('POST', '/v1/track', {}), 401, 'The request has no write key'],
    ['text that is no JSON', () => send('track', undefined, { raw: '{"a":' }), 400, 'is not valid JSON'],
    ['nothing', () => send('track', undefined, { raw: '' }), 400, 'is no message'],
    ['a text', () => send('track', 'x'), 400, 'is no message'],
    ['no batch', () => send('batch', { messageId: 'a' }), 400, 'has no "batch"'],
    ['a batch that is no list', () => send('import', { batch: {} }), 400, '"batch" of the request body is no list'],
    ['too many', () => send('batch', { batch: Array(20_001).fill(1) }), 413, '20000 are the most'],
    ['too many values', () => send('batch', { batch: [Array(200_001).fill(1)] }), 413, 'values'],
    ['too many bytes', () => send('track', { a: 'x'.repeat(11 * 1024 * 1024) }), 413, '10485760 bytes'],
    ['many bytes of nobody', () => send('track', { a: 'x'.repeat(1_100_000) }, { key: null }), 413, '1048576 bytes'],
    [
      'what is no gzip',
      () => send('track', {}, { headers: { 'content-encoding': 'gzip' } }),
      400,
      'The request body is no gzip',
    ],
    [
      'what unzips to too much',
      () =>
        send('track', 0, { raw: gzipSync(Buffer.alloc(11 * 1024 * 1024)), headers: { 'content-encoding': 'gzip' } }),
      413,
      'larger than 10485760 bytes',
    ],
    ['another encoding', () => send('track', {}, { headers: { 'content-encoding': 'br' } }), 415, 'as gzip'],
    ['another method', () => service.call('GET', '/v1/track'), 405, 'Use OPTIONS, POST'],
  ])('%s', async (_, sent, status, why) => {
    const before = await rows('SELECT count(*) AS n FROM commons.events');
    const answer = await sent();
    expectRefused(answer, status, why);
    if (status === 401) expect(answer.headers['www-authenticate']).toBe('Basic realm="colloquy"');
    expect(await rows('SELECT count(*) AS n FROM commons.events')).toEqual(before);
  });

  it('signed otherwise, where the integration has a signing secret', async () => {
    await create('hooked', 'hook');
    const raw = '{ "messageId": "signed", "type": "track" }';
    const sign = (secret: string, body: string | Buffer) => createHmac('sha1', secret).update(body).digest('hex');
    const sent = (signature?: string) =>
      send('import', undefined, {
        raw,
        key: keys['hook'] ?? '',
        headers: signature === undefined ? {} : { 'x-signature': signature },
      });
    for (const wrong of [undefined, '', 'é', sign('another', raw), sign(SIGNING, `${raw} `)]) {
      const answer = await sent(wrong === 'é' ? '\u00e9' : wrong);
      expectRefused(answer, 401, 'The header "X-Signature" is not the signature');
      expect(answer.text).not.toContain(SIGNING);
    }
    expect(await rows('SELECT * FROM commons.hooked')).toEqual([]);
    expect((await sent(sign(SIGNING, raw))).status).toBe(200);
    expect(await rows('SELECT _id FROM commons.hooked')).toEqual([{ _id: 'signed' }]);
  });

  it('with a key that was replaced', async () => {
    const path = '/v1/colloquy/integrations/hook/connection';
    await service.call('POST', path, { connection: { connection_string: 'a-new-write-key-1' } });
    const message = { messageId: 'new' };
    expectRefused(await send('track', message, { key: keys['hook'] ?? '' }), 401, 'not known');
    expect((await send('track', message, { key: 'a-new-write-key-1' })).status).toBe(200);
  });

  it('from an address that is not on the allowlist', async () => {
    const path = '/v1/orgs/self/ip/allowlist';
    await service.call('POST', path, { name: 'office', ip_address: '203.0.113.9' });
    const address = service.service.addresses.find((one) => one.startsWith('http'));
    const from = async (forwardedFor: string) => {
      const headers = { authorization: `Basic ${btoa(`${keys['site']}:`)}`, 'x-forwarded-for': forwardedFor };
      const body = JSON.stringify({ messageId: `from-${forwardedFor}` });
      return (await fetch(`${address}/v1/track`, { method: 'POST', headers, body })).status;
    };
    expect(await from('198.51.100.1')).toBe(403);
    expect(await from('203.0.113.9')).toBe(200);
    await service.call('DELETE', `${path}/office`);
    expect(await rows("SELECT _id FROM commons.events WHERE _id LIKE 'from-%'")).toEqual([{ _id: 'from-203.0.113.9' }]);
  });

  it('and no key or secret was logged', () => {
    expect(service.lines.length).toBeGreaterThan(20);
    expect(JSON.stringify(service.lines)).not.toMatch(`${keys['site']}|${SIGNING}`);
  });
});
