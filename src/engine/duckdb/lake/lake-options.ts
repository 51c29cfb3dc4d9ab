import type { ClientConfig } from 'pg';
import { ApiError } from '../../../contract/errors.ts';

/** Where a lake is, and what it takes to reach it. Nothing of it may be logged or quoted but what `shownOf` gives. */
export interface LakeOptions {
  /** The catalog: a URL of PostgreSQL, `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  catalog: string;
  /** Where the files are: `s3://bucket/prefix` or `gs://bucket/prefix`, or a folder that all nodes share. */
  data: string;
  /** The folder of the engine's extensions (default: installed from the engine's own repository). */
  extensionFolder?: string | undefined;
  /** How an object store is reached now; for a folder it is not asked. Asked again before that ends. */
  objectStore?: (() => Promise<ObjectStore>) | undefined;
}

export interface ObjectStore {
  keyId: string;
  secret: string;
  sessionToken?: string | undefined;
  /** When these credentials end, in milliseconds since 1970 (default: never). */
  expiresMs?: number | undefined;
  /** Default `us-east-1`. */
  region?: string | undefined;
  /** A URL (default: that of AWS, or of Google). */
  endpoint?: string | undefined;
}

/** The schema of PostgreSQL that has the lake's catalog. */
export const CATALOG_SCHEMA = 'colloquy';

const CONNECT_SECS = 10;

/** A peer that is cut off is noticed after some ten seconds. */
const IDLE_SECS = 5;
const INTERVAL_SECS = 2;
const PROBES = 3;
const KEPT_ALIVE = {
  keepalives_idle: String(IDLE_SECS),
  keepalives_interval: String(INTERVAL_SECS),
  keepalives_count: String(PROBES),
  tcp_user_timeout: String((IDLE_SECS + INTERVAL_SECS * PROBES) * 1_000),
};
/** The same at the other end; not as an option of the connection, which what pools connections refuses. */
export const SERVER_KEEPALIVES = {
  tcp_keepalives_idle: IDLE_SECS,
  tcp_keepalives_interval: INTERVAL_SECS,
  tcp_keepalives_count: PROBES,
};

/** A lake's catalog, as each of its two clients wants it. */
export interface LakeCatalog {
  client: ClientConfig;
  /** For the engine, whose errors quote it: text of `key='value'`, with the file that has the password. */
  connectionText(passwordFile: string): string;
  /** What is to be in that file. */
  password: string;
  /** Without secrets. */
  shown: string;
}

/** Throws `invalid_input`. */
export function lakeCatalogOf(text: string): LakeCatalog {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '' || url.pathname.length < 2) {
    throw new ApiError(
      'invalid_input',
      'The catalog of a lake is given as postgres://user:password@host:5432/database; "?sslmode=verify-full" may follow.',
    );
  }
  const secret = ['password', 'passfile', 'sslpassword'].find((name) => url.searchParams.has(name));
  if (secret !== undefined) {
    throw new ApiError(
      'invalid_input',
      `The catalog of a lake takes no "${secret}" behind its "?", which errors would quote: give the password with --lake-password-file or COLLOQUY_LAKE_PASSWORD.`,
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? '5432' : url.port;
  const database = decodeURIComponent(url.pathname.slice(1));
  const parts = {
    host,
    port,
    dbname: database,
    user: decodeURIComponent(url.username),
    connect_timeout: String(CONNECT_SECS),
    application_name: 'colloquy',
    ...KEPT_ALIVE,
    ...Object.fromEntries(url.searchParams),
  };
  const withCompat = new URL(url);
  // As PostgreSQL's own clients understand `sslmode`.
  if (!url.searchParams.has('uselibpqcompat')) withCompat.searchParams.set('uselibpqcompat', 'true');
  return {
    client: {
      connectionString: withCompat.href,
      connectionTimeoutMillis: CONNECT_SECS * 1_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: IDLE_SECS * 1_000,
      application_name: 'colloquy',
    },
    connectionText: (passfile) =>
      Object.entries({ ...parts, passfile })
        .filter(([key, value]) => value !== '' && key !== 'uselibpqcompat')
        .map(([key, value]) => `${key}='${value.replace(/[\\']/g, '\\$&')}'`)
        .join(' '),
    password: `*:*:*:*:${decodeURIComponent(url.password).replace(/[\\:]/g, '\\$&')}\n`,
    shown: `${host}:${port}/${database}`,
  };
}

/** Whether the data of a lake are in an object store, and not in a folder. */
export function isInStore(data: string): boolean {
  return !data.startsWith('/');
}

/** Always with a slash at its end. Throws `invalid_input`. */
export function lakeDataOf(text: string): string {
  if (!/^(?:(?:s3|gs):\/\/[^/]+\/?|\/)/.test(text)) {
    throw new ApiError(
      'invalid_input',
      'The data of a lake are at s3://bucket/prefix or gs://bucket/prefix, or in a folder that all nodes share, given as a whole path.',
    );
  }
  return text.endsWith('/') ? text : `${text}/`;
}
