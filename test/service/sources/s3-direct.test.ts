import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectReads, type DirectReads, type SentRequest } from '../../../src/service/sources/s3-direct.ts';

const KEY = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret', sessionToken: 'token' };
const { signal } = new AbortController();

describe('createDirectReads()', () => {
  let server: Server;
  let direct: DirectReads;
  let asked: IncomingMessage[];
  let status: number;

  beforeEach(async () => {
    asked = [];
    status = 200;
    server = createServer((request, answer) => {
      asked.push(request);
      answer.statusCode = status;
      answer.end('some bytes');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    direct = createDirectReads(async () => KEY, 2);
  });
  afterEach(() => {
    direct.close();
    server.close();
  });

  const sentFor = (path: string): SentRequest => {
    const { port } = server.address() as AddressInfo;
    const authorization =
      'AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=00';
    const headers = { host: `127.0.0.1:${port}`, authorization };
    return { protocol: 'http:', hostname: '127.0.0.1', port, path, headers };
  };
  const learn = (key = 'a b.json', path = '/bucket/a%20b.json') =>
    direct.learn(key, async (note) => {
      note(sentFor(path));
      return 'answer';
    });
  const get = (key: string, headers = {}) => direct.get(key, headers, signal);

  async function textOf(answer: IncomingMessage | undefined): Promise<string> {
    let text = '';
    for await (const piece of answer ?? []) text += String(piece);
    return text;
  }

  test('asks as the client did, once it has', async () => {
    expect(await get('first')).toBeUndefined();
    expect(await learn()).toBe('answer');
    expect(await textOf(await get("x/y z'.json", { 'if-match': '"1"' }))).toBe('some bytes');
    const [{ url, headers } = { url: '', headers: {} as IncomingMessage['headers'] }] = asked;
    expect(url).toBe('/bucket/x/y%20z%27.json');
    expect(headers).toMatchObject({ 'if-match': '"1"', 'x-amz-security-token': 'token' });
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIATEST\/\d{8}\/eu-west-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    );
  });

  test('lets the others wait while the client asks for the first', async () => {
    expect(await get('first')).toBeUndefined();
    const second = get('second');
    await learn();
    expect(await textOf(await second)).toBe('some bytes');
    expect(asked.map(({ url }) => url)).toEqual(['/bucket/second']);
  });

  test('leaves all to the client once it is refused, but not if an object is another one', async () => {
    await learn();
    status = 412;
    expect(await get('changed')).toBeUndefined();
    status = 200;
    expect(await textOf(await get('there'))).toBe('some bytes');
    status = 403;
    expect(await get('denied')).toBeUndefined();
    await learn();
    status = 200;
    expect(await get('there')).toBeUndefined();
    expect(asked).toHaveLength(3);
  });

  test('leaves to the client what breaks, and what it asks for in another way', async () => {
    await learn('key', '/bucket/other');
    expect(await get('key')).toBeUndefined();
    await learn();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await get('key')).toBeUndefined();
  });

  test('rejects the reason of a signal', async () => {
    await learn();
    await expect(direct.get('key', {}, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});
