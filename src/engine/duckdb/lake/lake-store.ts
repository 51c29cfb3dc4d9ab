import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { EngineLimits, EngineSize } from '../../engine.ts';
import type { Log } from '../../log.ts';
import { type Answers, newAnswers } from '../connections/answers.ts';
import { Reopened } from '../connections/reopened.ts';
import { resizeError, setSize } from '../connections/size.ts';
import type { ColumnStep, Store } from '../connections/store.ts';
import { BEGIN, inTransaction } from '../connections/transactions.ts';
import type { Sql, Writer } from '../connections/writer.ts';
import { CATALOG, quoteName, quoteText } from '../sql/names.ts';
import type { CatalogClient } from './catalog-client.ts';
import { type Held, LOST, noteText } from './fence.ts';
import { createFirstLooks } from './first-look.ts';
import { type LakeDatabase, type LakePlace, openLakeDatabase } from './lake-database.ts';
import { isAway, isStale, lakeError } from './lake-errors.ts';
import { CATALOG_SCHEMA } from './lake-options.ts';
import { lakeSql } from './lake-sql.ts';
import { columnStatements } from './rewrite.ts';

interface Options {
  place: LakePlace;
  limits: EngineLimits;
  log: Log;
  client: CatalogClient;
  /** What this node is called in the commits that it makes. */
  node: string;
  /** The locks that the work now running relies on. */
  held(): readonly Held[];
  /** Whether the names in memory are those of this snapshot, as far as others change them (`LakeChanges.fits`). */
  fits(snapshot: number): Promise<boolean>;
}

export interface CommitOptions {
  /** Runs the commit, and may take the locks that it relies on (default: runs it with those that are held). */
  within?: (commit: () => Promise<void>) => Promise<void>;
}

/** The attached lake, until it fails. */
interface Session {
  database: LakeDatabase;
  writers: Writer[];
  isBroken: boolean;
}

const IS_COMMITTED = `SELECT 1 FROM ${CATALOG_SCHEMA}.ducklake_snapshot_changes WHERE commit_extra_info = $1`;
const TRY_LOCK = 'SELECT pg_try_advisory_xact_lock($1::bigint) AS free';
/** That of the transaction; it is known, once names were looked up. */
const SNAPSHOT = `SELECT id FROM ducklake_current_snapshot(${quoteText(CATALOG)})`;
/** How often a transaction is begun anew since others have changed names in the moment between: after that, theirs are tried. */
const BEGIN_TRIES = 10;
/** For how long it is asked whether a commit was stored whose answer was lost. */
const ASK_MS = 20_000;
const ASK_AGAIN_MS = 250;

/** Data in a lake: transactions are its own, and durable with their commit. */
export class LakeStore implements Store {
  readonly #options: Options;
  readonly #sessions: Reopened<Session>;
  readonly #looks = createFirstLooks();
  /** Commits of which it is not known yet whether they were stored: the locks that they relied on. */
  #unclear: (readonly Held[])[] = [];
  #size: EngineSize;
  /** Of the snapshot that was last begun on. */
  #answers: { snapshot: number; answers: Answers } = { snapshot: -1, answers: newAnswers() };

