import { state as nodeWarning } from '@aws-sdk/core/client';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { SourceError, type SourceFault } from './source.ts';

/*
 * What all sources of AWS have in common: how to sign in, where to, and what an error of its clients means.
 */

// Else the clients tell every process on Node.js 20 that their versions of next year will not run on it. Ours are pinned.
nodeWarning.warningEmitted = true;

/** The runner waits longer and longer between its own attempts; these only bridge what passes at once. */
const ATTEMPTS_MAX = 3;
const CONNECT_MS = 5_000;
const ANSWER_MS = 60_000;
const MESSAGE_CHARS_MAX = 300;
const REGION = /^[a-z0-9-]{1,40}$/;
const ROLE = /^arn:[a-z-]{1,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,600}$/;

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  expiration?: Date | undefined;
}

/** What each client of AWS is made with. */
export interface AwsClientConfig {
  region: string;
  /** Undefined: AWS's own of the region. */
  endpoint?: string;
  /** Asked again by the client when what they returned expires. Rejects a `SourceError`. */
  credentials: () => Promise<AwsCredentials>;
  maxAttempts: number;
  requestHandler: NodeHttpHandler;
}

/**
 * How clients sign in with a connection: its `cloud_access_key`, or its `cloud_role`, which the machine's own credentials
 * may assume; at its `endpoint`, which is for stores that are not AWS's. The region is only needed without one, and
 * otherwise `us-east-1` by default. Throws a `SourceError` if something of it cannot be meant.
 *
 * @param maxSockets how many requests may be on their way at once
 */
export function awsClientConfig(
  connection: JsonObject,
  cloudRegion: JsonValue | undefined,
  maxSockets = 16,
): AwsClientConfig {
  const endpoint = endpointOf(connection['endpoint']);
  const region = regionOf(cloudRegion, endpoint !== undefined);
  return {
    region,
    ...(endpoint !== undefined && { endpoint }),
    credentials: credentialsOf(connection, region),
    maxAttempts: ATTEMPTS_MAX,
    requestHandler: new NodeHttpHandler({
      connectionTimeout: CONNECT_MS,
      socketTimeout: ANSWER_MS,
      requestTimeout: ANSWER_MS,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets },
      httpsAgent: { keepAlive: true, maxSockets },
    }),
  };
}

function endpointOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isMeant =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === '';
  if (isMeant) return url.href;
  throw new SourceError(
    'settings',
    'The endpoint of the integration is no address: it has to be such as https://s3.example.com, without user, password and query.',
  );
}

function regionOf(value: JsonValue | undefined, isOptional: boolean): string {
  if ((value === undefined || value === null) && isOptional) return 'us-east-1';
  if (typeof value === 'string' && REGION.test(value)) return value;
  throw new SourceError('settings', 'The source needs cloud_region, a region of AWS such as us-east-1.');
}

function credentialsOf(connection: JsonObject, region: string): () => Promise<AwsCredentials> {
  const key = connection['cloud_access_key'];
  if (isObject(key)) {
    const [accessKeyId, secretAccessKey] = [key['cloud_access_key_id'], key['cloud_secret_access_key']];
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string')
      return async () => ({ accessKeyId, secretAccessKey });
  }
  const role = connection['cloud_role'];
  if (isObject(role)) {
    const arn = role['cloud_role_arn'];
    if (typeof arn !== 'string' || !ROLE.test(arn))
      throw new SourceError('settings', 'cloud_role_arn has to be such as arn:aws:iam::123456789012:role/reader.');
    const externalId = role['aws_external_id'] ?? role['cloud_external_id'];
    return () => assumeRole(arn, typeof externalId === 'string' ? externalId : undefined, region);
  }
  throw new SourceError('settings', 'The integration needs cloud_access_key or cloud_role.');
}

