import type { Client } from '../../src/http/client.ts';
import type { Examples } from './examples.ts';
import { BAD_QUERY, IN_USE, missing, READER, TAKEN, UNKNOWN_KEY } from './failures.ts';

const workspace = 'commons';
const NO_COLLECTION = missing('COLLECTION_DOES_NOT_EXIST');
const NO_WORKSPACE = missing('WORKSPACE_NOT_FOUND');
const NO_ALIAS = missing('ALIAS_NOT_FOUND');

/** A collection with two documents. */
export async function filled(client: Client, name: string) {
  await client.createCollection({ workspace, name });
  const data = [
    { _id: '1', n: 1, tags: ['a'] },
    { _id: '2', n: 2, tags: [] },
  ];
  await client.addDocuments({ workspace, collection: name, data });
  return { workspace, collection: name };
}

/** A collection and an alias of it, whose name is the collection's with `-alias` added. */
export async function aliased(client: Client, name: string) {
  await filled(client, name);
  await client.createAlias({ workspace, name: `${name}-alias`, collections: [`${workspace}.${name}`] });
  return { workspace, alias: `${name}-alias` };
}

async function workspaceNamed(client: Client, name: string) {
  await client.createWorkspace({ name });
  return { workspace: name };
}

/** Queries, documents, aliases, collections, workspaces. */
export const dataExamples: Examples<
  | 'runQuery'
  | 'validateQuery'
  | 'addDocuments'
  | 'deleteDocuments'
  | 'patchDocuments'
  | 'createAlias'
  | 'updateAlias'
  | 'deleteAlias'
  | 'getAlias'
  | 'listAliases'
  | 'listWorkspaceAliases'
  | 'listCollectionAliases'
  | 'createCollection'
  | 'deleteCollection'
  | 'getCollection'
  | 'listCollections'
  | 'listWorkspaceCollections'
  | 'createWorkspace'
  | 'deleteWorkspace'
  | 'getWorkspace'
  | 'listWorkspaces'
  | 'listChildWorkspaces'
