import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify';
import { ApiError } from '../../contract/errors.ts';
import type { Role } from '../../contract/row.ts';
import { requireAllowed } from '../access/allowlist.ts';
import { authenticate, keyOf } from '../access/auth.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ServiceContext } from '../context.ts';
import { notReady } from './failures.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Origin } from './origin.ts';
import type { OriginPasses } from './origin-passes.ts';

/** The caller of a request that the service passes to a mounted handler. */
export interface MountCaller {
  /** The stored hash of the key: it identifies the key without revealing it. */
  keyHash: string;
  /** The key itself, with which the handler may call the API on the caller's behalf. */
  key: string;
  /** Name of the key, among those of its user. */
  keyName: string;
  email: string;
  roles: readonly Role[];
  /** Whether the key still exists; to be asked by whatever outlives the request. */
  isKnown: () => boolean;
  /**
   * Headers for the handler's calls over the local socket for this request: with them, the calls count as coming from
   * the request's origin; without them, as coming from this machine.
   */
  headers: Record<string, string>;
}

/** A handler that answers beside the API, on the same addresses and behind the same checks. */
export interface Mount {
  /** Its only path, e.g. `/mcp`. */
  path: string;
  /**
   * Checks the claimed destination and origin of a request (`Host`, `Origin`), before anything else; may set headers of
   * the answer. True if it has already answered. Throws an `ApiError` to refuse the request.
   */
  admit(request: IncomingMessage, response: ServerResponse): boolean | Promise<boolean>;
  /**
   * Answers a request whose caller was authenticated and whose body is still unread. `signal` aborts when the service
   * closes or the caller is gone.
   */
  handle(request: IncomingMessage, response: ServerResponse, caller: MountCaller, signal: AbortSignal): Promise<void>;
  /** Closes what it keeps open; called when the service begins to close. */
  close(): Promise<void>;
}

/** What is known of a request when it reaches a mount. */
export interface MountVisit {
  operation: string | null;
  origin: Origin;
  signal: AbortSignal;
  /** As `performance.now()` gave it. */
  startedAt: number;
}

type MountContext = Pick<ServiceContext, 'engine' | 'catalog' | 'keyAccess' | 'log'> & {
  lifecycle: Lifecycle;
  passes: OriginPasses;
};

/** Clients of other protocols look for a scheme that they know; every path accepts both of these. */
const CHALLENGE = 'Bearer realm="colloquy", ApiKey realm="colloquy"';

/** Adds a mount's path, also with a slash at its end: allowlist and key are checked as for the API, then the raw request goes to the handler. */
export function addMount(
  app: FastifyInstance,
  ctx: MountContext,
  mount: Mount,
  visitOf: (request: FastifyRequest) => MountVisit,
): void {
  const method = [...app.supportedMethods];
  const options: RouteShorthandOptionsWithHandler = {
    // Before the body is read, so that a caller without a key cannot make the service keep one.
    onRequest: async (request, reply) => {
      const visit = visitOf(request);
      visit.operation = mount.path.slice(1);
      reply.header('www-authenticate', CHALLENGE);
      if (await mount.admit(request.raw, reply.raw)) return reply.hijack();
      if (ctx.lifecycle.phase !== 'ready') throw notReady(ctx.lifecycle.phase);
      // A key that was deleted elsewhere a moment ago lets nobody in here, and one that was made there does.
      await ctx.engine.refresh();
      requireAllowed(ctx.catalog, visit.origin);
      const { authorization } = request.headers;
      const caller = await authenticate(ctx, authorization);
      // The handler answers by itself from here on.
      reply.hijack();
      reply.raw.setHeader('x-trace-id', request.id);
      const { keyHash, keyName, user } = caller;
      const headers = ctx.passes.passFor(visit.origin);
      const about = { keyHash, keyName, key: keyOf(authorization), email: user.email, roles: user.roles, headers };
      const isKnown = () => isCurrent(ctx.catalog, keyHash);
      mount.handle(request.raw, reply.raw, { ...about, isKnown }, visit.signal).catch((error: unknown) => {
        ctx.log.error({ trace_id: request.id, err: error }, 'a mounted handler failed');
        reply.raw.destroy();
      });
      return reply;
    },
    handler: () => {
      throw new ApiError('internal', `The path ${mount.path} was not answered.`);
    },
  };
  // Some clients add a slash.
  for (const url of [mount.path, `${mount.path}/`]) app.route({ method, url, ...options });
}

function isCurrent(catalog: Catalog, keyHash: string): boolean {
  return catalog.all('apiKey').has(keyHash);
}
