import { randomUUID } from 'node:crypto';
import { DEFAULT_WORKSPACE } from '../../contract/workspaces.ts';
import type { Change } from '../../engine/engine.ts';
import { ADMIN_EMAIL } from '../access/admin-key.ts';
import { workspaceChanges } from '../collections/workspaces.ts';
import { DEFAULT_SIZE } from '../compute/sizes.ts';
import { type Catalog, put, SCHEMA_VERSION } from './catalog.ts';
import { SELF } from './records.ts';

/**
 * Creates what always exists (the organization, its virtual instance, the admin, `commons`), and counts this start.
 * Resolves to the count.
 */
export function prepareMetadata(catalog: Catalog): Promise<number> {
  return catalog.change(() => {
    const createdAt = new Date().toISOString();
    const count = nextStart(catalog);
    const changes: Change[] = [put('starts', SELF, { count })];
    if (!catalog.all('schema').has(SELF)) changes.push(put('schema', SELF, { version: SCHEMA_VERSION }));
    if (!catalog.all('organization').has(SELF)) {
      changes.push(put('organization', SELF, { id: randomUUID(), createdAt, displayName: 'local' }));
    }
    if (!catalog.all('virtualInstance').has(SELF)) {
      const instance = { id: randomUUID(), createdAt, createdBy: ADMIN_EMAIL, size: DEFAULT_SIZE };
      changes.push(put('virtualInstance', SELF, instance));
    }
    if (!catalog.all('user').has(ADMIN_EMAIL)) {
      const admin = { email: ADMIN_EMAIL, createdAt, roles: ['admin' as const] };
      changes.push(put('user', ADMIN_EMAIL, { ...admin, state: 'NEW', inviteState: 'PENDING' }));
    }
    if (!catalog.all('workspace').has(DEFAULT_WORKSPACE)) {
      const description = 'default workspace';
      changes.push(...workspaceChanges({ name: DEFAULT_WORKSPACE, description, createdAt, createdBy: ADMIN_EMAIL }));
    }
    return { changes, result: count };
  });
}

function nextStart(catalog: Catalog): number {
  return (catalog.all('starts').get(SELF)?.count ?? 0) + 1;
}

/** The number of this start, if it is all that is missing in the metadata; otherwise undefined. */
export function startToCount(catalog: Catalog): number | undefined {
  const isPrepared =
    catalog.all('schema').has(SELF) &&
    catalog.all('organization').has(SELF) &&
    catalog.all('user').has(ADMIN_EMAIL) &&
    catalog.all('workspace').has(DEFAULT_WORKSPACE);
  return isPrepared ? nextStart(catalog) : undefined;
}

/**
 * Generates the `last_offset` of each write: the number of the start and that of the write, padded so that they sort as
 * text. Without a clock, so that it always grows. `count` stores the start's number if that is still to be done; it is
 * tried at each write until it succeeds.
 */
export function createOffsets(start: number, count?: () => Promise<unknown>): () => string {
  let writes = 0;
  let counting = count;
  return () => {
    writes += 1;
    const attempt = counting;
    counting = undefined;
    attempt?.().catch(() => {
      counting = attempt;
    });
    return `${String(start).padStart(8, '0')}:${String(writes).padStart(12, '0')}`;
  };
}
