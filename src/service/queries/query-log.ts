import { ApiError } from '../../contract/errors.ts';
import { cutWithoutKeys } from '../../contract/without-keys.ts';

/** Who runs a query; never contains the key itself. */
export interface QueryCaller {
  email: string;
  keyName: string;
}

/** A statement that is running or waiting for its turn. Times are milliseconds since 1970. */
export interface RunningQuery {
  id: string;
  /** The first 2,000 characters, with anything that looks like an API key removed. */
  sql: string;
  caller: QueryCaller;
  startedAt: number;
}

/** A statement that has ended. */
export interface EndedQuery extends RunningQuery {
  ms: number;
  /** Number of rows returned; undefined if it failed. */
  rows: number | undefined;
  /** `ok` or an error code; `query_stopped` means stopped by a person. */
  outcome: string;
}

/** Running and recent queries, in memory only. */
export interface QueryLog {
  /** Runs `work`, a query, with a signal that `stop` aborts as well; returns its result. */
  watch<T extends { rows: readonly unknown[] }>(
    query: Pick<RunningQuery, 'id' | 'sql' | 'caller'>,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  /** The oldest first. */
  running(): RunningQuery[];
  /** The newest first, 50 at most. */
  recent(): EndedQuery[];
  /** Stops a query, telling its caller that a person did. Resolves when it has ended, or to false if there is none. */
  stop(id: string): Promise<boolean>;
}

export const RECENT_MAX = 50;
export const SQL_CHARS_MAX = 2_000;

export function createQueryLog(now: () => number = Date.now): QueryLog {
  const open = new Map<string, { stop: AbortController; query: RunningQuery; whenOver: (() => void)[] }>();
  const ended: EndedQuery[] = [];

  return {
    async watch({ id, sql, caller }, signal, work) {
      const stop = new AbortController();
      const query = { id, sql: cutWithoutKeys(sql, SQL_CHARS_MAX), caller, startedAt: now() };
      const whenOver: (() => void)[] = [];
      open.set(id, { query, stop, whenOver });
      const end = (outcome: string, rows?: number) => {
        open.delete(id);
        ended.unshift({ ...query, ms: now() - query.startedAt, rows, outcome });
        ended.splice(RECENT_MAX);
        for (const tell of whenOver) tell();
      };
      try {
        const result = await work(AbortSignal.any([signal, stop.signal]));
        end('ok', result.rows.length);
        return result;
      } catch (error) {
        end(error instanceof ApiError ? error.code : 'internal');
        throw error;
      }
    },
    running: () => Array.from(open.values(), ({ query }) => query),
    recent: () => [...ended],
    async stop(id) {
      const found = open.get(id);
      if (found === undefined) return false;
      const over = new Promise<void>((resolve) => found.whenOver.push(resolve));
      found.stop.abort(
        new ApiError('query_stopped', 'The query was ended by a person, on the page of the service, and was stopped.'),
      );
      await over;
      return true;
    },
  };
}
