import { setImmediate as turn } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { type Answers, setAnswers } from './answers.ts';

/** How often an interrupt is repeated: one that arrives between two steps of the engine is lost. */
const INTERRUPT_EVERY_MS = 5;

const BEGIN = 'BEGIN TRANSACTION READ ONLY';

/** What a connection does once it has begun a transaction. */
const begun = new WeakMap<DuckDBConnection, () => Promise<void>>();

/** Connections whose transaction has ended, and none has begun. */
const ended = new WeakSet<DuckDBConnection>();

/** Begins a session's transaction on its connection. */
export async function begin(connection: DuckDBConnection): Promise<void> {
  await connection.run(BEGIN);
  await begun.get(connection)?.();
}

/** Makes a session's connection accept statements again after one failed while running. */
export async function resume(connection: DuckDBConnection): Promise<void> {
  ended.add(connection);
  await connection.run('ROLLBACK');
  await begin(connection);
  ended.delete(connection);
}

export interface Sessions {
  /**
   * Runs `work` on a connection that nobody else uses, in a read-only transaction that is rolled back.
   *
   * When `signal` aborts, whatever the engine is doing for the connection is interrupted, and the promise rejects with
   * `signal.reason`. It settles only when the engine has released the statement; with `onIdle`, which is called then,
   * an answer does not wait for that.
   */
  run<T>(
    signal: AbortSignal,
    work: (connection: DuckDBConnection) => Promise<T>,
    onIdle?: (() => void) | undefined,
  ): Promise<T>;
  /**
   * Opens a connection in advance, since that takes many times longer than a short statement. From then on, taking the
   * last idle one opens another in the background.
   */
  warm(): Promise<void>;
  /** Releases the connections; nothing may be running. */
  close(): Promise<void>;
}

/** A connection, with what it runs each time prepared: parsing these takes longer than running them. */
interface Session {
  connection: DuckDBConnection;
  begin: DuckDBPreparedStatement;
  rollback: DuckDBPreparedStatement;
  /** Ends the statement before it. */
  nothing: DuckDBPreparedStatement;
  /** Until when its transaction may go on, by `performance.now()`; undefined: it has none. */
  goesOnUntil: number | undefined;
  /** Ends its transaction. */
  timer?: NodeJS.Timeout;
}

async function openOn(context: SessionsContext): Promise<Session> {
  const connection = await context.connect();
  begun.set(connection, async () => setAnswers(connection, await context.begun?.(connection, BEGIN)));
  const [begin, rollback] = [await connection.prepare(BEGIN), await connection.prepare('ROLLBACK')];
  return { connection, begin, rollback, nothing: await connection.prepare('SELECT 1'), goesOnUntil: undefined };
}

export interface SessionsContext {
  connect(): Promise<DuckDBConnection>;
  /** As in `Store`; default: nothing follows. */
  begun?(connection: DuckDBConnection, begin: string): Promise<Answers | undefined>;
  /** As in `Store`. Then the next to use a connection may find its transaction open. */
  isCurrent?: ((connection: DuckDBConnection) => Promise<boolean>) | undefined;
}

/** How long a transaction that nobody uses is left open, and how long one is at all: others may wait for what it reads. */
const IDLE_MS = 2_000;
const OPEN_MS = 10_000;

/** Sessions on pooled connections: the gate lets nothing through that could alter one for its next user. */
export function createSessions(context: SessionsContext): Sessions {
  const idle: Session[] = [];
  let isClosed = false;
  let keepsSpare = false;
  let warming: Promise<void> | undefined;
  const ending = new Set<Promise<void>>();

  const openSpare = async (): Promise<void> => {
    // If it fails, whoever needs a connection next gets the error.
    const session = await openOn(context).catch(() => undefined);
    if (session === undefined) return;
    if (isClosed) session.connection.disconnectSync();
    else idle.unshift(session);
  };

  const warm = async (): Promise<void> => {
    keepsSpare = true;
    if (idle.length > 0 || isClosed) return;
    warming ??= openSpare().finally(() => {
      warming = undefined;
    });
    await warming;
  };

  const goesOn = async ({ connection, goesOnUntil = 0 }: Session): Promise<boolean> =>
    performance.now() < goesOnUntil && (await context.isCurrent?.(connection).catch(() => false)) === true;

  const endTransaction = async (session: Session): Promise<void> => {
    if (session.goesOnUntil !== undefined) await session.rollback.run();
    session.goesOnUntil = undefined;
  };

  /** Not at once, if there is a transaction: our thread would wait for its end. */
  const drop = async (session: Session): Promise<void> => {
    clearTimeout(session.timer);
    await endTransaction(session).catch(() => undefined);
    session.connection.disconnectSync();
  };

  const startKept = async (): Promise<Session | undefined> => {
    const kept = idle.pop();
    if (kept === undefined) return undefined;
    clearTimeout(kept.timer);
    if (keepsSpare) void warm();
    try {
      if (await goesOn(kept)) return kept;
      await endTransaction(kept);
      await kept.begin.run();
      return kept;
    } catch {
      // Pooled connections are useless after the database was reopened.
      for (const session of [kept, ...idle.splice(0)]) void drop(session);
      return undefined;
    }
  };

  const start = async (signal: AbortSignal): Promise<Session> => {
    if (signal.aborted) throw signal.reason;
    const kept = await startKept();
    if (kept !== undefined) return kept;
    const session = await openOn(context);
    await session.begin.run();
    return session;
  };

  const release = async (session: Session, end: () => Promise<unknown>): Promise<void> => {
    try {
      await end();
      if (isClosed) await drop(session);
      else idle.push(session);
    } catch {
      await drop(session);
    }
  };

  /** Leaves the transaction of a session open for a while. */
  const leaveOpen = async (session: Session): Promise<void> => {
    await session.nothing.run();
    session.goesOnUntil ??= performance.now() + OPEN_MS;
    session.timer = setTimeout(() => {
      const at = idle.indexOf(session);
      if (at === -1) return;
      idle.splice(at, 1);
      const ended = release(session, () => endTransaction(session)).finally(() => ending.delete(ended));
      ending.add(ended);
    }, IDLE_MS).unref();
  };

  return {
    async run(signal, work, onIdle) {
      const session = await start(signal).catch((error: unknown) => {
        onIdle?.();
        throw error;
      });
      const { connection } = session;
      let isAnswered = false;
      let timer: NodeJS.Timeout | undefined;
      const onAbort = () => {
        connection.interrupt();
        timer = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
      };
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      try {
        if (session.goesOnUntil === undefined) await begun.get(connection)?.();
        const result = await work(connection);
        if (signal.aborted) throw signal.reason;
        isAnswered = true;
        return result;
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      } finally {
        signal.removeEventListener('abort', onAbort);
        clearInterval(timer);
        const mayFollow = isAnswered && onIdle !== undefined;
        const finished = release(session, async () => {
          // Let a short answer be sent before the engine's threads are woken again.
          if (mayFollow) await turn();
          if (isAnswered && context.isCurrent !== undefined && !ended.has(connection)) return leaveOpen(session);
          session.goesOnUntil = undefined;
          await session.rollback.run();
        }).finally(onIdle);
        if (!mayFollow) await finished;
      }
    },
    warm,
    async close() {
      isClosed = true;
      await warming;
      await Promise.all([...idle.splice(0).map(drop), ...ending]);
    },
  };
}
