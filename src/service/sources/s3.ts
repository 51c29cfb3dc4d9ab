import { GetObjectCommand, ListObjectsV2Command, type ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import type { JsonValue } from '../../contract/json/json.ts';
import { type AwsAsking, askAws, awsClientConfig, awsError, isAwsError } from './aws.ts';
import { ObjectChanged, ObjectRefused, type ObjectStore, type StoredObject } from './object-store.ts';
import { openObjects } from './objects.ts';
import { SourceError, type SourceOptions, type SourceReader } from './source.ts';

/** The objects of a bucket of Amazon S3, or of a store that speaks its protocol. */

const SERVICE = 'S3';
const SOCKETS_MAX = 32;
/** The client follows the bucket to its own region from there. */
const ANY_REGION = 'us-east-1';

export async function openSource(options: SourceOptions): Promise<SourceReader> {
  const { connection, settings } = options;
  return openObjects(options, 's3://', (bucket) => {
    const { endpoint, path_style: pathStyle } = connection;
    const config = awsClientConfig(connection, regionOf(settings['region']), SOCKETS_MAX);
    const client = new S3Client({
      ...config,
      // Names of buckets are hosts at AWS, and hardly anywhere else.
      forcePathStyle: typeof pathStyle === 'boolean' ? pathStyle : (endpoint ?? null) !== null,
      followRegionRedirects: true,
      // Other stores do not know of the checksums that are not asked for.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    return createStore(client, bucket);
  });
}

function regionOf(given: JsonValue | undefined): string {
  if (given === undefined || given === null || given === '') return ANY_REGION;
  if (typeof given === 'string' && /^[a-z0-9-]{1,40}$/.test(given)) return given;
  throw new SourceError('settings', 'region has to be a region of AWS, such as eu-central-1.');
}

function createStore(client: S3Client, bucket: string): ObjectStore {
  const asked: AwsAsking = {
    service: SERVICE,
    thing: `the bucket ${bucket}`,
    permissions: 's3:ListBucket and s3:GetObject',
    known: {
      NoSuchBucket: ['settings', `The bucket ${bucket} does not exist.`],
      InvalidBucketName: ['settings', `${bucket} is no name of a bucket.`],
      PermanentRedirect: ['settings', `The bucket ${bucket} is in another region; name it in "region".`],
    },
  };
  const page = (prefix: string, after: string | null, token: string | undefined, signal: AbortSignal) =>
    askAws(asked, signal, () =>
      client.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(token === undefined ? after !== null && { StartAfter: after } : { ContinuationToken: token }),
          // A key may hold characters that XML has not.
          EncodingType: 'url',
        }),
        { abortSignal: signal },
      ),
    );
  return {
    bucket,
    async list(prefix, after, signal) {
      let answer = await page(prefix, after, undefined, signal);
      // A page may be empty although it is not the last one.
      while (objectsOf(answer).length === 0 && answer.NextContinuationToken !== undefined)
        answer = await page(prefix, after, answer.NextContinuationToken, signal);
      return { objects: objectsOf(answer), isLast: answer.IsTruncated !== true };
    },
    async open(object, from, signal) {
      try {
        const { Body: body } = await client.send(
          new GetObjectCommand({
            Bucket: bucket,
            Key: object.key,
            IfMatch: object.version,
            ...(from > 0 && { Range: `bytes=${from}-` }),
          }),
          { abortSignal: signal },
        );
        return piecesOf(body as unknown as AsyncIterable<Buffer>, asked, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw openError(error, object, asked);
      }
    },
    close: () => client.destroy(),
  };
}

function objectsOf({ Contents: contents = [], EncodingType: encoding }: ListObjectsV2CommandOutput): StoredObject[] {
  return contents.flatMap(({ Key: key, ETag: version, Size: size, LastModified: changed }) =>
    key === undefined
      ? []
      : [
          {
            key: encoding === 'url' ? decoded(key) : key,
            version: version ?? '',
            size: size ?? 0,
            changedMs: changed?.getTime(),
          },
        ],
  );
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}

function openError(error: unknown, { key }: StoredObject, asked: AwsAsking): Error {
  if (isAwsError(error, 'NoSuchKey', 'NotFound', 'PreconditionFailed', 'InvalidRange'))
    return new ObjectChanged(`${key} is another one`, { cause: error });
  if (isAwsError(error, 'InvalidObjectState'))
    return new ObjectRefused('is in an archive, from which it cannot be read: restore it, and write it anew');
  return awsError(error, { ...asked, thing: `the object ${key} of ${asked.thing}` });
}

/** The pieces of a body, whose errors are those of the source. */
async function* piecesOf(
  body: AsyncIterable<Buffer>,
  asked: AwsAsking,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  try {
    yield* body;
  } catch (error) {
    signal.throwIfAborted();
    throw awsError(error, asked);
  }
}
