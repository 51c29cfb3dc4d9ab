import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { createHttpServing } from '../../../src/mcp/transports/http.ts';

import {
  type Bench,
  type Caller,
  call,
  endAll,
  INITIALIZE,
  JSON_TYPE,
  list,
  modern,
  openSession,
  start,
  stream,
  until,
} from './http-bench.ts';

afterEach(endAll);

describe('messages', () => {
  const EXACT = '9007199254740993';

  it('keep the digits of integers in both eras', async () => {
    const made = await start();
    const { send } = made;
    const { headers, body } = modern('tools/call', { name: 'echo', arguments: { n: 0 } }, 'echo');
    const later = await send('POST', JSON.stringify(body).replace('"n":0', `"n":${EXACT}`), headers);
    expect(later.message.result.content[0].text).toBe(`{"n":${EXACT}}`);
    const session = await openSession(made);
    const sent = JSON.stringify(call('echo')).replace('"arguments":{}', `"arguments":{"n":${EXACT}}`);
    const earlier = await send('POST', sent, session);
    expect(earlier.message.result.content[0].text).toBe(`{"n":${EXACT}}`);
  });

  it.each([
    ['is no JSON', '{"jsonrpc"', {}, 400, 'not valid JSON'],
    ['is empty', '', {}, 400, 'not valid JSON'],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'not valid UTF-8'],
    ['is no message', '{"a":1}', {}, 400, ''],
    ['is not declared as JSON', '{}', { 'content-type': 'text/plain' }, 415, 'Content-Type: application/json'],
    ['is encoded', '{}', { 'content-encoding': 'gzip' }, 415, 'Send it without'],
  ])('are refused where the body %s', async (_, body, headers, status, words) => {
    const { send } = await start();
    const answer = await send('POST', body, { ...JSON_TYPE, ...headers });
    expect(answer.status).toBe(status);
    expect(answer.message.error.message).toContain(words);
    expect(answer.text).not.toContain('\\"jsonrpc\\"');
  });

  it('are read up to 24 MiB, and refused beyond, with what to do', async () => {
    const made = await start();
    const { send } = made;
    const { headers, body } = modern('tools/call', { name: 'echo', arguments: { text: '' } }, 'echo');
    const frame = JSON.stringify(body);
    const fill = (bytes: number) => frame.replace('"text":""', `"text":"${'a'.repeat(bytes - frame.length)}"`);
    const most = 24 * 1024 * 1024;
    expect((await send('POST', fill(most), headers)).status).toBe(200);
    const session = await openSession(made);
    const old = JSON.stringify(call('echo')).replace('{}', `{"text":"${'a'.repeat(5_000_000)}"}`);
    expect((await send('POST', old, session)).message.result.content[0].text).toHaveLength(5_000_011);
    const answer = await send('POST', fill(most + 1), headers);
    expect(answer.status).toBe(413);
    expect(answer.message.error.message).toContain('smaller batches');
  });

  it('of too many values are refused before they are read', async () => {
    const { send } = await start();
    const { headers, body } = modern('tools/call', { name: 'echo', arguments: { list: [] } }, 'echo');
    const frame = JSON.stringify(body);
    const crowd = (count: number) => frame.replace('"list":[]', `"list":[${'1,'.repeat(count)}1]`);
    expect((await send('POST', crowd(10_000), headers)).status).toBe(200);
    const answer = await send('POST', crowd(1_000_001), headers);
    expect(answer.status).toBe(413);
    expect(answer.message.error.message).toContain('values');
  });

  it('wait for their turn where one key sends many', async () => {
    const { send } = await start({ limits: { readingMax: 1 } });
    const { headers, body } = modern('server/discover');
    const answers = await Promise.all(Array.from({ length: 12 }, () => send('POST', body, headers)));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
  });

  it('are refused if their Host would mean another one inside a URL', async () => {
    const { serving } = await start();
    const request = { headers: { host: 'user@localhost' } } as never;
    expect(() => serving.admit(request, {} as never)).toThrow('Cannot answer a request for the host');
  });

  it('that arrive slowly from one client delay neither other clients nor closing', async () => {
    const { send, port, serving } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    const { headers, body } = modern('server/discover');
    expect((await send('POST', body, headers)).status).toBe(200);
    const closing = serving.close();
    socket.destroy();
    await closing;
  });
});

