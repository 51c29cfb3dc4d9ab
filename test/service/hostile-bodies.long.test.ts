import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOSTILE_BODIES, HOSTILE_SETUP } from '../hostile-bodies.ts';
import { startTestService, type TestService } from './harness.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const { path, body } of HOSTILE_SETUP) {
    expect((await service.call('POST', path, body)).status).toBe(200);
  }
});
afterAll(() => service.remove());

const SELECT = { sql: { query: 'SELECT 1 AS n' } };
/** Others wait far less, even on a machine that is busy with other tests; some waited longer before on an idle one. */
const OTHERS_WAIT_MS = 5_000;

/** Runs short queries, one after the other, until `work` is done; returns the longest time that one took. */
async function besideOthers(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  let longestMs = 0;
  do {
    const startedAt = performance.now();
    const answer = await service.call('POST', '/v1/orgs/self/queries', SELECT);
    expect(answer.body.results).toEqual([{ n: 1 }]);
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  } while (!isDone);
  await done;
  return longestMs;
}

/** What takes long by itself, or as much time here, where its answer is parsed, as in the service: for the benchmark. */
const FOR_BENCH = /text|texts of|deep list$|key of their own|12 types|a map|columns in|300,000 integers/;

describe('a hostile body', () => {
  it.each(HOSTILE_BODIES.filter(([name]) => !FOR_BENCH.test(name)))(
    '%s is answered or refused by name, beside others',
    async (_, { method, path, body }) => {
      const attack = service.call(method, path, undefined, { rawBody: body() });
      const longestMs = await besideOthers(attack);
      const { status, body: answer } = await attack;
      expect([200, 400, 408, 413]).toContain(status);
      if (status !== 200) expect(answer.message).toMatch(/\w/);
      expect(longestMs).toBeLessThan(OTHERS_WAIT_MS);
    },
    120_000,
  );
});

describe('what is over a limit', () => {
  const named = (name: string) => {
    const found = HOSTILE_BODIES.find(([one]) => one === name);
    if (found === undefined) throw new Error(`there is no hostile body "${name}"`);
    return found[1];
  };

  it.each([
    ['one integer of 3 MB in a query', 400, 'a number of more than 1,000 characters'],
    ['4M open lists', 400, 'nested more than 2,000 levels deep'],
    ['deep lists in a parameter as text', 400, '"sql.parameters[0].value" is nested more than 2,000 levels deep'],
    ['500,000 keys', 413, '4194304 bytes (4 MiB)'],
    ['3 MiB of empty objects in a parameter', 413, 'more than 200,000 values'],
    ['10 MiB of empty lists as one document', 413, '"data[0]" holds more than 100,000 values'],
    ['10 MiB of empty lists as documents', 413, 'one request may have 20000'],
    ['500,000 keys in a document', 413, '"data[0]" holds'],
    ['an integer of 3 MB in a document', 400, '"data[0]" holds a number of more than 1,000 characters'],
    ['9 MiB of CSV', 413, 'one request may have 20000'],
    ['10 MiB of text that is no JSON at its end', 400, 'is not valid JSON at line 1, column 9'],
    ['data twice, the second one escaped', 413, 'one request may have 20000'],
  ] as const)('%s is %d', async (name, status, why) => {
    const { method, path, body } = named(name);
    const answer = await service.call(method, path, undefined, { rawBody: body() });
    expect(answer.body.message).toContain(why);
    expect(answer.status).toBe(status);
  });
});

describe('the list of documents', () => {
  const docs = '/v1/orgs/self/ws/commons/collections/hostile/docs';
  const add = async (rawBody: string) => (await service.call('POST', docs, undefined, { rawBody })).body;

  it.each([
    ['with other members around it', '{"x":[1],"data":[{"_id":"a"}],"y":{"data":[{"_id":"no"}]}}', ['a']],
    ['given twice: the last counts', '{"data":[{"_id":"a"}],"data":[{"_id":"b"},{"_id":"c"}]}', ['b', 'c']],
    ['whose key has an escape', '{"d\\u0061ta":[{"_id":"a"}]}', ['a']],
    ['before one whose key has an escape', '{"data":[{"_id":"a"}],"d\\u0061ta":[{"_id":"b"}]}', ['b']],
    ['after one whose key has an escape', '{"d\\u0061ta":[{"_id":"b"}],"data":[{"_id":"a"}]}', ['a']],
    ['after a byte order mark', '\ufeff{"data":[{"_id":"a"}]}', ['a']],
    ['with white space everywhere', ' { "data" : [ { "_id" : "a" } , { "_id" : "b" } ] } ', ['a', 'b']],
  ])('%s', async (_, rawBody, ids) => {
    expect((await add(rawBody)).data.map((row: { _id: string }) => row._id)).toEqual(ids);
  });

  it.each([
    ['{"data":[{"_id":"a"} {"_id":"b"}]}', 'position 21'],
    ['{"data":[{"_id":"a"},]}', 'position 21'],
    ['{"data":[,{"_id":"a"}]}', 'position 9'],
    ['{"data":[{"_id":"a"}]', 'position 21'],
    ['{"data":[{"_id":"a"}]}}', 'position 22'],
    ['{"data":[{"_id":"a"}},{"_id":"b"}]}', 'position 20'],
    ['{"x":01,"data":[]}', 'position 6'],
  ])('%s is refused with the place of the fault', async (rawBody, position) => {
    expect((await add(rawBody)).message).toContain(position);
  });
});
