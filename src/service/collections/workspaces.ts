import { ApiError } from '../../contract/errors.ts';
import { DEFAULT_WORKSPACE, type Workspace } from '../../contract/workspaces.ts';
import type { Change } from '../../engine/engine.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { byName, childrenOf, collectionsOf, parentOf, requireWorkspace } from '../catalog/not-found.ts';
import type { WorkspaceRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { refuseWithDependents } from './dependents.ts';

/** The changes that create a workspace. */
export function workspaceChanges(record: WorkspaceRecord): Change[] {
  return [put('workspace', record.name, record), { do: 'createWorkspace', workspace: record.name }];
}

/** Creates a workspace (docs/api.md #58). Throws `already_exists`, or `not_found` for the parent of `a.b`. */
export function createWorkspace(
  ctx: CallContext,
  input: { name: string; description?: string | undefined },
): Promise<Workspace> {
  const { catalog } = ctx;
  return catalog.change(() => {
    const taken = foldedMatch(catalog.all('workspace').keys(), input.name);
    if (taken !== undefined) {
      throw new ApiError(
        'already_exists',
        `Cannot create workspace "${input.name}": ${takenBecause('workspace', input.name, taken)}`,
      );
    }
    const parent = parentOf(input.name);
    if (parent !== undefined && !catalog.all('workspace').has(parent)) {
      throw new ApiError(
        'not_found',
        `Cannot create workspace "${input.name}": its parent does not exist. Workspace with name "${parent}" does not exist. Create it first.`,
        { messageKey: 'WORKSPACE_NOT_FOUND' },
      );
    }
    const record: WorkspaceRecord = {
      name: input.name,
      description: input.description ?? null,
      createdAt: new Date().toISOString(),
      createdBy: ctx.caller.user.email,
    };
    return { changes: workspaceChanges(record), result: toWorkspace(catalog, record) };
  });
}

/** Deletes an empty workspace (docs/api.md #59). Throws `not_found`, `dependent_resources`; `commons` cannot be deleted. */
export function deleteWorkspace({ catalog }: CallContext, input: { workspace: string }): Promise<Workspace> {
  return catalog.change(() => {
    const record = requireWorkspace(catalog, input.workspace);
    if (record.name === DEFAULT_WORKSPACE) {
      throw new ApiError(
        'invalid_input',
        `Cannot delete workspace "${record.name}": it is the default workspace and always exists. Delete its collections instead.`,
      );
    }
    refuseWithDependents(catalog, 'workspace', record.name);
    const changes: Change[] = [remove('workspace', record.name), { do: 'dropWorkspace', workspace: record.name }];
    return { changes, result: toWorkspace(catalog, record) };
  });
}

/** One workspace (docs/api.md #60). */
export function getWorkspace({ catalog }: CallContext, input: { workspace: string }): Workspace {
  return toWorkspace(catalog, requireWorkspace(catalog, input.workspace));
}

/** All workspaces, by name (docs/api.md #61). */
export function listWorkspaces({ catalog }: CallContext): Workspace[] {
  return [...catalog.all('workspace').values()].sort(byName).map((record) => toWorkspace(catalog, record));
}

/** The direct children of a workspace, by name (docs/api.md #62). */
export function listChildWorkspaces({ catalog }: CallContext, input: { workspace: string }): Workspace[] {
  const parent = requireWorkspace(catalog, input.workspace);
  return childrenOf(catalog, parent.name).map((record) => toWorkspace(catalog, record));
}

/** The name among `names` that equals `name` but for letter case, which SQL ignores. */
export function foldedMatch(names: Iterable<string>, name: string): string | undefined {
  const folded = name.toLowerCase();
  for (const other of names) if (other.toLowerCase() === folded) return other;
  return undefined;
}

/** Why `name` cannot be used, given the existing `taken`, and what to do. */
export function takenBecause(noun: string, name: string, taken: string): string {
  return taken === name
    ? 'it exists already. Use it, or choose another name.'
    : `${noun} "${taken}" exists, and SQL does not tell names apart that differ only in case. Use it, or choose another name.`;
}

function toWorkspace(catalog: Catalog, record: WorkspaceRecord): Workspace {
  return {
    created_at: record.createdAt,
    created_by: record.createdBy,
    name: record.name,
    description: record.description,
    collection_count: collectionsOf(catalog, record.name).length,
  };
}
