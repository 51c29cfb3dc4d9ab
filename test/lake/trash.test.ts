import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../service/harness.ts';
import { lakeFor } from './lake-for.ts';

/*
 * An entry of the trash has one hand on it at a time, over all nodes.
 */

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const DOCUMENTS = 60_000;
const BATCH = 20_000;

let a: TestService;
let b: TestService;

beforeAll(async () => {
  const { lake } = await lakeFor(`/tmp/trash-${process.pid}`);
  const limits = { threads: 2, memoryBytes: 512 * 1024 * 1024 };
  a = await startTestService({ lake, limits });
  b = await startTestService({ lake, limits });
});

afterAll(async () => {
  await b.remove();
  await a.remove();
});

async function rowsOf(query: string) {
  const { body } = await a.call('POST', '/v1/orgs/self/queries', { sql: { query } });
  return body.results;
}

test('what one node restores in steps another neither removes nor empties meanwhile', async () => {
  await a.call('POST', COLLECTIONS, { name: 'docs' });
  for (let from = 0; from < DOCUMENTS; from += BATCH) {
    const data = Array.from({ length: BATCH }, (_, n) => ({ _id: `${from + n}` }));
    expect((await a.call('POST', `${COLLECTIONS}/docs/docs`, { data })).status).toBe(200);
  }
  const selections = '/v1/colloquy/ws/commons/collections/docs/selections';
  const selected = await a.call('POST', selections, { where: 'true' });
  const deleted = await a.call('DELETE', `${selections}/${selected.body.data.selection}`);
  expect(deleted.body.data.deleted).toBe(DOCUMENTS);
  const [entry] = (await a.call('GET', '/v1/colloquy/trash')).body.data;
  expect(entry.documents).toBe(DOCUMENTS);

  let isRestored = false;
  const restored = a.call('POST', `/v1/colloquy/trash/${entry.id}/restore`).finally(() => {
    isRestored = true;
  });
  const refusals: number[] = [];
  await delay(100);
  while (!isRestored) {
    refusals.push((await b.call('DELETE', `/v1/colloquy/trash/${entry.id}`)).status);
    expect((await b.call('DELETE', '/v1/colloquy/trash')).body.data).toEqual({ entries: 0, bytes: 0 });
  }
  expect((await restored).body.data).toMatchObject({ documents: DOCUMENTS, skipped: 0 });
  expect(refusals).toContain(409);
  expect(refusals.filter((status) => status !== 404 && status !== 409)).toEqual([]);
  expect(await rowsOf('SELECT count(*) AS n FROM commons.docs')).toEqual([{ n: DOCUMENTS }]);
  expect((await b.call('GET', '/v1/colloquy/trash')).body.data).toEqual([]);
});
