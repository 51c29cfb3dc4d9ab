import type { Operation } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { LATEST } from '../../contract/lambdas.ts';
import { type Arguments, contentsOf, getterOf, listerOf, nameOf, nounOf, pathParameters } from '../tools/relations.ts';
import { digest } from './signed-states.ts';

/** Calls an operation with the path arguments of the tool call. */
export type Read = (operation: Operation) => Promise<unknown>;

/** The target of a delete, as it is now. */
export interface Target {
  /** The thing itself or, if several are named one by one, the nearest thing above them that can be read. */
  thing: Arguments | undefined;
  /** Whether `thing` itself is to be deleted. */
  exact: boolean;
}

/** Reads what the path names, from its own endpoint or else from the list that contains it. Rejects `not_found`. */
export async function findTarget(read: Read, path: string, args: Arguments): Promise<Target> {
  const getter = getterOf(path);
  const last = pathParameters(path).at(-1);
  const lister = last === undefined || !path.endsWith('}') ? undefined : listerOf(path, last);
  if (getter?.exact === true || last === undefined || lister === undefined) {
    const thing = getter === undefined ? undefined : ((await read(getter.operation)) as Arguments);
    return { thing, exact: getter?.exact === true };
  }
  const items = await read(lister);
  const name = String(args[last]);
  const folded = name.toLowerCase();
  const named = Array.isArray(items) ? (items as Arguments[]).map((item) => [nameOf(item, last), item] as const) : [];
  // The service accepts some names (e-mails) in any letter case.
  const found = named.find(([own]) => own === name) ?? named.find(([own]) => own?.toLowerCase() === folded);
  if (found === undefined)
    throw new ApiError('not_found', `Cannot delete ${nounOf(path)} ${JSON.stringify(name)}: not found.`);
  return { thing: found[1], exact: true };
}

/** How many things the list with the target contains, itself included; undefined if the service does not say. */
export async function siblingCount(read: Read, path: string): Promise<number | undefined> {
  const last = pathParameters(path).at(-1);
  const lister = last === undefined ? undefined : listerOf(path, last);
  if (lister === undefined) return undefined;
  const items = await read(lister).catch(() => undefined);
  return Array.isArray(items) ? items.length : undefined;
}

/** The tags and other names for the target that are deleted with it, by kind. Not `latest`, which moves on instead. */
export async function namedBy(read: Read, path: string, name: string): Promise<{ kind: string; names: string[] }[]> {
  const last = pathParameters(path).at(-1) ?? '';
  const parent = path.slice(0, path.slice(0, path.lastIndexOf('/')).lastIndexOf('/'));
  const found = await Promise.all(
    contentsOf(parent).map(async ({ operation, kind }) => {
      const items = await read(operation).catch(() => undefined);
      const naming = Array.isArray(items)
        ? (items as Arguments[]).filter((item) => typeof item[last] === 'object' && nameOf(item[last], last) === name)
        : [];
      return { kind, names: naming.flatMap((item) => nameOf(item) ?? []).filter((own) => own !== LATEST) };
    }),
  );
  return found.filter(({ names }) => names.length > 0);
}

/** The version that `latest` is on once the one that a path names is gone; undefined: it stays where it is, or is not known. */
export async function nextLatest(read: Read, path: string, name: string): Promise<string | undefined> {
  const last = pathParameters(path).at(-1) ?? '';
  const [tags, versions] = await Promise.all(
    (['listLambdaTags', 'listLambdaVersions'] as const).map((operation) => read(operation).catch(() => undefined)),
  );
  if (!Array.isArray(tags) || !Array.isArray(versions)) return undefined;
  const latest = (tags as Arguments[]).find((item) => item['tag_name'] === LATEST)?.[last];
  if (nameOf(latest, last) !== name) return undefined;
  return versions.map((one) => nameOf(one, last)).find((one) => one !== name);
}

/** The fields that tell a thing from another one of the same name, or from itself before it was pointed elsewhere. */
const IDENTITY = [
  'id',
  'name',
  'email',
  'tag_name',
  'created_at',
  'modified_at',
  'last_updated',
  'version_count',
  'key',
];

/**
 * A short text that changes if the target is replaced, even by one of the same name. What merely grows (the documents
 * of a collection) does not change it: that belongs to the extent.
 */
export function fingerprint(thing: Arguments | undefined): string {
  return digest(identityOf(thing));
}

function identityOf(thing: Arguments | undefined): unknown {
  if (thing === undefined) return null;
  const own = IDENTITY.map((key) => thing[key] ?? null);
  const versions = ['version', 'latest_version'].map((key) => {
    const version = thing[key];
    return typeof version === 'object' && version !== null ? identityOf(version as Arguments) : (version ?? null);
  });
  return [own, versions];
}

const NAMES_MAX = 5;

/** The first few of some names. */
export function listed(names: readonly unknown[]): string {
  const more = names.length > NAMES_MAX ? `, and ${(names.length - NAMES_MAX).toLocaleString('en-US')} more` : '';
  return `${names
    .slice(0, NAMES_MAX)
    .map((name) => quoted(name))
    .join(', ')}${more}`;
}

/** As JSON, so that no name can close its quotes or start a new line in the question. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : stringifyJson(value ?? null);
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
