import * as z from 'zod';
import { resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';

export const Backup = resource({
  path: z.string().describe('Its folder'),
  created_at: Timestamp,
  bytes: z.number(),
  files: z.array(z.string()),
  collections: z.number().describe('Without those in the trash'),
  documents: z.number().describe('In these collections'),
  trashed_documents: z.number().describe('In the trash, in collections or by themselves'),
});
export type Backup = z.infer<typeof Backup>;

/** A backup that is being made. */
export const RunningBackup = resource({
  path: z.string(),
  step: z.enum(['wait', 'copy', 'check']).describe('Waiting for writes, copying (writes wait), reading it again'),
  done_bytes: z.number().describe('Of this step'),
  total_bytes: z.number(),
});
export type RunningBackup = z.infer<typeof RunningBackup>;

const path = '/v1/colloquy/backups';

/** For the operator, at the service's machine: there are no tools for these rows. */
export const backups = {
  createBackup: {
    method: 'POST',
    path,
    title: 'Make a backup',
    summary:
      'Copy all that is stored, with its keys, into a new folder, as of one moment. Reading goes on, writes wait.',
    effect: 'create',
    role: 'admin',
    localOnly: true,
    body: z.object({ path: z.string().min(1).describe('Absolute path of a folder that does not exist') }),
    result: Backup,
  },
  listRunningBackups: {
    method: 'GET',
    path,
    title: 'List running backups',
    summary: 'The backups that are being made now.',
    effect: 'read',
    role: 'admin',
    localOnly: true,
    result: z.array(RunningBackup),
  },
} as const satisfies Contract;