> = {
  runQuery: {
    success: {
      input: async (client, name) => {
        await filled(client, name);
        const parameters = [{ name: 'least', type: 'int' as const, value: '2' }];
        return { sql: { query: `SELECT n, tags FROM "${name}" WHERE n >= :least`, parameters, default_row_limit: 5 } };
      },
      result: { results: [{ n: 2, tags: [] }], status: 'COMPLETED', query_errors: [] },
    },
    failure: { input: () => ({ sql: { query: 'SELECT\n  nothing FROM nowhere' } }), ...BAD_QUERY, message: /nowhere/ },
  },
  validateQuery: {
    success: {
      input: async (client, name) => {
        await filled(client, name);
        return { sql: { query: `SELECT n FROM "${name}" WHERE n = :wanted` }, parameters: true };
      },
      result: { aliases: [], views: [], parameters: ['wanted'] },
    },
    failure: { input: () => ({ sql: { query: 'SELECT FROM WHERE' } }), ...BAD_QUERY },
  },
  addDocuments: {
    success: {
      input: async (client, name) => ({
        ...(await filled(client, name)),
        data: [{ _id: '1' }, { deep: { a: [null] } }, { _id: 3 }],
      }),
      result: {
        data: [
          { _id: '1', status: 'REPLACED', error: null },
          { status: 'ADDED', error: null },
          { _id: null, status: 'ERROR' },
        ],
      },
    },
    failure: { input: (_, name) => ({ workspace, collection: name, data: [{}] }), ...NO_COLLECTION },
  },
  deleteDocuments: {
    success: {
      input: async (client, name) => ({ ...(await filled(client, name)), data: [{ _id: '2' }, { _id: '1' }] }),
      result: {
        data: [
          { _id: '2', status: 'DELETED', patch_id: null },
          { _id: '1', status: 'DELETED' },
        ],
      },
    },
    failure: { input: (_, name) => ({ workspace: name, collection: name, data: [{ _id: '1' }] }), ...NO_WORKSPACE },
  },
  patchDocuments: {
    success: {
      input: async (client, name) => ({
        ...(await filled(client, name)),
        data: [
          {
            _id: '1',
            patch: [
              { op: 'replace', path: '/n', value: 7 },
              { op: 'move', from: '/n', path: '/m' },
            ],
          },
          { _id: 'none', patch: [] },
        ],
      }),
      result: {
        data: [
          { _id: '1', status: 'PATCHED' },
          { _id: 'none', status: 'ERROR', patch_id: null },
        ],
      },
    },
    failure: { input: async (client, name) => ({ ...(await filled(client, name)), data: [] }), ...READER },
  },
  createAlias: {
    success: {
      input: async (client, name) => {
        await filled(client, name);
        return { workspace, name: `${name}-alias`, description: 'd', collections: [`${workspace}.${name}`] };
      },
      result: { state: 'CREATED', description: 'd', creator_email: 'admin@localhost' },
    },
    failure: { input: (_, name) => ({ workspace, name, collections: [`${workspace}.none`] }), ...NO_COLLECTION },
  },
  updateAlias: {
    success: {
      input: async (client, name) => ({ ...(await aliased(client, name)), collections: [`${workspace}.${name}`] }),
      result: { state: 'CREATED' },
    },
    failure: { input: (_, name) => ({ workspace, alias: name, collections: ['commons.x'] }), ...NO_ALIAS },
  },
  deleteAlias: {
    success: { input: aliased, result: { state: 'DELETED' } },
    failure: {
      input: async (client, name) => {
        const { alias } = await aliased(client, name);
        await client.createLambda({ workspace, name, sql: { query: `SELECT * FROM "${alias}"` } });
        return { workspace, alias };
      },
      ...IN_USE,
    },
  },
  getAlias: {
    success: { input: aliased, result: { workspace } },
    failure: { input: (_, name) => ({ workspace, alias: name }), ...NO_ALIAS },
  },
  listAliases: {
    success: { input: async (client, name) => aliased(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listWorkspaceAliases: {
    success: { input: async (client, name) => aliased(client, name).then(() => ({ workspace })) },
    failure: { input: (_, name) => ({ workspace: name }), ...NO_WORKSPACE },
  },
  listCollectionAliases: {
    success: { input: async (client, name) => aliased(client, name).then(() => ({ workspace, collection: name })) },
    failure: { input: (_, name) => ({ workspace, collection: name }), ...NO_COLLECTION },
  },
  createCollection: {
    success: {
      input: (_, name) => ({
        workspace,
        name,
        description: 'd',
        retention_secs: 86_400,
        event_time_info: { field: 'at', format: 'ISO-8601', time_zone: 'UTC' },
        clustering_key: [{ field_name: 'n', type: 'AUTO' }],
      }),
      result: { status: 'CREATED', retention_secs: 86_400 },
    },
    failure: { input: async (client, name) => filled(client, name).then(() => ({ workspace, name })), ...TAKEN },
  },
  deleteCollection: {
    success: { input: filled, result: { workspace, status: 'DELETED', sources: [], aliases: [] } },
    failure: {
      input: async (client, name) => aliased(client, name).then(() => ({ workspace, collection: name })),
      ...IN_USE,
      message: /alias/,
    },
  },
  getCollection: {
    success: {
      input: async (client, name) => aliased(client, name).then(() => ({ workspace, collection: name })),
      result: { status: 'READY', stats: { doc_count: 2 } },
    },
    failure: {
      input: () => ({ workspace, collection: 'a/b c?d' }),
      ...NO_COLLECTION,
      message: /^Collection "a\/b c\?d" does not exist in workspace "commons"/,
    },
  },
  listCollections: {
    success: { input: async (client, name) => filled(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listWorkspaceCollections: {
    success: { input: async (client, name) => filled(client, name).then(() => ({ workspace })) },
    failure: { input: (_, name) => ({ workspace: name }), ...NO_WORKSPACE },
  },
  createWorkspace: {
    success: { input: (_, name) => ({ name, description: 'd' }), result: { description: 'd', collection_count: 0 } },
    failure: {
      input: (_, name) => ({ name: `${name}.child` }),
      ...NO_WORKSPACE,
      message: /Workspace with name ".+" does not exist/,
    },
  },
  deleteWorkspace: {
    success: { input: workspaceNamed },
    failure: {
      input: async (client, name) => {
        await workspaceNamed(client, name);
        await client.createCollection({ workspace: name, name: 'inside' });
        return { workspace: name };
      },
      ...IN_USE,
    },
  },
  getWorkspace: {
    success: { input: workspaceNamed, result: { created_by: 'admin@localhost' } },
    failure: { input: (_, name) => ({ workspace: name }), ...NO_WORKSPACE },
  },
  listWorkspaces: {
    success: { input: () => ({}) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listChildWorkspaces: {
    success: {
      input: async (client, name) => {
        await workspaceNamed(client, name);
        await workspaceNamed(client, `${name}.child`);
        return { workspace: name };
      },
    },
    failure: { input: (_, name) => ({ workspace: name }), ...NO_WORKSPACE },
  },
};
