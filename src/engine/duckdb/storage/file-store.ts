import type { FileHandle } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { closedError } from '../../../contract/turns/scheduler.ts';
import type { EngineSize } from '../../engine.ts';
import { type Answers, newAnswers } from '../connections/answers.ts';
import { isDamage } from '../connections/engine-error.ts';
import { Reopened } from '../connections/reopened.ts';
import { resizeError, setSize } from '../connections/size.ts';
import type { ColumnStep, Store } from '../connections/store.ts';
import { inTransaction } from '../connections/transactions.ts';
import type { Sql, Writer } from '../connections/writer.ts';
import { cacheAfterMerge, letGoOfCache, memoryOf } from './cache.ts';
import { withMarks } from './log-marks.ts';
import { logBytesMax, patienceMsOf, QUIET_LOG_BYTES, QUIET_MS, quietMsOf, SHORT_LOG_BYTES } from './log-size.ts';
import { checkpoint, Reclaiming, type TakenRows, takenRows, UNREAD_LONG_MS, withRowsInPlace } from './merge.ts';
import { Stillness } from './stillness.ts';
import { committed, committing, damageError, isHeldUp, isLost, writeError } from './storage-errors.ts';
import {
  closeSession,
  closeWriter,
  lend,
  mayHaveSpace,
  newWriter,
  openSession,
  type Session,
  type StoreOptions,
} from './store-session.ts';

/** How long to wait before merging again: a long log after a failure, or if there is more space to reclaim. */
const MERGE_AGAIN_MS = 5_000;

/** How long a merge waits for queries to end, so that none runs beside it. */
const UNREAD_MS = 250;

/**
 * The open file and its connections. After an error that makes the database unusable (a full disk, above all) it is
 * automatically closed and reopened before the next statement.
 */
export class FileStore implements Store {
  readonly #options: StoreOptions;
  readonly #sessions: Reopened<Session>;
  /** The current size, which is also used when the file is reopened. */
  #size: EngineSize;
  /** Separates writers from work that needs the files to stay as they are. */
  readonly #stillness = new Stillness();
  /** When the last write that counts ended (`performance.now()`). */
  #quietSince = performance.now();
  #isMerging = false;
  readonly #reclaiming = new Reclaiming();
  /** Whether anything was written since the last look for space to reclaim. */
  #mayHaveSpace = true;
  /** Earliest time of the next attempt after a failed merge (`performance.now()`). */
  #mergeAfter = 0;
  /** Writes of documents that are under way. */
  #writing = 0;
  /** Of what is stored now. */
  #answers = newAnswers();
  /** Timer for the next check whether to merge the log. */
  #quiet: NodeJS.Timeout | undefined;

