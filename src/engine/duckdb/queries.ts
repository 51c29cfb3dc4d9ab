import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import type { JsonValue } from '../../contract/json.ts';
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
import type { Keeping } from '../results.ts';
import { endProcess } from './end-process.ts';
import type { Show } from './gate.ts';
import { createKnownStatements } from './known-statements.ts';
import { makeMacros } from './macros.ts';
import { foldName, type NamedTable, type Names } from './names.ts';
import { bindParameters } from './parameters.ts';
import { type Opened, open } from './parse.ts';
import type { Keeper, ResultStore } from './result-store.ts';
import { type Caps, type Rows, readRows } from './rows.ts';
import { createScheduler, type Place } from './scheduler.ts';
import { createSessions } from './session.ts';
import { type Failure, toQueryError, withoutInternalNames } from './sql-errors.ts';
import { readStatement, type Statement } from './statement.ts';
import type { Typed } from './typed-json.ts';
import { createWatchdog, type Watched } from './watchdog.ts';

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
    request: { timeoutMs?: number | undefined; signal?: AbortSignal | undefined; mayRestart?: boolean },
    work: (connection: DuckDBConnection, signal: AbortSignal, queuedMicros: number) => Promise<T>,
  ): Promise<T>;
  /**
   * Refuses what waits or comes, and resolves when what runs has finished; it is stopped after 5 seconds. Resolves to how
   * many queries do not react to that for another 5: their connections and their threads cannot be let go of.
   */
  close(): Promise<number>;
}

interface Context {
  connect: () => Promise<DuckDBConnection>;
  /** Where results go that are to be kept; absent: none is. */
  results?: Pick<ResultStore, 'keeper'>;
  names: Names;
  limits: EngineLimits;
  /** Memory of the engine as it is now, in bytes. */
  memoryBytes: () => number;
  /** Ends the process, where a query takes ever more memory and does not stop. */
  giveUp?: (message: string) => void;
}

/** `prefix` is what the engine got before the text that passed. */
function failureOf({ statement, passed }: Opened, prefix: string): Failure {
  const originOf = (offset: number) => passed.originOf(Math.max(0, offset - prefix.length));
  return { statement, tables: passed.tables, originOf };
}

function qualified(tables: readonly NamedTable[], kind: NamedTable['kind']): string[] {
  return tables.filter((table) => table.kind === kind).map((table) => `${table.workspace}.${table.name}`);
}

function withBehind(tables: readonly NamedTable[]): NamedTable[] {
  return [...new Set([...tables, ...tables.flatMap((table) => table.behind?.() ?? [])])];
}

/** What SHOW answers: from the names that SQL can use, never from the engine's catalog. */
function answerShow({ what, workspace }: Show, names: Names): Rows {
  if (what === 'schemas') {
    const rows = names
      .workspaces()
      .toSorted()
      .map((name) => [name]);
    return { columns: [{ name: 'workspace', type: 'VARCHAR' }], rows, cut: null };
  }
  const isAsked = (table: NamedTable) => workspace === null || foldName(table.workspace) === foldName(workspace);
  const rows = names
    .tables()
    .filter(isAsked)
    .map((table): JsonValue[] => [table.workspace, table.name, table.kind, [...table.columns()]])
    .toSorted((a, b) => (`${a[0]}\n${a[1]}` < `${b[0]}\n${b[1]}` ? -1 : 1));
  const columns = ['workspace', 'name', 'kind'].map((name) => ({ name, type: 'VARCHAR' }));
  return { columns: [...columns, { name: 'columns', type: 'VARCHAR[]' }], rows, cut: null };
}

function bind(prepared: DuckDBPreparedStatement, values: ReadonlyMap<string, Typed>): void {
  for (let index = 1; index <= prepared.parameterCount; index++) {
    const typed = values.get(prepared.parameterName(index));
    if (typed === undefined || typed.value === null) prepared.bindNull(index);
    else prepared.bindValue(index, typed.value, typed.type);
  }
}

/** Why an allowed statement does not bind; null if it does. */
async function findUnbound(
  connection: DuckDBConnection,
  opened: Opened,
  values: ReadonlyMap<string, Typed>,
  signal: AbortSignal,
): Promise<Unbound | null> {
  const [missing] = opened.passed.missing;
  try {
    if (missing !== undefined) throw missing.error;
    await check(connection, opened, values, signal);
    return null;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    return { message: error.message, line: error.details.line, column: error.details.column };
  }
}

