import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { contract } from '../../src/contract/contract.ts';
import { ApiError } from '../../src/contract/errors.ts';
import { type Exchange, readFailure, readResult } from '../../src/http/response.ts';
import { answer, client, failure, KEY, serve } from './loopback.ts';

const exchange: Exchange = {
  operation: 'getCollection',
  row: contract.getCollection,
  label: 'http://127.0.0.1:1',
  apiKey: KEY,
};
const raw = (status: number, text: string, headers = {}) => ({ status, text, headers });
const ok = (operation: keyof typeof contract, body: unknown) =>
  readResult({ ...exchange, operation, row: contract[operation] }, raw(200, JSON.stringify(body)));

describe('readResult()', () => {
  test.each([
    ['with its envelope', 'getCollection', { data: { name: 'c' } }, { name: 'c' }],
    ['without its envelope', 'getCollection', { name: 'c' }, { name: 'c' }],
    ['a list without its envelope', 'listWorkspaces', [{ name: 'w' }], [{ name: 'w' }]],
    ['a bare result inside an envelope', 'getCurrentUser', { data: { email: 'e' } }, { email: 'e' }],
    ['a result with data of its own', 'addDocuments', { data: [], last_offset: '1' }, { data: [], last_offset: '1' }],
    ['such a result inside an envelope', 'addDocuments', { data: { data: [] } }, { data: [] }],
    ['unknown keys', 'getCollection', { data: { name: 'c', new_key: [1] } }, { name: 'c', new_key: [1] }],
    ['null for missing', 'getCollection', { data: { name: null, stats: null } }, { name: null, stats: null }],
    ['null for an empty list', 'listWorkspaces', { data: null }, []],
    ['nothing but an object', 'getCollection', {}, {}],
  ] as const)('accepts %s', async (_, operation, body, expected) => {
    expect(await ok(operation, body)).toEqual(expected);
  });

  test('keeps integers beyond 2^53 exact', async () => {
    const text = '{"data":{"name":"c","extra":9007199254740993}}';
    expect(await readResult(exchange, raw(200, text))).toEqual({ name: 'c', extra: 9007199254740993n });
  });

  test('keeps a column named __proto__ in the rows of a query', async () => {
    const text = '{"results":[{"__proto__":"p","n":1}]}';
    const result = await readResult({ ...exchange, operation: 'runQuery', row: contract.runQuery }, raw(200, text));
    expect(JSON.stringify(result)).toBe(text);
  });

  test('refuses rows that are no objects', async () => {
    await expect(ok('runQuery', { results: [[1]] })).rejects.toThrow('expected a JSON object');
  });

  test('reads past a byte order mark', async () => {
    expect(await readResult(exchange, raw(200, '\uFEFF{"data":{}}'))).toEqual({});
  });

  test.each([
    ['a field of the wrong type', '{"data":{"name":1}}', /field "name".*expected string, received number/],
    ['a nested field of the wrong type', '{"data":{"stats":{"doc_count":"3"}}}', /field "stats\.doc_count"/],
    ['a list for an object', '{"data":[]}', /expected object, received array/],
    ['null for an object', '{"data":null}', /expected object/],
    ['text', '{"data":"c"}', /expected object, received string/],
    ['an empty body', '', /it is empty/],
    ['broken JSON', '{"data":', /it is not JSON/],
    ['a web page', '<!DOCTYPE html><html><title>Login</title></html>', /it is a web page/],
  ])('refuses %s as contract_mismatch', async (_, text, why) => {
    const read = readResult(exchange, raw(200, text));
    await expect(read).rejects.toThrow(ApiError);
    await expect(read).rejects.toThrow(why);
    await expect(read).rejects.toThrow(expect.objectContaining({ code: 'contract_mismatch', status: 200 }));
  });

  test('names the element of a list that is wrong', async () => {
    await expect(ok('listWorkspaces', { data: [{ name: 'a' }, { name: 2 }] })).rejects.toThrow(/field "\[1\]\.name"/);
  });

  test('says that a change was probably made when its answer cannot be read', async () => {
    await expect(ok('deleteCollection', 'x')).rejects.toThrow(/probably made/);
    await expect(ok('getCollection', 'x')).rejects.not.toThrow(/probably made/);
  });
});

