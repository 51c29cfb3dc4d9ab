import * as z from 'zod';
import { CollectionParam, NewName, resource, Timestamp, WorkspaceParam } from './fields.ts';
import type { Contract } from './row.ts';

/** A name for one or more collections, usable in SQL like a collection. */
export const Alias = resource({
  name: z.string(),
  description: z.string(),
  workspace: z.string(),
  creator_email: z.string(),
  collections: z.array(z.string()).describe('Collections it stands for, as workspace.collection'),
  state: z.string().describe('CREATED; DELETED in the answer that deletes it'),
  created_at: Timestamp,
  modified_at: Timestamp,
  warnings: z.array(z.string()).describe('Of a change: lambdas whose SQL does not bind with it'),
});
export type Alias = z.infer<typeof Alias>;

const path = '/v1/orgs/self/ws/{workspace}/aliases/{alias}';
const inWorkspace = z.object({ workspace: WorkspaceParam });
const params = z.object({ workspace: WorkspaceParam, alias: z.string().min(1) });
const collections = z.array(z.string()).min(1).describe('As workspace.collection; several: their union');

export const aliases = {
  createAlias: {
    number: 12,
    method: 'POST',
    path: '/v1/orgs/self/ws/{workspace}/aliases',
    title: 'Create an alias',
    summary: 'Create a name that SQL can use for one or more collections.',
    effect: 'create',
    role: 'member',
    params: inWorkspace,
    body: z.object({
      name: NewName,
      description: z.string().optional(),
      collections,
    }),
    result: Alias,
  },
  updateAlias: {
    number: 13,
    method: 'POST',
    path,
    title: 'Repoint an alias',
    summary: 'Point an alias at other collections, at once.',
    effect: 'update',
    role: 'member',
    params,
    body: z.object({ description: z.string().optional(), collections }),
    result: Alias,
  },
  deleteAlias: {
    number: 14,
    method: 'DELETE',
    path,
    title: 'Delete an alias',
    summary: 'Delete an alias; its collections stay.',
    effect: 'delete',
    role: 'member',
    params,
    refuses: { contents: true },
    result: Alias,
  },
  getAlias: {
    number: 15,
    method: 'GET',
    path,
    title: 'Get an alias',
    summary: 'Get one alias with the collections it stands for.',
    effect: 'read',
    role: 'read-only',
    params,
    result: Alias,
  },
  listAliases: {
    number: 17,
    method: 'GET',
    path: '/v1/orgs/self/aliases',
    title: 'List all aliases',
    summary: 'List the aliases of all workspaces.',
    effect: 'read',
    role: 'read-only',
    result: z.array(Alias),
  },
  listWorkspaceAliases: {
    number: 18,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/aliases',
    title: 'List aliases of a workspace',
    summary: 'List the aliases of one workspace.',
    effect: 'read',
    role: 'read-only',
    params: inWorkspace,
    result: z.array(Alias),
  },
  listCollectionAliases: {
    number: 22,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/collections/{collection}/aliases',
    title: 'List aliases of a collection',
    summary: 'List the aliases that stand for a collection.',
    effect: 'read',
    role: 'read-only',
    params: z.object({ workspace: WorkspaceParam, collection: CollectionParam }),
    result: z.array(Alias),
  },
} as const satisfies Contract;
