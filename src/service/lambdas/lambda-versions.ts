import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { NewName } from '../../contract/fields.ts';
import type { QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { requireWorkspace } from '../catalog/not-found.ts';
import type { LambdaRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { deletionBy, versionDeletion } from '../trash/trash-entries.ts';
import { checkSql, descriptionOf, postVersion, withWarnings } from './lambda-content.ts';
import {
  findLambda,
  requireLambda,
  requireVersion,
  requireVersionOrLatest,
  versionOf,
  versionsOf,
} from './lambda-records.ts';
import { toVersion, toVersions } from './lambda-views.ts';
import { refuseTaken } from './lambdas.ts';

interface VersionInput {
  workspace: string;
  queryLambda: string;
  version: string;
}

/**
 * Posts a version of a Query Lambda, which becomes `latest` (docs/api.md #37). Without SQL, the SQL of `latest` is used, and
 * its description unless one is given. With SQL, nothing is taken from `latest`, so that posting the same again always
 * gives the same version. With `create`, an unknown lambda is created. Throws `not_found`, `invalid_input`, or
 * `query_error` for SQL that does not parse or is not allowed.
 */
export async function createLambdaVersion(
  ctx: CallContext,
  input: ParsedInput<'createLambdaVersion'>,
): Promise<QueryLambdaVersion> {
  const { catalog } = ctx;
  const { workspace, queryLambda: name, description } = input;
  // Before the SQL is checked: an error in the name comes first, whatever the SQL is.
  lambdaToExtend(catalog, input);
  const what = `add a version to Query Lambda "${name}"`;
  const given = input.sql === undefined ? undefined : await checkSql(ctx, what, input.sql);
  const version = await catalog.change(() => {
    const lambda = lambdaToExtend(catalog, input);
    const latest = lambda === undefined ? undefined : versionOf(catalog, lambda, lambda.latest);
    const sql = given ?? latest;
    if (sql === undefined) {
      throw new ApiError('invalid_input', `Cannot create Query Lambda "${name}": "sql" is missing. Give its SQL.`);
    }
    const content = {
      description:
        description === undefined && given === undefined ? (latest?.description ?? null) : descriptionOf(description),
      query: sql.query,
      defaultParameters: sql.defaultParameters,
      names: sql.names,
      unbound: sql.unbound,
      boundOn: sql.boundOn,
    };
    const posted = postVersion(catalog, { workspace, name }, lambda, content, ctx.caller.user.email);
    return { changes: posted.changes, result: posted.version };
  });
  return withWarnings(await toVersion(ctx, version), given?.warnings ?? []);
}

/** The versions of a Query Lambda, newest first (docs/api.md #38). */
export async function listLambdaVersions(
  ctx: CallContext,
  input: { workspace: string; queryLambda: string },
): Promise<QueryLambdaVersion[]> {
  return toVersions(ctx, versionsOf(ctx.catalog, requireLambda(ctx.catalog, input.workspace, input.queryLambda)));
}

/** One version of a Query Lambda (docs/api.md #39). */
export async function getLambdaVersion(ctx: CallContext, input: VersionInput): Promise<QueryLambdaVersion> {
  return toVersion(ctx, requireVersionOrLatest(ctx.catalog, input.workspace, input.queryLambda, input.version).version);
}

/**
 * Deletes a version with its tags, into the trash; `latest` moves to the newest remaining one (docs/api.md #40). Throws
 * `not_found`, or `invalid_input` for the only version, since a lambda needs one.
 */
export async function deleteLambdaVersion(ctx: CallContext, input: VersionInput): Promise<QueryLambdaVersion> {
  const { catalog } = ctx;
  const gone = await catalog.change(() => {
    const { lambda, version } = requireVersion(catalog, input.workspace, input.queryLambda, input.version);
    const versions = lambda.versions.filter((one) => one !== version.version);
    const newest = versions.at(-1);
    if (newest === undefined) {
      throw new ApiError(
        'invalid_input',
        `Cannot delete version "${version.version}" of Query Lambda "${lambda.name}": it is the only one. Delete the lambda instead.`,
      );
    }
    const record: LambdaRecord = {
      ...lambda,
      versions,
      latest: lambda.latest === version.version ? newest : lambda.latest,
      tags: lambda.tags.filter((tag) => tag.version !== version.version),
    };
    const result = { version, stats: ctx.lambdaStats.of(version) };
    const deletion = deletionBy(ctx, lambda.workspace);
    return { changes: versionDeletion(catalog, { before: lambda, after: record }, result, deletion), result };
  });
  ctx.lambdaStats.forget(gone.version);
  return toVersion(ctx, gone.version, gone.stats);
}

/** The lambda that gets the version; undefined if it is to be created. */
function lambdaToExtend(
  catalog: Catalog,
  input: { workspace: string; queryLambda: string; create?: boolean | undefined },
): LambdaRecord | undefined {
  const { workspace, queryLambda: name } = input;
  const lambda = findLambda(catalog, workspace, name);
  if (lambda !== undefined) return lambda;
  if (input.create !== true) return requireLambda(catalog, workspace, name);
  requireWorkspace(catalog, workspace);
  const problem = NewName.safeParse(name).error?.issues[0]?.message;
  if (problem !== undefined) {
    throw new ApiError('invalid_input', `Cannot create the Query Lambda: "queryLambda": ${problem}.`);
  }
  refuseTaken(catalog, workspace, name);
  return undefined;
}
