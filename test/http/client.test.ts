import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type AnyOperation, allRows } from '../../src/contract/contract.ts';
import { createClient } from '../../src/http/client.ts';
import { answer, client, failure, KEY, serve } from './loopback.ts';

const NAME = { workspace: 'w', collection: 'c' };
const DOCS = { ...NAME, data: [{ a: 1 }] };

/** The URL of a port on this machine that nothing listens on. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

describe('createClient({ readOnly: true })', () => {
  const rows = Object.entries(allRows) as [AnyOperation, (typeof allRows)[AnyOperation]][];
  const changes = rows.filter(([, row]) => row.effect !== 'read').map(([operation]) => operation);

  test('knows changes to refuse', () => {
    expect(changes.length).toBeGreaterThan(25);
  });

  test.each(changes)('refuses %s before anything is sent', async (operation) => {
    const { seen, url } = await serve([answer(200, { data: {} })]);
    const { api } = client(url, { readOnly: true });
    const refused = await failure((api[operation] as (input: object) => Promise<unknown>)({}));
    expect(refused).toMatchObject({ code: 'forbidden', message: expect.stringContaining(`${operation} was not sent`) });
    expect(seen).toEqual([]);
  });

  test('lets reads through, queries and runs of lambdas among them', async () => {
    const { seen, url } = await serve([answer(200, { results: [] })]);
    const { api } = client(url, { readOnly: true });
    await api.runQuery({ sql: { query: 'SELECT 1' } });
    await api.executeLambdaTag({ workspace: 'w', queryLambda: 'l', tag: 'latest' });
    await api.listWorkspaces({}).catch(() => undefined);
    expect(seen.length).toBeGreaterThanOrEqual(3);
  });
});

describe('createClient()', () => {
  test('has one function per contract row, and one for loads', () => {
    const { api } = client('http://127.0.0.1:1');
    expect(Object.keys(api).sort()).toEqual([...Object.keys(allRows), 'load', 'close'].sort());
  });

  test('takes many calls at once without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    try {
      const { url } = await serve(Array(30).fill(answer(200, { data: [] })));
      const { api } = client(url);
      await Promise.all(Array.from({ length: 30 }, () => api.listWorkspaces({})));
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', note);
    }
  });

  test('sends method, path, key and body', async () => {
    const { seen, url } = await serve([answer(200, { data: [], last_offset: '1' })]);
    await client(`${url}/base/`).api.addDocuments({ workspace: 'a b', collection: 'c', data: [{ a: 'é' }] });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      method: 'POST',
      url: '/base/v1/orgs/self/ws/a%20b/collections/c/docs',
      body: '{"data":[{"a":"é"}]}',
    });
    expect(seen[0]?.headers).toMatchObject({
      authorization: `ApiKey ${KEY}`,
      'content-type': 'application/json',
      accept: 'application/json',
    });
  });

  test('sends a body with DELETE where the row has one, and no content type where it has none', async () => {
    const { seen, url } = await serve([answer(200, { data: [] }), answer(200, { data: { name: 'c' } })]);
    const { api } = client(url);
    await api.deleteDocuments({ ...NAME, data: [{ _id: '1' }] });
    await api.deleteCollection(NAME);
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['DELETE', '{"data":[{"_id":"1"}]}'],
      ['DELETE', ''],
    ]);
    expect(seen[1]?.headers['content-type']).toBeUndefined();
  });

  test('speaks over a Unix socket', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'colloquy-http-'));
    const socketPath = join(folder, 's.sock');
    const { seen } = await serve([answer(200, { data: { name: 'c' } })], socketPath);
    const { api } = client('', { target: { socketPath } });
    expect(await api.getCollection(NAME)).toEqual({ name: 'c' });
    expect(seen[0]?.headers.authorization).toBe(`ApiKey ${KEY}`);
    await rm(folder, { recursive: true });
  });

  test('takes a new socket connection for each change, and not for each read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'colloquy-http-'));
    const socketPath = join(folder, 's.sock');
    const { server } = await serve([answer(200, { data: {} })], socketPath);
    let connections = 0;
    server.on('connection', () => connections++);
    const { api } = client('', { target: { socketPath } });
    for (let i = 0; i < 9; i++) await api.getCollection(NAME);
    const forReads = connections;
    expect(forReads).toBeLessThan(9);
    for (let i = 0; i < 9; i++) await api.deleteCollection(NAME);
    expect(connections).toBe(forReads + 9);
    await rm(folder, { recursive: true });
  });

  test('asks for a changing key on each call', async () => {
    const { seen, url } = await serve([answer(200, { data: {} })]);
    const keys = ['one', 'two'];
    const { api } = client(url, { apiKey: () => keys.shift() ?? 'none' });
    await api.getCollection(NAME);
    await api.getCollection(NAME);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['ApiKey one', 'ApiKey two']);
  });

  test.each(['', 'two words', 'line\nbreak', 'key\r\nx-evil: 1', 'clé', ' padded'])(
    'refuses the key %j without repeating it',
    (apiKey) => {
      const make = () => createClient({ target: { url: 'https://example.com' }, apiKey });
      expect(make).toThrow(/Cannot use the API key/);
      if (apiKey !== '') expect(make).not.toThrow(apiKey);
    },
  );

  test('refuses wrong arguments before anything is sent', async () => {
    const { seen, url } = await serve([]);
    const { api } = client(url);
    const wrong = [{ workspace: 'w', collecton: 'c' }, { workspace: 'w' }, null] as never[];
    for (const input of wrong) expect((await failure(api.getCollection(input))).code).toBe('invalid_input');
    expect(seen).toEqual([]);
  });

  test.each([0, -1, Number.NaN])('refuses timeoutMs %s', async (timeoutMs) => {
    const { api } = client('http://127.0.0.1:1');
    expect(await failure(api.getCollection(NAME, { timeoutMs }))).toMatchObject({ code: 'invalid_input' });
  });

  test('shows no secret when it is inspected', () => {
    const { api } = client('http://127.0.0.1:1');
    expect(inspect(api, { depth: 10, showHidden: true })).not.toContain(KEY);
    expect(JSON.stringify(api)).not.toContain(KEY);
  });
});

describe('a call that fails', () => {
  test('is repeated when it reads, and waits longer each time', async () => {
    const { seen, url } = await serve([
      answer(503, { message: 'starting', type: 'NOT_READY' }),
      answer(502, '<html>bad gateway</html>'),
      answer(200, { data: { name: 'c' } }),
    ]);
    const { api, pauses } = client(url);
    expect(await api.getCollection(NAME)).toEqual({ name: 'c' });
    expect(seen).toHaveLength(3);
    expect(pauses).toEqual([250, 500]);
  });

  test('is given up after three tries', async () => {
    const { seen, url } = await serve([answer(503, { message: 'starting', type: 'NOT_READY' })]);
    expect(await failure(client(url).api.getCollection(NAME))).toMatchObject({
      code: 'not_ready',
      message: 'starting',
    });
    expect(seen).toHaveLength(3);
  });

  test('waits as long as Retry-After says', async () => {
    const busy = answer(429, { message: 'too many queries' }, { 'retry-after': '7' });
    const { url } = await serve([busy, answer(200, { data: {} })]);
    const { api, pauses } = client(url);
    await api.getCollection(NAME);
    expect(pauses).toEqual([7_000]);
  });

  test('is not repeated when Retry-After does not fit in its time', async () => {
    const { seen, url } = await serve([answer(429, { message: 'busy' }, { 'retry-after': '20' })]);
    const error = await failure(client(url).api.getCollection(NAME, { timeoutMs: 5_000 }));
    expect(error).toMatchObject({ code: 'resource_exceeded', details: { retryAfterMs: 20_000 } });
    expect(seen).toHaveLength(1);
  });

  test.each([400, 401, 403, 404, 405, 408, 409, 413, 500])('is not repeated after %s', async (status) => {
    const { seen, url } = await serve([answer(status, { message: 'no' })]);
    expect(await failure(client(url).api.getCollection(NAME))).toMatchObject({ status });
    expect(seen).toHaveLength(1);
  });

  test.each([429, 502, 503, 504])('is not repeated after %s when it writes', async (status) => {
    const { seen, url } = await serve([answer(status, { message: 'no' })]);
    const { api, pauses } = client(url);
    expect(await failure(api.addDocuments(DOCS))).toMatchObject({ status });
    expect([seen.length, pauses.length]).toEqual([1, 0]);
  });

  test('is repeated when it writes and no connection was made', async () => {
    const { api, pauses } = client(await deadUrl());
    const error = await failure(api.addDocuments(DOCS));
    expect(error).toMatchObject({ code: 'connection_failed', message: expect.stringMatching(/ECONNREFUSED/) });
    expect(error.message).not.toMatch(/unknown/);
    expect(pauses).toHaveLength(2);
  });

  test('says that the outcome is unknown when a write loses its connection', async () => {
    const { seen, url } = await serve([(response) => response.destroy()]);
    const error = await failure(client(url).api.addDocuments(DOCS));
    expect(error).toMatchObject({
      code: 'connection_failed',
      message: expect.stringMatching(/Whether the change was made is unknown/),
    });
    expect(seen).toHaveLength(1);
  });

  test('is repeated when it reads and the connection breaks, in the head or in the body', async () => {
    const { seen, url } = await serve([
      (response) => response.destroy(),
      (response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"data":', () => response.destroy());
      },
      answer(200, { data: { name: 'c' } }),
    ]);
    expect(await client(url).api.getCollection(NAME)).toEqual({ name: 'c' });
    expect(seen).toHaveLength(3);
  });

  test('is connection_failed when a chunked body breaks off', async () => {
    const { url } = await serve([(response) => void response.write('{"data":{}}', () => response.destroy())]);
    expect(await failure(client(url).api.getCollection(NAME))).toMatchObject({ code: 'connection_failed' });
  });

  test('says so when no socket is there', async () => {
    const { api } = client('', { target: { socketPath: join(tmpdir(), 'colloquy-no-such.sock') } });
    const error = await failure(api.getCollection(NAME));
    expect(error).toMatchObject({
      code: 'connection_failed',
      message: expect.stringMatching(/no such socket.*ENOENT/),
    });
  });

  test('says so when the other side does not speak HTTP', async () => {
    const server = createServer((socket) => socket.end(`HELLO ${KEY}\r\n`));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const { api } = client(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
    const error = await failure(api.getCollection(NAME));
    expect(error.code).toBe('connection_failed');
    expect(inspect(error, { depth: 10 })).not.toContain(KEY);
    server.close();
  });

  test('recovers the service and goes on at once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'colloquy-http-'));
    const socketPath = join(folder, 's.sock');
    let recovered = 0;
    const { api, pauses } = client('', {
      target: { socketPath },
      async recover() {
        recovered++;
        await serve([answer(200, { data: [], last_offset: '1' })], socketPath);
      },
    });
    expect(await api.addDocuments(DOCS)).toEqual({ data: [], last_offset: '1' });
    expect([recovered, pauses]).toEqual([1, []]);
    await rm(folder, { recursive: true });
  });

  test('rejects with what the recovery failed with', async () => {
    const { api } = client(await deadUrl(), { recover: () => Promise.reject(new Error('cannot start')) });
    expect((await failure(api.getCollection(NAME))).message).toBe('cannot start');
  });
});

describe('a call that ends early', () => {
  test('closes its connection when its signal aborts', async () => {
    const controller = new AbortController();
    const closed = later();
    const { url } = await serve([
      (response) => {
        response.on('close', closed.resolve);
        controller.abort();
      },
    ]);
    const error = await failure(client(url).api.getCollection(NAME, { signal: controller.signal }));
    expect(error).toMatchObject({ code: 'aborted' });
    await closed.promise;
  });

  test('is not sent when its signal has aborted before', async () => {
    const { seen, url } = await serve([]);
    const error = await failure(client(url).api.getCollection(NAME, { signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: 'aborted', message: expect.stringMatching(/was not sent/) });
    expect(seen).toEqual([]);
  });

  test('is request_timeout when no answer begins in time', async () => {
    const { url } = await serve([() => {}]);
    const error = await failure(client(url).api.getCollection(NAME, { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: 'request_timeout', message: expect.stringMatching(/within 50 ms/) });
  });

  test('is request_timeout when the body does not end in time', async () => {
    const { url } = await serve([(response) => void response.write('{"data":')]);
    expect(await failure(client(url).api.getCollection(NAME, { timeoutMs: 100 }))).toMatchObject({
      code: 'request_timeout',
    });
  });

  test('counts the pauses between tries into its time', async () => {
    const { seen, url } = await serve([answer(503, {}, { 'retry-after': '1' })]);
    const { api } = client(url, {
      retry: {
        pause: (_, signal) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))),
      },
    });
    expect(await failure(api.getCollection(NAME, { timeoutMs: 1_100 }))).toMatchObject({ code: 'request_timeout' });
    expect(seen).toHaveLength(1);
  });

  test('says that the outcome is unknown when a write times out', async () => {
    const { url } = await serve([() => {}]);
    const error = await failure(client(url).api.addDocuments(DOCS, { timeoutMs: 50 }));
    expect(error).toMatchObject({ code: 'request_timeout', message: expect.stringMatching(/is unknown/) });
  });

  test('is aborted by close(), and so is every call after it', async () => {
    const arrived = later();
    const { url } = await serve([() => arrived.resolve()]);
    const { api } = client(url);
    const running = failure(api.getCollection(NAME));
    await arrived.promise;
    await api.close();
    expect(await running).toMatchObject({ code: 'aborted', message: expect.stringMatching(/closed/) });
    expect(await failure(api.getCollection(NAME))).toMatchObject({ code: 'aborted' });
  });

  test('leaves the client usable', async () => {
    const { url } = await serve([() => {}, answer(200, { data: { name: 'c' } })]);
    const { api } = client(url);
    await failure(api.getCollection(NAME, { timeoutMs: 50 }));
    expect(await api.getCollection(NAME)).toEqual({ name: 'c' });
  });

  test('is response_too_large when the body says so, or turns out so', async () => {
    const huge = 'x'.repeat(2_000);
    const { url } = await serve([
      answer(200, { data: huge }),
      (response) => response.write(huge) && response.end(huge),
    ]);
    const { api } = client(url, { responseBytesMax: 1_000 });
    for (const _ of ['content-length', 'chunked']) {
      expect(await failure(api.getCollection(NAME))).toMatchObject({
        code: 'response_too_large',
        message: expect.stringMatching(/larger than 1000 bytes/),
      });
    }
  });

  test('reads an answer of exactly the bound', async () => {
    const body = JSON.stringify({ data: { name: 'c'.repeat(100) } });
    const { url } = await serve([answer(200, body, { 'content-length': String(body.length) })]);
    await client(url, { responseBytesMax: body.length }).api.getCollection(NAME);
  });
});

function later() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
