import { mkdirSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { EngineLimits } from '../../engine.ts';
import { isDiskFull } from '../connections/engine-error.ts';
import { foldersIn } from '../connections/folders.ts';
import { isHeldError } from '../connections/held.ts';
import { connectTo, instanceOptions, prepare, shutIn } from '../connections/instance.ts';
import { CATALOG, DEFAULT_SCHEMA, quoteName, quoteText } from '../sql/names.ts';
import {
  findOrphanedLog,
  findUnreadLog,
  hasLog,
  hasWholeChange,
  type LogDamage,
  logDamageError,
  orphanedLogError,
} from './log-check.ts';
import { lacksLog, missingLogError, readMarks } from './log-marks.ts';
import { openError } from './storage-errors.ts';

/**
 * How much of a table a checkpoint rewrites to reclaim the space of deleted rows; the next one continues. Queries and
 * writes wait meanwhile. Measured with a million documents of 1 kB, two thirds of them deleted all over: 8 rewrites four
 * pieces of 122,880 rows in 1.4 s, 2 rewrites two in 0.6 s.
 */
const VACUUM_TASKS = 2;

/** An open database file. */
export interface Database {
  readonly instance: DuckDBInstance;
  /** Why it can only be read for now, on a full disk for example; undefined: it can be written. */
  readonly readOnlyCause: unknown;
  readonly file: string;
  /** Whether it was opened with a log. */
  readonly hadLog: boolean;
  /** What of that log ends within a change. */
  readonly cutLog: LogDamage | undefined;
  /** A connection that resolves names in the file. */
  connect(): Promise<DuckDBConnection>;
  /**
   * For reading the file as it is on disk; closed with the database. Nobody else may open the file in this process:
   * closing any handle on it would release the lock that keeps other processes out.
   */
  reader(): Promise<FileHandle>;
  /** Size of the log, in bytes: of what is not in the main file yet. */
  logBytes(): number;
  /** Close the connections first. Resolves to whether the file was released. */
  close(): Promise<boolean>;
}

/**
 * Opens or creates a database file, with limits and locks that no statement can change afterwards, except for threads
 * and memory; only for reading if there is a cause for that. Rejects `not_ready` when another process has it, `internal` when it cannot be read or written, or is
 * damaged: what was stored is opened completely or not at all.
 *
 * The file is attached to an in-memory database, not opened as the main one: replaying the log of an `ALTER … TYPE`
 * needs a default database, which DuckDB 1.5 lacks while it opens its main file. The file could never be opened again.
 */
export async function openDatabase(path: string, limits: EngineLimits, cause?: unknown): Promise<Database> {
  const file = resolve(path);
  const folder = dirname(file);
  const { spool, exports, temp } = foldersIn(folder);
  let instance: DuckDBInstance | undefined;
  let first: DuckDBConnection | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    instance = await DuckDBInstance.create(':memory:', {
      ...instanceOptions(limits, temp),
      // The log is merged when nothing else writes (`file-store.ts`), not by a commit beside other work.
      checkpoint_threshold: '1000TB',
    });
    first = await instance.connect();
    await prepare(first, limits);
    await first.run(`SET GLOBAL max_vacuum_tasks = ${VACUUM_TASKS}`);
    const hadLog = hasLog(file);
    const unread = findUnreadLog(file);
    const readOnlyCause = await attach(first, file, { cause, unread });
    // The engine reads files that are loaded, and writes exported collections as Parquet, itself; the gate lets no SQL of a
    // caller name a file.
    await shutIn(first, [spool, exports]);
    if (readOnlyCause === undefined)
      await first.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(CATALOG)}.${quoteName(DEFAULT_SCHEMA)}`);
    first.closeSync();
    return databaseOf(instance, file, { readOnlyCause, hadLog, cutLog: unread });
  } catch (error) {
    first?.closeSync();
    instance?.closeSync();
    throw openError(file, error);
  }
}

/** Attaches the file; returns why only for reading: `cause`, or a disk that has no room to combine interrupted logs. */
async function attach(
  connection: DuckDBConnection,
  file: string,
  { cause, unread }: { cause: unknown; unread: LogDamage | undefined },
): Promise<unknown> {
  const statement = `ATTACH ${quoteText(file)} AS ${quoteName(CATALOG)}`;
  const orphaned = findOrphanedLog(file);
  if (orphaned !== undefined) throw orphanedLogError(file, orphaned);
  if (unread !== undefined && unread.after > 0) {
    // Another process that has the file open is writing the log just now, so its content says nothing.
    await connection.run(`${statement} (READ_ONLY)`).catch((error: unknown) => {
      if (isHeldError(error)) throw error;
    });
    throw logDamageError(file, unread);
  }
  if (hasLog(file) && !hasWholeChange(file)) {
    // What is left of a log that was cut. Opening the file for writing would remove it.
    await connection.run(`${statement} (READ_ONLY)`);
    await refuseWithoutLog(connection, file);
    await connection.run(`DETACH ${quoteName(CATALOG)}`);
  }
  const readOnlyCause =
    cause ??
    (await connection.run(statement).then(
      () => undefined,
      (error: unknown) => {
        if (!isDiskFull(error)) throw error;
        return error;
      },
    ));
  if (readOnlyCause !== undefined) {
    await connection.run(`${statement} (READ_ONLY)`).catch(() => {
      throw readOnlyCause;
    });
  }
  await refuseWithoutLog(connection, file);
  return readOnlyCause;
}

async function refuseWithoutLog(connection: DuckDBConnection, file: string): Promise<void> {
  const marks = await readMarks(async (text) => (await connection.runAndReadAll(text)).getRows());
  if (lacksLog(file, marks)) throw missingLogError(file);
}

function databaseOf(
  instance: DuckDBInstance,
  file: string,
  how: Pick<Database, 'readOnlyCause' | 'hadLog' | 'cutLog'>,
): Database {
  let reader: Promise<FileHandle> | undefined;
  return {
    ...how,
    instance,
    file,
    reader() {
      reader ??= open(file, 'r');
      return reader;
    },
    logBytes: () => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0,
    connect: () => connectTo(instance),
    async close() {
      const own = await reader?.catch(() => undefined);
      await detach(instance);
      instance.closeSync();
      for (let tries = 0; isHeld(file, own?.fd); tries++) {
        if (tries === RELEASE_TRIES) return false;
        await new Promise((done) => setTimeout(done, RELEASE_WAIT_MS));
      }
      await own?.close();
      return true;
    },
  };
}

/** Merges the log in the engine's threads, which closing would do in this one. If that fails, closing tries again. */
async function detach(instance: DuckDBInstance): Promise<void> {
  try {
    const connection = await instance.connect();
    await connection.run(`DETACH ${quoteName(CATALOG)}`).catch(() => undefined);
    connection.closeSync();
  } catch {
    // The database failed, and nothing can be run on it.
  }
}

const RELEASE_TRIES = 40;
const RELEASE_WAIT_MS = 50;

/**
 * Whether the engine still has the file open; `own` is a descriptor of ours. A result that nobody read to its end keeps
 * it open until collected, and file locks do not stop one process from opening a file twice, which would destroy it.
 * Only Linux can tell.
 */
function isHeld(file: string, own: number | undefined): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc/self/fd').some((descriptor) => {
    try {
      return Number(descriptor) !== own && readlinkSync(`/proc/self/fd/${descriptor}`) === file;
    } catch {
      return false;
    }
  });
}