describe('sessions of the 2025 protocols', () => {
  it('begin with initialize, serve, and end with DELETE', async () => {
    const made = await start();
    const session = await openSession(made);
    expect((await made.send('POST', list, session)).message).toMatchObject({ id: 2, result: { tools: [] } });
    expect((await made.send('DELETE', '', session)).status).toBe(200);
    expect((await made.send('POST', list, session)).status).toBe(404);
  });

  it('are not found by an unknown id, nor by another key', async () => {
    const made = await start();
    const session = await openSession(made);
    const unknown = await made.send('POST', list, { ...session, 'mcp-session-id': 'none' });
    const foreign = await made.send('POST', list, { ...session, 'x-key': 'two' });
    for (const answer of [unknown, foreign]) {
      expect(answer.status).toBe(404);
      expect(answer.message.error).toMatchObject({ code: -32_001 });
    }
    expect(foreign.text).toBe(unknown.text);
    expect((await made.send('DELETE', '', { ...session, 'x-key': 'two' })).status).toBe(404);
    expect((await made.send('POST', list, session)).status).toBe(200);
  });

  it('are needed for all but initialize', async () => {
    const { send } = await start();
    for (const [method, body] of [
      ['POST', list],
      ['GET', ''],
      ['DELETE', ''],
    ] as const) {
      const answer = await send(method, body, JSON_TYPE);
      expect(answer.status).toBe(400);
      expect(answer.message.error.message).toContain('Mcp-Session-Id');
    }
  });

  it('make room for new ones of the same key where they are idle, the oldest first', async () => {
    const made = await start({ limits: { sessionsPerPartyMax: 2 } });
    const first = await openSession(made);
    const second = await openSession(made);
    await made.send('POST', list, first);
    await openSession(made);
    expect((await made.send('POST', list, second)).status).toBe(404);
    expect((await made.send('POST', list, first)).status).toBe(200);
  });

  it('are refused where all are in use, and where other keys have them all', async () => {
    const made = await start({ limits: { sessionsPerPartyMax: 1, sessionsMax: 2 } });
    const session = await openSession(made);
    const open = await stream(made, 'GET', { ...session, accept: 'text/event-stream' });
    const more = await made.send('POST', INITIALIZE, JSON_TYPE);
    expect(more.status).toBe(429);
    expect(more.headers['retry-after']).toBe('30');
    await openSession(made, 'two');
    expect((await made.send('POST', INITIALIZE, { ...JSON_TYPE, 'x-key': 'three' })).status).toBe(503);
    open.drop();
  });

  it('end when nothing was asked of them for long, and not while they listen', async () => {
    // Long enough that a busy machine can open a stream meanwhile.
    const idleMs = 1_000;
    const made = await start({ limits: { idleMs, sweepMs: 10 } });
    const idle = await openSession(made);
    const used = await openSession(made);
    const open = await stream(made, 'GET', { ...used, accept: 'text/event-stream' });
    let status = 200;
    for (let tries = 0; status === 200 && tries < 10; tries++) {
      // Asking keeps a session.
      await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
      ({ status } = await made.send('POST', list, idle));
    }
    expect(status).toBe(404);
    expect((await made.send('POST', list, used)).status).toBe(200);
    open.drop();
  });

  it('go on when the client loses the stream of a call', async () => {
    const made = await start();
    const session = await openSession(made);
    const open = await stream(made, 'POST', session, call('wait'));
    await until(() => made.waiting.length === 1);
    open.drop();
    expect((await made.send('POST', list, session)).status).toBe(200);
    expect(made.cancelled).toBe(0);
    await made.send('DELETE', '', session);
    expect(made.cancelled).toBe(1);
  });
});

