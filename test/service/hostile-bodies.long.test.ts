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
