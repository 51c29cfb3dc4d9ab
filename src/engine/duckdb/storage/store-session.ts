import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { EngineLimits } from '../../engine.ts';
import type { Log } from '../../log.ts';
import { inTransaction, type Transaction } from '../connections/transactions.ts';
import { KeptStatements, openWriter, type Writer } from '../connections/writer.ts';
import { type Database, openDatabase } from './database.ts';
import { endMerging, isFollowed, prepareMarks, pruneMarks, readMarks, withMarks } from './log-marks.ts';
import { checkpoint } from './merge.ts';
import { committed, openError } from './storage-errors.ts';

export interface StoreOptions {
  file: string;
  limits: EngineLimits;
  log: Log;
  /** Migrates the schema, if the file is writable, and reads what is kept in memory; runs after every opening. */
  load(transaction: Transaction, isReadOnly: boolean): Promise<void>;
}

/** Minimum time between attempts to reopen for writing a file that can only be read for now. */
const READ_ONLY_MS = 2_000;

/** How long interrupted statements may take to end before their database is closed. */
const GRACE_MS = 200;

/** The open file, from one opening to the next. */
export interface Session {
  readonly database: Database;
  readonly writers: Writer[];
  /** Prepared statements of the writers. */
  readonly statements: KeptStatements;
  /** Connections used by others; those that were closed or collected do no harm here. */
  readonly lent: Set<WeakRef<DuckDBConnection>>;
  /** As `performance.now()`. */
  readonly openedAt: number;
  /** Number of running transactions. */
  running: number;
  isBroken: boolean;
}

/** Whether it is time to try to reopen a session for writing that can only read. */
export function mayHaveSpace({ database, openedAt }: Session): boolean {
  return database.readOnlyCause !== undefined && performance.now() - openedAt > READ_ONLY_MS;
}

/**
 * Opens the file, and makes it tell that a log belongs to it before anything gets into that: if that fails, the file can
 * only be read for now. `wasMarked`: its log, if there still is one, was one that it told of.
 */
export async function openSession(
  options: StoreOptions,
  { wasMarked = false, readOnlyCause }: { wasMarked?: boolean; readOnlyCause?: unknown } = {},
): Promise<Session> {
  const database = await openDatabase(options.file, options.limits, readOnlyCause);
  const session: Session = {
    database,
    writers: [],
    statements: new KeptStatements(),
    lent: new Set(),
    openedAt: performance.now(),
    running: 0,
    isBroken: false,
  };
  if (database.cutLog !== undefined) {
    const { file: log, bytes, at: readable } = database.cutLog;
    options.log.warn(
      { log, bytes, readable },
      'the log ends within a change, as a crash or an incomplete copy leaves it',
    );
  }
  try {
    const writer = await newWriter(session);
    session.writers.push(writer);
    await options.load(
      (work) =>
        inTransaction(writer.sql, work, () =>
          committed(writer.sql, () => {
            session.isBroken = true;
          }),
        ),
      database.readOnlyCause !== undefined,
    );
    if (database.readOnlyCause !== undefined) {
      options.log.warn({ err: database.readOnlyCause }, 'the database can only be read for now');
      return session;
    }
    const failure = await mark(database, writer, wasMarked).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (failure !== undefined) {
      await closeSession(session);
      return await openSession(options, { readOnlyCause: failure.error });
    }
    return session;
  } catch (error) {
    await closeSession(session);
    throw openError(options.file, error);
  }
}

/** Makes the file tell that a log belongs to it, which takes a merge, unless it does so already. */
async function mark({ file, hadLog }: Database, { sql }: Writer, wasMarked: boolean): Promise<void> {
  const isNow = hadLog && isFollowed(await readMarks(sql));
  if (isNow) return endMerging(file);
  if (hadLog && wasMarked) return;
  await prepareMarks(sql);
  await withMarks(sql, { file, isMarked: false }, () => checkpoint(sql, () => false));
  await pruneMarks(sql);
}

export async function closeSession(session: Session): Promise<boolean> {
  const lent = [...session.lent].flatMap((ref) => ref.deref() ?? []);
  for (const connection of lent) connection.interrupt();
  for (let waitedMs = 0; session.running > 0 && waitedMs < 10_000; waitedMs += 10) await sleep(10);
  if (lent.length > 0 && session.isBroken) await sleep(GRACE_MS);
  for (const connection of lent) connection.closeSync();
  for (const writer of session.writers.splice(0)) closeWriter(session, writer.connection);
  return session.database.close();
}

/** A connection for writing, owned by the caller. */
export function newWriter(session: Session): Promise<Writer> {
  return openWriter(session.database, session.statements);
}

export function closeWriter({ statements }: Session, connection: DuckDBConnection): void {
  statements.forget(connection);
  connection.closeSync();
}

export async function lend(session: Session): Promise<DuckDBConnection> {
  const connection = await session.database.connect();
  for (const ref of session.lent) if (ref.deref() === undefined) session.lent.delete(ref);
  session.lent.add(new WeakRef(connection));
  return connection;
}
