import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';
import { keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const IN_COMMONS = '/v1/orgs/self/ws/commons/collections';
const CREATED_KEYS = [
  'aliases',
  'clustering_key',
  'created_at',
  'created_by',
  'description',
  'fieldPartitions',
  'field_mappings',
  'field_schemas',
  'inverted_index_group_encoding_options',
  'name',
  'retention_secs',
  'sources',
  'status',
  'workspace',
];
const STATS_KEYS = [
  'bytes_inserted',
  'bytes_overwritten',
  'column_index_size',
  'doc_count',
  'fill_progress',
  'inverted_index_size',
  'last_queried_ms',
  'last_updated_ms',
  'purged_doc_count',
  'purged_doc_size',
  'range_index_size',
  'row_index_size',
  'total_index_size',
  'total_size',
];

async function create(body: Record<string, unknown>, workspace = 'commons') {
  return service.call('POST', `/v1/orgs/self/ws/${workspace}/collections`, body);
}

describe('collections', () => {
  it('are CREATED without stats, then READY with stats', async () => {
    const created = await create({ name: 'orders', description: 'all of them' });
    expect(created.status).toBe(200);
    expect(keysOf(created.body)).toEqual(['data']);
    expect(keysOf(created.body.data)).toEqual(CREATED_KEYS);
    expect(created.body.data).toMatchObject({
      name: 'orders',
      workspace: 'commons',
      status: 'CREATED',
      description: 'all of them',
      created_by: 'admin@localhost',
      sources: [],
      field_mappings: [],
      clustering_key: [],
      aliases: [],
      field_schemas: [],
      fieldPartitions: [],
    });
    const read = await service.call('GET', `${IN_COMMONS}/orders`);
    expect(keysOf(read.body.data)).toEqual([...CREATED_KEYS, 'stats'].sort());
    expect(read.body.data.status).toBe('READY');
    expect(keysOf(read.body.data.stats)).toEqual(STATS_KEYS);
    expect(read.body.data.stats).toMatchObject({
      doc_count: 0,
      fill_progress: null,
      last_queried_ms: 0,
      bytes_inserted: 0,
    });
  });

  it('count what is written, replaced and queried', async () => {
    await create({ name: 'counted' });
    const documents = [{ _id: 'a', text: 'x'.repeat(100) }, { _id: 'b' }];
    const before = Date.now();
    await service.call('POST', `${IN_COMMONS}/counted/docs`, { data: documents });
    await service.call('POST', `${IN_COMMONS}/counted/docs`, { data: documents.slice(0, 1) });
    await service.call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT * FROM counted' } });
    const { stats } = (await service.call('GET', `${IN_COMMONS}/counted`)).body.data;
    expect(stats.doc_count).toBe(2);
    expect(stats.last_updated_ms).toBeGreaterThanOrEqual(before);
    expect(stats.last_queried_ms).toBeGreaterThanOrEqual(before);
    expect(stats.bytes_overwritten).toBeGreaterThan(100);
    expect(stats.bytes_inserted).toBeGreaterThan(2 * stats.bytes_overwritten - 1);
  });

  it('count the bytes of documents alike, whether these are stored as they came or are changed first', async () => {
    const output_field = { field_name: 'b', value: 'upper(:a)' };
    const mapping = { name: 'm', input_fields: [{ field_name: 'a', if_missing: 'SKIP' }], output_field };
    const data = [{ _id: '1', n: 123456789012345, list: [1, [2, 3], { x: true }] }, { _id: '2', n: 2 }, { _id: '3' }];
    const bytes = data.reduce((sum, one) => sum + JSON.stringify(one).length, 0);
    for (const [name, field_mappings] of [
      ['asgiven', []],
      ['changed', [mapping]],
    ] as const) {
      await create({ name, field_mappings });
      await service.call('POST', `${IN_COMMONS}/${name}/docs`, { data });
      const { stats } = (await service.call('GET', `${IN_COMMONS}/${name}`)).body.data;
      expect(stats).toMatchObject({ bytes_inserted: bytes, total_size: bytes });
    }
  });

  it('keep hints and return them', async () => {
    const hints = {
      clustering_key: [{ field_name: 'user.id', type: 'AUTO', keys: ['a'] }],
      field_schemas: [{ field_name: 'x', field_options: { index_mode: 'index', big: 1 } }],
      inverted_index_group_encoding_options: { format_version: 3, nested: { a: [1, null] } },
    };
    expect((await create({ name: 'hinted', ...hints })).body.data).toMatchObject(hints);
    expect((await service.call('GET', `${IN_COMMONS}/hinted`)).body.data).toMatchObject(hints);
  });

  it('take empty lists and nulls as not given', async () => {
    const answer = await create({
      name: 'plain',
      sources: [],
      field_mappings: [],
      retention_secs: null,
      event_time_info: null,
      description: null,
      new_option: { a: null },
    });
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body.data)).toEqual(CREATED_KEYS);
  });

  it.each([
    [{}, '"name" is missing'],
    [{ name: '' }, '"name"'],
    [{ name: 'a.b' }, '"name": a name is letters'],
    [{ name: '../x' }, '"name"'],
    [{ name: 'a/b' }, '"name"'],
    [{ name: '"; DROP' }, '"name"'],
    [{ name: '_x' }, '"name"'],
    [{ name: 'x'.repeat(129) }, '"name"'],
    [{ name: 7 }, '"name": expected a string, got a number'],
    [{ name: 'x', retention_secs: 1 }, '"retention_secs"'],
    [{ name: 'x', retention_secs: 3_600.5 }, '"retention_secs": expected an integer, got a number with a fraction'],
    [{ name: 'x', clustering_key: {} }, '"clustering_key": expected an array, got a JSON object'],
    [{ name: 'x', clustering_key: [{ field_name: 1 }] }, '"clustering_key[0].field_name": expected a string'],
    [{ name: 'x', field_schemas: ['a'] }, '"field_schemas[0]": expected a JSON object, got a string'],
  ])('%j is 400 naming the field', async (body, why) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain('Cannot create a collection: ');
    expect(answer.body.message).toContain(why);
  });

  it.each([
    ['taken', 'it exists already'],
    ['TAKEN', 'collection "taken" exists'],
  ])('the name %s is taken', async (name, why) => {
    await create({ name: 'taken' });
    const answer = await create({ name });
    expect([answer.status, answer.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(answer.body.message).toContain(why);
  });

  it('of different workspaces share names', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'other' });
    await create({ name: 'shared' });
    expect((await create({ name: 'shared' }, 'other')).status).toBe(200);
    const inOther = await service.call('GET', '/v1/orgs/self/ws/other/collections');
    expect(inOther.body.data.map((one: { name: string }) => one.name)).toEqual(['shared']);
    const all = await service.call('GET', '/v1/orgs/self/collections');
    const named = all.body.data.filter((one: { name: string }) => one.name === 'shared');
    expect(named.map((one: { workspace: string }) => one.workspace)).toEqual(['commons', 'other']);
    expect(keysOf(named[0])).toEqual([...CREATED_KEYS, 'stats'].sort());
  });

  it('are deleted with their documents, and the name is free at once', async () => {
    await create({ name: 'gone' });
    await service.call('POST', `${IN_COMMONS}/gone/docs`, { data: [{ a: 1 }] });
    const deleted = await service.call('DELETE', `${IN_COMMONS}/gone`);
    expect(deleted.body).toEqual({
      data: {
        name: 'gone',
        workspace: 'commons',
        status: 'DELETED',
        sources: [],
        field_mappings: [],
        clustering_key: [],
        aliases: [],
        field_schemas: [],
        fieldPartitions: [],
      },
    });
    expect((await service.call('DELETE', `${IN_COMMONS}/gone`)).status).toBe(404);
    expect((await create({ name: 'Gone' })).status).toBe(200);
    expect((await service.call('GET', `${IN_COMMONS}/Gone`)).body.data.stats.doc_count).toBe(0);
  });

  it('one that does not exist is a 404 in the known words', async () => {
    await create({ name: 'customers' });
    for (const [method, path] of [
      ['GET', `${IN_COMMONS}/zzzzzz`],
      ['DELETE', `${IN_COMMONS}/zzzzzz`],
    ] as const) {
      const answer = await service.call(method, path);
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({
        type: 'NOTFOUND',
        message_key: 'COLLECTION_DOES_NOT_EXIST',
        message: 'Collection "zzzzzz" does not exist in workspace "commons"',
      });
    }
    expect((await service.call('GET', `${IN_COMMONS}/custmers`)).body.message).toBe(
      'Collection "custmers" does not exist in workspace "commons". Did you mean "customers"?',
    );
    expect((await service.call('GET', `${IN_COMMONS}/Customers`)).status).toBe(404);
  });

  it('of a workspace that does not exist are a 404 about the workspace', async () => {
    for (const answer of [
      await create({ name: 'x' }, 'nowhere'),
      await service.call('GET', '/v1/orgs/self/ws/nowhere/collections'),
      await service.call('GET', '/v1/orgs/self/ws/nowhere/collections/x'),
    ]) {
      expect([answer.status, answer.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    }
  });

  it('cannot be reached in a child workspace by putting its name before a dot', async () => {
    await service.call('POST', '/v1/orgs/self/ws', { name: 'dotted' });
    await service.call('POST', '/v1/orgs/self/ws', { name: 'dotted.child' });
    await create({ name: 'c' }, 'dotted.child');
    const path = '/v1/orgs/self/ws/dotted/collections/child.c';
    for (const answer of [
      await service.call('GET', path),
      await service.call('DELETE', path),
      await service.call('POST', `${path}/docs`, { data: [{}] }),
    ]) {
      expect([answer.status, answer.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
    }
    expect((await service.call('GET', '/v1/orgs/self/ws/dotted.child/collections/c')).status).toBe(200);
  });
});

describe('recognize_times', () => {
  it('makes columns of times of ISO 8601 text, where it is asked for', async () => {
    const path = '/v1/orgs/self/ws/commons/collections';
    const created = await service.call('POST', path, { name: 'timed', recognize_times: true });
    expect(created.body.data.recognize_times).toBe(true);
    await service.call('POST', `${path}/timed/docs`, { data: [{ made: '2024-01-02T03:04:05.100Z', note: 'x' }] });
    const answer = await service.call('POST', '/v1/orgs/self/queries', {
      sql: { query: 'SELECT made, note FROM timed' },
    });
    expect(answer.body.results).toEqual([{ made: '2024-01-02T03:04:05.100Z', note: 'x' }]);
    expect(answer.body.column_fields).toEqual([
      { name: 'made', type: 'TIMESTAMP WITH TIME ZONE' },
      { name: 'note', type: 'VARCHAR' },
    ]);
    const read = await service.call('GET', `${path}/timed`);
    expect(read.body.data.recognize_times).toBe(true);
  });
});