async function run(
  connection: DuckDBConnection,
  opened: Opened,
  values: ReadonlyMap<string, Typed>,
  caps: Caps,
  signal: AbortSignal,
  keeperOf?: (result: DuckDBResult) => Keeper,
): Promise<Rows & { keeping: Keeping | null }> {
  const { explain } = opened.statement;
  try {
    const prepared = await connection.prepare(explain + opened.passed.sql);
    try {
      bind(prepared, values);
      const result = await prepared.stream();
      if (explain === '' && keeperOf !== undefined) return await readKeeping(result, caps, signal, keeperOf(result));
      const rows = { ...(await readRows(result, caps, signal)), keeping: null };
      return explain !== '' ? { ...rows, rows: rows.rows.map(cleanRow) } : rows;
    } finally {
      prepared.destroySync();
    }
  } catch (error) {
    throw signal.aborted ? error : toQueryError(error, failureOf(opened, explain));
  }
}

/** Returns the first rows and keeps all. The whole is cut only where reading stopped; what is kept may be asked for. */
async function readKeeping(
  result: DuckDBResult,
  caps: Caps,
  signal: AbortSignal,
  keeper: Keeper,
): Promise<Rows & { keeping: Keeping }> {
  try {
    const rows = await readRows(result, caps, signal, keeper.take);
    return { ...rows, keeping: await keeper.finish(rows.rows.length) };
  } catch (error) {
    await keeper.discard();
    throw error;
  }
}

/** Plans name what lies under a collection. */
function cleanRow(row: JsonValue[]): JsonValue[] {
  return row.map((value) => (typeof value === 'string' ? withoutInternalNames(value) : value));
}

/** Binds without running: with its values as EXPLAIN, else by PREPARE, which knows no types of parameters. */
async function check(
  connection: DuckDBConnection,
  opened: Opened,
  values: ReadonlyMap<string, Typed>,
  signal: AbortSignal,
): Promise<void> {
  const { statement, passed } = opened;
  const isComplete = statement.parameters.every((name) => values.has(name));
  const isExplained = isComplete && statement.explain === '';
  const prefix = isExplained ? 'EXPLAIN ' : statement.explain;
  try {
    const prepared = await connection.prepare(prefix + passed.sql);
    try {
      if (!isExplained) return;
      bind(prepared, values);
      await prepared.run();
    } finally {
      prepared.destroySync();
    }
  } catch (error) {
    throw signal.aborted ? error : toQueryError(error, failureOf(opened, prefix));
  }
}

function warningsFor(request: QueryRequest, statement: Statement, cut: QueryOutcome['cut']): string[] {
  if (request.generateWarnings !== true) return [];
  const used = new Set(statement.parameters.map((name) => name.toLowerCase()));
  const unused = (request.parameters ?? []).map(({ name }) => name).filter((name) => !used.has(name.toLowerCase()));
  const warnings = unused.map(
    (name) => `Parameter "${name}" is not used by the SQL.${meant(name, statement.parameters)}`,
  );
  if (cut?.reason === 'rows') warnings.push(`Only the first ${cut.limit} rows are returned; the query has more.`);
  if (cut?.reason === 'bytes') warnings.push(`Rows beyond ${cut.limit} bytes were left out. Select fewer columns.`);
  return warnings;
}

