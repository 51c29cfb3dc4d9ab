import { afterAll, beforeAll, expect, test } from 'vitest';
import { isLong } from '../../long.ts';
import { type CallOptions, startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';

const QUERIES = '/v1/orgs/self/queries';
const DOCS = '/v1/orgs/self/ws/commons/collections/long/docs';
const LONG = { sql: { query: `SELECT 1 AS one WHERE 1 IN (${'1, '.repeat(isLong ? 10_000 : 5_600)}1)` } };
const SHORT = { sql: { query: 'SELECT 1 AS one' } };
/** More than one caller may have wait at once. */
const MANY = isLong ? 150 : 100;
const ROUNDS = isLong ? 5 : 1;

let at: TestService;
let reader: string;
beforeAll(async () => {
  at = await startTestService();
  reader = await addUser(at, 'reader@example.com', 'read-only');
  await at.call('POST', '/v1/orgs/self/ws/commons/collections', { name: 'long' });
});
afterAll(() => at.remove());

const ask = (body: unknown, how: CallOptions = {}) => at.call('POST', QUERIES, body, { key: reader, ...how });

test('many long requests of one key are answered or told when to come again; those of another key are answered', async () => {
  const many = Promise.all(Array.from({ length: MANY }, () => ask(LONG)));
  const others = await Promise.all([SHORT, LONG, SHORT, LONG].map((body) => at.call('POST', QUERIES, body)));
  expect(others.map(({ status, body }) => [status, body.results])).toEqual(others.map(() => [200, [{ one: 1 }]]));
  const answers = await many;
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { body, headers } of refused) {
    expect(body.message).toMatch(
      /^Too many (?:long requests|queries) at once: \d+ run and \d+ wait, \d+ of them yours\. /,
    );
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  }
  const answered = answers.filter(({ status }) => status !== 429);
  expect(answered.length).toBeGreaterThan(0);
  for (const { status, body } of answered) expect([status, body.results]).toEqual([200, [{ one: 1 }]]);
});

test('no long request keeps its place, however it ends', async () => {
  const text = JSON.stringify(LONG);
  const data = Array.from({ length: 2_000 }, (_, id) => ({ _id: `${id}`, text: 'some text' }));
  for (let round = 0; round < ROUNDS; round++) {
    expect((await ask(undefined, { rawBody: text.slice(0, -1) })).status).toBe(400);
    expect((await ask({ sql: { query: `${LONG.sql.query} x y` } })).status).toBe(400);
    expect((await ask({ sql: LONG.sql.query })).status).toBe(400);
    expect((await at.call('POST', '/v1/orgs/self/ws/commons/lambdas', { name: `l${round}`, ...LONG })).status).toBe(
      200,
    );
    expect((await at.call('POST', DOCS, { data })).status).toBe(200);
    expect((await at.call('POST', DOCS, { data: [...data, { _id: 1 }] })).status).toBe(200);
    expect((await at.call('POST', DOCS.replace('long', 'none'), { data })).status).toBe(404);
    const gone = Array.from({ length: 8 }, () => ask(LONG, { signal: AbortSignal.timeout(round) }));
    await Promise.allSettled(gone);
  }
  expect((await ask(LONG)).status).toBe(200);
});
