import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import { nearest } from '../../contract/nearest.ts';
import type {
  EngineLimits,
  Inspection,
  InspectRequest,
  Parameter,
  QueryOutcome,
  QueryRequest,
  Unbound,
} from '../engine.ts';
import { holdsFor, rowsOf } from './by-hash.ts';
import { deadline, orStopped } from './deadline.ts';
import { endProcess } from './end-process.ts';
import { createKnownStatements } from './known-statements.ts';
import { makeMacros } from './macros.ts';
import type { NamedTable, Names } from './names.ts';
import { bindParameters } from './parameters.ts';
import { checkByHash, type Opened, open } from './parse.ts';
import type { ResultStore } from './result-store.ts';
import { check, findUnbound, type Reading, type ReadRows, runPlain, runStatement } from './run-statement.ts';
import { createScheduler, type Place } from './scheduler.ts';
import { createSessions, resume } from './session.ts';
import { answerShow } from './show.ts';
import { readStatement, type Statement } from './statement.ts';
import { createWatchdog, type Watched } from './watchdog.ts';

interface InPlaceRequest {
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  mayRestart?: boolean | undefined;
  /** As in `RunOptions`. */
  isPlain?: boolean | undefined;
}

export interface Queries {
  /** Runs one reading statement. Rejects `query_error`, `invalid_input`, `query_timeout`, `resource_exceeded` or `aborted`. */
  query(request: QueryRequest): Promise<QueryOutcome>;
  /** Parses and binds a statement without running it. Rejects as `query` does. */
  inspect(request: InspectRequest): Promise<Inspection>;
  /**
   * Runs `work` as `query` runs a statement: in its turn, on a connection that cannot write, until `signal` aborts. With
   * `mayRestart` it may be stopped and run once more, so that it does not keep others waiting.
   */
  inPlace<T>(
    request: InPlaceRequest,
    work: (connection: DuckDBConnection, signal: AbortSignal, queuedMicros: number) => Promise<T>,
  ): Promise<T>;
  /** Prepares for the first statement. */
  warm(): Promise<void>;
  /**
   * Refuses what waits or comes, and resolves when what runs has finished; it is stopped after 5 seconds. Resolves to how
   * many queries do not react to that for another 5: their connections and their threads cannot be let go of.
   */
  close(): Promise<number>;
}

interface Context {
  connect: () => Promise<DuckDBConnection>;
  /** Runs what reads on these connections, when it may (`Store.reading`); default: at once. */
  reading?: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  /** Where results go that are to be kept; absent: none is. */
  results?: Pick<ResultStore, 'keeper'>;
  names: Names;
  limits: EngineLimits;
  /** Memory of the engine as it is now, in bytes. */
  memoryBytes: () => number;
  /** Ends the process, where a query takes ever more memory and does not stop. */
  giveUp?: (message: string) => void;
  /** Called where queries that do not stop have held the places of others for long; default: `giveUp`. */
  onStuck?: (message: string) => void;
}

/** The second form of a statement that has one, as a statement that passed. */
function secondOf(opened: Opened): Opened | null {
  const { passed, byHash } = opened;
  return byHash === null ? null : { ...opened, passed: { ...passed, sql: byHash.sql, byHash: null }, byHash: null };
}

/** Whether a statement as it is written might not fail as its second form did; and if it does, its error is the one to tell. */
function mayBeOfForm(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'query_error' || error.code === 'internal');
}

function qualified(tables: readonly NamedTable[], kind: NamedTable['kind']): string[] {
  return tables.filter((table) => table.kind === kind).map((table) => `${table.workspace}.${table.name}`);
}

function withBehind(tables: readonly NamedTable[]): NamedTable[] {
  return [...new Set([...tables, ...tables.flatMap((table) => table.behind?.() ?? [])])];
}

