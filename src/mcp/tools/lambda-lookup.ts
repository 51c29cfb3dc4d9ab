import type { Output } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { LATEST, type QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { Client } from '../../http/client.ts';

export interface LambdaPlace {
  workspace: string;
  lambda: string;
}

interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** The form of the names that the service gives to versions. */
const VERSION = /^[0-9a-f]{16}$/;

/** The version with this name, or else the one with this tag. Rejects `not_found`. */
export async function lambdaVersion(
  client: Client,
  { workspace, lambda }: LambdaPlace,
  versionOrTag: string,
  options: CallOptions,
): Promise<QueryLambdaVersion> {
  const place = { workspace, queryLambda: lambda };
  if (VERSION.test(versionOrTag)) {
    try {
      return await client.getLambdaVersion({ ...place, version: versionOrTag }, options);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
      const tag = await tagged(client, place, versionOrTag, options).catch(() => undefined);
      if (tag === undefined) throw error;
      return tag;
    }
  }
  return tagged(client, place, versionOrTag, options);
}

async function tagged(
  client: Client,
  place: { workspace: string; queryLambda: string },
  tag: string,
  options: CallOptions,
): Promise<QueryLambdaVersion> {
  const { version } = await client.getLambdaTag({ ...place, tag }, options);
  if (version) return version;
  throw new ApiError('not_found', `Cannot get version "${tag}" of lambda "${place.queryLambda}": the tag names none.`);
}

/**
 * The newest version but the one tagged `latest`, which may be an older one that was made again. Rejects `not_found` if there
 * is no other.
 */
export async function versionBefore(
  client: Client,
  { workspace, lambda }: LambdaPlace,
  options: CallOptions,
): Promise<string> {
  const place = { workspace, queryLambda: lambda };
  const [latest, versions] = await Promise.all([
    tagged(client, place, LATEST, options),
    client.listLambdaVersions(place, options),
  ]);
  const before = versions.find(({ version }) => version !== latest.version)?.version;
  if (typeof before === 'string') return before;
  throw new ApiError(
    'not_found',
    `Lambda "${lambda}" has no version before latest: there is nothing to compare it with.`,
  );
}

/** The names by which versions can be given: tags, `latest` first, then all versions, newest first. */
export async function versionNames(
  client: Client,
  { workspace, lambda }: LambdaPlace,
  options: CallOptions,
): Promise<string[]> {
  const place = { workspace, queryLambda: lambda };
  const [tags, versions] = await Promise.all([
    client.listLambdaTags(place, options),
    client.listLambdaVersions(place, options),
  ]);
  return [...tags.flatMap(({ tag_name }) => tag_name ?? []), ...versions.flatMap(({ version }) => version ?? [])];
}

export function tagsByVersion(tags: Output<'listLambdaTags'>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { tag_name, version } of tags) {
    const name = version?.version;
    if (tag_name && name) found.set(name, [...(found.get(name) ?? []), tag_name]);
  }
  return found;
}

/** The version tagged `latest`, or else the newest one. */
export function latestOf(
  tags: Output<'listLambdaTags'>,
  versions: readonly QueryLambdaVersion[],
): QueryLambdaVersion | undefined {
  return tags.find(({ tag_name }) => tag_name === LATEST)?.version ?? versions[0];
}

export interface LambdaParameter {
  name: string;
  type?: string | undefined;
  default?: unknown;
  required?: true;
}

/** The parameters of a version: those its SQL uses, with type and default if it has them, and unused defaults. */
export async function lambdaParameters(
  client: Client,
  version: QueryLambdaVersion,
  { signal }: CallOptions,
): Promise<LambdaParameter[]> {
  const declared = version.sql?.default_parameters ?? [];
  const defaults = declared.map((one) => ({
    name: one.name ?? '',
    ...(one.type ? { type: one.type } : {}),
    ...(hasDefault(one) ? { default: one.value ?? null } : { required: true as const }),
  }));
  const query = version.sql?.query;
  const used = query ? await parametersUsed(client, query, signal) : [];
  const without = used.filter((name) => declaredAs(declared, name) === undefined);
  return [...defaults, ...without.map((name) => ({ name, required: true as const }))];
}

export type Declared = NonNullable<NonNullable<QueryLambdaVersion['sql']>['default_parameters']>;

/** What a version declares of a parameter of its SQL; letter case is ignored, as in SQL. */
export function declaredAs(declared: Declared, name: string): Declared[number] | undefined {
  const folded = name.toLowerCase();
  return declared.find((one) => (one.name ?? '').replace(/^[:$]/, '').toLowerCase() === folded);
}

/** Whether a run needs no value: one that is declared without any only has a type. */
export function hasDefault({ type, value }: Declared[number]): boolean {
  return value !== undefined || type === 'null';
}

/** Whether every run has to give a parameter of the SQL a value. */
export function isRequired(declared: Declared, name: string): boolean {
  const one = declaredAs(declared, name);
  return one === undefined || !hasDefault(one);
}

/** The names of a statement's parameters; none if the statement is not valid now, which the version's state says. */
async function parametersUsed(client: Client, query: string, signal: AbortSignal | undefined): Promise<string[]> {
  try {
    const { parameters } = await client.validateQuery({ parameters: true, sql: { query } }, { signal });
    return parameters ?? [];
  } catch (error) {
    if (error instanceof ApiError && (error.code === 'query_error' || error.code === 'invalid_input')) return [];
    throw error;
  }
}
