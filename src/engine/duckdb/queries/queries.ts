import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { nearest } from '../../../contract/nearest.ts';
import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import { mapInTurns } from '../../../contract/turns/turns.ts';
import type { Inspection, InspectRequest, QueryOutcome, QueryRequest } from '../../engine.ts';
import { makeMacros } from '../connections/macros.ts';
import { resume } from '../connections/sessions.ts';
import { type Opened, open } from '../gate/parse.ts';
import { answerShow } from '../gate/show.ts';
import type { ResultStore } from '../results/result-store.ts';
import type { KnownStatements } from '../shortcuts/known-statements.ts';
import type { Lookups } from '../shortcuts/lookups.ts';
import type { NamedTable, Names } from '../sql/names.ts';
import { overRows } from '../sql/own-rows.ts';
import type { Statement } from '../sql/statement.ts';
import { attemptAgain, type Way } from './again.ts';
import { corrected } from './corrections.ts';
import { describeFields } from './describe-fields.ts';
import { lookAt, lookWithoutData } from './looks/looks.ts';
import { dataOf } from './looks/samples.ts';
import { type Binding, bind, waysToBind } from './meaning.ts';
import { bindParameters, listsInIn, momentsOf, unitWarnings } from './parameters.ts';
import { pivotValues } from './pivot.ts';
import { createPlaces, type Places, type PlacesContext } from './places.ts';
import { type Reading, type ReadRows, runStatement, toUnbound } from './run-statement.ts';
import { strayWarnings } from './stray-warnings.ts';
import { castWarnings, requireCasts } from './time-casts.ts';

export interface Queries extends Places {
  /** Runs one reading statement. Rejects `query_error`, `invalid_input`, `query_timeout`, `resource_exceeded` or `aborted`. */
  query(request: QueryRequest): Promise<QueryOutcome>;
  /** Parses and binds a statement without running it. Rejects as `query` does. */
  inspect(request: InspectRequest): Promise<Inspection>;
}

interface Context extends PlacesContext {
  /** Stores the results that are to be kept; absent: none are. */
  results?: Pick<ResultStore, 'keeper' | 'warn'>;
  names: Names;
  known: KnownStatements;
  lookups: Lookups;
  /** As in `Store`. */
  waitsToStart?: boolean;
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
  const isAsked = request.generateWarnings === true;
  const ofCut = cutWarnings(cut, isAsked, request.keep !== undefined);
  if (!isAsked && request.tellsUnused !== true) return [...ofCut, ...ofSql];
  const used = new Set(statement.parameters.map((name) => name.toLowerCase()));
  const unused = (request.parameters ?? [])
    .map(({ name }) => name)
    .filter((name) => !used.has(name.replace(/^[:$]/, '').toLowerCase()));
  const warnings = await mapInTurns(
    unused.slice(0, UNUSED_SHOWN_MAX),
    (name) => `Parameter "${name}" is not used by the SQL.${meant(name, statement.parameters)}`,
  );
  const more = unused.length - warnings.length;
  if (more > 0) warnings.push(`${more} more parameters are not used by the SQL.`);
  return [...warnings, ...ofCut, ...ofSql];
}

/** A result cut at the caller's own limit is no error, and nothing else says it: this is told always, unless all of it is kept. */
function cutWarnings(cut: QueryOutcome['cut'], isAsked: boolean, isKept: boolean): string[] {
  if (cut === null || (!isAsked && (cut.reason !== 'asked' || isKept))) return [];
  return cut.reason === 'bytes'
    ? [`Rows beyond ${cut.limit} bytes were left out. Select fewer columns.`]
    : [`Only the first ${cut.limit} rows are returned; the query has more.`];
}

function meant(name: string, parameters: readonly string[]): string {
  const close = nearest(name, parameters);
  return close.length === 0 ? '' : ` Did you mean ${close.map((other) => `"${other}"`).join(', ')}?`;
}

type KeeperOf = Parameters<NonNullable<Reading['keeperOf']>>;

function readingOf(
  { results, limits, waitsToStart }: Parts,
  request: QueryRequest,
  values: Reading['values'],
  opened: Opened,
): Reading {
  const { keep } = request;
  const keeperOf = keep && results && ((...of: KeeperOf) => results.keeper(keep, ...of));
  const asked = keeperOf ? keep?.rowsMax : opened.passed.hasLimit ? undefined : request.defaultRowLimit;
  const rowsMax = Math.min(limits.resultRowsMax, asked ?? limits.resultRowsMax);
  return { values, caps: { rowsMax, bytesMax: limits.resultBytesMax }, waitsToStart, keeperOf };
}

