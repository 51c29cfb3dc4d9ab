import { ApiError } from '../../contract/errors.ts';
import { someOf } from '../../contract/in-words.ts';
import { nearest } from '../../contract/nearest.ts';
import { cut } from '../../contract/text.ts';
import type { Catalog } from './catalog.ts';
import type {
  AliasRecord,
  AllowlistRecord,
  ApiKeyRecord,
  CollectionRecord,
  IntegrationRecord,
  RecordOf,
  UserRecord,
  VirtualInstanceRecord,
  WorkspaceRecord,
} from './records.ts';
import { SELF } from './records.ts';

const NAME_SHOWN_MAX = 200;
const LISTED_MAX = 5;

/** The workspace with that name. Throws `not_found`, with the nearest names. */
export function requireWorkspace(catalog: Catalog, name: string): WorkspaceRecord {
  const workspaces = catalog.all('workspace');
  const workspace = workspaces.get(name);
  if (workspace !== undefined) return workspace;
  throw new ApiError(
    'not_found',
    `Workspace with name "${shortened(name)}" does not exist${didYouMean(name, workspaces.keys())}`,
    { messageKey: 'WORKSPACE_NOT_FOUND' },
  );
}

/** The collection with that name. Throws `not_found` for it or for its workspace. */
export function requireCollection(catalog: Catalog, workspace: string, name: string): CollectionRecord {
  const collection = findCollection(catalog, workspace, name);
  if (collection !== undefined) return collection;
  requireWorkspace(catalog, workspace);
  const names = collectionsOf(catalog, workspace).map((other) => other.name);
  const alias = findAlias(catalog, workspace, name);
  const hint = alias === undefined ? didYouMean(name, names) : `. It is an alias there: ${standsFor(alias)}`;
  throw new ApiError('not_found', `Collection "${shortened(name)}" does not exist in workspace "${workspace}"${hint}`, {
    messageKey: 'COLLECTION_DOES_NOT_EXIST',
  });
}

/** The user with that e-mail, in any letter case. */
export function findUser(catalog: Catalog, email: string): UserRecord | undefined {
  const users = catalog.all('user');
  const folded = email.toLowerCase();
  return users.get(email) ?? [...users.values()].find((user) => user.email.toLowerCase() === folded);
}

/** Like `findUser`, but throws `not_found`. */
export function requireUser(catalog: Catalog, email: string): UserRecord {
  const user = findUser(catalog, email);
  if (user !== undefined) return user;
  const hint = didYouMean(email, catalog.all('user').keys());
  throw new ApiError('not_found', `User "${shortened(email)}" does not exist${hint}`, { messageKey: 'USER_NOT_FOUND' });
}

export function keysOf(catalog: Catalog, email: string): ApiKeyRecord[] {
  return [...catalog.all('apiKey').values()].filter((key) => key.user === email);
}

/** The key with that name; throws `not_found`. */
export function requireApiKey(catalog: Catalog, email: string, name: string): ApiKeyRecord {
  const keys = keysOf(catalog, email);
  const key = keys.find((one) => one.name === name);
  if (key !== undefined) return key;
  const names = keys.map((one) => one.name);
  throw new ApiError(
    'not_found',
    `API key "${shortened(name)}" of user "${email}" does not exist${didYouMean(name, names)}`,
    { messageKey: 'API_KEY_NOT_FOUND' },
  );
}

/** The allowlist entry with that name; throws `not_found`. */
export function requireAllowlistEntry(catalog: Catalog, name: string): AllowlistRecord {
  const entries = catalog.all('allowlist');
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  throw new ApiError(
    'not_found',
    `Entry "${shortened(name)}" of the IP allowlist does not exist${didYouMean(name, entries.keys())}`,
    { messageKey: 'ALLOWLIST_ENTRY_NOT_FOUND' },
  );
}

/** The integration with that name; throws `not_found`. */
export function requireIntegration(catalog: Catalog, name: string): IntegrationRecord {
  const integrations = catalog.all('integration');
  const integration = integrations.get(name);
  if (integration !== undefined) return integration;
  const hint = didYouMean(name, integrations.keys()) || '.';
  throw new ApiError('not_found', `Integration "${shortened(name)}" not found${hint}`, {
    messageKey: 'INTEGRATION_NOT_FOUND',
  });
}

/** A clause that lists an alias' collections, so that a caller can use these instead. */
export function standsFor(alias: AliasRecord): string {
  const names = alias.collections.map((one) => `"${one}"`);
  return `it stands for ${someOf(names, LISTED_MAX)}.`;
}

