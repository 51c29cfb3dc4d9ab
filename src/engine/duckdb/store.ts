import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import type { EngineLimits, EngineSize } from '../engine.ts';
import { CATALOG, type Database, logBytesMax, openDatabase } from './database.ts';
import { quoteName } from './names.ts';
import { isCommitted, isFatal, isLost, mayBeCommitted, OutcomeUnknown, openError } from './storage-errors.ts';

/** Where the engine reports what nobody waits for; a pino logger fits. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Statements on one connection, each in a text of its own. Values for `$1`, `$2`, … come after the text. */
export interface Sql {
  (text: string, ...values: DuckDBValue[]): Promise<DuckDBValue[][]>;
  /**
   * The same for a text that comes often: it stays prepared. It must read no table: a plan that is kept knows what a table
   * held when it was made, and answers wrongly once that has changed. A change of the schema does no harm.
   */
  again(text: string, ...values: DuckDBValue[]): Promise<DuckDBValue[][]>;
}

/** Runs `work` in one transaction: all of it is durable when this resolves, or none of it is in effect. */
export type Transaction = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

export interface StoreOptions {
  file: string;
  limits: EngineLimits;
  log: Log;
  /** Brings the schema up to date, where the file can be written, and reads what is kept in memory; runs after every open. */
  load(transaction: Transaction, isReadOnly: boolean): Promise<void>;
}

/** A file that a full disk allows only to be read is opened for writing again at most so often. */
const READ_ONLY_MS = 2_000;

/**
 * When nothing was written for so long, a log of so many bytes goes into the main file: no start has to replay it then,
 * and the memory that it takes is given back.
 */
const QUIET_MS = 5_000;
const QUIET_LOG_BYTES = 16 * 1024 * 1024;

/** Running statements get so long to end after an interrupt, before their database is closed. */
const GRACE_MS = 200;

interface Session {
  readonly database: Database;
  readonly writers: Writer[];
  /** Connections that others use; those that were closed or collected do no harm here. */
  readonly lent: Set<WeakRef<DuckDBConnection>>;
  /** By `performance.now()`. */
  readonly openedAt: number;
  /** Transactions that run now. */
  running: number;
  isBroken: boolean;
}

interface Writer {
  readonly connection: DuckDBConnection;
  readonly sql: Sql;
}

/**
 * The open file and its connections. After an error that makes the database unusable (a full disk, above all) it is
 * closed and opened again, by itself, before the next statement.
 */
export class Store {
  readonly #options: StoreOptions;
  #session: Promise<Session>;
  /** Of now, and of every time that the file is opened again. */
  #size: EngineSize;
  #isClosed = false;
  /** While the files are to stay as they are: until then nothing is written. */
  #stillness: Promise<void> | undefined;
  /** Transactions that may write and run now, and who waits for their end. */
  #writing = 0;
  #onceUnwritten: (() => void) | undefined;
  /** Runs while nothing is written. */
  #quiet: NodeJS.Timeout | undefined;

  private constructor(options: StoreOptions, session: Session) {
    this.#options = options;
    this.#session = Promise.resolve(session);
    this.#size = { threads: options.limits.threads, memoryBytes: options.limits.memoryBytes };
  }

  /** Rejects as `openDatabase` does. */
  static async open(options: StoreOptions): Promise<Store> {
    return new Store(options, await openSession(options));
  }

