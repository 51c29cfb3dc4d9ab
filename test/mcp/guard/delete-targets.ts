import type { Client } from '../../../src/http/client.ts';

/**
 * Something that a tool can delete in a test, created on a real service; `n` tells apart the targets of questions about
 * different arguments.
 */
export interface DeleteTarget {
  /** The operation that the tool calls. */
  operation: string;
  make(client: Client, n: number): Promise<Record<string, unknown>>;
  /** Replaces the target that `args` name by another. */
  replace(client: Client, n: number, args: Record<string, unknown>): Promise<unknown>;
}

const WORKSPACE = 'deletes';
const SQL = (n: number) => ({ query: `SELECT ${n} AS n` });

/** For a target that is replaced by deleting it and creating it again under the same name. */
function anew(operation: keyof Client, make: DeleteTarget['make']): DeleteTarget {
  return {
    operation,
    make,
    async replace(client, n, args) {
      await (client[operation] as (input: object) => Promise<unknown>)(args);
      return make(client, n);
    },
  };
}

async function collection(client: Client, name: string): Promise<{ workspace: string; collection: string }> {
  // It still exists after only its documents were deleted.
  await client.createCollection({ workspace: WORKSPACE, name }).catch(() => undefined);
  await client.addDocuments({ workspace: WORKSPACE, collection: name, data: [{ _id: 'a' }] });
  return { workspace: WORKSPACE, collection: name };
}

async function lambda(client: Client, queryLambda: string) {
  const { version } = await client.createLambda({ workspace: WORKSPACE, name: queryLambda, sql: SQL(1) });
  return { place: { workspace: WORKSPACE, queryLambda }, version: version ?? '' };
}

const documents = async (client: Client, n: number) => ({
  ...(await collection(client, `docs${n}`)),
  data: [{ _id: 'a' }],
});

/** By tool. A deleting tool that is missing here fails a test. */
export const DELETE_TARGETS: Readonly<Record<string, DeleteTarget>> = {
  delete_documents: {
    operation: 'deleteSelected',
    make: documents,
    async replace(client, n) {
      await client.deleteCollection({ workspace: WORKSPACE, collection: `docs${n}` });
      return documents(client, n);
    },
  },
  delete_documents_where: {
    operation: 'deleteSelected',
    make: async (client, n) => ({ ...(await collection(client, `some${n}`)), where: "_id = 'a'" }),
    async replace(client, n) {
      await client.deleteCollection({ workspace: WORKSPACE, collection: `some${n}` });
      return { ...(await collection(client, `some${n}`)), where: "_id = 'a'" };
    },
  },
  delete_collection: anew('deleteCollection', (client, n) => collection(client, `gone${n}`)),
  delete_alias: anew('deleteAlias', async (client, n) => {
    await client.createCollection({ workspace: WORKSPACE, name: `aliased${n}` }).catch(() => undefined);
    await client.createAlias({ workspace: WORKSPACE, name: `al${n}`, collections: [`${WORKSPACE}.aliased${n}`] });
    return { workspace: WORKSPACE, alias: `al${n}` };
  }),
  delete_workspace: anew('deleteWorkspace', async (client, n) => {
    await client.createWorkspace({ name: `empty${n}` });
    return { workspace: `empty${n}` };
  }),
  delete_lambda: anew('deleteLambda', async (client, n) => (await lambda(client, `lam${n}`)).place),
  delete_lambda_version: anew('deleteLambdaVersion', async (client, n) => {
    const queryLambda = `versions${n}`;
    const place = { workspace: WORKSPACE, queryLambda };
    await lambda(client, queryLambda).catch(() => undefined);
    const { version } = await client.createLambdaVersion({ ...place, sql: SQL(2) });
    return { ...place, version };
  }),
  delete_lambda_tag: {
    operation: 'deleteLambdaTag',
    async make(client, n) {
      const place = { workspace: WORKSPACE, queryLambda: `tagged${n}` };
      await lambda(client, place.queryLambda).catch(() => undefined);
      const [first] = await client.listLambdaVersions(place);
      await client.tagLambdaVersion({ ...place, tag_name: 'prod', version: first?.version ?? '' });
      return { ...place, tag: 'prod' };
    },
    // A tag consists only of the version it names.
    async replace(client, n) {
      const place = { workspace: WORKSPACE, queryLambda: `tagged${n}` };
      const { version } = await client.createLambdaVersion({ ...place, sql: SQL(Date.now()) });
      return client.tagLambdaVersion({ ...place, tag_name: 'prod', version: version ?? '' });
    },
  },
  delete_user: anew('deleteUser', async (client, n) => {
    await client.createUser({ email: `user${n}@example.com`, roles: ['member'] });
    return { user: `user${n}@example.com` };
  }),
  delete_user_api_key: anew('deleteUserApiKey', async (client, n) => {
    const user = 'keys@example.com';
    await client.createUser({ email: user, roles: ['member'] }).catch(() => undefined);
    await client.createUserApiKey({ user, name: `k${n}` });
    return { user, name: `k${n}` };
  }),
  delete_api_key: anew('deleteApiKey', async (client, n) => {
    await client.createApiKey({ name: `mine${n}` });
    return { name: `mine${n}` };
  }),
  delete_allowlist_entry: anew('deleteAllowlistEntry', async (client, n) => {
    await client.createAllowlistEntry({ name: `e${n}`, ip_address: `10.0.0.${n}` });
    return { name: `e${n}` };
  }),
  delete_integration: anew('deleteIntegration', async (client, n) => {
    await client.createIntegration({ name: `i${n}`, segment: {} });
    return { integration: `i${n}` };
  }),
};

export async function makeDeleteWorkspace(client: Client): Promise<void> {
  await client.createWorkspace({ name: WORKSPACE });
}
