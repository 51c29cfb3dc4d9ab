import { type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import type { LambdaTag, QueryLambda, QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { QueryParameter } from '../../contract/queries.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { spelledNow } from '../catalog/not-found.ts';
import type { LambdaRecord, LambdaVersionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { versionOf } from './lambda-records.ts';
import type { RunFigures } from './lambda-stats.ts';

/** What is needed to build the views. */
export type ViewContext = Pick<CallContext, 'catalog' | 'lambdaStates' | 'lambdaStats' | 'exactDefaults'>;

/**
 * A version as the API returns it. If its SQL does not bind now, the state is INVALID_SQL and `warnings` say why.
 * `warnings` is not in docs/api.md; apart from the answer to a post, it is present only in that case.
 */
export async function toVersion(
  ctx: ViewContext,
  record: LambdaVersionRecord,
  stats: RunFigures = ctx.lambdaStats.of(record),
): Promise<QueryLambdaVersion> {
  const unbound = await ctx.lambdaStates.unboundOf(record);
  return {
    workspace: record.workspace,
    created_by: record.createdBy,
    created_at: record.createdAt,
    name: record.lambda,
    version: record.version,
    description: record.description,
    sql: {
      query: record.query,
      default_parameters: ctx.exactDefaults
        ? record.defaultParameters.map(exactDefault)
        : record.defaultParameters.flatMap(textDefault),
    },
    collections: namesOf(ctx.catalog, record),
    state: unbound === null ? 'ACTIVE' : 'INVALID_SQL',
    stats: {
      last_executed: stats.lastExecuted,
      last_executed_by: stats.lastExecutedBy,
      last_execution_error: stats.lastError,
      last_execution_error_message: stats.lastErrorMessage,
    },
    ...(unbound === null ? {} : { warnings: [`The SQL does not bind: ${unbound}`] }),
  };
}

/** Versions in the given order, bound one after the other: a list must not take all the places of queries. */
export async function toVersions(
  ctx: ViewContext,
  records: readonly LambdaVersionRecord[],
): Promise<QueryLambdaVersion[]> {
  const versions: QueryLambdaVersion[] = [];
  const pace = createPace();
  for (const record of records) {
    versions.push(await toVersion(ctx, record));
    await pace();
  }
  return versions;
}

/** A lambda as the API returns it, with its `latest` version. */
export async function toLambda(
  ctx: ViewContext,
  record: LambdaRecord,
  latest: LambdaVersionRecord = versionOf(ctx.catalog, record, record.latest),
  stats: RunFigures = ctx.lambdaStats.of(latest),
): Promise<QueryLambda> {
  const version = await toVersion(ctx, latest, stats);
  return {
    workspace: record.workspace,
    last_updated_by: record.updatedBy,
    last_updated: record.updatedAt,
    name: record.name,
    version_count: record.versions.length,
    collections: version.collections,
    latest_version: version,
  };
}

export async function toLambdas(ctx: ViewContext, records: readonly LambdaRecord[]): Promise<QueryLambda[]> {
  // Looked up before the first await, since a lambda may be deleted while the list is built.
  const found = records.map((record) => [record, versionOf(ctx.catalog, record, record.latest)] as const);
  const lambdas: QueryLambda[] = [];
  const pace = createPace();
  for (const [record, latest] of found) {
    lambdas.push(await toLambda(ctx, record, latest));
    await pace();
  }
  return lambdas;
}

export async function toTag(ctx: ViewContext, name: string, version: LambdaVersionRecord): Promise<LambdaTag> {
  return { tag_name: name, version: await toVersion(ctx, version) };
}

/** The names in the SQL in their current spelling, if they exist: SQL ignores letter case, names keep theirs. */
function namesOf(catalog: Catalog, record: LambdaVersionRecord): string[] {
  return record.names.map((name) => spelledNow(catalog, name) ?? name);
}

/** A parameter without a value has no key `value`, since null would be a value. */
function exactDefault({ name, type = '', value }: QueryParameter) {
  return { name, type, ...(value === undefined ? {} : { value }) };
}

/**
 * A default for clients of the hosted service, which refuse a whole list for one value that is no text. A run means the same with
 * what is answered: an untyped value gets the type that it has, null is of the type null, and what has no value is no default.
 */
function textDefault({ name, type = '', value }: QueryParameter) {
  if (value === null || type === 'null') return [{ name, type: 'null' as const, value: 'null' }];
  if (value === undefined) return [];
  if (typeof value === 'string') return [{ name, type, value }];
  const told = type || typeOf(value);
  // The text of a large double has an exponent, which no integer has. What the SQL does not use may be of another type.
  const isLarge = told === 'int' && Number.isInteger(value);
  const text = isLarge ? String(BigInt(value as number)) : stringifyJson(value);
  return [{ name, type: told, value: text }];
}

/** The type of a parameter that is the same without one. */
function typeOf(value: JsonValue): QueryParameter['type'] {
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object') return 'object';
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'int' : 'float';
}