  /** A connection for queries; whoever asked closes it. */
  async connect(): Promise<DuckDBConnection> {
    const session = await this.#ready();
    try {
      return await lend(session);
    } catch (error) {
      if (!this.#noteFailure(session, error)) throw error;
      return lend(await this.#ready());
    }
  }

  /** As `Transaction`. */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    clearTimeout(this.#quiet);
    try {
      return await this.#write(() => this.read(work));
    } finally {
      if (this.#writing === 0 && !this.#isClosed) {
        this.#quiet = setTimeout(() => void this.#tidy(), QUIET_MS).unref();
      }
    }
  }

  async #write<T>(work: () => Promise<T>): Promise<T> {
    while (this.#stillness !== undefined) await this.#stillness;
    this.#writing += 1;
    try {
      return await work();
    } finally {
      this.#writing -= 1;
      if (this.#writing === 0) this.#onceUnwritten?.();
    }
  }

  /** Puts the log into the main file, if it is worth it. */
  async #tidy(): Promise<void> {
    const session = await this.#session.catch(() => undefined);
    if (session === undefined || this.#isClosed || session.isBroken || session.database.isReadOnly) return;
    if (this.#writing > 0 || session.database.logBytes() < QUIET_LOG_BYTES) return;
    const merge = ({ sql }: Writer) => sql(`CHECKPOINT ${quoteName(CATALOG)}`);
    await this.#write(() => this.#withWriter(session, merge)).catch((error: unknown) => {
      // Nothing is lost: the log is still there, and the next quiet moment is another chance.
      if (!session.isBroken) this.#options.log.info({ err: error }, 'the log was not put into the database file');
    });
  }

  /**
   * Runs `work` while nothing is written: the files hold all that is stored, and stay as they are. Reading goes on; what
   * wants to write waits. `sql` is one transaction, for reading; `reader` reads the file. One call at a time.
   */
  async still<T>(work: (sql: Sql, reader: FileHandle) => Promise<T>): Promise<T> {
    let session = await this.#ready();
    while (this.#stillness !== undefined) {
      await this.#stillness;
      session = await this.#ready();
    }
    let end: () => void = () => undefined;
    this.#stillness = new Promise((resolve) => {
      end = resolve;
    });
    try {
      if (this.#writing > 0) {
        await new Promise<void>((resolve) => {
          this.#onceUnwritten = resolve;
        });
      }
      // Opening it again would change the files, and waits until this is over.
      if (session.isBroken) throw new ApiError('not_ready', 'The database failed and is opened again. Try again.');
      const { connection, sql } = await openWriter(session.database);
      try {
        const reader = await session.database.reader();
        return await inTransaction(
          sql,
          (one) => work(one, reader),
          (error) => this.#noteFailure(session, error),
        );
      } finally {
        connection.closeSync();
      }
    } finally {
      this.#onceUnwritten = undefined;
      this.#stillness = undefined;
      end();
    }
  }

