import { contract, OPERATIONS, type Operation } from '../../contract/contract.ts';
import type { Row } from '../../contract/row.ts';

/**
 * How endpoints relate, read from their paths: what `/ws/{workspace}` gets is listed at `/ws`, and contains what is
 * listed at `/ws/{workspace}/collections`. Guards, error hints and listings build on this instead of on names.
 */

export type Arguments = Readonly<Record<string, unknown>>;

const getters = OPERATIONS.filter((operation) => contract[operation].method === 'GET');

function isList(row: Row): boolean {
  return row.result.type === 'array';
}

/** The path parameters of a path template, in order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** The arguments that an operation's path needs, taken from those of a longer path. */
export function pathArguments(operation: Operation, args: Arguments): Arguments {
  return Object.fromEntries(pathParameters(contract[operation].path).map((name) => [name, args[name]]));
}

/** What a path names last, in words. */
export function nounOf(path: string): string | undefined {
  const last = pathParameters(path).at(-1);
  return NOUNS[(last === 'name' ? path.split('/').at(-2) : last) ?? ''] ?? last;
}

const NOUNS: Readonly<Record<string, string>> = {
  apikeys: 'API key',
  allowlist: 'allowlist entry',
  queryLambda: 'lambda',
};

/** The operation that gets the one thing that a path names, or else (`exact` is false) the nearest thing above it. */
export function getterOf(path: string): { operation: Operation; exact: boolean } | undefined {
  const whole = asListed(path);
  for (let at = whole; at.includes('{'); at = at.slice(0, at.lastIndexOf('/'))) {
    const operation = getters.find((name) => contract[name].path === at && !isList(contract[name]));
    if (operation !== undefined && at.endsWith('}')) return { operation, exact: at === whole };
  }
  return undefined;
}

/** The path at which a thing is read: the API deletes a version at `version`, not `versions`. */
function asListed(path: string): string {
  return path.replace(/\/version(?=\/\{version\}$)/, '/versions');
}

/** The operation that lists the possible values of a path parameter. */
export function listerOf(path: string, parameter: string): Operation | undefined {
  const listed = asListed(path);
  const end = listed.indexOf(`/{${parameter}}`);
  if (end < 0) return undefined;
  return getters.find((name) => contract[name].path === listed.slice(0, end) && isList(contract[name]));
}

/** The operations that list what lies directly below the thing at a path; `kind` is the plural noun. */
export function contentsOf(path: string): { operation: Operation; kind: string }[] {
  return getters.flatMap((operation) => {
    const row: Row = contract[operation];
    const kind = row.path.slice(path.length + 1);
    const isChild = row.path.startsWith(`${path}/`) && !kind.includes('/') && !kind.includes('{');
    return isChild && isList(row) ? [{ operation, kind: KINDS[kind] ?? kind }] : [];
  });
}

/** Nouns for path segments that people would not understand. */
const KINDS: Readonly<Record<string, string>> = { ws: 'child workspaces', apikeys: 'API keys' };

/** The name of a listed thing, as the path parameter `parameter` takes it. */
export function nameOf(item: unknown, parameter = 'name'): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const fields = item as Arguments;
  for (const key of [parameter, 'name', 'tag_name', 'email', 'version', 'id']) {
    const value = fields[key];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}
