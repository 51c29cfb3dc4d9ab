import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { type Place, Scheduler } from '../../../contract/turns/scheduler.ts';
import type { EngineLimits, GiveUp } from '../../engine.ts';
import { type Deadline, deadline, orStopped } from '../connections/deadline.ts';
import { endProcess } from '../connections/end-process.ts';
import { createSessions, type Sessions, type SessionsContext } from '../connections/sessions.ts';
import { STUCK_AFTER_MS, stuck, watchStopping } from './stuck.ts';
import { createWatchdog, type Watchdog, type Watched } from './watchdog.ts';

/** How long `close` waits for queries, before it stops them and after. */
const CLOSE_WAIT_MS = 5_000;

interface InPlaceRequest {
  /** As in `QueryRequest`. */
  caller?: string | undefined;
  requestId?: string | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  mayRunAgain?: boolean | undefined;
}

type Work<T> = (connection: DuckDBConnection, signal: AbortSignal, queuedMicros: number) => Promise<T>;

/** Places in which queries run, each on a connection of its own, within limits on time, memory and concurrency. */
export interface Places {
  /**
   * Runs `work` when its turn comes, on a connection that cannot write, until `signal` aborts or its time is over. With
   * `mayRunAgain` it may be stopped and run again, so that it does not keep others waiting.
   */
  inPlace<T>(request: InPlaceRequest, work: Work<T>): Promise<T>;
  /** Prepares for the first statement. */
  warm(): Promise<void>;
  /**
   * Refuses waiting and new queries, and resolves when running ones have finished; after 5 seconds these are stopped.
   * Resolves to the number of queries that still run another 5 seconds later: their connections and threads cannot be
   * freed.
   */
  close(): Promise<number>;
}

export interface PlacesContext extends SessionsContext {
  /** Runs work that reads on these connections once it may (`Store.reading`); default: at once. */
  reading?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  limits: EngineLimits;
  /** Current memory limit of the engine, in bytes. */
  memoryBytes: () => number;
  /**
   * Called when only the end of the process is left: a query takes ever more memory and does not stop, or was told to
   * stop by its time limit, its caller or a person, and still runs ten seconds later while the process is busy. Default:
   * ends it.
   */
  giveUp?: (reason: GiveUp) => void;
  /** How long a statement that was told to stop may go on (default 10,000). */
  stuckAfterMs?: number;
}

interface Parts {
  reading: NonNullable<PlacesContext['reading']>;
  sessions: Sessions;
  watchdog: Watchdog;
  /** The queries that run now. */
  running: Set<Watched>;
  giveUp: (reason: GiveUp) => void;
  stuckAfterMs: number;
}

/** Runs `work` in the given place, and frees the place when the engine is done with it. */
function runOnce<T>(
  { reading, sessions, watchdog, running, giveUp, stuckAfterMs }: Parts,
  place: Place,
  { signal, stop }: Deadline,
  { requestId }: InPlaceRequest,
  work: (connection: DuckDBConnection, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopped = AbortSignal.any([signal, place.recall]);
  const watched = { stop, requestId };
  const unwatch = watchdog.watch(watched);
  running.add(watched);
  let stopWatching = () => {};
  const onStop = () => {
    stopWatching = watchStopping(stuckAfterMs, (toldMs) => giveUp(stuck(toldMs, requestId)));
  };
  signal.addEventListener('abort', onStop, { once: true });
  const onIdle = () => {
    signal.removeEventListener('abort', onStop);
    stopWatching();
    running.delete(watched);
    unwatch();
    place.leave();
  };
  const run = () => sessions.run(stopped, (connection) => work(connection, stopped), onIdle);
  return orStopped(reading(run, stopped), signal);
}

export function createPlaces(context: PlacesContext): Places {
  const { limits, memoryBytes, stuckAfterMs = STUCK_AFTER_MS } = context;
  const { giveUp = ({ message }) => endProcess(message) } = context;
  const scheduler = new Scheduler({ places: limits.queriesMax, queueMax: limits.queueMax });
  const parts: Parts = {
    reading: context.reading ?? ((work) => work()),
    sessions: createSessions(context),
    watchdog: createWatchdog({ memoryBytes, giveUp }),
    running: new Set(),
    giveUp,
    stuckAfterMs,
  };

  return {
    async inPlace(request, work) {
      const { timeoutMs = limits.queryTimeoutMs, caller = '', mayRunAgain } = request;
      const limitMs = Math.min(timeoutMs, limits.queryTimeoutMs);
      const until = deadline(limitMs, request.signal);
      const { askedAt, endsAt } = until;
      let ranMs = 0;
      try {
        for (let isAgain = false; ; isAgain = true) {
          const ask = { caller, askedAt, endsAt, isAgain, mayRunAgain };
          const place = await scheduler.enter(until.signal, ask);
          const startedAt = performance.now();
          const queuedMicros = Math.round((startedAt - askedAt - ranMs) * 1_000);
          try {
            return await runOnce(parts, place, until, request, (connection, signal) =>
              work(connection, signal, queuedMicros),
            );
          } catch (error) {
            if (!place.recall.aborted || until.signal.aborted) throw error;
            ranMs += performance.now() - startedAt;
          }
        }
      } catch (error) {
        if (error instanceof ApiError) throw error;
        throw new ApiError('internal', 'The SQL engine failed. Try again.', { cause: error });
      } finally {
        until.clear();
      }
    },
    warm: () => parts.sessions.warm(),
    async close() {
      let left = await scheduler.close(CLOSE_WAIT_MS);
      if (left > 0) {
        const reason = new ApiError(
          'not_ready',
          'The query was still running when the service shut down, and was stopped. Try again in a moment.',
        );
        for (const query of parts.running) query.stop(reason);
        left = await scheduler.close(CLOSE_WAIT_MS);
      }
      await parts.sessions.close();
      return left;
    },
  };
}
