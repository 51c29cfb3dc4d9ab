import type { DuckDBConnection } from '@duckdb/node-api';
import { GUARD_SQL } from './guards.ts';

/** How often a stopped statement is told again: an interrupt between two steps of the engine is lost. */
const INTERRUPT_EVERY_MS = 5;

/** How a session's transaction begins. */
export const BEGIN = 'BEGIN TRANSACTION READ ONLY';

/** Makes a session's connection take statements again, after one that failed while it ran. */
export async function resume(connection: DuckDBConnection): Promise<void> {
  await connection.run('ROLLBACK');
  await connection.run(BEGIN);
}

export interface Sessions {
  /**
   * Runs `work` on a connection that nobody else uses, in a transaction that only reads and that is rolled back.
   *
   * When `signal` aborts, whatever the engine is doing for the connection is interrupted, and the promise rejects with
   * `signal.reason`. It settles only when the engine has let go of the statement.
   *
   * With `onIdle` a result need not wait until the transaction is at its end; it is called then, also after an error.
   */
  run<T>(
    signal: AbortSignal,
    work: (connection: DuckDBConnection) => Promise<T>,
    onIdle?: (() => void) | undefined,
  ): Promise<T>;
  /** Lets go of the connections; nothing may run. */
  close(): void;
}

async function openConnection(connect: () => Promise<DuckDBConnection>): Promise<DuckDBConnection> {
  const connection = await connect();
  await connection.run(GUARD_SQL);
  return connection;
}

/** Sessions on connections that are kept: the gate lets nothing through that could change one for the next. */
export function createSessions(connect: () => Promise<DuckDBConnection>): Sessions {
  const idle: DuckDBConnection[] = [];
  let isClosed = false;

  /** A connection in its transaction; a kept one is of no more use after the engine was opened anew. */
  const start = async (): Promise<DuckDBConnection> => {
    const kept = idle.pop();
    try {
      if (kept !== undefined) await kept.run(BEGIN);
    } catch {
      kept?.disconnectSync();
      for (const connection of idle.splice(0)) connection.disconnectSync();
      return startNew();
    }
    return kept ?? startNew();
  };

  const startNew = async (): Promise<DuckDBConnection> => {
    const connection = await openConnection(connect);
    await connection.run(BEGIN);
    return connection;
  };

  const startUnless = async (signal: AbortSignal): Promise<DuckDBConnection> => {
    if (signal.aborted) throw signal.reason;
    return start();
  };

  const finish = async (connection: DuckDBConnection): Promise<void> => {
    try {
      await connection.run('ROLLBACK');
      if (isClosed) connection.disconnectSync();
      else idle.push(connection);
    } catch {
      connection.disconnectSync();
    }
  };

  return {
    async run(signal, work, onIdle) {
      const connection = await startUnless(signal).catch((error: unknown) => {
        onIdle?.();
        throw error;
      });
      let isAnswered = false;
      let timer: NodeJS.Timeout | undefined;
      const onAbort = () => {
        connection.interrupt();
        timer = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
      };
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      try {
        const result = await work(connection);
        if (signal.aborted) throw signal.reason;
        isAnswered = true;
        return result;
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      } finally {
        signal.removeEventListener('abort', onAbort);
        clearInterval(timer);
        const finished = finish(connection).finally(onIdle);
        if (!isAnswered || onIdle === undefined) await finished;
      }
    },
    close() {
      isClosed = true;
      for (const connection of idle.splice(0)) connection.disconnectSync();
    },
  };
}
