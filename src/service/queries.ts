import { randomUUID } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import type { JsonObject, JsonValue } from '../contract/json.ts';
import type { QueryParameter, QueryResponse, SqlBody, ValidationResult } from '../contract/queries.ts';
import type { QueryOutcome } from '../engine/engine.ts';
import type { CallContext } from './context.ts';
import { problemOf } from './values.ts';

/** Runs one statement (api.md #1). Throws `query_error`, `query_timeout`, `resource_exceeded`. */
export async function runQuery(ctx: CallContext, input: { sql: SqlBody }): Promise<QueryResponse> {
  checkParameters('run a SQL query', 'sql.parameters', input.sql.parameters);
  return runStatement(ctx, input.sql);
}

/** Runs one statement whose parameters were checked. Throws as `runQuery`. */
export async function runStatement(ctx: CallContext, sql: SqlBody): Promise<QueryResponse> {
  const queryId = randomUUID();
  const startedAt = performance.now();
  const outcome = await execute(ctx, sql, queryId);
  const collections = ctx.catalog.all('collection');
  for (const name of outcome.collections) {
    const collection = collections.get(name);
    if (collection !== undefined) ctx.usage.queried(collection);
  }
  return {
    query_id: queryId,
    collections: outcome.collections,
    aliases: outcome.aliases,
    column_fields: outcome.columns,
    results: toObjects(
      outcome.columns.map((column) => column.name),
      outcome.rows,
    ),
    stats: {
      elapsed_time_ms: Math.round(performance.now() - startedAt),
      throttled_time_micros: Math.round(outcome.queuedMicros),
    },
    warnings: outcome.warnings,
    query_errors: outcome.cut === null ? [] : [cutError(outcome.cut, outcome.rows.length)],
    status: 'COMPLETED',
  };
}

/** Checks a statement without running it (api.md #2). Throws `query_error`. */
export async function validateQuery(
  ctx: CallContext,
  input: { sql: SqlBody; parameters?: boolean | undefined },
): Promise<ValidationResult> {
  checkParameters('validate a SQL query', 'sql.parameters', input.sql.parameters);
  const found = await ctx.engine.inspect({
    sql: input.sql.query,
    parameters: input.sql.parameters,
    allowMissingParameters: input.parameters === true,
    signal: ctx.signal,
  });
  return {
    collections: found.collections,
    aliases: found.aliases,
    views: [],
    name: [...found.collections, ...found.aliases],
    parameters: found.parameters,
  };
}

async function execute(ctx: CallContext, sql: SqlBody, queryId: string): Promise<QueryOutcome> {
  try {
    return await ctx.engine.query({
      sql: sql.query,
      parameters: sql.parameters,
      defaultRowLimit: sql.default_row_limit,
      generateWarnings: sql.generate_warnings,
      signal: ctx.signal,
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { ...error.details, queryId, cause: error });
  }
}

/** Throws `invalid_input` for a value that cannot be kept as it is; `field` is where the list stands in the body. */
export function checkParameters(what: string, field: string, parameters: readonly QueryParameter[] = []): void {
  parameters.forEach((parameter, index) => {
    const problem = parameter.value === undefined ? undefined : problemOf(parameter.value);
    if (problem === undefined) return;
    throw new ApiError('invalid_input', `Cannot ${what}: "${field}[${index}].value" ${problem}.`);
  });
}

function cutError(cut: NonNullable<QueryOutcome['cut']>, rows: number) {
  const limit = cut.reason === 'rows' ? `${cut.limit} rows` : `${cut.limit} bytes`;
  return {
    type: 'ResourceExceeded',
    message: `Only the first ${rows} rows were returned: the result is larger than ${limit}. Filter or aggregate in the SQL, select fewer columns, or page with ORDER BY, LIMIT and OFFSET.`,
    status_code: 429,
  };
}

function toObjects(names: readonly string[], rows: readonly JsonValue[][]): JsonObject[] {
  // Assigning to `__proto__` would set the prototype instead of a field.
  if (names.includes('__proto__')) {
    return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
  }
  return rows.map((row) => {
    const object: JsonObject = {};
    for (let index = 0; index < names.length; index++) object[names[index] as string] = row[index] ?? null;
    return object;
  });
}