  private constructor(options: StoreOptions, session: Session) {
    this.#options = options;
    this.#sessions = new Reopened(session, {
      reopen: (broken) => this.#reopen(broken),
      failed: (error) => options.log.error({ err: error }, 'the database failed and will be opened again'),
    });
    this.#size = { threads: options.limits.threads, memoryBytes: options.limits.memoryBytes };
  }

  /** Rejects as `openDatabase` does. */
  static async open(options: StoreOptions): Promise<FileStore> {
    return new FileStore(options, await openSession(options));
  }

  /** A connection for queries; the caller closes it. */
  async connect(): Promise<DuckDBConnection> {
    const session = await this.#sessions.ready();
    try {
      return await lend(session);
    } catch (error) {
      if (!this.#sessions.noteFailure(session, error)) throw error;
      return lend(await this.#sessions.ready());
    }
  }

  readonly locksMetadata = false;
  readonly remakesTables = true;
  readonly waitsToStart = false;
  readonly insertedBytesMax = 4 * 1024 * 1024;

  /** A transaction sees what is stored when it first reads: these are of it as long as no write has begun since. */
  async begun(): Promise<Answers | undefined> {
    return this.#writing > 0 ? undefined : this.#answers;
  }

  /** Writes that are `isAside` do not postpone merging the log, however many come. */
  transaction<T>(work: (sql: Sql) => Promise<T>, { isAside = false, isOne = false } = {}): Promise<T> {
    return this.#noted(() => (isOne ? this.#inOneStatement(work) : this.#inTransaction(work)), isAside);
  }

  /** The engine makes a transaction of each statement outside of one: that saves two turns of its threads. */
  #inOneStatement<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#onWriter(({ sql }, onLate) => work(committing(sql, onLate)));
  }

  /**
   * Runs reads that decide what is written, now or later: never while the log is being merged into the main file,
   * whatever else runs (see `reading`). Not to be called within a transaction.
   */
  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    return this.#stillness.write(work);
  }

  /** Runs `work`, which may write, and schedules a check of the log for when nothing was written for some time. */
  async #noted<T>(work: () => Promise<T>, isAside = false): Promise<T> {
    if (!isAside) this.#noteWrite(1);
    try {
      return await this.#stillness.write(async () => {
        await this.#requireWritable();
        return work();
      });
    } finally {
      if (!isAside) this.#noteWrite(-1);
      if (!isAside || this.#quiet === undefined) this.#tidyAfter(QUIET_MS);
      void this.#mergeIfLong();
    }
  }

  /** `by`: 1 before it, -1 after. */
  #noteWrite(by: 1 | -1): void {
    this.#writing += by;
    this.#answers.areSure = false;
    this.#answers = newAnswers();
    this.#quietSince = performance.now();
    this.#mayHaveSpace = true;
  }

  #tidyAfter(ms: number): void {
    if (this.#sessions.isClosed) return;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.#tidy(), ms).unref();
  }

  /** Merges the log into the main file if that is worth it. */
  async #tidy(): Promise<void> {
    this.#quiet = undefined;
    const session = await this.#sessions.current.catch(() => undefined);
    if (session === undefined || this.#sessions.isClosed || session.isBroken) return;
    if (session.database.readOnlyCause !== undefined) return;
    session.statements.clear();
    const quietMs = quietMsOf(session.database.logBytes());
    if (quietMs === undefined && !(await this.#shouldReclaim(session))) return;
    const pauseMs = quietMs ?? QUIET_MS;
    const leftMs = this.#stillness.isWritten ? QUIET_MS : pauseMs - (performance.now() - this.#quietSince);
    if (leftMs > 0) return this.#tidyAfter(leftMs);
    await this.#merge(session);
  }

  /** Whether a merge should be made although the log is short; if it is too early to say, it is asked again later. */
  async #shouldReclaim(session: Session): Promise<boolean> {
    if (this.#isReclaimingDue) return true;
    if (!this.#mayHaveSpace) return false;
    const leftMs = UNREAD_LONG_MS - this.#stillness.unreadMs;
    if (leftMs > 0) this.#tidyAfter(leftMs);
    else await this.#lookForSpace(session);
    return this.#isReclaimingDue;
  }

  async #lookForSpace(session: Session): Promise<void> {
    this.#mayHaveSpace = false;
    this.#reclaiming.look(await this.#takenRows(session));
  }

  #takenRows(session: Session): Promise<Map<string, TakenRows>> {
    return this.#withWriter(session, ({ sql }) => takenRows(sql));
  }

  get #isReclaimingDue(): boolean {
    return this.#reclaiming.isDue(this.#stillness.unreadMs);
  }

  /** Merges the log into the main file if it has reached its limit, or if space should be reclaimed. */
  async #mergeIfLong(): Promise<void> {
    const session = await this.#sessions.current.catch(() => undefined);
    if (session === undefined || session.isBroken || this.#sessions.isClosed) return;
    if (session.database.readOnlyCause !== undefined) return;
    if (performance.now() < this.#mergeAfter) return;
    const [bytes, max] = [session.database.logBytes(), logBytesMax(this.#size.memoryBytes)];
    if (bytes >= max) await this.#merge(session, patienceMsOf(bytes, max));
    else if (this.#isReclaimingDue && bytes >= QUIET_LOG_BYTES) await this.#merge(session);
  }

  /**
   * Merges the log into the main file while nothing else writes. Beside a writing transaction, the engine's checkpoint
   * may store that transaction's deletes without its inserts, and leave both in the log: after a crash the log
   * conflicts with the file, and the database does not open. The engine also refuses beside a query that began before
   * the last in-place or schema change: the merge is retried for `patienceMs`, since queries that begin meanwhile are
   * not in the way.
   *
   * It may reclaim the space of deleted rows, and queries have to wait for that (see `reading`). So that is done only
   * now and then (`Reclaiming`), and if the log is short; after a long log it is left to the next merge.
   */
  async #merge(session: Session, patienceMs = UNREAD_MS): Promise<void> {
    if (this.#isMerging) return;
    this.#isMerging = true;
    const isShort = session.database.logBytes() <= SHORT_LOG_BYTES;
    try {
      await this.#lookForSpace(session);
      const { cache } = await this.#withWriter(session, ({ sql }) => memoryOf(sql));
      const merge = async (mayMove: boolean) => {
        // If queries wait too, it must not take long.
        const endsAt = performance.now() + (mayMove ? UNREAD_MS : patienceMs);
        const mayGoOn = () => performance.now() < endsAt && !session.isBroken && !this.#sessions.isClosed;
        if (session.isBroken || this.#sessions.isClosed) return;
        const now = () => this.#withWriter(session, ({ sql }) => checkpoint(sql, mayGoOn));
        await this.#withWriter(session, ({ sql }) =>
          withMarks(sql, { file: session.database.file, isMarked: true }, () =>
            mayMove ? now() : withRowsInPlace(sql, now),
          ),
        );
        if (mayMove) this.#reclaiming.moved(await this.#takenRows(session));
      };
      await this.#stillness.alone(() =>
        isShort && this.#isReclaimingDue ? this.#stillness.unread(UNREAD_MS, merge) : merge(false),
      );
      const cacheMax = cacheAfterMerge(cache, this.#size.memoryBytes);
      await this.#withWriter(session, ({ sql }) => letGoOfCache(sql, cacheMax, () => this.#size.memoryBytes));
      this.#mayHaveSpace ||= this.#reclaiming.isWorthIt;
      if (this.#mayHaveSpace) this.#tidyAfter(MERGE_AGAIN_MS);
    } catch (error) {
      // Nothing is lost: the log is still there, and the merge is tried again later.
      this.#mergeAfter = performance.now() + MERGE_AGAIN_MS;
      if (isHeldUp(error)) this.#tidyAfter(MERGE_AGAIN_MS);
      if (!session.isBroken) this.#options.log.info({ err: error }, 'the log was not put into the database file');
    } finally {
      this.#isMerging = false;
    }
  }

  /**
   * Runs `work` while nothing is written: the files contain everything stored, and stay as they are. Reads go on;
   * writes wait. `sql` is a single transaction, for reading; `reader` reads the file. One call at a time.
   */
  async still<T>(work: (sql: Sql, reader: FileHandle) => Promise<T>): Promise<T> {
    await this.#sessions.ready();
    return this.#stillness.alone(async () => {
      // A reopening that is under way began before `alone` was granted, and does not wait for it.
      const session = await this.#sessions.current;
      if (this.#sessions.isClosed) throw closedError();
      // Reopening would change the files, and waits until this is over.
      if (session.isBroken) throw new ApiError('not_ready', 'The database failed and is opened again. Try again.');
      const { connection, sql } = await newWriter(session);
      try {
        const reader = await session.database.reader();
        return await inTransaction(
          sql,
          (one) => work(one, reader),
          () => committed(sql, (error) => this.#sessions.noteFailure(session, error)),
        );
      } finally {
        closeWriter(session, connection);
      }
    });
  }

  /** As `transaction`, but only for reading: it never waits for `still`. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.reading(() => this.#inTransaction(work));
  }

  /**
   * Runs `work`, which reads on a connection of its own. When the log is merged, the engine reclaims the space of
   * deleted rows, which renumbers others: a statement running meanwhile may skip rows that it knows by number, as every
   * `ORDER BY … LIMIT` does, or the last rows of a table. So this waits for a merge that moves rows, which is short; a
   * merge that is long, or would have to wait long, leaves all rows where they are. Once `signal` aborts, `work` waits
   * no longer.
   */
  reading<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#stillness.read(work, signal);
  }

  #inTransaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#onWriter(({ sql }, onLate) => inTransaction(sql, work, () => committed(sql, onLate)));
  }

  async #onWriter<T>(work: (writer: Writer, onLate: (error: unknown) => void) => Promise<T>): Promise<T> {
    const session = await this.#sessions.ready();
    return this.#withWriter(session, (writer) => work(writer, (error) => this.#sessions.noteFailure(session, error)));
  }

  /** Throws the reason if the file can only be read, after trying now and then to open it for writing. */
  async #requireWritable(): Promise<void> {
    const session = await this.#sessions.ready();
    if (mayHaveSpace(session) && this.#stillness.aloneUntil === undefined) session.isBroken = true;
    const { readOnlyCause } = (await this.#sessions.ready()).database;
    if (readOnlyCause !== undefined) throw readOnlyCause;
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
      this.#sessions.noteFailure(session, error);
      // Closing it ends its transaction, whatever state that is in.
      if (writer !== undefined) closeWriter(session, writer.connection);
      throw error;
    } finally {
      session.running -= 1;
    }
  }

  columnStatements(table: string, steps: readonly ColumnStep[]): string[] {
    return steps.map((step) => alterStatement(table, step));
  }

  writeError(what: string, error: unknown): ApiError {
    return writeError(what, this.#options.file, error);
  }

  get size(): EngineSize {
    return this.#size;
  }

  /** Changes threads and memory at once; if that fails, they stay as they were. One call at a time. */
  async resize(size: EngineSize): Promise<void> {
    const session = await this.#sessions.ready();
    const before = this.#size;
    const connection = await this.connect();
    try {
      this.#size = size;
      await setSize(connection, size);
    } catch (error) {
      // The next session opens with the new size.
      if (this.#sessions.noteFailure(session, error)) return;
      this.#size = before;
      await setSize(connection, before);
      throw resizeError(size, error);
    } finally {
      connection.closeSync();
    }
  }

  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const session = await this.#sessions.ready();
    try {
      return await work().catch(async (error: unknown) => {
        if (!isLost(error)) throw error;
        this.#sessions.noteFailure(session, causeOf(error));
        await this.#sessions.ready();
        return work();
      });
    } catch (error) {
      throw isDamage(causeOf(error)) ? damageError('run the query', this.#options.file, causeOf(error)) : error;
    }
  }

  /** Makes everything durable in the main file and releases it. Idempotent. */
  async close(): Promise<void> {
    if (!this.#sessions.close()) return;
    clearTimeout(this.#quiet);
    // Closing merges the log into the file.
    while (this.#stillness.over !== undefined) await this.#stillness.over;
    const session = await this.#sessions.current.catch(() => undefined);
    if (session === undefined) return;
    const isReleased = await closeSession(session);
    if (!isReleased) this.#options.log.warn({}, 'a query result that nobody read to its end keeps the database open');
  }

  async #reopen(broken: Session): Promise<Session> {
    // No loop is needed: whoever is alone next waits for this reopening.
    await this.#stillness.aloneUntil;
    const isReleased = await closeSession(broken);
    if (!isReleased) {
      throw new ApiError('not_ready', 'The database failed and cannot be opened again yet. Restart the service.');
    }
    const { limits } = this.#options;
    const wasMarked = broken.database.readOnlyCause === undefined;
    const session = await openSession({ ...this.#options, limits: { ...limits, ...this.#size } }, { wasMarked });
    this.#options.log.info({}, 'the database is open again');
    return session;
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? error.cause : error;
}

function alterStatement(table: string, step: ColumnStep): string {
  const { column, type } = step;
  return step.do === 'add'
    ? `ALTER TABLE ${table} ADD COLUMN ${column} ${type}`
    : `ALTER TABLE ${table} ALTER COLUMN ${column} SET DATA TYPE ${type} USING ${step.using}`;
}
