import * as z from 'zod';
import { NewWorkspaceName, resource, Timestamp, WorkspaceParam } from './fields.ts';
import type { Contract } from './row.ts';

/** A container of collections; `a.b` is a child of `a`. `commons` always exists. */
export const Workspace = resource({
  created_at: Timestamp,
  created_by: z.string().describe('E-mail of the creator'),
  name: z.string().describe('Unique name'),
  description: z.string(),
  collection_count: z.int().describe('Collections directly in this workspace'),
});
export type Workspace = z.infer<typeof Workspace>;

/** The workspace that always exists, and that SQL uses if it names none. */
export const DEFAULT_WORKSPACE = 'commons';

const params = z.object({ workspace: WorkspaceParam });

export const workspaces = {
  createWorkspace: {
    number: 58,
    method: 'POST',
    path: '/v1/orgs/self/ws',
    title: 'Create a workspace',
    summary: 'Create a workspace for collections.',
    effect: 'create',
    role: 'member',
    body: z.object({
      name: NewWorkspaceName.describe('Letters, digits, - and _; a.b is a child of a'),
      description: z.string().optional(),
    }),
    result: Workspace,
  },
  deleteWorkspace: {
    number: 59,
    method: 'DELETE',
    path: '/v1/orgs/self/ws/{workspace}',
    title: 'Delete a workspace',
    summary: 'Delete an empty workspace.',
    effect: 'delete',
    role: 'member',
    params,
    refuses: { contents: true, names: { [DEFAULT_WORKSPACE]: 'it always exists. Delete what is in it instead.' } },
    result: Workspace,
  },
  getWorkspace: {
    number: 60,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}',
    title: 'Get a workspace',
    summary: 'Get one workspace with its number of collections.',
    effect: 'read',
    role: 'read-only',
    params,
    result: Workspace,
  },
  listWorkspaces: {
    number: 61,
    method: 'GET',
    path: '/v1/orgs/self/ws',
    title: 'List workspaces',
    summary: 'List all workspaces.',
    effect: 'read',
    role: 'read-only',
    result: z.array(Workspace),
  },
  listChildWorkspaces: {
    number: 62,
    method: 'GET',
    path: '/v1/orgs/self/ws/{workspace}/ws',
    title: 'List child workspaces',
    summary: 'List the workspaces directly under a workspace.',
    effect: 'read',
    role: 'read-only',
    params,
    result: z.array(Workspace),
  },
} as const satisfies Contract;
