import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';
import { hashIn, lambdaCalls, outcome, VERSION_KEYS } from './lambda-calls.ts';

let service: TestService;
let api: ReturnType<typeof lambdaCalls>;
let a: string;
let b: string;
beforeAll(async () => {
  service = await startTestService();
  api = lambdaCalls(service);
  a = hashIn(await api.create('report', 'SELECT 1 AS x'));
  b = hashIn(await api.post('report', { sql: { query: 'SELECT 2 AS x' } }));
});
afterAll(() => service.remove());

const TAGS = '/v1/orgs/self/lambdas/tags';
const tagNames = (data: { tag_name: string }[]) => data.map((tag) => tag.tag_name);

describe('tagLambdaVersion', () => {
  it('sets a tag, and moves one that exists', async () => {
    const set = await api.tag('report', 'prod', a);
    expect(set.status).toBe(200);
    expect(keysOf(set.body)).toEqual(['data']);
    expect(keysOf(set.body.data)).toEqual(['tag_name', 'version']);
    expect(keysOf(set.body.data.version)).toEqual(VERSION_KEYS);
    expect(set.body.data).toMatchObject({ tag_name: 'prod', version: { version: a } });
    expect((await api.run('report', undefined, 'prod')).body.results).toEqual([{ x: 1 }]);
    expect((await api.tag('report', 'prod', b)).body.data.version.version).toBe(b);
    expect((await api.run('report', undefined, 'prod')).body.results).toEqual([{ x: 2 }]);
    expect((await api.call('GET', `${api.path('report')}/tags/prod`)).body.data.version.version).toBe(b);
  });

  it('stays where it is when a version is posted', async () => {
    const first = hashIn(await api.create('moving', 'SELECT 1'));
    await api.tag('moving', 'pinned', first);
    await api.post('moving', { sql: { query: 'SELECT 2' } });
    expect((await api.call('GET', `${api.path('moving')}/tags/pinned`)).body.data.version.version).toBe(first);
  });

  it.each(['latest', 'Latest', 'LATEST'])('%s cannot be set', async (name) => {
    const answer = await api.tag('report', name, a);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('"latest" is kept by the service');
    expect((await api.latest('report')).body.data.version.version).toBe(b);
  });

  it.each([
    [{}, '"tag_name" is missing'],
    [{ tag_name: 'x' }, '"version" is missing'],
    [{ tag_name: '', version: 'x' }, '"tag_name"'],
    [{ tag_name: 'a b', version: 'x' }, '"tag_name"'],
    [{ tag_name: '__proto__', version: 'x' }, '"tag_name"'],
    [{ tag_name: 'x', version: 5 }, '"version": expected a string'],
  ])('%j is 400', async (body, why) => {
    const answer = await api.call('POST', `${api.path('report')}/tags`, body);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });

  it('an unknown version or lambda is 404', async () => {
    const version = await api.tag('report', 'x', '0123456789abcdef');
    expect(keysOf(version.body)).toEqual(ERROR_KEYS);
    expect(version.body.message).toBe(
      'Query Lambda "report" (version "0123456789abcdef") not found in workspace "commons".',
    );
    expect((await api.tag('qqqqqqqq', 'x', a)).body.message_key).toBe('QUERY_NOT_FOUND');
    // A version of another lambda is not a version of this one.
    const other = hashIn(await api.create('other', 'SELECT 9'));
    expect((await api.tag('report', 'x', other)).status).toBe(404);
  });

  it('latest stands for its version, and another tag is named with its own', async () => {
    const latest = (await api.latest('report')).body.data.version.version;
    expect((await api.tag('report', 'newest', 'latest')).body.data.version.version).toBe(latest);
    expect((await api.tag('report', 'x', 'newest')).body.message).toContain(
      `"newest" is a tag: its version is "${latest}".`,
    );
  });

  it('twenty at once are all kept', async () => {
    await api.create('many', 'SELECT 1');
    const version = (await api.latest('many')).body.data.version.version;
    await Promise.all(Array.from({ length: 20 }, (_, n) => api.tag('many', `t${n}`, version)));
    expect((await api.call('GET', `${api.path('many')}/tags`)).body.data).toHaveLength(21);
  });
});

