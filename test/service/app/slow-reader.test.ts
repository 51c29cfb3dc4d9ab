import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';

const QUERIES = '/v1/orgs/self/queries';
const MIB = 1024 * 1024;
const ROWS = 50_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ limits: { queriesMax: 1 } });
});
afterAll(() => service.remove());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of buffers still in use; unused ones are collected first. */
function heldBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/** An answer of which only the headers were read. */
async function unread(query: string): Promise<IncomingMessage> {
  const asked = request({
    socketPath: service.socket,
    path: QUERIES,
    method: 'POST',
    headers: { authorization: `ApiKey ${service.key}`, 'content-type': 'application/json' },
  });
  asked.end(JSON.stringify({ sql: { query } }));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer.pause();
}

test('an answer of many megabytes that nobody reads holds no place, takes no more memory, and comes whole at last', async () => {
  const answer = await unread(`SELECT i, repeat('x', 800) AS text FROM range(${ROWS}) t(i)`);
  const before = heldBytes();
  for (let round = 0; round < 20; round++) {
    // There is only one place for queries, and it is free.
    const { body } = await service.call('POST', QUERIES, { sql: { query: 'SELECT 42 AS x' } });
    expect(body.results).toEqual([{ x: 42 }]);
  }
  expect(heldBytes() - before).toBeLessThan(8 * MIB);
  const whole = JSON.parse(await text(answer));
  expect(whole.results).toHaveLength(ROWS);
  expect(whole.results.at(-1)).toEqual({ i: ROWS - 1, text: 'x'.repeat(800) });
});

test('an answer that is given up half read leaves nothing behind', async () => {
  const answer = await unread(`SELECT i, repeat('y', 800) AS text FROM range(${ROWS}) t(i)`);
  answer.destroy();
  const { body } = await service.call('POST', QUERIES, { sql: { query: 'SELECT 1 AS x' } });
  expect(body.results).toEqual([{ x: 1 }]);
  await vi.waitFor(() => expect(service.lines.map(({ msg }) => msg)).toContain('request given up by its caller'));
});
