import type { Client } from '../../src/http/client.ts';
import type { Examples } from './examples.ts';
import { INVALID, missing, READER, TAKEN, UNKNOWN_KEY } from './failures.ts';

const NO_USER = missing('USER_NOT_FOUND');
const NO_KEY = missing('API_KEY_NOT_FOUND');
const NO_ENTRY = missing('ALLOWLIST_ENTRY_NOT_FOUND');
const NO_INTEGRATION = missing('INTEGRATION_NOT_FOUND');
const NO_INSTANCE = missing('VIRTUAL_INSTANCE_NOT_FOUND');
const NO_ID = '00000000-0000-0000-0000-000000000000';

const emailOf = (name: string) => `${name}+x@example.com`;

async function user(client: Client, name: string) {
  await client.createUser({ email: emailOf(name), roles: ['member'] });
  return { user: emailOf(name) };
}

async function userKey(client: Client, name: string) {
  await user(client, name);
  await client.createUserApiKey({ user: emailOf(name), name: 'a key' });
  return { user: emailOf(name), name: 'a key' };
}

/** The admin may have at most ten keys, so each call deletes the previous one. */
async function ownKey(client: Client, name: string) {
  for (const key of await client.listApiKeys({})) {
    if (key.name?.startsWith('mine ') === true) await client.deleteApiKey({ name: key.name });
  }
  await client.createApiKey({ name: `mine ${name}` });
  return { name: `mine ${name}` };
}

async function entry(client: Client, name: string) {
  await client.createAllowlistEntry({ name, ip_address: '203.0.113.0/24' });
  return { name };
}

const s3 = { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: 'plain-secret' } };

async function integration(client: Client, name: string) {
  await client.createIntegration({ name, s3 });
  return { integration: name };
}

async function instance(client: Client) {
  const [only] = await client.listVirtualInstances({});
  return { virtualInstanceId: String(only?.id) };
}

/** Keys, users, the IP allowlist, integrations, the organization, virtual instances. */
export const organizationExamples: Examples<
  | 'createApiKey'
  | 'createUserApiKey'
  | 'deleteApiKey'
  | 'deleteUserApiKey'
  | 'listApiKeys'
  | 'listUserApiKeys'
  | 'createAllowlistEntry'
  | 'deleteAllowlistEntry'
  | 'getAllowlistEntry'
  | 'listAllowlistEntries'
  | 'createIntegration'
  | 'deleteIntegration'
  | 'getIntegration'
  | 'listIntegrations'
  | 'getOrganization'
  | 'createUser'
  | 'deleteUser'
  | 'getCurrentUser'
  | 'listUsers'
  | 'getVirtualInstance'
  | 'listVirtualInstances'
  | 'updateVirtualInstance'
> = {
  createApiKey: {
    success: {
      input: (_, name) => ({ name: `mine ${name}` }),
      result: { state: 'ACTIVE', role: null, expiry_time: null },
    },
    failure: { input: ownKey, ...TAKEN },
  },
  createUserApiKey: {
    success: { input: async (client, name) => ({ ...(await user(client, name)), name: 'k' }), result: { name: 'k' } },
    failure: { input: (_, name) => ({ user: emailOf(name), name: 'k' }), ...NO_USER },
  },
  deleteApiKey: {
    success: { input: ownKey },
    failure: { input: (_, name) => ({ name }), ...NO_KEY },
  },
  deleteUserApiKey: {
    success: { input: userKey },
    failure: { input: userKey, ...READER },
  },
  listApiKeys: {
    success: { input: () => ({}) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listUserApiKeys: {
    success: { input: async (client, name) => userKey(client, name).then(({ user }) => ({ user })) },
    failure: { input: (_, name) => ({ user: emailOf(name) }), ...NO_USER },
  },
  createAllowlistEntry: {
    success: {
      input: (_, name) => ({ name, description: 'd', ip_address: '2001:db8::/32' }),
      result: { ip_address: '2001:db8::/32', creator_email: 'admin@localhost' },
    },
    failure: { input: (_, name) => ({ name, ip_address: '1.2.3' }), ...INVALID, message: /"ip_address"/ },
  },
  deleteAllowlistEntry: {
    success: { input: entry },
    failure: { input: (_, name) => ({ name }), ...NO_ENTRY },
  },
  getAllowlistEntry: {
    success: { input: entry, result: { description: null } },
    failure: { input: (_, name) => ({ name }), ...NO_ENTRY },
  },
  listAllowlistEntries: {
    success: { input: async (client, name) => entry(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  createIntegration: {
    success: {
      input: (_, name) => ({ name, description: 'd', s3 }),
      result: {
        s3: { cloud_access_key: { cloud_access_key_id: 'AKID', cloud_secret_access_key: '********' } },
        kafka: null,
        collections: [],
      },
    },
    failure: {
      input: async (client, name) => integration(client, name).then(() => ({ name: name.toUpperCase(), s3 })),
      ...TAKEN,
    },
  },
  deleteIntegration: {
    success: { input: integration },
    failure: { input: (_, name) => ({ integration: name }), ...NO_INTEGRATION, message: /^Integration ".+" not found/ },
  },
  getIntegration: {
    success: { input: integration, result: { mongodb: null } },
    failure: { input: (_, name) => ({ integration: name }), ...NO_INTEGRATION },
  },
  listIntegrations: {
    success: { input: async (client, name) => integration(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  getOrganization: {
    success: { input: () => ({}), result: { clusters: [] } },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  createUser: {
    success: {
      input: (_, name) => ({ email: emailOf(name), roles: ['member', 'read-only'] }),
      result: { state: 'NEW', invite_state: 'PENDING', roles: ['member', 'read-only'] },
    },
    failure: {
      input: async (client, name) => user(client, name).then(() => ({ email: emailOf(name), roles: ['admin'] })),
      ...TAKEN,
    },
  },
  deleteUser: {
    success: { input: user, result: { state: 'NEW' } },
    failure: { input: (_, name) => ({ user: emailOf(name) }), ...NO_USER },
  },
  getCurrentUser: {
    success: { input: () => ({}), result: { email: 'admin@localhost', state: 'ACTIVE', invite_state: 'ACCEPTED' } },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  listUsers: {
    success: { input: async (client, name) => user(client, name).then(() => ({})) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  getVirtualInstance: {
    success: { input: instance, result: { name: 'main', default_vi: true } },
    failure: { input: () => ({ virtualInstanceId: NO_ID }), ...NO_INSTANCE },
  },
  listVirtualInstances: {
    success: { input: () => ({}) },
    failure: { input: () => ({}), ...UNKNOWN_KEY },
  },
  updateVirtualInstance: {
    success: {
      input: async (client) => ({ ...(await instance(client)), new_size: 'XSMALL' }),
      result: { current_size: 'XSMALL', desired_size: 'XSMALL' },
    },
    failure: { input: async (client) => ({ ...(await instance(client)), new_size: 'SMALL' }), ...READER },
  },
};
