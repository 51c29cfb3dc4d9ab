import { setMaxListeners } from 'node:events';
import { type AnyOperation, allRows, type Input, type Output } from '../contract/contract.ts';
import { ApiError } from '../contract/errors.ts';
import { DEFAULTS_HEADER } from '../contract/lambdas.ts';
import type { LoadProgress, LoadResult } from '../contract/load.ts';
import { KEEP_HEADER } from '../contract/results.ts';
import type { Contract, Row } from '../contract/row.ts';
import { TRASH_HEADER } from '../contract/trash.ts';
import { type LoadCall, sendLoad } from './load.ts';
import { type WireRequest, wireRequest } from './request.ts';
import { type Exchange, readFailure, readResult } from './response.ts';
import { mayRepeat, pause, pauseBeforeRetry, type RetryOptions } from './retry.ts';
import { type Address, resolveTarget, type Target } from './target.ts';
import { openTransport, type Transport, wasNeverSent } from './transport.ts';

export type { Target } from './target.ts';

export interface ClientOptions {
  target: Target;
  /** The key, or a function that returns it for each call, if it may change. */
  apiKey: string | (() => string);
  /** Default time limit of a whole call, retries included, in milliseconds (default 150,000). */
  timeoutMs?: number | undefined;
  /** Time to get a connection, in milliseconds (default 10,000). */
  connectTimeoutMs?: number | undefined;
  /** Longest answer accepted, in bytes (default 80 MiB). */
  responseBytesMax?: number | undefined;
  retry?: RetryOptions | undefined;
  /** Headers in addition to the client's own; the function is called for each try (default: none). */
  headers?: (() => Readonly<Record<string, string>>) | undefined;
  /** Refuses everything that is not a read, with `forbidden`, before anything is sent (default false). */
  readOnly?: boolean | undefined;
  /**
   * Called if the connection failed or the service answered `not_ready`, to bring the service back; the next try
   * follows at once. If it rejects, the call rejects with that error. Only for a service that answers `not_ready`
   * before doing anything, since changes, too, are repeated after `not_ready`.
   */
  recover?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

export interface CallOptions {
  /** Aborting closes the connection, which stops a running query in the service. */
  signal?: AbortSignal | undefined;
  /** Time for the whole call, retries included, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Asks to keep the query's whole result, and to return at most this many of its rows, or none; see `KEEP_HEADER`. */
  keepResult?: number | 'whole' | undefined;
  /** Asks where what is deleted goes: the answer then has `trash`; see `TRASH_HEADER`. */
  tellTrash?: boolean | undefined;
}

export interface LoadCallOptions {
  signal?: AbortSignal | undefined;
  /** Told what is in, as soon as it is durable. */
  onProgress?: (progress: LoadProgress) => void;
}

/** The API as functions, one per contract row; each rejects with `ApiError`. */
export type Client = {
  readonly [K in AnyOperation]: (input: Input<K>, options?: CallOptions) => Promise<Output<K>>;
} & {
  /** Adds the documents of a stream of bytes to a collection; see `sendLoad`. */
  load(input: LoadCall, body: AsyncIterable<Buffer>, options?: LoadCallOptions): Promise<LoadResult>;
  /** Aborts running calls (`aborted`) and closes every connection. */
  close(): Promise<void>;
};

const TIMEOUT_MS = 150_000;
const TIMER_MAX_MS = 2 ** 31 - 1;

interface Context {
  options: ClientOptions;
  address: Address;
  transport: Transport;
  closing: AbortSignal;
}

/**
 * A client for any service that speaks the contract. Nothing is sent before the first call.
 * Throws `invalid_input` for a target or key that cannot be used.
 */
export function createClient(options: ClientOptions): Client {
  const address = resolveTarget(options.target);
  if (typeof options.apiKey === 'string') checkKey(options.apiKey);
  const transport = openTransport(address, { connectTimeoutMs: options.connectTimeoutMs });
  const closer = new AbortController();
  // Each call adds a listener: Node.js warns about more than ten, but any number is fine here.
  setMaxListeners(0, closer.signal);
  const context: Context = { options, address, transport, closing: closer.signal };
  const calls = Object.entries(allRows as Contract).map(([operation, row]) => [
    operation,
    (input: unknown, callOptions: CallOptions = {}) => call(context, operation, row, input, callOptions),
  ]);
  const load: Client['load'] = async (input, body, loadOptions = {}) => {
    if (options.readOnly === true) refuseChange('load');
    const apiKey = keyNow(options);
    const headers = { ...options.headers?.(), ...headersFor(apiKey, false) };
    const idleMs = options.timeoutMs ?? TIMEOUT_MS;
    const { signal: closing } = closer;
    return sendLoad(
      { label: address.label, apiKey, headers, idleMs, closing, send: transport.send },
      input,
      body,
      loadOptions,
    );
  };
  async function close() {
    closer.abort();
    await transport.close();
  }
  // One function per row, typed by its row; TypeScript cannot infer that from the loop.
  return Object.freeze(Object.fromEntries([...calls, ['load', load], ['close', close]])) as Client;
}

function keyNow({ apiKey }: ClientOptions): string {
  return checkKey(typeof apiKey === 'string' ? apiKey : apiKey());
}

function checkKey(apiKey: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(apiKey)) return apiKey;
  throw new ApiError(
    'invalid_input',
    'Cannot use the API key: it is empty, or holds spaces, line breaks or non-ASCII characters. Copy it again.',
  );
}