describe('listLambdaTags and getLambdaTag', () => {
  it('list latest first, and the others by name', async () => {
    await api.create('listed', 'SELECT 1');
    const version = (await api.latest('listed')).body.data.version.version;
    for (const name of ['zeta', 'alpha', 'constructor']) await api.tag('listed', name, version);
    const answer = await api.call('GET', `${api.path('listed')}/tags`);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(tagNames(answer.body.data)).toEqual(['latest', 'alpha', 'constructor', 'zeta']);
    expect(keysOf(answer.body.data[0])).toEqual(['tag_name', 'version']);
  });

  it('an unknown tag is 404 that offers the nearest', async () => {
    await api.tag('report', 'staging', a);
    const answer = await api.call('GET', `${api.path('report')}/tags/stagging`);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body).toMatchObject({
      type: 'NOTFOUND',
      message_key: 'TAG_NOT_FOUND',
      message: 'Tag "stagging" of Query Lambda "report" not found in workspace "commons". Did you mean "staging"?',
    });
    expect((await api.call('GET', `${api.path('qqqqqqqq')}/tags`)).body.message_key).toBe('QUERY_NOT_FOUND');
    expect((await api.call('GET', `${api.path('qqqqqqqq')}/tags/latest`)).body.message_key).toBe('QUERY_NOT_FOUND');
  });
});

describe('deleteLambdaTag', () => {
  it('answers with what it was; the version stays', async () => {
    await api.tag('report', 'brief', a);
    const answer = await api.call('DELETE', `${api.path('report')}/tags/brief`);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(answer.body.data).toMatchObject({ tag_name: 'brief', version: { version: a } });
    expect((await api.call('DELETE', `${api.path('report')}/tags/brief`)).body.message_key).toBe('TAG_NOT_FOUND');
    expect((await api.get('report', a)).status).toBe(200);
  });

  it('latest stays', async () => {
    const answer = await api.call('DELETE', `${api.path('report')}/tags/latest`);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('Cannot delete the tag "latest"');
    expect((await api.call('DELETE', `${api.path('report')}/tags/LATEST`)).status).toBe(404);
  });
});

describe('listTags and listTagVersions', () => {
  it('go over all workspaces', async () => {
    const empty = await startTestService();
    try {
      const [here, there] = [lambdaCalls(empty), lambdaCalls(empty, 'prod')];
      expect((await here.call('GET', TAGS)).body).toEqual({ data: [] });
      expect((await here.call('GET', `${TAGS}/latest`)).body).toEqual({ data: [] });
      await empty.call('POST', '/v1/orgs/self/ws', { name: 'prod' });
      const one = hashIn(await here.create('one', 'SELECT 1'));
      const two = hashIn(await there.create('two', 'SELECT 1'));
      await here.tag('one', 'zz', one);
      await here.tag('one', 'aa', one);
      await there.tag('two', 'zz', two);
      expect((await here.call('GET', TAGS)).body).toEqual({
        data: [{ tag_name: 'latest' }, { tag_name: 'aa' }, { tag_name: 'zz' }],
      });
      const tagged = await here.call('GET', `${TAGS}/zz`);
      expect(keysOf(tagged.body.data[0])).toEqual(VERSION_KEYS);
      expect(tagged.body.data.map((version: { version: string }) => version.version)).toEqual([one, two]);
      expect((await here.call('GET', `${TAGS}/latest`)).body.data).toHaveLength(2);
    } finally {
      await empty.remove();
    }
  });

  it('a tag that nothing has is 404', async () => {
    const answer = await api.call('GET', `${TAGS}/qqqqqqqq`);
    expect([answer.status, answer.body.message_key]).toEqual([404, 'TAG_NOT_FOUND']);
    expect(answer.body.message).toBe('Tag "qqqqqqqq" not found on any Query Lambda.');
  });
});
