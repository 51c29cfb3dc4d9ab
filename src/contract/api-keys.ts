import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';
import { issued, secret } from './secret.ts';

/** Most keys per user. */
export const API_KEYS_MAX = 10;

export const ApiKey = resource({
  created_at: Timestamp,
  name: z.string().describe('Label, unique among the keys of its user'),
  key: secret(z.string().describe('The first 4 of its 64 alphanumerics, then asterisks')),
  last_access_time: Timestamp,
  state: z.string().describe('ACTIVE'),
  role: z.string(),
  created_by: z.string(),
  expiry_time: Timestamp,
});
export type ApiKey = z.infer<typeof ApiKey>;

const NewApiKey = ApiKey.extend({
  key: issued(z.string().describe('64 alphanumerics, whole in this answer only')).nullish(),
});

const user = z.string().min(1).describe('E-mail');
const name = z.string().min(1);
const body = z.object({ name: z.string().min(1).max(128).describe('One key per use is best') });

export const apiKeys = {
  createApiKey: {
    number: 6,
    method: 'POST',
    path: '/v1/orgs/self/users/self/apikeys',
    title: 'Create an API key',
    summary: 'Create an API key for the calling user, at most 10.',
    effect: 'create',
    role: 'read-only',
    body,
    result: NewApiKey,
  },
  createUserApiKey: {
    number: 7,
    method: 'POST',
    path: '/v1/orgs/self/users/{user}/apikeys',
    title: "Create a user's API key",
    summary: 'Create an API key for another user, at most 10 per user.',
    effect: 'create',
    role: 'admin',
    params: z.object({ user }),
    body,
    result: NewApiKey,
  },
  deleteApiKey: {
    number: 8,
    method: 'DELETE',
    path: '/v1/orgs/self/users/self/apikeys/{name}',
    title: 'Delete an API key',
    summary: "Delete one of the calling user's API keys; it stops working at once.",
    effect: 'delete',
    locksOut: true,
    role: 'read-only',
    params: z.object({ name }),
    result: ApiKey,
  },
  deleteUserApiKey: {
    number: 9,
    method: 'DELETE',
    path: '/v1/orgs/self/users/{user}/apikeys/{name}',
    title: "Delete a user's API key",
    summary: "Delete another user's API key; it stops working at once.",
    effect: 'delete',
    locksOut: true,
    role: 'admin',
    params: z.object({ user, name }),
    result: ApiKey,
  },
  listApiKeys: {
    number: 10,
    method: 'GET',
    path: '/v1/orgs/self/users/self/apikeys',
    title: 'List API keys',
    summary: "List the calling user's API keys, masked.",
    effect: 'read',
    role: 'read-only',
    result: z.array(ApiKey),
  },
  listUserApiKeys: {
    number: 11,
    method: 'GET',
    path: '/v1/orgs/self/users/{user}/apikeys',
    title: "List a user's API keys",
    summary: "List another user's API keys, masked.",
    effect: 'read',
    role: 'admin',
    params: z.object({ user }),
    result: z.array(ApiKey),
  },
} as const satisfies Contract;
