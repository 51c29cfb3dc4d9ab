import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const HOUR_MICROS = 3_600_000_000;

let service: TestService;
beforeAll(async () => {
  // There is no second purge during the test: what is not purged at the start stays, but must not be seen.
  service = await startTestService({ purgeEveryMs: 3_600_000 });
});
afterAll(() => service.remove());

let count = 0;

async function create(on = service, retention_secs: number | null = 3_600): Promise<string> {
  const name = `r${++count}`;
  const answer = await on.call('POST', COLLECTIONS, { name, retention_secs });
  expect(answer.body.data.retention_secs).toBe(retention_secs);
  return name;
}

async function add(name: string, documents: object[], on = service): Promise<string[]> {
  const answer = await on.call('POST', `${COLLECTIONS}/${name}/docs`, { data: documents });
  return answer.body.data.map((row: { status: string }) => row.status);
}

async function ids(from: string, on = service): Promise<string[]> {
  const answer = await on.call('POST', '/v1/orgs/self/queries', {
    sql: { query: `SELECT _id FROM ${from} ORDER BY 1` },
  });
  return answer.body.results.map((row: { _id: string }) => row._id);
}

async function statsOf(name: string, on = service) {
  return (await on.call('GET', `${COLLECTIONS}/${name}`)).body.data.stats;
}

const ago = (micros: number) => Date.now() * 1_000 - micros;
const OLD = () => ({ _id: 'old', _event_time: ago(HOUR_MICROS + 60_000_000), n: 1 });
const NEW = () => ({ _id: 'new', _event_time: ago(HOUR_MICROS - 60_000_000), n: 1 });

async function until(check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await check())) {
    if (Date.now() > end) throw new Error('it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('retention_secs', () => {
  it('hides older documents at once: from queries, aliases and counts', async () => {
    const name = await create();
    expect(await add(name, [OLD(), NEW(), { _id: 'now' }])).toEqual(['ADDED', 'ADDED', 'ADDED']);
    expect(await ids(name)).toEqual(['new', 'now']);
    await service.call('POST', '/v1/orgs/self/ws/commons/aliases', {
      name: 'behind',
      collections: [`commons.${name}`],
    });
    expect(await ids('behind')).toEqual(['new', 'now']);
    expect((await statsOf(name)).doc_count).toBe(2);
    expect((await statsOf(name)).purged_doc_count).toBe(0);
  });

  it('hides a document when its time comes', async () => {
    const name = await create();
    await add(name, [{ _id: 'soon', _event_time: ago(HOUR_MICROS - 1_500_000) }]);
    expect(await ids(name)).toEqual(['soon']);
    await until(async () => (await ids(name)).length === 0);
    expect((await statsOf(name)).doc_count).toBe(0);
  });

  it('makes a hidden document like one that is not there, for writes', async () => {
    const name = await create();
    await add(name, [OLD()]);
    const patch = [{ op: 'add', path: '/m', value: 1 }];
    const patched = await service.call('PATCH', `${COLLECTIONS}/${name}/docs`, { data: [{ _id: 'old', patch }] });
    expect(patched.body.data[0]).toMatchObject({
      status: 'ERROR',
      error: { type: 'INVALIDINPUT', message: expect.stringContaining('does not exist') },
    });
    // Its event time is not kept either; otherwise the new document would be hidden.
    expect(await add(name, [{ _id: 'old', n: 2 }])).toEqual(['ADDED']);
    expect(await ids(name)).toEqual(['old']);
    expect(await add(name, [{ _id: 'old', n: 3 }])).toEqual(['REPLACED']);
  });

  it('holds when new fields widen the collection', async () => {
    const name = await create();
    await add(name, [OLD(), { _id: 'a', n: 'text' }]);
    await add(name, [{ _id: 'b', n: { deep: 1 }, more: 2 }]);
    expect(await ids(name)).toEqual(['a', 'b']);
  });

  it('purges in the background, in steps, and counts what it purged across a restart', async () => {
    const own = await startTestService({ purgeEveryMs: 50 });
    const name = await create(own);
    const old = Array.from({ length: 12_000 }, (_, index) => ({ ...OLD(), _id: `old${index}` }));
    await add(name, [...old, NEW()], own);
    await until(async () => (await statsOf(name, own)).purged_doc_count === 12_000);
    const { doc_count, purged_doc_size } = await statsOf(name, own);
    expect(doc_count).toBe(1);
    expect(purged_doc_size).toBeGreaterThan(12_000 * 10);
    await own.stop();
    const again = await startTestService({}, own.folder);
    expect(await statsOf(name, again)).toMatchObject({ doc_count: 1, purged_doc_count: 12_000, purged_doc_size });
    expect(await ids(name, again)).toEqual(['new']);
    await again.remove();
  });

  it('purges at the start', async () => {
    const own = await startTestService({ purgeEveryMs: 3_600_000 });
    const name = await create(own);
    await add(name, [OLD(), NEW()], own);
    await own.stop();
    const again = await startTestService({ purgeEveryMs: 3_600_000 }, own.folder);
    await until(async () => (await statsOf(name, again)).purged_doc_count === 1);
    expect((await again.call('GET', `${COLLECTIONS}/${name}`)).body.data.retention_secs).toBe(3_600);
    await again.remove();
  });

  it('is null without, and then nothing is too old', async () => {
    const name = await create(service, null);
    await add(name, [{ _id: 'ancient', _event_time: '0001-01-01T00:00:00Z' }]);
    expect(await ids(name)).toEqual(['ancient']);
  });

  it.each([
    [3_600, 200],
    [315_359_999, 200],
    [3_599, 400],
    [315_360_000, 400],
    [0, 400],
    [-1, 400],
    [4_000.5, 400],
    ['4000', 400],
  ])('%j is answered with %i', async (retention_secs, status) => {
    const answer = await service.call('POST', COLLECTIONS, { name: `limit${++count}`, retention_secs });
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.body.message).toContain('"retention_secs"');
  });
});