function warningsFor(
  request: QueryRequest,
  { statement, warnings: ofSql }: Pick<Opened, 'statement' | 'warnings'>,
  cut: QueryOutcome['cut'],
): string[] {
  if (request.generateWarnings !== true) return [];
  const used = new Set(statement.parameters.map((name) => name.toLowerCase()));
  const unused = (request.parameters ?? []).map(({ name }) => name).filter((name) => !used.has(name.toLowerCase()));
  const warnings = unused.map(
    (name) => `Parameter "${name}" is not used by the SQL.${meant(name, statement.parameters)}`,
  );
  if (cut?.reason === 'rows') warnings.push(`Only the first ${cut.limit} rows are returned; the query has more.`);
  if (cut?.reason === 'bytes') warnings.push(`Rows beyond ${cut.limit} bytes were left out. Select fewer columns.`);
  return [...warnings, ...ofSql];
}

function meant(name: string, parameters: readonly string[]): string {
  const close = nearest(name, parameters);
  return close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(', ')}?`;
}

/** How long a query that was told to stop may hold a place of others. */
const STOP_MS = 500;

/** How long `close` waits for queries, before it stops them and after. */
const CLOSE_WAIT_MS = 5_000;

/**
 * The reading half of the engine: every statement passes the gate and then runs on a connection of its own, in a
 * transaction that cannot write, within limits of time, rows, bytes and number. A text that has run so to its end, under
 * the names that there are, needs no such transaction when it comes again.
 *
 * `connect` gives a connection whose search path is the default workspace and whose time zone is UTC. A result stops at
 * the engine's `resultRowsMax`, or at `defaultRowLimit` where the statement has no outermost LIMIT: in both cases rows
 * that exist and were left out are told in `cut`, because the API calls either the row limit.
 */
export function createQueries(context: Context): Queries {
  const { connect, results, names, limits, memoryBytes, giveUp = endProcess, onStuck = giveUp } = context;
  const { reading = (work) => work() } = context;
  const scheduler = createScheduler({
    places: limits.queriesMax,
    queueMax: limits.queueMax,
    stuckMax: limits.stuckMax,
    onLost: () => onStuck('queries do not stop and keep others from running, so this service ends.'),
  });
  const sessions = createSessions(connect);
  const known = createKnownStatements(names);
  /** The same ones in their second forms. */
  const knownByHash = createKnownStatements(names);
  const watchdog = createWatchdog({ memoryBytes, giveUp });
  const running = new Set<Watched>();
  let warming: Promise<void> | undefined;

  const inPlace: Queries['inPlace'] = async (request, work) => {
    const timeoutMs = Math.min(request.timeoutMs ?? limits.queryTimeoutMs, limits.queryTimeoutMs);
    const { signal, stop, clear } = deadline(timeoutMs, request.signal);
    const runOnce = (place: Place, queuedMicros: number) => {
      const stopped = AbortSignal.any([signal, place.recall]);
      const watched = { stop };
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
        place.leave();
      };
      return orStopped(
        reading(
          () =>
            sessions.run(stopped, (connection) => work(connection, stopped, queuedMicros), {
              isPlain: request.isPlain,
              onIdle,
            }),
          stopped,
        ),
        signal,
      );
    };
    let queuedMs = 0;
    try {
      for (let level = 0; ; ) {
        const askedAt = performance.now();
        const place = await scheduler.enter(signal, { level, mayYield: request.mayRestart });
        queuedMs += performance.now() - askedAt;
        try {
          return await runOnce(place, Math.round(queuedMs * 1_000));
        } catch (error) {
          if (!place.recall.aborted || signal.aborted) throw error;
          level = place.nextLevel();
        }
      }
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError('internal', 'The SQL engine failed. Try again.', { cause: error });
    } finally {
      clear();
    }
  };

  const prepareRequest = (
    request: { sql: string; parameters?: readonly Parameter[] | undefined },
    mayMiss: boolean,
  ) => {
    const statement = known.find(request.sql)?.statement ?? readStatement(request.sql);
    return { statement, values: bindParameters(statement.parameters, request.parameters ?? [], mayMiss) };
  };

  /** As `open`, unless the text has passed before and names are what they were. */
  const openOnce = async (connection: DuckDBConnection, sql: string, statement: Statement, signal: AbortSignal) => {
    const found = known.find(sql);
    if (found !== undefined) {
      await makeMacros(connection, found.passed.macros);
      return found;
    }
    const first = await open(connection, statement, names, signal);
    const draft = first.passed.byHash;
    const isLarge = draft !== null && (await rowsOf(connection, draft)) >= limits.lookupRowsMin;
    const opened = isLarge ? { ...first, byHash: await checkByHash(connection, first, signal) } : first;
    known.add(sql, opened, draft !== null && !isLarge);
    const second = secondOf(opened);
    if (second !== null) knownByHash.add(sql, second);
    return opened;
  };

  return {
    async query(request) {
      const { statement, values } = prepareRequest(request, false);
      const { keep } = request;
      const keeperOf = keep && results && ((...of: [DuckDBResult, readonly string[]]) => results.keeper(keep, ...of));
      const readingOf = ({ passed: { hasLimit } }: Opened): Reading => {
        const asked = keeperOf ? keep?.rowsMax : hasLimit ? undefined : request.defaultRowLimit;
        const rowsMax = Math.min(limits.resultRowsMax, asked ?? limits.resultRowsMax);
        return { values, caps: { rowsMax, bytesMax: limits.resultBytesMax }, keeperOf };
      };
      const outcomeOf = (opened: Opened, read: ReadRows, queuedMicros: number): QueryOutcome => ({
        ...read,
        collections: qualified(withBehind(opened.passed.tables), 'collection'),
        aliases: qualified(opened.passed.tables, 'alias'),
        warnings: warningsFor(request, opened, read.cut),
        queuedMicros,
      });
      const { sql } = request;
      const secondFor = (opened: Opened | undefined) =>
        opened !== undefined && opened.byHash !== null && holdsFor(opened.byHash, values) ? secondOf(opened) : null;
      const isSecond = secondFor(known.find(sql)) !== null;
      const quick = isSecond ? knownByHash : known;
      if (quick.find(sql)?.hasOnlyRead === true) {
        const ask = { ...request, mayRestart: true, isPlain: true };
        const outcome = await inPlace(ask, async (connection, signal, queuedMicros) => {
          const opened = quick.find(sql);
          if (opened?.hasOnlyRead !== true) return undefined;
          await makeMacros(connection, opened.passed.macros, false);
          const read = await runPlain(connection, opened, readingOf(opened), signal);
          return read && outcomeOf(opened, read, queuedMicros);
        }).catch((error: unknown) => {
          if (isSecond && mayBeOfForm(error)) return undefined;
          throw error;
        });
        if (outcome !== undefined) return outcome;
      }
      return inPlace({ ...request, mayRestart: true }, async (connection, signal, queuedMicros) => {
        const opened = await openOnce(connection, sql, statement, signal);
        const { show } = opened.passed;
        if (show !== null) return outcomeOf(opened, { ...answerShow(show, names), keeping: null }, queuedMicros);
        const second = secondFor(opened);
        if (second !== null) {
          try {
            const read = await runStatement(connection, second, readingOf(second), signal);
            knownByHash.hasOnlyRead(sql, second);
            return outcomeOf(second, read, queuedMicros);
          } catch (error) {
            if (signal.aborted || !mayBeOfForm(error)) throw error;
            await resume(connection);
          }
        }
        const read = await runStatement(connection, opened, readingOf(opened), signal);
        if (second !== null) known.add(sql, { ...opened, byHash: null });
        known.hasOnlyRead(sql, opened);
        return outcomeOf(opened, read, queuedMicros);
      });
    },

    async inspect(request) {
      const { statement, values } = prepareRequest(request, request.allowMissingParameters === true);
      return inPlace({ signal: request.signal }, async (connection, signal) => {
        const mayMiss = request.allowUnbound === true;
        const opened = await open(connection, statement, names, signal, mayMiss);
        const { tables, show, missing } = opened.passed;
        let unbound: Unbound | null = null;
        if (show === null && mayMiss) unbound = await findUnbound(connection, opened, values, signal);
        else if (show === null) await check(connection, opened, values, signal);
        return {
          collections: qualified(tables, 'collection'),
          aliases: qualified(tables, 'alias'),
          parameters: statement.parameters,
          missing: [...new Set(missing.map(({ name }) => name))],
          unbound,
        };
      });
    },

    inPlace,
    warm() {
      warming ??= sessions.warm();
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
        for (const query of running) query.stop(reason);
        left = await scheduler.close(CLOSE_WAIT_MS);
      }
      sessions.close();
      return left;
    },
  };
}