/** The alias with that name. Throws `not_found` for it or for its workspace. */
export function requireAlias(catalog: Catalog, workspace: string, name: string): AliasRecord {
  const alias = findAlias(catalog, workspace, name);
  if (alias !== undefined) return alias;
  requireWorkspace(catalog, workspace);
  const names = aliasesOf(catalog, workspace).map((other) => other.name);
  const isCollection = findCollection(catalog, workspace, name) !== undefined;
  const hint = isCollection ? '. It is a collection there.' : didYouMean(name, names);
  throw new ApiError('not_found', `Alias "${shortened(name)}" does not exist in workspace "${workspace}"${hint}`, {
    messageKey: 'ALIAS_NOT_FOUND',
  });
}

/** The collection with that name, if there is one. */
// The key alone is ambiguous: "b.c" in "a" and "c" in "a.b" have the same.
export function findCollection(catalog: Catalog, workspace: string, name: string): CollectionRecord | undefined {
  const collection = catalog.all('collection').get(collectionKey(workspace, name));
  return collection?.workspace === workspace ? collection : undefined;
}

function findAlias(catalog: Catalog, workspace: string, name: string): AliasRecord | undefined {
  const alias = catalog.all('alias').get(collectionKey(workspace, name));
  return alias?.workspace === workspace ? alias : undefined;
}

/** The key of the record of a collection or alias, which is also its fully qualified name. */
export function collectionKey(workspace: string, name: string): string {
  return `${workspace}.${name}`;
}

/** The kinds of records that belong to a workspace and have a name there. */
type KindInWorkspace = 'collection' | 'alias' | 'lambda';

function byWorkspace<T extends { workspace: string; name: string }>(records: ReadonlyMap<string, T>): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const record of [...records.values()].sort(byName)) {
    const others = found.get(record.workspace);
    if (others === undefined) found.set(record.workspace, [record]);
    else others.push(record);
  }
  return found;
}

/** The records directly in a workspace, by name. */
export function recordsIn<K extends KindInWorkspace>(catalog: Catalog, kind: K, workspace: string): RecordOf<K>[] {
  return [...(catalog.derived(kind, byWorkspace<RecordOf<K>>).get(workspace) ?? [])];
}

/** The records of all workspaces, by workspace and name. */
export function recordsOfAll<K extends KindInWorkspace>(catalog: Catalog, kind: K): RecordOf<K>[] {
  const found = catalog.derived(kind, byWorkspace<RecordOf<K>>);
  return [...found.keys()].sort().flatMap((workspace) => found.get(workspace) ?? []);
}

function byFoldedKey(records: ReadonlyMap<string, unknown>): Map<string, string> {
  return new Map([...records.keys()].map((key) => [key.toLowerCase(), key]));
}

/** A collection's or alias' full name in its current spelling; undefined if there is none of that name. */
export function spelledNow(catalog: Catalog, name: string): string | undefined {
  if (catalog.all('collection').has(name) || catalog.all('alias').has(name)) return name;
  const folded = name.toLowerCase();
  return catalog.derived('collection', byFoldedKey).get(folded) ?? catalog.derived('alias', byFoldedKey).get(folded);
}

/** The collections directly in a workspace, by name. */
export function collectionsOf(catalog: Catalog, workspace: string): CollectionRecord[] {
  return recordsIn(catalog, 'collection', workspace);
}

/** The aliases directly in a workspace, by name. */
export function aliasesOf(catalog: Catalog, workspace: string): AliasRecord[] {
  return recordsIn(catalog, 'alias', workspace);
}

/** The direct children of a workspace, by name. */
export function childrenOf(catalog: Catalog, workspace: string): WorkspaceRecord[] {
  return [...catalog.all('workspace').values()].filter((one) => parentOf(one.name) === workspace).sort(byName);
}

/** The name of the workspace that contains `a.b`; undefined at the top level. */
export function parentOf(workspace: string): string | undefined {
  const dot = workspace.lastIndexOf('.');
  return dot === -1 ? undefined : workspace.slice(0, dot);
}

/** The only virtual instance, by its id or its name; throws `not_found` for another one. */
export function requireVirtualInstance(catalog: Catalog, id?: string): VirtualInstanceRecord {
  const record = catalog.all('virtualInstance').get(SELF);
  if (record === undefined) throw new ApiError('internal', 'The metadata holds no virtual instance.');
  if (id === undefined || [record.id, 'main'].includes(id.toLowerCase())) return record;
  throw new ApiError(
    'not_found',
    `Virtual instance "${shortened(id)}" does not exist. The one of this service, "main", is "${record.id}".`,
    { messageKey: 'VIRTUAL_INSTANCE_NOT_FOUND' },
  );
}

export function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : Number(a.name > b.name);
}

/** A name for a message, cut: no real name is longer than 128 characters. */
export function shortened(name: string): string {
  return cut(name, NAME_SHOWN_MAX);
}

/** Text to append to a sentence without full stop. Clients look for it, so nothing is appended if no name is close. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const close = nearest(name, candidates).map((candidate) => `"${candidate}"`);
  return close.length === 0 ? '' : `. Did you mean ${close.join(' or ')}?`;
}
