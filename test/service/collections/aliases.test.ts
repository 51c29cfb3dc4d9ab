import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const name of ['prod', 'prod.eu']) await post('', { name });
  for (const workspace of ['commons', 'prod', 'prod.eu']) {
    for (const name of ['jan', 'feb']) await post(`/${workspace}/collections`, { name });
  }
  await add('commons', 'jan', [{ _id: '1', n: 1 }]);
  await add('commons', 'feb', [{ _id: '2', n: 'two', city: 'Oslo' }]);
  await add('prod.eu', 'jan', [{ _id: '3', n: 3 }]);
});
afterAll(() => service.remove());

const ORG = '/v1/orgs/self';
const WS = `${ORG}/ws`;
const ALIAS_KEYS = [
  'collections',
  'created_at',
  'creator_email',
  'description',
  'modified_at',
  'name',
  'state',
  'workspace',
];
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

const get = (path: string) => service.call('GET', `${WS}${path}`);
const post = (path: string, body: unknown) => service.call('POST', `${WS}${path}`, body);
const drop = (path: string) => service.call('DELETE', `${WS}${path}`);

async function add(workspace: string, collection: string, data: unknown[]) {
  const answer = await post(`/${workspace}/collections/${collection}/docs`, { data });
  expect(answer.body.data.map((one: { error: unknown }) => one.error)).toEqual(data.map(() => null));
}

async function sql(query: string) {
  return service.call('POST', `${ORG}/queries`, { sql: { query } });
}

const named = (answer: { body: { data: { name: string }[] } }) => answer.body.data.map((one) => one.name);

