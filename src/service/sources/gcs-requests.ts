import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { isObject, type JsonObject, parseJson } from '../../contract/json/json.ts';
import { assertionOf, type ServiceAccount } from './gcs-sign-in.ts';
import { SourceError } from './source.ts';

/** Requests to Google Cloud as a service account. */
export interface GoogleRequests {
  /** Resolves to an answer, whatever its status but for those that pass; the caller reads or destroys it. */
  get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

const CONNECTIONS_MAX = 32;
/** Without any byte. */
const IDLE_MS = 60_000;
const ATTEMPTS_MAX = 3;
const RETRY_MS = 250;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** A token is asked for anew so long before it ends, or at half of its time. */
const TOKEN_SPARE_MS = 60_000;

/** Statuses after which it is tried again. */
export const isPassing = (status: number) => status === 408 || status === 429 || status >= 500;

export function createRequests(account: ServiceAccount): GoogleRequests {
  const options = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
  let token: { text: string; endsMs: number } | undefined;
  let asking: Promise<string> | undefined;

  function send(url: URL, headers: Record<string, string>, signal: AbortSignal, body?: string) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const isPlain = url.protocol === 'http:';
      const request = (isPlain ? httpRequest : httpsRequest)(
        url,
        {
          agent: isPlain ? agents['http:'] : agents['https:'],
          method: body === undefined ? 'GET' : 'POST',
          headers: { 'user-agent': 'colloquy', ...headers },
          signal,
        },
        resolve,
      );
      request.setTimeout(IDLE_MS, () => request.destroy(new Error(`it did not answer within ${IDLE_MS / 1_000} s`)));
      request.on('error', reject);
      request.end(body);
    });
  }

  async function newToken(signal: AbortSignal): Promise<string> {
    const grant = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: assertionOf(account, Date.now()),
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await attempts(signal, 'its sign-in', () =>
      send(account.tokenUrl, headers, signal, grant.toString()),
    );
    const { statusCode: status = 0 } = answer;
    const fields = await jsonOf(answer);
    const { access_token: text, expires_in: seconds, error_description: why } = fields;
    if (status === 200 && typeof text === 'string') {
      const ms = Number(seconds ?? 0) * 1_000;
      token = { text, endsMs: Date.now() + Math.max(ms - TOKEN_SPARE_MS, ms / 2) };
      return text;
    }
    if (isPassing(status)) throw unreachable('its sign-in', `it answered with the status ${status}`);
    throw new SourceError(
      'denied',
      `Google Cloud does not let the service account ${account.email} sign in: ${String(why ?? `status ${status}`).slice(0, 200)}. Its key may be deleted, or the clock of this machine wrong.`,
    );
  }

  async function bearer(signal: AbortSignal): Promise<string> {
    if (token !== undefined && token.endsMs > Date.now()) return token.text;
    // One for all that wait.
    asking ??= newToken(signal).finally(() => {
      asking = undefined;
    });
    return await asking;
  }

  return {
    async get(url, headers, signal) {
      for (let isFirst = true; ; isFirst = false) {
        const text = await bearer(signal);
        const answer = await attempts(signal, url.host, () =>
          send(url, { ...headers, authorization: `Bearer ${text}` }, signal),
        );
        if (answer.statusCode !== 401 || !isFirst) return answer;
        // It ended earlier than it said.
        answer.resume();
        if (token?.text === text) token = undefined;
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Bridges what passes at once; the last answer is that, whatever it is. */
async function attempts(
  signal: AbortSignal,
  what: string,
  send: () => Promise<IncomingMessage>,
): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt++) {
    let failure: unknown;
    try {
      const answer = await send();
      if (!isPassing(answer.statusCode ?? 0) || attempt === ATTEMPTS_MAX) return answer;
      answer.resume();
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    if (attempt === ATTEMPTS_MAX) throw unreachable(what, reasonOf(failure), failure);
    await delay(RETRY_MS * 2 ** attempt * (0.75 + Math.random() / 2), undefined, { signal });
  }
}

export function unreachable(what: string, why: string, cause?: unknown): SourceError {
  return new SourceError('unreachable', `Google Cloud Storage cannot be reached (${what}): ${why}.`, { cause });
}

export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' ? code : String(message ?? error).slice(0, 200);
}

/** The object that an answer is; empty if it is none. Rejects an `unreachable` if it breaks off. */
export async function jsonOf(answer: IncomingMessage): Promise<JsonObject> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > ANSWER_BYTES_MAX) throw new Error(`it answered with more than ${ANSWER_BYTES_MAX} bytes`);
      pieces.push(piece);
    }
  } catch (error) {
    throw unreachable('an answer', reasonOf(error), error);
  }
  try {
    const value = parseJson(Buffer.concat(pieces).toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
