import { describe, expect, it } from 'vitest';
import { CLIENT_KEYS } from '../../../src/contract/client-keys.ts';
import { contract, type Operation } from '../../../src/contract/contract.ts';
import type { Row } from '../../../src/contract/row.ts';
import { unknownKeys } from '../../../src/contract/unknown-keys.ts';
import { parseInput } from '../../../src/service/app/input.ts';

const sql = { query: 'SELECT 1' };
/** Bodies of requests with nothing unknown in them. */
const BODIES: Partial<Record<Operation, object>> = {
  runQuery: { sql },
  validateQuery: { sql },
  executeLambdaVersion: {},
  executeLambdaTag: {},
  createCollection: { name: 'c' },
  createLambda: { name: 'l', sql },
  createLambdaVersion: { sql },
  createApiKey: { name: 'k' },
  createUserApiKey: { name: 'k' },
  createUser: { email: 'a@example.com', roles: ['admin'] },
  createIntegration: { name: 'i', s3: { cloud_role: { cloud_role_arn: 'arn' } } },
  updateVirtualInstance: { new_size: 'NANO' },
  patchDocuments: { data: [{ _id: 'a', patch: [] }] },
  addDocuments: { data: [{ _id: 'a' }] },
};
const PARAMS = { workspace: 'w', collection: 'c', queryLambda: 'l', version: 'v', tag: 't', user: 'u' };

const KAFKA = { name: 'i', s3: null, kafka: { kafka_topic_names: ['t'] } };

const read = (operation: Operation, body: object, query = {}) => {
  const row: Row = contract[operation];
  return parseInput(row, {
    params: { ...PARAMS, virtualInstanceId: 'v' },
    query,
    body: { ...BODIES[operation], ...body },
  });
};
const why = async (...of: Parameters<typeof read>) => {
  const error = await read(...of).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof Error ? error.message : undefined;
};

/** The body with a value at a path such as `sources[].id`. */
function withKey(operation: Operation, key: string, value: unknown): object {
  const place = (whole: unknown, [step, ...rest]: string[]): unknown => {
    if (step === undefined) return value;
    const name = step.replace('[]', '');
    const object = (whole ?? {}) as Record<string, unknown>;
    const inner = place(step.endsWith('[]') ? {} : object[name], rest);
    return { ...object, [name]: step.endsWith('[]') ? [inner] : inner };
  };
  const body = key.startsWith('kafka') ? KAFKA : BODIES[operation];
  return place(body, key.split('.')) as object;
}

const listed = CLIENT_KEYS.flatMap((entry) => entry.in.flatMap((of) => entry.keys.map((key) => ({ of, key, entry }))));

describe('a key that clients send though the API has none of this name', () => {
  it.each(listed)('$key of $of is unknown, and does what the list says', async ({ of, key, entry }) => {
    const row: Row = contract[of];
    const body = withKey(of, key, 'x');
    const path = key.replaceAll('[]', '[0]');
    expect(unknownKeys(row.body, body)).toHaveLength(1);
    expect((await why(of, withKey(of, key, null))) ?? '').not.toContain(path);
    if (entry.unless !== undefined) expect((await why(of, withKey(of, key, entry.unless))) ?? '').not.toContain(path);
    if (entry.ignored !== undefined) expect(await why(of, body)).toBeUndefined();
    else expect(await why(of, body)).toContain(`"${path}" is not possible: ${entry.refused}`);
  });
});

describe('any other unknown key', () => {
  it.each<[Operation, object, string]>([
    [
      'createCollection',
      { descripton: 'x' },
      'Cannot create a collection: "descripton" is not known; did you mean "description"?',
    ],
    [
      'createCollection',
      { event_time_info: { feild: 'x' } },
      '"event_time_info.feild" is not known; did you mean "field"?',
    ],
    ['runQuery', { sql: { ...sql, paramters: [1] } }, '"sql.paramters" is not known; did you mean "parameters"?'],
    [
      'runQuery',
      { sql: { ...sql, parameters: [{ name: 'a', typ: 'int' }] } },
      '"sql.parameters[0].typ" is not known; did you mean "type"?',
    ],
    ['createUser', { zzz: 0 }, '"zzz" is not known; known here: "email", "roles"'],
    ['createLambdaVersion', { creat: true }, '"creat" is not known; did you mean "create"?'],
    [
      'patchDocuments',
      { data: [{ _id: 'a', patch: [{ op: 'add', path: '/a', valu: 1 }] }] },
      '"data[0].patch[0].valu" is not known; did you mean "value"?',
    ],
  ])('of %s is refused: %j', async (operation, body, message) => {
    expect(await why(operation, body)).toContain(message);
  });

  it('is refused beside what else is wrong, and of many three are named', async () => {
    expect(await why('createUser', { name: 'x', roles: 1 })).toBe(
      'Cannot create a user: "name" is not known; known here: "email", "roles"; "roles": expected an array, got a number.',
    );
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 1]));
    expect(await why('createUser', many)).toMatch(
      /"k2" is not known[^;]*; known here: "email", "roles"; and 497 more\.$/,
    );
    expect((await why('createUser', { ['x'.repeat(100_000)]: 1 }))?.length).toBeLessThan(300);
  });

  it('is found in each entry of a long list', async () => {
    const parameters = Array.from({ length: 250 }, (_, index) => ({ name: `p${index}`, value: index }));
    const wrong = [...parameters, { name: 'q', val: 1 }];
    expect(await why('runQuery', { sql: { ...sql, parameters } })).toBeUndefined();
    expect(await why('runQuery', { sql: { ...sql, parameters: wrong } })).toContain(
      '"sql.parameters[250].val" is not known',
    );
  });

  it.each<[Operation, object]>([
    ['createUser', { a: null, b: [], c: {}, d: { e: [null, {}] } }],
    ['addDocuments', { data: [{ any: { thing: 1 } }] }],
    ['patchDocuments', { data: [{ _id: 'a', patch: [{ op: 'add', path: '/a', value: { any: 1 } }] }] }],
    ['runQuery', { sql: { ...sql, parameters: [{ name: 'a', type: 'object', value: { any: 1 } }] } }],
    ['validateQuery', { parameters: true }],
    ['createLambdaVersion', { create: true }],
    ['createCollection', { inverted_index_group_encoding_options: { any: 1 } }],
  ])('is none: %s with %j', async (operation, body) => {
    expect(await why(operation, body)).toBeUndefined();
  });

  it('of the query string is refused as well, unless it is empty', async () => {
    expect(await why('createLambdaVersion', {}, { creat: 'true' })).toContain(
      '"creat" in the query string is not known; did you mean "create"?',
    );
    expect(await why('createUser', {}, { limit: '5' })).toContain(
      '"limit" in the query string is not known; nothing is taken here',
    );
    expect(await why('createUser', {}, { limit: '' })).toBeUndefined();
  });
});
