import type { AnyOperation } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Client } from '../../http/client.ts';
import type { Arguments } from '../tools/relations.ts';
import type { Look } from './resource-kinds.ts';
import { parseUri } from './resources.ts';

/** Whether a call with these arguments can change a resource; it cannot if it names something else. */
export function mayConcern(uri: string, args: Arguments): boolean {
  const names = parseUri(uri)?.names ?? {};
  const { workspace, collection, queryLambda: lambda } = args;
  if (names['workspace'] !== undefined && workspace !== undefined && names['workspace'] !== workspace) return false;
  const [wanted, given] = [names['collection'] ?? names['lambda'], collection ?? lambda];
  const isSameKind = (names['collection'] === undefined) === (collection === undefined);
  return wanted === undefined || given === undefined || (isSameKind && wanted === given);
}

/** Calls the service, each call at most once however often its result is needed. */
export function lookAt(client: Client): Look {
  const made = new Map<string, Promise<unknown>>();
  const look = (operation: AnyOperation, input: object): Promise<unknown> => {
    const key = JSON.stringify([operation, input]);
    const known = made.get(key);
    if (known !== undefined) return known;
    const call = (client[operation] as unknown as (input: object) => Promise<unknown>)(input);
    made.set(key, call);
    return call;
  };
  return look as Look;
}

/** A text that differs once a resource has changed; undefined while it does not exist. */
export async function resourceState(look: Look, uri: string): Promise<string | undefined> {
  const parsed = parseUri(uri);
  if (parsed?.kind.fingerprint === undefined) return '';
  try {
    return await parsed.kind.fingerprint(look, parsed.names);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** A text that differs once the list of resources has changed. */
export async function listState(look: Look): Promise<string> {
  const [workspaces, collections, lambdas] = await Promise.all([
    look('listWorkspaces', {}),
    look('listCollections', {}),
    look('listLambdas', {}),
  ]);
  const named = ({ workspace, name }: { workspace?: unknown; name?: unknown }) => [workspace, name];
  return JSON.stringify([workspaces.map(named), collections.map(named), lambdas.map(named)]);
}
