import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';
import { hashIn, lambdaCalls, outcome, VERSION_KEYS } from './lambda-calls.ts';

let service: TestService;
let api: ReturnType<typeof lambdaCalls>;
beforeAll(async () => {
  service = await startTestService();
  api = lambdaCalls(service);
  await api.collection('orders');
  await api.add('orders', { _id: '1', n: 1 });
});
afterAll(() => service.remove());

async function latestOf(name: string): Promise<string> {
  return (await api.latest(name)).body.data.version.version;
}

describe('createLambdaVersion', () => {
  it('adds a version, and latest moves to it', async () => {
    const first = await api.create('grows', 'SELECT 1');
    expect(await latestOf('grows')).toBe(hashIn(first));
    const second = await api.post('grows', { sql: { query: 'SELECT 2' } });
    expect(keysOf(second.body)).toEqual(['data']);
    expect(keysOf(second.body.data)).toEqual(VERSION_KEYS);
    expect(hashIn(second)).not.toBe(hashIn(first));
    expect(await latestOf('grows')).toBe(hashIn(second));
    const list = await api.versions('grows');
    expect(list.body.data.map((one: { version: string }) => one.version)).toEqual([hashIn(second), hashIn(first)]);
    expect((await api.get('grows', hashIn(first))).body).toEqual(first.body);
  });

  it('the same again is the same version, with its time, and becomes latest', async () => {
    const first = await api.create('same', 'SELECT 1', { description: 'one' });
    expect((await api.post('same', { description: 'one', sql: { query: 'SELECT 1' } })).body).toEqual(first.body);
    expect((await api.post('same', {})).body).toEqual(first.body);
    const second = await api.post('same', { sql: { query: 'SELECT 2' } });
    expect((await api.post('same', { description: 'one', sql: { query: 'SELECT 1' } })).body).toEqual(first.body);
    expect(await latestOf('same')).toBe(hashIn(first));
    const versions = (await api.versions('same')).body.data;
    expect(versions.map((one: { version: string }) => one.version)).toEqual([hashIn(second), hashIn(first)]);
  });

  it('without SQL what is absent stays as it is in latest; with SQL it is absent', async () => {
    await api.create('keeps', 'SELECT :a', {
      description: 'old words',
      sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', value: 1 }] },
    });
    const described = await api.post('keeps', { description: 'new words' });
    expect(described.body.data).toMatchObject({
      description: 'new words',
      sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', type: 'int', value: '1' }] },
    });
    const changed = await api.post('keeps', { sql: { query: 'SELECT 5' } });
    expect(changed.body.data).toMatchObject({
      description: null,
      sql: { query: 'SELECT 5', default_parameters: [] },
    });
    await api.post('keeps', { description: 'words between' });
    expect((await api.post('keeps', { sql: { query: 'SELECT 5' } })).body).toEqual(changed.body);
    expect((await api.post('keeps', { description: '' })).body.data.description).toBeNull();
  });

  it('each of name, description, SQL and defaults makes another version; their order does not', async () => {
    const defaults = (...names: string[]) => names.map((name) => ({ name, type: 'string', value: name }));
    const sql = (...names: string[]) => ({ query: 'SELECT :a, :b', default_parameters: defaults(...names) });
    const base = hashIn(await api.post('hash', { create: true, sql: sql('a', 'b') }));
    expect(hashIn(await api.post('hash', { sql: sql('b', 'a') }))).toBe(base);
    const others = [
      await api.post('hash', { sql: sql('a') }),
      await api.post('hash', { sql: { query: 'SELECT :a,  :b', default_parameters: defaults('a', 'b') } }),
      await api.post('hash', { sql: { query: 'SELECT :a, :b', default_parameters: [{ name: 'a', value: 'a' }] } }),
      await api.post('hash', { sql: { query: 'SELECT :a, :b', default_parameters: [{ name: 'a', value: 1 }] } }),
      await api.post('hash', { sql: { query: 'SELECT :a, :b', default_parameters: [{ name: 'a', value: null }] } }),
      await api.post('hash', { sql: { query: 'SELECT :a, :b', default_parameters: [{ name: 'a' }] } }),
      await api.post('hash', { description: 'd', sql: sql('a', 'b') }),
      await api.post('hash-too', { create: true, sql: sql('a', 'b') }),
    ].map(hashIn);
    expect(new Set([base, ...others]).size).toBe(others.length + 1);
  });

  it('create makes the lambda, from the query string or the body', async () => {
    const inQuery = await api.call('POST', `${api.path('made-1')}/versions?create=true`, {
      sql: { query: 'SELECT 1' },
    });
    expect(inQuery.body.data.name).toBe('made-1');
    expect((await api.post('made-2', { create: true, sql: { query: 'SELECT 1' } })).status).toBe(200);
    // It has no effect on a lambda that exists.
    expect((await api.post('made-2', { create: true, sql: { query: 'SELECT 2' } })).status).toBe(200);
    expect((await api.versions('made-2')).body.data).toHaveLength(2);
  });

  it.each(['?create=false', ''])('an unknown lambda with "%s" is 404', async (query) => {
    const answer = await api.call('POST', `${api.path('qqqqqqqq')}/versions${query}`, { sql: { query: 'SELEC' } });
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body).toMatchObject({
      type: 'NOTFOUND',
      message_key: 'QUERY_NOT_FOUND',
      message: 'Query Lambda "qqqqqqqq" not found in workspace "commons".',
    });
  });

  it.each([
    ['without-sql', {}, [400, 'INVALIDINPUT'], '"sql" is missing'],
    ['_bad', { sql: { query: 'SELECT 1' } }, [400, 'INVALIDINPUT'], 'a name is letters'],
    ['a.b', { sql: { query: 'SELECT 1' } }, [400, 'INVALIDINPUT'], 'a name is letters'],
    ['GROWS', { sql: { query: 'SELECT 1' } }, [409, 'ALREADYEXISTS'], 'Query Lambda "grows" exists'],
  ])('create of %s with %j is refused', async (name, body, expected, why) => {
    const answer = await api.post(name, { ...body, create: true });
    expect(outcome(answer)).toEqual(expected);
    expect(answer.body.message).toContain(why);
    expect((await api.versions(name)).status).toBe(404);
  });

  it.each([
    [{ create: 'perhaps' }, '"create": expected a boolean'],
    [{ sql: { query: 5 } }, '"sql.query": expected a string'],
    [{ description: [] }, '"description": expected a string'],
    [{ sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', type: 'zip' }] } }, 'expected one of'],
    [{ sql: { query: 'SELECT :a', default_parameters: [{ name: 'a', type: 'date', value: 'soon' }] } }, 'type "date"'],
  ])('%j is 400', async (body, why) => {
    const answer = await api.post('grows', body);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });

  it('fifty at once lose nothing', async () => {
    const posts = Array.from({ length: 50 }, (_, n) =>
      api.post('crowd', { create: true, sql: { query: `SELECT ${n}` } }),
    );
    const answers = await Promise.all(posts);
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    const hashes = new Set(answers.map(hashIn));
    expect(hashes.size).toBe(50);
    const list = (await api.versions('crowd')).body.data.map((one: { version: string }) => one.version);
    expect(new Set(list)).toEqual(hashes);
    expect(list).toHaveLength(50);
    expect(await latestOf('crowd')).toBe(list[0]);
  });
});

describe('SQL that does not bind', () => {
  it.each([
    ['SELECT * FROM not_there', 'Line 1, column 15: Collection "not_there" does not exist', ['commons.not_there']],
    ['SELECT * FROM ws_x.c', 'Workspace with name "ws_x" does not exist', ['ws_x.c']],
    ['SELECT nope FROM orders', 'Referenced column "nope" not found', ['commons.orders']],
    ['SELECT n.x.y FROM orders', 'n', ['commons.orders']],
    ['SELECT * FROM orders JOIN gone USING (n)', '"gone" does not exist', ['commons.orders', 'commons.gone']],
  ])('%s is stored as INVALID_SQL with a warning', async (query, why, collections) => {
    const answer = await api.post('unbound', { create: true, sql: { query } });
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body.data)).toEqual([...VERSION_KEYS, 'warnings'].sort());
    expect(answer.body.data).toMatchObject({ state: 'INVALID_SQL', collections });
    expect(answer.body.data.warnings).toEqual([expect.stringContaining(why)]);
    expect((await api.get('unbound', hashIn(answer))).body).toEqual(answer.body);
  });

  it('turns ACTIVE when it binds: first the collection, then the field', async () => {
    const version = hashIn(await api.create('heals', 'SELECT amount FROM sales'));
    const state = async () => (await api.get('heals', version)).body.data;
    expect((await state()).warnings[0]).toContain('Collection "sales" does not exist');
    const run = await api.run('heals');
    expect(outcome(run)).toEqual([400, 'QUERY_ERROR']);
    expect(run.body).toMatchObject({ line: 1, column: 20 });
    await api.collection('Sales');
    expect(await state()).toMatchObject({ state: 'INVALID_SQL', collections: ['commons.Sales'] });
    expect((await state()).warnings[0]).toContain('"amount" not found');
    await api.add('Sales', { amount: 7 });
    expect((await state()).state).toBe('ACTIVE');
    expect(keysOf(await state())).toEqual(VERSION_KEYS);
    const lambda = (await api.call('GET', `${api.ws}/lambdas`)).body.data.find(
      (one: { name: string }) => one.name === 'heals',
    );
    expect(lambda.latest_version.state).toBe('ACTIVE');
    expect((await api.run('heals')).body.results).toEqual([{ amount: 7 }]);
  });

  it('a run says why it does not bind, and not which parameter it lacks', async () => {
    await api.create('lacks', 'SELECT * FROM missing WHERE a = :a');
    expect((await api.run('lacks')).body.message).toContain('Collection "missing" does not exist');
  });

  it('parameters without a default do not make it invalid', async () => {
    for (const query of ['SELECT n FROM orders WHERE n > :x', 'SELECT unnest(:xs)', 'SELECT :x + 1', 'SELECT :x']) {
      expect((await api.post('open', { create: true, sql: { query } })).body.data.state).toBe('ACTIVE');
    }
  });
});

