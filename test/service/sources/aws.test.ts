import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import { awsClientConfig, awsError } from '../../../src/service/sources/aws.ts';

/*
 * No registry has a server that lets roles be assumed as AWS does, so one here answers as its documentation says.
 */

const ARN = 'arn:aws:iam::123456789012:role/reader';
const ASKED = { service: 'Kinesis', thing: 'the stream orders', permissions: 'kinesis:GetRecords' };

let sts: Server;
let asked: URLSearchParams[];
let answer: { status: number; body: string };

beforeEach(async () => {
  asked = [];
  sts = createServer((from, to) => {
    let text = '';
    from.on('data', (piece) => {
      text += piece;
    });
    from.on('end', () => {
      asked.push(new URLSearchParams(text));
      to.writeHead(answer.status, { 'content-type': 'text/xml' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => sts.listen(0, '127.0.0.1', resolve));
  const address = sts.address();
  const port = typeof address === 'object' ? address?.port : 0;
  vi.stubEnv('AWS_ENDPOINT_URL_STS', `http://127.0.0.1:${port}`);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'machine');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'own secret');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  sts.closeAllConnections();
  await new Promise((resolve) => sts.close(resolve));
});

const role = (more: JsonObject = {}) => ({ cloud_role: { cloud_role_arn: ARN, ...more } });

test('a role is assumed with the credentials of the machine and the external id', async () => {
  answer = {
    status: 200,
    body: `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
      <AccessKeyId>temporary</AccessKeyId><SecretAccessKey>hidden</SecretAccessKey><SessionToken>token</SessionToken>
      <Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  };
  for (const name of ['aws_external_id', 'cloud_external_id']) {
    const config = awsClientConfig(role({ [name]: 'colloquy 7' }), 'eu-west-1');
    expect(await config.credentials()).toEqual({
      accessKeyId: 'temporary',
      secretAccessKey: 'hidden',
      sessionToken: 'token',
      expiration: new Date('2030-01-01T00:00:00Z'),
    });
    expect(Object.fromEntries(asked.at(-1) ?? [])).toMatchObject({
      Action: 'AssumeRole',
      RoleArn: ARN,
      ExternalId: 'colloquy 7',
    });
  }
});

test('a role that may not be assumed, and a machine without credentials, are told', async () => {
  answer = {
    status: 403,
    body: '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User is not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>',
  };
  await expect(awsClientConfig(role(), 'eu-west-1').credentials()).rejects.toMatchObject({
    fault: 'denied',
    message: expect.stringContaining(ARN),
  });
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
  await expect(awsClientConfig(role(), 'eu-west-1').credentials()).rejects.toMatchObject({
    fault: 'denied',
    message: expect.stringContaining('this machine has none'),
  });
});

test('a connection or region that cannot be meant is refused before anything is asked', () => {
  const key = { cloud_access_key: { cloud_access_key_id: 'a', cloud_secret_access_key: 'b' } };
  for (const [connection, region, what] of [
    [key, undefined, /cloud_region/],
    [key, 'us-east-1.evil.example/', /cloud_region/],
    [{ ...key, endpoint: 'ftp://store.example' }, undefined, /endpoint/],
    [{ ...key, endpoint: 'https://user:sesame@store.example' }, undefined, /endpoint/],
    [{ cloud_role: { cloud_role_arn: 'reader' } }, 'us-east-1', /cloud_role_arn/],
    [{}, 'us-east-1', /cloud_access_key or cloud_role/],
  ] as const) {
    const open = () => awsClientConfig(connection, region);
    expect(open).toThrow(what);
    expect(open).not.toThrow(/sesame/);
  }
  expect(awsClientConfig({ ...key, endpoint: 'https://store.example' }, undefined)).toMatchObject({
    region: 'us-east-1',
    endpoint: 'https://store.example/',
  });
});

test('errors of clients become faults, without what was signed', () => {
  const made = (name: string, status?: number, message = 'said') =>
    Object.assign(new Error(message), { name, ...(status !== undefined && { $metadata: { httpStatusCode: status } }) });
  for (const [error, fault] of [
    [made('ThrottlingException', 400), 'unreachable'],
    [made('SlowDown', 503), 'unreachable'],
    [made('RequestTimeTooSkewed', 403), 'unreachable'],
    [made('InternalFailure', 500), 'unreachable'],
    [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 'unreachable'],
    [made('UnrecognizedClientException', 400), 'denied'],
    [made('Forbidden', 403), 'denied'],
    [made('ValidationException', 400), 'settings'],
    [made('PermanentRedirect', 301), 'settings'],
  ] as const)
    expect(awsError(error, ASKED)).toMatchObject({ fault, message: expect.stringContaining('the stream orders') });
  const signed = awsError(
    made('SignatureDoesNotMatch', 403, 'The canonical string was x-amz-security-token:sesame'),
    ASKED,
  );
  expect(signed).toMatchObject({ fault: 'denied' });
  expect(signed.message).not.toContain('sesame');
});
