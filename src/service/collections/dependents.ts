import { ApiError } from '../../contract/errors.ts';
import { someOf } from '../../contract/in-words.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { aliasesOf, childrenOf, collectionKey, collectionsOf } from '../catalog/not-found.ts';
import type { AliasRecord, CollectionRecord, LambdaRecord } from '../catalog/records.ts';
import { isFile } from '../ingest/sources.ts';
import { lambdasNaming, lambdasOf, versionsOf } from '../lambdas/lambda-records.ts';

/** What others may depend on. */
export type Subject = 'workspace' | 'collection' | 'alias' | 'integration';

/**
 * Lists what would break if the subject with that name were deleted, as `noun "name"`. Collections and aliases have
 * their full name, `workspace.name`.
 */
type Rule = (catalog: Catalog, name: string) => string[];

const LISTED_MAX = 20;

/** Who depends on what. A noun that refers to others, or belongs to a workspace, adds its rule to each of them. */
const RULES: Readonly<Record<Subject, readonly Rule[]>> = {
  workspace: [
    (catalog, name) => collectionsOf(catalog, name).map((one) => `collection "${one.name}"`),
    (catalog, name) => aliasesOf(catalog, name).map((one) => `alias "${one.name}"`),
    (catalog, name) => lambdasOf(catalog, name).map((one) => `Query Lambda "${one.name}"`),
    (catalog, name) => childrenOf(catalog, name).map((one) => `workspace "${one.name}"`),
  ],
  collection: [
    (catalog, name) => aliasesNaming(catalog, name).map((one) => `alias "${one.workspace}.${one.name}"`),
    lambdaDependents,
  ],
  alias: [lambdaDependents],
  integration: [
    (catalog, name) =>
      collectionsUsing(catalog, name).map((one) => `collection "${collectionKey(one.workspace, one.name)}"`),
  ],
};

function byCollection(aliases: ReadonlyMap<string, AliasRecord>): Map<string, Set<AliasRecord>> {
  const found = new Map<string, Set<AliasRecord>>();
  for (const [, alias] of [...aliases].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const one of alias.collections) found.set(one, (found.get(one) ?? new Set()).add(alias));
  }
  return found;
}

/** The aliases of a collection, by full name; `collection` is fully qualified. */
export function aliasesNaming(catalog: Catalog, collection: string): AliasRecord[] {
  return [...(catalog.derived('alias', byCollection).get(collection) ?? [])];
}

function byIntegration(collections: ReadonlyMap<string, CollectionRecord>): Map<string, Set<CollectionRecord>> {
  const found = new Map<string, Set<CollectionRecord>>();
  for (const [, collection] of [...collections].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const source of collection.sources) {
      if (isFile(source)) continue;
      const { integrationName } = source;
      found.set(integrationName, (found.get(integrationName) ?? new Set()).add(collection));
    }
  }
  return found;
}

/** The collections that ingest through an integration, by full name. */
export function collectionsUsing(catalog: Catalog, integration: string): CollectionRecord[] {
  return [...(catalog.derived('collection', byIntegration).get(integration) ?? [])];
}

/** All versions count: an older one with a tag can be run as well as the latest. */
function lambdaDependents(catalog: Catalog, name: string): string[] {
  return lambdasNaming(catalog, [name]).map((one) => `Query Lambda "${one.workspace}.${one.name}"`);
}

/**
 * The Query Lambdas that read a collection by its own name or by one of its aliases; with `keys`, only those whose SQL
 * contains one of them or a `*`.
 */
export function lambdasReading(
  catalog: Catalog,
  { workspace, name }: CollectionRecord,
  keys?: readonly string[],
): LambdaRecord[] {
  const key = collectionKey(workspace, name);
  const aliases = aliasesNaming(catalog, key).map((one) => collectionKey(one.workspace, one.name));
  const reading = [...new Set([key, ...aliases].flatMap((one) => lambdasNaming(catalog, [one])))];
  if (keys === undefined) return reading;
  const sought = ['*', ...keys.map((one) => one.toLowerCase())];
  return reading.filter((lambda) =>
    versionsOf(catalog, lambda).some(({ query }) => sought.some((one) => query.toLowerCase().includes(one))),
  );
}

/** What depends on a subject, as `noun "name"`; empty if it may be deleted. */
function dependentsOf(catalog: Catalog, subject: Subject, name: string): string[] {
  return RULES[subject].flatMap((rule) => rule(catalog, name));
}

/** Throws `dependent_resources`, listing them, if anything depends on the subject. To be called before a deletion. */
export function refuseWithDependents(catalog: Catalog, subject: Subject, name: string): void {
  const dependents = dependentsOf(catalog, subject, name);
  if (dependents.length === 0) return;
  const list = someOf(dependents, LISTED_MAX);
  throw new ApiError(
    'dependent_resources',
    subject === 'workspace'
      ? `Cannot delete workspace "${name}": it is not empty, it holds ${list}. Delete these first.`
      : `Cannot delete ${subject} "${name}": it is used by ${list}. Change or delete these first.`,
  );
}
