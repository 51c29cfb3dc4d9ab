import { randomUUID } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { scanJson } from '../../contract/json/json-scan.ts';
import { problemOf } from '../../contract/json/measure.ts';
import type { QueryParameter, QueryResponse, SqlBody, ValidationResult } from '../../contract/queries.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { QueryOutcome } from '../../engine/engine.ts';
import type { CallContext } from '../context.ts';
import { findLambda } from '../lambdas/lambda-records.ts';
import { keepingOf, toObjectsInTurns } from '../results/results.ts';
import { asideWarnings } from './aside-rows.ts';

/** Runs one statement (docs/api.md #1). Throws `query_error`, `query_timeout`, `query_stopped`, `resource_exceeded`. */
export async function runQuery(ctx: CallContext, input: { sql: SqlBody }): Promise<QueryResponse> {
  await checkParameters('run a SQL query', 'sql.parameters', input.sql.parameters);
  return runStatement(ctx, input.sql);
}

/**
 * Runs one statement whose parameters were already checked. Throws like `runQuery`. `tellsUnused`: names parameters that it does
 * not use also where no warnings are asked for.
 */
export async function runStatement(ctx: CallContext, sql: SqlBody, tellsUnused = false): Promise<QueryResponse> {
  const queryId = randomUUID();
  const startedAt = performance.now();
  const outcome = await execute(ctx, sql, queryId, tellsUnused);
  const collections = ctx.catalog.all('collection');
  for (const name of outcome.collections) {
    const collection = collections.get(name);
    if (collection !== undefined) ctx.usage.queried(collection);
  }
  const keeping = keepingOf(ctx, queryId, outcome);
  const elapsedMs = performance.now() - startedAt;
  // Before the rows are made objects, which empties them.
  const ofRows = await asideWarnings(ctx, sql, outcome, elapsedMs);
  return {
    query_id: queryId,
    collections: outcome.collections,
    aliases: outcome.aliases,
    column_fields: outcome.columns,
    results: await toObjectsInTurns(
      outcome.columns.map((column) => column.name),
      outcome.rows,
    ),
    stats: {
      elapsed_time_ms: Math.round(elapsedMs),
      throttled_time_micros: Math.round(outcome.queuedMicros),
    },
    warnings: [...outcome.warnings, ...ofRows],
    // Rows that were cut off can be fetched if the result is kept; what the caller asked for is no error.
    query_errors: keeping?.is_kept ? [] : cutErrors(outcome.cut, outcome.rows.length),
    status: 'COMPLETED',
    ...(keeping === null ? {} : { keeping }),
  };
}

/** Checks a statement without running it (docs/api.md #2). Throws `query_error`. */
export async function validateQuery(
  ctx: CallContext,
  input: { sql: SqlBody; parameters?: boolean | undefined },
): Promise<ValidationResult> {
  await checkParameters('validate a SQL query', 'sql.parameters', input.sql.parameters);
  const found = await ctx.engine
    .inspect({
      sql: input.sql.query,
      parameters: input.sql.parameters,
      allowMissingParameters: input.parameters === true,
      caller: ctx.caller.keyHash,
      signal: ctx.signal,
    })
    .catch((error: unknown) => {
      throw withLambda(ctx, error);
    });
  return {
    collections: found.collections,
    aliases: found.aliases,
    views: [],
    name: [...found.collections, ...found.aliases],
    parameters: found.parameters,
    ...(found.warnings.length === 0 ? {} : { warnings: found.warnings }),
  };
}

async function execute(ctx: CallContext, sql: SqlBody, queryId: string, tellsUnused: boolean): Promise<QueryOutcome> {
  try {
    const caller = { email: ctx.caller.user.email, keyName: ctx.caller.keyName };
    return await ctx.queryLog.watch({ id: queryId, sql: sql.query, caller }, ctx.signal, (signal) =>
      ctx.engine.query({
        sql: sql.query,
        parameters: sql.parameters,
        defaultRowLimit: sql.default_row_limit,
        generateWarnings: sql.generate_warnings,
        tellsUnused,
        ...(ctx.keepRows === undefined ? {} : { keep: { id: queryId, rowsMax: ctx.keepRows } }),
        caller: ctx.caller.keyHash,
        signal,
      }),
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { message } = withLambda(ctx, error);
    throw new ApiError(error.code, message, { ...error.details, queryId, cause: error });
  }
}

/** An error about a collection that is none, but a Query Lambda; any other as it is. */
function withLambda<E>({ catalog }: Pick<CallContext, 'catalog'>, error: E): E | ApiError {
  if (!(error instanceof ApiError) || error.code !== 'query_error') return error;
  const [, name = '', workspace = ''] =
    /^Collection "([^"]{1,200})" does not exist in workspace "([^"]{1,200})"\./.exec(error.message) ?? [];
  if (findLambda(catalog, workspace, name) === undefined) return error;
  const said = `"${workspace}.${name}" is a Query Lambda, which SQL does not read: run it by its tag "latest", or write its SQL here.`;
  return new ApiError(error.code, said, { ...error.details, cause: error });
}

/**
 * Throws `invalid_input` for a value that cannot be kept exactly, and names the limit for JSON text that is over one;
 * `field` is the path of the list in the body.
 */
export async function checkParameters(
  what: string,
  field: string,
  parameters: readonly QueryParameter[] = [],
): Promise<void> {
  const pace = createPace();
  for (const [index, { type, value }] of parameters.entries()) {
    const name = `"${field}[${index}].value"`;
    // The engine parses this text, as part of the request.
    if (typeof value === 'string' && (type === 'array' || type === 'object')) {
      await scanJson(Buffer.from(value), { what: name });
    }
    const problem = value === undefined ? undefined : problemOf(value);
    if (problem !== undefined) throw new ApiError('invalid_input', `Cannot ${what}: ${name} ${problem}.`);
    const turn = pace();
    if (turn !== undefined) await turn;
  }
}

function cutErrors(cut: QueryOutcome['cut'], rows: number) {
  if (cut === null || cut.reason === 'asked') return [];
  const limit = cut.reason === 'rows' ? `${cut.limit} rows` : `${cut.limit} bytes`;
  const message =
    rows === 0
      ? `No row was returned: the first one alone is larger than the limit of ${limit}. Select fewer columns, or parts of long texts and lists.`
      : `Only the first ${rows} rows were returned: the result is larger than ${limit}. Filter or aggregate in the SQL, select fewer columns, or page with ORDER BY, LIMIT and OFFSET.`;
  return [{ type: 'ResourceExceeded', message, status_code: 429 }];
}
