import type { QueryLambda, QueryLambdaVersion } from '../../contract/lambdas.ts';
import { type Fenced, fenceObject, lineText, newTag, visibleValue } from '../fence.ts';
import { presentList, presentObject } from '../results.ts';
import { describeCollection } from '../tools/describe.ts';
import { lambdaParameters, lambdaVersion, latestOf, tagsByVersion, versionNames } from '../tools/lambda-lookup.ts';
import {
  type ListedResource,
  type Look,
  type Names,
  type ResourceContent,
  type ResourceContext,
  type ResourceKind,
  uriOf,
} from './resource-kinds.ts';

/** Resources for what the service holds: workspaces, collections, lambdas and their versions. */

const MIME = 'application/json';
const ROOT = 'colloquy://workspaces';
const WORKSPACE = `${ROOT}/{workspace}`;
const COLLECTION = `${WORKSPACE}/collections/{collection}`;
const LAMBDA = `${WORKSPACE}/lambdas/{lambda}`;
const VERSION = `${LAMBDA}/versions/{version}`;
const VERSIONS_SHOWN = 50;
const NAME_CHARS_MAX = 300;

/** JSON that remains valid JSON: the marks of the fence are its first and last keys. */
export function fencedJson({ data, next }: Fenced): ResourceContent {
  const tag = newTag();
  const shown = fenceObject(visibleValue(data) as Record<string, unknown>, tag, next);
  return { mimeType: MIME, text: JSON.stringify(shown, null, 1) };
}

// Descriptions by people are data: they appear in the resource itself, inside a fence, and not in the list.
function listed(uriTemplate: string, names: Names, name: string, kind: string): ListedResource {
  return {
    uri: uriOf(uriTemplate, names),
    name: lineText(name, NAME_CHARS_MAX),
    title: lineText(`${kind} ${name}`, NAME_CHARS_MAX),
    mimeType: MIME,
  };
}

export async function workspaceNames({ connect, signal }: ResourceContext): Promise<string[]> {
  return (await (await connect()).listWorkspaces({}, { signal })).flatMap(({ name }) => name ?? []);
}

async function collectionNames({ connect, signal }: ResourceContext, { workspace }: Names): Promise<string[]> {
  const client = await connect();
  const collections = await (workspace
    ? client.listWorkspaceCollections({ workspace }, { signal })
    : client.listCollections({}, { signal }));
  return [...new Set(collections.flatMap(({ name }) => name ?? []))];
}

/** The names of lambdas, of one workspace if it is given. */
export async function lambdaNames({ connect, signal }: ResourceContext, { workspace }: Names): Promise<string[]> {
  const client = await connect();
  const lambdas = await (workspace
    ? client.listWorkspaceLambdas({ workspace }, { signal })
    : client.listLambdas({}, { signal }));
  return [...new Set(lambdas.flatMap(({ name }) => name ?? []))];
}

async function versionsOf({ connect, signal }: ResourceContext, { workspace, lambda }: Names): Promise<string[]> {
  if (!workspace || !lambda) return [];
  return versionNames(await connect(), { workspace, lambda }, { signal });
}

/** What has to be the same for a collection to count as unchanged; the time of the last read does not matter. */
function collectionState(collection: { stats?: object | null | undefined }): object {
  return { ...collection, stats: { ...collection.stats, last_queried_ms: undefined } };
}

function versionState(version: QueryLambdaVersion | null | undefined): object {
  return { ...version, stats: undefined };
}

function lambdaState(lambda: QueryLambda): object {
  return { ...lambda, latest_version: versionState(lambda.latest_version) };
}

const workspaces: ResourceKind = {
  uriTemplate: ROOT,
  tool: 'list_workspaces',
  name: 'workspaces',
  title: 'Workspaces',
  description: 'All workspaces (as tool: list_workspaces)',
  mimeType: MIME,
  list: async () => [{ uri: ROOT, name: 'workspaces', title: 'Workspaces', mimeType: MIME }],
  read: async ({ connect, signal }) => fencedJson(presentList(await (await connect()).listWorkspaces({}, { signal }))),
  complete: {},
  fingerprint: async (look) => JSON.stringify(await look('listWorkspaces', {})),
};

const workspace: ResourceKind = {
  uriTemplate: WORKSPACE,
  tool: 'get_workspace',
  name: 'workspace',
  title: 'Workspace',
  description: 'One workspace with its collections and lambdas (as tools: get_workspace, list_workspace_collections)',
  mimeType: MIME,
  list: async (context) =>
    (await workspaceNames(context)).map((name) => listed(WORKSPACE, { workspace: name }, name, 'Workspace')),
  async read({ connect, signal }, names) {
    const client = await connect();
    const place = { workspace: names['workspace'] ?? '' };
    const [about, collections, lambdas] = await Promise.all([
      client.getWorkspace(place, { signal }),
      client.listWorkspaceCollections(place, { signal }),
      client.listWorkspaceLambdas(place, { signal }),
    ]);
    const { data } = presentObject(about);
    const short = lambdas.map(({ name, latest_version }) => ({ name, description: latest_version?.description }));
    return fencedJson({
      data: { ...data, collections: presentList(collections).data, lambdas: presentList(short).data },
    });
  },
  complete: { workspace: workspaceNames },
  async fingerprint(look, names) {
    const place = { workspace: names['workspace'] ?? '' };
    const [all, collections, lambdas] = await Promise.all([
      look('listWorkspaces', {}),
      look('listWorkspaceCollections', place),
      look('listWorkspaceLambdas', place),
    ]);
    const about = all.find(({ name }) => name === place.workspace);
    return about && JSON.stringify([about, collections.map(collectionState), lambdas.map(lambdaState)]);
  },
};

