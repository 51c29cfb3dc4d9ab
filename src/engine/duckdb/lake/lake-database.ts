import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, version } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { EngineLimits } from '../../engine.ts';
import { engineErrorText, firstLine } from '../connections/engine-error.ts';
import type { Folders } from '../connections/folders.ts';
import { connectTo, instanceOptions, prepare, shutIn } from '../connections/instance.ts';
import type { Sql } from '../connections/store.ts';
import { CATALOG, DEFAULT_SCHEMA, quoteName, quoteText } from '../sql/names.ts';
import { CATALOG_SCHEMA, isInStore, type LakeCatalog, type ObjectStore } from './lake-options.ts';
import { lakeSql } from './lake-sql.ts';

/** A store that does not answer is told of after a few seconds, and not waited for. */
const HTTP = ['http_timeout = 10', 'http_retries = 2', 'http_retry_wait_ms = 200', 'http_retry_backoff = 2'];

/** What opening a lake takes. */
export interface LakePlace {
  catalog: LakeCatalog;
  /** With a slash at its end. */
  data: string;
  extensionFolder: string | undefined;
  objectStore: (() => Promise<ObjectStore>) | undefined;
  folders: Folders;
}

/** A lake that is attached. */
export interface LakeDatabase {
  /** A connection that resolves names in the lake. */
  connect(): Promise<DuckDBConnection>;
  /** Close the connections first. */
  close(): void;
}

/**
 * Rows of a change of metadata up to this many are kept in the catalog until they are put into files. Never those of
 * collections: of objects and lists the engine's extension (1.5.5) loses characters on the way, and fails to read some.
 */
const INLINED_ROWS_MAX = 500;
const NOT_INLINED = 0;

/**
 * Attaches a lake, and creates it if there is none. Like `storage/database.ts`: afterwards no statement can change a setting
 * but threads and memory, or reach a file outside of the lake and of the engine's own folders.
 */
export async function openLakeDatabase(place: LakePlace, limits: EngineLimits): Promise<LakeDatabase> {
  const { spool, exports, temp } = place.folders;
  mkdirSync(temp, { recursive: true, mode: 0o700 });
  if (!isInStore(place.data)) mkdirSync(place.data, { recursive: true });
  const instance = await DuckDBInstance.create(':memory:', {
    ...instanceOptions(limits, temp),
    // An error within the engine would make all further calls fail, and one that ends a transaction then ends the process. The
    // instance holds no data of its own, and after such an error is left for a new one (`isFatal`).
    disable_database_invalidation: 'true',
  });
  let stopSigningIn: () => void = () => {};
  try {
    const first = await instance.connect();
    await prepare(first, limits);
    await loadExtensions(first, place, dirname(temp));
    stopSigningIn = await keepSignedIn(first, instance, place);
    // A lake's files never change: where their groups are is read once, and not by each query. The engine counts that as memory.
    await first.run('SET GLOBAL parquet_metadata_cache = true');
    // A commit that another node forestalls is tried again: those of one collection wait for each other elsewhere.
    await first.run('SET GLOBAL ducklake_max_retry_count = 200');
    await first.run('SET GLOBAL ducklake_retry_wait_ms = 5');
    await first.run('SET GLOBAL ducklake_retry_backoff = 1.1');
    await first.run(
      `ATTACH ${quoteText(`ducklake:postgres:${place.catalog.connectionText(writePassword(place))}`)} AS ${quoteName(CATALOG)}
        (DATA_PATH ${quoteText(place.data)}, METADATA_SCHEMA ${quoteText(CATALOG_SCHEMA)}, DATA_INLINING_ROW_LIMIT ${NOT_INLINED})`,
    );
    await first.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(CATALOG)}."_meta"`);
    await first.run(
      `CALL ${quoteName(CATALOG)}.set_option('data_inlining_row_limit', ${INLINED_ROWS_MAX}, schema => '_meta')`,
    );
    await shutIn(first, [place.data, spool, exports]);
    await first.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(CATALOG)}.${quoteName(DEFAULT_SCHEMA)}`);
    first.closeSync();
  } catch (error) {
    stopSigningIn();
    instance.closeSync();
    throw error;
  }
  return {
    connect: () => connectTo(instance),
    close() {
      stopSigningIn();
      instance.closeSync();
    },
  };
}

/** Runs `work` on the lake opened anew, for it alone. */
export async function onLakeOpened(
  place: LakePlace,
  limits: EngineLimits,
  work: (sql: Sql) => Promise<void>,
): Promise<void> {
  const folders = { ...place.folders, temp: `${place.folders.temp}.aside` };
  const database = await openLakeDatabase({ ...place, folders }, limits);
  try {
    const connection = await database.connect();
    try {
      await work(lakeSql(connection));
    } finally {
      connection.closeSync();
    }
  } finally {
    database.close();
  }
}

