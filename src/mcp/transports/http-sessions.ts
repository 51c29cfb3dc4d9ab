import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { isInitializeRequest, type McpServer, type Server } from '@modelcontextprotocol/server';
import { onceOver, REFUSED, Refusal, SESSION_NOT_FOUND } from './http-body.ts';

/** The session of one client of the 2025 protocols. */
interface Session {
  transport: NodeStreamableHTTPServerTransport;
  server: Server | McpServer;
  /** Number of open requests and streams. */
  open: number;
  lastUsedAt: number;
}

export interface SessionsOptions {
  createServer: () => Server | McpServer;
  /** Most sessions at once; at the limit, the one idle for longest is closed. */
  max: number;
  /** Whether the limit over all principals has room, counting the sessions that are being opened. */
  hasRoom: () => boolean;
  /** Called with errors outside any single call. */
  onError: (error: Error) => void;
}

/** The sessions of one principal, out of reach for all others. */
export interface Sessions {
  /** With those that are being opened. */
  readonly size: number;
  /** Answers a request of the 2025 protocols. Throws `Refusal`. */
  handle(request: IncomingMessage, response: ServerResponse, message: unknown): Promise<void>;
  /** Closes sessions without a request for `idleMs` milliseconds. */
  closeIdle(idleMs: number): Promise<void>;
  /** Ends the streams on which clients only listen. */
  endListening(): void;
  close(): Promise<void>;
}

export function createSessions({ createServer, max, hasRoom, onError }: SessionsOptions): Sessions {
  const sessions = new Map<string, Session>();
  /** Sessions that are being opened: those that come at once have to count each other. */
  let opening = 0;

  async function handle(request: IncomingMessage, response: ServerResponse, message: unknown): Promise<void> {
    const id = request.headers['mcp-session-id']?.toString();
    if (id === undefined && isInitializeRequest(message)) return open(request, response, message);
    if (id === undefined) {
      throw new Refusal(
        400,
        REFUSED,
        'The request has no Mcp-Session-Id header. Send "initialize" first, and then the id from its answer.',
      );
    }
    const session = sessions.get(id);
    if (session === undefined) {
      // The same for another key's session, so that nobody learns that it exists.
      throw new Refusal(404, SESSION_NOT_FOUND, 'Session not found: it ended, or never was. Send "initialize" again.');
    }
    await serve(session, request, response, message);
  }

  async function open(request: IncomingMessage, response: ServerResponse, message: unknown): Promise<void> {
    let isOpening = true;
    opening += 1;
    const opened = () => {
      if (isOpening) opening -= 1;
      isOpening = false;
    };
    try {
      await makeRoom();
      await initialize(request, response, message, opened);
    } finally {
      opened();
    }
  }

  async function initialize(
    request: IncomingMessage,
    response: ServerResponse,
    message: unknown,
    opened: () => void,
  ): Promise<void> {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        opened();
        sessions.set(id, session);
      },
    });
    const session: Session = { transport, server: createServer(), open: 0, lastUsedAt: Date.now() };
    transport.onclose = () => {
      sessions.delete(transport.sessionId ?? '');
    };
    transport.onerror = onError;
    await session.server.connect(transport);
    await serve(session, request, response, message);
    if (transport.sessionId === undefined) await session.server.close();
  }

  async function serve(session: Session, request: IncomingMessage, response: ServerResponse, message: unknown) {
    session.open++;
    onceOver(response, () => {
      session.open--;
      session.lastUsedAt = Date.now();
    });
    await session.transport.handleRequest(request, response, message);
  }

  /** For the one that is counted as being opened. */
  async function makeRoom(): Promise<void> {
    if (sessions.size + opening <= max && hasRoom()) return;
    const idle = [...sessions].filter(([, session]) => session.open === 0);
    const [oldest] = idle.sort(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
    if (oldest === undefined) {
      const later = { 'retry-after': '30' };
      if (sessions.size === 0) throw new Refusal(503, REFUSED, 'There are too many sessions. Try again later.', later);
      throw new Refusal(429, REFUSED, `This API key has ${sessions.size} sessions in use. End one of them.`, later);
    }
    const [id, { server }] = oldest;
    // At once, or others would make room by the same one.
    sessions.delete(id);
    await server.close();
  }

  async function closeAll(chosen: Session[]): Promise<void> {
    await Promise.all(chosen.map((session) => session.server.close()));
  }

  return {
    get size() {
      return sessions.size + opening;
    },
    handle,
    closeIdle: (idleMs) => {
      const until = Date.now() - idleMs;
      return closeAll([...sessions.values()].filter(({ open: used, lastUsedAt }) => used === 0 && lastUsedAt <= until));
    },
    endListening: () => {
      for (const { transport } of sessions.values()) transport.closeStandaloneSSEStream();
    },
    close: () => closeAll([...sessions.values()]),
  };
}
