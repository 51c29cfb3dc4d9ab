import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonValue, stringifyJson } from '../../../src/contract/json/json.ts';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';
import { hashIn, lambdaCalls, outcome } from './lambda-calls.ts';

let service: TestService;
let api: ReturnType<typeof lambdaCalls>;
beforeAll(async () => {
  service = await startTestService({ limits: { resultRowsMax: 1_000 } });
  api = lambdaCalls(service);
  await api.collection('c');
  await api.add('c', ...Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, n })));
});
afterAll(() => service.remove());

const RESPONSE_KEYS = [
  'aliases',
  'collections',
  'column_fields',
  'query_errors',
  'query_id',
  'query_lambda_path',
  'results',
  'stats',
  'status',
  'warnings',
];
const EXACT = { headers: { 'x-colloquy-defaults': 'json' } };
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

async function statsOf(name: string) {
  return (await api.latest(name)).body.data.version.stats;
}

describe('executeLambdaVersion and executeLambdaTag', () => {
  it('answer bare, with the path of what ran', async () => {
    const version = hashIn(await api.create('plain', 'SELECT n FROM c WHERE n < 2 ORDER BY n'));
    const byVersion = await api.call('POST', `${api.path('plain')}/versions/${version}`, {});
    expect(byVersion.status).toBe(200);
    expect(keysOf(byVersion.body)).toEqual(RESPONSE_KEYS);
    expect(byVersion.body).toMatchObject({
      query_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      query_lambda_path: `commons.plain::${version}`,
      collections: ['commons.c'],
      results: [{ n: 0 }, { n: 1 }],
      query_errors: [],
      status: 'COMPLETED',
    });
    const byTag = await api.run('plain', {});
    expect(keysOf(byTag.body)).toEqual(RESPONSE_KEYS);
    expect(byTag.body.query_lambda_path).toBe(`commons.plain::${version}`);
    expect(byTag.body.results).toEqual(byVersion.body.results);
  });

  it('are what runs a lambda: SQL that names one as a collection is told so', async () => {
    await api.create('named', 'SELECT 1 AS x');
    const said = '"commons.named" is a Query Lambda, which SQL does not read: run it by its tag';
    for (const path of ['', '/validations']) {
      const answer = await api.call('POST', `/v1/orgs/self/queries${path}`, { sql: { query: 'SELECT * FROM named' } });
      expect(answer.status).toBe(400);
      expect(answer.body.message).toContain(said);
    }
  });

  it('need no body, nor any field of one', async () => {
    const version = hashIn(await api.create('bodyless', 'SELECT 1 AS x'));
    const empty = { rawBody: '', headers: { 'content-type': 'application/json' } };
    const answers = [
      await api.run('bodyless'),
      await api.call('POST', `${api.path('bodyless')}/versions/${version}`),
      await service.call('POST', `${api.path('bodyless')}/tags/latest`, undefined, empty),
      await api.run('bodyless', { parameters: null, default_row_limit: null, generate_warnings: null }),
    ];
    for (const answer of answers) expect(answer.body.results).toEqual([{ x: 1 }]);
  });

  it('given values replace defaults, and the other defaults stay', async () => {
    await api.create('defaults', 'SELECT :a AS a, :b AS b', {
      sql: {
        query: 'SELECT :a AS a, :b AS b',
        default_parameters: [
          { name: 'a', type: 'int', value: '1' },
          { name: 'b', type: 'string', value: 'two' },
        ],
      },
    });
    const run = async (...parameters: unknown[]) => (await api.run('defaults', { parameters })).body.results;
    expect(await run()).toEqual([{ a: 1, b: 'two' }]);
    expect(await run({ name: 'a', type: 'string', value: 'x' })).toEqual([{ a: 'x', b: 'two' }]);
    expect(await run({ name: 'B', type: 'bool', value: true })).toEqual([{ a: 1, b: true }]);
    expect(await run({ name: ':a', value: 5 })).toEqual([{ a: 5, b: 'two' }]);
    expect(await run({ name: 'a', value: null })).toEqual([{ a: null, b: 'two' }]);
    expect(await run({ name: 'a', type: 'null' })).toEqual([{ a: null, b: 'two' }]);
    expect(await run({ name: 'a' })).toEqual([{ a: 1, b: 'two' }]);
    expect(await run({ name: 'other', value: 1 })).toEqual([{ a: 1, b: 'two' }]);
  });

  it.each([
    ['int', 1, 'abc', '"abc"'],
    ['timestamp', '2026-01-31T12:00:00Z', 'yesterday', '"yesterday"'],
    ['bool', true, 'maybe', '"maybe"'],
  ])('a value without a type takes that of the default, "%s"', async (type, value, wrong, shown) => {
    const sql = { query: 'SELECT :n AS n', default_parameters: [{ name: 'n', type, value }] };
    await api.post('kinds', { create: true, sql });
    for (const own of [{}, { type: '' }]) {
      const answer = await api.run('kinds', { parameters: [{ name: 'N', value: wrong, ...own }] });
      expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
      expect(answer.body.message).toContain(`Parameter "n" of type "${type}" cannot have the value ${shown}`);
    }
    const { body } = await api.run('kinds', { parameters: [{ name: 'n', value: String(value) }] });
    expect(typeof body.results[0].n).toBe(typeof value);
    const other = { parameters: [{ name: 'n', type: 'string', value: wrong }] };
    expect((await api.run('kinds', other)).body.results).toEqual([{ n: wrong }]);
  });

  it('a default of type null takes any value', async () => {
    const sql = { query: 'SELECT :n AS n', default_parameters: [{ name: 'n', type: 'null' }] };
    await api.post('optional', { create: true, sql });
    expect((await api.run('optional', { parameters: [{ name: 'n', value: 5 }] })).body.results).toEqual([{ n: 5 }]);
  });

  it('a parameter that is misspelt is warned of, with the name that was meant', async () => {
    const sql = { query: 'SELECT :since AS s', default_parameters: [{ name: 'since', type: 'int', value: 1 }] };
    await api.post('since', { create: true, sql });
    const { body } = await api.run('since', { parameters: [{ name: 'sinse', value: 2 }], generate_warnings: true });
    expect(body.warnings).toEqual(['Parameter "sinse" is not used by the SQL. Did you mean "since"?']);
  });

  it.each([
    ['', 'text', 'text'],
    ['', 5, 5],
    ['', [1, 2], [1, 2]],
    ['string', 5, '5'],
    ['int', '9007199254740993', '9007199254740993'],
    ['float', '1.5', 1.5],
    ['bool', 'true', true],
    ['date', '2026-01-31', '2026-01-31'],
    ['datetime', '2026-01-31T12:00:00', expect.stringContaining('2026-01-31T12:00:00')],
    ['time', '12:30:00', expect.stringContaining('12:30:00')],
    ['timestamp', '2026-01-31T12:00:00Z', expect.stringContaining('2026-01-31T12:00:00')],
    ['array', '["a", "b"]', ['a', 'b']],
    ['object', '{"k": 1}', { k: 1 }],
    ['null', undefined, null],
  ])(
    'a default of type "%s" with %j is used, and told as it was given to whoever asks so',
    async (type, value, result) => {
      const given = { name: 'p', type, ...(value === undefined ? {} : { value }) };
      const sql = { query: 'SELECT :p AS p', default_parameters: [given] };
      const posted = await service.call('POST', `${api.path('typed')}/versions`, { create: true, sql }, EXACT);
      expect(posted.body.data.sql.default_parameters).toEqual([given]);
      expect(posted.body.data.state).toBe('ACTIVE');
      expect((await api.run('typed')).body.results).toEqual([{ p: result }]);
    },
  );

  it.each([
    [{ value: 'text' }, { type: '', value: 'text' }],
    [{ value: 5 }, { type: 'int', value: '5' }],
    [{ value: 1.5 }, { type: 'float', value: '1.5' }],
    [{ value: 1e21 }, { type: 'float', value: '1e+21' }],
    [
      { type: 'int', value: 1e21 },
      { type: 'int', value: '1000000000000000000000' },
    ],
    [
      { type: 'string', value: 7 },
      { type: 'string', value: '7' },
    ],
    [
      { type: 'timestamp', value: 1 },
      { type: 'timestamp', value: '1' },
    ],
    [{ value: true }, { type: 'bool', value: 'true' }],
    [{ value: [1, 'a', null] }, { type: 'array', value: '[1,"a",null]' }],
    [
      { type: 'object', value: { k: [1] } },
      { type: 'object', value: '{"k":[1]}' },
    ],
    [
      { type: 'int', value: null },
      { type: 'null', value: 'null' },
    ],
    [{ type: 'null' }, { type: 'null', value: 'null' }],
    [{ type: 'date' }, undefined],
    [{}, undefined],
  ])('a default %j is told as %j where texts are expected, which runs the same', async (given, told) => {
    const post = async (one: object | undefined) => {
      const list = one === undefined ? [] : [{ name: 'p', ...one }];
      const sql = { query: 'SELECT typeof(:p) AS t, :p AS p', default_parameters: list };
      const rawBody = stringifyJson({ create: true, sql } as unknown as JsonValue);
      const { body } = await service.call('POST', `${api.path('texts')}/versions`, undefined, { rawBody });
      const [tagged] = (await api.call('GET', `${api.path('texts')}/tags`)).body.data;
      expect(tagged.version.sql).toEqual(body.data.sql);
      const { status, body: ran } = await api.run('texts');
      return { defaults: body.data.sql.default_parameters, ran: [status, ran.results ?? ran.message] };
    };
    const first = await post(given);
    expect(first.defaults).toEqual(told === undefined ? [] : [{ name: 'p', ...told }]);
    expect(await post(told)).toEqual(first);
  });

  it.each([1.5, true, {}, []])('a default that is unused may be of another type than it says: %j', async (value) => {
    const sql = { query: 'SELECT 1 AS n', default_parameters: [{ name: 'p', type: 'int', value }] };
    const { body } = await api.post('unused', { create: true, sql });
    expect(body.data.sql.default_parameters).toEqual([{ name: 'p', type: 'int', value: JSON.stringify(value) }]);
    expect((await api.call('GET', `${api.ws}/lambdas`)).status).toBe(200);
  });

  it('a default beyond 2^53 keeps its digits', async () => {
    const rawBody =
      '{"name":"wide","sql":{"query":"SELECT :p AS p","default_parameters":[{"name":"p","value":9007199254740993}]}}';
    const posted = await service.call('POST', `${api.ws}/lambdas`, undefined, { rawBody });
    expect(posted.body.data.sql.default_parameters).toEqual([{ name: 'p', type: 'int', value: '9007199254740993' }]);
    expect((await api.run('wide')).body.results).toEqual([{ p: '9007199254740993' }]);
  });

  it('a parameter that nobody gives is 400 naming it', async () => {
    await api.create('needy', 'SELECT n FROM c WHERE n > :least');
    const answer = await api.run('needy');
    expect(outcome(answer)).toEqual([400, 'QUERY_ERROR']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain('least');
    expect((await api.run('needy', { parameters: [{ name: 'least', type: 'int' }] })).status).toBe(400);
  });

  it('default_row_limit applies only where the SQL has no LIMIT', async () => {
    await api.create('all', 'SELECT n FROM c');
    await api.create('some', 'SELECT n FROM c LIMIT 5');
    expect((await api.run('all', { default_row_limit: 3 })).body.results).toHaveLength(3);
    expect((await api.run('some', { default_row_limit: 3 })).body.results).toHaveLength(5);
  });

  it('a result cut at default_row_limit has a warning and no error', async () => {
    expect((await api.run('all', { default_row_limit: 3 })).body).toMatchObject({
      query_errors: [],
      warnings: ['Only the first 3 rows are returned; the query has more.'],
    });
  });

  it.each([{}, { generate_warnings: true }])('tells of a parameter that is not used, with %j', async (more) => {
    const parameters = [{ name: 'extra', value: 1 }];
    expect((await api.run('all', { parameters, ...more })).body.warnings).toEqual([
      'Parameter "extra" is not used by the SQL.',
    ]);
  });

  it.each([
    [{ parameters: {} }, '"parameters": expected an array'],
    [{ parameters: [{}] }, '"parameters[0].name" is missing'],
    [{ parameters: [{ name: 'a', type: 'zip' }] }, '"parameters[0].type": expected one of'],
    [{ parameters: [{ name: 'a', value: '\ud800' }] }, '"parameters[0].value" holds half of a surrogate pair'],
    [
      {
        parameters: [
          { name: 'a', value: 1 },
          { name: 'a', value: 2 },
        ],
      },
      'Parameter "a" is given twice',
    ],
    [{ default_row_limit: 0 }, '"default_row_limit"'],
    [{ default_row_limit: 'ten' }, '"default_row_limit": expected'],
    [{ generate_warnings: 'yes' }, '"generate_warnings": expected a boolean'],
    [[], 'expected a JSON object'],
  ])('%j is 400', async (body, why) => {
    const answer = await service.call('POST', `${api.path('all')}/tags/latest`, body);
    expect(outcome(answer)).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });

  it('an unknown version, tag or lambda is 404', async () => {
    const version = await api.call('POST', `${api.path('all')}/versions/0123456789abcdef`, {});
    expect(version.body.message).toBe(
      'Query Lambda "all" (version "0123456789abcdef") not found in workspace "commons".',
    );
    expect((await api.run('all', {}, 'qqqqqqqq')).body.message_key).toBe('TAG_NOT_FOUND');
    expect((await api.run('qqqqqqqq')).body.message_key).toBe('QUERY_NOT_FOUND');
  });

  it('SQL that does not bind is 400 with the reason, by version and by tag', async () => {
    const version = hashIn(await api.create('broken', 'SELECT *\nFROM nowhere'));
    for (const at of [`tags/latest`, `versions/${version}`]) {
      const answer = await api.call('POST', `${api.path('broken')}/${at}`, {});
      expect(answer.body).toMatchObject({ type: 'QUERY_ERROR', line: 2, column: 6, query_id: expect.any(String) });
      expect(answer.body.message).toContain('Collection "nowhere" does not exist in workspace "commons"');
    }
  });

  it('a cut result says so', async () => {
    await api.create('long', 'SELECT * FROM range(5000)');
    const answer = await api.run('long');
    expect(answer.body.results).toHaveLength(1_000);
    expect(answer.body.query_errors).toEqual([
      { type: 'ResourceExceeded', status_code: 429, message: expect.stringContaining('Only the first 1000 rows') },
    ]);
  });
});

describe('stats', () => {
  it('follow runs, each version its own', async () => {
    const first = hashIn(await api.create('counted', 'SELECT 10 // :by AS x'));
    await api.post('counted', { sql: { query: 'SELECT error(:by)' } });
    expect(await statsOf('counted')).toEqual({
      last_executed: null,
      last_executed_by: null,
      last_execution_error: null,
      last_execution_error_message: null,
    });
    await api.call('POST', `${api.path('counted')}/versions/${first}`, { parameters: [{ name: 'by', value: 5 }] });
    expect((await statsOf('counted')).last_executed).toBeNull();
    const { stats } = (await api.get('counted', first)).body.data;
    expect(stats).toEqual({
      last_executed: ISO,
      last_executed_by: 'admin@localhost',
      last_execution_error: null,
      last_execution_error_message: null,
    });
  });

  it('keep the last error after a run that went well', async () => {
    await api.create('fails', 'SELECT CAST(:x AS INTEGER) AS x');
    expect((await api.run('fails', { parameters: [{ name: 'x', value: 'abc' }] })).status).toBe(400);
    const failed = await statsOf('fails');
    expect(failed).toEqual({
      last_executed: ISO,
      last_executed_by: 'admin@localhost',
      last_execution_error: ISO,
      last_execution_error_message: expect.stringContaining('abc'),
    });
    await sleep(5);
    expect((await api.run('fails', { parameters: [{ name: 'x', value: '7' }] })).status).toBe(200);
    const ran = await statsOf('fails');
    expect(ran.last_execution_error).toBe(failed.last_execution_error);
    expect(ran.last_executed > failed.last_executed).toBe(true);
  });

  it('cut a long error between characters', async () => {
    await api.create('verbose', 'SELECT CAST(:x AS INTEGER) AS x');
    await api.run('verbose', { parameters: [{ name: 'x', value: 'é😀'.repeat(1_000) }] });
    const message: string = (await statsOf('verbose')).last_execution_error_message;
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1_024);
    expect(message.endsWith('…')).toBe(true);
    expect(message).not.toContain('\ufffd');
  });
});