async function call(
  context: Context,
  operation: string,
  row: Row,
  input: unknown,
  callOptions: CallOptions,
): Promise<unknown> {
  if (context.options.readOnly === true && row.effect !== 'read') refuseChange(operation);
  const request = wireRequest(operation, row, input);
  const deadline = startDeadline(context, operation, row, callOptions);
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await once(context, operation, row, request, deadline.signal, callOptions);
      } catch (error) {
        await beforeRetry(context.options, row, error, tries, deadline);
      }
    }
  } finally {
    deadline.stop();
  }
}

function refuseChange(operation: string): never {
  throw new ApiError(
    'forbidden',
    `${operation} was not sent: it changes something, and this connection is set to read only. A human can start the program without that setting.`,
  );
}

async function once(
  context: Context,
  operation: string,
  row: Row,
  request: WireRequest,
  signal: AbortSignal,
  { keepResult, tellTrash }: Pick<CallOptions, 'keepResult' | 'tellTrash'>,
) {
  const { options, address, transport } = context;
  const apiKey = keyNow(options);
  const response = await transport.send({
    purpose: operation,
    method: row.method,
    path: request.path,
    headers: {
      ...options.headers?.(),
      ...headersFor(apiKey, request.body !== undefined),
      [DEFAULTS_HEADER]: 'json',
      ...(keepResult === undefined ? {} : { [KEEP_HEADER]: String(keepResult) }),
      ...(tellTrash === true ? { [TRASH_HEADER]: 'told' } : {}),
    },
    body: request.body,
    changes: row.effect !== 'read',
    signal,
    responseBytesMax: options.responseBytesMax,
  });
  const exchange: Exchange = { operation, row, label: address.label, apiKey };
  if (response.status >= 400) throw readFailure(exchange, response);
  return readResult(exchange, response);
}

function headersFor(apiKey: string, hasBody: boolean): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'colloquy',
    authorization: `ApiKey ${apiKey}`,
    ...(hasBody ? { 'content-type': 'application/json' } : {}),
  };
}

