import { ApiError } from '../../contract/errors.ts';
import { foldedMatch, takenBecause } from '../collections/workspaces.ts';
import type { Catalog } from './catalog.ts';
import { aliasesOf, collectionsOf } from './not-found.ts';

/** What `workspace.name` refers to in SQL. */
type Noun = 'collection' | 'alias';

/**
 * Throws `already_exists` if a collection or alias of the workspace already has that name. Both kinds count, since SQL
 * uses them alike, and letter case does not, since SQL ignores it.
 */
export function requireFreeName(catalog: Catalog, noun: Noun, workspace: string, name: string): void {
  const taken = {
    collection: foldedMatch(
      collectionsOf(catalog, workspace).map((one) => one.name),
      name,
    ),
    alias: foldedMatch(
      aliasesOf(catalog, workspace).map((one) => one.name),
      name,
    ),
  };
  const other: Noun = noun === 'collection' ? 'alias' : 'collection';
  const what = `Cannot create ${noun} "${name}" in workspace "${workspace}"`;
  if (taken[noun] !== undefined) {
    throw new ApiError('already_exists', `${what}: ${takenBecause(noun, name, taken[noun])}`);
  }
  if (taken[other] !== undefined) {
    throw new ApiError(
      'already_exists',
      `${what}: the ${other} "${taken[other]}" has that name, and SQL could not tell them apart. Choose another name.`,
    );
  }
}
