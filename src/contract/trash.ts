import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

const TRASH_KINDS = ['collection', 'documents', 'lambda', 'lambda_version'] as const;

/** Something that was deleted and can be restored. */
export const TrashEntry = resource({
  id: z.string(),
  kind: z.enum(TRASH_KINDS),
  workspace: z.string(),
  name: z.string().describe('Of documents: their collection; of a version: lambda::version'),
  deleted_at: Timestamp,
  deleted_by: z.string().describe('E-mail'),
  expires_at: Timestamp.describe('When it is removed for good'),
  documents: z.number().describe('Null where it holds none'),
  ids: z.array(z.string()).describe('The _id of some of these documents'),
  bytes: z.number().describe('Space that it takes, estimated'),
});
export type TrashEntry = z.infer<typeof TrashEntry>;

export const RestoredEntry = resource({
  id: z.string(),
  kind: z.enum(TRASH_KINDS),
  workspace: z.string(),
  name: z.string(),
  documents: z.number().describe('Documents brought back; null where it held none'),
  skipped: z.number().describe('Documents that stay in the trash: their _id exists again'),
  skipped_ids: z.array(z.string()).describe('A hundred of these at most'),
  past_retention: z.number().describe('Others that stay there: no query would see them'),
  warnings: z.array(z.string()).describe('As of a write'),
});
export type RestoredEntry = z.infer<typeof RestoredEntry>;

export const EmptiedTrash = resource({ entries: z.number(), bytes: z.number() });
export type EmptiedTrash = z.infer<typeof EmptiedTrash>;

/**
 * A call with this header learns where what it deletes goes: the answer then has `trash` beside its other fields. Other
 * services ignore the header.
 */
export const TRASH_HEADER = 'x-colloquy-trash';
export const Trashed = z.object({ id: z.string(), expires_at: Timestamp });
export type Trashed = z.infer<typeof Trashed>;

const params = z.object({ id: z.string().min(1).describe('Id of the entry') });
const path = '/v1/colloquy/trash';

/** For the operator, at the service's machine: there are no tools for these rows. */
export const trash = {
  listTrash: {
    method: 'GET',
    path,
    title: 'List the trash',
    summary: 'What was deleted and can be restored, newest first.',
    effect: 'read',
    role: 'admin',
    localOnly: true,
    result: z.array(TrashEntry),
  },
  restoreTrash: {
    method: 'POST',
    path: `${path}/{id}/restore`,
    title: 'Restore from the trash',
    summary: 'Bring back what was deleted. Nothing that exists is overwritten.',
    effect: 'create',
    role: 'admin',
    localOnly: true,
    params,
    result: RestoredEntry,
  },
  removeTrash: {
    method: 'DELETE',
    path: `${path}/{id}`,
    title: 'Remove from the trash',
    summary: 'Remove one entry of the trash for good.',
    effect: 'delete',
    role: 'admin',
    localOnly: true,
    params,
    result: TrashEntry,
  },
  emptyTrash: {
    method: 'DELETE',
    path,
    title: 'Empty the trash',
    summary: 'Remove everything in the trash for good.',
    effect: 'delete',
    role: 'admin',
    localOnly: true,
    result: EmptiedTrash,
  },
} as const satisfies Contract;