async function assumeRole(arn: string, externalId: string | undefined, region: string): Promise<AwsCredentials> {
  const { AssumeRoleCommand, machineCredentials, STSClient } = await import('./aws-sign-in.ts');
  const own = await machineCredentials().catch((error: unknown) => {
    throw new SourceError(
      'denied',
      `The role ${arn} can only be assumed with credentials of AWS, and this machine has none. Run the service on a machine with a role, or give it AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name cloud_access_key in the integration instead.`,
      { cause: error },
    );
  });
  const client = new STSClient({ region, credentials: own, maxAttempts: ATTEMPTS_MAX });
  try {
    const { Credentials: assumed } = await client.send(
      new AssumeRoleCommand({ RoleArn: arn, RoleSessionName: 'colloquy', ExternalId: externalId }),
    );
    if (assumed?.AccessKeyId === undefined || assumed.SecretAccessKey === undefined)
      throw new Error('The answer holds no credentials');
    return {
      accessKeyId: assumed.AccessKeyId,
      secretAccessKey: assumed.SecretAccessKey,
      sessionToken: assumed.SessionToken,
      expiration: assumed.Expiration,
    };
  } catch (error) {
    throw awsError(error, { service: 'AWS', thing: `the role ${arn}`, permissions: 'sts:AssumeRole' });
  } finally {
    client.destroy();
  }
}

/** What was asked for when a client of AWS rejected. */
export interface AwsAsking {
  /** Its name for people, such as `Kinesis`. */
  service: string;
  /** What the error is about, such as `the stream orders`. */
  thing: string;
  /** The permissions that the credentials need, such as `kinesis:GetRecords`. */
  permissions: string;
  /** Names of errors, and what they mean here. */
  known?: Readonly<Record<string, readonly [SourceFault, message: string]>> | undefined;
}

/** The rest are told by a status of 401 or 403. */
const DENIED = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'AuthFailure',
  'AuthorizationError',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'InvalidToken',
  'KMSAccessDeniedException',
  'MissingAuthenticationToken',
  'MissingAuthenticationTokenException',
  'NotAuthorizedException',
  'OptInRequired',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'SubscriptionRequiredException',
  'UnrecognizedClientException',
]);
const CLOCK = new Set(['RequestExpired', 'RequestInTheFuture', 'RequestTimeTooSkewed']);
/** Their messages repeat what was signed. */
const SIGNATURE = /signature/i;
const THROTTLED = /throttl|throughput|toomany|slowdown|limitexceeded|bandwidth|busy/i;
const SETTINGS = new Set([
  'AuthorizationHeaderMalformed',
  'InvalidArgumentException',
  'InvalidParameterCombination',
  'InvalidParameterValue',
  'PermanentRedirect',
  'ValidationException',
]);

/** An error of a client of AWS, as a source has to reject it; a `SourceError` stays as it is. */
export function awsError(error: unknown, asked: AwsAsking): SourceError {
  if (error instanceof SourceError) return error;
  const { name, message, code, status } = partsOf(error);
  const { service, thing, permissions, known } = asked;
  const [fault, text] = known?.[name] ?? [];
  if (fault !== undefined && text !== undefined) return new SourceError(fault, text, { cause: error });
  const said = SIGNATURE.test(name) ? name : [name, message].filter((part) => part !== '').join(': ');
  const make = (made: SourceFault, sentence: string) => new SourceError(made, sentence, { cause: error });
  if (CLOCK.has(name) && name !== 'RequestExpired')
    return make('unreachable', `${service} refuses ${thing} since the clock of this machine is wrong: ${said}`);
  if (THROTTLED.test(name) || status === 429)
    return make('unreachable', `${service} is busy or limits how often ${thing} may be asked: ${said}`);
  if (DENIED.has(name) || status === 401 || status === 403)
    return make(
      'denied',
      `${service} does not let these credentials read ${thing}: ${said}. They have to be right, and need ${permissions}.`,
    );
  if (SETTINGS.has(name)) return make('settings', `${service} does not take the settings of ${thing}: ${said}`);
  if (status === undefined || status >= 500)
    return make('unreachable', `${service} cannot be reached for ${thing}: ${code === '' ? said : code}`);
  return make('unreachable', `${service} answered for ${thing}: ${said}`);
}

/** Whether an error of a client of AWS has one of these names. */
export function isAwsError(error: unknown, ...names: string[]): boolean {
  return names.includes(partsOf(error).name);
}

/** Asks a client; rejects a `SourceError`, or the signal's reason. */
export async function askAws<T>(asked: AwsAsking, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    throw awsError(error, asked);
  }
}

function partsOf(error: unknown): { name: string; message: string; code: string; status: number | undefined } {
  if (!(error instanceof Error)) return { name: '', message: String(error), code: '', status: undefined };
  const { code, $metadata: answer } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } };
  const [line = ''] = error.message.split('\n', 1);
  return {
    name: error.name === 'Error' ? '' : error.name,
    message: line.slice(0, MESSAGE_CHARS_MAX),
    code: typeof code === 'string' ? code : '',
    status: answer?.httpStatusCode,
  };
}
