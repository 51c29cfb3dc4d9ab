import * as z from 'zod';
import { CollectionParam, Json, NewName, resource, Timestamp, WorkspaceParam } from './fields.ts';
import { PlainParameter, QueryParameter, QueryResponse } from './queries.ts';
import type { Contract } from './row.ts';

/** The tag that every lambda has from its first version on; it moves to each new version. */
export const LATEST = 'latest';

/**
 * A call with this header, `x-colloquy-defaults: json`, gets default parameters as they were given: values of any type, and those
 * without a value. Without it they are as clients of the hosted service expect them. Other services ignore the header.
 */
export const DEFAULTS_HEADER = 'x-colloquy-defaults';

export const QueryLambdaVersion = resource({
  workspace: z.string(),
  created_by: z.string(),
  created_at: Timestamp,
  name: z.string(),
  version: z.string().describe('16 hexadecimal characters, a hash of what the version consists of'),
  description: z.string(),
  sql: resource({
    query: z.string(),
    default_parameters: z
      .array(resource({ ...QueryParameter.shape, value: Json.describe('Always text that means the same') }))
      .describe('Those with a value; null has the type null. With x-colloquy-defaults: json all, as they were given'),
  }),
  collections: z.array(z.string()).describe('Collections and aliases that the SQL reads'),
  state: z.string().describe('ACTIVE, or INVALID_SQL while the SQL does not bind'),
  stats: resource({
    last_executed: Timestamp,
    last_executed_by: z.string(),
    last_execution_error: Timestamp,
    last_execution_error_message: z.string(),
  }),
  warnings: z
    .array(z.string())
    .describe(
      'With INVALID_SQL: why the SQL does not bind now; of what was just posted: what is odd about its SQL and defaults',
    ),
});
export type QueryLambdaVersion = z.infer<typeof QueryLambdaVersion>;

/** A named, stored, versioned SQL query. */
export const QueryLambda = resource({
  workspace: z.string(),
  last_updated_by: z.string(),
  last_updated: Timestamp,
  name: z.string(),
  version_count: z.int(),
  collections: z.array(z.string()).describe('Collections and aliases that the latest version reads'),
  latest_version: QueryLambdaVersion,
});
export type QueryLambda = z.infer<typeof QueryLambda>;

export const LambdaTag = resource({ tag_name: z.string(), version: QueryLambdaVersion });
export type LambdaTag = z.infer<typeof LambdaTag>;

export const LambdaSql = z.object({
  query: z.string().min(1).describe('One SQL statement that reads; parameters are :name'),
  default_parameters: z.array(QueryParameter).optional().describe('Values for parameters that a run does not give'),
});
export type LambdaSql = z.infer<typeof LambdaSql>;

const path = '/v1/orgs/self/ws/{workspace}/lambdas/{queryLambda}';
const lambdaName = z.string().min(1);
const versionName = z.string().min(1);
const tagName = z.string().min(1);
const inWorkspace = z.object({ workspace: WorkspaceParam });
const params = z.object({ workspace: WorkspaceParam, queryLambda: lambdaName });
const versionParams = params.extend({ version: versionName });
const tagParams = params.extend({ tag: tagName });
const namedParams = params.extend({ tag: tagName.describe('e.g. latest') });
const description = z.string().optional().describe('What it answers, or what changed');

const execution = z.object({
  parameters: z.array(PlainParameter).optional().describe('Values of :name parameters, before defaults'),
  default_row_limit: z.int().min(1).optional(),
  generate_warnings: z.boolean().optional(),
});

