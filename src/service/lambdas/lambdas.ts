import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import type { QueryLambda, QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { collectionKey, requireAlias, requireCollection, requireWorkspace } from '../catalog/not-found.ts';
import { aliasesNaming } from '../collections/dependents.ts';
import { foldedMatch } from '../collections/workspaces.ts';
import type { CallContext } from '../context.ts';
import { deletionBy, lambdaDeletion } from '../trash/trash-entries.ts';
import { checkSql, descriptionOf, postVersion, withWarnings } from './lambda-content.ts';
import {
  allLambdas,
  findLambda,
  isNaming,
  lambdasNaming,
  lambdasOf,
  requireLambda,
  versionOf,
  versionsOf,
} from './lambda-records.ts';
import { toLambda, toLambdas, toVersion, toVersions } from './lambda-views.ts';

/**
 * Creates a Query Lambda with its first version (docs/api.md #35). Throws `not_found`, `already_exists`, `invalid_input`, or
 * `query_error` for SQL that does not parse or is not allowed.
 */
export async function createLambda(ctx: CallContext, input: ParsedInput<'createLambda'>): Promise<QueryLambdaVersion> {
  const { catalog } = ctx;
  const refuse = () => {
    requireWorkspace(catalog, input.workspace);
    refuseTaken(catalog, input.workspace, input.name);
  };
  // Before the SQL is checked: an error in the name comes first, whatever the SQL is.
  refuse();
  const { warnings, ...sql } = await checkSql(ctx, `create Query Lambda "${input.name}"`, input.sql);
  const content = { description: descriptionOf(input.description), ...sql };
  const version = await catalog.change(() => {
    refuse();
    const posted = postVersion(catalog, input, undefined, content, ctx.caller.user.email);
    return { changes: posted.changes, result: posted.version };
  });
  return withWarnings(await toVersion(ctx, version), warnings);
}

/** Deletes a Query Lambda with its versions and tags, into the trash (docs/api.md #36). */
export async function deleteLambda(
  ctx: CallContext,
  input: { workspace: string; queryLambda: string },
): Promise<QueryLambda> {
  const { catalog } = ctx;
  const gone = await catalog.change(() => {
    const lambda = requireLambda(catalog, input.workspace, input.queryLambda);
    const versions = versionsOf(catalog, lambda);
    const latest = versionOf(catalog, lambda, lambda.latest);
    const figures = versions.toReversed().map((version) => ({ version, stats: ctx.lambdaStats.of(version) }));
    const deletion = deletionBy(ctx, lambda.workspace);
    const changes = lambdaDeletion(catalog, lambda, figures, deletion);
    return { changes, result: { lambda, versions, latest, stats: ctx.lambdaStats.of(latest) } };
  });
  for (const version of gone.versions) ctx.lambdaStats.forget(version);
  return toLambda(ctx, gone.lambda, gone.latest, gone.stats);
}

/** The Query Lambdas of all workspaces, by workspace and name (docs/api.md #49). */
export function listLambdas(ctx: CallContext): Promise<QueryLambda[]> {
  return toLambdas(ctx, allLambdas(ctx.catalog));
}

/** The Query Lambdas of one workspace, by name (docs/api.md #50). */
export async function listWorkspaceLambdas(ctx: CallContext, input: { workspace: string }): Promise<QueryLambda[]> {
  return toLambdas(ctx, lambdasOf(ctx.catalog, requireWorkspace(ctx.catalog, input.workspace).name));
}

/** The Query Lambdas with a version that names an alias, by workspace and name (docs/api.md #16). */
export async function listAliasLambdas(
  ctx: CallContext,
  input: { workspace: string; alias: string },
): Promise<QueryLambda[]> {
  const { workspace, name } = requireAlias(ctx.catalog, input.workspace, input.alias);
  return toLambdas(ctx, lambdasNaming(ctx.catalog, [collectionKey(workspace, name)]));
}

/**
 * The versions that query a collection, by name or through an alias; by lambda, newest first (docs/api.md #23). Through an
 * alias as well, because a change of the collection's documents or fields affects these versions, too.
 */
export async function listCollectionLambdas(
  ctx: CallContext,
  input: { workspace: string; collection: string },
): Promise<QueryLambdaVersion[]> {
  const { catalog } = ctx;
  const { workspace, name } = requireCollection(catalog, input.workspace, input.collection);
  const collection = collectionKey(workspace, name);
  const aliases = aliasesNaming(catalog, collection).map((alias) => collectionKey(alias.workspace, alias.name));
  const names = [collection, ...aliases];
  const versions = lambdasNaming(catalog, names)
    .flatMap((lambda) => versionsOf(catalog, lambda))
    .filter((version) => names.some((one) => isNaming(version, one)));
  return toVersions(ctx, versions);
}

/** Throws `already_exists` if a new lambda cannot have the name. */
export function refuseTaken(catalog: Catalog, workspace: string, name: string): void {
  const names = lambdasOf(catalog, workspace).map((lambda) => lambda.name);
  const taken = findLambda(catalog, workspace, name)?.name ?? foldedMatch(names, name);
  if (taken === undefined) return;
  const why =
    taken === name
      ? 'it exists already.'
      : `Query Lambda "${taken}" exists, and names must not differ only in letter case.`;
  throw new ApiError(
    'already_exists',
    `Cannot create Query Lambda "${name}" in workspace "${workspace}": ${why} Add a version to "${taken}", or choose another name.`,
  );
}
