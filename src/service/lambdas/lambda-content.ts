import { createHash } from 'node:crypto';
import { stringifyJson } from '../../contract/json/json.ts';
import type { LambdaSql, QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { QueryParameter } from '../../contract/queries.ts';
import type { Change } from '../../engine/engine.ts';
import { type Catalog, put } from '../catalog/catalog.ts';
import type { LambdaRecord, LambdaVersionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { checkParameters } from '../queries/queries.ts';
import { lambdaKey, versionKey, versionOf } from './lambda-records.ts';
import { unboundText } from './lambda-states.ts';

/** The SQL of a version, and what checking found out about it. */
export type CheckedSql = Pick<LambdaVersionRecord, 'query' | 'defaultParameters' | 'names' | 'unbound' | 'boundOn'>;

/** The content of a version, besides its lambda. */
export type VersionContent = CheckedSql & Pick<LambdaVersionRecord, 'description'>;

const HASH_LENGTH = 16;

/**
 * Checks the SQL of a new version like that of a query. Collections and columns need not exist: `unbound` then has the
 * reason. `warnings` are to be told with the answer. Throws `query_error` for SQL that does not parse or is not
 * allowed, and `invalid_input` for a default that does not fit its type; `what` is the operation, as after "Cannot".
 */
export async function checkSql(
  ctx: CallContext,
  what: string,
  sql: LambdaSql,
): Promise<CheckedSql & { warnings: string[] }> {
  const defaultParameters = sql.default_parameters ?? [];
  await checkParameters(what, 'sql.default_parameters', defaultParameters);
  const { namesVersion } = ctx.engine;
  const found = await ctx.engine.inspect({
    sql: sql.query,
    parameters: defaultParameters,
    allowMissingParameters: true,
    allowUnbound: true,
  });
  const used = new Set(found.parameters.map((name) => name.toLowerCase()));
  const names = [...found.collections, ...found.aliases, ...found.missing];
  return {
    query: sql.query,
    defaultParameters,
    names,
    unbound: unboundText(found.unbound),
    // Names that changed meanwhile may not be those that it was bound to.
    boundOn: namesVersion === ctx.engine.namesVersion ? ctx.lambdaStates.basisOf(names) : null,
    // A default parameter that the SQL does not use is most likely misspelled.
    warnings: [
      ...defaultParameters
        .filter(({ name }) => !used.has(name.toLowerCase()))
        .map(({ name }) => `Default parameter "${name}" is not used by the SQL.`),
      ...found.warnings,
    ],
  };
}

/** The answer to posted SQL, with warnings. */
export function withWarnings(version: QueryLambdaVersion, warnings: readonly string[]): QueryLambdaVersion {
  return warnings.length === 0 ? version : { ...version, warnings: [...(version.warnings ?? []), ...warnings] };
}

/**
 * The changes that make `content` the current version of a lambda, creating the lambda if it does not exist. If a
 * version has this content, none is created and `latest` moves to it: whoever posts it wants it to be run.
 */
export function postVersion(
  catalog: Catalog,
  where: { workspace: string; name: string },
  lambda: LambdaRecord | undefined,
  content: VersionContent,
  by: string,
): { changes: Change[]; version: LambdaVersionRecord } {
  const { workspace, name } = where;
  const hash = hashOf(workspace, name, content);
  const now = new Date().toISOString();
  const exists = lambda?.versions.includes(hash) === true;
  const version: LambdaVersionRecord = exists
    ? versionOf(catalog, lambda, hash)
    : { workspace, lambda: name, version: hash, createdAt: now, createdBy: by, ...content };
  if (exists && lambda.latest === hash) return { changes: [], version };
  const versions = [...(lambda?.versions ?? []), ...(exists ? [] : [hash])];
  const tags = lambda?.tags ?? [];
  const record: LambdaRecord = { workspace, name, updatedAt: now, updatedBy: by, versions, latest: hash, tags };
  const changes = [put('lambda', lambdaKey(workspace, name), record)];
  if (!exists) changes.push(put('lambdaVersion', versionKey(version), version));
  return { changes, version };
}

/**
 * The version's name. Parameters have names, so the order of defaults does not matter; a missing type equals an empty
 * one, and so does a missing description.
 */
function hashOf(workspace: string, name: string, content: VersionContent): string {
  const parameters = content.defaultParameters
    .map(({ name: key, type = '', value }) => (value === undefined ? [key, type] : [key, type, value]))
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const text = stringifyJson([workspace, name, content.description ?? '', content.query, parameters]);
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, HASH_LENGTH);
}

/** An empty description counts as none. */
export function descriptionOf(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/**
 * The parameters of a run: given values replace defaults with the same name (letter case is ignored, as in SQL). A
 * value given without a type takes that of the default.
 */
export function withDefaults(
  defaults: readonly QueryParameter[],
  given: readonly QueryParameter[] = [],
): QueryParameter[] {
  // A parameter listed without a value does not count as given.
  const values = given.filter((parameter) => parameter.value !== undefined || parameter.type === 'null');
  const names = new Set(values.map((parameter) => foldedName(parameter)));
  // A default of type null accepts any type.
  const types = new Map(
    defaults.flatMap((parameter) =>
      parameter.type === 'null' ? [] : [[foldedName(parameter), parameter.type] as const],
    ),
  );
  const typed = values.map((parameter) => ({
    ...parameter,
    type: parameter.type || types.get(foldedName(parameter)),
  }));
  return [...defaults.filter((parameter) => !names.has(foldedName(parameter))), ...typed];
}

/** Names of parameters that differ in case are one. */
export function foldedName({ name }: Pick<QueryParameter, 'name'>): string {
  return name.replace(/^[:$]/, '').toLowerCase();
}
