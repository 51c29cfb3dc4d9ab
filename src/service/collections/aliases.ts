import type { Alias } from '../../contract/aliases.ts';
import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Change } from '../../engine/engine.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import {
  aliasesOf,
  collectionKey,
  recordsOfAll,
  requireAlias,
  requireCollection,
  requireWorkspace,
  standsFor,
} from '../catalog/not-found.ts';
import type { AliasRecord } from '../catalog/records.ts';
import { requireFreeName } from '../catalog/table-names.ts';
import type { CallContext } from '../context.ts';
import { brokenLambdas } from '../lambdas/broken.ts';
import { aliasesNaming, refuseWithDependents } from './dependents.ts';

/** Every query of an alias plans a part for each of its collections; for this many that takes a quarter of a second. */
const COLLECTIONS_MAX = 1_000;

/**
 * Creates a name for one or more collections (docs/api.md #12). Throws `not_found` for the workspace or a collection,
 * `already_exists`, or `invalid_input` for collections that are repeated, not `workspace.collection`, or aliases.
 */
export function createAlias(ctx: CallContext, input: ParsedInput<'createAlias'>): Promise<Alias> {
  const { catalog } = ctx;
  return catalog.change(() => {
    const workspace = requireWorkspace(catalog, input.workspace).name;
    const what = `Cannot create alias "${input.name}" in workspace "${workspace}"`;
    requireFreeName(catalog, 'alias', workspace, input.name);
    const tables = tablesOf(catalog, what, workspace, input.collections);
    const createdAt = new Date().toISOString();
    const record: AliasRecord = {
      name: input.name,
      workspace,
      description: input.description ?? null,
      createdAt,
      createdBy: ctx.caller.user.email,
      modifiedAt: createdAt,
      collections: input.collections,
    };
    return { changes: putChanges(record, tables), result: toAlias(record) };
  });
}

/**
 * Points an alias at other collections (docs/api.md #13); a query sees either the old or the new ones. Without a new
 * description the old one stays. `warnings` name the Query Lambdas that do not bind with the new ones. Throws like
 * `createAlias`.
 */
export async function updateAlias(ctx: CallContext, input: ParsedInput<'updateAlias'>): Promise<Alias> {
  const { catalog } = ctx;
  const record = await catalog.change(() => {
    const before = requireAlias(catalog, input.workspace, input.alias);
    const what = `Cannot update alias "${before.name}" in workspace "${before.workspace}"`;
    const tables = tablesOf(catalog, what, before.workspace, input.collections);
    const changed: AliasRecord = {
      ...before,
      description: input.description ?? before.description,
      collections: input.collections,
      modifiedAt: momentAfter(before.modifiedAt),
    };
    return { changes: putChanges(changed, tables), result: changed };
  });
  const warnings = await brokenLambdas(ctx, collectionKey(record.workspace, record.name));
  return { ...toAlias(record), ...(warnings.length === 0 ? {} : { warnings }) };
}

/** Deletes an alias (docs/api.md #14), but not its collections. Throws `not_found`, `dependent_resources`. */
export function deleteAlias({ catalog }: CallContext, input: { workspace: string; alias: string }): Promise<Alias> {
  return catalog.change(() => {
    const record = requireAlias(catalog, input.workspace, input.alias);
    const key = collectionKey(record.workspace, record.name);
    refuseWithDependents(catalog, 'alias', key);
    const changes: Change[] = [
      remove('alias', key),
      { do: 'dropAlias', workspace: record.workspace, name: record.name },
    ];
    return { changes, result: { ...toAlias(record), state: 'DELETED' } };
  });
}

/** One alias (docs/api.md #15). */
export function getAlias({ catalog }: CallContext, input: { workspace: string; alias: string }): Alias {
  return toAlias(requireAlias(catalog, input.workspace, input.alias));
}

/** The aliases of all workspaces, by workspace and name (docs/api.md #17). */
export function listAliases({ catalog }: CallContext): Alias[] {
  return recordsOfAll(catalog, 'alias').map(toAlias);
}

/** The aliases of one workspace, by name (docs/api.md #18). */
export function listWorkspaceAliases({ catalog }: CallContext, input: { workspace: string }): Alias[] {
  return aliasesOf(catalog, requireWorkspace(catalog, input.workspace).name).map(toAlias);
}

/** The aliases of a collection, in whatever workspace, by full name (docs/api.md #22). */
export function listCollectionAliases(
  { catalog }: CallContext,
  input: { workspace: string; collection: string },
): Alias[] {
  const { workspace, name } = requireCollection(catalog, input.workspace, input.collection);
  return aliasesNaming(catalog, collectionKey(workspace, name)).map(toAlias);
}

/** An alias as the API returns it. */
export function toAlias(record: AliasRecord): Alias {
  return {
    name: record.name,
    description: record.description,
    workspace: record.workspace,
    creator_email: record.createdBy,
    collections: record.collections,
    state: 'CREATED',
    created_at: record.createdAt,
    modified_at: record.modifiedAt,
  };
}

function putChanges(record: AliasRecord, tables: readonly string[]): Change[] {
  const { workspace, name } = record;
  return [put('alias', collectionKey(workspace, name), record), { do: 'putAlias', workspace, name, tables }];
}

/** The engine's tables of fully qualified collections, in order; `what` begins the messages. */
function tablesOf(catalog: Catalog, what: string, workspace: string, collections: readonly string[]): string[] {
  if (collections.length > COLLECTIONS_MAX) {
    throw new ApiError(
      'invalid_input',
      `${what}: "collections" has ${collections.length} entries, and an alias stands for at most ${COLLECTIONS_MAX}. Name fewer.`,
    );
  }
  const seen = new Set<string>();
  return collections.map((name, index) => {
    const place = `${what}: "collections[${index}]"`;
    if (seen.has(name)) {
      throw new ApiError('invalid_input', `${place} is "${name}", which is named before. Name each collection once.`);
    }
    seen.add(name);
    return tableOf(catalog, place, workspace, name);
  });
}

function tableOf(catalog: Catalog, place: string, workspace: string, name: string): string {
  const dot = name.lastIndexOf('.');
  if (dot < 1 || dot === name.length - 1) {
    throw new ApiError(
      'invalid_input',
      `${place} is "${name}", expected workspace.collection. Write it like "${workspace}.${name.slice(dot + 1) || 'orders'}".`,
    );
  }
  const alias = catalog.all('alias').get(name);
  if (alias !== undefined) {
    throw new ApiError(
      'invalid_input',
      `${place} is "${name}", which is an alias, and an alias stands for collections only. Name its collections instead: ${standsFor(alias)}`,
    );
  }
  try {
    return requireCollection(catalog, name.slice(0, dot), name.slice(dot + 1)).table;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A missing workspace counts as a missing collection here: the workspace that the request itself names does exist.
    const details = { ...error.details, messageKey: 'COLLECTION_DOES_NOT_EXIST', cause: error };
    throw new ApiError(error.code, `${place} is "${name}". ${error.message}`, details);
  }
}

/** The current time, but at least a millisecond after `before`. */
function momentAfter(before: string): string {
  return new Date(Math.max(Date.now(), Date.parse(before) + 1)).toISOString();
}
