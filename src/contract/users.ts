import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import { Organization } from './organization.ts';
import { type Contract, ROLES } from './row.ts';

export const User = resource({
  created_at: Timestamp,
  email: z.string().describe('Unique; names the user'),
  first_name: z.string(),
  last_name: z.string(),
  roles: z.array(z.string()).describe('admin, member or read-only'),
  state: z.string().describe('NEW until the first request made with one of its keys, then ACTIVE'),
  org: z.string(),
  invite_state: z.string().describe('PENDING or ACCEPTED'),
  orgs: z.array(Organization),
  org_memberships: z.array(
    resource({
      organization: Organization,
      roles: z.array(z.string()),
      expires_at: Timestamp,
      created_at: Timestamp,
    }),
  ),
});
export type User = z.infer<typeof User>;

export const users = {
  createUser: {
    number: 51,
    method: 'POST',
    path: '/v1/orgs/self/users',
    title: 'Create a user',
    summary: 'Create a user with roles; it then needs an API key.',
    effect: 'create',
    role: 'admin',
    body: z.object({
      email: z.email().describe('Unique; names the user'),
      roles: z.array(z.enum(ROLES)).min(1),
    }),
    result: User,
  },
  deleteUser: {
    number: 52,
    method: 'DELETE',
    path: '/v1/orgs/self/users/{user}',
    title: 'Delete a user',
    summary: 'Delete a user and its API keys, which stop working at once.',
    effect: 'delete',
    role: 'admin',
    params: z.object({ user: z.string().min(1).describe('E-mail') }),
    severe: true,
    refuses: { own: true, lastOf: 'admin' },
    result: User,
  },
  getCurrentUser: {
    number: 53,
    method: 'GET',
    path: '/v1/orgs/self/users/self',
    title: 'Get the current user',
    summary: 'Get the calling user, with its roles.',
    effect: 'read',
    role: 'read-only',
    result: User,
    isBare: true,
  },
  listUsers: {
    number: 54,
    method: 'GET',
    path: '/v1/orgs/self/users',
    title: 'List users',
    summary: 'List the users of the organization with their roles.',
    effect: 'read',
    role: 'read-only',
    result: z.array(User),
  },
} as const satisfies Contract;
