import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract, OPERATIONS, type Operation } from '../../src/contract/contract.ts';
import { ApiError, errorCodeOf } from '../../src/contract/errors.ts';
import { parseJson } from '../../src/contract/json/json.ts';
import type { Row } from '../../src/contract/row.ts';
import { type CallOptions, type Client, createClient } from '../../src/http/client.ts';
import { startTestService, type TestService } from '../service/harness.ts';
import { addUser } from '../service/people.ts';
import { ERROR_KEYS, keysOf } from '../service/shapes.ts';
import { type Caller, EXAMPLES, type Example } from './examples.ts';
import { checkRequest, checkResult } from './raw.ts';
import { type Exchange, type Recorder, startRecorder } from './recorder.ts';
import { WIRE } from './wire.ts';

type AnyCall = (input: unknown, options?: CallOptions) => Promise<unknown>;

let service: TestService;
let recorder: Recorder;
/** Creates what the calls need, without being recorded. */
let admin: Client;
const clients = {} as Record<Caller, Client>;
const keys = {} as Record<Caller, string>;

beforeAll(async () => {
  service = await startTestService();
  recorder = await startRecorder(service.folder, service.socket);
  admin = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  keys.admin = service.key;
  keys['read-only'] = await addUser(service, 'reader@example.com', 'read-only');
  keys.nobody = 'A'.repeat(64);
  for (const [caller, apiKey] of Object.entries(keys) as [Caller, string][]) {
    clients[caller] = createClient({ target: { socketPath: recorder.socket }, apiKey });
  }
  // What a new user's first request changes must be over before anything is recorded.
  await clients['read-only'].getCurrentUser({});
  recorder.take();
});
afterAll(async () => {
  await Promise.all([admin, ...Object.values(clients)].map((client) => client.close()));
  await recorder.close();
  await service.remove();
});

/** The single exchange that a call made. */
function exchanged(): Exchange {
  const [exchange, ...more] = recorder.take();
  if (exchange === undefined || more.length > 0) throw new Error(`the call made ${more.length + 1} requests, or none`);
  return exchange;
}

function checkHeaders(exchange: Exchange): void {
  expect(exchange.answerHeaders['content-type']).toBe('application/json');
  expect(exchange.answerHeaders['x-trace-id']).toMatch(/^[0-9a-f-]{36}$/);
}

async function succeed(operation: Operation): Promise<void> {
  const row: Row = contract[operation];
  const { success } = EXAMPLES[operation] as Example<Operation>;
  const input = await success.input(admin, `ok-${row.number}`);
  const result = await (clients.admin[operation] as AnyCall)(input);
  const exchange = exchanged();
  checkRequest(row, input, exchange, keys.admin);
  expect(exchange.status).toBe(200);
  checkHeaders(exchange);
  const raw = checkResult(row, parseJson(exchange.answer));
  // The client removes nothing and adds nothing.
  expect(result).toEqual(raw);
  if (success.result !== undefined) expect(raw).toMatchObject(success.result);
}

async function fail(operation: Operation): Promise<void> {
  const row: Row = contract[operation];
  const { failure } = EXAMPLES[operation] as Example<Operation>;
  const caller = failure.as ?? 'admin';
  const input = await failure.input(admin, `no-${row.number}`);
  const error: unknown = await (clients[caller][operation] as AnyCall)(input).catch((thrown: unknown) => thrown);
  const exchange = exchanged();
  checkRequest(row, input, exchange, keys[caller]);
  checkHeaders(exchange);
  const body = parseJson(exchange.answer) as Record<string, unknown>;
  expect(keysOf(body)).toEqual(ERROR_KEYS);
  const { message_key: key, message, trace_id: traceId, line, column, ...rest } = body;
  expect([exchange.status, rest['type'], key]).toEqual([failure.status, failure.type, failure.key ?? null]);
  expect(message).toEqual(expect.stringMatching(failure.message ?? /./));
  expect(traceId).toBe(exchange.answerHeaders['x-trace-id']);
  for (const position of [line, column]) expect(position === null || Number(position) >= 1).toBe(true);
  expect([rest['error_id'], rest['internal_errors']]).toEqual([null, null]);
  expect(rest['query_id'] === null || typeof rest['query_id'] === 'string').toBe(true);
  // The error that the client makes of it.
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: errorCodeOf(failure.status, failure.type), status: failure.status, message });
}

describe('the contract suite', () => {
  it('has an example and a line in wire.ts for each of the 62 rows', () => {
    expect(OPERATIONS).toHaveLength(62);
    expect(Object.keys(EXAMPLES).sort()).toEqual([...OPERATIONS].sort());
    const numbers = OPERATIONS.map((operation) => contract[operation].number).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 62 }, (_, index) => index + 1));
    expect([...WIRE.keys()].sort((a, b) => a - b)).toEqual(numbers);
  });

  const rows = OPERATIONS.map((operation) => [contract[operation].number, operation] as const);
  describe.each(rows.sort(([a], [b]) => a - b))('#%i %s', (_, operation) => {
    it('succeeds', () => succeed(operation));
    it('fails', () => fail(operation));
  });
});
