import { contract, OPERATIONS, type Operation } from '../../contract/contract.ts';
import type { ApiError, NotFoundKey } from '../../contract/errors.ts';
import type { Row } from '../../contract/row.ts';
import { toolName } from './catalog.ts';
import { listerOf, pathParameters } from './relations.ts';

/** What to do about an error of an operation, if its relations to other operations say more than the error's code. */
export function nextStepFor(row: Row, error: ApiError): string | undefined {
  if (error.code === 'not_found') return listThem(row, error);
  const { own, lastOf, onlyForCaller } = row.refuses ?? {};
  const isOfOthers = own === undefined && lastOf === undefined && onlyForCaller === undefined;
  if (error.code === 'dependent_resources' && !isOfOthers) return 'A human can do what the message says; tell them.';
  const instead = error.code === 'already_exists' ? changerOf(row) : undefined;
  return instead && `Use the one that exists, change it with ${toolName(instead)}, or choose another name.`;
}

/** What lists the things of a kind; of all others, what is listed at the path that names the last of them. */
const LISTERS: Partial<Record<NotFoundKey, Operation>> = {
  WORKSPACE_NOT_FOUND: 'listWorkspaces',
  COLLECTION_DOES_NOT_EXIST: 'listCollections',
  QUERY_NOT_FOUND: 'listLambdas',
  INTEGRATION_NOT_FOUND: 'listIntegrations',
  USER_NOT_FOUND: 'listUsers',
};

/** One step: the thing that is missing is told by the error, and one list has its name. */
function listThem(row: Row, { message, details }: ApiError): string | undefined {
  const { path, effect } = row;
  const key = details.messageKey as NotFoundKey;
  const last = pathParameters(path).at(-1);
  // The same key stands for a lambda and its version.
  const isVersion = key === 'QUERY_NOT_FOUND' && message.includes('" (version "');
  if (isVersion && row === contract.executeLambdaVersion && message.includes('" is a tag: '))
    return `Run what a tag is on with ${toolName('executeLambdaTag')}.`;
  const lister =
    (isVersion ? 'listLambdaVersions' : LISTERS[key]) ?? (last === undefined ? undefined : listerOf(path, last));
  if (lister === undefined) return undefined;
  const make = key === 'WORKSPACE_NOT_FOUND' && (effect === 'create' || effect === 'update');
  const list = `List what exists with ${toolName(lister)} and use one of those names`;
  return make ? `${list}, or make a new one with ${toolName('createWorkspace')}.` : `${list}.`;
}

/** For an operation that creates something: the operation that changes it or adds to it. */
function changerOf(row: Row): Operation | undefined {
  if (row.effect !== 'create') return undefined;
  return OPERATIONS.find((name) => {
    const other: Row = contract[name];
    const isBelow = other.path.startsWith(`${row.path}/{`);
    return isBelow && other.method === 'POST' && other.effect !== 'read' && other.result === row.result;
  });
}
