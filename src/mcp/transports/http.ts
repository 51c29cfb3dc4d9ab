import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServer,
  type Server,
  type ServerNotifier,
  type SubscriptionFilter,
} from '@modelcontextprotocol/server';
import type { Logger } from '../logger.ts';
import { type Access, createAccess } from './http-access.ts';
import { closing, failed, notAllowed, onceOver, REFUSED, Refusal, readMessages, refuse } from './http-body.ts';
import { createSessions, type Sessions } from './http-sessions.ts';

/** The authenticated caller of a request. */
export interface Caller {
  /** Identifies the key without revealing it. */
  keyHash: string;
  /** Whether the key still exists. */
  isKnown: () => boolean;
}

/** What the connections of one key share. */
export interface Party {
  /** A server for one session of the 2025 protocols, or for one request of the later ones. */
  createServer(era: 'legacy' | 'modern'): Server | McpServer;
  /**
   * Called when a client of the later protocols subscribes to what `filter` names; `notify` reaches the client. The
   * returned function is called when that ends. Clients of the 2025 protocols are notified by their session's server.
   */
  listening?(filter: SubscriptionFilter, notify: ServerNotifier): () => void;
  close(): Promise<void>;
}

const LIMITS = {
  /** Number of keys served at once. */
  partiesMax: 256,
  /** Sessions of the 2025 protocols at once, and per key. */
  sessionsMax: 512,
  sessionsPerPartyMax: 64,
  /** Streams per key on which clients only listen. */
  listeningMax: 64,
  /** Messages per key that are read at once, with their bodies in memory; others wait for their turn. */
  readingMax: 16,
  /** A session, and what is kept for a key, ends after this idle time, in milliseconds. */
  idleMs: 30 * 60_000,
  /** How often idle times, and whether keys still exist, are checked, in milliseconds. */
  sweepMs: 15_000,
  /** Time for running calls to be answered when the service closes, in milliseconds. */
  graceMs: 3_000,
};

export interface HttpServingOptions<C extends Caller> extends Access {
  /** Called at a key's first request, and again if what was kept for it has been released since. */
  open: (caller: C) => Party;
  log: Logger;
  limits?: Partial<typeof LIMITS> | undefined;
}

/** MCP over Streamable HTTP, in both protocol eras, for a server that itself listens and authenticates. */
export interface HttpServing<C extends Caller> {
  /** Checks `Host` and `Origin`. Throws `forbidden`; returns true if it has already answered the request. */
  admit(request: IncomingMessage, response: ServerResponse): boolean;
  handle(request: IncomingMessage, response: ServerResponse, caller: C, signal: AbortSignal): Promise<void>;
  /** Ends every stream; running calls may finish first, within `graceMs`. */
  close(): Promise<void>;
}

const METHODS: readonly string[] = ['POST', 'GET', 'DELETE'];

interface Seat {
  party: Party;
  isKnown: () => boolean;
  sessions: Sessions;
  /** Calls of the later protocols. */
  calls: McpHttpHandler;
  /** Subscriptions of the later protocols, apart from calls so that they can end first. */
  listeners: McpHttpHandler;
  /** Limits how many bodies are read at once. */
  reading: Turns;
  open: number;
  lastUsedAt: number;
}

