import { ApiError } from '../../src/contract/errors.ts';
import type { JsonValue } from '../../src/contract/json/json.ts';
import type { QueryParameter } from '../../src/contract/queries.ts';
import type { Client } from '../../src/http/client.ts';

/** The workspace of the data sets. */
export const WORLD = 'world';

/** Undefined if there is no such thing. */
export async function ifThere<Found>(found: Promise<Found>): Promise<Found | undefined> {
  return found.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found') return undefined;
    throw error;
  });
}

export async function workspace(client: Client, name: string): Promise<void> {
  if ((await ifThere(client.getWorkspace({ workspace: name }))) === undefined) await client.createWorkspace({ name });
}

/** A collection with these documents. */
export async function filled(client: Client, place: { workspace: string; name: string }, data: JsonValue[]) {
  await workspace(client, place.workspace);
  await client.createCollection(place);
  await client.addDocuments({ workspace: place.workspace, collection: place.name, data });
}

/** A Query Lambda with a version for each statement, oldest first; returns the names of the versions. */
export async function lambda(
  client: Client,
  place: { workspace: string; name: string },
  statements: readonly { query: string; description?: string; default_parameters?: QueryParameter[] }[],
): Promise<string[]> {
  await workspace(client, place.workspace);
  const versions: string[] = [];
  for (const { description, ...sql } of statements) {
    const [first] = versions;
    const what = { sql, ...(description === undefined ? {} : { description }) };
    const { version } =
      first === undefined
        ? await client.createLambda({ ...place, ...what })
        : await client.createLambdaVersion({ workspace: place.workspace, queryLambda: place.name, ...what });
    versions.push(String(version));
  }
  return versions;
}

/** What a lambda answers with these parameters, or what is wrong with it. */
export async function answerOf(
  client: Client,
  place: { workspace: string; queryLambda: string; tag: string },
  parameters: Record<string, string | number> = {},
): Promise<Record<string, unknown>[] | string> {
  try {
    const given = Object.entries(parameters).map(([name, value]) => ({ name, value }));
    const { results } = await client.executeLambdaTag({ ...place, parameters: given });
    return (results ?? []) as Record<string, unknown>[];
  } catch (error) {
    if (error instanceof ApiError) return `${place.queryLambda}: ${error.message.slice(0, 200)}`;
    throw error;
  }
}

/** Everything that somebody could have created, changed or deleted, as one text: equal as long as nobody did. */
export async function inventory(client: Client): Promise<string> {
  const collections = await client.listCollections({});
  const lambdas = await client.listLambdas({});
  const users = await client.listUsers({});
  const lines = [
    ...collections.map((one) => `collection ${one.workspace}.${one.name} ${one.stats?.doc_count}`),
    ...lambdas.map((one) => `lambda ${one.workspace}.${one.name} ${one.latest_version?.version}`),
    ...(await client.listAliases({})).map((one) => `alias ${one.workspace}.${one.name} ${one.collections}`),
    ...(await client.listWorkspaces({})).map((one) => `workspace ${one.name}`),
    ...(await client.listAllowlistEntries({})).map((one) => `allowed ${one.ip_address}`),
    ...users.map((one) => `user ${one.email} ${one.roles}`),
  ];
  for (const { email } of users) {
    const keys = await client.listUserApiKeys({ user: String(email) });
    lines.push(...keys.map(({ name }) => `key ${email} ${name}`));
  }
  return lines.sort().join('\n');
}
