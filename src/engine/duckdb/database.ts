import { mkdirSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { EngineLimits } from '../engine.ts';
import { findLogDamage, logDamageError } from './log-check.ts';
import { quoteName, quoteText } from './names.ts';
import { isDiskFull, isHeldError, openError } from './storage-errors.ts';

/** Name under which the file is attached: the catalog of everything that is stored. */
export const CATALOG = '_colloquy';
/** Schema that SQL means where it names none. */
export const DEFAULT_SCHEMA = 'commons';

/**
 * How much of a table a checkpoint writes anew to take back the room of deleted rows; the next one goes on. Queries run
 * meanwhile, but writes wait: with DuckDB's own 100, seconds for a few million rows and longer for more. Measured, of
 * 40 pieces of 122,880 rows with a third deleted all over: 8 write three anew in a seventh of the time, and keep up.
 */
const VACUUM_TASKS = 8;

/** An open database file. */
export interface Database {
  readonly instance: DuckDBInstance;
  /** The disk was too full to put the logs of an interrupted merge together, which only writing needs. */
  readonly isReadOnly: boolean;
  /** A connection that resolves names in the file. */
  connect(): Promise<DuckDBConnection>;
  /**
   * For reading the file as it lies on the disk; it is closed with the database. Nobody else may open the file in this
   * process: closing any handle on it would let go of the lock that keeps other processes out.
   */
  reader(): Promise<FileHandle>;
  /** Bytes of the log: of what is not in the main file yet. */
  logBytes(): number;
  /** Connections first, then this. Resolves whether the file was let go of. */
  close(): Promise<boolean>;
}

/**
 * Opens a database file, or creates it, with the limits and locks that no statement can change afterwards, but for
 * threads and memory.
 * Rejects `not_ready` when another process has it, `internal` when it cannot be read or written, or is damaged: what was
 * stored is opened whole or not at all.
 *
 * The file is attached to a database in memory, not opened as the main one: replaying the log of an `ALTER … TYPE`
 * needs a default database, which DuckDB 1.5 lacks while it opens its main file. It would never open again.
 */
export async function openDatabase(path: string, limits: EngineLimits): Promise<Database> {
  const file = resolve(path);
  const folder = dirname(file);
  let instance: DuckDBInstance | undefined;
  let first: DuckDBConnection | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    instance = await DuckDBInstance.create(':memory:', {
      threads: String(limits.threads),
      memory_limit: `${limits.memoryBytes}B`,
      temp_directory: join(folder, 'temp'),
      // What a load took goes back to the system in seconds, not with the next load.
      allocator_background_threads: 'true',
      // The log is put into the file when nothing else writes (`store.ts`), and not by a commit beside others.
      checkpoint_threshold: '1000TB',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      allow_community_extensions: 'false',
    });
    first = await instance.connect();
    await first.run(`SET GLOBAL TimeZone = 'UTC'`);
    await first.run(`SET GLOBAL max_vacuum_tasks = ${VACUUM_TASKS}`);
    // Given when the instance is made, it is told but not obeyed.
    await first.run(`SET GLOBAL max_temp_directory_size = '${limits.tempBytesMax}B'`);
    const isReadOnly = await attach(first, file);
    // Only now: it shuts out every file but the attached one.
    await first.run('SET GLOBAL enable_external_access = false');
    // The engine's size may change while it runs; of all settings, only these may.
    await first.run(`SET GLOBAL allowed_configs = ['threads', 'memory_limit']`);
    // Only so do errors tell their positions as numbers (`engine-error.ts`).
    await first.run('SET GLOBAL errors_as_json = true');
    await first.run('SET GLOBAL lock_configuration = true');
    if (!isReadOnly) await first.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(CATALOG)}.${quoteName(DEFAULT_SCHEMA)}`);
    first.closeSync();
    return databaseOf(instance, file, isReadOnly);
  } catch (error) {
    first?.closeSync();
    instance?.closeSync();
    throw openError(file, error);
  }
}

/** Attaches the file; answers whether a full disk allowed no more than reading it. */
async function attach(connection: DuckDBConnection, file: string): Promise<boolean> {
  const statement = `ATTACH ${quoteText(file)} AS ${quoteName(CATALOG)}`;
  const damage = findLogDamage(file);
  if (damage !== undefined) {
    // Whoever has the file open writes the log at this moment, so that it says nothing.
    await connection.run(`${statement} (READ_ONLY)`).catch((error: unknown) => {
      if (isHeldError(error)) throw error;
    });
    throw logDamageError(file, damage);
  }
  try {
    await connection.run(statement);
    return false;
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    await connection.run(`${statement} (READ_ONLY)`).catch(() => {
      throw error;
    });
    return true;
  }
}

function databaseOf(instance: DuckDBInstance, file: string, isReadOnly: boolean): Database {
  let reader: Promise<FileHandle> | undefined;
  return {
    instance,
    isReadOnly,
    reader() {
      reader ??= open(file, 'r');
      return reader;
    },
    logBytes: () => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0,
    async connect() {
      const connection = await instance.connect();
      try {
        await connection.run(`USE ${quoteName(CATALOG)}.${quoteName(DEFAULT_SCHEMA)}`);
      } catch (error) {
        connection.closeSync();
        throw error;
      }
      return connection;
    },
    async close() {
      const own = await reader?.catch(() => undefined);
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

const RELEASE_TRIES = 40;
const RELEASE_WAIT_MS = 50;

/**
 * Whether the engine still has the file open, `own` being a descriptor of ours. A result that nobody read to its end keeps it so until it is collected,
 * and file locks do not keep one process from opening a file twice, which would destroy it. Only Linux can tell.
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
