import { createHash, createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AwsCredentials } from './aws.ts';

/*
 * Reads of objects beside the client of AWS, which takes several times as long to ask for a small one as to receive it. How
 * and where to ask is seen from what the client does; whatever does not come as it should is for the client to ask for again.
 */

/** A request as the client sends it. */
export interface SentRequest {
  protocol: string;
  hostname: string;
  port?: number | undefined;
  path: string;
  headers: Record<string, string>;
}

export interface DirectReads {
  /**
   * The bytes of an object; undefined: the client has to ask, by way of `learn`. Rejects nothing but the signal's reason.
   * While the client asks for the first object the others wait.
   */
  get(key: string, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage | undefined>;
  /** Lets the client ask for an object; `note` is to be told what it sends. */
  learn<T>(key: string, ask: (note: (request: SentRequest) => void) => Promise<T>): Promise<T>;
  close(): void;
}

/** Where objects are, and how requests for them are signed. */
interface Way {
  isPlain: boolean;
  hostname: string;
  port: number | undefined;
  host: string;
  /** What stands before the key. */
  path: string;
  region: string;
}

/** Without any byte. */
const IDLE_MS = 60_000;
const CREDENTIAL = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/([a-z0-9-]+)\/s3\/aws4_request,/;
const NO_BODY = createHash('sha256').digest('hex');

export function createDirectReads(credentials: () => Promise<AwsCredentials>, maxSockets: number): DirectReads {
  const options = { keepAlive: true, maxSockets };
  const agents = { plain: new HttpAgent(options), tls: new HttpsAgent(options) };
  const keys = createSigningKeys();
  let way: Way | undefined;
  /** Whether a request failed that the client may be able to make. */
  let hasFailed = false;
  let learning: { promise: Promise<void>; end: () => void } | undefined;

  function beginLearning() {
    let end: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      end = resolve;
    });
    learning = { promise, end };
  }

  function send(to: Way, path: string, headers: Record<string, string>, signal: AbortSignal) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const { isPlain, hostname, port } = to;
      const request = (isPlain ? httpRequest : httpsRequest)(
        { hostname, port, path, headers, signal, agent: isPlain ? agents.plain : agents.tls },
        resolve,
      );
      request.setTimeout(IDLE_MS, () => request.destroy(new Error(`it did not answer within ${IDLE_MS / 1_000} s`)));
      request.on('error', reject);
      request.end();
    });
  }

  return {
    async learn(key, ask) {
      let sent: SentRequest | undefined;
      try {
        const answer = await ask((request) => {
          sent = request;
        });
        // It comes where this does not.
        if (sent !== undefined && !hasFailed) way ??= wayOf(sent, key);
        return answer;
      } finally {
        learning?.end();
        learning = undefined;
      }
    },
    async get(key, given, signal) {
      if (way === undefined && !hasFailed) {
        if (learning === undefined) {
          beginLearning();
          return undefined;
        }
        await learning.promise;
      }
      const to = way;
      if (to === undefined) return undefined;
      const path = to.path + encodedKey(key);
      try {
        const headers = { ...given, ...signed(to, path, await credentials(), keys, new Date()) };
        const answer = await send(to, path, headers, signal);
        if (answer.statusCode === (given['range'] === undefined ? 200 : 206)) return answer;
        answer.resume();
        // That it is not there, or another one, says nothing of how it was asked for.
        if (answer.statusCode !== 404 && answer.statusCode !== 412) hasFailed = true;
      } catch {
        signal.throwIfAborted();
        return undefined;
      }
      if (hasFailed) way = undefined;
      return undefined;
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function wayOf({ protocol, hostname, port, path, headers }: SentRequest, key: string): Way | undefined {
  const [, region] = CREDENTIAL.exec(headers['authorization'] ?? '') ?? [];
  const host = headers['host'];
  const suffix = encodedKey(key);
  if (region === undefined || host === undefined || !path.endsWith(suffix)) return undefined;
  const before = path.slice(0, path.length - suffix.length);
  return { isPlain: protocol === 'http:', hostname, port, host, path: before, region };
}

/** As it stands in a path. */
function encodedKey(key: string): string {
  const encoded = (part: string) =>
    encodeURIComponent(part).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return key.split('/').map(encoded).join('/');
}

type SigningKeys = (secret: string, day: string, region: string) => Buffer;

/** The last one is kept: it is the same for a day. */
function createSigningKeys(): SigningKeys {
  let last: { of: string; key: Buffer } | undefined;
  return (secret, day, region) => {
    const of = `${secret} ${day} ${region}`;
    if (last?.of !== of) {
      const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secret}`);
      last = { of, key: Buffer.from(key) };
    }
    return last.key;
  };
}

const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest();

/** The headers of a signed request without a body, by Signature Version 4. */
function signed(
  { host, region }: Way,
  path: string,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  keys: SigningKeys,
  now: Date,
): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = { host, 'x-amz-content-sha256': NO_BODY, 'x-amz-date': time };
  if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken;
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const asked = ['GET', path, '', lines.join(''), names, NO_BODY].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(asked).digest('hex')].join('\n');
  const signature = hmac(keys(secretAccessKey, day, region), text).toString('hex');
  const credential = `${accessKeyId}/${scope}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  };
}