describe('readFailure()', () => {
  test('takes over everything of the service’s own body', () => {
    const body = {
      message: 'column "x" not found',
      type: 'QUERY_ERROR',
      message_key: 'QUERY_NOT_FOUND',
      line: 2,
      column: 8,
      trace_id: 't',
      error_id: 'e',
      query_id: 'q',
      internal_errors: null,
    };
    expect(readFailure(exchange, raw(400, JSON.stringify(body)))).toMatchObject({
      code: 'query_error',
      message: 'column "x" not found',
      status: 400,
      details: { messageKey: 'QUERY_NOT_FOUND', line: 2, column: 8, traceId: 't', errorId: 'e', queryId: 'q' },
    });
  });

  test('has SQL that can be run whole, or not at all', () => {
    const said = (correctedSql: string) =>
      readFailure(exchange, raw(400, JSON.stringify({ message: 'why', corrected_sql: correctedSql }))).details
        .correctedSql;
    const sql = `SELECT 1 WHERE ${'true AND '.repeat(100)}false`;
    expect(said(sql)).toBe(sql);
    expect(said('x'.repeat(20_000))).toBeUndefined();
  });

  test.each([
    ['{message}', '{"message":"why"}', 'why'],
    ['{error}', '{"error":"why"}', 'why'],
    ['{error: {message}}', '{"error":{"code":3,"message":"why"}}', 'why'],
    ['{errors: []}', '{"errors":[{"detail":"why"},{"detail":"more"}]}', 'why'],
    ['an array', '[{"message":"why"}]', 'why'],
    ['a JSON string', '"why"', 'why'],
    ['plain text', 'upstream timed out', 'upstream timed out'],
    ['broken JSON', '{"message": "wh', '{"message": "wh'],
  ])('finds the message in %s', (_, text, message) => {
    expect(readFailure(exchange, raw(400, text))).toMatchObject({ code: 'invalid_input', message });
  });

  test.each([
    ['an empty body', ''],
    ['an empty object', '{}'],
    ['an empty array', '[]'],
    ['null', 'null'],
    ['a number', '7'],
    ['an empty message', '{"message":""}'],
    ['a message that is no text', '{"message":{"a":1}}'],
    ['a web page', '<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>'],
    ['a web page in capitals', '\n <!DOCTYPE HTML><BODY>x</BODY>'],
  ])('gives status and address for %s', (_, text) => {
    const error = readFailure(exchange, raw(502, text));
    expect(error.message).toMatch(/^getCollection failed: http:\/\/127\.0\.0\.1:1 answered 502 \(Bad Gateway\)/);
    expect(error.message).not.toMatch(/[<>]|nginx/);
    expect(error).toMatchObject({ code: 'internal', status: 502 });
  });

  test.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [405, 'method_not_allowed'],
    [408, 'query_timeout'],
    [409, 'already_exists'],
    [413, 'content_too_large'],
    [418, 'invalid_input'],
    [429, 'resource_exceeded'],
    [500, 'internal'],
    [503, 'not_ready'],
    [507, 'storage_full'],
    [599, 'internal'],
  ])('%s without a type is %s', (status, code) => {
    expect(readFailure(exchange, raw(status, '{}'))).toMatchObject({ code, status });
  });

  test('ignores details of the wrong type', () => {
    const text = JSON.stringify({
      message: 'm',
      type: 5,
      line: '2',
      column: -1,
      trace_id: {},
      query_id: 7,
      message_key: [],
    });
    expect(readFailure(exchange, raw(400, text)).details).toMatchObject({
      line: undefined,
      column: undefined,
      traceId: undefined,
      queryId: undefined,
      messageKey: undefined,
    });
  });

  test('takes the trace id, Retry-After and Allow from headers', () => {
    const headers = { 'x-trace-id': 'h', 'retry-after': '2', allow: 'GET, POST' };
    expect(readFailure(exchange, raw(405, '{}', headers)).details).toMatchObject({
      traceId: 'h',
      retryAfterMs: 2_000,
      allow: ['GET', 'POST'],
    });
  });

  test('takes out markup, control characters and the key, and bounds the length', () => {
    const message = `bad <b onclick="x">key</b> ${KEY}\u0000\u001b[31m ${'y'.repeat(5_000)}`;
    const error = readFailure(exchange, raw(400, JSON.stringify({ message })));
    expect(error.message).toMatch(/^bad {2}key {2}\[API key\]/);
    expect(error.message.length).toBeLessThanOrEqual(2_001);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is what is tested
    expect(error.message).not.toMatch(/[\u0000\u001b<]/);
    expect(inspect(error, { depth: 10 })).not.toContain(KEY);
  });

  test.each(['syntax error near "WHERE a < 3 AND b > 2"', 'near "a <b AND c> d"', 'line 1\n  ^'])(
    'leaves %j alone',
    (message) => {
      expect(readFailure(exchange, raw(400, JSON.stringify({ message }))).message).toBe(message);
    },
  );
});

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('%s is not followed, and the key stays here', async (status) => {
    const other = await serve([answer(200, { data: {} })]);
    const { url, seen } = await serve([answer(status, '', { location: `${other.url}/login?token=abc` })]);
    const error = await failure(client(url).api.getCollection({ workspace: 'w', collection: 'c' }));
    expect(error).toMatchObject({ code: 'contract_mismatch', status });
    expect(error.message).toContain(other.url);
    expect(error.message).not.toContain('token');
    expect([seen.length, other.seen.length]).toEqual([1, 0]);
  });

  test.each([{}, { location: '/elsewhere' }, { location: '::' }])(
    'with headers %j is an error as well',
    async (headers) => {
      const { url } = await serve([answer(302, '', headers as Record<string, string>)]);
      const error = await failure(client(url).api.getCollection({ workspace: 'w', collection: 'c' }));
      expect(error.message).toMatch(/redirects elsewhere \(302\)/);
    },
  );
});