async function outcomeOf(
  { limits }: Parts,
  request: QueryRequest,
  opened: Opened,
  { warnings: ofData = [], ...read }: ReadRows & { warnings?: readonly string[] },
  queuedMicros: number,
): Promise<QueryOutcome> {
  const { statement, warnings } = opened;
  const isAsked = read.cut?.reason === 'rows' && read.cut.limit < limits.resultRowsMax;
  const cut = read.cut && isAsked ? { ...read.cut, reason: 'asked' as const } : read.cut;
  return {
    ...read,
    cut,
    collections: qualified(withBehind(opened.passed.tables), 'collection'),
    aliases: qualified(opened.passed.tables, 'alias'),
    warnings: await warningsFor(request, { statement, warnings: [...ofData, ...warnings] }, cut),
    queuedMicros,
  };
}

/**
 * Runs what a lookup made of a statement; undefined if that fails: the error, if it is one of what was written, has to be
 * in terms of that.
 */
async function runLookup(
  connection: DuckDBConnection,
  lookup: Opened,
  reading: Reading,
  signal: AbortSignal,
): Promise<ReadRows | undefined> {
  try {
    return await runStatement(connection, lookup, reading, signal);
  } catch (error) {
    const mayBeOfLookup = error instanceof ApiError && (error.code === 'query_error' || error.code === 'internal');
    if (signal.aborted || !mayBeOfLookup) throw error;
    await resume(connection);
    return undefined;
  }
}

/**
 * The way of a query whose transaction began before its collection had strays, or keys in `_extra`, of which the names say
 * that it has some: the same in a new one.
 */
const newTransaction: Way = {
  isFor: ({ sql, errors, error }) =>
    !sql.includes(STRAYS_COLUMN) && isBeforeStrays(error) && !errors.some(isBeforeStrays),
  next: ({ error, errors, ...rest }) => ({ ...rest, statement: undefined, errors: [...errors, error] }),
};

function isBeforeStrays(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /Referenced column[^a-z]+_(?:strays|extra)[^a-z]+not found/.test(error.message) || isBeforeStrays(error.cause);
}

/** The way of a query: its turn, its text and parameters, the gate, the rows. */
function run(parts: Parts, request: QueryRequest): Promise<QueryOutcome> {
  return parts.places.inPlace({ ...request, mayRunAgain: true }, (connection, signal, queuedMicros) =>
    runText(parts, request, { connection, signal, queuedMicros }).catch(async (error: unknown) => {
      throw await withCorrection(parts, request, error, { connection, signal });
    }),
  );
}

function withCorrection(
  { names }: Parts,
  { sql, parameters = [] }: Pick<QueryRequest, 'sql' | 'parameters'>,
  error: unknown,
  turn: Pick<Turn, 'connection' | 'signal'>,
): Promise<unknown> {
  // The error is to be told, whatever comes of correcting it.
  return corrected(error, sql, { names, parameters, ...turn }).catch(() => error);
}

/** A query's turn: what `inPlace` gives it. */
interface Turn {
  connection: DuckDBConnection;
  signal: AbortSignal;
  queuedMicros: number;
}

/** What is to be told of an answer; nothing if looking for it fails, since the answer is there. */
async function orNothing({ connection, signal }: Turn, look: () => Promise<string[]>): Promise<string[]> {
  try {
    return await look();
  } catch (error) {
    if (signal.aborted) throw error;
    await resume(connection).catch(() => undefined);
    return [];
  }
}

function waysOf(parts: Parts, { parameters }: Pick<QueryRequest, 'parameters'>, turn: Turn): Way[] {
  const valuesOf = async (sql: string) =>
    (await runText(parts, { sql, ...(parameters && { parameters }) }, turn)).rows.map(([value = null]) => value);
  return [newTransaction, pivotValues(valuesOf), ...waysToBind(parameters ?? [])];
}

