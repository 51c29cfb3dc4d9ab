import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import { requireSpace } from '../../engine/engine.ts';

/** Bytes between two looks at the room that is left. */
const CHECK_BYTES = 32 * 1024 * 1024;

/** A file that the engine is about to read. */
export interface SpoolFile {
  readonly path: string;
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** The files of one load, which nobody else may read: all of them go with it. */
export interface Spool {
  create(): Promise<SpoolFile>;
  remove(): Promise<void>;
}

/** Files in the engine's spool folder. A full disk is `storage_full`. */
export function createSpool(folder: string): Spool {
  const files: { handle: FileHandle; path: string }[] = [];
  let unchecked = CHECK_BYTES;
  return {
    async create() {
      await guarded(() => mkdir(folder, { recursive: true, mode: 0o700 }));
      const path = join(folder, randomUUID());
      const handle = await guarded(() => open(path, 'wx', 0o600));
      files.push({ handle, path });
      return {
        path,
        write: async (bytes) => {
          unchecked += bytes.length;
          if (unchecked > CHECK_BYTES) {
            unchecked = 0;
            await requireSpace(folder, 'load the file');
          }
          await guarded(() => writeAll(handle, bytes));
        },
        close: () => guarded(() => handle.close()),
      };
    },
    async remove() {
      for (const { handle, path } of files.splice(0)) {
        await handle.close().catch(() => undefined);
        await rm(path, { force: true });
      }
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isOutOfSpace(error)) throw error;
    throw new ApiError(
      'storage_full',
      'Cannot load the file: the disk of the data folder is full. Free some space there and try again.',
      { cause: error },
    );
  }
}
