import type { DuckDBConnection, DuckDBPendingResult, DuckDBPreparedStatement, DuckDBResult } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { JsonValue } from '../../../contract/json/json.ts';
import { placeOf, STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { Unbound } from '../../engine.ts';
import type { Keeping } from '../../results.ts';
import { engineErrorText } from '../connections/engine-error.ts';
import { withColumnNames } from '../gate/column-names.ts';
import { checkJsonPaths } from '../gate/json-paths.ts';
import type { Opened } from '../gate/parse.ts';
import { checkPatterns } from '../gate/patterns.ts';
import type { PlainRead } from '../gate/plain-read.ts';
import { withoutFiles } from '../gate/plan-files.ts';
import { type Failure, toQueryError, withoutInternalNames } from '../gate/sql-errors.ts';
import { type Keeper, keptNames } from '../results/result-store.ts';
import { resultNames } from '../sql/result-names.ts';
import { type Caps, type Rows, readRows, type Shown } from '../values/rows.ts';
import type { Typed } from '../values/typed-json.ts';

/** `prefix` is what was sent to the engine before the text that passed. */
function failureOf({ statement, passed }: Opened, prefix: string): Failure {
  const originOf = (offset: number) => passed.originOf(Math.max(0, offset - prefix.length));
  return {
    statement,
    tables: passed.tables,
    originOf,
    ...(passed.macros.size === 0 ? {} : { withMacros: prefix + passed.sql }),
  };
}

function bind(prepared: DuckDBPreparedStatement, values: ReadonlyMap<string, Typed>): void {
  for (let index = 1; index <= prepared.parameterCount; index++) {
    const typed = values.get(prepared.parameterName(index));
    if (typed === undefined || typed.value === null) prepared.bindNull(index);
    else prepared.bindValue(index, typed.value, typed.type);
  }
}

/** Why an allowed statement does not bind, of the error that says so; throws any other. */
export function toUnbound(error: unknown): Unbound {
  if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
  return { message: error.message, line: error.details.line, column: error.details.column };
}

/** What to read of a result. */
export interface Reading {
  values: ReadonlyMap<string, Typed>;
  caps: Caps;
  /** As in `Store`. */
  waitsToStart?: boolean | undefined;
  /** Makes the keeper of the result, if the whole of it is to be kept. */
  keeperOf?: ((result: DuckDBResult, names: readonly string[], shown: Shown | undefined) => Keeper) | undefined;
}

export type ReadRows = Rows & { keeping: Keeping | null };

/** Runs an allowed statement and reads as much as may be returned. Rejects `query_error`. */
export async function runStatement(
  connection: DuckDBConnection,
  opened: Opened,
  reading: Reading,
  signal: AbortSignal,
): Promise<ReadRows> {
  const { explain } = opened.statement;
  checkPatterns(opened.passed.patterns, reading.values);
  checkJsonPaths(opened.passed.jsonPaths, reading.values);
  try {
    const prepared = await connection.prepare(explain + opened.passed.sql);
    const ofThis = explain === '' ? reading : { ...reading, keeperOf: undefined };
    const read = await runPrepared(prepared, opened, ofThis, signal);
    return explain === '' ? read : { ...read, rows: read.rows.map(cleanRow) };
  } catch (error) {
    throw signal.aborted ? error : toQueryError(error, failureOf(opened, explain));
  }
}

async function runPrepared(
  prepared: DuckDBPreparedStatement,
  opened: Opened,
  reading: Reading,
  signal: AbortSignal,
): Promise<ReadRows> {
  const { values, keeperOf, waitsToStart = false } = reading;
  const result = await begin(prepared, values, waitsToStart);
  const ofEngine = resultNames(result.columnNames(), opened.passed.sql, opened.passed.tables);
  const names = withColumnNames(ofEngine, opened.passed.columnNames, opened.passed.plain?.added ? 1 : 0);
  const shown = opened.statement.explain === '' ? shownIn(opened.passed.plain, result.columnNames()) : undefined;
  const caps = { ...reading.caps, names, shown };
  if (keeperOf === undefined) return { ...(await readRows(result, caps, signal)), keeping: null };
  // Kept results are queried by these names.
  return await readKeeping(result, { ...caps, names: keptNames(names) }, signal, keeperOf(result, names, shown));
}

/** Where the result of a plain read has the strays, and what each of its columns shows. */
function shownIn(plain: PlainRead | null, names: readonly string[]): Shown | undefined {
  if (plain === null) return undefined;
  const isAdded = plain.added !== null;
  const inStar = names.length - (isAdded ? 1 : 0) - plain.items.filter((item) => item !== 'star').length;
  const places: (string | null)[] = [];
  let strays = isAdded ? names.length - 1 : undefined;
  for (const item of plain.items) {
    if (item !== 'star') places.push(item);
    else {
      const ofStar = names.slice(places.length, places.length + inStar);
      if (plain.hasStrays && !isAdded) strays = places.length + ofStar.lastIndexOf(STRAYS_COLUMN);
      places.push(...ofStar.map((name) => placeOf([name])));
    }
  }
  return {
    strays,
    columns: places.map((place) => ({
      place,
      written: place === null ? undefined : plain.written?.(plain.fieldAt(place)),
    })),
    fieldAt: plain.fieldAt,
  };
}

/**
 * Starts a statement, and releases it at once. Whoever releases it last frees what its operators held, which takes
 * seconds for a hash table of millions of groups: that must be the engine's thread, not ours, which everything else
 * waits for. One that waits to start is started by the engine's thread, and released once it has its first rows, or failed.
 */
async function begin(
  prepared: DuckDBPreparedStatement,
  values: ReadonlyMap<string, Typed>,
  waitsToStart: boolean,
): Promise<DuckDBResult> {
  if (prepared.parameterCount === 0 && !waitsToStart) {
    let pending: DuckDBPendingResult;
    try {
      pending = prepared.startStream();
    } finally {
      prepared.destroySync();
    }
    return await pending.getResult();
  }
  try {
    bind(prepared, values);
    // It is planned only now that there are values, which takes time and must not happen on our thread.
    return await prepared.stream();
  } finally {
    prepared.destroySync();
  }
}

/** Returns the first rows and keeps all. `cut` is set only if reading stopped; what is kept can be fetched. */
async function readKeeping(
  result: DuckDBResult,
  caps: Caps,
  signal: AbortSignal,
  keeper: Keeper,
): Promise<Rows & { keeping: Keeping }> {
  try {
    const read = await readRows(result, caps, signal, keeper.take);
    return { ...read, keeping: await keeper.finish(read.rows.length) };
  } catch (error) {
    await keeper.discard();
    throw error;
  }
}

/** Plans contain internal names of what is under a collection. */
function cleanRow(row: JsonValue[]): JsonValue[] {
  return row.map((value) => (typeof value === 'string' ? withoutInternalNames(withoutFiles(value)) : value));
}

/**
 * Binds an allowed statement, if there is something to bind, without running it: with EXPLAIN if there are values, else with
 * PREPARE, which knows no parameter types. There the engine stops at a parameter whose type nothing says, and what is behind
 * is not bound: names that do not exist are looked for with NULL for such values.
 */
export async function check(
  connection: DuckDBConnection,
  opened: Opened,
  values: ReadonlyMap<string, Typed>,
  signal: AbortSignal,
): Promise<void> {
  const { statement, passed } = opened;
  const [missing] = passed.missing;
  if (missing !== undefined) throw missing.error();
  if (passed.show !== null) return;
  checkPatterns(passed.patterns, values);
  checkJsonPaths(passed.jsonPaths, values);
  const isComplete = statement.parameters.every((name) => values.has(name));
  const isExplained = statement.explain === '';
  const failed = (error: unknown, prefix: string) =>
    signal.aborted ? error : toQueryError(error, failureOf(opened, prefix));
  if (!isComplete || !isExplained) {
    await bound(connection, statement.explain + passed.sql).catch((error: unknown) => {
      throw failed(error, statement.explain);
    });
  }
  if (!isExplained) return;
  await bound(connection, `EXPLAIN ${passed.sql}`, values).catch((error: unknown) => {
    if (isComplete || signal.aborted || namesNothing(error)) throw failed(error, 'EXPLAIN ');
  });
}

/** Whether an error is about a name that does not exist, whatever the parameters are. */
function namesNothing(error: unknown): boolean {
  const said = engineErrorText(error);
  return ['Referenced column "', 'Referenced table "', ' does not exist'].some((part) => said.includes(part));
}

/** Binds a statement, and runs it if values are given, with NULL for those that are missing. */
async function bound(connection: DuckDBConnection, sql: string, values?: ReadonlyMap<string, Typed>): Promise<void> {
  const prepared = await connection.prepare(sql);
  try {
    if (values === undefined) return;
    bind(prepared, values);
    await prepared.run();
  } finally {
    prepared.destroySync();
  }
}
