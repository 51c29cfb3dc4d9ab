import { setImmediate as turn } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { type Answers, setAnswers } from './answers.ts';

/** How often an interrupt is repeated: one that arrives between two steps of the engine is lost. */
const INTERRUPT_EVERY_MS = 5;

const BEGIN = 'BEGIN TRANSACTION READ ONLY';

/** What a connection does once it has begun a transaction. */
const begun = new WeakMap<DuckDBConnection, () => Promise<void>>();

/** Begins a session's transaction on its connection. */
export async function begin(connection: DuckDBConnection): Promise<void> {
  await connection.run(BEGIN);
  await begun.get(connection)?.();
}

/** Makes a session's connection accept statements again after one failed while running. */
export async function resume(connection: DuckDBConnection): Promise<void> {
  await connection.run('ROLLBACK');
  await begin(connection);
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

/** A connection, with BEGIN and ROLLBACK prepared: parsing these takes longer than running them. */
interface Session {
  connection: DuckDBConnection;
  begin: DuckDBPreparedStatement;
  rollback: DuckDBPreparedStatement;
}

async function openOn(context: SessionsContext): Promise<Session> {
  const connection = await context.connect();
  begun.set(connection, async () => setAnswers(connection, await context.begun?.(connection, BEGIN)));
  const [begin, rollback] = [await connection.prepare(BEGIN), await connection.prepare('ROLLBACK')];
  return { connection, begin, rollback };
}

export interface SessionsContext {
  connect(): Promise<DuckDBConnection>;
  /** As in `Store`; default: nothing follows. */
  begun?(connection: DuckDBConnection, begin: string): Promise<Answers | undefined>;
}

/** Sessions on pooled connections: the gate lets nothing through that could alter one for its next user. */
export function createSessions(context: SessionsContext): Sessions {
  const idle: Session[] = [];
  let isClosed = false;
  let keepsSpare = false;
  let warming: Promise<void> | undefined;

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

  const startKept = async (): Promise<Session | undefined> => {
    const kept = idle.pop();
    if (kept !== undefined && keepsSpare) void warm();
    try {
      await kept?.begin.run();
      return kept;
    } catch {
      // Pooled connections are useless after the database was reopened.
      kept?.connection.disconnectSync();
      for (const { connection } of idle.splice(0)) connection.disconnectSync();
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
      if (isClosed) session.connection.disconnectSync();
      else idle.push(session);
    } catch {
      session.connection.disconnectSync();
    }
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
        await begun.get(connection)?.();
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
          return session.rollback.run();
        }).finally(onIdle);
        if (!mayFollow) await finished;
      }
    },
    warm,
    async close() {
      isClosed = true;
      await warming;
      for (const { connection } of idle.splice(0)) connection.disconnectSync();
    },
  };
}
