import type { IncomingMessage } from 'node:http';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { createRequests, type GoogleRequests, isPassing, jsonOf, reasonOf, unreachable } from './gcs-requests.ts';
import { readServiceAccount } from './gcs-sign-in.ts';
import { ObjectChanged, type ObjectStore, type StoredObject } from './object-store.ts';
import { openObjects } from './objects.ts';
import { SourceError, type SourceOptions, type SourceReader } from './source.ts';

/** The objects of a bucket of Google Cloud Storage, by its JSON API. */

const ENDPOINT = 'https://storage.googleapis.com';
const PAGE = 1_000;
const FIELDS = 'items(name,generation,size,updated),nextPageToken';

export async function openSource(options: SourceOptions): Promise<SourceReader> {
  const { connection } = options;
  return openObjects(options, 'gs://', (bucket) => {
    const account = readServiceAccount(connection);
    return createStore(createRequests(account), endpointOf(connection['endpoint']), bucket, account.email);
  });
}

function endpointOf(given: JsonValue | undefined): string {
  if (given === undefined || given === null) return ENDPOINT;
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search + url.username + url.password === '')
    return url.href.replace(/\/$/, '');
  throw new SourceError(
    'settings',
    'The endpoint of the integration is no address such as https://storage.example.com.',
  );
}

function createStore(requests: GoogleRequests, endpoint: string, bucket: string, email: string): ObjectStore {
  const objects = `${endpoint}/storage/v1/b/${encodeURIComponent(bucket)}/o`;
  const ask = async (url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> => {
    const answer = await requests.get(url, headers, signal);
    const { statusCode: status = 0 } = answer;
    if (status === 200 || status === 206) return answer;
    const { message, reason } = await errorOf(answer);
    throw failureOf({ status, message, reason, bucket, email });
  };
  return {
    bucket,
    async list(prefix, after, signal) {
      const url = new URL(objects);
      let token: string | undefined;
      for (;;) {
        url.search = new URLSearchParams({
          prefix,
          maxResults: String(PAGE),
          fields: FIELDS,
          // What begins there comes, too.
          ...(after !== null && { startOffset: after }),
          ...(token !== undefined && { pageToken: token }),
        }).toString();
        const { items, nextPageToken } = await jsonOf(await ask(url, {}, signal));
        token = typeof nextPageToken === 'string' ? nextPageToken : undefined;
        const all: readonly JsonValue[] = Array.isArray(items) ? items : [];
        const found = all.flatMap((one) => (isObject(one) ? [objectOf(one)] : []));
        const behind = found.filter(({ key }) => key !== after);
        if (behind.length > 0 || token === undefined) return { objects: behind, isLast: token === undefined };
      }
    },
    async open({ key, version }, from, signal) {
      const url = new URL(`${objects}/${encodeURIComponent(key)}`);
      url.search = new URLSearchParams({ alt: 'media', generation: version }).toString();
      // As it is stored: what is compressed there comes so, and has the size that is listed.
      const headers = { 'accept-encoding': 'gzip', ...(from > 0 && { range: `bytes=${from}-` }) };
      try {
        return piecesOf(await ask(url, headers, signal), bucket, signal);
      } catch (error) {
        if (error instanceof NotThere) throw new ObjectChanged(`${key} is another one`, { cause: error });
        throw error;
      }
    },
    close: () => requests.close(),
  };
}

function objectOf({ name, generation, size, updated }: JsonObject): StoredObject {
  const changedMs = Date.parse(String(updated));
  return {
    key: String(name),
    version: String(generation),
    size: Number(size ?? 0),
    changedMs: Number.isNaN(changedMs) ? undefined : changedMs,
  };
}

async function* piecesOf(answer: IncomingMessage, bucket: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  try {
    yield* answer as AsyncIterable<Buffer>;
  } catch (error) {
    signal.throwIfAborted();
    throw unreachable(`the bucket ${bucket}`, reasonOf(error), error);
  }
}

/** An object, or the bucket. */
class NotThere extends SourceError {}

async function errorOf(answer: IncomingMessage): Promise<{ message: string; reason: string }> {
  const { error } = await jsonOf(answer);
  const { message, errors } = isObject(error) ? error : {};
  const [first] = Array.isArray(errors) ? errors : [];
  const reason = isObject(first) ? first['reason'] : undefined;
  return { message: String(message ?? '').slice(0, 200), reason: String(reason ?? '') };
}

interface Failure {
  status: number;
  message: string;
  reason: string;
  bucket: string;
  email: string;
}

function failureOf({ status, message, reason, bucket, email }: Failure): SourceError {
  const said = message === '' ? `status ${status}` : message;
  if (isPassing(status) || /ratelimit/i.test(reason))
    return new SourceError(
      'unreachable',
      `Google Cloud Storage is busy, or limits how often the bucket ${bucket} may be asked: ${said}`,
    );
  if (status === 401 || status === 403)
    return new SourceError(
      'denied',
      `Google Cloud Storage does not let ${email} read the bucket ${bucket}: ${said}. It needs storage.objects.list and storage.objects.get, which the role Storage Object Viewer has.`,
    );
  if (status === 404 || status === 412 || status === 416)
    return new NotThere('settings', `The bucket ${bucket} does not exist, or is not seen by ${email}: ${said}`);
  return new SourceError(
    'settings',
    `Google Cloud Storage does not take what it was asked of the bucket ${bucket}: ${said}`,
  );
}