describe('calls of the later protocols', () => {
  it('need no session', async () => {
    const { send } = await start();
    const { headers, body } = modern('tools/list');
    const answer = await send('POST', body, headers);
    expect(answer.message).toMatchObject({ id: 1, result: { tools: [] } });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
  });

  it('are cancelled when the client hangs up', async () => {
    const made = await start();
    const { headers, body } = modern('tools/call', { name: 'wait' }, 'wait');
    const sent = httpRequest({ port: made.port, host: '127.0.0.1', method: 'POST', path: '/mcp', headers });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify(body));
    await until(() => made.waiting.length === 1);
    sent.destroy();
    await until(() => made.cancelled === 1);
  });

  it('notify a subscriber of what it subscribed to, until it hangs up', async () => {
    const made = await start();
    const { headers, body } = modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['a://b'] } });
    const open = await stream(made, 'POST', headers, body);
    await until(() => open.text().includes('subscriptions/acknowledged'));
    expect(made.filters).toEqual([{ resourceSubscriptions: ['a://b'] }]);
    made.told[0]?.resourceUpdated('a://other');
    made.told[0]?.resourceUpdated('a://b');
    await until(() => open.text().includes('resources/updated'));
    expect(open.text()).not.toContain('a://other');
    open.drop();
    await until(() => made.filters.length === 0);
  });
});

describe('keys', () => {
  it('have state of their own each, which is released when it is idle for long', async () => {
    const made = await start({ limits: { idleMs: 30, sweepMs: 10 } });
    const { headers, body } = modern('tools/list');
    await made.send('POST', body, headers);
    await made.send('POST', body, headers);
    await made.send('POST', body, { ...headers, 'x-key': 'two' });
    expect(made.opened.filter((key) => key === 'two')).toEqual(['two']);
    await until(() => made.closed.includes('one') && made.closed.includes('two'));
  });

  it('that were deleted lose their sessions and streams', async () => {
    const made = await start({ limits: { sweepMs: 10 } });
    const session = await openSession(made);
    const open = await stream(made, 'GET', { ...session, accept: 'text/event-stream' });
    made.gone.add('one');
    await open.ended;
    await until(() => made.closed.includes('one'));
  });

  it('are served up to a number; idle ones make room', async () => {
    const made = await start({ limits: { partiesMax: 1 } });
    const session = await openSession(made);
    const open = await stream(made, 'GET', { ...session, accept: 'text/event-stream' });
    const { headers, body } = modern('tools/list');
    expect((await made.send('POST', body, { ...headers, 'x-key': 'two' })).status).toBe(503);
    open.drop();
    await until(() => made.closed.length === 0);
    let status = 503;
    for (let tries = 0; status === 503 && tries < 100; tries++) {
      ({ status } = await made.send('POST', body, { ...headers, 'x-key': 'two' }));
    }
    expect(status).toBe(200);
    expect(made.closed).toEqual(['one']);
  });
});

describe('close()', () => {
  it('ends streams, answers what ends soon, and refuses what comes then', async () => {
    const made = await start();
    const session = await openSession(made);
    const old = await stream(made, 'GET', { ...session, accept: 'text/event-stream' });
    const listening = modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['a://b'] } });
    const later = await stream(made, 'POST', listening.headers, listening.body);
    const { headers, body } = modern('tools/call', { name: 'wait' }, 'wait');
    const running = made.send('POST', body, headers);
    await until(() => made.waiting.length === 1);
    const closing = made.serving.close();
    await Promise.all([old.ended, later.ended]);
    expect(later.text()).toContain('"resultType":"complete"');
    expect((await made.send('POST', list, session)).status).toBe(503);
    made.waiting[0]?.();
    expect((await running).status).toBe(200);
    await closing;
    expect(made.closed).toEqual(['one']);
  });

  it('waits no longer than it may for what does not end', async () => {
    const made = await start({ limits: { graceMs: 20 } });
    const session = await openSession(made);
    const open = await stream(made, 'POST', session, call('wait'));
    await until(() => made.waiting.length === 1);
    await made.serving.close();
    await open.ended;
    expect(made.cancelled).toBe(1);
  });
});

