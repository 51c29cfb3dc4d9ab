import type { DuckDBResult } from '@duckdb/node-api';
import { nearest } from '../../../contract/nearest.ts';
import { enterText } from '../../../contract/turns/long-texts.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { Inspection, InspectRequest, QueryOutcome, QueryRequest, Unbound } from '../../engine.ts';
import { deadline } from '../connections/deadline.ts';
import { makeMacros } from '../connections/macros.ts';
import { type Opened, open } from '../gate/parse.ts';
import { answerShow } from '../gate/show.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { KnownStatements } from '../shortcuts/known-statements.ts';
import type { Lookups } from '../shortcuts/lookups.ts';
import type { NamedTable, Names } from '../sql/names.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import type { Typed } from '../values/typed-json.ts';
import { bindParameters } from './parameters.ts';
import { createPlaces, type Places, type PlacesContext } from './places.ts';
import { check, findUnbound, type Reading, type ReadRows, runStatement } from './run-statement.ts';

export interface Queries extends Places {
  /** Runs one reading statement. Rejects `query_error`, `invalid_input`, `query_timeout`, `resource_exceeded` or `aborted`. */
  query(request: QueryRequest): Promise<QueryOutcome>;
  /** Parses and binds a statement without running it. Rejects as `query` does. */
  inspect(request: InspectRequest): Promise<Inspection>;
}

interface Context extends PlacesContext {
  /** Stores the results that are to be kept; absent: none are. */
  results?: Pick<ResultStore, 'keeper'>;
  names: Names;
  known: KnownStatements;
  lookups: Lookups;
}

interface Parts extends Context {
  places: Places;
}

function qualified(tables: readonly NamedTable[], kind: NamedTable['kind']): string[] {
  return tables.filter((table) => table.kind === kind).map((table) => `${table.workspace}.${table.name}`);
}

function withBehind(tables: readonly NamedTable[]): NamedTable[] {
  return [...new Set([...tables, ...tables.flatMap((table) => table.behind?.() ?? [])])];
}

/** Further parameters that are not used are counted. */
const UNUSED_SHOWN_MAX = 10;

async function warningsFor(
  request: QueryRequest,
  { statement, warnings: ofSql }: Pick<Opened, 'statement' | 'warnings'>,
  cut: QueryOutcome['cut'],
): Promise<string[]> {
  if (request.generateWarnings !== true) return [];
  const used = new Set(statement.parameters.map((name) => name.toLowerCase()));
  const unused = (request.parameters ?? []).map(({ name }) => name).filter((name) => !used.has(name.toLowerCase()));
  const warnings = await mapInTurns(
    unused.slice(0, UNUSED_SHOWN_MAX),
    (name) => `Parameter "${name}" is not used by the SQL.${meant(name, statement.parameters)}`,
  );
  const more = unused.length - warnings.length;
  if (more > 0) warnings.push(`${more} more parameters are not used by the SQL.`);
  if (cut?.reason === 'rows') warnings.push(`Only the first ${cut.limit} rows are returned; the query has more.`);
  if (cut?.reason === 'bytes') warnings.push(`Rows beyond ${cut.limit} bytes were left out. Select fewer columns.`);
  return [...warnings, ...ofSql];
}

function meant(name: string, parameters: readonly string[]): string {
  const close = nearest(name, parameters);
  return close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(', ')}?`;
}

/** A statement with the values of its parameters. */
interface Bound {
  statement: Statement;
  values: ReadonlyMap<string, Typed>;
}

/**
 * Reads a statement, and runs `work` on it. All of that, waiting included, has the time that a query has.
 */
async function withBound<R extends QueryRequest | InspectRequest, T>(
  { known, limits }: Parts,
  request: R,
  mayMiss: boolean,
  work: (request: R, ask: Bound) => Promise<T>,
): Promise<T> {
  const { sql, caller = '', parameters = [] } = request;
  const { signal, clear } = deadline(limits.queryTimeoutMs, request.signal);
  try {
    const leave = await enterText({ kind: 'statement', length: sql.length, caller, signal });
    const read = async () => known.try(sql)?.statement ?? readStatement(sql);
    const statement = await read().finally(leave);
    const values = bindParameters(statement.parameters, parameters, mayMiss);
    return await work({ ...request, signal }, { statement, values });
  } finally {
    clear();
  }
}

function readingOf(
  { results, limits }: Parts,
  request: QueryRequest,
  values: Reading['values'],
  opened: Opened,
): Reading {
  const { keep } = request;
  const keeperOf = keep && results && ((...of: [DuckDBResult, readonly string[]]) => results.keeper(keep, ...of));
  const asked = keeperOf ? keep?.rowsMax : opened.passed.hasLimit ? undefined : request.defaultRowLimit;
  const rowsMax = Math.min(limits.resultRowsMax, asked ?? limits.resultRowsMax);
  return { values, caps: { rowsMax, bytesMax: limits.resultBytesMax }, keeperOf };
}

async function outcomeOf(
  request: QueryRequest,
  opened: Opened,
  read: ReadRows,
  queuedMicros: number,
): Promise<QueryOutcome> {
  return {
    ...read,
    collections: qualified(withBehind(opened.passed.tables), 'collection'),
    aliases: qualified(opened.passed.tables, 'alias'),
    warnings: await warningsFor(request, opened, read.cut),
    queuedMicros,
  };
}

/** The way of a query: its turn, the gate, the rows. */
function run(parts: Parts, request: QueryRequest, { statement, values }: Bound): Promise<QueryOutcome> {
  const { known, lookups, names, places } = parts;
  const { sql } = request;
  return places.inPlace({ ...request, mayRunAgain: true }, async (connection, signal, queued) => {
    const opened = known.try(sql) ?? (await open(connection, statement, names, signal));
    const { show, macros } = opened.passed;
    if (show !== null) return outcomeOf(request, opened, { ...answerShow(show, names), keeping: null }, queued);
    await makeMacros(connection, macros);
    const reading = readingOf(parts, request, values, opened);
    const read =
      (await lookups.try(connection, opened, reading, signal)) ??
      (await runStatement(connection, opened, reading, signal));
    known.add(sql, opened);
    return outcomeOf(request, opened, read, queued);
  });
}

function inspect({ places, names }: Parts, request: InspectRequest, { statement, values }: Bound): Promise<Inspection> {
  return places.inPlace(
    { sql: request.sql, caller: request.caller, requestId: request.requestId, signal: request.signal },
    async (connection, signal) => {
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
    },
  );
}

/**
 * The reading half of the engine: every statement passes the gate and then runs on a connection of its own, in a
 * read-only transaction, within limits on time, rows, bytes and concurrency.
 *
 * `connect` opens a connection whose search path is the default workspace and whose time zone is UTC. A result stops at
 * the engine's `resultRowsMax`, or at `defaultRowLimit` if the statement has no outermost LIMIT: in both cases `cut`
 * says that rows were left out, because the API calls either the row limit.
 */
export function createQueries(context: Context): Queries {
  const places = createPlaces(context);
  const parts: Parts = { ...context, places };
  return {
    ...places,
    query: (request) => withBound(parts, request, false, (asked, ask) => run(parts, asked, ask)),
    inspect: (request) =>
      withBound(parts, request, request.allowMissingParameters === true, (asked, ask) => inspect(parts, asked, ask)),
  };
}
