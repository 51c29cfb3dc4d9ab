import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClientSession,
  type Collection,
  type Db,
  type FindCursor,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  Timestamp,
} from 'mongodb';
import { readMongodbUri } from '../../contract/integrations.ts';
import { isObject, type JsonObject } from '../../contract/json/json.ts';
import { SourceError, type SourceOptions } from './source.ts';

const CONNECT_MS = 10_000;
const CLOSE_MS = 1_000;
/** Longer than any answer takes: what is read is indexed, and a change stream answers every second. */
export const SILENCE_MS = 120_000;

/** The collection that is read, and its client. */
export interface Place {
  client: MongoClient;
  db: Db;
  collection: Collection;
}

/** Time of a cluster: seconds, and a counter within them. */
export type ClusterTime = { t: number; i: number };

/** A session that reads nothing older than this, whichever server answers. */
export function sessionFrom({ client }: Place, time: ClusterTime | null): ClientSession {
  const session = client.startSession({ causalConsistency: true });
  if (time !== null) session.advanceOperationTime(new Timestamp(time));
  return session;
}

/**
 * What the driver answers; rejects if that takes too long. A request that it sends in the moment in which its connection is
 * closed it waits for without end, and without a word.
 */
async function answered<T>(request: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent()), SILENCE_MS);
  });
  try {
    return await Promise.race([request, silence]);
  } finally {
    clearTimeout(timer);
  }
}

export function silent(): MongoNetworkError {
  return new MongoNetworkError(`no answer within ${SILENCE_MS / 1_000} s`);
}

/**
 * Resolves where the driver knows which connections are closed. That of one that ends is closed after what `setImmediate`
 * runs, as turns are taken, and a request in between is one that is never answered.
 */
export function settled(): Promise<void> {
  return delay(0);
}

/** Waits until something is closed, but not for a server that is gone. */
export async function closed(closing: Promise<unknown>): Promise<void> {
  await Promise.race([closing.catch(() => undefined), delay(CLOSE_MS, undefined, { ref: false })]);
}

/** As many documents are taken out of an answer at once. */
const SLICE = 500;

/** What a cursor finds, some at a time; closes it. */
export async function* slicesOf(cursor: FindCursor<Buffer>): AsyncGenerator<Buffer[]> {
  try {
    for (;;) {
      if (cursor.bufferedCount() === 0) await settled();
      if (!(await answered(cursor.hasNext()))) return;
      yield cursor.readBufferedDocuments(SLICE);
    }
  } finally {
    await closed(cursor.close());
  }
}

/** A client that is made when it is first needed. */
export interface Connection {
  /** Runs work on the collection. Rejects a `SourceError`, and the signal's reason. */
  using<T>(signal: AbortSignal, work: (place: Place) => Promise<T>): Promise<T>;
  /** What an error that came later means. */
  faultOf(error: unknown): unknown;
  close(): Promise<void>;
}

/** Options that read files of the machine that the service runs on, which is not the caller's. */
const FILE_OPTIONS: ReadonlySet<string> = new Set([
  'tlscafile',
  'tlscrlfile',
  'tlscertificatekeyfile',
  'tlscertificatekeyfilepassword',
]);
/** What needs code that is not part of this program, or credentials of the machine. */
const SIGN_INS: ReadonlySet<string> = new Set(['default', 'scram-sha-1', 'scram-sha-256', 'plain']);