/** Its own user's alone, as PostgreSQL's clients demand. */
function writePassword({ catalog, folders }: LakePlace): string {
  const file = join(dirname(folders.temp), 'catalog.pass');
  const next = `${file}.next`;
  rmSync(next, { force: true });
  writeFileSync(next, catalog.password, { mode: 0o600, flag: 'wx' });
  // Whoever connects just now finds the one or the other.
  renameSync(next, file);
  return file;
}

/** Counts the files of a lake as far as they are below its place, with what it takes to reach them and no more. */
export async function lookAtFiles({
  folder,
  ...place
}: Pick<LakePlace, 'data' | 'extensionFolder' | 'objectStore'> & { folder: string }): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '256MB' });
  let stopSigningIn: () => void = () => {};
  try {
    const connection = await instance.connect();
    await loadExtensions(connection, place, folder);
    stopSigningIn = await keepSignedIn(connection, instance, place);
    const result = await connection.runAndReadAll(`SELECT count(*) FROM glob(${quoteText(`${place.data}**`)})`);
    connection.closeSync();
    return Number(result.getRows()[0]?.[0]);
  } finally {
    stopSigningIn();
    instance.closeSync();
  }
}

async function loadExtensions(
  connection: DuckDBConnection,
  { extensionFolder, data }: Pick<LakePlace, 'extensionFolder' | 'data'>,
  folder: string,
): Promise<void> {
  const names = ['ducklake', 'postgres_scanner', ...(isInStore(data) ? ['httpfs'] : [])];
  // Not in the home of whoever runs it, which may have none.
  await connection.run(`SET GLOBAL extension_directory = ${quoteText(join(folder, 'extensions'))}`);
  for (const name of names) {
    try {
      if (extensionFolder === undefined) await connection.run(`INSTALL ${name}`);
      const which = extensionFolder === undefined ? name : quoteText(join(extensionFolder, `${name}.duckdb_extension`));
      await connection.run(`LOAD ${which}`);
    } catch (error) {
      throw extensionError(name, extensionFolder, error);
    }
  }
}

function extensionError(name: string, folder: string | undefined, error: unknown): ApiError {
  const where =
    folder === undefined
      ? 'Where nothing may be downloaded, name a folder that has them with --extension-dir'
      : `Put them into ${JSON.stringify(folder)}`;
  return new ApiError(
    'invalid_input',
    `Cannot load the engine's extension "${name}": ${firstLine(engineErrorText(error))}. ${where}: ducklake, postgres_scanner and httpfs of DuckDB ${version()} and no other, for this machine, each as <name>.duckdb_extension.`,
    { cause: error },
  );
}

/** New credentials are asked for this long before the old ones end, and again so soon if there are none. */
const AHEAD_MS = 300_000;
const AGAIN_MS = 30_000;

/** Lets the engine reach the store, also once the credentials that it has now have ended. Returns what stops that. */
async function keepSignedIn(
  first: DuckDBConnection,
  instance: DuckDBInstance,
  { data, objectStore }: Pick<LakePlace, 'data' | 'objectStore'>,
): Promise<() => void> {
  if (objectStore === undefined || !isInStore(data)) return () => {};
  for (const setting of HTTP) await first.run(`SET GLOBAL ${setting}`);
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const signIn = async () => {
    const store = await objectStore();
    if (isStopped) return;
    const connection = await instance.connect();
    try {
      await connection.run(secretStatement(store, data));
    } finally {
      connection.closeSync();
    }
    if (store.expiresMs !== undefined) signInLater(Math.max(AGAIN_MS, store.expiresMs - Date.now() - AHEAD_MS));
  };
  const signInLater = (ms: number) => {
    if (isStopped) return;
    // A timer cannot be set for more than 24 days.
    timer = setTimeout(() => void signIn().catch(() => signInLater(AGAIN_MS)), Math.min(ms, 86_400_000)).unref();
  };
  await signIn();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

function secretStatement(
  { keyId, secret, sessionToken, region = 'us-east-1', endpoint }: ObjectStore,
  data: string,
): string {
  const url = endpoint === undefined ? undefined : new URL(endpoint);
  const own =
    url === undefined
      ? []
      : [
          `ENDPOINT ${quoteText(url.host)}`,
          `URL_STYLE 'path'`,
          `USE_SSL ${url.protocol === 'https:' ? 'true' : 'false'}`,
        ];
  const parts = [
    // Google's store speaks S3, too, to whoever has an HMAC key.
    `TYPE ${data.startsWith('gs://') ? 'gcs' : 's3'}`,
    `KEY_ID ${quoteText(keyId)}`,
    `SECRET ${quoteText(secret)}`,
    `REGION ${quoteText(region)}`,
    ...(sessionToken === undefined ? [] : [`SESSION_TOKEN ${quoteText(sessionToken)}`]),
    ...own,
  ];
  return `CREATE OR REPLACE SECRET colloquy (${parts.join(', ')})`;
}
