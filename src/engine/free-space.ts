import { statfs } from 'node:fs/promises';
import { ApiError } from '../contract/errors.ts';

/** So much of the disk is left for what is stored. */
const FREE_BYTES_MIN = 128 * 1024 * 1024;

/**
 * To be awaited now and then by what writes files of any size beside the database. Rejects `storage_full` if the disk of a
 * folder has too little space; `what` completes "Cannot …".
 */
export async function requireSpace(folder: string, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= FREE_BYTES_MIN) return;
  throw new ApiError(
    'storage_full',
    `Cannot ${what}: the disk of the data folder has less than ${FREE_BYTES_MIN / 1024 / 1024} MiB left, which are for what is stored. Free some space there and try again.`,
  );
}
