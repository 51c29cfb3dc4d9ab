import type { ParsedInput } from '../../contract/contract.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { isoOf } from '../../contract/moment.ts';
import type { Keeping, KeptResult, ResultProfile, ResultRows } from '../../contract/results.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import type { QueryOutcome } from '../../engine/engine.ts';
import type { CallContext } from '../context.ts';

const ROWS_DEFAULT = 50;

/** The results kept for the caller's key. */
export function listResults(ctx: CallContext): KeptResult[] {
  return ctx.results.list(ctx.caller).map((entry) => ({
    query_id: entry.queryId,
    rows: entry.rows,
    is_whole: entry.isWhole,
    bytes: entry.bytes,
    columns: [...entry.columns],
    created_at: isoOf(entry.createdAt),
    expires_at: isoOf(entry.expiresAt),
  }));
}

/** A page of a kept result. Throws `not_found`, `invalid_input`, or `query_error` for the condition or the order. */
export async function fetchResult(ctx: CallContext, input: ParsedInput<'fetchResult'>): Promise<ResultRows> {
  return ctx.results.use(ctx.caller, input.query_id, async ({ queryId, rows, isWhole }) => {
    const { offset = 0, limit = ROWS_DEFAULT, columns, where, order_by: orderBy } = input;
    const page = await ctx.engine.results.read(queryId, { offset, limit, columns, where, orderBy }, ctx.signal);
    const names = page.columns.map(({ name }) => name);
    return {
      query_id: queryId,
      column_fields: page.columns,
      results: await toObjectsInTurns(names, page.rows),
      offset,
      total: page.total,
      rows_kept: rows,
      is_whole: isWhole,
      warnings: [...page.warnings],
    };
  });
}

/** A profile of the columns of a kept result. Throws `not_found`. */
export async function profileResult(ctx: CallContext, input: ParsedInput<'profileResult'>): Promise<ResultProfile> {
  return ctx.results.use(ctx.caller, input.query_id, async ({ queryId, rows, isWhole }) => ({
    query_id: queryId,
    rows,
    is_whole: isWhole,
    columns: (await ctx.engine.results.profile(queryId, ctx.signal)).map((column) => ({ ...column })),
  }));
}

/** Records that the engine kept a result, and for whom; null if it was not asked to. */
export function keepingOf(ctx: CallContext, queryId: string, outcome: QueryOutcome): Keeping | null {
  const { keeping } = outcome;
  if (keeping === null) return null;
  const { total, isTotalExact, kept, failure } = keeping;
  const isWhole = isTotalExact && kept?.rows === total;
  const columns = outcome.columns.map(({ name }) => name);
  const entry = kept && ctx.results.add({ queryId, owner: ctx.caller.keyHash, ...kept, isWhole, columns });
  return {
    total,
    is_total_exact: isTotalExact,
    is_kept: kept !== null,
    rows_kept: kept?.rows ?? 0,
    reason: failure,
    expires_at: entry === null ? null : isoOf(entry.expiresAt),
  };
}

/** The rows as objects, made while others get their turn; empties `rows`, so that these are not in memory twice. */
export async function toObjectsInTurns(names: readonly string[], rows: JsonValue[][]): Promise<JsonObject[]> {
  const toObject = objectOf(names);
  return mapInTurns(rows, (row, index) => {
    rows[index] = [];
    return toObject(row);
  });
}

/** Makes an object of a row's values. */
function objectOf(names: readonly string[]): (row: readonly JsonValue[]) => JsonObject {
  // Assigning to `__proto__` would set the prototype instead of a field.
  if (names.includes('__proto__')) {
    return (row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null]));
  }
  return (row) => {
    const object: JsonObject = {};
    for (let index = 0; index < names.length; index++) object[names[index] as string] = row[index] ?? null;
    return object;
  };
}
