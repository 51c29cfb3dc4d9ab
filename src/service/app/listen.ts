import { randomUUID } from 'node:crypto';
import { lstatSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../contract/errors.ts';
import { messageOf } from '../../contract/text.ts';
import { limitArrival } from './arrival.ts';
import { rawErrorResponse } from './failures.ts';

/**
 * A Unix socket (on Windows a named pipe), or a TCP address, with TLS if `tls` is given; port 0 picks a free port, or
 * `rather` if that is free.
 */
export type ListenAddress =
  | { path: string }
  | { host: string; port: number; rather?: number | undefined; tls?: TlsFiles | undefined };

/** A certificate with its chain, and its private key, both as PEM text. */
export interface TlsFiles {
  cert: string;
  key: string;
}

const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 20_000,
  /** See `arrival.ts`. */
  requestTimeout: 0,
  keepAliveTimeout: 60_000,
};
/** Connections of one TCP address. Whoever has no key can open as many. */
const CONNECTIONS_MAX = 8_192;
/** Time to accept what waits at a socket. */
const ACCEPT_MS = 10;
/** Time to read the answer to a request that did not arrive in time. */
const LATE_ANSWER_MS = 5_000;
/** Time for a TLS handshake. */
const HANDSHAKE_TIMEOUT_MS = 20_000;

/** A listening server and its address. */
export interface Listener {
  server: Server;
  address: string;
  /** Includes connections that the server may not know yet, such as those in a TLS handshake. */
  sockets: ReadonlySet<Socket>;
  /** Those of them that have not sent a whole request head yet. */
  silent: ReadonlySet<Socket>;
  /** The socket file. */
  path: string | undefined;
}

/**
 * Listens at an address. `onLocal` gets each connection to a socket path. A socket file on which nobody listens is left
 * over from a killed service and is removed; if somebody listens, this rejects.
 */
export async function listen(
  address: ListenAddress,
  handle: RequestListener,
  onLocal: (socket: Socket) => void,
): Promise<Listener> {
  const tls = 'path' in address ? undefined : address.tls;
  const server = tls === undefined ? createServer(LIMITS, handle) : openTls(tls, handle);
  const sockets = socketsOf(server);
  const silent = silentOf(server);
  server.on('clientError', answerClientError);
  server.on('request', (request: IncomingMessage) => limitArrival(request, () => answerLate(request)));
  if ('path' in address) server.on('connection', onLocal);
  else server.maxConnections = connectionsMax();
  try {
    if ('path' in address) await removeStaleSocket(address.path);
    const rather = 'path' in address ? undefined : address.rather;
    const isThere = rather !== undefined && (await bind(server, { ...address, port: rather }).then(...YES_OR_NO));
    if (!isThere) await bind(server, address);
  } catch (error) {
    throw listenError(address, error);
  }
  const shown = 'path' in address ? address.path : urlOf(server.address() as AddressInfo, tls !== undefined);
  return { server, address: shown, sockets, silent, path: 'path' in address ? address.path : undefined };
}

function listenError(address: ListenAddress, error: unknown): ApiError {
  const where = 'path' in address ? address.path : `${address.host}:${address.port}`;
  return new ApiError('internal', `Cannot listen on "${where}": ${messageOf(error)}. Choose another address.`, {
    cause: error,
  });
}

/** Rejects as `listen` does if a TCP address cannot be listened on now. */
export async function requireFree({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer();
  try {
    await bind(server, { host, port });
  } catch (error) {
    throw listenError({ host, port }, error);
  }
  await new Promise((closed) => server.close(closed));
}

const YES_OR_NO = [() => true, () => false] as const;

function bind(server: Server, address: ListenAddress): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket file is created during this call; the mask keeps it closed to other users from the first moment.
    const mask = process.umask(0o177);
    try {
      server.listen(address, () => {
        server.off('error', reject);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

function openTls({ cert, key }: TlsFiles, handle: RequestListener): Server {
  return createTlsServer(
    { ...LIMITS, cert, key, minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
    handle,
  );
}

/** No more than half of the files that this process may have open: the engine and the local socket need some, too. */
function connectionsMax(): number {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux says it so; elsewhere Node.js has raised the limit to what the system allows.
  }
  const files = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  return Math.min(CONNECTIONS_MAX, Math.floor(files / 2));
}

function socketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function silentOf(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => silent.delete(socket));
  return silent;
}

/**
 * Lets nobody connect any more; existing connections stay open, and those that wait at a socket to be accepted are: the
 * system would reset them, and their callers could not tell whether their requests were carried out.
 */
export function stopAccepting(listeners: readonly Listener[]): void {
  for (const { server, path } of listeners) {
    if (path !== undefined && process.platform !== 'win32') rmSync(path, { force: true });
    // Not the HTTP server's own close(), which destroys connections whose answer is still being sent.
    else NetServer.prototype.close.call(server);
  }
}

/**
 * After `stopAccepting`: resolves when every connection to a socket was accepted, and has sent a request or is closed;
 * after `timeoutMs` at the latest.
 */
export async function quiet(listeners: readonly Listener[], timeoutMs: number): Promise<void> {
  const local = listeners.filter(({ path }) => path !== undefined);
  const endsAt = performance.now() + timeoutMs;
  // Connections that wait are accepted within one turn of the event loop; one caller may just have found the file.
  do await sleep(ACCEPT_MS);
  while (performance.now() < endsAt && local.some(({ silent }) => silent.size > 0));
}

/** Ends every connection. */
export async function stopListening(listeners: readonly Listener[]): Promise<void> {
  await Promise.all(
    listeners.map(
      ({ server, sockets }) =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
          for (const socket of sockets) socket.destroy();
        }),
    ),
  );
}

async function removeStaleSocket(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error('a file that is no socket is there');
  if (await isAnswered(path)) throw new Error('another program listens there');
  unlinkSync(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    // A full backlog means that a program listens, too; if nobody does, the connection is refused.
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

function urlOf({ address, family, port }: AddressInfo, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function answerLate({ socket }: IncomingMessage): void {
  if (socket.writable) socket.end(rawErrorResponse('ERR_HTTP_REQUEST_TIMEOUT', randomUUID()));
  // Whoever still sends might never end the connection.
  setTimeout(() => socket.destroy(), LATE_ANSWER_MS).unref();
}

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else socket.end(rawErrorResponse(error.code, randomUUID()));
}