export const lambdas = {
  listAliasLambdas: {
    number: 16,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/aliases/{alias}/lambdas',
    title: 'List lambdas of an alias',
    summary: 'List the lambdas that use an alias.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ workspace: WorkspaceParam, alias: z.string().min(1) }),
    result: z.array(QueryLambda),
  },
  listCollectionLambdas: {
    number: 23,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/collections/{collection}/lambdas',
    title: 'List lambdas of a collection',
    summary: 'List the lambda versions that query a collection.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ workspace: WorkspaceParam, collection: CollectionParam }),
    result: z.array(QueryLambdaVersion),
  },
  createLambda: {
    number: 35,
    method: 'POST',
    path: '/v1/orgs/self/ws/{workspace}/lambdas',
    title: 'Create a Query Lambda',
    summary: 'Store a SQL query as a Query Lambda, with default parameters; makes its first version.',
    effect: 'create',
    role: 'member',
    params: inWorkspace,
    body: z.object({
      name: NewName,
      description,
      sql: LambdaSql.describe('The statement and its defaults'),
    }),
    result: QueryLambdaVersion,
  },
  deleteLambda: {
    number: 36,
    method: 'DELETE',
    path,
    title: 'Delete a Query Lambda',
    summary: 'Delete a lambda with all its versions and tags.',
    effect: 'delete',
    role: 'member',
    trash: true,
    params,
    result: QueryLambda,
  },
  createLambdaVersion: {
    number: 37,
    method: 'POST',
    path: `${path}/versions`,
    title: 'Create a lambda version',
    summary: 'Add a version to a lambda; latest moves to it. Same content, same version.',
    effect: 'create',
    role: 'member',
    params,
    query: z.object({ create: z.boolean().optional().describe('Create the lambda if missing') }),
    body: z.object({
      description,
      sql: LambdaSql.optional().describe("The statement and its defaults; absent: the latest version's"),
    }),
    result: QueryLambdaVersion,
  },
  listLambdaVersions: {
    number: 38,
    method: 'GET',
    path: `${path}/versions`,
    title: 'List lambda versions',
    summary: 'List the versions of a lambda, newest first.',
    effect: 'read',
    role: 'read-only',
    params,
    result: z.array(QueryLambdaVersion),
  },
  getLambdaVersion: {
    number: 39,
    method: 'GET',
    path: `${path}/versions/{version}`,
    title: 'Get a lambda version',
    summary: 'Get one version of a lambda: SQL, parameters, state, statistics.',
    effect: 'read',
    role: 'read-only',
    params: versionParams,
    result: QueryLambdaVersion,
  },
  deleteLambdaVersion: {
    number: 40,
    method: 'DELETE',
    path: `${path}/version/{version}`,
    title: 'Delete a lambda version',
    summary: 'Delete one version and its tags; not the only one.',
    effect: 'delete',
    role: 'member',
    trash: true,
    params: versionParams,
    refuses: { last: true },
    result: QueryLambdaVersion,
  },
  executeLambdaVersion: {
    number: 41,
    method: 'POST',
    path: `${path}/versions/{version}`,
    title: 'Run a lambda version',
    summary: 'Run one version of a lambda and get its rows.',
    effect: 'read',
    role: 'read-only',
    params: versionParams,
    body: execution,
    result: QueryResponse,
    isBare: true,
  },
  tagLambdaVersion: {
    number: 42,
    method: 'POST',
    path: `${path}/tags`,
    title: 'Tag a lambda version',
    summary: 'Point a tag, new or not, at a version.',
    effect: 'update',
    role: 'member',
    params,
    body: z.object({ tag_name: NewName.describe('Not latest, which moves by itself'), version: versionName }),
    result: LambdaTag,
  },
  listLambdaTags: {
    number: 43,
    method: 'GET',
    path: `${path}/tags`,
    title: 'List tags of a lambda',
    summary: 'List the tags of a lambda with their versions.',
    effect: 'read',
    role: 'read-only',
    params,
    result: z.array(LambdaTag),
  },
  getLambdaTag: {
    number: 44,
    method: 'GET',
    path: `${path}/tags/{tag}`,
    title: 'Get a tagged lambda version',
    summary: 'Get the version that a tag of a lambda names.',
    effect: 'read',
    role: 'read-only',
    params: tagParams,
    result: LambdaTag,
  },
  deleteLambdaTag: {
    number: 45,
    method: 'DELETE',
    path: `${path}/tags/{tag}`,
    title: 'Delete a tag of a lambda',
    summary: 'Delete a tag of a lambda; the version stays.',
    effect: 'delete',
    role: 'member',
    params: tagParams,
    refuses: { names: { [LATEST]: 'the service keeps it. Delete the version or the lambda instead.' } },
    result: LambdaTag,
  },
  executeLambdaTag: {
    number: 46,
    method: 'POST',
    path: `${path}/tags/{tag}`,
    title: 'Run a tagged lambda',
    summary: 'Run the version of a lambda that a tag names and get its rows.',
    effect: 'read',
    role: 'read-only',
    params: namedParams,
    body: execution,
    result: QueryResponse,
    isBare: true,
  },
  listTags: {
    number: 47,
    method: 'GET',
    path: '/v1/orgs/self/lambdas/tags',
    title: 'List all tags',
    summary: 'List the distinct tags of all lambdas.',
    effect: 'read',
    role: 'read-only',
    result: z.array(resource({ tag_name: z.string() })),
  },
  listTagVersions: {
    number: 48,
    method: 'GET',
    path: '/v1/orgs/self/lambdas/tags/{tag}',
    title: 'List versions with a tag',
    summary: 'List the lambda versions that a tag names, of all lambdas.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ tag: tagName }),
    result: z.array(QueryLambdaVersion),
  },
  listLambdas: {
    number: 49,
    method: 'GET',
    path: '/v1/orgs/self/lambdas',
    title: 'List all Query Lambdas',
    summary: 'List the lambdas of all workspaces.',
    effect: 'read',
    role: 'read-only',
    result: z.array(QueryLambda),
  },
  listWorkspaceLambdas: {
    number: 50,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/lambdas',
    title: 'List lambdas of a workspace',
    summary: 'List the lambdas of one workspace.',
    effect: 'read',
    role: 'read-only',
    params: inWorkspace,
    result: z.array(QueryLambda),
  },
} as const satisfies Contract;
