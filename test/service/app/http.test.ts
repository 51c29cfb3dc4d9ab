import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract, OPERATIONS } from '../../../src/contract/contract.ts';
import { fillPath } from '../../../src/contract/path.ts';
import type { Row } from '../../../src/contract/row.ts';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const WS = '/v1/orgs/self/ws';

/** Sends bytes as they are and reads the answer until the connection closes. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(service.socket, () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('the service without a key', () => {
  it.each(['/', '/health'])('answers GET %s', async (path) => {
    const answer = await service.call('GET', path, undefined, { key: null });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body).toEqual({ message: expect.any(String) });
  });

  it('answers GET /ready with version and process id, over its own socket', async () => {
    const answer = await service.call('GET', '/ready', undefined, { key: null });
    const told = { message: expect.any(String), version: '0.0.1', pid: process.pid, ready: true, foreground: false };
    expect(answer.body).toEqual(told);
  });

  it.each(OPERATIONS)('refuses %s', async (operation) => {
    const row: Row = contract[operation];
    const path = fillPath(
      row.path,
      Object.fromEntries(Object.keys(row.params?.shape ?? {}).map((name) => [name, 'x'])),
    );
    const answer = await service.call(row.method, path, undefined, { key: null });
    expect(answer.status).toBe(401);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body).toMatchObject({ type: 'AUTHEXCEPTION', message_key: null, line: null });
    expect(answer.headers['www-authenticate']).toBe('ApiKey');
  });
});

describe('authentication', () => {
  it.each(['ApiKey', 'apikey', 'APIKEY', 'Bearer', 'bearer'])('accepts the scheme %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${service.key}` };
    expect((await service.call('GET', WS, undefined, { key: null, headers })).status).toBe(200);
  });

  it.each([
    ['an unknown key', `ApiKey ${'x'.repeat(64)}`],
    ['an empty key', 'ApiKey '],
    ['no scheme', 'x'.repeat(64)],
    ['another scheme', `Basic ${Buffer.from('a:b').toString('base64')}`],
    ['a key with a space', `ApiKey a b`],
    ['a huge key', `ApiKey ${'k'.repeat(10_000)}`],
  ])('refuses %s and does not repeat it', async (_, authorization) => {
    const answer = await service.call('GET', WS, undefined, { key: null, headers: { authorization } });
    expect(answer.status).toBe(401);
    const secret = authorization.split(' ').at(-1) ?? '';
    if (secret.length > 1) expect(answer.text).not.toContain(secret);
  });

  it('refuses the key cut short, and in other case', async () => {
    for (const key of [service.key.slice(0, -1), `${service.key}x`, service.key.toLowerCase()]) {
      expect((await service.call('GET', WS, undefined, { key })).status).toBe(401);
    }
  });

  it('refuses before it reads the body', async () => {
    const answer = await service.call('POST', WS, undefined, { key: 'wrong', rawBody: '{"name":' });
    expect(answer.status).toBe(401);
  });
});

describe('paths and methods', () => {
  it.each([
    ['PUT', WS, 'GET, HEAD, OPTIONS, POST'],
    ['PATCH', '/v1/orgs/self/queries', 'OPTIONS, POST'],
    ['POST', '/v1/orgs/self', 'GET, HEAD, OPTIONS'],
    ['GET', `${WS}/commons/collections/c/docs`, 'DELETE, OPTIONS, PATCH, POST'],
    ['PROPFIND', `${WS}/x%2Fy`, 'DELETE, GET, HEAD, OPTIONS'],
    ['DELETE', '/ready', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const answer = await service.call(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe(allow);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.type).toBe('METHODNOTALLOWED');
  });

  it('a method that is not known is 405 also with a body that is not JSON', async () => {
    const answer = await service.call('PUT', WS, undefined, {
      rawBody: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.status).toBe(405);
  });

  it.each(['/v2/orgs/self', '/V1/orgs/self', '/v1/orgs/other', '/v1/orgs/self/WS', '/__proto__', '/v1//orgs/self'])(
    '%s does not exist',
    async (path) => {
      const answer = await service.call('GET', path);
      expect(answer.status).toBe(404);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.body).toMatchObject({ type: 'NOTFOUND', message_key: null });
    },
  );

  it('a slash at the end is another path, so that an empty name cannot become another operation', async () => {
    for (const [method, path] of [
      ['DELETE', `${WS}/commons/collections/`],
      ['GET', `${WS}/`],
    ] as const) {
      const answer = await service.call(method, path);
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain('must not be empty');
    }
    const answer = await service.call('GET', '/v1/orgs/self/');
    expect(answer.status).toBe(404);
    expect(answer.body.message).toContain('Leave out the slash');
  });

  it('an empty name inside the path is refused', async () => {
    const answer = await service.call('GET', `${WS}//collections`);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('"workspace" must not be empty');
  });

  it.each([
    ['a%2Bb', 'a+b'],
    ['a+b', 'a+b'],
    ['a@b', 'a@b'],
    ['a%40b', 'a@b'],
    ['..%2Fx', '../x'],
    ['a%2fb', 'a/b'],
    ['%22%3B%20DROP', '"; DROP'],
    ['100%25', '100%'],
    ['%252F', '%2F'],
    ['caf%C3%A9', 'café'],
    ['__proto__', '__proto__'],
    ['x'.repeat(120), 'x'.repeat(120)],
  ])('the path parameter %s is the name %s', async (encoded, name) => {
    const answer = await service.call('GET', `${WS}/${encoded}`);
    expect(answer.status).toBe(404);
    expect(answer.body.message).toBe(`Workspace with name "${name}" does not exist`);
  });

  it('an encoded .. is a name and no step in the path', async () => {
    const answer = await raw(
      `GET ${WS}/%2E%2E HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey ${service.key}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toContain('Workspace with name \\"..\\" does not exist');
  });

  it('a name of thousands of characters is not found, and cut in the message', async () => {
    const answer = await service.call('GET', `${WS}/${'x'.repeat(8_000)}`);
    expect(answer.status).toBe(404);
    expect(answer.body.message.length).toBeLessThan(300);
  });

  it.each(['%', '%E0%A4%A', '%zz', '%ff', 'a%2'])('the malformed percent-encoding %s is 400', async (encoded) => {
    const answer = await raw(
      `GET ${WS}/${encoded} HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey ${service.key}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('percent-encoding');
    expect(answer.toLowerCase()).toContain('x-trace-id');
  });

  it('HEAD answers like GET without a body', async () => {
    const answer = await service.call('HEAD', WS);
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(10);
  });

  it('OPTIONS names the methods, without CORS headers unless asked for', async () => {
    const answer = await service.call('OPTIONS', WS, undefined, { key: null });
    expect([answer.status, answer.headers['allow']]).toEqual([204, 'GET, HEAD, OPTIONS, POST']);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect((await service.call('OPTIONS', '/nowhere')).status).toBe(404);
  });
});

describe('request bodies', () => {
  it.each([
    ['{"name":', 'line 1, column 9 (position 8)'],
    ['{"name":}', 'line 1, column 9 (position 8)'],
    ['{\n  "name": "a",\n}', 'line 3, column 1'],
    ["{'name':1}", 'position 1'],
    ['{"name":"a"} x', 'position 13'],
    ['{"name":"a\nb"}', 'position 10'],
    ['NaN', 'position 0'],
    ['{"name":01}', 'position 9'],
    ['{"n":12345678901234567890,}', 'position 26'],
  ])('malformed JSON %j is 400 with its position', async (rawBody, position) => {
    const answer = await service.call('POST', WS, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.type).toBe('INVALIDINPUT');
    expect(answer.body.message).toContain(position);
  });

  it('nesting that no parser survives is 400, with long numbers too', async () => {
    const deep = `{"name":${'['.repeat(200_000)}12345678901234567890${']'.repeat(200_000)}}`;
    expect((await service.call('POST', WS, undefined, { rawBody: deep })).status).toBe(400);
  });

  it('bytes that are not UTF-8 are 400', async () => {
    const rawBody = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const answer = await service.call('POST', WS, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('UTF-8');
  });

  it.each([
    ['an array', '[]', 'the request body: expected a JSON object, got an array'],
    ['null', 'null', 'the request body: expected a JSON object, got null'],
    ['text', '"x"', 'the request body: expected a JSON object, got a string'],
    ['nothing', '', '"name" is missing, expected a string'],
    ['white space', '  \n', '"name" is missing'],
    ['no name', '{"nom":"a"}', '"name" is missing'],
    ['a number for a name', '{"name":5}', '"name": expected a string, got a number'],
    ['a large integer for a name', '{"name":12345678901234567890}', '"name": expected a string, got an integer beyond'],
    ['a number for a description', '{"name":"a","description":[]}', '"description": expected a string, got an array'],
  ])('%s is 400 naming the field', async (_, rawBody, why) => {
    const answer = await service.call('POST', WS, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('Cannot create a workspace: ');
    expect(answer.body.message).toContain(why);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'multipart/form-data', 'garbage'])(
    'the content type %s is 415',
    async (type) => {
      const answer = await service.call('POST', WS, undefined, { rawBody: 'x', headers: { 'content-type': type } });
      expect(answer.status).toBe(415);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.body.type).toBe('UNSUPPORTEDMEDIATYPE');
      expect(answer.body.message).toContain('application/json');
    },
  );

  it('a compressed body is 415', async () => {
    const answer = await service.call('POST', WS, { name: 'z' }, { headers: { 'content-encoding': 'gzip' } });
    expect(answer.status).toBe(415);
  });

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json-patch+json'])(
    'the content type %s is JSON',
    async (type) => {
      const answer = await service.call('POST', WS, undefined, { rawBody: '{}', headers: { 'content-type': type } });
      expect(answer.status).toBe(400);
    },
  );

  it('a body where the endpoint takes none is ignored', async () => {
    const answer = await service.call('DELETE', `${WS}/nowhere`, { any: 'thing' });
    expect(answer.body.message_key).toBe('WORKSPACE_NOT_FOUND');
    const empty = await service.call('DELETE', `${WS}/nowhere`, undefined, { rawBody: '' });
    expect(empty.status).toBe(404);
  });

  it('12 MiB are 413, and the answer arrives', async () => {
    const data = Array.from({ length: 12 }, () => ({ text: 'x'.repeat(1024 * 1024) }));
    const answer = await service.call('POST', `${WS}/commons/collections/c/docs`, { data });
    expect(answer.status).toBe(413);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.type).toBe('CONTENTTOOLARGE');
    expect(answer.body.message).toMatch(/10485760 bytes.*smaller batches/);
  });

  it('more than 1 MiB of a definition is 413: it would stay in memory, and in every list', async () => {
    const description = 'd'.repeat(1024 * 1024);
    const sql = { query: 'SELECT 1' };
    for (const [path, body] of [
      [WS, { name: 'huge', description }],
      [`${WS}/commons/lambdas`, { name: 'huge', description, sql }],
      [
        `${WS}/commons/lambdas/any/versions`,
        { sql: { ...sql, default_parameters: [{ name: 'p', value: description }] } },
      ],
    ] as const) {
      const answer = await service.call('POST', path, body);
      expect(answer.status).toBe(413);
      expect(answer.body.message).toMatch(/1048576 bytes \(1 MiB\).*Shorten/);
    }
    const query = { sql: { query: 'SELECT length(:p) AS n', parameters: [{ name: 'p', value: description }] } };
    expect((await service.call('POST', '/v1/orgs/self/queries', query)).body.results).toEqual([{ n: 1024 * 1024 }]);
  });

  it('more than 200,000 values are 413, whether they are used or not; in a document 100,000 are', async () => {
    const crowd = `[${'[],'.repeat(1_000_000)}[]]`;
    for (const rawBody of [
      `{"sql":{"query":"SELECT 1"},"unknown":${crowd}}`,
      `{"sql":{"query":"SELECT 1","parameters":[{"name":"p","type":"array","value":${crowd}}]}}`,
    ]) {
      const answer = await service.call('POST', '/v1/orgs/self/queries', undefined, { rawBody });
      expect(answer.status).toBe(413);
      expect(answer.body.message).toMatch(/more than 200,000 values\. Send fewer/);
    }
    await service.call('POST', `${WS}/commons/collections`, { name: 'crowd' });
    const documents = (count: number) => {
      const list = `[${'1,'.repeat(count - 1)}1]`;
      const rawBody = `{"data":[{"_id":"a","v":${list}},{"_id":"b","v":${list}},{"_id":"c","v":${list}}]}`;
      return service.call('POST', `${WS}/commons/collections/crowd/docs`, undefined, { rawBody });
    };
    // The first are parsed, and the next are of a known shape.
    for (const status of ['ADDED', 'REPLACED']) {
      expect((await documents(99_990)).body.data).toMatchObject([{ status }, { status }, { status }]);
      const answer = await documents(100_001);
      expect(answer.status).toBe(413);
      expect(answer.body.message).toBe('"data[0]" holds more than 100,000 values. Split it into several.');
    }
  });

  it('each entry of a long list is checked, and named if it is wrong', async () => {
    const parameters = Array.from({ length: 250 }, (_, n) => ({ name: `p${n}`, type: 'int', value: `${n}` }));
    const run = (list: unknown[], body = {}) =>
      service.call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT :p249 AS n', parameters: list }, ...body });
    const absent = parameters.map((parameter, n) => (n === 249 ? parameter : { ...parameter, type: null }));
    for (const list of [parameters, absent]) expect((await run(list)).body.results).toEqual([{ n: 249 }]);
    const wrong = await run([...parameters, { name: 7, value: '1' }]);
    expect(wrong.status).toBe(400);
    expect(wrong.body.message).toContain('"sql.parameters[250].name": expected a string, got a number');
  });

  it('20,001 documents are 413', async () => {
    const data = Array.from({ length: 20_001 }, () => ({}));
    for (const method of ['POST', 'DELETE', 'PATCH']) {
      const entry = { _id: 'x', patch: [] };
      const body = { data: data.map(() => entry) };
      const answer = await service.call(method, `${WS}/commons/collections/c/docs`, body);
      expect(answer.status).toBe(413);
      expect(answer.body.message).toMatch(/20001 entries.*20000.*smaller batches/);
    }
  });
});

describe('what is no HTTP request', () => {
  it('is answered with the error shape', async () => {
    const answer = await raw('THIS IS NOT HTTP\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(keysOf(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''))).toEqual(ERROR_KEYS);
  });

  it('is refused with headers of more than 16 KiB', async () => {
    const answer = await raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });
});

describe('the log', () => {
  it('has one line per request, with its trace id, and neither key nor body', async () => {
    const answer = await service.call('POST', '/v1/orgs/self/queries', {
      sql: { query: 'SELECT :secret', parameters: [{ name: 'secret', type: 'string', value: 'hunter2-parameter' }] },
    });
    const traceId = answer.headers['x-trace-id'];
    await expect.poll(() => service.lines.filter((line) => line['trace_id'] === traceId).length).toBe(1);
    expect(service.lines.find((line) => line['trace_id'] === traceId)).toMatchObject({
      operation: 'runQuery',
      status: 200,
      ms: expect.any(Number),
    });
    const all = JSON.stringify(service.lines);
    expect(all).not.toContain(service.key);
    expect(all).not.toContain('hunter2-parameter');
  });

  it('says of a change who made it and what it is about, and of nothing else that is in it', async () => {
    const self = '/v1/orgs/self';
    await service.call('POST', `${self}/users`, { email: 'ann@example.com', roles: ['member'] });
    const made = await service.call('POST', `${self}/users/ann@example.com/apikeys`, { name: 'laptop' });
    const as = { key: made.body.data.key as string };
    const lineOf = async (method: string, path: string, body?: unknown, how = as) => {
      const { headers } = await service.call(method, self + path, body, how);
      const found = () => service.lines.find((line) => line['trace_id'] === headers['x-trace-id']);
      await expect.poll(found).toBeDefined();
      const { operation, user, key_name, about } = found() ?? {};
      return { operation, user, key_name, about };
    };
    const ann = { user: 'ann@example.com', key_name: 'laptop' };
    const created = await lineOf('POST', '/ws/commons/collections', { name: 'codes', description: 'hunter2' });
    expect(created).toEqual({ operation: 'createCollection', ...ann, about: { workspace: 'commons', name: 'codes' } });
    const about = { workspace: 'commons', collection: 'codes' };
    const docs = await lineOf('POST', '/ws/commons/collections/codes/docs', { data: [{ name: 'hunter2' }] });
    expect(docs).toEqual({ operation: 'addDocuments', ...ann, about });
    expect(await lineOf('GET', '/ws/commons/collections/codes')).toEqual({ operation: 'getCollection' });
    expect(await lineOf('DELETE', '/ws/commons/collections/codes')).toEqual({
      operation: 'deleteCollection',
      ...ann,
      about,
    });
    // Refused, and with what may be a secret for a name.
    const refused = await lineOf('DELETE', `/integrations/${service.key}`);
    expect(refused).toMatchObject({ ...ann, about: { integration: `${service.key.slice(0, 4)}…` } });
    const hidden = await lineOf('DELETE', `/ws/commons/collections/${encodeURIComponent('a\u202eb')}`);
    expect(hidden.about).toEqual({ workspace: 'commons', collection: 'a\\u202eb' });
    expect(await lineOf('DELETE', '/ws/commons/collections/codes', undefined, { key: 'none' })).toEqual({
      operation: 'deleteCollection',
    });
    expect(JSON.stringify(service.lines)).not.toContain('hunter2');
  });
});
