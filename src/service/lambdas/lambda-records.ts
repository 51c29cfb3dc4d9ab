import { ApiError } from '../../contract/errors.ts';
import { LATEST } from '../../contract/lambdas.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { byName, didYouMean, recordsIn, recordsOfAll, requireWorkspace, shortened } from '../catalog/not-found.ts';
import type { LambdaRecord, LambdaVersionRecord } from '../catalog/records.ts';

/** The key of a Query Lambda's record. */
export function lambdaKey(workspace: string, name: string): string {
  return `${workspace}.${name}`;
}

/** The key of a version's record, which is also the `query_lambda_path` of its runs. */
export function versionKey(record: Pick<LambdaVersionRecord, 'workspace' | 'lambda' | 'version'>): string {
  return `${lambdaKey(record.workspace, record.lambda)}::${record.version}`;
}

/** The Query Lambda with that name, if there is one. */
export function findLambda(catalog: Catalog, workspace: string, name: string): LambdaRecord | undefined {
  const lambda = catalog.all('lambda').get(lambdaKey(workspace, name));
  // "c" in "a.b" has the same key as "b.c" in "a".
  return lambda?.workspace === workspace ? lambda : undefined;
}

/** Like `findLambda`, but throws `not_found` for it or for its workspace. */
export function requireLambda(catalog: Catalog, workspace: string, name: string): LambdaRecord {
  const lambda = findLambda(catalog, workspace, name);
  if (lambda !== undefined) return lambda;
  requireWorkspace(catalog, workspace);
  const names = lambdasOf(catalog, workspace).map((other) => other.name);
  const where = `Query Lambda "${shortened(name)}" not found in workspace "${workspace}"`;
  throw new ApiError('not_found', `${where}${didYouMean(name, names) || '.'}`, { messageKey: 'QUERY_NOT_FOUND' });
}

/** One version of a Query Lambda; throws `not_found` for it, its lambda or its workspace. */
export function requireVersion(
  catalog: Catalog,
  workspace: string,
  name: string,
  version: string,
): { lambda: LambdaRecord; version: LambdaVersionRecord } {
  const lambda = requireLambda(catalog, workspace, name);
  if (lambda.versions.includes(version)) return { lambda, version: versionOf(catalog, lambda, version) };
  // A version may be meant by a tag, such as `latest`; the tag may have moved since whoever gives it has looked.
  const tag = tagsOf(lambda).find((one) => one.name === version);
  const meant = tag === undefined ? '' : ` "${tag.name}" is a tag: its version is "${tag.version}".`;
  throw new ApiError(
    'not_found',
    `Query Lambda "${name}" (version "${shortened(version)}") not found in workspace "${workspace}".${meant}`,
    { messageKey: 'QUERY_NOT_FOUND' },
  );
}

/** The same for what reads or tags a version: `latest` stands for the one that has this tag, since no version is called so. */
export function requireVersionOrLatest(...[catalog, workspace, name, version]: Parameters<typeof requireVersion>) {
  return version === LATEST
    ? requireTagged(catalog, workspace, name, LATEST)
    : requireVersion(catalog, workspace, name, version);
}

/** The version with a tag; throws `not_found` for the tag, the lambda or its workspace. */
export function requireTagged(
  catalog: Catalog,
  workspace: string,
  name: string,
  tag: string,
): { lambda: LambdaRecord; version: LambdaVersionRecord } {
  const lambda = requireLambda(catalog, workspace, name);
  const tags = tagsOf(lambda);
  const found = tags.find((one) => one.name === tag);
  if (found !== undefined) return { lambda, version: versionOf(catalog, lambda, found.version) };
  const names = tags.map((one) => one.name);
  const what = `Tag "${shortened(tag)}" of Query Lambda "${name}" not found in workspace "${workspace}"`;
  throw new ApiError('not_found', `${what}${didYouMean(tag, names) || '.'}`, { messageKey: 'TAG_NOT_FOUND' });
}

/** A lambda's tags, `latest` first and the others by name. */
export function tagsOf(lambda: LambdaRecord): { name: string; version: string }[] {
  return [{ name: LATEST, version: lambda.latest }, ...lambda.tags.toSorted(byName)];
}

/** A version in the lambda's list. */
export function versionOf(catalog: Catalog, lambda: LambdaRecord, version: string): LambdaVersionRecord {
  const key = versionKey({ workspace: lambda.workspace, lambda: lambda.name, version });
  const record = catalog.all('lambdaVersion').get(key);
  if (record === undefined) throw new ApiError('internal', `The metadata is damaged: "${key}" has no record.`);
  return record;
}

/** A lambda's versions, newest first. */
export function versionsOf(catalog: Catalog, lambda: LambdaRecord): LambdaVersionRecord[] {
  return lambda.versions.toReversed().map((version) => versionOf(catalog, lambda, version));
}

/** The Query Lambdas of one workspace, by name. */
export function lambdasOf(catalog: Catalog, workspace: string): LambdaRecord[] {
  return recordsIn(catalog, 'lambda', workspace);
}

/** All Query Lambdas, by workspace and name. */
export function allLambdas(catalog: Catalog): LambdaRecord[] {
  return recordsOfAll(catalog, 'lambda');
}

/** Whether a version's SQL names a collection or alias, `workspace.name`; letter case is ignored, as in SQL. */
export function isNaming(version: LambdaVersionRecord, name: string): boolean {
  const folded = name.toLowerCase();
  return version.names.some((one) => one.toLowerCase() === folded);
}

/** The keys of the lambdas with a version that names something, by folded name. */
function byNamed(versions: ReadonlyMap<string, LambdaVersionRecord>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { workspace, lambda, names } of versions.values()) {
    for (const name of names.map((one) => one.toLowerCase())) {
      found.set(name, (found.get(name) ?? new Set()).add(lambdaKey(workspace, lambda)));
    }
  }
  return found;
}

/**
 * The Query Lambdas with a version that names one of these collections or aliases, `workspace.name`; by workspace and
 * name.
 */
export function lambdasNaming(catalog: Catalog, names: readonly string[]): LambdaRecord[] {
  const named = catalog.derived('lambdaVersion', byNamed);
  const keys = new Set(names.flatMap((name) => [...(named.get(name.toLowerCase()) ?? [])]));
  return [...keys]
    .flatMap((key) => catalog.all('lambda').get(key) ?? [])
    .sort((a, b) => (a.workspace === b.workspace ? byName(a, b) : a.workspace < b.workspace ? -1 : 1));
}