  /** As `transaction`, for what only reads: it never waits for `still`. */
  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    let session = await this.#ready();
    if (mayHaveSpace(session)) {
      session.isBroken = true;
      session = await this.#ready();
    }
    return this.#withWriter(session, ({ sql }) =>
      inTransaction(sql, work, (error) => this.#noteFailure(session, error)),
    );
  }

  async #withWriter<T>(session: Session, work: (writer: Writer) => Promise<T>): Promise<T> {
    session.running += 1;
    let writer: Writer | undefined;
    try {
      writer = session.writers.pop() ?? (await openWriter(session.database));
      const result = await work(writer);
      session.writers.push(writer);
      return result;
    } catch (error) {
      this.#noteFailure(session, error);
      // Whatever state its transaction is in ends with it.
      writer?.connection.closeSync();
      throw error;
    } finally {
      session.running -= 1;
    }
  }

  get size(): EngineSize {
    return this.#size;
  }

  /** Changes threads and memory at once; where that fails, they stay as they were. One call at a time. */
  async resize(size: EngineSize): Promise<void> {
    const session = await this.#ready();
    const before = this.#size;
    const connection = await this.connect();
    const set = async ({ threads, memoryBytes }: EngineSize) => {
      await connection.run(`SET GLOBAL memory_limit = '${memoryBytes}B'`);
      await connection.run(`SET GLOBAL checkpoint_threshold = '${logBytesMax(memoryBytes)}B'`);
      await connection.run(`SET GLOBAL threads = ${threads}`);
    };
    try {
      this.#size = size;
      await set(size);
    } catch (error) {
      // The next session opens with the new size.
      if (this.#noteFailure(session, error)) return;
      this.#size = before;
      await set(before);
      throw error;
    } finally {
      connection.closeSync();
    }
  }

  /** Runs `work`, which uses connections of its own, and runs it once more if the database failed underneath it. */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const session = await this.#ready();
    try {
      return await work();
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#noteFailure(session, error instanceof ApiError ? error.cause : error);
      await this.#ready();
      return work();
    }
  }

  /** Makes everything durable in the main file and lets go of it. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#quiet);
    // Closing merges the log into the file.
    await this.#stillness;
    const session = await this.#session.catch(() => undefined);
    if (session === undefined) return;
    const isReleased = await closeSession(session);
    if (!isReleased) this.#options.log.warn({}, 'a query result that nobody read to its end keeps the database open');
  }

  /** Remembers that the session is of no more use; answers whether it is. */
  #noteFailure(session: Session, error: unknown): boolean {
    if (!isFatal(error)) return false;
    if (!session.isBroken) this.#options.log.error({ err: error }, 'the database failed and will be opened again');
    session.isBroken = true;
    return true;
  }

  async #ready(): Promise<Session> {
    if (this.#isClosed) throw new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
    const current = this.#session;
    const session = await current;
    if (!session.isBroken) return session;
    if (this.#session === current) {
      const next = this.#reopen(session);
      this.#session = next;
      // When that fails, the next caller tries again.
      next.catch(() => {
        if (this.#session === next) this.#session = current;
      });
    }
    return this.#session;
  }

  async #reopen(broken: Session): Promise<Session> {
    await this.#stillness;
    const isReleased = await closeSession(broken);
    if (!isReleased) {
      throw new ApiError('not_ready', 'The database failed and cannot be opened again yet. Restart the service.');
    }
    const { limits } = this.#options;
    const session = await openSession({ ...this.#options, limits: { ...limits, ...this.#size } });
    this.#options.log.info({}, 'the database is open again');
    return session;
  }
}

/** Whether a session that can only read may by now be opened for writing as well. */
function mayHaveSpace({ database, openedAt }: Session): boolean {
  return database.isReadOnly && performance.now() - openedAt > READ_ONLY_MS;
}

async function openSession(options: StoreOptions): Promise<Session> {
  const database = await openDatabase(options.file, options.limits);
  const session: Session = {
    database,
    writers: [],
    lent: new Set(),
    openedAt: performance.now(),
    running: 0,
    isBroken: false,
  };
  try {
    const writer = await openWriter(database);
    session.writers.push(writer);
    await options.load(
      (work) =>
        inTransaction(writer.sql, work, () => {
          session.isBroken = true;
        }),
      database.isReadOnly,
    );
    if (database.isReadOnly) options.log.warn({}, 'the disk is full: the database can only be read for now');
    return session;
  } catch (error) {
    await closeSession(session);
    throw openError(options.file, error);
  }
}

async function closeSession(session: Session): Promise<boolean> {
  const lent = [...session.lent].flatMap((ref) => ref.deref() ?? []);
  for (const connection of lent) connection.interrupt();
  for (let waitedMs = 0; session.running > 0 && waitedMs < 10_000; waitedMs += 10) await sleep(10);
  if (lent.length > 0 && session.isBroken) await sleep(GRACE_MS);
  for (const connection of lent) connection.closeSync();
  for (const writer of session.writers.splice(0)) writer.connection.closeSync();
  return session.database.close();
}

async function lend(session: Session): Promise<DuckDBConnection> {
  const connection = await session.database.connect();
  for (const ref of session.lent) if (ref.deref() === undefined) session.lent.delete(ref);
  session.lent.add(new WeakRef(connection));
  return connection;
}

async function openWriter(database: Database): Promise<Writer> {
  const connection = await database.connect();
  return { connection, sql: sqlOn(connection) };
}

/** Most statements that a connection keeps prepared. */
const KEPT_MAX = 12;

/** Statements on a connection. They end, and what they kept with them, when it is closed. */
export function sqlOn(connection: DuckDBConnection): Sql {
  const kept = new Map<string, DuckDBPreparedStatement>();

  const again = async (text: string, ...values: DuckDBValue[]) => {
    const prepared = kept.get(text) ?? (await connection.prepare(text));
    kept.delete(text);
    try {
      const rows = await runPrepared(prepared, values);
      kept.set(text, prepared);
      if (kept.size > KEPT_MAX) {
        const [oldest] = kept.keys();
        if (oldest !== undefined) kept.get(oldest)?.destroySync();
        if (oldest !== undefined) kept.delete(oldest);
      }
      return rows;
    } catch (error) {
      prepared.destroySync();
      throw error;
    }
  };

  const once = async (text: string, ...values: DuckDBValue[]) => {
    const prepared = await connection.prepare(text);
    try {
      return await runPrepared(prepared, values);
    } finally {
      prepared.destroySync();
    }
  };
  return Object.assign(once, { again });
}

/** All of a result is there when its statement has run: to read it takes no more turns of the engine's threads. */
async function runPrepared(prepared: DuckDBPreparedStatement, values: DuckDBValue[]): Promise<DuckDBValue[][]> {
  if (values.length > 0) prepared.bind(values);
  const result = await prepared.run();
  const rows: DuckDBValue[][] = [];
  for (let index = 0; index < result.chunkCount; index++) rows.push(...result.getChunk(index).getRows());
  return rows;
}

/** `onLate` hears of an error that came after the commit: the work is done, but the database may be unusable. */
async function inTransaction<T>(
  sql: Sql,
  work: (sql: Sql) => Promise<T>,
  onLate: (error: unknown) => void,
): Promise<T> {
  await sql.again('BEGIN TRANSACTION');
  try {
    const result = await work(sql);
    await sql.again('COMMIT').catch((error: unknown) => {
      if (!isCommitted(error)) throw mayBeCommitted(error) ? new OutcomeUnknown(error) : error;
      onLate(error);
    });
    return result;
  } catch (error) {
    // A failed COMMIT has rolled back by itself already.
    await sql.again('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
