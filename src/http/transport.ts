import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { ApiError } from '../contract/errors.ts';
import { type CertificateFault, certificateFault } from './certificate.ts';
import type { Address } from './target.ts';

export interface TransportOptions {
  /** Time to get a connection, in milliseconds (default 10,000). */
  connectTimeoutMs?: number | undefined;
  /** Open connections; further calls wait for one (default 64). */
  connectionsMax?: number | undefined;
}

export interface RawRequest {
  /** What the request is for, as the beginning of messages, e.g. an operation's name. */
  purpose: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Percent-encoded path with its query string, without the address's base path. */
  path: string;
  headers: Record<string, string>;
  body?: string | Readable | undefined;
  /** Told of the text of the answer as it arrives; only that of an error is in the answer, too. */
  onChunk?: ((text: string) => void) | undefined;
  /**
   * The request changes something. On a socket path it gets a connection of its own, which costs next to nothing there:
   * a kept-alive connection may turn out to be dead only after the request was sent, and then its outcome is unknown.
   */
  changes?: boolean | undefined;
  /** Aborting closes the connection; the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Longest body accepted, in bytes (default 80 MiB). */
  responseBytesMax?: number | undefined;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends requests to one address and reads whole answers, without interpreting them. */
export interface Transport {
  /** Rejects `connection_failed`, `response_too_large`, or with the reason of the request's signal. */
  send(request: RawRequest): Promise<RawResponse>;
  /** Aborts running requests and closes every connection. */
  close(): Promise<void>;
}

const RESPONSE_BYTES_MAX = 80 * 1024 * 1024;

const unsent = new WeakSet<object>();

/** Whether the request behind this error certainly was not sent, since no connection was made. */
export function wasNeverSent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && unsent.has(error);
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  EACCES: 'access is denied',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was made in time',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection broke in the middle of the answer',
};

const certificateFaults = new WeakMap<object, CertificateFault>();

/** Why the other side's certificate was refused; undefined if the error is not about that. */
export function refusedCertificate(error: unknown): CertificateFault | undefined {
  return typeof error === 'object' && error !== null ? certificateFaults.get(error) : undefined;
}

function reasonOf(code: string): string {
  return REASONS[code] ?? (/TLS|SSL|EPROTO/.test(code) ? 'no TLS connection could be made' : 'it failed');
}

function connectionFailed(request: RawRequest, address: Address, error: unknown): ApiError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  const fault = certificateFault(code);
  const reason = fault === undefined ? reasonOf(code) : `its certificate is refused, since ${fault.why}`;
  // The original error may contain parts of the conversation, so only its name and code are kept.
  const cause = new Error(error instanceof Error ? `${error.name} ${code}` : code);
  const failure = new ApiError(
    'connection_failed',
    `Cannot call ${request.purpose} at ${address.label}: ${reason} (${code}). ${fault?.remedy ?? 'Check that the service runs and that the address is right.'}`,
    { cause },
  );
  if (fault !== undefined) certificateFaults.set(failure, fault);
  if (wasNeverSent(error)) unsent.add(failure);
  return failure;
}

/** Rejects as soon as the signal aborts, even while undici still waits for a connection. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Opens a pool of HTTP/1.1 connections to one address; none is made before the first request. */
export function openTransport(address: Address, options: TransportOptions = {}): Transport {
  const connect = buildConnector({
    timeout: options.connectTimeoutMs ?? 10_000,
    ...(address.socketPath === undefined ? {} : { socketPath: address.socketPath }),
  });
  const openPool = (pipelining: number) =>
    new Pool(address.origin, {
      connections: options.connectionsMax ?? 64,
      pipelining,
      // The caller's deadline covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (target, callback) => {
        connect(target, (...[error, socket]) => {
          if (error === null) return callback(null, socket);
          unsent.add(error);
          callback(error, null);
        });
      },
    });
  const keeping = openPool(1);
  // With `pipelining: 0` undici keeps no connection alive.
  const fresh = address.socketPath === undefined ? keeping : openPool(0);

  async function send(request: RawRequest): Promise<RawResponse> {
    const { method, headers, body, signal } = request;
    try {
      const asked = (request.changes === true ? fresh : keeping).request({
        method,
        path: `${address.basePath}${request.path}`,
        headers,
        body: body ?? null,
        ...(signal === undefined ? {} : { signal }),
      });
      const response = await untilAborted(asked, signal);
      const text = await untilAborted(readText(request, response), signal);
      return { status: response.statusCode, headers: response.headers, text };
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof ApiError) throw error;
      throw connectionFailed(request, address, error);
    }
  }

  async function close(): Promise<void> {
    await keeping.destroy();
    if (fresh !== keeping) await fresh.destroy();
  }

  return { send, close };
}

async function readText(
  request: RawRequest,
  { statusCode, headers, body }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>,
): Promise<string> {
  const { onChunk } = request;
  const max = request.responseBytesMax ?? RESPONSE_BYTES_MAX;
  // Destroying the body emits an error, for which nobody listens any more.
  body.on('error', () => {});
  const tooLarge = () => {
    body.destroy();
    return new ApiError(
      'response_too_large',
      `Cannot read the answer of ${request.purpose}: it is larger than ${max} bytes. Ask for less, e.g. with a LIMIT or fewer columns.`,
    );
  };
  if (Number(headers['content-length']) > max) throw tooLarge();
  const decoder = new TextDecoder();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > max) throw tooLarge();
    if (onChunk === undefined || statusCode >= 400) chunks.push(chunk);
    onChunk?.(decoder.decode(chunk, { stream: true }));
  }
  return Buffer.concat(chunks).toString('utf8');
}
