import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { COMMAND_HEADER } from '../../contract/command.ts';
import { type AnyOperation, allRows } from '../../contract/contract.ts';
import { DOCUMENTS_MAX, WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import type { ScanOptions } from '../../contract/json/json-scan.ts';
import { DEFAULTS_HEADER } from '../../contract/lambdas.ts';
import { LOAD } from '../../contract/load.ts';
import { KEEP_HEADER } from '../../contract/results.ts';
import type { Row } from '../../contract/row.ts';
import { lowerFirst } from '../../contract/text.ts';
import { TRASH_HEADER, type Trashed } from '../../contract/trash.ts';
import { enterBody } from '../../contract/turns/long-bodies.ts';
import { requireAllowed } from '../access/allowlist.ts';
import { authenticate, type Principal, permits, requireCaller, requireRole } from '../access/auth.ts';
import type { CallContext, ServiceContext } from '../context.ts';
import { handlers } from '../handlers.ts';
import { tooManyDocuments } from '../ingest/intake.ts';
import type { Guarded } from '../supervision/supervision.ts';
import type { AddressRange } from './addresses.ts';
import { encodeAnswer } from './answer.ts';
import { DEFINITION_BYTES_MAX, dataListOf, discardBody, RawBody, READ_BYTES_MAX, readBody } from './body.ts';
import { JSON_TYPE, noSuchEndpoint, notReady, sendError, toApiError } from './failures.ts';
import { parseInput } from './input.ts';
import { lookAgain } from './knowledge.ts';
import type { Lifecycle } from './lifecycle.ts';
import { addLoadRoute } from './load-route.ts';
import { addMount, type Mount } from './mounts.ts';
import { type Hops, type Origin, originOf } from './origin.ts';
import { createOriginPasses, type OriginPasses, PASS_HEADER } from './origin-passes.ts';
import { allowedMethods, routerPath } from './paths.ts';
import { changeIn, namesIn } from './request-line.ts';
import { addSegmentRoutes } from './segment-routes.ts';

/** What the HTTP side needs beyond the service itself. */
export interface AppContext extends ServiceContext {
  lifecycle: Lifecycle;
  /** Answer cross-origin requests from browsers (CORS). */
  cors: boolean;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly AddressRange[];
  /** Connections that came over the local socket. */
  localSockets: WeakSet<Socket>;
  /** Closes the service; called after the request to do so was answered. */
  leave: () => void;
  /** Whether `serve` runs the service; a newer program then leaves it alone. */
  isForeground: boolean;
  /** The one command that the service was started for, as in `COMMAND_HEADER`. */
  command?: string | undefined;
  /** Handlers mounted beside the API. */
  mounts: readonly Mount[];
}

/** What is known of a request while it runs. */
interface RequestState {
  startedAt: number;
  signal: AbortSignal;
  operation: string | null;
  /** What the operation is; absent until it is admitted. */
  row?: Row;
  origin: Origin;
  caller?: Principal;
  /** The names in its body. */
  names?: Record<string, unknown>;
  /** Frees the place in which work is done on the body, if that is long. */
  leave?: () => void;
}

/** Longer than any name may be, so that an overlong name is "not found" like any other wrong name. */
const PARAM_LENGTH_MAX = 16 * 1024;
const JSON_CONTENT = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i;

const noCompiler = () => () => {
  throw new Error('no route has a schema of the framework');
};
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };

