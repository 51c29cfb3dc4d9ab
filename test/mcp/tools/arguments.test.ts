import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../src/contract/errors.ts';
import { docsTool } from '../../../src/mcp/resources/docs-resources.ts';
import { readArguments, renamedIn } from '../../../src/mcp/tools/arguments.ts';
import { rowTools } from '../../../src/mcp/tools/catalog.ts';
import { tools } from '../../../src/mcp/tools/tools.ts';

function read(tool: string, sent: Record<string, unknown>) {
  return readArguments(tool, rowTools().get(tool)?.arguments ?? [], sent);
}

function problem(tool: string, sent: Record<string, unknown>): string {
  try {
    read(tool, sent);
  } catch (error) {
    expect((error as ApiError).code).toBe('invalid_input');
    return (error as ApiError).message;
  }
  throw new Error('the arguments were accepted');
}

describe('readArguments()', () => {
  it('puts flattened arguments back into their object', () => {
    expect(read('run_query', { query: 'SELECT 1', default_row_limit: 5 })).toEqual({
      sql: { query: 'SELECT 1', default_row_limit: 5 },
    });
    expect(read('validate_query', { query: 'SELECT :a', parameters: true, sql_parameters: [{ name: 'a' }] })).toEqual({
      parameters: true,
      sql: { query: 'SELECT :a', parameters: [{ name: 'a' }] },
    });
  });

  it('takes one name for one thing, and the names that the API has', () => {
    const place = { workspace: 'w', queryLambda: 'l' };
    expect(read('get_lambda_tag', { workspace: 'w', lambda: 'l', tag: 't' })).toEqual({ ...place, tag: 't' });
    expect(read('get_lambda_tag', { ...place, tag: 't' })).toEqual({ ...place, tag: 't' });
    expect(read('tag_lambda_version', { ...place, tag_name: 't', version: 'v' })).toMatchObject({ tag_name: 't' });
    expect(read('create_collection', { workspace: 'w', name: 'c' })).toEqual({ workspace: 'w', name: 'c' });
    expect(read('create_collection', { workspace: 'w', collection: 'c' })).toEqual({ workspace: 'w', name: 'c' });
    expect(problem('get_lambda_tag', { ...place, lambda: 'm', tag: 't' })).toContain('no argument "queryLambda"');
    const validated = { parameters: true, sql: { query: 'SELECT :a', parameters: [{ name: 'a' }] } };
    const others = { query: 'SELECT :a', list_parameters: true, parameters: [{ name: 'a' }] };
    expect(read('validate_query', others)).toEqual(validated);
    expect(read('validate_query', { query: 'SELECT 1', parameters: true })).toMatchObject({ parameters: true });
    expect(read('validate_query', { query: 'SELECT 1', parameters: [] })).not.toHaveProperty('parameters');
  });

  it('says which names are others', () => {
    const known = (tool: string) => rowTools().get(tool)?.arguments ?? [];
    expect(renamedIn(known('get_lambda_tag'), { queryLambda: 'l', tag: 't' })).toEqual(['"queryLambda" is "lambda"']);
    expect(renamedIn(known('get_lambda_tag'), { lambda: 'l', tag: 't' })).toEqual([]);
    expect(renamedIn(known('validate_query'), { parameters: true })).toEqual(['"parameters" is "list_parameters"']);
  });

  it('refuses an unknown argument with the nearest one', () => {
    expect(problem('get_workspace', { workspase: 'a' })).toBe(
      'Cannot call get_workspace: there is no argument "workspase"; did you mean "workspace"?; argument "workspace" is missing.',
    );
    expect(problem('list_workspaces', { confirm: true })).toContain('there is no argument "confirm"; it takes none');
  });

  it.each([
    [
      'create_integration',
      { name: 'a', kafka: { kafka_topic_names: ['t'], kafka_data_formt: 'json' } },
      'there is no field "kafka_data_formt" in "kafka"; did you mean "kafka_data_format"?',
    ],
    [
      'create_integration',
      { name: 'a', kafka: '{"kafka_topic_names":["t"],"password":"x"}' },
      'there is no field "password" in "kafka"; it takes "kafka_topic_names", "kafka_data_format"',
    ],
    [
      'create_integration',
      {
        name: 'a',
        s3: { cloud_access_key: { cloud_access_key_id: 'i', cloud_secret_access_key: 's', session_token: 't' } },
      },
      'there is no field "session_token" in "s3.cloud_access_key"',
    ],
    [
      'create_integration',
      { name: 'a', kafka: { kafka_topic_names: ['t'], kafka_data_format: 'bogus' } },
      'argument "kafka.kafka_data_format": the formats are json and avro',
    ],
    [
      'run_query',
      { query: 'SELECT :a', parameters: [{ name: 'a', valu: 1 }] },
      'there is no field "valu" in "parameters[0]"; did you mean "value"?',
    ],
    [
      'create_collection',
      { workspace: 'w', name: 'c', field_mappings: [{ name: 'm', input_fields: [{ field: 'x' }] }] },
      'there is no field "field" in "field_mappings[0].input_fields[0]"',
    ],
    [
      'delete_documents',
      { workspace: 'w', collection: 'c', data: [{ _id: 'a', id: 'b' }] },
      'argument "ids[0]": expected string, received object',
    ],
    [
      'patch_documents',
      { workspace: 'w', collection: 'c', data: [{ _id: 'a', id: 'b' }] },
      'no field "id" in "data[0]"',
    ],
  ])('refuses an unknown or wrong field in an argument of %s', (tool, sent, why) => {
    expect(problem(tool, sent)).toContain(why);
  });

  it('takes any field where the API does', () => {
    const data = [{ _id: 'a', any: { thing: [{ goes: 1 }] } }];
    expect(read('add_documents', { workspace: 'w', collection: 'c', data })).toMatchObject({ data });
    const value = { any: { thing: 1 } };
    expect(read('run_query', { query: 'SELECT :a', parameters: [{ name: 'a', value }] })).toMatchObject({
      sql: { parameters: [{ name: 'a', value }] },
    });
    const account = { gcp_service_account: { type: 'service_account', private_key: 'x' } };
    expect(read('create_integration', { name: 'a', gcs: account })).toMatchObject({ gcs: account });
    const kafka = { kafka_topic_names: ['t'], kafka_data_format: 'AVRO' };
    expect(read('create_integration', { name: 'a', kafka })).toMatchObject({ kafka });
  });

  it('refuses a reference where no secret belongs, and says where one does', () => {
    const given = (args: Record<string, unknown>) =>
      readArguments('create_integration', rowTools().get('create_integration')?.arguments ?? [], args, {
        resolve: (_, value) => value,
        hide: (answer) => answer,
      });
    const key = { cloud_access_key_id: 'env:COLLOQUY_SECRET_S3', cloud_secret_access_key: 'file:s3' };
    expect(() => given({ name: 'a', s3: { cloud_access_key: key } })).toThrow(
      'argument "s3.cloud_access_key.cloud_access_key_id" takes no reference to a secret: in "s3" only "cloud_secret_access_key" takes one',
    );
    expect(() => given({ name: 'a', kafka: { kafka_topic_names: ['env:COLLOQUY_SECRET_S3'] } })).toThrow(
      'argument "kafka.kafka_topic_names[0]" takes no reference',
    );
    expect(() => given({ name: 'a', description: 'env:COLLOQUY_SECRET_S3', segment: {} })).toThrow(
      'argument "description" takes no reference to a secret: only a secret takes one',
    );
    const misspelled = { cloud_access_key_id: 'AKID', secret_access_key: 'env:COLLOQUY_SECRET_S3' };
    const wrong = () => given({ name: 'a', s3: { cloud_access_key: misspelled } });
    expect(wrong).toThrow('did you mean "cloud_secret_access_key"?');
    expect(wrong).not.toThrow('give its value itself');
    const s3 = { cloud_access_key: { ...key, cloud_access_key_id: 'AKID' } };
    expect(given({ name: 'a', description: 'file:notes', s3 })).toMatchObject({ s3, description: 'file:notes' });
  });

  it('takes the object that the API has around flattened arguments', () => {
    const sql = { query: 'SELECT :a', parameters: [{ name: 'a', value: 1 }] };
    expect(read('run_query', { sql })).toEqual({ sql });
    expect(read('run_query', { sql: JSON.stringify(sql) })).toEqual({ sql });
    expect(read('run_query', { sql: 'SELECT :a', parameters: sql.parameters })).toEqual({ sql });
    expect(read('validate_query', { parameters: true, sql })).toEqual({ parameters: true, sql });
    expect(problem('run_query', { sql: { querry: 'SELECT 1' } })).toContain(
      'there is no argument "querry"; did you mean "query"?',
    );
    expect(problem('run_query', { sql: {} })).toContain('argument "query" is missing');
  });

  it('takes a text for the object whose one needed field it is', () => {
    const lambda = { workspace: 'w', lambda: 'l' };
    expect(read('run_query', { sql: 'SELECT 1' })).toEqual({ sql: { query: 'SELECT 1' } });
    expect(read('create_lambda', { ...lambda, sql: 'SELECT 1' })).toMatchObject({ sql: { query: 'SELECT 1' } });
    expect(problem('run_query', { sql: '' })).toContain('"sql": its fields are arguments');
    expect(problem('run_query', { sql: 'SELECT 1', query: 'SELECT 2' })).toContain('there is no argument "sql"');
  });

  it('takes a list of objects with one field as the values of it, or as the API has it', () => {
    const place = { workspace: 'w', collection: 'c' };
    const input = { ...place, data: [{ _id: 'a' }, { _id: 'b' }] };
    for (const sent of [
      { ids: ['a', 'b'] },
      { data: input.data },
      { ids: '["a", "b"]' },
      { data: ['a', { _id: 'b' }] },
    ]) {
      expect(read('delete_documents', { ...place, ...sent })).toEqual(input);
    }
    expect(problem('delete_documents', place)).toContain('argument "ids" is missing');
    expect(problem('delete_documents', { ...input, ids: ['c'] })).toContain('there is no argument "data"');
  });

  it('says what there is to choose from where a choice is missing', () => {
    const { arguments: known } = docsTool();
    expect(() => readArguments('get_docs', known, {})).toThrow(
      'argument "topic" is missing: one of "sql", "functions"',
    );
  });

  it('says where the fields of a flattened object went', () => {
    const where = 'there is no argument "sql": its fields are arguments, "query", "parameters"';
    expect(problem('run_query', { sql: { query: 'SELECT 1' }, query: 'SELECT 2' })).toContain(where);
  });

  it('says of an empty text that it must not be empty', () => {
    expect(problem('run_query', { query: '' })).toBe('Cannot call run_query: argument "query" must not be empty.');
  });

  it('names the path of a wrong value', () => {
    expect(problem('run_query', { query: 'SELECT 1', parameters: [{ name: 'a', type: 'text' }] })).toContain(
      'argument "parameters[0].type": ',
    );
    expect(problem('get_workspace', { workspace: 5 })).toBe(
      'Cannot call get_workspace: argument "workspace": expected string, received number.',
    );
  });

  it('says what an object is made of where a text stands in its place', () => {
    expect(problem('create_collection', { workspace: 'w', collection: 'c', event_time_info: 'at' })).toContain(
      'argument "event_time_info": expected an object with "field", "format", "time_zone", received string',
    );
    expect(problem('delete_documents', { workspace: 'w', collection: 'c', ids: [{ id: '1' }] })).toContain(
      'argument "ids[0]": expected string, received object',
    );
    expect(problem('patch_documents', { workspace: 'w', collection: 'c', data: [{ _id: '1', patch: [1] }] })).toContain(
      'argument "data[0].patch[0]": expected an object with "op", ',
    );
  });

  it('says of a field that is not there that it is missing', () => {
    expect(problem('create_integration', { name: 'i', s3: { cloud_access_key: { cloud_access_key_id: 'a' } } })).toBe(
      'Cannot call create_integration: argument "s3.cloud_access_key.cloud_secret_access_key" is missing: string.',
    );
    expect(
      problem('patch_documents', { workspace: 'w', collection: 'c', data: [{ _id: '1', patch: [{}] }] }),
    ).toContain('"data[0].patch[0].op" is missing');
  });

  it('names at most five problems', () => {
    const sent = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`x${index}`, 1]));
    expect(problem('list_workspaces', sent)).toMatch(/\(and 4 more\)\.$/);
  });

  it('takes null for an absent argument', () => {
    expect(read('create_workspace', { name: 'a', description: null })).toEqual({ name: 'a' });
    expect(problem('get_workspace', { workspace: null })).toContain('"workspace"');
  });

  it('takes what is empty for an absent argument, if it cannot be meant: strict mode has models send all', () => {
    const sent = (tool: string, args: Record<string, unknown>) => tools().get(tool)?.read(args);
    const place = { workspace: 'w', collection: 'c' };
    expect(sent('describe_collection', { ...place, path: '', search: '' })).toEqual(place);
    const page = { query_id: 'q', offset: 0, limit: 5 };
    expect(sent('fetch_result', { ...page, columns: [], where: '', order_by: '' })).toEqual(page);
    const file = { ...place, path: 'a.csv' };
    expect(
      sent('load_file', {
        ...file,
        format: '',
        id_field: '',
        types: '',
        event_time: null,
        format_params: { separator: '', columnNames: [] },
      }),
    ).toEqual(file);
    expect(sent('run_query', { query: 'SELECT 1', parameters: [] })).toEqual({
      sql: { query: 'SELECT 1', parameters: [] },
    });
    // An empty description is one.
    expect(read('create_workspace', { name: 'a', description: '' })).toEqual({ name: 'a', description: '' });
    expect(problem('get_workspace', { workspace: '' })).toContain('"workspace"');
  });

  it('takes a list sent as its JSON text', () => {
    expect(read('add_documents', { workspace: 'w', collection: 'c', data: '[{"a":1}]' })).toMatchObject({
      data: [{ a: 1 }],
    });
    expect(problem('add_documents', { workspace: 'w', collection: 'c', data: '[{' })).toContain('"data"');
  });

  it('leaves documents as they are', () => {
    const data = [{ value: '5', type: '' }, { value: '{}' }, 'text', '5'];
    expect(read('add_documents', { workspace: 'w', collection: 'c', data })).toMatchObject({ data });
  });

  it('takes a document sent as its JSON text', () => {
    const data = ['{"a":12345678901234567890}', { b: 2 }];
    expect(read('add_documents', { workspace: 'w', collection: 'c', data })).toMatchObject({
      data: [{ a: 12345678901234567890n }, { b: 2 }],
    });
  });

  it('leaves a text alone where any JSON value may stand', () => {
    const patch = (value: unknown) => {
      const data = [{ _id: '1', patch: [{ op: 'add', path: '/a', value }] }];
      const input = read('patch_documents', { workspace: 'w', collection: 'c', data });
      return (input['data'] as { patch: { value: unknown }[] }[])[0]?.patch[0]?.value;
    };
    for (const value of ['5', '"5"', 'true', 'null', 'Berlin', '{"a":[1]}', 7, null, { a: [1] }]) {
      expect(patch(value)).toEqual(value);
    }
  });

  it.each([{}, { type: '' }, { type: 'string' }, { type: 'int' }])(
    'leaves the text of a parameter alone, with %j',
    (part) => {
      const parameters = ['01234', '1234', 'true', '[1]'].map((value) => ({ name: 'zip', ...part, value }));
      expect(read('run_query', { query: 'q', parameters })).toEqual({ sql: { query: 'q', parameters } });
    },
  );

  it('takes lists and objects inside as their JSON text too', () => {
    const parameters = ['{"name":"a","value":"1"}'];
    expect(read('run_query', { query: 'q', parameters })).toMatchObject({
      sql: { parameters: [{ name: 'a', value: '1' }] },
    });
  });
});
