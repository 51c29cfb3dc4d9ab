import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { JsonObject } from '../../contract/json/json.ts';
import { SourceError, type SourceOptions } from './source.ts';

const CONNECT_MS = 20_000;
/** A statement that takes longer than this is not one of ours going well: the first page may have to sort the table. */
const STATEMENT_MS = 30 * 60_000;

/** One connection to a database, made when it is first needed and again after it broke. */
export interface Connection {
  /** Runs work on the connection, which an abort closes. Rejects a `SourceError`, and the signal's reason. */
  using<T>(signal: AbortSignal, work: (client: pg.Client) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createConnection({
  connection,
  settings,
  log,
}: Pick<SourceOptions, 'connection' | 'settings' | 'log'>): Connection {
  let client: pg.Client | undefined;

  async function connect(next: pg.Client): Promise<void> {
    // Also told by the query that meets it.
    next.on('error', (error) => log.debug({ err: error }, 'the connection of a source broke'));
    await next.connect();
    await next.query("SET TIME ZONE 'UTC'");
    await next.query("SET datestyle TO 'ISO'");
  }

  async function using<T>(signal: AbortSignal, work: (client: pg.Client) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    // Not `end`, after which the driver says nothing to those who wait until it has connected.
    const stop = () => void client?.connection.stream.destroy(new Error('It was stopped'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (client === undefined) {
        client = new pg.Client(clientConfig(connection, settings));
        await connect(client);
      }
      signal.throwIfAborted();
      return await work(client);
    } catch (error) {
      await close();
      signal.throwIfAborted();
      throw faultOf(error, connection, settings);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async function close(): Promise<void> {
    const before = client;
    client = undefined;
    // It may hang in a connection that is gone.
    await Promise.race([before?.end().catch(() => undefined), delay(1_000, undefined, { ref: false })]);
  }

  return { using, close };
}

function clientConfig(connection: JsonObject, settings: JsonObject): pg.ClientConfig {
  const { host, port, username, password, tls, ca_certificate: ca } = connection;
  return {
    host: String(host),
    port: Number(port),
    user: String(username),
    password: String(password),
    database: String(settings['database']),
    ssl: tls === false ? false : { rejectUnauthorized: true, ...(typeof ca === 'string' ? { ca } : {}) },
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    application_name: 'colloquy',
    // Text as it is sent: what it means is read here.
    types: { getTypeParser: () => (text: unknown) => text },
  };
}

/** What an error of the driver or of the server means. */
function faultOf(error: unknown, connection: JsonObject, settings: JsonObject): unknown {
  if (error instanceof SourceError) return error;
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  const place = `${String(connection['host'])}:${String(connection['port'])}`;
  if (code === '28P01' || code === '28000' || /password authentication failed|no pg_hba/.test(message)) {
    return new SourceError(
      'denied',
      `The database at ${place} does not let the user "${String(connection['username'])}" in. Check the user and the password of the integration.`,
      { cause: error },
    );
  }
  if (code === '42501')
    return new SourceError(
      'denied',
      `The user "${String(connection['username'])}" may not read the table: ${message}.`,
      { cause: error },
    );
  if (code === '3D000')
    return new SourceError('settings', `There is no database "${String(settings['database'])}" at ${place}.`, {
      cause: error,
    });
  if (code.startsWith('42'))
    return new SourceError('settings', `The database refuses the query: ${message}.`, { cause: error });
  if (/does not support SSL/.test(message)) {
    return new SourceError(
      'settings',
      `The database at ${place} does not speak TLS. Set "tls" of the integration to false if its network is safe.`,
      { cause: error },
    );
  }
  if (/certificate/i.test(message)) {
    return new SourceError(
      'settings',
      `The certificate of the database at ${place} is not trusted: ${message}. Give its authority in "ca_certificate" of the integration.`,
      { cause: error },
    );
  }
  return new SourceError('unreachable', `The database at ${place} cannot be reached: ${message}.`, { cause: error });
}