/** The API over HTTP: one route per row of the contract, plus the service's own paths. Does not listen by itself. */
export function buildApp(ctx: AppContext): FastifyInstance {
  const states = new WeakMap<FastifyRequest, RequestState>();
  const passes = createOriginPasses();
  const fail = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    await discardBody(request.raw);
    return sendError(reply, toApiError(error, ctx.log, request.id), request.id);
  };
  const app = Fastify({
    genReqId: () => randomUUID(),
    bodyLimit: WRITE_BYTES_MAX,
    // A request that arrives while the service is closing is answered here, in the API's own format.
    return503OnClosing: false,
    // The contract's own schemas check requests and answers, so the framework's compilers need not be loaded.
    schemaController: { compilersFactory: NO_COMPILERS },
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => void fail(error, request, reply),
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request) => {
    throw noSuchEndpoint(request.method, request.url);
  });
  acceptJson(app, states);
  app.addHook('onRequest', async (request, reply) => {
    states.set(request, begin(ctx, passes, request, reply));
    if (ctx.cors) allowOrigins(reply);
    const allow = request.method === 'OPTIONS' ? allowedMethods(request.url) : [];
    if (allow.length > 0) {
      return reply.removeHeader('content-type').header('allow', allow.join(', ')).code(204).send();
    }
    // Before the body is read, whose content does not matter here.
    if (request.is404) throw noSuchEndpoint(request.method, request.url);
    return undefined;
  });
  addServiceRoutes(app, ctx, states);
  for (const mount of ctx.mounts) addMount(app, { ...ctx, passes }, mount, (request) => stateOf(states, request));
  for (const operation of Object.keys(allRows) as AnyOperation[]) addOperation(app, ctx, states, operation);
  const { admit, guarded } = admissionOf(ctx, states);
  addLoadRoute(app, {
    log: ctx.log,
    admit: (request) => admit(request, 'load', LOAD),
    guarded: (request, work) =>
      guarded(request, undefined, ({ engine }) => {
        const { origin, signal } = stateOf(states, request);
        return work({ ...ctx, engine, caller: callerOf(states, request), origin, signal });
      }),
  });
  addSegmentRoutes(app, ctx, (request) => stateOf(states, request));
  return app;
}

/** Counts the request and tracks it until it is answered or its caller hangs up. */
function begin(ctx: AppContext, passes: OriginPasses, request: FastifyRequest, reply: FastifyReply): RequestState {
  const visit = ctx.lifecycle.enter();
  const state: RequestState = {
    startedAt: performance.now(),
    signal: visit.abort.signal,
    operation: null,
    origin: placeOf(ctx, passes, request),
  };
  // A custom serializer keeps the framework from adding a charset, which JSON does not have.
  reply.serializer(stringifyJson).header('x-trace-id', request.id).header('content-type', JSON_TYPE);
  // A kept-alive connection would be cut when the service exits.
  if (ctx.lifecycle.phase === 'closing') reply.header('connection', 'close');
  reply.raw.once('close', () => {
    const answered = reply.raw.writableFinished;
    if (!answered) visit.abort.abort();
    visit.end();
    state.leave?.();
    const line = {
      trace_id: request.id,
      operation: state.operation,
      ...changeIn(state.row, state.caller, { ...(request.params as object), ...state.names }),
      status: answered ? reply.raw.statusCode : null,
      ms: Math.round((performance.now() - state.startedAt) * 10) / 10,
    };
    // Health probes and wrong paths are logged at debug level only.
    ctx.log[state.operation === null ? 'debug' : 'info'](line, answered ? 'request' : 'request given up by its caller');
  });
  return state;
}

/** Where a request came from. Over the local socket, a mount of this process may be calling for somebody else. */
function placeOf(ctx: AppContext, passes: OriginPasses, request: FastifyRequest): Origin {
  const hops = hopsOf(ctx, request);
  const passed = hops.isLocal ? passes.originOf(request.headers[PASS_HEADER]) : undefined;
  return passed ?? originOf(hops, ctx.trustedProxies);
}

function hopsOf(ctx: AppContext, request: FastifyRequest): Hops {
  const { 'x-forwarded-for': forwardedFor } = request.headers;
  const { socket } = request.raw;
  return { isLocal: ctx.localSockets.has(socket), peer: socket.remoteAddress, forwardedFor: forwardedFor?.toString() };
}

function acceptJson(app: FastifyInstance, states: WeakMap<FastifyRequest, RequestState>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_CONTENT, async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
    const encoding = request.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') {
      throw new ApiError(
        'unsupported_media_type',
        `The request body has the Content-Encoding "${encoding}". Send it without.`,
      );
    }
    const state = stateOf(states, request);
    const { row } = state;
    return readBody(payload, bytesMaxOf(row), async (length) => {
      const isWrite = row !== undefined && takesDocuments(row);
      const { caller: { keyHash: caller = '' } = {}, signal } = state;
      state.leave = await enterBody({ length, isWrite, caller, signal });
      // Its caller may have hung up meanwhile.
      if (signal.aborted) state.leave();
    });
  });
}

