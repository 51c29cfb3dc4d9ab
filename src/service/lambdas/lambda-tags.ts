import { ApiError } from '../../contract/errors.ts';
import { LATEST, type LambdaTag, type QueryLambdaVersion } from '../../contract/lambdas.ts';
import { put } from '../catalog/catalog.ts';
import { didYouMean, shortened } from '../catalog/not-found.ts';
import type { LambdaRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import {
  allLambdas,
  lambdaKey,
  requireLambda,
  requireTagged,
  requireVersionOrLatest,
  tagsOf,
  versionOf,
} from './lambda-records.ts';
import { toTag, toVersions } from './lambda-views.ts';

interface TagInput {
  workspace: string;
  queryLambda: string;
  tag: string;
}

/** Sets a tag on a version, or moves it there (docs/api.md #42). Throws `not_found`, or `invalid_input` for `latest`. */
export async function tagLambdaVersion(
  ctx: CallContext,
  input: { workspace: string; queryLambda: string; tag_name: string; version: string },
): Promise<LambdaTag> {
  const { catalog } = ctx;
  const { tag_name: name } = input;
  refuseLatest(name, 'set', 'It moves by itself to each version that is posted. Choose another name.');
  const version = await catalog.change(() => {
    const found = requireVersionOrLatest(catalog, input.workspace, input.queryLambda, input.version);
    const others = found.lambda.tags.filter((tag) => tag.name !== name);
    const tags = [...others, { name, version: found.version.version }];
    return { changes: [putLambda({ ...found.lambda, tags })], result: found.version };
  });
  return toTag(ctx, name, version);
}

/** The tags of a Query Lambda with their versions, `latest` first (docs/api.md #43). */
export async function listLambdaTags(
  ctx: CallContext,
  input: { workspace: string; queryLambda: string },
): Promise<LambdaTag[]> {
  const lambda = requireLambda(ctx.catalog, input.workspace, input.queryLambda);
  const found = tagsOf(lambda).map((tag) => [tag.name, versionOf(ctx.catalog, lambda, tag.version)] as const);
  const tags: LambdaTag[] = [];
  for (const [name, version] of found) tags.push(await toTag(ctx, name, version));
  return tags;
}

/** The version with a tag (docs/api.md #44). */
export async function getLambdaTag(ctx: CallContext, input: TagInput): Promise<LambdaTag> {
  return toTag(ctx, input.tag, requireTagged(ctx.catalog, input.workspace, input.queryLambda, input.tag).version);
}

/** Deletes a tag, but not its version (docs/api.md #45). Throws `not_found`, or `invalid_input` for `latest`. */
export async function deleteLambdaTag(ctx: CallContext, input: TagInput): Promise<LambdaTag> {
  const { catalog } = ctx;
  const version = await catalog.change(() => {
    const found = requireTagged(catalog, input.workspace, input.queryLambda, input.tag);
    refuseLatest(input.tag, 'delete', 'Each Query Lambda has it. Delete the version or the lambda instead.');
    const tags = found.lambda.tags.filter((tag) => tag.name !== input.tag);
    return { changes: [putLambda({ ...found.lambda, tags })], result: found.version };
  });
  return toTag(ctx, input.tag, version);
}

/** The distinct tags of all Query Lambdas, `latest` first and the others by name (docs/api.md #47). */
export function listTags({ catalog }: CallContext): { tag_name: string }[] {
  const names = new Set(allLambdas(catalog).flatMap((lambda) => tagsOf(lambda).map((tag) => tag.name)));
  const isFirst = names.delete(LATEST);
  return [...(isFirst ? [LATEST] : []), ...[...names].sort()].map((name) => ({ tag_name: name }));
}

/**
 * The versions with a tag, by workspace and lambda (docs/api.md #48). Throws `not_found` for a tag that no lambda has;
 * `latest` always exists.
 */
export async function listTagVersions(ctx: CallContext, input: { tag: string }): Promise<QueryLambdaVersion[]> {
  const { catalog } = ctx;
  const versions = allLambdas(catalog).flatMap((lambda) =>
    tagsOf(lambda)
      .filter((tag) => tag.name === input.tag)
      .map((tag) => versionOf(catalog, lambda, tag.version)),
  );
  if (versions.length === 0 && input.tag !== LATEST) {
    const names = listTags(ctx).map((tag) => tag.tag_name);
    throw new ApiError(
      'not_found',
      `Tag "${shortened(input.tag)}" not found on any Query Lambda${didYouMean(input.tag, names) || '.'}`,
      { messageKey: 'TAG_NOT_FOUND' },
    );
  }
  return toVersions(ctx, versions);
}

function putLambda(lambda: LambdaRecord) {
  return put('lambda', lambdaKey(lambda.workspace, lambda.name), lambda);
}

/** In any letter case, so that nobody confuses "Latest" with it. */
function refuseLatest(name: string, verb: 'set' | 'delete', why: string): void {
  if (name.toLowerCase() !== LATEST) return;
  throw new ApiError('invalid_input', `Cannot ${verb} the tag "${name}": "${LATEST}" is kept by the service. ${why}`);
}