/** Waits before the next try and returns; rejects with the call's error if there must be none. */
async function beforeRetry(options: ClientOptions, row: Row, error: unknown, tries: number, deadline: Deadline) {
  const recover = error instanceof ApiError && RECOVERABLE.has(error.code) ? options.recover : undefined;
  const retry = options.retry ?? {};
  const isRefused = recover !== undefined && error instanceof ApiError && error.code === 'not_ready';
  const pauseMs =
    recover !== undefined && (isRefused || wasNeverSent(error))
      ? pauseBeforeNext(tries)
      : mayRepeat(row.effect, error)
        ? pauseBeforeRetry(error, tries, retry)
        : undefined;
  if (pauseMs === undefined || (recover === undefined && pauseMs >= deadline.leftMs()))
    throw outcomeUnknown(row, error);
  if (recover === undefined) return (retry.pause ?? pause)(pauseMs, deadline.signal);
  if (isRefused && tries >= AT_ONCE_MAX) await (retry.pause ?? pause)(pauseMs, deadline.signal);
  return recover(deadline.signal);
}

const RECOVERABLE: ReadonlySet<string> = new Set(['connection_failed', 'not_ready']);

/** Tries of one call that no service has begun to carry out, and of these the first that follow at once. */
const NOT_BEGUN_MAX = 12;
const AT_ONCE_MAX = 3;

/** The service that takes the place of one that leaves may leave as well, so there are more tries than after a failure. */
function pauseBeforeNext(tries: number): number | undefined {
  return tries < NOT_BEGUN_MAX ? Math.min(25 * 2 ** Math.max(0, tries - AT_ONCE_MAX), 500) : undefined;
}

/** A change whose answer never arrived may have happened; the caller has to know before repeating it. */
function outcomeUnknown(row: Row, error: unknown): unknown {
  if (row.effect === 'read' || !(error instanceof ApiError) || wasNeverSent(error)) return error;
  if (error.code !== 'connection_failed' && error.code !== 'response_too_large') return error;
  return new ApiError(error.code, `${error.message} ${UNKNOWN_OUTCOME}`, { ...error.details, cause: error.cause });
}

const UNKNOWN_OUTCOME = 'Whether the change was made is unknown: look before repeating it.';

interface Deadline {
  /** Aborts with the `ApiError` that the call is to reject with. */
  signal: AbortSignal;
  leftMs(): number;
  stop(): void;
}

/** One signal for everything that can end a call early: its time limit, its caller, and closing the client. */
function startDeadline(context: Context, operation: string, row: Row, callOptions: CallOptions): Deadline {
  const timeoutMs = callOptions.timeoutMs ?? context.options.timeoutMs ?? TIMEOUT_MS;
  if (!(timeoutMs > 0)) {
    throw new ApiError('invalid_input', `Cannot call ${operation}: timeoutMs ${timeoutMs} is not a positive number.`);
  }
  if (callOptions.signal?.aborted === true || context.closing.aborted) {
    const why = context.closing.aborted ? 'the client is closed' : 'its caller had cancelled it already';
    throw new ApiError('aborted', `${operation} was not sent: ${why}.`);
  }
  const controller = new AbortController();
  // Each try of the call adds some.
  setMaxListeners(0, controller.signal);
  const unknown = row.effect === 'read' ? '' : ` ${UNKNOWN_OUTCOME}`;
  const give = (why: string) => () =>
    controller.abort(new ApiError('aborted', `${operation} was given up: ${why}.${unknown}`));
  const onAbort = give('its caller cancelled it');
  const onClose = give('the client was closed');
  const timer = setTimeout(
    () =>
      controller.abort(
        new ApiError(
          'request_timeout',
          `${operation} was given up: no complete answer from ${context.address.label} within ${timeoutMs} ms.${unknown}`,
        ),
      ),
    Math.min(timeoutMs, TIMER_MAX_MS),
  );
  const endsAt = performance.now() + timeoutMs;
  const sources: [AbortSignal | undefined, () => void][] = [
    [callOptions.signal, onAbort],
    [context.closing, onClose],
  ];
  for (const [signal, listener] of sources) {
    signal?.addEventListener('abort', listener, { once: true });
  }
  return {
    signal: controller.signal,
    leftMs: () => endsAt - performance.now(),
    stop() {
      clearTimeout(timer);
      for (const [signal, listener] of sources) signal?.removeEventListener('abort', listener);
    },
  };
}