describe('createAlias', () => {
  it('answers the alias in the data envelope, with all its keys, and SQL can use it', async () => {
    const body = { name: 'recent', description: 'this month', collections: ['commons.jan'] };
    const answer = await post('/commons/aliases', body);
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data)).toEqual(ALIAS_KEYS);
    expect(answer.body.data).toEqual({
      ...body,
      workspace: 'commons',
      creator_email: 'admin@localhost',
      state: 'CREATED',
      created_at: TIMESTAMP,
      modified_at: answer.body.data.created_at,
    });
    expect((await sql('SELECT n FROM recent')).body).toMatchObject({
      results: [{ n: 1 }],
      collections: ['commons.jan'],
      aliases: ['commons.recent'],
    });
    expect((await get('/commons/aliases/recent')).body).toEqual(answer.body);
  });

  it('several collections, of workspaces with dots too, are one table with every value', async () => {
    const collections = ['prod.eu.jan', 'commons.feb', 'commons.jan'];
    const answer = await post('/prod/aliases', { name: 'all', collections });
    expect(answer.body.data).toMatchObject({ collections, description: null });
    const found = await sql('SELECT _id, n, city FROM prod."all" ORDER BY _id');
    expect(found.body.results).toEqual([
      { _id: '1', n: 1, city: null },
      { _id: '2', n: 'two', city: 'Oslo' },
      { _id: '3', n: 3, city: null },
    ]);
    expect(found.body).toMatchObject({ collections, aliases: ['prod.all'] });
  });

  it('a validation names the alias and not what is behind it', async () => {
    const answer = await service.call('POST', `${ORG}/queries/validations`, {
      sql: { query: 'SELECT * FROM prod."all"' },
    });
    expect(answer.body).toMatchObject({ collections: [], aliases: ['prod.all'], name: ['prod.all'] });
  });

  it.each([
    ['', '"name"'],
    ['_x', '"name"'],
    ['a.b', '"name"'],
    ['a b', '"name"'],
    ['x'.repeat(129), '"name"'],
    [7, '"name"'],
    [undefined, '"name"'],
  ])('the name %j is 400', async (name, why) => {
    const answer = await post('/commons/aliases', { name, collections: ['commons.jan'] });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(why);
  });

  it.each([
    [undefined, '"collections" is missing'],
    [null, '"collections"'],
    ['commons.jan', '"collections"'],
    [[], '"collections"'],
    [[1], '"collections[0]"'],
    [['jan'], '"collections[0]" is "jan", expected workspace.collection. Write it like "prod.jan".'],
    [['.jan'], 'expected workspace.collection'],
    [['commons.'], 'expected workspace.collection'],
    [[''], 'expected workspace.collection'],
    [['commons.jan', 'commons.feb', 'commons.jan'], '"collections[2]" is "commons.jan", which is named before'],
    [Array.from({ length: 1_001 }, (_, n) => `commons.c${n}`), 'at most 1000'],
    [['commons.jan', 'commons.recent'], 'is an alias, and an alias stands for collections only'],
  ])('the collections %j are 400', async (collections, why) => {
    const answer = await post('/prod/aliases', { name: 'wrong', collections });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
    expect((await get('/prod/aliases/wrong')).status).toBe(404);
  });

  it.each([
    ['commons.jam', 'Collection "jam" does not exist in workspace "commons". Did you mean "jan"?'],
    ['commons.JAN', 'Collection "JAN" does not exist in workspace "commons". Did you mean "jan"?'],
    ['nowhere.at.all', 'Workspace with name "nowhere.at" does not exist'],
    ['commons.prod.jan', 'Workspace with name "commons.prod" does not exist'],
  ])('the collection %s is 404, and the message names it', async (collection, why) => {
    const answer = await post('/commons/aliases', { name: 'wrong', collections: ['commons.jan', collection] });
    expect([answer.status, answer.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
    expect(answer.body.message).toContain(`"collections[1]" is "${collection}". ${why}`);
  });

  it('a workspace that does not exist is 404', async () => {
    const answer = await post('/nowhere/aliases', { name: 'a', collections: ['commons.jan'] });
    expect([answer.status, answer.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
  });

  it.each([
    ['recent', 'it exists already'],
    ['RECENT', 'alias "recent" exists'],
    ['jan', 'the collection "jan" has that name'],
    ['Jan', 'the collection "jan" has that name'],
  ])('the name %s is taken', async (name, why) => {
    const answer = await post('/commons/aliases', { name, collections: ['commons.jan'] });
    expect([answer.status, answer.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(answer.body.message).toContain(why);
  });

  it.each(['recent', 'Recent'])('a collection cannot have the name %s of an alias', async (name) => {
    const answer = await post('/commons/collections', { name });
    expect([answer.status, answer.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(answer.body.message).toContain('the alias "recent" has that name');
  });

  it('two requests for one name at once, an alias and a collection, make one thing', async () => {
    const both = await Promise.all([
      post('/prod/aliases', { name: 'race', collections: ['prod.jan'] }),
      post('/prod/collections', { name: 'race' }),
    ]);
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 409]);
  });
});

describe('updateAlias', () => {
  beforeAll(() => post('/commons/aliases', { name: 'moving', description: 'd', collections: ['commons.jan'] }));

  it('repoints, keeps the description where none is given, and moves modified_at', async () => {
    const before = (await get('/commons/aliases/moving')).body.data;
    const answer = await post('/commons/aliases/moving', { collections: ['commons.feb'] });
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(answer.body.data).toEqual({ ...before, collections: ['commons.feb'], modified_at: TIMESTAMP });
    expect(answer.body.data.modified_at > before.modified_at).toBe(true);
    expect((await sql('SELECT n FROM moving')).body.results).toEqual([{ n: 'two' }]);
    const again = await post('/commons/aliases/moving', { description: 'new', collections: ['commons.jan'] });
    expect(again.body.data.description).toBe('new');
    expect((await get('/commons/aliases/moving')).body).toEqual(again.body);
  });

  it('names the lambdas that fail from then on, and the tags of their versions', async () => {
    const lambda = {
      name: 'byCity',
      sql: { query: 'SELECT city FROM moving WHERE :p IS NULL OR city = :p', default_parameters: [] },
    };
    expect((await post('/commons/aliases/moving', { collections: ['commons.feb'] })).body.data.warnings).toBe(
      undefined,
    );
    const made = await post('/commons/lambdas', lambda);
    const { version } = made.body.data;
    await post('/commons/lambdas/byCity/tags', { tag_name: 'live', version });
    await post('/commons/lambdas/byCity/versions', { sql: { query: 'SELECT n FROM moving', default_parameters: [] } });
    await post('/commons/lambdas', {
      ...lambda,
      name: 'other',
      sql: { query: 'SELECT n FROM jan', default_parameters: [] },
    });
    const { warnings } = (await post('/commons/aliases/moving', { collections: ['commons.jan'] })).body.data;
    expect(warnings).toEqual([
      expect.stringMatching(/^Query Lambda "commons\.byCity" \(live\) fails from now on: Line 1, column 45: .*"city"/s),
    ]);
    expect((await get('/commons/aliases/moving')).body.data.warnings).toBe(undefined);
    for (const name of ['byCity', 'other']) await drop(`/commons/lambdas/${name}`);
  });

  it.each([
    [{}, 400, '"collections" is missing'],
    [{ description: 'only' }, 400, '"collections" is missing'],
    [{ collections: [] }, 400, '"collections"'],
    [{ description: 5, collections: ['commons.jan'] }, 400, '"description"'],
    [{ collections: ['commons.moving'] }, 400, 'is an alias'],
    [{ collections: ['commons.nope'] }, 404, 'Collection "nope" does not exist in workspace "commons"'],
  ])('%j is refused and changes nothing', async (body, status, why) => {
    const before = (await get('/commons/aliases/moving')).body;
    const answer = await post('/commons/aliases/moving', body);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(why);
    expect((await get('/commons/aliases/moving')).body).toEqual(before);
  });

  it('one that does not exist is a 404 that offers the nearest name', async () => {
    const answer = await post('/commons/aliases/movin', { collections: ['commons.jan'] });
    expect([answer.status, answer.body.message_key]).toEqual([404, 'ALIAS_NOT_FOUND']);
    expect(answer.body.message).toBe('Alias "movin" does not exist in workspace "commons". Did you mean "moving"?');
  });
});

describe('lists', () => {
  it('of the organization, of a workspace, of a collection', async () => {
    await post('/prod.eu/aliases', { name: 'far', collections: ['commons.feb'] });
    await post('/prod.eu/aliases', { name: 'away', collections: ['commons.feb', 'prod.jan'] });
    const all = await service.call('GET', `${ORG}/aliases`);
    expect(keysOf(all.body)).toEqual(['data']);
    for (const alias of all.body.data) expect(keysOf(alias)).toEqual(ALIAS_KEYS);
    expect(named(all).filter((name) => name !== 'race')).toEqual(['moving', 'recent', 'all', 'away', 'far']);
    expect(named(await get('/prod.eu/aliases'))).toEqual(['away', 'far']);
    expect(named(await get('/commons/collections/feb/aliases'))).toEqual(['all', 'away', 'far']);
    expect((await get('/prod.eu/collections/feb/aliases')).body).toEqual({ data: [] });
  });

  it.each([
    ['/nowhere/aliases', 'WORKSPACE_NOT_FOUND'],
    ['/commons/collections/nope/aliases', 'COLLECTION_DOES_NOT_EXIST'],
    ['/nowhere/collections/jan/aliases', 'WORKSPACE_NOT_FOUND'],
    ['/commons/aliases/nope', 'ALIAS_NOT_FOUND'],
    ['/commons/aliases/jan', 'ALIAS_NOT_FOUND'],
    ['/commons/aliases/__proto__', 'ALIAS_NOT_FOUND'],
    ['/nowhere/aliases/recent', 'WORKSPACE_NOT_FOUND'],
    ['/commons/collections/recent', 'COLLECTION_DOES_NOT_EXIST'],
  ])('%s is 404 %s', async (path, key) => {
    const answer = await get(path);
    expect([answer.status, answer.body.message_key]).toEqual([404, key]);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
  });

  it('a request that takes an alias for a collection, or the reverse, gets an error that says so', async () => {
    expect((await get('/prod/collections/all')).body.message).toBe(
      'Collection "all" does not exist in workspace "prod". It is an alias there: it stands for "prod.eu.jan", "commons.feb", "commons.jan".',
    );
    const write = await post('/prod/collections/all/docs', { data: [{ _id: '1' }] });
    expect([write.status, write.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
    expect((await get('/prod/aliases/jan')).body.message).toBe(
      'Alias "jan" does not exist in workspace "prod". It is a collection there.',
    );
  });

  it('a collection shows its aliases, whole', async () => {
    const { aliases } = (await get('/commons/collections/feb')).body.data;
    expect(aliases).toEqual((await get('/commons/collections/feb/aliases')).body.data);
    const inWorkspace = (await get('/commons/collections')).body.data;
    expect(inWorkspace.find((one: { name: string }) => one.name === 'feb').aliases).toEqual(aliases);
    const all = (await service.call('GET', `${ORG}/collections`)).body.data;
    expect(all.find((one: { name: string }) => one.name === 'feb').aliases).toEqual(aliases);
    expect((await post('/prod.eu/collections', { name: 'fresh' })).body.data.aliases).toEqual([]);
  });
});

describe('dependents', () => {
  it('a collection that aliases name stays, and the message lists them', async () => {
    const answer = await drop('/commons/collections/feb');
    expect([answer.status, answer.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(answer.body.message).toContain('alias "prod.all", alias "prod.eu.away", alias "prod.eu.far"');
    expect((await sql('SELECT count(*) AS n FROM feb')).body.results).toEqual([{ n: 1 }]);
  });

  it('a workspace that holds an alias is not empty', async () => {
    await post('', { name: 'brief' });
    await post('/brief/aliases', { name: 'only', collections: ['commons.jan'] });
    const answer = await drop('/brief');
    expect([answer.status, answer.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(answer.body.message).toContain('it is not empty, it holds alias "only"');
    expect((await drop('/brief/aliases/only')).status).toBe(200);
    expect((await drop('/brief')).status).toBe(200);
  });

  it('a collection is free once its alias is gone or points elsewhere', async () => {
    await post('/prod/collections', { name: 'old' });
    await post('/prod/collections', { name: 'new' });
    await post('/prod/aliases', { name: 'current', collections: ['prod.old'] });
    expect((await drop('/prod/collections/old')).status).toBe(409);
    await post('/prod/aliases/current', { collections: ['prod.new'] });
    expect((await drop('/prod/collections/old')).status).toBe(200);
    expect((await drop('/prod/collections/new')).status).toBe(409);
    await drop('/prod/aliases/current');
    expect((await drop('/prod/collections/new')).status).toBe(200);
  });
});

describe('deleteAlias', () => {
  it('answers the alias as DELETED; its collections stay and its name is free', async () => {
    const before = (await post('/commons/aliases', { name: 'gone', collections: ['commons.jan'] })).body.data;
    const answer = await drop('/commons/aliases/gone');
    expect(answer.body).toEqual({ data: { ...before, state: 'DELETED' } });
    expect((await sql('SELECT * FROM gone')).body.message).toContain('"gone" does not exist in workspace "commons"');
    expect((await sql('SELECT n FROM jan')).body.results).toEqual([{ n: 1 }]);
    expect((await post('/commons/collections', { name: 'Gone' })).status).toBe(200);
  });

  it('one that does not exist is 404', async () => {
    for (const path of ['/commons/aliases/nope', '/commons/aliases/jan', '/nowhere/aliases/recent']) {
      expect((await drop(path)).status).toBe(404);
    }
  });
});

describe('SQL over an alias', () => {
  it('follows the columns of its collections as documents come', async () => {
    for (const name of ['left', 'right']) await post('/prod/collections', { name });
    await post('/prod/aliases', { name: 'both', collections: ['prod.left', 'prod.right'] });
    expect((await sql('SELECT * FROM prod.both')).body.results).toEqual([]);
    await add('prod', 'right', [{ _id: 'r', size: 9_007_199_254_740_991, tags: ['a'] }]);
    await add('prod', 'left', [{ _id: 'l', Size: 1.5, tags: [{ deep: true }] }]);
    expect((await sql('SELECT _id, size, tags FROM prod.both ORDER BY _id')).body.results).toEqual([
      { _id: 'l', Size: 1.5, tags: [{ deep: true }] },
      { _id: 'r', Size: 9_007_199_254_740_991, tags: ['a'] },
    ]);
    expect((await sql('SHOW prod.both')).body.results).toMatchObject([
      { column_name: '_id' },
      { column_name: '_event_time' },
      { column_name: 'Size', column_type: 'DOUBLE' },
      { column_name: 'tags', column_type: 'JSON[]' },
    ]);
  });

  it('an error names the alias, with its columns', async () => {
    const answer = await sql('SELECT b.tag FROM prod.both b');
    expect([answer.status, answer.body.type]).toEqual([400, 'QUERY_ERROR']);
    expect(answer.body.message).toContain('"b" does not have a column named "tag"');
    const missing = await sql('SELECT * FROM prod.botj');
    expect(missing.body.message).toContain('Did you mean prod.both?');
    expect((await sql('SHOW TABLES FROM prod')).body.results).toContainEqual({
      workspace: 'prod',
      name: 'both',
      kind: 'alias',
      columns: ['_id', '_event_time', 'Size', 'tags'],
    });
  });

  it('counts as a query of the collections behind it', async () => {
    await post('/prod/collections', { name: 'quiet' });
    await post('/prod/aliases', { name: 'loud', collections: ['prod.quiet'] });
    expect((await get('/prod/collections/quiet')).body.data.stats.last_queried_ms).toBe(0);
    await sql('SELECT * FROM prod.loud');
    expect((await get('/prod/collections/quiet')).body.data.stats.last_queried_ms).toBeGreaterThan(0);
  });
});

describe('a read-only key', () => {
  it('reads aliases and changes none', async () => {
    const email = 'reader@example.com';
    await service.call('POST', `${ORG}/users`, { email, roles: ['read-only'] });
    const made = await service.call('POST', `${ORG}/users/${email}/apikeys`, { name: 'k' });
    const key = { key: made.body.data.key };
    expect((await service.call('GET', `${WS}/commons/aliases/recent`, undefined, key)).status).toBe(200);
    const body = { name: 'mine', collections: ['commons.jan'] };
    for (const [method, path] of [
      ['POST', '/commons/aliases'],
      ['POST', '/commons/aliases/recent'],
      ['DELETE', '/commons/aliases/recent'],
    ] as const) {
      const answer = await service.call(method, `${WS}${path}`, method === 'POST' ? body : undefined, key);
      expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
    }
  });
});

describe('after a restart', () => {
  it('aliases are as they were, and still hold their collections', async () => {
    const first = await startTestService();
    const call = (to: TestService, method: string, path: string, body?: unknown) =>
      to.call(method, `${WS}${path}`, body);
    for (const name of ['a', 'b']) await call(first, 'POST', '/commons/collections', { name });
    await call(first, 'POST', '/commons/collections/a/docs', { data: [{ _id: '1', x: 1 }] });
    const collections = ['commons.b', 'commons.a'];
    const made = await call(first, 'POST', '/commons/aliases', { name: 'ab', collections });
    await first.stop();
    const second = await startTestService({}, first.folder);
    try {
      expect((await call(second, 'GET', '/commons/aliases/ab')).body).toEqual(made.body);
      await call(second, 'POST', '/commons/collections/b/docs', { data: [{ _id: '2', x: 'text', y: 1 }] });
      const found = await second.call('POST', `${ORG}/queries`, {
        sql: { query: 'SELECT _id, x, y FROM ab ORDER BY 1' },
      });
      expect(found.body.results).toEqual([
        { _id: '1', x: 1, y: null },
        { _id: '2', x: 'text', y: 1 },
      ]);
      expect((await call(second, 'DELETE', '/commons/collections/a')).status).toBe(409);
      expect((await call(second, 'POST', '/commons/collections', { name: 'AB' })).status).toBe(409);
    } finally {
      await second.remove();
    }
  });
});
