import type { DuckDBResult } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { nearest } from '../../../contract/nearest.ts';
import { enterText } from '../../../contract/turns/long-texts.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { EngineLimits, Inspection, InspectRequest, QueryOutcome, QueryRequest, Unbound } from '../../engine.ts';
import { type Opened, open } from '../gate/parse.ts';
import { answerShow } from '../gate/show.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { NamedTable, Names } from '../sql/names.ts';
import type { Statement } from '../sql/statement.ts';
import { deadline } from '../storage/deadline.ts';
import { makeMacros } from '../storage/macros.ts';
import { resume } from '../storage/session.ts';
import type { Typed } from '../values/typed-json.ts';
import { bindParameters } from './parameters.ts';
import { createPlaces, type Places, type PlacesContext } from './places.ts';
import { check, findUnbound, type Reading, type ReadRows, runPlain, runStatement } from './run-statement.ts';
import { createStatementForms, type StatementForms } from './statement-forms.ts';

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
}

interface Parts {
  places: Places;
  forms: StatementForms;
  results: Context['results'];
  names: Names;
  limits: EngineLimits;
}

/**
 * Whether an error of the second form may not occur in the statement as written; if it does, that error is the one to
 * report.
 */
function mayBeOfForm(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'query_error' || error.code === 'internal');
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
  { forms, limits }: Parts,
  request: R,
  mayMiss: boolean,
  work: (request: R, ask: Bound) => Promise<T>,
): Promise<T> {
  const { sql, caller = '', parameters = [] } = request;
  const { signal, clear } = deadline(limits.queryTimeoutMs, request.signal);
  try {
    const leave = await enterText({ kind: 'statement', length: sql.length, caller, signal });
    const statement = await forms.read(sql).finally(leave);
    const values = bindParameters(statement.parameters, parameters, mayMiss);
    return await work({ ...request, signal }, { statement, values });
  } finally {
    clear();
  }
}

function readingOf({ results, limits }: Parts, request: QueryRequest, { values }: Bound, opened: Opened): Reading {
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

/** Runs a text that is known to only read, without a transaction around it; undefined if it cannot be run that way. */
async function runKnown(parts: Parts, request: QueryRequest, ask: Bound): Promise<QueryOutcome | undefined> {
  const { forms, places } = parts;
  const { sql } = request;
  let known = forms.quick(sql, ask.values);
  if (known === null) return undefined;
  try {
    return await places.inPlace(
      { ...request, mayRunAgain: true, isPlain: true },
      async (connection, signal, queued) => {
        // Names may have changed during the wait.
        known = forms.quick(sql, ask.values);
        if (known === null) return undefined;
        const { form } = known;
        await makeMacros(connection, form.passed.macros, false);
        const read = await runPlain(connection, form, readingOf(parts, request, ask, form), signal);
        return read && outcomeOf(request, form, read, queued);
      },
    );
  } catch (error) {
    if (known?.isSecond === true && mayBeOfForm(error)) return undefined;
    throw error;
  }
}

/** Runs a text in a read-only transaction, in its second form if it has one. */
function runGuarded(parts: Parts, request: QueryRequest, ask: Bound): Promise<QueryOutcome> {
  const { forms, places, names } = parts;
  const { sql } = request;
  return places.inPlace({ ...request, mayRunAgain: true }, async (connection, signal, queued) => {
    const run = async (form: Opened) => {
      const read = await runStatement(connection, form, readingOf(parts, request, ask, form), signal);
      return outcomeOf(request, form, read, queued);
    };
    const opened = await forms.open(connection, sql, ask.statement, signal);
    const { show } = opened.passed;
    if (show !== null) return outcomeOf(request, opened, { ...answerShow(show, names), keeping: null }, queued);
    const second = forms.second(opened, ask.values);
    if (second !== null) {
      try {
        const outcome = await run(second);
        forms.hasOnlyRead(sql, second, true);
        return outcome;
      } catch (error) {
        if (signal.aborted || !mayBeOfForm(error)) throw error;
        await resume(connection);
      }
    }
    const outcome = await run(opened);
    if (second !== null) forms.hasNoSecond(sql, opened);
    forms.hasOnlyRead(sql, opened, false);
    return outcome;
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
 * read-only transaction, within limits on time, rows, bytes and concurrency. A text that has completed in such a
 * transaction needs none when it comes again, as long as names stay the same.
 *
 * `connect` opens a connection whose search path is the default workspace and whose time zone is UTC. A result stops at
 * the engine's `resultRowsMax`, or at `defaultRowLimit` if the statement has no outermost LIMIT: in both cases `cut`
 * says that rows were left out, because the API calls either the row limit.
 */
export function createQueries(context: Context): Queries {
  const { results, names, limits } = context;
  const places = createPlaces(context);
  const parts: Parts = { places, forms: createStatementForms(names, limits.lookupRowsMin), results, names, limits };
  return {
    ...places,
    query: (request) =>
      withBound(parts, request, false, async (asked, ask) => {
        return (await runKnown(parts, asked, ask)) ?? (await runGuarded(parts, asked, ask));
      }),
    inspect: (request) =>
      withBound(parts, request, request.allowMissingParameters === true, (asked, ask) => inspect(parts, asked, ask)),
  };
}