const collection: ResourceKind = {
  uriTemplate: COLLECTION,
  tool: 'describe_collection',
  name: 'collection',
  title: 'Collection',
  description: 'One collection with the fields of its documents, inferred from a sample (as tool: describe_collection)',
  mimeType: MIME,
  list: async ({ connect, signal }) =>
    (await (await connect()).listCollections({}, { signal })).map(({ workspace, name }) =>
      listed(COLLECTION, { workspace: workspace ?? '', collection: name ?? '' }, `${workspace}.${name}`, 'Collection'),
    ),
  read: async ({ connect, signal }, { workspace = '', collection = '' }) =>
    fencedJson(await describeCollection({ client: await connect(), signal }, { workspace, collection })),
  complete: { workspace: workspaceNames, collection: collectionNames },
  async fingerprint(look, { workspace = '', collection }) {
    const all = await look('listWorkspaceCollections', { workspace });
    const found = all.find(({ name }) => name === collection);
    return found && JSON.stringify(collectionState(found));
  },
};

const lambda: ResourceKind = {
  uriTemplate: LAMBDA,
  tool: 'list_lambda_versions',
  name: 'lambda',
  title: 'Query Lambda',
  description:
    'One Query Lambda: latest SQL, parameters, state, tags, versions (as tools: get_lambda_tag, list_lambda_versions)',
  mimeType: MIME,
  list: async ({ connect, signal }) =>
    (await (await connect()).listLambdas({}, { signal })).map(({ workspace, name }) =>
      listed(LAMBDA, { workspace: workspace ?? '', lambda: name ?? '' }, `${workspace}.${name}`, 'Query Lambda'),
    ),
  read: readLambda,
  complete: { workspace: workspaceNames, lambda: lambdaNames },
  async fingerprint(look, { workspace = '', lambda = '' }) {
    const all = await look('listWorkspaceLambdas', { workspace });
    const found = all.find(({ name }) => name === lambda);
    if (found === undefined) return undefined;
    const tags = await look('listLambdaTags', { workspace, queryLambda: lambda });
    return JSON.stringify([lambdaState(found), tags.map(({ tag_name, version }) => [tag_name, version?.version])]);
  },
};

async function readLambda({ connect, signal }: ResourceContext, names: Names): Promise<ResourceContent> {
  const client = await connect();
  const { workspace = '', lambda = '' } = names;
  const place = { workspace, queryLambda: lambda };
  const [tags, versions] = await Promise.all([
    client.listLambdaTags(place, { signal }),
    client.listLambdaVersions(place, { signal }),
  ]);
  const latest = latestOf(tags, versions);
  const tagged = tagsByVersion(tags);
  const { data, next } = presentObject({
    lambda: `${workspace}.${lambda}`,
    description: latest?.description,
    state: latest?.state,
    warnings: latest?.warnings,
    version: latest?.version,
    sql: latest?.sql?.query,
    parameters: latest === undefined ? [] : await lambdaParameters(client, latest, { signal }),
    reads: latest?.collections,
    tags: tags.map(({ tag_name, version }) => ({ tag: tag_name, version: version?.version })),
    last_run: latest?.stats,
    version_count: versions.length,
    versions: versions.slice(0, VERSIONS_SHOWN).map(({ version, created_at, created_by, description, state }) => {
      return { version, created_at, created_by, description, state, tags: tagged.get(version ?? '') };
    }),
  });
  return fencedJson({ data, next });
}

const lambdaVersionKind: ResourceKind = {
  uriTemplate: VERSION,
  tool: 'get_lambda_version',
  name: 'lambda_version',
  title: 'Version of a Query Lambda',
  description:
    'One version by its hash or by a tag: SQL, parameters, state (as tools: get_lambda_version, get_lambda_tag)',
  mimeType: MIME,
  async read({ connect, signal }, { workspace = '', lambda = '', version = '' }) {
    const client = await connect();
    const [found, tags] = await Promise.all([
      lambdaVersion(client, { workspace, lambda }, version, { signal }),
      client.listLambdaTags({ workspace, queryLambda: lambda }, { signal }),
    ]);
    const { data, next } = presentObject({
      lambda: `${workspace}.${lambda}`,
      version: found.version,
      description: found.description,
      state: found.state,
      warnings: found.warnings,
      tags: tagsByVersion(tags).get(found.version ?? ''),
      sql: found.sql?.query,
      parameters: await lambdaParameters(client, found, { signal }),
      reads: found.collections,
      created_at: found.created_at,
      created_by: found.created_by,
      last_run: found.stats,
    });
    return fencedJson({ data, next });
  },
  complete: { workspace: workspaceNames, lambda: lambdaNames, version: versionsOf },
  async fingerprint(look: Look, { workspace = '', lambda = '', version = '' }) {
    const place = { workspace, queryLambda: lambda };
    if (!(await look('listWorkspaceLambdas', { workspace })).some(({ name }) => name === lambda)) return undefined;
    const [versions, tags] = await Promise.all([look('listLambdaVersions', place), look('listLambdaTags', place)]);
    const name = tags.find(({ tag_name }) => tag_name === version)?.version?.version ?? version;
    const found = versions.find((candidate) => candidate.version === name);
    return found && JSON.stringify([versionState(found), tagsByVersion(tags).get(name)]);
  },
};

/** In the order in which they are listed. */
export const DATA_RESOURCES: readonly ResourceKind[] = [workspaces, workspace, collection, lambda, lambdaVersionKind];