  private constructor(options: Options, session: Session) {
    this.#options = options;
    this.#sessions = new Reopened(session, {
      reopen: (broken) => this.#reopen(broken),
      isFatal: isStale,
      failed: (error) => options.log.error({ err: error }, 'the engine failed and the lake is attached again'),
    });
    this.#size = { threads: options.limits.threads, memoryBytes: options.limits.memoryBytes };
  }

  static async open(options: Options): Promise<LakeStore> {
    try {
      return new LakeStore(options, await openSession(options.place, options.limits));
    } catch (error) {
      throw lakeError('open the lake', options.place, error);
    }
  }

  async connect(): Promise<DuckDBConnection> {
    const session = await this.#sessions.ready();
    const connect = ({ database }: Session) => this.#looks.alone(() => database.connect());
    try {
      return await connect(session);
    } catch (error) {
      if (!this.#sessions.noteFailure(session, error)) throw this.#failed('read the lake', error);
      return connect(await this.#sessions.ready());
    }
  }

  /** Whether commits have ended of which the work that made them does not know whether they were stored. */
  async settled(): Promise<boolean> {
    let isAny = false;
    for (const holds of this.#unclear) {
      if (!(await this.#hasEnded(holds))) continue;
      this.#unclear = this.#unclear.filter((one) => one !== holds);
      isAny = true;
    }
    return isAny;
  }

  async begun(connection: DuckDBConnection, begin: string): Promise<Answers | undefined> {
    for (let tries = 1; ; tries++) {
      await this.#looks.look((text) => connection.run(text), begin);
      // What a statement means is decided by the names in memory, and it reads the snapshot that its transaction sees.
      const [row] = (await connection.runAndReadAll(SNAPSHOT)).getRows();
      const snapshot = Number(row?.[0]);
      if (await this.#options.fits(snapshot)) {
        if (snapshot !== this.#answers.snapshot) this.#answers = { snapshot, answers: newAnswers() };
        return this.#answers.answers;
      }
      if (tries === BEGIN_TRIES) return undefined;
      await connection.run('ROLLBACK');
      await connection.run(begin);
    }
  }

  // The lake refuses what was added to a table from which another has deleted rows meanwhile that are kept in the catalog.
  readonly locksMetadata = true;
  readonly remakesTables = false;
  // The catalog lists the files of a table.
  readonly waitsToStart = true;

  // Each statement makes a file.
  readonly insertedBytesMax = 16 * 1024 * 1024;

  transaction<T>(
    work: (sql: Sql) => Promise<T>,
    { within = (commit) => commit() }: CommitOptions & { isAside?: boolean } = {},
  ): Promise<T> {
    return this.#onWriter(({ sql }) =>
      inTransaction(
        sql,
        work,
        () => within(() => this.#commit(sql)),
        () => this.#begin(sql),
      ),
    );
  }

  read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#onWriter(({ sql }) =>
      inTransaction(
        sql,
        work,
        () => sql.again('COMMIT'),
        () => this.#begin(sql),
      ),
    );
  }

  reading<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  undisturbed<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const session = await this.#sessions.ready();
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : error;
      // What the engine says of it is of no use to a caller.
      if (isAway(cause)) throw this.#failed('run the query', cause);
      if (!this.#sessions.noteFailure(session, cause)) throw this.#failed('run the query', error);
    }
    const next = await this.#sessions.ready();
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : error;
      if (isAway(cause)) throw this.#failed('run the query', cause);
      this.#sessions.noteFailure(next, cause);
      throw this.#failed('run the query', error);
    }
  }

  columnStatements(table: string, steps: readonly ColumnStep[]): string[] {
    return columnStatements(table, steps);
  }

  writeError(what: string, error: unknown): ApiError {
    return this.#failed(what, error);
  }

  get size(): EngineSize {
    return this.#size;
  }

  async resize(size: EngineSize): Promise<void> {
    const before = this.#size;
    const connection = await this.connect();
    try {
      await setSize(connection, size);
      this.#size = size;
    } catch (error) {
      await setSize(connection, before);
      throw resizeError(size, error);
    } finally {
      connection.closeSync();
    }
  }

  async close(): Promise<void> {
    if (!this.#sessions.close()) return;
    const session = await this.#sessions.current.catch(() => undefined);
    if (session !== undefined) closeSession(session);
  }

  async #begin(sql: Sql): Promise<void> {
    await sql.again(BEGIN);
    await this.#looks.look(sql.again, BEGIN);
  }

  async #commit(sql: Sql): Promise<void> {
    const holds = this.#options.held();
    const note = noteText({ commit: randomUUID(), holds });
    await sql(`CALL ${quoteName(CATALOG)}.set_commit_message($1, NULL, extra_info => $2)`, this.#options.node, note);
    try {
      await sql.again('COMMIT');
    } catch (error) {
      // It was not even tried, or the catalog refused it.
      if (!isUnclear(error)) throw error;
      if (!(await this.#isCommitted(note, holds, error))) throw error;
    }
  }

  /** Whether a commit was stored whose answer was lost. */
  async #isCommitted(note: string, holds: readonly Held[], lost: unknown): Promise<boolean> {
    const until = performance.now() + ASK_MS;
    for (;;) {
      try {
        if (await this.#hasEnded(holds)) return (await this.#options.client.query(IS_COMMITTED, [note])).length > 0;
      } catch {
        // It is asked again.
      }
      if (performance.now() > until) break;
      await sleep(ASK_AGAIN_MS);
    }
    this.#unclear.push(holds);
    throw new ApiError(
      'internal',
      `The lake's catalog, PostgreSQL at ${this.#options.place.catalog.shown}, was lost while the change was committed. It may have been stored all the same: look before repeating it.`,
      { cause: lost },
    );
  }

  /** Whether a commit that relied on these locks is no longer on its way: it would have theirs for commits. */
  async #hasEnded(holds: readonly Held[]): Promise<boolean> {
    for (const { commits } of holds) {
      const [row] = await this.#options.client.query(TRY_LOCK, [commits]);
      if (row?.['free'] !== true) return false;
    }
    return true;
  }

  async #onWriter<T>(work: (writer: Writer) => Promise<T>): Promise<T> {
    const session = await this.#sessions.ready();
    let writer: Writer | undefined;
    try {
      writer = session.writers.pop() ?? (await this.#looks.alone(() => openWriter(session)));
      const result = await work(writer);
      if (session.isBroken) writer.connection.closeSync();
      else session.writers.push(writer);
      return result;
    } catch (error) {
      this.#sessions.noteFailure(session, error);
      // Closing it ends its transaction, whatever state that is in.
      writer?.connection.closeSync();
      throw error;
    }
  }

  #failed(what: string, error: unknown): ApiError {
    return lakeError(what, this.#options.place, error);
  }

  async #reopen(broken: Session): Promise<Session> {
    closeSession(broken);
    const { place, limits } = this.#options;
    return await openSession(place, { ...limits, ...this.#size }).catch((error: unknown) => {
      throw this.#failed('attach the lake', error);
    });
  }
}

/** Whether an error of COMMIT leaves open whether it was stored. */
function isUnclear(error: unknown): boolean {
  return !String(error).includes(LOST);
}

async function openSession(place: LakePlace, limits: EngineLimits): Promise<Session> {
  const database = await openLakeDatabase(place, limits);
  return { database, writers: [], isBroken: false };
}

async function openWriter({ database }: Session): Promise<Writer> {
  const connection = await database.connect();
  return { connection, sql: lakeSql(connection) };
}

function closeSession({ writers, database }: Session): void {
  for (const { connection } of writers.splice(0)) connection.closeSync();
  database.close();
}
