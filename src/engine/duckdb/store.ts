import type { FileHandle } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import type { EngineSize } from '../engine.ts';
import { logBytesMax, patienceMsOf, QUIET_LOG_BYTES, QUIET_MS, quietMsOf, SHORT_LOG_BYTES } from './log-size.ts';
import { checkpoint, hasMoved, withRowsInPlace } from './merge.ts';
import { Stillness } from './stillness.ts';
import { isFatal, isHeldUp, isLost } from './storage-errors.ts';
import {
  closeSession,
  closeWriter,
  type Log,
  lend,
  mayHaveSpace,
  newWriter,
  openSession,
  type Session,
  type StoreOptions,
} from './store-session.ts';
import { inTransaction, settled, type Transaction } from './transactions.ts';
import type { Run, Sql, Writer } from './writer.ts';

export type { Log, Run, Sql, StoreOptions, Transaction };

/** After a merge that failed, so long passes before the next one of a long log. */
const MERGE_AGAIN_MS = 5_000;

/** So long a merge waits for queries to end, so that none runs beside it. */
const UNREAD_MS = 250;

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
  /** Of what may write, and what needs the files to stay as they are. */
  readonly #stillness = new Stillness();
  /** By `performance.now()`: the end of the last write that counts. */
  #quietSince = performance.now();
  #isMerging = false;
  /** Whether the last merge left room to take back, since it was long. */
  #owesMoving = false;
  /** By `performance.now()`: before that a merge that failed is not tried again. */
  #mergeAfter = 0;
  /** Ends in a look at whether the log is to go into the main file. */
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

  /**
   * As `Transaction`. `isAside`: a short one, as those are that nobody waits for; however many of them come, the log goes
   * into the main file in between.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, { isAside = false } = {}): Promise<T> {
    return this.#noted(() => this.#inTransaction(work), isAside);
  }

  /** Runs one statement that writes, as a transaction by itself; as `Sql.again`. */
  readonly statement: Run = (text, ...values) =>
    this.#noted(() =>
      this.#onWriter(async ({ sql }, onLate) => (await settled(sql.again(text, ...values), onLate)) ?? []),
    );

  /** Runs one statement that reads, `undisturbed`. */
  readonly select: Run = (text, ...values) => this.undisturbed(() => this.#onWriter(({ sql }) => sql(text, ...values)));

  /**
   * Runs what reads to decide what is to be written, now or later: never while the log goes into the main file, whatever else
   * runs (see `reading`). Not within a transaction.
   */
  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    return this.#stillness.write(work);
  }

  /** Runs what may write, and looks after the log once nothing was written for some time. */
  async #noted<T>(work: () => Promise<T>, isAside = false): Promise<T> {
    try {
      return await this.#stillness.write(work);
    } finally {
      if (!isAside) this.#quietSince = performance.now();
      if (!isAside || this.#quiet === undefined) this.#tidyAfter(QUIET_MS);
      void this.#mergeIfLong();
    }
  }

  #tidyAfter(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.#tidy(), ms).unref();
  }

  /** Puts the log into the main file, if it is worth it. */
  async #tidy(): Promise<void> {
    this.#quiet = undefined;
    const session = await this.#session.catch(() => undefined);
    if (session === undefined || this.#isClosed || session.isBroken || session.database.isReadOnly) return;
    session.statements.clear();
    const quietMs = quietMsOf(session.database.logBytes());
    if (quietMs === undefined) return;
    const leftMs = this.#stillness.isWritten ? QUIET_MS : quietMs - (performance.now() - this.#quietSince);
    if (leftMs > 0) return this.#tidyAfter(leftMs);
    await this.#merge(session);
  }

  /** Puts the log into the main file where it is as long as it may be, or where rows are still to move after that. */
  async #mergeIfLong(): Promise<void> {
    const session = await this.#session.catch(() => undefined);
    if (session === undefined || session.isBroken || session.database.isReadOnly || this.#isClosed) return;
    if (performance.now() < this.#mergeAfter) return;
    const [bytes, max] = [session.database.logBytes(), logBytesMax(this.#size.memoryBytes)];
    if (bytes >= max) await this.#merge(session, patienceMsOf(bytes, max));
    else if (this.#owesMoving && bytes >= QUIET_LOG_BYTES) await this.#merge(session);
  }

  /**
   * Puts the log into the main file while nothing else writes. Beside a transaction that writes, the engine's checkpoint may
   * store what that deleted without what it inserted, and leave both in the log: a crash then leaves a log that conflicts
   * with the file, and a database that does not open. Beside a query that began before the last change of a document in
   * place, or of the schema, it refuses: it is tried again for `patienceMs`, since nothing that begins meanwhile is in the way.
   *
   * Where rows were deleted it takes back their room, for which queries have to wait (see `reading`). So it does that only
   * with a short log, and after a long one with the next, as soon as that is worth it.
   */
  async #merge(session: Session, patienceMs = UNREAD_MS): Promise<void> {
    if (this.#isMerging) return;
    this.#isMerging = true;
    const isShort = session.database.logBytes() <= SHORT_LOG_BYTES;
    this.#owesMoving = session.mayHaveFreed && !isShort;
    try {
      const merge = async (mayMove: boolean) => {
        // Where queries wait as well it is not for long.
        const endsAt = performance.now() + (mayMove ? UNREAD_MS : patienceMs);
        const mayGoOn = () => performance.now() < endsAt && !session.isBroken && !this.#isClosed;
        if (session.isBroken || this.#isClosed) return;
        const now = () => this.#withWriter(session, ({ sql }) => checkpoint(sql, mayGoOn));
        if (!mayMove) return this.#withWriter(session, ({ sql }) => withRowsInPlace(sql, now));
        session.mayHaveFreed = await this.#withWriter(session, ({ sql }) => hasMoved(sql, now));
      };
      const isMoving = session.mayHaveFreed && isShort;
      await this.#stillness.alone(() => (isMoving ? this.#stillness.unread(UNREAD_MS, merge) : merge(false)));
    } catch (error) {
      // Nothing is lost: the log is still there, and later is another chance.
      this.#mergeAfter = performance.now() + MERGE_AGAIN_MS;
      if (isHeldUp(error)) this.#tidyAfter(MERGE_AGAIN_MS);
      if (!session.isBroken) this.#options.log.info({ err: error }, 'the log was not put into the database file');
    } finally {
      this.#isMerging = false;
    }
  }

  /**
   * Runs `work` while nothing is written: the files hold all that is stored, and stay as they are. Reading goes on; what
   * wants to write waits. `sql` is one transaction, for reading; `reader` reads the file. One call at a time.
   */
  async still<T>(work: (sql: Sql, reader: FileHandle) => Promise<T>): Promise<T> {
    await this.#ready();
    return this.#stillness.alone(async () => {
      // Where it is being opened again, that began before this was alone, and does not wait for it.
      const session = await this.#session;
      if (this.#isClosed) throw closing();
      // Opening it again would change the files, and waits until this is over.
      if (session.isBroken) throw new ApiError('not_ready', 'The database failed and is opened again. Try again.');
      const { connection, sql } = await newWriter(session);
      try {
        const reader = await session.database.reader();
        return await inTransaction(
          sql,
          (one) => work(one, reader),
          (error) => this.#noteFailure(session, error),
        );
      } finally {
        closeWriter(session, connection);
      }
    });
  }

  /** As `transaction`, for what only reads: it never waits for `still`. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.reading(() => this.#inTransaction(work));
  }

  /**
   * Runs what reads on a connection of its own. As the log goes into the main file, the engine takes back the room of deleted
   * rows, which gives others new numbers: a statement beside that may pass over rows of which it has the numbers, as every
   * `ORDER BY … LIMIT` has, or over the last of a table. So this waits for a merge that moves rows, which is a short one;
   * and a merge that is long, or would have to wait for long, leaves all rows where they are. When `signal` aborts, `work` waits no longer.
   */
  reading<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#stillness.read(work, signal);
  }

  #inTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#onWriter(({ sql }, onLate) => inTransaction(sql, work, onLate));
  }

  async #onWriter<T>(work: (writer: Writer, onLate: (error: unknown) => void) => Promise<T>): Promise<T> {
    let session = await this.#ready();
    if (mayHaveSpace(session) && this.#stillness.aloneUntil === undefined) {
      session.isBroken = true;
      session = await this.#ready();
    }
    return this.#withWriter(session, (writer) => work(writer, (error) => this.#noteFailure(session, error)));
  }

  async #withWriter<T>(session: Session, work: (writer: Writer) => Promise<T>): Promise<T> {
    session.running += 1;
    let writer: Writer | undefined;
    try {
      writer = session.writers.pop() ?? (await newWriter(session));
      const result = await work(writer);
      session.writers.push(writer);
      return result;
    } catch (error) {
      this.#noteFailure(session, error);
      // Whatever state its transaction is in ends with it.
      if (writer !== undefined) closeWriter(session, writer.connection);
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
    while (this.#stillness.over !== undefined) await this.#stillness.over;
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
    if (this.#isClosed) throw closing();
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
    // Once only: who is alone next waits for this.
    await this.#stillness.aloneUntil;
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

function closing(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}
