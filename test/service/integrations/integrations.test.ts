import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/http/client.ts';
import { startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

const PATH = '/v1/orgs/self/integrations';
const KINDS = ['dynamodb', 'gcs', 'kafka', 'kinesis', 'mongodb', 'redshift', 's3', 'segment'];
const KEYS = [...KINDS, 'collections', 'created_at', 'created_by', 'description', 'name'].sort();
const MASK = '********';

const accessKey = { cloud_access_key_id: 'AKID', cloud_secret_access_key: 'top-secret-access' };
const maskedKey = { cloud_access_key_id: 'AKID', cloud_secret_access_key: MASK };
const redshift = {
  cloud_access_key: accessKey,
  username: 'reader',
  password: 'top-secret-password',
  host: 'cluster.example.com',
  port: 5439,
  s3_bucket_path: 's3://bucket/path',
};
const account = {
  type: 'service_account',
  project_id: 'p-1',
  private_key_id: 'top-secret-id',
  private_key: 'top-secret-pem',
  client_email: 'a@p-1.example.com',
  extra: { token: 'top-secret-token' },
};

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

let count = 0;
async function create(fields: Record<string, unknown>) {
  count += 1;
  return service.call('POST', PATH, { name: `i-${count}`, ...fields });
}

describe('createIntegration() and what is read back', () => {
  it.each<[string, unknown, unknown]>([
    ['s3', { cloud_access_key: accessKey }, { cloud_access_key: maskedKey, cloud_role: null }],
    ['kinesis', { cloud_access_key: accessKey }, { cloud_access_key: maskedKey, cloud_role: null }],
    [
      'dynamodb',
      { cloud_role: { cloud_role_arn: 'arn:x' } },
      { cloud_access_key: null, cloud_role: { cloud_role_arn: 'arn:x' } },
    ],
    ['redshift', redshift, { ...redshift, cloud_access_key: maskedKey, password: MASK }],
    [
      'gcs',
      { gcp_service_account: account },
      { gcp_service_account: { ...account, private_key_id: MASK, private_key: MASK, extra: MASK } },
    ],
    [
      'segment',
      { signing_secret: 'top-secret', connection_string: 'a-write-key-of-mine' },
      { signing_secret: MASK, connection_string: MASK },
    ],
    ['segment', {}, { connection_string: expect.stringMatching(/^[A-Za-z0-9]{64}$/) }],
    [
      'kafka',
      { kafka_topic_names: ['a', 'b', 'a'] },
      {
        kafka_topic_names: ['a', 'b'],
        source_status_by_topic: null,
        kafka_data_format: 'json',
      },
    ],
    [
      'mongodb',
      {
        connection_uri:
          'mongodb+srv://u:top-secret@h1:27017,h2/db?authSource=x&tlsCertificateKeyFilePassword=top-secret',
      },
      { connection_uri: `mongodb+srv://u:${MASK}@h1:27017,h2/db?authSource=x&tlsCertificateKeyFilePassword=${MASK}` },
    ],
    ['mongodb', { connection_uri: 'mongodb://localhost' }, { connection_uri: 'mongodb://localhost' }],
  ])('%s %j', async (kind, given, shown) => {
    const created = await create({ description: 'd', [kind]: given });
    expect(created.status).toBe(200);
    expect(keysOf(created.body)).toEqual(['data']);
    expect(keysOf(created.body.data)).toEqual(KEYS);
    const others = Object.fromEntries(KINDS.filter((one) => one !== kind).map((one) => [one, null]));
    expect(created.body.data).toEqual({
      name: `i-${count}`,
      description: 'd',
      created_by: 'admin@localhost',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      collections: [],
      ...others,
      [kind]: shown,
    });
    // A write key is in the answer that makes it, and never again.
    if (kind === 'segment') created.body.data.segment.connection_string = MASK;
    const read = await service.call('GET', `${PATH}/i-${count}`);
    expect(read.body).toEqual(created.body);
    const list = await service.call('GET', PATH);
    expect(list.body.data).toContainEqual(created.body.data);
    const deleted = await service.call('DELETE', `${PATH}/i-${count}`);
    expect(deleted.body).toEqual(created.body);
    for (const answer of [created, read, list, deleted]) expect(answer.text).not.toContain('top-secret');
    expect((await service.call('GET', `${PATH}/i-${count}`)).status).toBe(404);
  });

  it('through the HTTP core, and listed by name', async () => {
    const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    const kafka = { kafka_topic_names: ['t'] };
    await client.createIntegration({ name: 'zz', kafka });
    await client.createIntegration({ name: 'aa', kafka, s3: null });
    expect((await client.listIntegrations({})).map((one) => one.name)).toEqual(['aa', 'zz']);
    expect((await client.getIntegration({ integration: 'aa' })).kafka?.kafka_data_format).toBe('json');
    for (const integration of ['aa', 'zz']) await client.deleteIntegration({ integration });
    await expect(client.getIntegration({ integration: 'qqqqq' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'Integration "qqqqq" not found.',
      details: { messageKey: 'INTEGRATION_NOT_FOUND' },
    });
    await expect(client.createIntegration({ name: 'none' })).rejects.toMatchObject({ code: 'invalid_input' });
    await client.close();
  });

  it('null counts as absent, and unknown fields are refused without their values', async () => {
    const s3 = { cloud_role: { cloud_role_arn: 'arn:x' }, cloud_access_key: null };
    const answer = await create({ s3, kafka: null, mongodb: null, description: null, other: null });
    expect(answer.status).toBe(200);
    expect(answer.body.data.s3).toEqual({ cloud_access_key: null, cloud_role: { cloud_role_arn: 'arn:x' } });
    expect(answer.body.data.description).toBeNull();
    const refused = await create({ s3: { ...s3, token: 'x1' }, other: 'x2' });
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain('"s3.token" is not known');
    expect(refused.text).not.toMatch(/x[12]/);
  });

  it("the names that clients have for the provider's credentials are those of the API", async () => {
    const key = { aws_access_key_id: 'AKIA', aws_secret_access_key: 'hidden' };
    const answer = await create({ s3: { aws_access_key: key, aws_role: null } });
    expect(answer.status).toBe(200);
    expect(answer.body.data.s3.cloud_access_key.cloud_access_key_id).toBe('AKIA');
    expect(answer.text).not.toContain('hidden');
    const both = await create({ s3: { aws_access_key: key, cloud_access_key: { cloud_access_key_id: 'B' } } });
    expect(both.body.message).toContain('"s3.aws_access_key" is not known');
  });
});

describe('createIntegration() refuses', () => {
  const role = { cloud_role: { cloud_role_arn: 'arn:x' } };
  const uri = (connection_uri: unknown) => ({ mongodb: { connection_uri } });
  it.each<[string, Record<string, unknown>, string]>([
    [
      'no kind',
      {},
      'exactly one of s3, kinesis, dynamodb, redshift, gcs, segment, kafka, mongodb is needed, none is given',
    ],
    ['only nulls', { s3: null, kafka: null }, 'none is given'],
    ['two kinds', { s3: role, kafka: { kafka_topic_names: ['a'] } }, 's3 and kafka are given'],
    ['two kinds, one of them wrong', { s3: { cloud_role: {} }, segment: {} }, 's3 and segment are given'],
    ['a kind that is text', { s3: 'top-secret' }, '"s3": expected a JSON object, got a string'],
    ['a kind that is a list', { segment: ['top-secret'] }, '"segment": expected a JSON object'],
    [
      's3 without either',
      { s3: {} },
      '"s3": exactly one of cloud_access_key and cloud_role is needed, neither is given',
    ],
    ['s3 with nulls', { s3: { cloud_access_key: null, cloud_role: null } }, 'neither is given'],
    ['kinesis with both', { kinesis: { ...role, cloud_access_key: accessKey } }, '"kinesis": exactly one of'],
    [
      'half a key',
      { dynamodb: { cloud_access_key: { cloud_access_key_id: 'a' } } },
      '"dynamodb.cloud_access_key.cloud_secret_access_key" is missing',
    ],
    [
      'an empty secret',
      { s3: { cloud_access_key: { ...accessKey, cloud_secret_access_key: '' } } },
      '"s3.cloud_access_key.cloud_secret_access_key" must not be empty',
    ],
    ['a role without its name', { s3: { cloud_role: {} } }, '"s3.cloud_role.cloud_role_arn" is missing'],
    [
      'a secret of the wrong type',
      { redshift: { ...redshift, password: 987654321 } },
      '"redshift.password": expected a string',
    ],
    ['redshift without fields', { redshift: {} }, '"redshift.username" is missing'],
    ['redshift with a null', { redshift: { ...redshift, password: null } }, '"redshift.password"'],
    ['a port that is none', { redshift: { ...redshift, port: 70_000 } }, '"redshift.port"'],
    ['a port that is text', { redshift: { ...redshift, port: '5439' } }, '"redshift.port": expected a number'],
    ['gcs without account', { gcs: {} }, '"gcs.gcp_service_account" is missing'],
    ['an empty account', { gcs: { gcp_service_account: {} } }, '"gcs.gcp_service_account": the object is empty'],
    [
      'an account as text',
      { gcs: { gcp_service_account: '{"k":"top-secret"}' } },
      '"gcs.gcp_service_account": expected',
    ],
    ['kafka without topics', { kafka: { kafka_topic_names: [] } }, '"kafka.kafka_topic_names"'],
    [
      'a topic that is no text',
      { kafka: { kafka_topic_names: [1] } },
      '"kafka.kafka_topic_names[0]": expected a string',
    ],
    ['no connection string', { mongodb: {} }, '"mongodb.connection_uri" is missing'],
    ['a raw @ in the password', uri('mongodb://u:top@secret@host'), 'percent-encoded'],
    ['a raw / in the password', uri('mongodb://u:top/secret@host'), 'percent-encoded'],
    ['a raw ? in the password', uri('mongodb://u:top?secret@host'), 'percent-encoded'],
    ['a password without host', uri('mongodb://u:top-secret'), 'percent-encoded'],
    ['another scheme', uri('postgres://u:top-secret@host'), 'percent-encoded'],
    [
      'half a character',
      { gcs: { gcp_service_account: { a: { b: '\ud800top-secret' } } } },
      '"gcs" holds half of a surrogate pair at "/gcp_service_account/a/b"',
    ],
    ['half a character in the description', { description: '\ud800', s3: role }, '"description" holds half'],
    ['a bad name', { name: 'a b', s3: role }, '"name"'],
    ['a name with a dot', { name: 'a.b', s3: role }, '"name"'],
    ['a name that is too long', { name: 'x'.repeat(129), s3: role }, '"name"'],
  ])('%s', async (_, fields, message) => {
    const before = (await service.call('GET', PATH)).text;
    const answer = await create(fields);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(message);
    expect(answer.text).not.toMatch(/top[-@/?]secret|987654321/);
    expect((await service.call('GET', PATH)).text).toBe(before);
  });

  it('text that is no JSON, without quoting it', async () => {
    for (const rawBody of ['{"s3": top-secret}', '{"a":"top-secret" x}', 'top-secret', '{"a":"top-secret']) {
      const answer = await service.call('POST', PATH, undefined, { rawBody });
      expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
      expect(answer.body.message).toContain('is not valid JSON');
      expect(answer.text).not.toContain('secret');
    }
  });

  it('a name that is taken, in any case', async () => {
    expect((await create({ name: 'Taken', s3: role })).status).toBe(200);
    for (const name of ['Taken', 'taken', 'TAKEN']) {
      const answer = await create({ name, s3: role });
      expect([answer.status, answer.body.type]).toEqual([409, 'ALREADYEXISTS']);
      expect(answer.body.message).toContain(`Cannot create integration "${name}"`);
    }
    const answers = await Promise.all(Array.from({ length: 5 }, () => create({ name: 'race', s3: role })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409]);
  });
});

describe('one integration', () => {
  it('that does not exist is a 404 that offers the nearest name', async () => {
    await create({ name: 'my-bucket', kafka: { kafka_topic_names: ['a'] } });
    for (const method of ['GET', 'DELETE']) {
      const answer = await service.call(method, `${PATH}/my-buckt`);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect([answer.status, answer.body.message_key]).toEqual([404, 'INTEGRATION_NOT_FOUND']);
      expect(answer.body.message).toBe('Integration "my-buckt" not found. Did you mean "my-bucket"?');
    }
    expect((await service.call('DELETE', `${PATH}/zzzzzzzzzz`)).body.message).toBe(
      'Integration "zzzzzzzzzz" not found.',
    );
    expect((await service.call('PATCH', `${PATH}/my-bucket`)).status).toBe(405);
  });

  it('is made and deleted by admins only, and read by all', async () => {
    const keys = await Promise.all(
      (['member', 'read-only'] as const).map(async (role) => {
        await service.call('POST', '/v1/orgs/self/users', { email: `${role}@example.com`, roles: [role] });
        const key = await service.call('POST', `/v1/orgs/self/users/${role}@example.com/apikeys`, { name: 'k' });
        return key.body.data.key as string;
      }),
    );
    const body = { name: 'mine', kafka: { kafka_topic_names: ['a'] } };
    await service.call('POST', PATH, body);
    for (const key of keys) {
      expect((await service.call('POST', PATH, body, { key })).status).toBe(403);
      expect((await service.call('DELETE', `${PATH}/mine`, undefined, { key })).status).toBe(403);
      expect((await service.call('GET', `${PATH}/mine`, undefined, { key })).status).toBe(200);
      expect((await service.call('GET', PATH, undefined, { key })).status).toBe(200);
    }
    expect((await service.call('GET', PATH, undefined, { key: null })).status).toBe(401);
  });
});

describe('updateIntegration()', () => {
  const update = (name: string, connection: unknown) =>
    service.call('POST', `/v1/colloquy/integrations/${name}/connection`, { connection });

  it('stores other details of the same kind, masked, and keeps what is not a connection', async () => {
    await create({ name: 'updated', description: 'd', redshift });
    const answer = await update('updated', { ...redshift, password: 'top-secret-2', host: 'other.example.com' });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ name: 'updated', description: 'd' });
    expect(answer.body.data.redshift).toMatchObject({ host: 'other.example.com', password: MASK });
    expect(answer.text).not.toContain('top-secret');
    expect((await service.call('GET', `${PATH}/updated`)).body.data).toEqual(answer.body.data);
  });

  it('understands the names that clients have, and refuses what is missing, unknown or elsewhere', async () => {
    await create({ name: 'named', s3: { cloud_access_key: accessKey } });
    const key = { aws_access_key_id: 'NEW', aws_secret_access_key: 'hidden' };
    expect((await update('named', { aws_access_key: key })).body.data.s3.cloud_access_key.cloud_access_key_id).toBe(
      'NEW',
    );
    expect((await update('named', {})).body.message).toContain('neither is given');
    expect((await update('named', { cloud_access_key: accessKey, password: 'x' })).body.message).toContain(
      '"s3.password" is not known',
    );
    expect((await update('qqqqq', {})).status).toBe(404);
  });

  it('of segment keeps the write key, unless another one is given, and shows none', async () => {
    const made = await create({ name: 'keyed', segment: {} });
    const key = made.body.data.segment.connection_string;
    const signed = await update('keyed', { signing_secret: 'top-secret' });
    expect(signed.body.data.segment).toEqual({ connection_string: MASK, signing_secret: MASK });
    await create({ name: 'second', segment: { connection_string: 'a-write-key-of-mine-2' } });
    const taken = await update('second', { connection_string: key });
    expect([taken.status, taken.body.message]).toEqual([
      409,
      expect.stringContaining('"keyed" has the same write key'),
    ]);
  });
});
