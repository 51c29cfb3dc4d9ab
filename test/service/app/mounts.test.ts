import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Mount, MountCaller } from '../../../src/service/app/mounts.ts';
import { makeFolder, startTestService, type TestService } from '../harness.ts';
import { addKey, addUser, callFrom } from '../people.ts';

const PATH = '/beside';

/** A mount that records what it was given, and answers with the request's body. */
function remembering() {
  const seen: { callers: MountCaller[]; signals: AbortSignal[]; admitted: number; closed: number } = {
    callers: [],
    signals: [],
    admitted: 0,
    closed: 0,
  };
  let hold: Promise<void> | undefined;
  const mount: Mount = {
    path: PATH,
    admit: (request, response) => {
      seen.admitted++;
      if (request.headers['x-place'] === 'wrong') throw new ApiError('forbidden', 'Cannot answer: the wrong place.');
      if (request.headers['x-place'] !== 'asks') return false;
      response.writeHead(204).end();
      return true;
    },
    handle: async (request, response, caller, signal) => {
      seen.callers.push(caller);
      seen.signals.push(signal);
      const body = await textOf(request);
      await hold;
      response.writeHead(200).end(JSON.stringify(`${request.method} ${body}`));
    },
    close: async () => {
      seen.closed++;
    },
  };
  return {
    mount,
    seen,
    holdUntil: (promise: Promise<void>) => {
      hold = promise;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function start(mount: Mount): Promise<TestService> {
  const home = await makeFolder();
  const listen = [{ path: `${home}/service.sock` }, { host: '127.0.0.1', port: 0 }];
  return startTestService({ listen, mounts: [mount] }, home);
}

describe('a mounted handler', () => {
  const { mount, seen } = remembering();
  let service: TestService;
  beforeAll(async () => {
    service = await start(mount);
  });
  afterAll(() => service.remove());
  beforeEach(() => {
    seen.callers.length = 0;
  });

  it('gets the request as it is, whatever its method, and answers by itself', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await call(service, method, { rawBody: 'not { json' });
      expect(answer.body).toBe(`${method} not { json`);
      expect(answer.headers['x-trace-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers['www-authenticate']).toBeUndefined();
    }
    expect((await call(service, 'GET')).body).toBe('GET ');
    expect((await service.call('GET', `${PATH}/`, undefined, {})).body).toBe('GET ');
    expect((await service.call('GET', `${PATH}/x`, undefined, {})).status).toBe(404);
  });

  it.each([
    ['ApiKey', 'one@example.com'],
    ['Bearer', 'two@example.com'],
    ['bearer', 'three@example.com'],
  ])('learns who calls, by %s', async (scheme, email) => {
    const key = await addUser(service, email, 'read-only');
    await call(service, 'POST', { headers: { authorization: `${scheme} ${key}` } });
    expect(seen.callers).toMatchObject([{ key, email, roles: ['read-only'] }]);
    expect(seen.callers[0]?.keyHash).not.toContain(key);
    expect(seen.callers[0]?.isKnown()).toBe(true);
  });

  it.each([
    ['no key', null, {}],
    ['an unknown key', 'x'.repeat(64), {}],
    ['another scheme', null, { authorization: 'Basic abc' }],
  ])('is not reached with %s', async (_, key, headers) => {
    const answer = await call(service, 'POST', { key, headers, rawBody: 'x' });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ type: 'AUTHEXCEPTION' });
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="colloquy", ApiKey realm="colloquy"');
    expect(seen.callers).toEqual([]);
  });

  it("calls the API with the origin of its own caller's request", async () => {
    const question = { tool: 't', binding: 'b', target: 't', message: 'm' };
    const ask = async (headers: Record<string, string> = {}) =>
      (await service.call('POST', '/v1/colloquy/approvals', question, { headers })).body.data.url;
    const entry = { name: 'other', ip_address: '203.0.113.9' };
    await callFrom(service, '198.51.100.1', 'POST', PATH, {});
    await callFrom(service, null, 'POST', PATH, {});
    const [elsewhere = {}, here = {}] = seen.callers.map(({ headers }) => headers);
    expect(await ask()).toContain('/approve/');
    expect(await ask(here)).toContain('/approve/');
    expect(await ask(elsewhere)).toBeNull();
    const locked = await service.call('POST', '/v1/orgs/self/ip/allowlist', entry, { headers: elsewhere });
    expect([locked.status, locked.body.message]).toEqual([400, expect.stringContaining('would be locked out')]);
    // Not even if the caller is on this machine: a mount calls on behalf of others, who must not see what is meant for
    // the person here.
    expect((await service.call('GET', '/v1/colloquy/trash', undefined, { headers: here })).status).toBe(403);
    expect((await service.call('GET', '/v1/colloquy/trash')).status).toBe(200);
  });

  it('is the only one who can pass on an origin', async () => {
    const question = { tool: 't', binding: 'c', target: 't', message: 'm' };
    await callFrom(service, '198.51.100.1', 'POST', PATH, {});
    await callFrom(service, null, 'POST', PATH, {});
    const [elsewhere = {}, here = {}] = seen.callers.map(({ headers }) => headers);
    const [name = '', pass = ''] = Object.entries(here)[0] ?? [];
    const [text] = String(Object.values(elsewhere)[0]).split('.');
    for (const made of ['', 'x', '.', `${text}.${pass.split('.')[1]}`]) {
      const headers = { [name]: made };
      const answer = await service.call('POST', '/v1/colloquy/approvals', question, { headers });
      expect(answer.body.data.url).toContain('/approve/');
    }
    // Over the network such headers are not trusted.
    const url = service.service.addresses.find((address) => address.startsWith('http'));
    const answer = await fetch(`${url}/v1/colloquy/approvals`, {
      method: 'POST',
      headers: {
        authorization: `ApiKey ${service.key}`,
        'content-type': 'application/json',
        'x-forwarded-for': '198.51.100.1',
        ...here,
      },
      body: JSON.stringify(question),
    });
    expect(await answer.json()).toMatchObject({ data: { url: null } });
  });

  it('learns when a key was deleted, and is not reached with it', async () => {
    const email = 'brief@example.com';
    await addUser(service, email, 'member');
    const key = await addKey(service, email, 'second');
    await call(service, 'POST', { key });
    await service.call('DELETE', `/v1/orgs/self/users/${encodeURIComponent(email)}/apikeys/second`);
    expect(seen.callers[0]?.isKnown()).toBe(false);
    expect((await call(service, 'POST', { key })).status).toBe(401);
  });

  it('says first whether a request is at the right place', async () => {
    const wrong = await call(service, 'POST', { key: null, headers: { 'x-place': 'wrong' } });
    expect([wrong.status, wrong.body.message]).toEqual([403, 'Cannot answer: the wrong place.']);
    expect((await call(service, 'OPTIONS', { key: null, headers: { 'x-place': 'asks' } })).status).toBe(204);
    expect(seen.callers).toEqual([]);
  });

  it('is behind the IP allowlist', async () => {
    await service.call('POST', '/v1/orgs/self/ip/allowlist', { name: 'one', ip_address: '203.0.113.9' });
    expect((await callFrom(service, '198.51.100.1', 'POST', PATH, {})).status).toBe(403);
    expect(seen.callers).toEqual([]);
    await service.call('DELETE', '/v1/orgs/self/ip/allowlist/one');
  });

  it('has its requests in the log, without the key', async () => {
    await call(service, 'POST');
    const lines = service.lines.filter((line) => line['operation'] === 'beside' && line['status'] === 200);
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(service.lines)).not.toContain(service.key);
  });
});

it('a mounted handler that fails ends its connection, and the service goes on', async () => {
  const { mount } = remembering();
  const service = await start({ ...mount, handle: () => Promise.reject(new Error('broken')) });
  await expect(call(service, 'POST')).rejects.toThrow();
  expect((await service.call('GET', '/ready')).status).toBe(200);
  await service.remove();
});

it('the service, when it closes, tells mounted handlers and waits for what they answer', async () => {
  const { mount, seen, holdUntil } = remembering();
  const service = await start(mount);
  let release: () => void = () => undefined;
  holdUntil(
    new Promise((resolve) => {
      release = resolve;
    }),
  );
  const running = callFrom(service, null, 'POST', PATH, {});
  while (seen.signals.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const closing = service.service.close();
  expect(seen.signals[0]?.aborted).toBe(true);
  expect(seen.closed).toBe(1);
  release();
  expect((await running).status).toBe(200);
  await closing;
  await service.remove();
});

function call(service: TestService, method: string, how: Parameters<TestService['call']>[3] = {}) {
  return service.call(method, PATH, undefined, how);
}