describe('getLambdaVersion', () => {
  it.each(['0000000000000000', 'x', '%20', 'z'.repeat(300)])('%s is 404', async (version) => {
    const answer = await api.get('grows', version);
    expect([answer.status, answer.body.message_key]).toEqual([404, 'QUERY_NOT_FOUND']);
  });

  it('latest is the version with that tag', async () => {
    const { version } = (await api.latest('grows')).body.data.version;
    expect((await api.get('grows', 'latest')).body.data.version).toBe(version);
  });

  it('has the form that clients match', async () => {
    const answer = await api.get('grows', '0123456789abcdef');
    expect(answer.body.message).toBe(
      'Query Lambda "grows" (version "0123456789abcdef") not found in workspace "commons".',
    );
    expect((await api.versions('qqqqqqqq')).body.message).toBe(
      'Query Lambda "qqqqqqqq" not found in workspace "commons".',
    );
  });
});

describe('deleteLambdaVersion', () => {
  const remove = (name: string, version: string) => api.call('DELETE', `${api.path(name)}/version/${version}`);

  it('moves latest to the newest left and drops the other tags', async () => {
    const a = hashIn(await api.create('shrinks', 'SELECT 1'));
    const b = hashIn(await api.post('shrinks', { sql: { query: 'SELECT 2' } }));
    const c = hashIn(await api.post('shrinks', { sql: { query: 'SELECT 3' } }));
    for (const [tag, version] of [
      ['x', c],
      ['y', c],
      ['z', a],
    ] as const)
      await api.tag('shrinks', tag, version);
    await api.run('shrinks');
    const answer = await remove('shrinks', c);
    expect(keysOf(answer.body)).toEqual(['data']);
    expect(keysOf(answer.body.data)).toEqual(VERSION_KEYS);
    expect(answer.body.data).toMatchObject({ version: c, stats: { last_executed_by: 'admin@localhost' } });
    expect(await latestOf('shrinks')).toBe(b);
    const tags = (await api.call('GET', `${api.path('shrinks')}/tags`)).body.data;
    expect(tags.map((tag: { tag_name: string }) => tag.tag_name)).toEqual(['latest', 'z']);
    expect((await api.get('shrinks', c)).status).toBe(404);
    // The same version posted again is a new one, with new statistics.
    const again = await api.post('shrinks', { sql: { query: 'SELECT 3' } });
    expect(hashIn(again)).toBe(c);
    expect(again.body.data.stats.last_executed).toBeNull();
    await remove('shrinks', a);
    expect(await latestOf('shrinks')).toBe(c);
  });

  it('the only version is refused', async () => {
    const only = hashIn(await api.create('single', 'SELECT 1'));
    const answer = await remove('single', only);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain('it is the only one. Delete the lambda instead');
    expect((await api.get('single', only)).status).toBe(200);
  });

  it('two deletions at once leave one version', async () => {
    const versions = [
      hashIn(await api.create('pair', 'SELECT 1')),
      hashIn(await api.post('pair', { sql: { query: 'SELECT 2' } })),
    ];
    const answers = await Promise.all(versions.map((version) => remove('pair', version)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 400]);
    expect((await api.versions('pair')).body.data).toHaveLength(1);
  });

  it('an unknown one is 404', async () => {
    expect((await remove('single', '0123456789abcdef')).body.message_key).toBe('QUERY_NOT_FOUND');
    expect((await remove('qqqqqqqq', '0123456789abcdef')).status).toBe(404);
  });
});
