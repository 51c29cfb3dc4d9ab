import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const WS = '/v1/orgs/self/ws';
const KEYS = ['collection_count', 'created_at', 'created_by', 'description', 'name'];

async function create(name: string, description?: string) {
  return service.call('POST', WS, { name, ...(description === undefined ? {} : { description }) });
}

describe('workspaces', () => {
  it('there is always commons', async () => {
    const answer = await service.call('GET', `${WS}/commons`);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data)).toEqual(KEYS);
    expect(answer.body.data).toMatchObject({ name: 'commons', description: 'default workspace', collection_count: 0 });
  });

  it('refuse a description that is no text', async () => {
    const answer = await create('half', 'half of a character: \ud83d');
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('half of a surrogate pair');
  });

  it('commons cannot be deleted', async () => {
    const answer = await service.call('DELETE', `${WS}/commons`);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('always exists');
  });

  it('are created, read, listed and deleted in the data envelope', async () => {
    const created = await create('prod', 'live data');
    expect(created.status).toBe(200);
    expect(keysOf(created.body)).toEqual(['data']);
    expect(created.body.data).toEqual({
      name: 'prod',
      description: 'live data',
      created_by: 'admin@localhost',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      collection_count: 0,
    });
    expect((await service.call('GET', `${WS}/prod`)).body).toEqual(created.body);
    const list = await service.call('GET', WS);
    expect(list.body.data.map((one: { name: string }) => one.name)).toEqual(['commons', 'prod']);
    const deleted = await service.call('DELETE', `${WS}/prod`);
    expect(deleted.body.data).toEqual(created.body.data);
    expect((await service.call('GET', `${WS}/prod`)).status).toBe(404);
    expect((await create('prod')).body.data.description).toBeNull();
  });

  it('a child needs its parent, and is listed under it', async () => {
    const orphan = await create('no.child');
    expect([orphan.status, orphan.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    expect(orphan.body.message).toContain('Workspace with name "no" does not exist');
    for (const name of ['top', 'top.b', 'top.a', 'top.a.deep', 'topper']) expect((await create(name)).status).toBe(200);
    const children = await service.call('GET', `${WS}/top/ws`);
    expect(children.body.data.map((one: { name: string }) => one.name)).toEqual(['top.a', 'top.b']);
    expect((await service.call('GET', `${WS}/top.a.deep/ws`)).body).toEqual({ data: [] });
    expect((await service.call('GET', `${WS}/nothing/ws`)).status).toBe(404);
  });

  it('one that is not empty stays, and the message lists what it holds', async () => {
    await create('full');
    await create('full.child');
    await service.call('POST', `${WS}/full/collections`, { name: 'orders' });
    const answer = await service.call('DELETE', `${WS}/full`);
    expect([answer.status, answer.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(answer.body.message).toContain('collection "orders", workspace "full.child"');
    expect((await service.call('GET', `${WS}/full`)).body.data.collection_count).toBe(1);
    await service.call('DELETE', `${WS}/full.child`);
    await service.call('DELETE', `${WS}/full/collections/orders`);
    expect((await service.call('DELETE', `${WS}/full`)).status).toBe(200);
  });

  it.each([
    ['prod', 'it exists already'],
    ['PROD', 'workspace "prod" exists'],
    ['Commons', 'workspace "commons" exists'],
  ])('the name %s is taken', async (name, why) => {
    await create('prod');
    const answer = await create(name);
    expect([answer.status, answer.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(answer.body.message).toContain(why);
  });

  it.each([
    '',
    ' ',
    '../x',
    'a/b',
    '"; DROP TABLE x; --',
    '_hidden',
    'a._b',
    '.a',
    'a.',
    'a..b',
    'ümlaut',
    'a b',
    'a\n',
    '__proto__',
    'x'.repeat(129),
  ])('the name %j is 400', async (name) => {
    const answer = await create(name);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain('"name"');
  });

  it('two requests for one name at once make one workspace', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => create('race')));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409]);
  });

  it('names that nobody thought of work', async () => {
    for (const name of ['main', 'constructor', 'select', 'temp', 'x'.repeat(128)]) {
      expect((await create(name)).status).toBe(200);
      expect((await service.call('GET', `${WS}/${name}`)).body.data.name).toBe(name);
      expect((await service.call('DELETE', `${WS}/${name}`)).status).toBe(200);
    }
  });

  it('one that does not exist is a 404 that offers the nearest name', async () => {
    const answer = await service.call('GET', `${WS}/comons`);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body).toMatchObject({
      type: 'NOTFOUND',
      message_key: 'WORKSPACE_NOT_FOUND',
      trace_id: answer.headers['x-trace-id'],
      message: 'Workspace with name "comons" does not exist. Did you mean "commons"?',
    });
    expect((await service.call('DELETE', `${WS}/qqqqqqqq`)).body.message).toBe(
      'Workspace with name "qqqqqqqq" does not exist',
    );
  });
});
