import { expect } from 'vitest';
import type { Client } from '../../src/http/client.ts';
import { aliased, filled } from './data-examples.ts';
import type { Examples } from './examples.ts';
import { BAD_QUERY, INVALID, missing, TAKEN, UNKNOWN_KEY } from './failures.ts';

const workspace = 'commons';
const NO_LAMBDA = missing('QUERY_NOT_FOUND');
const NO_TAG = missing('TAG_NOT_FOUND');
const defaults = [{ name: 'least', type: 'int' as const, value: '1' }];

/** The first version of a Query Lambda over a collection with two documents. */
async function stored(client: Client, name: string) {
  await filled(client, `${name}-c`);
  const query = `SELECT n FROM "${name}-c" WHERE n >= :least ORDER BY n`;
  const { version } = await client.createLambda({ workspace, name, sql: { query, default_parameters: defaults } });
  return { workspace, queryLambda: name, version: String(version) };
}

async function lambda(client: Client, name: string) {
  const { queryLambda } = await stored(client, name);
  return { workspace, queryLambda };
}

/** The same, with a tag named after the lambda. */
async function tagged(client: Client, name: string) {
  const { version, queryLambda } = await stored(client, name);
  await client.tagLambdaVersion({ workspace, queryLambda, tag_name: `tag-${name}`, version });
  return { workspace, queryLambda, tag: `tag-${name}` };
}

const noLambda = (_: Client, name: string) => ({ workspace, queryLambda: name });
const noVersion = (_: Client, name: string) => ({ workspace, queryLambda: name, version: '0123456789abcdef' });

/** Query Lambdas, their versions and tags. */
export const lambdaExamples: Examples<
  | 'listAliasLambdas'
  | 'listCollectionLambdas'
  | 'createLambda'
  | 'deleteLambda'
  | 'createLambdaVersion'
  | 'listLambdaVersions'
  | 'getLambdaVersion'
  | 'deleteLambdaVersion'
  | 'executeLambdaVersion'
  | 'tagLambdaVersion'
  | 'listLambdaTags'
  | 'getLambdaTag'
  | 'deleteLambdaTag'
  | 'executeLambdaTag'
  | 'listTags'
  | 'listTagVersions'
  | 'listLambdas'
  | 'listWorkspaceLambdas'
> = {
  listAliasLambdas: {
    success: {
      input: async (client, name) => {
        const { alias } = await aliased(client, name);
        await client.createLambda({ workspace, name, sql: { query: `SELECT n FROM "${alias}"` } });
        return { workspace, alias };
      },
    },
    failure: { input: (_, name) => ({ workspace, alias: name }), ...missing('ALIAS_NOT_FOUND') },
  },
  listCollectionLambdas: {
    success: {
      input: async (client, name) => stored(client, name).then(() => ({ workspace, collection: `${name}-c` })),
    },
    failure: { input: (_, name) => ({ workspace, collection: name }), ...missing('COLLECTION_DOES_NOT_EXIST') },
  },
  createLambda: {
    success: {
      input: async (client, name) => {
        await filled(client, `${name}-c`);
        const sql = { query: `SELECT n FROM "${name}-c" WHERE n >= :least`, default_parameters: defaults };
        return { workspace, name, description: 'd', sql };
      },
      result: { state: 'ACTIVE', description: 'd', version: expect.stringMatching(/^[0-9a-f]{16}$/) },
    },
    failure: {
      input: async (client, name) => lambda(client, name).then(() => ({ workspace, name, sql: { query: 'SELECT 1' } })),
      ...TAKEN,
    },
  },
  deleteLambda: {
    success: { input: lambda, result: { version_count: 1 } },
    failure: { input: noLambda, ...NO_LAMBDA, message: /^Query Lambda ".+" not found in workspace "commons"/ },
  },
  createLambdaVersion: {
    success: {
      input: (_, name) => ({ ...noLambda(_, name), create: true, description: 'd', sql: { query: 'SELECT 1 AS one' } }),
      result: { state: 'ACTIVE', collections: [] },
    },
    failure: {
      input: async (client, name) => ({ ...(await lambda(client, name)), sql: { query: 'DELETE FROM x' } }),
      ...BAD_QUERY,
    },
  },
  listLambdaVersions: {
    success: { input: lambda },
    failure: { input: noLambda, ...NO_LAMBDA },
  },
  getLambdaVersion: {
    success: { input: stored, result: { state: 'ACTIVE' } },
    failure: {
      input: async (client, name) => ({ ...(await stored(client, name)), version: '0123456789abcdef' }),
      ...NO_LAMBDA,
      message: /^Query Lambda ".+" \(version "0123456789abcdef"\) not found in workspace "commons"\.$/,
    },
  },
  deleteLambdaVersion: {
    success: {
      input: async (client, name) => {
        const first = await stored(client, name);
        await client.createLambdaVersion({ workspace, queryLambda: name, description: 'another' });
        return first;
      },
    },
    failure: { input: stored, ...INVALID, message: /^Cannot delete version "[0-9a-f]{16}"/ },
  },
  executeLambdaVersion: {
    success: {
      input: async (client, name) => ({
        ...(await stored(client, name)),
        parameters: [{ name: 'least', type: 'int', value: '2' }],
        default_row_limit: 10,
        generate_warnings: true,
      }),
      result: { results: [{ n: 2 }], status: 'COMPLETED' },
    },
    failure: { input: noVersion, ...NO_LAMBDA },
  },
  tagLambdaVersion: {
    success: {
      input: async (client, name) => ({ ...(await stored(client, name)), tag_name: 'prod' }),
      result: { tag_name: 'prod' },
    },
    failure: { input: async (client, name) => ({ ...(await stored(client, name)), tag_name: 'latest' }), ...INVALID },
  },
  listLambdaTags: {
    success: { input: async (client, name) => tagged(client, name).then(() => ({ workspace, queryLambda: name })) },
    failure: { input: noLambda, ...NO_LAMBDA },
  },
  getLambdaTag: {
    success: { input: tagged },
    failure: { input: async (client, name) => ({ ...(await lambda(client, name)), tag: 'none' }), ...NO_TAG },
  },
  deleteLambdaTag: {
    success: { input: tagged },
    failure: { input: async (client, name) => ({ ...(await lambda(client, name)), tag: 'none' }), ...NO_TAG },
  },
  executeLambdaTag: {
    success: { input: tagged, result: { results: [{ n: 1 }, { n: 2 }], status: 'COMPLETED' } },
    failure: {
      input: async (client, name) => {
        await client.createLambda({ workspace, name, sql: { query: 'SELECT :least AS least' } });
        return { workspace, queryLambda: name, tag: 'latest' };
      },
      ...BAD_QUERY,
      message: /least/,
    },
  },
  listTags: {
    success: { input: async (client, name) => tagged(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listTagVersions: {
    success: { input: async (client, name) => tagged(client, name).then(({ tag }) => ({ tag })) },
    failure: { input: (_, name) => ({ tag: name }), ...NO_TAG },
  },
  listLambdas: {
    success: { input: async (client, name) => lambda(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listWorkspaceLambdas: {
    success: { input: async (client, name) => lambda(client, name).then(() => ({ workspace })) },
    failure: { input: (_, name) => ({ workspace: name }), ...missing('WORKSPACE_NOT_FOUND') },
  },
};