function meant(name: string, parameters: readonly string[]): string {
  const close = nearest(name, parameters);
  return close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(', ')}?`;
}

/** One signal for everything that ends a statement early; its reason is the `ApiError` to reject with. */
function deadline(
  timeoutMs: number,
  caller: AbortSignal | undefined,
): { signal: AbortSignal; stop(reason: ApiError): void; clear(): void } {
  const stop = new AbortController();
  const onTimeout = () =>
    stop.abort(
      new ApiError(
        'query_timeout',
        `The query ran past its time limit of ${timeoutMs} ms and was stopped. Narrow it down.`,
      ),
    );
  const givenUp = () => new ApiError('aborted', 'The query was given up by its caller and was stopped.');
  const onAbort = () => stop.abort(caller?.reason instanceof ApiError ? caller.reason : givenUp());
  const timer = setTimeout(onTimeout, timeoutMs);
  if (caller?.aborted === true) onAbort();
  caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: stop.signal,
    stop: (reason) => stop.abort(reason),
    clear: () => {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}

/** How long `close` waits for queries, before it stops them and after. */
const CLOSE_WAIT_MS = 5_000;

/** How long a stopped statement may take to end before its caller is answered all the same. */
const GRACE_MS = 1_000;

/** The same for a query that is told to stop, and does not within the grace: it may be inside one long step. */
function stillRunning(reason: unknown): unknown {
  if (!(reason instanceof ApiError)) return reason;
  const message = reason.message.replace(
    'was stopped.',
    'was told to stop, but still runs: one step of it takes long.',
  );
  return new ApiError(reason.code, message, { ...reason.details, cause: reason });
}

/** The result of `running`; once `signal` has aborted, its reason after the grace at the latest. */
function orStopped<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = () => {
      timer = setTimeout(() => reject(stillRunning(signal.reason)), GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    running.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
}

/**
 * The reading half of the engine: every statement passes the gate and then runs on a connection of its own, in a
 * transaction that cannot write, within limits of time, rows, bytes and number.
 *
 * `connect` gives a connection whose search path is the default workspace and whose time zone is UTC. A result stops at
 * the engine's `resultRowsMax`, or at `defaultRowLimit` where the statement has no outermost LIMIT: in both cases rows
 * that exist and were left out are told in `cut`, because the API calls either the row limit.
 */
export function createQueries({ connect, results, names, limits, memoryBytes, giveUp = endProcess }: Context): Queries {
  const scheduler = createScheduler(limits.queriesMax, limits.queueMax);
  const sessions = createSessions(connect);
  const known = createKnownStatements(names);
  const watchdog = createWatchdog({ memoryBytes, giveUp });
  const running = new Set<Watched>();

  const inPlace: Queries['inPlace'] = async (request, work) => {
    const timeoutMs = Math.min(request.timeoutMs ?? limits.queryTimeoutMs, limits.queryTimeoutMs);
    const { signal, stop, clear } = deadline(timeoutMs, request.signal);
    const runOnce = (place: Place, queuedMicros: number) => {
      const stopped = AbortSignal.any([signal, place.recall]);
      const watched = { stop };
      const unwatch = watchdog.watch(watched);
      running.add(watched);
      const onIdle = () => {
        running.delete(watched);
        unwatch();
        place.leave();
      };
      return orStopped(
        sessions.run(stopped, (connection) => work(connection, stopped, queuedMicros), onIdle),
        signal,
      );
    };
    let queuedMs = 0;
    try {
      for (let isLong = false; ; isLong = true) {
        const askedAt = performance.now();
        const place = await scheduler.enter(signal, { isLong, mayYield: request.mayRestart });
        queuedMs += performance.now() - askedAt;
        try {
          return await runOnce(place, Math.round(queuedMs * 1_000));
        } catch (error) {
          if (!place.recall.aborted || signal.aborted) throw error;
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
    const opened = await open(connection, statement, names, signal);
    known.add(sql, opened);
    return opened;
  };

  return {
    async query(request) {
      const { statement, values } = prepareRequest(request, false);
      return inPlace({ ...request, mayRestart: true }, async (connection, signal, queuedMicros) => {
        const opened = await openOnce(connection, request.sql, statement, signal);
        const { tables, show, hasLimit } = opened.passed;
        const { keep } = request;
        const keeperOf = keep && results && ((result: DuckDBResult) => results.keeper(keep, result));
        const asked = keeperOf ? keep?.rowsMax : hasLimit ? undefined : request.defaultRowLimit;
        const caps = {
          rowsMax: Math.min(limits.resultRowsMax, asked ?? limits.resultRowsMax),
          bytesMax: limits.resultBytesMax,
        };
        const found =
          show === null
            ? await run(connection, opened, values, caps, signal, keeperOf)
            : { ...answerShow(show, names), keeping: null };
        return {
          ...found,
          collections: qualified(withBehind(tables), 'collection'),
          aliases: qualified(tables, 'alias'),
          warnings: warningsFor(request, statement, found.cut),
          queuedMicros,
        };
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
    async close() {
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
