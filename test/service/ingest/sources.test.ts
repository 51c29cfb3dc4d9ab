import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestService, type TestService } from '../harness.ts';
import { keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const FILE = { file_name: 'f.txt', file_size: 10, file_upload_time: '2026-01-01T00:00:00Z' };
let count = 0;

async function create(format_params: object | undefined, more: object = {}): Promise<string> {
  const name = `s${++count}`;
  const sources = [{ file_upload: FILE, ...(format_params === undefined ? {} : { format_params }) }];
  const answer = await service.call('POST', COLLECTIONS, { name, sources, ...more });
  expect(answer.text).toContain('"CREATED"');
  return name;
}

async function add(name: string, ...data: unknown[]): Promise<Answer> {
  return service.call('POST', `${COLLECTIONS}/${name}/docs`, { data });
}

async function rows(name: string): Promise<Record<string, unknown>[]> {
  const query = `SELECT * EXCLUDE (_event_time) FROM ${name} ORDER BY _id`;
  const answer = await service.call('POST', '/v1/orgs/self/queries', { sql: { query } });
  expect(answer.body).toHaveProperty('results');
  return answer.body.results;
}

const statuses = (answer: Answer) => answer.body.data.map((row: { status: string }) => row.status);
const errors = (answer: Answer) =>
  answer.body.data.map((row: { error: { message: string } | null }) => row.error?.message ?? null);

describe('file_upload', () => {
  it('is returned with all kinds, its status and its format, also after a restart', async () => {
    const own = await startTestService();
    const csv = { firstLineAsColumnNames: true, columnTypes: ['integer'] };
    const sources = [{ file_upload: FILE, format_params: { csv } }];
    const created = await own.call('POST', COLLECTIONS, { name: 'kept', sources });
    const [source] = created.body.data.sources;
    expect(keysOf(source)).toEqual([
      'dynamodb',
      'file_upload',
      'format_params',
      'gcs',
      'integration_name',
      'kafka',
      'kinesis',
      'mongodb',
      'redshift',
      's3',
      'status',
    ]);
    expect(source.file_upload).toEqual(FILE);
    expect(source.status.state).toBe('INITIALIZING');
    expect(source.format_params).toEqual({
      json: false,
      xml: null,
      csv: {
        firstLineAsColumnNames: true,
        separator: ',',
        encoding: 'UTF-8',
        columnNames: [],
        columnTypes: ['INTEGER'],
        quoteChar: '"',
        escapeChar: '"',
      },
    });
    await own.call('POST', `${COLLECTIONS}/kept/docs`, { data: ['n\n1\nx\n2\n'] });
    await own.stop();
    const again = await startTestService({}, own.folder);
    const { data } = (await again.call('GET', `${COLLECTIONS}/kept`)).body;
    expect(data.status).toBe('READY');
    expect(data.sources[0].status).toEqual({
      state: 'ACTIVE',
      since: source.status.since,
      message: expect.stringContaining('addDocuments'),
      last_processed_at: expect.stringMatching(/^20.*Z$/),
      last_processed_item: 'f.txt',
      total_processed_items: 2,
      last_error_at: expect.stringMatching(/^20.*Z$/),
      last_error_item: 'f.txt',
      last_error_reason: 'data[0] line 3 has "x" in column "n", which is no INTEGER',
      total_error_items: 1,
    });
    await again.remove();
  });

  it('without format_params takes documents, and refuses text', async () => {
    const name = await create(undefined);
    const answer = await add(name, { _id: 'a' }, 'a,b');
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR']);
    expect(errors(answer)[1]).toContain('must be a JSON object; text of the file is taken where');
  });

  it('mappings and event time apply to documents of text', async () => {
    const name = await create(
      { csv: { columnNames: ['day', 'name'] } },
      {
        event_time_info: { field: 'day', format: '%d.%m.%Y' },
        field_mappings: [
          {
            name: 'id',
            input_fields: [{ field_name: 'name' }],
            output_field: { field_name: '_id', value: 'lower(:name)' },
          },
        ],
      },
    );
    const answer = await add(name, '01.02.2026,ANN\n31.02.2026,BOB\n');
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR']);
    expect(answer.body.data[0]._id).toBe('ann');
  });
});

describe('CSV', () => {
  it('types columns, and names them by the first line of the first piece', async () => {
    const columnTypes = ['STRING', 'INTEGER', 'FLOAT', 'BOOLEAN'];
    const name = await create({ csv: { firstLineAsColumnNames: true, columnTypes } });
    const answer = await add(
      name,
      '\ufeff_id,i,f,b,s\r\na,9223372036854775807,1.5e3,TRUE,"x, ""y""\nz"\r\nb,,,,\r\n',
      'c,+7,.5,false,04\n',
      '_id,i,f,b,s\nd,1\n',
    );
    expect(statuses(answer)).toEqual(['ADDED', 'ADDED', 'ADDED', 'ADDED']);
    expect(await rows(name)).toEqual([
      { _id: 'a', i: '9223372036854775807', f: 1500, b: true, s: 'x, "y"\nz' },
      { _id: 'b', i: null, f: null, b: null, s: null },
      { _id: 'c', i: 7, f: 0.5, b: false, s: '04' },
      { _id: 'd', i: 1, f: null, b: null, s: null },
    ]);
  });

  it('takes separator, quoteChar, escapeChar and columnNames, which go before those of the first line', async () => {
    const csv = {
      separator: ';',
      quoteChar: "'",
      escapeChar: '\\',
      columnNames: ['_id', 't'],
      firstLineAsColumnNames: true,
    };
    const name = await create({ csv });
    expect(statuses(await add(name, "x;y\na;'it\\'s; fine'\n"))).toEqual(['ADDED']);
    expect(await rows(name)).toEqual([{ _id: 'a', t: "it's; fine" }]);
  });

  it('refuses lines that do not fit, and pieces that are no CSV, one by one', async () => {
    const name = await create({ csv: { columnNames: ['_id', 'n'], columnTypes: ['STRING', 'FLOAT'] } });
    const answer = await add(name, 'a,1\nb,2,3\nc,x\nd,1e999\n', 'e,"open', '', 'f,1', 7);
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR', 'ERROR', 'ERROR', 'ERROR', 'ADDED', 'ERROR']);
    expect(errors(answer)).toEqual([
      null,
      'data[0] line 2 has 3 values for 2 columns',
      'data[0] line 3 has "x" in column "n", which is no FLOAT',
      'data[0] line 4 has "1e999" in column "n", which is no FLOAT',
      'data[1] cannot be read as CSV: a quote that opens in the record of line 1 is never closed',
      null,
      'data[4] must be a JSON object',
    ]);
  });

  it('keeps a column named __proto__ harmless', async () => {
    const name = await create({ csv: { firstLineAsColumnNames: true } });
    expect(statuses(await add(name, '__proto__,a\nx,y\n'))).toEqual(['ADDED']);
    expect(({} as Record<string, unknown>)['0']).toBeUndefined();
  });

  it('of more than 20,000 lines is 413', async () => {
    const name = await create({ csv: { columnNames: ['a'] } });
    const answer = await add(name, 'x\n'.repeat(20_001));
    expect([answer.status, answer.body.type]).toEqual([413, 'CONTENTTOOLARGE']);
    expect((await rows(name)).length).toBe(0);
  });
});

describe('XML', () => {
  const TEXT = `<?xml version="1.0" encoding="UTF-8"?>
    <file><skip>1</skip><orders>
      <order _id="a" n="1"><item sku="x">one</item><item>two</item><note><![CDATA[a < b]]> &amp; c</note></order>
      <order _id="b">text only</order>
    </orders></file>`;

  it('makes a document of each doc_tag within root_tag', async () => {
    const xml = { root_tag: 'orders', doc_tag: 'order', value_tag: 'value', attribute_prefix: '' };
    const name = await create({ xml });
    expect(statuses(await add(name, TEXT))).toEqual(['ADDED', 'ADDED']);
    expect(await rows(name)).toEqual([
      { _id: 'a', n: '1', item: [{ sku: 'x', value: 'one' }, 'two'], note: 'a < b & c', value: null },
      { _id: 'b', n: null, item: null, note: null, value: 'text only' },
    ]);
  });

  it('makes one document of the root without doc_tag, with "@" and "#text" by default', async () => {
    const name = await create({ xml: {} });
    await add(name, '<o id="7"><a/>hello</o>', '<o>only text</o>');
    const [first, second] = await rows(name);
    expect(first).toMatchObject({ '@id': '7', '#text': 'hello' });
    expect(first?.['a'] ?? null).toBeNull();
    expect(second).toMatchObject({ '#text': 'only text' });
  });

  it.each([
    ['<a>', 'is no XML: '],
    ['', 'is no XML: '],
    ['<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', 'an entity that XML itself does not define'],
    ['<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', 'an entity that XML itself does not define'],
    ['<a>'.repeat(100_000), 'more than 20000 tags'],
    [`${'<a>'.repeat(2_000)}${'</a>'.repeat(2_000)}`, 'nested more than 200 levels'],
    [`<a>${'&amp;'.repeat(20_001)}</a>`, 'more than 20000 entities'],
    [`<a>${'x'.repeat(1024 * 1024)}</a>`, 'more than 1048576 characters'],
    [`${'<a>'.repeat(250)}${'</a>'.repeat(250)}`, 'nested more than 200 levels deep'],
    [`<a>${'<b/>'.repeat(500_000)}</a>`, 'more than 20000 tags'],
  ])('%.40s is an ERROR row', async (text, why) => {
    const name = await create({ xml: {} });
    const answer = await add(name, text, '<a>fine</a>');
    expect(statuses(answer)).toEqual(['ERROR', 'ADDED']);
    expect(errors(answer)[0]).toContain(why);
  });

  it('without the root_tag is an ERROR row', async () => {
    const name = await create({ xml: { root_tag: 'orders' } });
    expect(errors(await add(name, '<a/>'))[0]).toBe('data[0] is no XML: it has no element "orders", the root_tag');
  });
});

describe('JSON text', () => {
  it('is an object, an array, or one object on each line', async () => {
    const name = await create({ json: true });
    const answer = await add(
      name,
      '{"_id":"a","n":9007199254740993}',
      '[{"_id":"b"},{"_id":"c"}]',
      '{"_id":"d"}\n\n{"_id":"e"}\n',
    );
    expect(statuses(answer)).toEqual(['ADDED', 'ADDED', 'ADDED', 'ADDED', 'ADDED']);
    expect((await rows(name))[0]).toEqual({ _id: 'a', n: '9007199254740993' });
  });

  it('that is none is an ERROR row of its own', async () => {
    const name = await create({ json: true });
    const answer = await add(name, '{"a":', '[1]', '"x"', '{"a":1}\n{"b"\n2', '');
    expect(statuses(answer)).toEqual(['ERROR', 'ERROR', 'ERROR', 'ADDED', 'ERROR', 'ERROR', 'ERROR']);
    expect(errors(answer)[0]).toContain('data[0] is no JSON');
    expect(errors(answer)[1]).toBe('data[1] holds an item that must be a JSON object');
    expect(errors(answer)[4]).toContain('data[3] line 2: is no JSON');
    expect(errors(answer)[5]).toBe('data[3] line 3: must be a JSON object');
  });
});

describe('sources that are refused', () => {
  beforeAll(async () => {
    const path = '/v1/orgs/self/integrations';
    const s3 = { cloud_role: { cloud_role_arn: 'arn:x' } };
    expect((await service.call('POST', path, { name: 'stored', s3 })).status).toBe(200);
    expect((await service.call('POST', path, { name: 'tables', dynamodb: s3 })).status).toBe(200);
    expect((await service.call('POST', path, { name: 'topics', kafka: { kafka_topic_names: ['t'] } })).status).toBe(
      200,
    );
  });

  const bucket = { bucket: 'b' };
  it.each([
    [{ s3: bucket }, 'has no "integration_name": an integration of the kind s3 says how to connect'],
    [{ integration_name: '', kinesis: { stream_name: 'x' } }, 'has no "integration_name"'],
    [{ integration_name: 'i', gcs: bucket }, 'uses the integration "i", which does not exist'],
    [
      { integration_name: 'topics', s3: bucket },
      'is of the kind "s3" and uses the integration "topics" of the kind "kafka"',
    ],
    [{ integration_name: 'topics', segment: {} }, 'is of the kind "segment" and uses the integration "topics"'],
    [
      { integration_name: 'stored', file_upload: FILE },
      'uses the integration "stored", which an uploaded file has no use for',
    ],
    [{ integration_name: 'stored' }, 'names no kind; give it one of "s3", "kinesis"'],
    [{ s3: {} }, 'has no "s3.bucket"'],
    [{ gcs: { bucket: '' } }, 'has no "gcs.bucket"'],
    [{ kinesis: {} }, 'has no "kinesis.stream_name"'],
    [{ redshift: {} }, 'has no "redshift.database", "redshift.table_name"'],
    [{ dynamodb: { table_name: null } }, 'has no "dynamodb.table_name"'],
    [{ kafka: {} }, 'has no "kafka.kafka_topic_name"'],
    [{ mongodb: { database_name: 'd' } }, 'has no "mongodb.collection_name"'],
    [{ integration_name: 'stored', s3: { ...bucket, access_key: 'AKIA' } }, 'has a key in "s3"; keys are given in an'],
    [{ integration_name: 'stored', s3: { ...bucket, secret_access: 'geheim' } }, 'has a key in "s3"'],
    [
      { integration_name: 'stored', s3: { ...bucket, mappings: [{ input_path: ['a'] }] } },
      'has "s3.mappings"; use the collection\'s "field_mappings" or "field_mapping_query"',
    ],
    [
      { integration_name: 'topics', kafka: { kafka_topic_name: 't', offset_reset_policy: 'now' } },
      'has the kafka.offset_reset_policy "now"; it is EARLIEST or LATEST',
    ],
    [{ integration_name: 'tables', dynamodb: { table_name: 't', rcu: 0 } }, 'has the dynamodb.rcu 0; it is at least 1'],
  ])('%j, with what is wrong', async (source, why) => {
    const answer = await service.call('POST', COLLECTIONS, { name: 'refused', sources: [source] });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(`Cannot create collection "refused": sources[0] ${why}`);
    expect(answer.text).not.toContain('geheim');
    expect((await service.call('GET', `${COLLECTIONS}/refused`)).status).toBe(404);
  });

  const withFormat = (format_params: object) => [{ file_upload: FILE, format_params }];
  it.each([
    [[{}], 'names no kind'],
    [[{ format_params: { json: true } }], 'names no kind'],
    [[{ s3: {}, kafka: {} }], 'names the kinds "s3" and "kafka"'],
    [[{ file_upload: FILE, s3: {} }], 'names the kinds "s3" and "file_upload"'],
    [[{ file_upload: {} }], 'has no "file_upload.file_name"'],
    [[{ file_upload: { ...FILE, file_size: -1 } }], 'file_size -1'],
    [[{ file_upload: { ...FILE, file_upload_time: 'now' } }], '"now"'],
    [withFormat({ json: true, csv: {} }), 'names the formats json and csv'],
    [withFormat({ csv: {} }), 'no names for its columns'],
    [withFormat({ csv: { columnNames: ['a', 'a'] } }), '"a"'],
    [withFormat({ csv: { columnNames: ['a'], columnTypes: ['DATE'] } }), 'types are BOOLEAN, INTEGER, FLOAT, STRING'],
    [withFormat({ csv: { columnNames: ['a'], columnTypes: ['STRING', 'STRING'] } }), '2 columnTypes for 1'],
    [withFormat({ csv: { columnNames: ['a'], separator: '' } }), 'csv.separator'],
    [withFormat({ csv: { columnNames: ['a'], separator: '\n' } }), 'csv.separator'],
    [withFormat({ csv: { columnNames: ['a'], separator: '"' } }), 'holds the quoteChar'],
    [withFormat({ csv: { columnNames: ['a'], separator: '=====' } }), '1 to 4 bytes'],
    [withFormat({ csv: { columnNames: ['a'], escapeChar: ',' } }), 'holds the quoteChar or the escapeChar'],
    [withFormat({ csv: { columnNames: ['a'], quoteChar: '""' } }), 'csv.quoteChar'],
    [withFormat({ csv: { columnNames: ['a'], quoteChar: 'é' } }), 'one character of ASCII'],
    [withFormat({ csv: { columnNames: ['a'], encoding: 'klingon' } }), '"klingon"'],
    [withFormat({ xml: { doc_tag: '' } }), 'xml.doc_tag is empty'],
    [[...withFormat({ json: true }), ...withFormat({ xml: {} })], 'different "format_params"'],
    [{}, '"sources": expected an array'],
  ])('%j', async (sources, why) => {
    const answer = await service.call('POST', COLLECTIONS, { name: 'refused', sources });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });
});

describe('other settings', () => {
  it('fieldPartitions repeat the clustering key', async () => {
    const clustering_key = [{ field_name: 'a' }, { field_name: 'b', type: 'X', keys: ['1'] }];
    const answer = await service.call('POST', COLLECTIONS, { name: 'clustered', clustering_key });
    const expected = [{ field_name: 'a', type: 'AUTO' }, clustering_key[1]];
    expect(answer.body.data.clustering_key).toEqual(expected);
    expect(answer.body.data.fieldPartitions).toEqual(expected);
  });

  it.each([
    [{ clustering_key: [{}] }, 'clustering_key[0].field_name is missing'],
    [{ clustering_key: [{ field_name: 'a' }, { field_name: 'a' }] }, 'clustering_key[1].field_name "a" is there twice'],
    [{ clustering_key: [{ field_name: 'a', type: 'X' }] }, 'no "keys"'],
    [{ clustering_key: [{ field_name: 'a', type: '' }] }, 'type is empty'],
    [{ field_schemas: [{ field_options: {} }] }, 'field_schemas[0].field_name is missing'],
    [{ field_schemas: [{ field_name: 'a' }, { field_name: 'a' }] }, 'there twice'],
    [{ field_schemas: [{ field_name: 'a', field_options: 1 }] }, 'field_options'],
    [{ inverted_index_group_encoding_options: [] }, '"inverted_index_group_encoding_options"'],
  ])('%j is 400', async (settings, why) => {
    const answer = await service.call('POST', COLLECTIONS, { name: 'refused', ...settings });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });
});
