import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const FILE = { file_upload: { file_name: 'f.json', file_size: 1 } };
const VERBS = ['pause', 'resume', 'restart'] as const;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.call('POST', '/v1/orgs/self/integrations', { name: 'site', segment: {} });
  const sources = [FILE, { integration_name: 'site', segment: {} }];
  expect((await service.call('POST', COLLECTIONS, { name: 'fed', sources })).status).toBe(200);
  await service.call('POST', COLLECTIONS, { name: 'plain', sources: [FILE] });
});
afterAll(() => service.remove());

const pathOf = (collection: string, source: number | string, verb = '') =>
  `/v1/colloquy/ws/commons/collections/${collection}/sources/${source}${verb === '' ? '' : `/${verb}`}`;
const get = (collection: string, source: number | string) => service.call('GET', pathOf(collection, source));
const control = (verb: string) => service.call('POST', pathOf('fed', 1, verb), {});

describe('the sources of a collection', () => {
  it('are told by their place, as the collection shows them', async () => {
    const { data } = (await get('fed', 1)).body;
    expect(data.refused).toEqual([]);
    expect(data.source).toMatchObject({ integration_name: 'site', on_error: 'skip', segment: {}, s3: null });
    expect(data.source.status).toEqual({
      state: 'ACTIVE',
      since: expect.stringMatching(/^20.*Z$/),
      message: 'Takes what is sent with the write key of its integration.',
      last_processed_at: null,
      last_processed_item: null,
      total_processed_items: 0,
      last_error_at: null,
      last_error_item: null,
      last_error_reason: null,
      total_error_items: 0,
      behind_items: null,
      behind_ms: null,
    });
    const { sources } = (await service.call('GET', `${COLLECTIONS}/fed`)).body.data;
    expect(sources[1]).toEqual(data.source);
    expect(sources[0].file_upload).toMatchObject(FILE.file_upload);
    const { collections } = (await service.call('GET', '/v1/orgs/self/integrations/site')).body.data;
    expect(collections).toMatchObject([{ name: 'fed', workspace: 'commons' }]);
  });

  it('are paused, resumed and read anew, also twice, and stay paused after a restart of the service', async () => {
    const state = async (verb: string) => (await control(verb)).body.data.source.status.state;
    expect(await state('pause')).toBe('PAUSED');
    expect(await state('pause')).toBe('PAUSED');
    await service.stop();
    service = await startTestService({}, service.folder);
    expect((await get('fed', 1)).body.data.source.status).toMatchObject({
      state: 'PAUSED',
      message: 'Paused; resume it to go on.',
    });
    expect(await state('resume')).toBe('ACTIVE');
    expect(await state('resume')).toBe('ACTIVE');
    expect(await state('pause')).toBe('PAUSED');
    expect(await state('restart')).toBe('ACTIVE');
  });

  it.each([
    ['fed', 0, 404, 'Collection "fed" in workspace "commons" has no source 0: it has 1 (segment).'],
    ['fed', 2, 404, 'has no source 2: it has 1 (segment).'],
    ['plain', 0, 404, 'has no source 0: it has none that this service reads.'],
    ['none-such', 0, 404, 'Collection "none-such" does not exist'],
    ['fed', 'x', 400, 'a source is its place in "sources", from 0'],
    ['fed', '-1', 400, 'a source is its place'],
  ] as const)('%s/%s is %i for all that can be asked', async (collection, source, status, why) => {
    const asked = VERBS.map((verb) => service.call('POST', pathOf(collection, source, verb), {}));
    for (const answer of await Promise.all([get(collection, source), ...asked])) {
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.body.message).toContain(why);
      expect(answer.status).toBe(status);
    }
  });

  it('are read by all, and changed by admins only', async () => {
    await service.call('POST', '/v1/orgs/self/users', { email: 'member@example.com', roles: ['member'] });
    const made = await service.call('POST', '/v1/orgs/self/users/member@example.com/apikeys', { name: 'k' });
    const { key } = made.body.data;
    expect((await service.call('GET', pathOf('fed', 1), undefined, { key })).status).toBe(200);
    for (const verb of VERBS) {
      expect((await service.call('POST', pathOf('fed', 1, verb), {}, { key })).status).toBe(403);
    }
  });

  it('keep their integration from being deleted, and go with the collection', async () => {
    const refused = await service.call('DELETE', '/v1/orgs/self/integrations/site');
    expect([refused.status, refused.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    await service.call('DELETE', `${COLLECTIONS}/fed`);
    expect((await get('fed', 1)).status).toBe(404);
    expect((await service.call('DELETE', '/v1/orgs/self/integrations/site')).status).toBe(200);
  });
});
