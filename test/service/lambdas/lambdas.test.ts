import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';
import { hashIn, LAMBDA_KEYS, lambdaCalls, outcome, STATS_KEYS, VERSION_KEYS } from './lambda-calls.ts';

let service: TestService;
let api: ReturnType<typeof lambdaCalls>;
beforeAll(async () => {
  service = await startTestService();
  api = lambdaCalls(service);
  await api.collection('orders');
  await api.add('orders', { _id: '1', n: 1 });
  await service.call('POST', '/v1/orgs/self/ws', { name: 'prod' });
});
afterAll(() => service.remove());

describe('createLambda', () => {
  it('answers with its first version', async () => {
    const answer = await api.create('first', 'SELECT n FROM orders WHERE n > :least', {
      description: 'big ones',
      sql: {
        query: 'SELECT n FROM orders WHERE n > :least',
        default_parameters: [{ name: 'least', type: 'int', value: '5' }],
      },
    });
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data)).toEqual(VERSION_KEYS);
    expect(keysOf(answer.body.data.stats)).toEqual(STATS_KEYS);
    expect(answer.body.data).toEqual({
      workspace: 'commons',
      created_by: 'admin@localhost',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      name: 'first',
      version: expect.stringMatching(/^[0-9a-f]{16}$/),
      description: 'big ones',
      sql: {
        query: 'SELECT n FROM orders WHERE n > :least',
        default_parameters: [{ name: 'least', type: 'int', value: '5' }],
      },
      collections: ['commons.orders'],
      state: 'ACTIVE',
      stats: {
        last_executed: null,
        last_executed_by: null,
        last_execution_error: null,
        last_execution_error_message: null,
      },
    });
  });

  it('warns of a default that the SQL does not use, in the answer alone', async () => {
    const query = 'SELECT n FROM orders WHERE n > :Least';
    const defaults = ['least', 'leest'].map((name) => ({ name, type: 'int', value: '5' }));
    const warnings = ['Default parameter "leest" is not used by the SQL.'];
    const sql = { query, default_parameters: defaults };
    expect((await api.create('warned', query, { sql })).body.data).toMatchObject({ state: 'ACTIVE', warnings });
    const [listed] = (await api.versions('warned')).body.data;
    expect(listed.sql.default_parameters).toHaveLength(2);
    expect(listed).not.toHaveProperty('warnings');
    const again = await service.call('POST', '/v1/orgs/self/ws/commons/lambdas/warned/versions', { sql });
    expect(again.body.data).toMatchObject({ version: listed.version, warnings });
  });

  it('warns of a list that IN takes for one value', async () => {
    const query = 'SELECT n FROM orders WHERE n NOT IN (1, :ns)';
    const sql = { query, default_parameters: [{ name: 'ns', type: 'array', value: '[2, 3]' }] };
    expect((await api.create('listed', query, { sql })).body.data.warnings).toEqual([
      'IN (:ns) takes values one by one, and "ns" is a list: write x <> ALL(:ns).',
    ]);
  });

  it.each(['taken', 'Taken'])('the name %s is taken', async (name) => {
    await api.create('taken', 'SELECT 1');
    const answer = await api.create(name, 'SELECT 2');
    expect(outcome(answer)).toEqual([409, 'ALREADYEXISTS']);
    expect(answer.body.message).toContain(`Cannot create Query Lambda "${name}" in workspace "commons"`);
    expect(answer.body.message).toContain('Add a version to');
    expect((await api.versions('taken')).body.data).toHaveLength(1);
  });

  it('a name is taken in its own workspace only, and a collection may have it too', async () => {
    expect((await api.create('orders', 'SELECT 1')).status).toBe(200);
    const elsewhere = await lambdaCalls(service, 'prod').create('orders', 'SELECT 1');
    expect(elsewhere.status).toBe(200);
    expect(hashIn(elsewhere)).not.toBe(hashIn(await api.post('orders', {})));
  });

  it.each(['', '_x', 'a b', 'a.b', 'a::b', '../x', 'ü', '__proto__', 'x'.repeat(129)])(
    'the name %j is 400',
    async (name) => {
      const answer = await api.create(name, 'SELECT 1');
      expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
      expect(answer.body.message).toContain('"name"');
    },
  );

  it.each([
    [{}, '"name" is missing'],
    [{ name: 'bad' }, '"sql" is missing'],
    [{ name: 'bad', sql: 'SELECT 1' }, '"sql": expected a JSON object'],
    [{ name: 'bad', sql: {} }, '"sql.query" is missing'],
    [{ name: 'bad', sql: { query: '' } }, '"sql.query" must not be empty'],
    [{ name: 'bad', description: 5, sql: { query: 'SELECT 1' } }, '"description": expected a string'],
    [
      { name: 'bad', sql: { query: 'SELECT 1', default_parameters: {} } },
      '"sql.default_parameters": expected an array',
    ],
    [{ name: 'bad', sql: { query: 'SELECT 1', default_parameters: [{}] } }, '"sql.default_parameters[0].name"'],
    [
      { name: 'bad', sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', type: 'int', value: 'many' }] } },
      'Parameter "a" of type "int" cannot have the value "many"',
    ],
    [
      {
        name: 'bad',
        sql: {
          query: 'SELECT :a',
          default_parameters: [
            { name: 'a', value: 1 },
            { name: 'a', value: 2 },
          ],
        },
      },
      'Parameter "a" is given twice',
    ],
    [
      { name: 'bad', sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', value: '\ud800' }] } },
      '"sql.default_parameters[0].value" holds half of a surrogate pair',
    ],
  ])('%j is 400 and stores nothing', async (body, why) => {
    const answer = await api.call('POST', `${api.ws}/lambdas`, body);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(why);
    expect((await api.versions('bad')).status).toBe(404);
  });

  it.each([
    'DELETE FROM orders',
    'DROP TABLE orders',
    "COPY orders TO '/tmp/x.csv'",
    'SELECT 1; SELECT 2',
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'data.csv'",
    "SELECT * FROM nowhere JOIN read_text('/etc/passwd') ON true",
    "SELECT * FROM nowhere, 'data.parquet'",
    'SELECT * FROM _meta.records',
    'SELECT * FROM a.b.c',
    "SELECT getenv('HOME')",
    "SELECT getenv('HOME') FROM nowhere",
    'SELEC 1',
    'SELECT FROM WHERE',
    '-- nothing',
    "ATTACH 'x.db'",
    "SET memory_limit = '1GB'",
  ])('%s is 400 with a reason, and is not stored', async (query) => {
    const answer = await api.create('refused', query);
    expect(outcome(answer)).toEqual([400, 'QUERY_ERROR']);
    expect(answer.body.message.length).toBeGreaterThan(10);
    expect((await api.versions('refused')).status).toBe(404);
    // An existing lambda stays as it was.
    const kept = await api.create('kept', 'SELECT 1');
    expect([200, 409]).toContain(kept.status);
    expect(outcome(await api.post('kept', { sql: { query } }))).toEqual([400, 'QUERY_ERROR']);
    expect((await api.versions('kept')).body.data).toHaveLength(1);
  });

  it('an unknown workspace is 404, whatever the SQL says', async () => {
    const answer = await lambdaCalls(service, 'nowhere').create('x', 'SELEC');
    expect([answer.status, answer.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
  });

  it('five at once with one name make one', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => api.create('race', `SELECT ${n}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect((await api.versions('race')).body.data).toHaveLength(1);
  });
});

describe('deleteLambda', () => {
  it('answers with what it was, and takes versions and tags away', async () => {
    const first = hashIn(await api.create('gone', 'SELECT 1'));
    await api.post('gone', { sql: { query: 'SELECT n FROM orders' } });
    await api.tag('gone', 'only-gone', first);
    await api.run('gone');
    const answer = await api.call('DELETE', api.path('gone'));
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data)).toEqual(LAMBDA_KEYS);
    expect(answer.body.data).toMatchObject({
      name: 'gone',
      workspace: 'commons',
      version_count: 2,
      collections: ['commons.orders'],
      latest_version: { stats: { last_executed_by: 'admin@localhost' } },
    });
    expect((await api.get('gone', first)).status).toBe(404);
    expect((await api.call('GET', '/v1/orgs/self/lambdas/tags/only-gone')).status).toBe(404);
    const again = await api.create('gone', 'SELECT 1');
    expect(hashIn(again)).toBe(first);
    expect((await api.call('GET', `${api.path('gone')}/tags`)).body.data).toHaveLength(1);
    expect(again.body.data.stats.last_executed).toBeNull();
  });

  it('an unknown one is 404 in the form that clients match', async () => {
    const answer = await api.call('DELETE', api.path('qqqqqqqq'));
    expect(answer.body).toMatchObject({
      type: 'NOTFOUND',
      message_key: 'QUERY_NOT_FOUND',
      message: 'Query Lambda "qqqqqqqq" not found in workspace "commons".',
    });
    expect((await api.call('DELETE', api.path('frist'))).body.message).toBe(
      'Query Lambda "frist" not found in workspace "commons". Did you mean "first"?',
    );
    const nowhere = await lambdaCalls(service, 'qqqqqqqq').run('x');
    expect(nowhere.body.message_key).toBe('WORKSPACE_NOT_FOUND');
  });

  it('a dot in the name does not reach into a child workspace', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'prod.child' });
    await lambdaCalls(service, 'prod.child').create('x', 'SELECT 1');
    expect((await lambdaCalls(service, 'prod').call('DELETE', '/v1/orgs/self/ws/prod/lambdas/child.x')).status).toBe(
      404,
    );
    expect((await lambdaCalls(service, 'prod.child').versions('x')).status).toBe(200);
  });
});

describe('listLambdas and listWorkspaceLambdas', () => {
  it('show the latest version and how many there are', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'lists' });
    const lists = lambdaCalls(service, 'lists');
    for (const name of ['b', 'a']) await lists.create(name, 'SELECT 1');
    const posted = await lists.post('a', { sql: { query: 'SELECT n FROM orders' } });
    const here = await lists.call('GET', `${lists.ws}/lambdas`);
    expect(keysOf(here.body)).toEqual(['data']);
    expect(here.body.data.map((one: { name: string }) => one.name)).toEqual(['a', 'b']);
    expect(keysOf(here.body.data[0])).toEqual(LAMBDA_KEYS);
    expect(here.body.data[0]).toEqual({
      workspace: 'lists',
      name: 'a',
      version_count: 2,
      collections: ['commons.orders'],
      last_updated_by: 'admin@localhost',
      last_updated: posted.body.data.created_at,
      latest_version: posted.body.data,
    });
    const everywhere = await lists.call('GET', '/v1/orgs/self/lambdas');
    const paths = everywhere.body.data.map(
      (one: { workspace: string; name: string }) => `${one.workspace} ${one.name}`,
    );
    expect(paths).toEqual(paths.toSorted());
    expect(paths).toEqual(expect.arrayContaining(['commons first', 'lists a', 'lists b']));
  });

  it('an unknown workspace is 404, one without lambdas an empty list', async () => {
    expect((await api.call('GET', '/v1/orgs/self/ws/nowhere/lambdas')).body.message_key).toBe('WORKSPACE_NOT_FOUND');
    await service.call('POST', '/v1/orgs/self/ws', { name: 'bare' });
    expect((await api.call('GET', '/v1/orgs/self/ws/bare/lambdas')).body).toEqual({ data: [] });
  });
});

describe('listCollectionLambdas', () => {
  it('lists versions that name the collection, by lambda and newest first', async () => {
    await api.collection('Named');
    await api.add('Named', { n: 1 });
    const first = hashIn(await api.create('naming', 'SELECT n FROM named'));
    await api.post('naming', { sql: { query: 'SELECT 1' } });
    const third = hashIn(await api.post('naming', { sql: { query: 'SELECT n + 1 FROM commons."Named"' } }));
    const broken = hashIn(await api.create('naming-too', 'SELECT nope FROM Named'));
    const answer = await api.call('GET', `${api.ws}/collections/Named/lambdas`);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data[0])).toEqual(VERSION_KEYS);
    expect(answer.body.data.map((one: { version: string }) => one.version)).toEqual([third, first, broken]);
    expect(answer.body.data[1].collections).toEqual(['commons.Named']);
  });

  it('an unknown collection is 404', async () => {
    const answer = await api.call('GET', `${api.ws}/collections/qqqqqqqq/lambdas`);
    expect([answer.status, answer.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
  });
});

describe('what lambdas hold', () => {
  it('a collection that any version names stays, and the message lists the lambdas', async () => {
    await api.collection('held');
    await api.create('holder', 'SELECT * FROM held');
    await api.post('holder', { sql: { query: 'SELECT 1' } });
    const refused = await api.call('DELETE', `${api.ws}/collections/held`);
    expect(outcome(refused)).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(refused.body.message).toContain('Query Lambda "commons.holder"');
    const versions = (await api.versions('holder')).body.data;
    await api.call('DELETE', `${api.path('holder')}/version/${versions[1].version}`);
    expect((await api.call('DELETE', `${api.ws}/collections/held`)).status).toBe(200);
  });

  it('a collection that a version named before it existed stays, too', async () => {
    await api.create('early', 'SELECT * FROM LATER_ONE JOIN nope_nope USING (x)');
    await api.collection('later_one');
    const refused = await api.call('DELETE', `${api.ws}/collections/later_one`);
    expect(refused.body.message).toContain('Query Lambda "commons.early"');
    await api.call('DELETE', api.path('early'));
    expect((await api.call('DELETE', `${api.ws}/collections/later_one`)).status).toBe(200);
  });

  it('a workspace with lambdas is not empty', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'full' });
    const full = lambdaCalls(service, 'full');
    await full.create('inside', 'SELECT 1');
    const refused = await api.call('DELETE', '/v1/orgs/self/ws/full');
    expect(outcome(refused)).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(refused.body.message).toContain('Query Lambda "inside"');
    await full.call('DELETE', full.path('inside'));
    expect((await api.call('DELETE', '/v1/orgs/self/ws/full')).status).toBe(200);
  });
});

describe('listAliasLambdas', () => {
  it('lists the lambdas of which any version names the alias', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'aliased' });
    const here = lambdaCalls(service, 'aliased');
    await here.collection('base');
    await here.add('base', { n: 1 });
    const made = await here.call('POST', `${here.ws}/aliases`, { name: 'face', collections: ['aliased.base'] });
    expect(made.status).toBe(200);
    const first = hashIn(await here.create('through', 'SELECT n FROM aliased.FACE'));
    const second = await here.post('through', { sql: { query: 'SELECT 1' } });
    await here.create('direct', 'SELECT n FROM aliased.base');
    const answer = await here.call('GET', `${here.ws}/aliases/face/lambdas`);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(answer.body.data).toHaveLength(1);
    expect(keysOf(answer.body.data[0])).toEqual(LAMBDA_KEYS);
    expect(answer.body.data[0]).toMatchObject({ name: 'through', latest_version: { version: hashIn(second) } });
    expect((await here.get('through', first)).body.data.collections).toEqual(['aliased.face']);
    expect((await here.run('direct')).body.results).toEqual([{ n: 1 }]);
    // A lambda that queries the alias queries the collection, too.
    const queried = (await here.call('GET', `${here.ws}/collections/base/lambdas`)).body.data;
    expect(queried.map((version: { name: string }) => version.name)).toEqual(['direct', 'through']);
  });

  it('an alias that a version names stays, and one that changes makes versions bind anew', async () => {
    const here = lambdaCalls(service, 'aliased');
    const refused = await here.call('DELETE', `${here.ws}/aliases/face`);
    expect(outcome(refused)).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(refused.body.message).toContain('Query Lambda "aliased.through"');
    await here.collection('blank');
    const version = (await here.versions('through')).body.data[1].version;
    const state = async () => (await here.get('through', version)).body.data.state;
    expect(await state()).toBe('ACTIVE');
    await here.call('POST', `${here.ws}/aliases/face`, { collections: ['aliased.blank'] });
    expect(await state()).toBe('INVALID_SQL');
    await here.add('blank', { n: 2 });
    expect(await state()).toBe('ACTIVE');
    await here.call('DELETE', here.path('through'));
    expect((await here.call('GET', `${here.ws}/aliases/face/lambdas`)).body).toEqual({ data: [] });
    expect((await here.call('DELETE', `${here.ws}/aliases/face`)).status).toBe(200);
  });

  it('an unknown alias is 404', async () => {
    const answer = await api.call('GET', `${api.ws}/aliases/qqqqqqqq/lambdas`);
    expect([answer.status, answer.body.message_key]).toEqual([404, 'ALIAS_NOT_FOUND']);
  });
});
