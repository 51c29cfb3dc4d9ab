import { contract, OPERATIONS, type Operation } from '../../contract/contract.ts';
import type { ApiError, NotFoundKey } from '../../contract/errors.ts';
import type { Row } from '../../contract/row.ts';
import { toolName } from './catalog.ts';
import { listerOf, pathParameters } from './relations.ts';

/** What to do about an error of an operation, if its relations to other operations say more than the error's code. */
export function nextStepFor(row: Row, error: ApiError): string | undefined {
  if (error.code === 'not_found') return listThem(row, error.details.messageKey);
  const { own, lastOf, onlyForCaller } = row.refuses ?? {};
  const isOfOthers = own === undefined && lastOf === undefined && onlyForCaller === undefined;
  if (error.code === 'dependent_resources' && !isOfOthers) return 'A human can do what the message says; tell them.';
  const instead = error.code === 'already_exists' ? changerOf(row) : undefined;
  return instead && `Use the one that exists, change it with ${toolName(instead)}, or choose another name.`;
}

/** Names in a body that may not exist, and what lists them; for names in the path, the path says what does. */
const NAMED_IN_BODY: Partial<Record<NotFoundKey, { parameter: string; lister: Operation }>> = {
  COLLECTION_DOES_NOT_EXIST: { parameter: '{collection}', lister: 'listCollections' },
  INTEGRATION_NOT_FOUND: { parameter: '{integration}', lister: 'listIntegrations' },
};

function listThem(row: Row, messageKey: string | undefined): string | undefined {
  const named = NAMED_IN_BODY[messageKey as NotFoundKey];
  const listers =
    named === undefined || row.path.includes(named.parameter)
      ? pathParameters(row.path).flatMap((parameter) => listerOf(row.path, parameter) ?? [])
      : [named.lister];
  if (listers.length === 0) return undefined;
  return `List what exists with ${listers.map(toolName).join(', ')} and use those names.`;
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