function runText(parts: Parts, request: QueryRequest, turn: Turn): Promise<QueryOutcome> {
  const { known, lookups, names } = parts;
  const { connection, signal, queuedMicros } = turn;
  const { parameters = [] } = request;
  let passed: Opened | undefined;
  const moments = momentsOf(parameters);
  // No text that is sent can be that of another with moments: NUL is refused.
  const keyOf = (sql: string) => (moments.size === 0 ? sql : `${sql}\0${[...moments].sort()}`);
  const knownIn = (sql: string) => {
    passed = known.try(keyOf(sql));
    return passed?.statement;
  };
  const attempt = async (written: Statement, sql: string) => {
    const values = bindParameters(written.parameters, parameters, false);
    const opened = written === passed?.statement ? passed : await open(connection, written, names, signal);
    const { show, described, macros } = opened.passed;
    if (show !== null)
      return outcomeOf(parts, request, opened, { ...answerShow(show, names), keeping: null }, queuedMicros);
    if (described !== null) {
      const fields = await describeFields(connection, names, described);
      return outcomeOf(parts, request, opened, { ...fields, keeping: null }, queuedMicros);
    }
    requireCasts(opened, values);
    await makeMacros(connection, macros);
    const reading = readingOf(parts, request, values, opened);
    const lookup = await lookups.try(connection, opened, values, signal);
    const read =
      (lookup && (await runLookup(connection, lookup, reading, signal))) ??
      (await runStatement(connection, opened, reading, signal));
    // Those of another type need no cast.
    if (written.timeCasts.length === 0 || values.size === 0) known.add(keyOf(sql), opened);
    const { reads, tables, valueUses } = opened.passed;
    const behind = withBehind(tables);
    const strays = await orNothing(turn, () =>
      strayWarnings(connection, names, reads, behind, valueUses.orders, opened.passed.sql),
    );
    const asked = { ...read, sql, ran: opened.passed.sql, values, data: dataOf(names, connection) };
    const ofValues = await orNothing(turn, () => lookAt(valueUses, asked));
    const warnings = [...statementWarnings(opened, request.parameters), ...ofValues, ...strays];
    if (request.keep) parts.results?.warn(request.keep.id, [...warnings, ...opened.warnings]);
    return outcomeOf(parts, request, opened, { ...read, warnings }, queuedMicros);
  };
  return attemptAgain(connection, request.sql, waysOf(parts, request, turn), attempt, moments, knownIn);
}

/** What is to be told of how a statement was read, and of the parameters that it was given. */
const statementWarnings = ({ statement }: Opened, parameters: QueryRequest['parameters']) => [
  ...unitWarnings(statement.parameters, parameters),
  ...castWarnings(statement),
];

function inspect(parts: Parts, request: InspectRequest): Promise<Inspection> {
  const { names } = parts;
  const { sql, parameters = [], allowMissingParameters, allowUnbound: mayMiss = false } = request;
  return parts.places.inPlace(request, async (connection, signal, queuedMicros) => {
    const ways = waysOf(parts, request, { connection, signal, queuedMicros });
    let opened: Opened | undefined;
    let warnings: string[] = [];
    const passedGate: Binding['passedGate'] = async (passed, values) => {
      opened = passed;
      const data = dataOf(names, connection);
      warnings = [
        ...statementWarnings(passed, parameters),
        ...listsInIn(passed.passed.tree, values),
        ...(await lookWithoutData(passed.passed.valueUses, { sql, ran: sql, values, columns: [], rows: [], data })),
        ...passed.warnings,
      ];
    };
    const how = { ways, allowsMissing: allowMissingParameters === true, mayMiss, passedGate };
    const bound = await bind(sql, { names, parameters, connection, signal }, how).catch(async (error: unknown) => {
      if (mayMiss && opened !== undefined) return toUnbound(error);
      throw await withCorrection(parts, request, error, { connection, signal });
    });
    const { statement, passed } = 'passed' in bound ? bound : (opened as unknown as Opened);
    const { tables, missing } = passed;
    return {
      collections: qualified(tables, 'collection'),
      aliases: qualified(tables, 'alias'),
      parameters: statement.parameters,
      missing: [...new Set(missing.map(({ name }) => name))],
      unbound: 'passed' in bound ? null : bound,
      warnings,
    };
  });
}

/**
 * The reading half of the engine: every statement passes the gate and then runs on a connection of its own, in a
 * read-only transaction, within limits on time, rows, bytes and concurrency.
 *
 * `connect` opens a connection whose search path is the default workspace and whose time zone is UTC. A result stops at
 * the engine's `resultRowsMax`, or at `defaultRowLimit` if the statement has no outermost LIMIT; `cut` says which if rows
 * were left out.
 */
export function createQueries(context: Context): Queries {
  const places = createPlaces(context);
  const parts: Parts = { ...context, places };
  return {
    ...places,
    query: (request) => run(parts, { ...request, sql: overRows(request) }),
    inspect: (request) => inspect(parts, request),
  };
}