describe('a restart', () => {
  it('keeps lambdas, versions, tags, defaults and stats, and knows states anew', async () => {
    const before = await startTestService();
    const old = lambdaCalls(before);
    await old.collection('sales');
    await old.add('sales', { n: 1 });
    const sql = {
      query: 'SELECT n + :by AS n FROM sales',
      default_parameters: [{ name: 'by', type: 'int', value: '1' }],
    };
    const first = hashIn(await old.create('kept', '', { description: 'words', sql }));
    const second = hashIn(await old.post('kept', { sql: { query: 'SELECT nope FROM sales' } }));
    await old.tag('kept', 'prod', first);
    await old.run('kept', {}, 'prod');
    await old.run('kept');
    const seen = [(await old.versions('kept')).body, (await old.call('GET', `${old.path('kept')}/tags`)).body];
    await before.stop();

    const after = await startTestService({}, before.folder);
    try {
      const now = lambdaCalls(after);
      expect([(await now.versions('kept')).body, (await now.call('GET', `${now.path('kept')}/tags`)).body]).toEqual(
        seen,
      );
      expect(seen[0].data[0].stats.last_execution_error_message).toContain('nope');
      expect(seen[0].data[1].stats.last_executed_by).toBe('admin@localhost');
      expect((await now.run('kept', {}, 'prod')).body.results).toEqual([{ n: 2 }]);
      expect(hashIn(await now.post('kept', { description: 'words', sql }))).toBe(first);
      expect((await now.call('DELETE', `${now.ws}/collections/sales`)).status).toBe(409);
      await now.add('sales', { nope: 5 });
      expect((await now.get('kept', second)).body.data.state).toBe('ACTIVE');
    } finally {
      await after.remove();
    }
  });
});