export function createConnection({ connection, settings }: Pick<SourceOptions, 'connection' | 'settings'>): Connection {
  const described = describe(connection, settings);
  let client: MongoClient | undefined;

  async function using<T>(signal: AbortSignal, work: (place: Place) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const stop = () => void close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      client ??= new MongoClient(clientUri(connection), clientOptions(connection));
      await client.connect();
      const db = client.db(described.database);
      return await answered(work({ client, db, collection: db.collection(described.collection) }));
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(error, described);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async function close(): Promise<void> {
    const before = client;
    client = undefined;
    if (before !== undefined) await closed(before.close(true));
  }

  return { using, faultOf: (error) => faultOf(error, described), close };
}

/** What messages name; no secret is among it. */
interface Described {
  hosts: string;
  user: string | undefined;
  /** As it may stand in a message of the driver. */
  passwords: string[];
  database: string;
  collection: string;
}

function describe({ connection_uri: uri }: JsonObject, settings: JsonObject): Described {
  const { hosts = '', user, password } = readMongodbUri(String(uri)) ?? {};
  return {
    hosts,
    user: user === undefined ? undefined : decoded(user),
    passwords: password === undefined || password === '' ? [] : [password, decoded(password)],
    database: String(settings['database_name']),
    collection: String(settings['collection_name']),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The connection string without what is not done here. */
function clientUri({ connection_uri: given }: JsonObject): string {
  const uri = String(given);
  const { options = '' } = readMongodbUri(uri) ?? {};
  const kept: string[] = [];
  for (const option of options.split('&')) {
    const [name = '', value = ''] = option.toLowerCase().split('=');
    if (FILE_OPTIONS.has(name)) {
      throw new SourceError(
        'settings',
        `The connection string has the option "${name}", which names a file of the service's own machine. Give the certificate of the authority in "tls.ca_certificate" of the integration.`,
      );
    }
    if (name === 'proxyhost')
      throw new SourceError('settings', 'The connection string has the option "proxyHost": there are no proxies here.');
    if (name === 'authmechanism' && !SIGN_INS.has(value)) {
      throw new SourceError(
        'settings',
        `The connection string has the authMechanism "${value}"; here users sign in with a password (SCRAM-SHA-256, SCRAM-SHA-1 or PLAIN).`,
      );
    }
    // Others than zlib need native code; without any, everything is read as well.
    if (option !== '' && name !== 'compressors') kept.push(option);
  }
  const [base = ''] = uri.split('?');
  return kept.length === 0 ? base : `${base}?${kept.join('&')}`;
}

function clientOptions({ connection_uri: uri, tls }: JsonObject): MongoClientOptions {
  const { options = '' } = readMongodbUri(String(uri)) ?? {};
  const given = new Set(options.split('&').map((option) => option.toLowerCase().split('=')[0]));
  const defaults = {
    appName: 'colloquy',
    serverSelectionTimeoutMS: CONNECT_MS,
    connectTimeoutMS: CONNECT_MS,
    socketTimeoutMS: SILENCE_MS,
    maxPoolSize: 4,
  };
  const certificate = isObject(tls) ? tls['ca_certificate'] : undefined;
  return {
    ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !given.has(name.toLowerCase()))),
    ...(isObject(tls) ? { tls: true } : {}),
    ...(typeof certificate === 'string' ? { ca: certificate } : {}),
  };
}

const DENIED_CODES: ReadonlySet<number> = new Set([13, 18, 31, 33, 334, 8000]);
/** The position is no longer in the oplog, or cannot be gone on from. */
const LOST_CODES: ReadonlySet<number> = new Set([136, 260, 280, 286, 40_585, 40_615, 50_811]);
/** An event that is larger than a change stream can carry. */
const TOO_LARGE_CODE = 10_334;
const NO_REPLICA_SET_CODES: ReadonlySet<number> = new Set([40_573]);
/** What a database or collection of that name or kind cannot be asked. */
const SETTINGS_CODES: ReadonlySet<number> = new Set([2, 20, 26, 59, 72, 73, 115, 166, 167, 9]);

/** What an error of the driver or of the server means. */
function faultOf(error: unknown, described: Described): unknown {
  if (error instanceof SourceError || !(error instanceof Error)) return error;
  const { code, name } = error as { code?: unknown; name: string };
  // Others are of our own: those of the driver have such names, those of the network have a code.
  if (!/^(?:Mongo|BSON)/.test(name) && typeof code !== 'string') return error;
  const { hosts, user, database, collection } = described;
  const fault = (kind: ConstructorParameters<typeof SourceError>[0], message: string) =>
    new SourceError(kind, message, { cause: error });
  const why = messageOf(error, described);
  if (typeof code === 'number' && DENIED_CODES.has(code)) {
    const who = user === undefined ? 'without a user' : `as the user "${user}"`;
    return fault(
      'denied',
      code === 13
        ? `MongoDB at ${hosts} does not let "${database}.${collection}" be read ${who}: ${why}. Give the user of the integration the role "read" on "${database}".`
        : `MongoDB at ${hosts} lets nobody in ${who}: ${why}. Check user, password and authSource in the connection string of the integration.`,
    );
  }
  if (typeof code === 'number' && LOST_CODES.has(code)) return lost(described, why, error);
  if (code === TOO_LARGE_CODE)
    return fault('lost', `A change of "${database}.${collection}" is too large for a change stream: ${why}.`);
  if (typeof code === 'number' && NO_REPLICA_SET_CODES.has(code)) return noReplicaSet(hosts, error);
  if (/certificate|self-signed/i.test(why)) {
    return fault(
      'settings',
      `The certificate of MongoDB at ${hosts} is not trusted: ${why}. Give its authority in "tls.ca_certificate" of the integration.`,
    );
  }
  if (/wrong version number|packet length too long/.test(why))
    return fault('settings', `MongoDB at ${hosts} does not speak TLS: leave it out of the integration.`);
  if (isWrongSetting(name, code)) return fault('settings', `MongoDB at ${hosts} cannot be read so: ${why}.`);
  return fault(
    'unreachable',
    `MongoDB at ${hosts} cannot be reached: ${why}. Is it up, may this machine reach it, and does it speak TLS if the integration says so, or else not?`,
  );
}

function isWrongSetting(name: string, code: unknown): boolean {
  return (
    (typeof code === 'number' && SETTINGS_CODES.has(code)) ||
    /^Mongo(?:Parse|InvalidArgument|MissingCredentials|MissingDependency|Compatibility|API)Error$/.test(name)
  );
}

/** The position is gone. */
function lost({ database, collection }: Pick<Described, 'database' | 'collection'>, why: string, cause?: Error) {
  return new SourceError(
    'lost',
    `The changes of "${database}.${collection}" that come next are no longer in MongoDB's oplog, or cannot be gone on from: ${why}. A larger oplog keeps them for longer.`,
    cause && { cause },
  );
}

/** Changes can only be followed where there is an oplog. */
export function noReplicaSet(hosts: string, cause?: Error): SourceError {
  return new SourceError(
    'settings',
    `MongoDB at ${hosts} is a single server without a replica set, and has no change streams. Start it with --replSet and run rs.initiate(): a replica set of one server is enough.`,
    cause && { cause },
  );
}

/** Without the full stop at its end, on one line, and without the password. */
function messageOf(error: Error, { passwords }: Described): string {
  let [text = ''] = error.message.split('\n', 1);
  for (const password of passwords) text = text.replaceAll(password, '********');
  return text.trim().replace(/\.$/, '');
}