describe('Host and Origin', () => {
  const { headers, body } = modern('tools/list');
  const status = async (made: Bench, fields: Record<string, string>) =>
    (await made.send('POST', body, { ...headers, ...fields })).status;

  it('are those of this machine, unless others are named', async () => {
    const made = await start({ hosts: ['MCP.example'], origins: ['app.example'] });
    for (const host of ['localhost', '127.0.0.1:80', '[::1]:9', 'LOCALHOST', 'mcp.example:443']) {
      expect(await status(made, { host }), host).toBe(200);
    }
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', 'a b']) {
      expect(await status(made, { host }), host).toBe(403);
    }
    for (const origin of ['http://localhost:6274', 'https://app.example']) {
      expect(await status(made, { origin }), origin).toBe(200);
    }
    for (const origin of ['http://evil.example', 'null', 'file://', 'https://sub.app.example', 'app.example']) {
      expect(await status(made, { origin }), origin).toBe(403);
    }
  });

  it('are named in the refusal, with the setting that admits them', async () => {
    const { send } = await start();
    const host = await send('POST', body, { ...headers, host: 'evil.example' });
    expect(host.text).toContain('"evil.example"');
    expect(host.text).toContain('--allowed-hosts');
    expect((await send('POST', body, { ...headers, origin: 'http://x.example' })).text).toContain('--allowed-origins');
  });

  it('let a browser of an expected page ask first, and read the answer', async () => {
    const { send, opened } = await start();
    const origin = 'http://localhost:6274';
    const preflight = await send('OPTIONS', '', { origin, 'access-control-request-method': 'POST' });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': expect.stringContaining('mcp-session-id'),
    });
    expect(opened).toEqual([]);
    const answer = await send('POST', body, { ...headers, origin });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' });
    expect((await send('OPTIONS', '', { origin: 'http://evil.example' })).status).toBe(403);
  });
});

it('knows no other methods', async () => {
  const { send, opened } = await start();
  for (const method of ['PUT', 'PATCH', 'HEAD']) {
    const answer = await send(method, '', JSON_TYPE);
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
  }
  expect(opened).toEqual([]);
});

it('goes on while a client reads nothing of what it is sent', async () => {
  const made = await start();
  const listening = modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['a://b'] } });
  const socket = connect(made.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  const text = JSON.stringify(listening.body);
  const fields = Object.entries({ ...listening.headers, host: 'localhost', 'content-length': String(text.length) });
  socket.write(`POST /mcp HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`);
  await until(() => made.told.length === 1);
  for (let count = 0; count < 20_000; count++) made.told[0]?.resourceUpdated('a://b');
  const { headers, body } = modern('tools/list');
  expect((await made.send('POST', body, headers)).status).toBe(200);
  const closing = made.serving.close();
  socket.destroy();
  await closing;
});

it('answers with 500 where the server itself fails, and says nothing of it', async () => {
  const { send } = await start({
    open: () => {
      throw new Error('the secret reason');
    },
  });
  const { headers, body } = modern('tools/list');
  const answer = await send('POST', body, headers);
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain('reason');
});

it('throws what the service answers with', () => {
  const serving = createHttpServing<Caller>({
    open: () => {
      throw new Error('never');
    },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  const request = { headers: { host: 'evil.example' } } as Parameters<typeof serving.admit>[0];
  expect(() => serving.admit(request, {} as Parameters<typeof serving.admit>[1])).toThrow(ApiError);
  return serving.close();
});