function bytesMaxOf(row: Row | undefined): number {
  if (row === undefined || takesDocuments(row)) return WRITE_BYTES_MAX;
  return row.effect === 'read' ? READ_BYTES_MAX : DEFINITION_BYTES_MAX;
}

function takesDocuments({ body }: Row): boolean {
  return body !== undefined && Object.hasOwn(body.shape, 'data');
}

/** What a scan looks for in a write of documents; a list that is only a little too long is counted first. */
function documentsOf(row: Row): ScanOptions['data'] {
  return { max: 2 * DOCUMENTS_MAX, tooMany: () => tooManyDocuments(lowerFirst(row.title), 'far too many') };
}

function allowOrigins(reply: FastifyReply): void {
  reply
    .header('access-control-allow-origin', '*')
    .header('access-control-allow-methods', 'GET, POST, PATCH, DELETE')
    .header('access-control-allow-headers', 'authorization, content-type')
    .header('access-control-expose-headers', 'x-trace-id, retry-after')
    .header('access-control-max-age', '86400');
}

function addOperation(
  app: FastifyInstance,
  ctx: AppContext,
  states: WeakMap<FastifyRequest, RequestState>,
  operation: AnyOperation,
): void {
  const row: Row = allRows[operation];
  // The handler takes what the row's schemas produce, which the compiler cannot infer for a row chosen at run time.
  const handler = handlers[operation] as (call: CallContext, input: unknown) => unknown;
  const answer = async (
    request: FastifyRequest,
    caller: Principal,
    body: RawBody | undefined,
    { engine }: Guarded,
  ): Promise<unknown> => {
    const state = stateOf(states, request);
    const { origin, signal, leave } = state;
    // Checked again: a body may arrive slowly, or wait, and its key may have been deleted meanwhile.
    await lookAgain(ctx.engine, state);
    requireCaller(ctx.catalog, caller);
    const read = (json: unknown) => parseInput(row, { params: request.params, query: request.query, body: json });
    const parse = async () => read(await body?.parse(takesDocuments(row) ? documentsOf(row) : undefined));
    // Documents are not parsed here if the engine can take their text.
    const list = operation === 'addDocuments' && body !== undefined ? dataListOf(body) : undefined;
    const text =
      body === undefined || list === undefined
        ? undefined
        : { bytes: body.bytes, ...list, parse: async () => (await parse())['data'] as readonly JsonValue[] };
    const input = await (text === undefined ? parse() : read({ data: [] }));
    if (!takesDocuments(row)) leave?.();
    state.names = namesIn(input);
    const keepRows = keepRowsOf(request.headers[KEEP_HEADER]);
    let kept: Trashed | undefined;
    const note = (entry: Trashed) => {
      kept = entry;
    };
    const trashed = request.headers[TRASH_HEADER] === undefined ? undefined : note;
    const exactDefaults = request.headers[DEFAULTS_HEADER] === 'json';
    const call = { ...ctx, engine, caller, origin, signal, keepRows, exactDefaults, trashed, text };
    const result = await handler(call, input);
    const told = kept === undefined ? result : { ...(result as object), trash: kept };
    return streamed(row.isBare === true ? told : { data: told });
  };
  const admission = admissionOf(ctx, states);
  app.route({
    method: row.method,
    url: routerPath(row.path),
    // Before the body is read, so that a caller without a key cannot make the service parse one.
    onRequest: (request) => admission.admit(request, operation, row),
    handler: async (request) => {
      const body = request.body instanceof RawBody ? request.body : undefined;
      try {
        return await admission.guarded(request, body?.bytes, (guarded) =>
          answer(request, callerOf(states, request), body, guarded),
        );
      } finally {
        body?.release();
        stateOf(states, request).leave?.();
      }
    },
  });
}

function callerOf(states: WeakMap<FastifyRequest, RequestState>, request: FastifyRequest): Principal {
  const { caller } = stateOf(states, request);
  if (caller === undefined) throw new ApiError('internal', 'The request was not authenticated.');
  return caller;
}