export function createHttpServing<C extends Caller>(options: HttpServingOptions<C>): HttpServing<C> {
  const limits = { ...LIMITS, ...options.limits };
  const { log } = options;
  const seats = new Map<string, Seat>();
  const waiting = new Set<() => void>();
  let isClosing = false;
  // A client's mistakes are reported to the client itself.
  const onerror = (error: Error) => log.info({ reason: error.message }, 'MCP over HTTP');
  const sweeper = setInterval(() => sweep().catch(onerror), limits.sweepMs).unref();

  function seatOf(caller: C): Seat {
    const found = seats.get(caller.keyHash);
    if (found !== undefined) return found;
    if (seats.size >= limits.partiesMax) makeRoom();
    const party = options.open(caller);
    const handler = () =>
      createMcpHandler(({ era }) => party.createServer(era), {
        legacy: 'reject',
        maxSubscriptions: limits.listeningMax,
        onerror,
      });
    const sessions = createSessions({
      createServer: () => party.createServer('legacy'),
      max: limits.sessionsPerPartyMax,
      hasRoom: () => [...seats.values()].reduce((sum, seat) => sum + seat.sessions.size, 0) <= limits.sessionsMax,
      onError: onerror,
    });
    const { isKnown } = caller;
    const seat = {
      party,
      isKnown,
      sessions,
      calls: handler(),
      listeners: handler(),
      reading: createTurns(limits.readingMax),
      open: 0,
      lastUsedAt: Date.now(),
    };
    seats.set(caller.keyHash, seat);
    return seat;
  }

  function makeRoom(): void {
    const idle = [...seats].filter(([, seat]) => seat.open === 0);
    const [oldest] = idle.sort(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
    if (oldest === undefined) {
      throw new Refusal(503, REFUSED, 'Too many clients are being served. Try again later.', { 'retry-after': '30' });
    }
    void leave(oldest[0]);
  }

  async function leave(keyHash: string): Promise<void> {
    const seat = seats.get(keyHash);
    if (seat === undefined) return;
    seats.delete(keyHash);
    const { listeners, calls, sessions, party } = seat;
    const ended = await Promise.allSettled([listeners.close(), calls.close(), sessions.close()]);
    for (const one of [...ended, ...(await Promise.allSettled([party.close()]))]) {
      if (one.status === 'rejected') log.warn({ err: one.reason }, 'a client of MCP over HTTP was not let go cleanly');
    }
  }

  async function sweep(): Promise<void> {
    const until = Date.now() - limits.idleMs;
    for (const [keyHash, seat] of seats) {
      const isUnused = seat.open === 0 && seat.lastUsedAt <= until;
      // What was opened with a key that is deleted now must not go on listening.
      if (!seat.isKnown() || isUnused) await leave(keyHash);
      else await seat.sessions.closeIdle(limits.idleMs);
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse, caller: C, signal: AbortSignal) {
    try {
      if (isClosing) throw closing();
      if (!METHODS.includes(request.method ?? '')) throw notAllowed(request.method);
      const seat = seatOf(caller);
      seat.open++;
      onceOver(response, () => {
        seat.open--;
        seat.lastUsedAt = Date.now();
        for (const look of waiting) look();
      });
      await answer(seat, request, response, caller, signal);
    } catch (error) {
      if (!(error instanceof Refusal)) log.error({ err: error }, 'a request of MCP over HTTP failed');
      refuse(response, error instanceof Refusal ? error : failed());
    }
  }

  async function answer(
    seat: Seat,
    request: IncomingMessage,
    response: ServerResponse,
    { keyHash }: C,
    signal: AbortSignal,
  ) {
    const read = () => readMessages(request, keyHash, signal);
    const message = request.method === 'POST' ? await seat.reading(read) : undefined;
    if (isClosing) throw closing();
    const head = withoutBody(request);
    if (await isLegacyRequest(await toWebRequest(head), message)) {
      return seat.sessions.handle(request, response, message);
    }
    const filter = listenFilter(message);
    const handler = filter === undefined ? seat.calls : seat.listeners;
    if (filter !== undefined) {
      const stop = seat.party.listening?.(filter, seat.listeners.notify);
      if (stop !== undefined) onceOver(response, stop);
    }
    // The parsed message is passed beside the request: as text again it would lose its exact integers.
    const respond = toNodeHandler({ fetch: (web) => handler.fetch(web, { parsedBody: message }) }, { onerror });
    return respond(head, response);
  }

  async function answered(): Promise<void> {
    const isDone = () => [...seats.values()].every((seat) => seat.open === 0);
    if (isDone()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limits.graceMs);
      waiting.add(() => {
        if (!isDone()) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async function close(): Promise<void> {
    isClosing = true;
    clearInterval(sweeper);
    for (const { listeners, sessions } of seats.values()) {
      sessions.endListening();
      await listeners.close();
    }
    await answered();
    await Promise.all([...seats.keys()].map(leave));
  }

  return { admit: createAccess(options), handle, close };
}

type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs up to `max` tasks at once; the others wait in order. */
function createTurns(max: number): Turns {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (running >= max) await new Promise<void>((resolve) => queue.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** What the SDK needs of a request whose body was already read. */
function withoutBody({ method = 'GET', url = '/', headers }: IncomingMessage) {
  const { 'content-length': _, ...rest } = headers;
  return { method, url, headers: rest, async *[Symbol.asyncIterator]() {} };
}

/** What a message subscribes to; undefined if it is not a subscription. */
function listenFilter(message: unknown): SubscriptionFilter | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { notifications?: SubscriptionFilter } };
  return method === 'subscriptions/listen' ? (params?.notifications ?? {}) : undefined;
}
