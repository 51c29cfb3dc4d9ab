import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { EngineLimits, StuckStatement } from '../../engine.ts';
import { deadline, orStopped } from '../storage/deadline.ts';
import { endProcess } from '../storage/end-process.ts';
import { createSessions, type Sessions } from '../storage/session.ts';
import { createScheduler, type Place } from './scheduler.ts';
import { STUCK_AFTER_MS, stuckMessage, watchStop } from './stuck.ts';
import { createWatchdog, type Watchdog, type Watched } from './watchdog.ts';

/** How long a query that was told to stop keeps its place. */
const STOP_MS = 500;

/** How long `close` waits for queries, before it stops them and after. */
const CLOSE_WAIT_MS = 5_000;

interface InPlaceRequest {
  /** What runs, for the report of a statement that does not stop (default: empty). */
  sql?: string | undefined;
  requestId?: string | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  mayRestart?: boolean | undefined;
  /** As in `RunOptions`. */
  isPlain?: boolean | undefined;
}

type Work<T> = (connection: DuckDBConnection, signal: AbortSignal, queuedMicros: number) => Promise<T>;

/** Places in which queries run, each on a connection of its own, within limits on time, memory and concurrency. */
export interface Places {
  /**
   * Runs `work` when its turn comes, on a connection that cannot write, until `signal` aborts or its time is over. With
   * `mayRestart` it may be stopped and run again, so that it does not keep others waiting.
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

export interface PlacesContext {
  connect: () => Promise<DuckDBConnection>;
  /** Runs work that reads on these connections once it may (`Store.reading`); default: at once. */
  reading?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  limits: EngineLimits;
  /** Current memory limit of the engine, in bytes. */
  memoryBytes: () => number;
  /** Ends the process if a query takes ever more memory and does not stop. */
  giveUp?: (message: string, requestIds: readonly string[]) => void;
  /**
   * Called once for a statement that was told to stop by its time limit, its caller or a person, and still runs ten
   * seconds later while the process is busy; default: `giveUp`.
   */
  onStuck?: (stuck: StuckStatement) => void;
}

interface Parts {
  reading: NonNullable<PlacesContext['reading']>;
  sessions: Sessions;
  watchdog: Watchdog;
  /** The queries that run now. */
  running: Set<Watched>;
  onStuck: (stuck: StuckStatement) => void;
}

/** Runs `work` in the given place, and frees the place when the engine is done with it. */
function runOnce<T>(
  { reading, sessions, watchdog, running, onStuck }: Parts,
  place: Place,
  { signal, stop }: Pick<ReturnType<typeof deadline>, 'signal' | 'stop'>,
  { isPlain, sql = '', requestId }: InPlaceRequest,
  work: (connection: DuckDBConnection, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopped = AbortSignal.any([signal, place.recall]);
  const watched = { stop, requestId };
  const unwatchStop = watchStop(signal, STUCK_AFTER_MS, (toldMs) => onStuck({ sql, toldMs, requestId }));
  const unwatch = watchdog.watch(watched);
  running.add(watched);
  let timer: NodeJS.Timeout | undefined;
  stopped.addEventListener('abort', () => {
    timer = setTimeout(place.setAside, STOP_MS);
  });
  const onIdle = () => {
    clearTimeout(timer);
    running.delete(watched);
    unwatch();
    unwatchStop();
    place.leave();
  };
  const run = () => sessions.run(stopped, (connection) => work(connection, stopped), { isPlain, onIdle });
  return orStopped(reading(run, stopped), signal);
}

export function createPlaces(context: PlacesContext): Places {
  const { connect, limits, memoryBytes, giveUp = endProcess } = context;
  const { onStuck = (stuck) => giveUp(stuckMessage(stuck), stuck.requestId === undefined ? [] : [stuck.requestId]) } =
    context;
  const scheduler = createScheduler({
    places: limits.queriesMax,
    queueMax: limits.queueMax,
    stuckMax: limits.stuckMax,
  });
  const parts: Parts = {
    reading: context.reading ?? ((work) => work()),
    sessions: createSessions(connect),
    watchdog: createWatchdog({ memoryBytes, giveUp }),
    running: new Set(),
    onStuck,
  };
  let warming: Promise<void> | undefined;

  return {
    async inPlace(request, work) {
      const { timeoutMs = limits.queryTimeoutMs, signal: asked, mayRestart } = request;
      const until = deadline(Math.min(timeoutMs, limits.queryTimeoutMs), asked);
      let queuedMs = 0;
      try {
        for (let level = 0; ; ) {
          const askedAt = performance.now();
          const place = await scheduler.enter(until.signal, { level, mayYield: mayRestart });
          queuedMs += performance.now() - askedAt;
          const queuedMicros = Math.round(queuedMs * 1_000);
          try {
            return await runOnce(parts, place, until, request, (connection, signal) =>
              work(connection, signal, queuedMicros),
            );
          } catch (error) {
            if (!place.recall.aborted || until.signal.aborted) throw error;
            level = place.nextLevel();
          }
        }
      } catch (error) {
        if (error instanceof ApiError) throw error;
        throw new ApiError('internal', 'The SQL engine failed. Try again.', { cause: error });
      } finally {
        until.clear();
      }
    },
    warm() {
      warming ??= parts.sessions.warm();
      return warming;
    },
    async close() {
      await warming;
      let left = await scheduler.close(CLOSE_WAIT_MS);
      if (left > 0) {
        const reason = new ApiError(
          'not_ready',
          'The query was still running when the service shut down, and was stopped. Try again in a moment.',
        );
        for (const query of parts.running) query.stop(reason);
        left = await scheduler.close(CLOSE_WAIT_MS);
      }
      parts.sessions.close();
      return left;
    },
  };
}