/** How a request for an operation is admitted, and how its work is watched. */
function admissionOf(ctx: AppContext, states: WeakMap<FastifyRequest, RequestState>) {
  return {
    async admit(request: FastifyRequest, operation: string, row: Row): Promise<void> {
      const state = stateOf(states, request);
      state.operation = operation;
      state.row = row;
      if (row.localOnly === true) requireLocal(state.origin, row.title);
      requireReady(ctx.lifecycle);
      ctx.lifecycle.called(ctx.command !== undefined && request.headers[COMMAND_HEADER] === ctx.command);
      // A key that was deleted elsewhere a moment ago lets nobody in here.
      await ctx.engine.refresh();
      requireAllowed(ctx.catalog, state.origin);
      state.caller = await authenticate(ctx, request.headers.authorization);
      requireRole(state.caller.user, row);
      // Whoever administers the service on its own machine has to be able to look what is wrong.
      const isOperator = state.origin.isLocal && permits(state.caller.user.roles, 'admin');
      if (!isOperator) ctx.supervision.refuseHeld(state.caller);
    },
    async guarded<T>(
      request: FastifyRequest,
      body: Buffer | undefined,
      work: (guarded: Guarded) => Promise<T>,
    ): Promise<T> {
      const { operation } = stateOf(states, request);
      const caller = callerOf(states, request);
      const { id: traceId, method, url } = request;
      const guarded = ctx.supervision.begin({ traceId, operation: operation ?? '', method, url, caller, body });
      try {
        return await guarded.run(() => work(guarded));
      } finally {
        guarded.end();
      }
    },
  };
}

/** An answer, streamed if it is long; anything but an object is left to the reply's serializer. */
function streamed(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const text = encodeAnswer(result);
  return typeof text === 'string' ? Buffer.from(text) : text;
}

/** The number of rows that the header asks for; 0: none, and all is kept. A malformed one is ignored: it is a hint, not part of the API. */
function keepRowsOf(header: string | string[] | undefined): number | undefined {
  if (header === 'whole') return 0;
  return typeof header === 'string' && /^[1-9]\d{0,8}$/.test(header) ? Number(header) : undefined;
}

function addServiceRoutes(app: FastifyInstance, ctx: AppContext, states: WeakMap<FastifyRequest, RequestState>): void {
  const about = { version: ctx.version, build: ctx.build, pid: process.pid, foreground: ctx.isForeground };
  app.get('/', async () => ({ message: 'Colloquy is running.' }));
  app.get('/health', async () => ({ message: 'Colloquy is running.' }));
  app.get('/ready', async (request) => {
    requireReady(ctx.lifecycle);
    // No key is needed here, so only those who can open the local socket learn what runs.
    return { message: 'Colloquy is ready.', ready: true, ...(stateOf(states, request).origin.isLocal ? about : {}) };
  });
  app.post('/local/leave', {
    onRequest: async (request) => {
      const { origin } = stateOf(states, request);
      requireLocal(origin, 'Close the service');
      requireAllowed(ctx.catalog, origin);
      const caller = await authenticate(ctx, request.headers.authorization);
      requireRole(caller.user, { title: 'Close the service', role: 'admin' });
      stateOf(states, request).operation = 'leave';
    },
    handler: async (_, reply) => {
      reply.header('connection', 'close');
      reply.raw.once('close', ctx.leave);
      return { message: 'Colloquy is closing.', ...about };
    },
  });
}

function requireLocal({ isLocal }: Origin, title: string): void {
  if (isLocal) return;
  throw new ApiError(
    'forbidden',
    `Cannot ${lowerFirst(title)}: this is accepted over the service's local socket only.`,
  );
}

function requireReady(lifecycle: Lifecycle): void {
  if (lifecycle.phase !== 'ready') throw notReady(lifecycle.phase);
}

function stateOf(states: WeakMap<FastifyRequest, RequestState>, request: FastifyRequest): RequestState {
  const state = states.get(request);
  if (state === undefined) throw new ApiError('internal', 'The request was not counted.');
  return state;
}
