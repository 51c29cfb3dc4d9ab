import { dirname, resolve } from 'node:path';
import { version } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import { type Engine, NOT_SHARED } from '../engine.ts';
import { compose, type EngineParts } from './compose.ts';
import { endProcess } from './connections/end-process.ts';
import { foldersIn } from './connections/folders.ts';
import { createLocks } from './connections/locks.ts';
import { type EngineOptions, partsOf } from './parts.ts';
import { FileStore } from './storage/file-store.ts';
import { createCatalog, loadCatalog } from './tables/catalog.ts';
import { copyStored, syncCopy } from './tables/copy.ts';
import { createSchema } from './tables/stored-schema.ts';

export interface OpenOptions extends EngineOptions {
  /** Path of the database file; it and its folder are created if they do not exist. */
  file: string;
}

export { endProcess };
/** Of the engine's own program. */
export const engineVersion = version;

/** Files open in this process: the lock on a file keeps out only other processes. */
const openFiles = new Set<string>();

/**
 * Opens the engine on a database file.
 *
 * Rejects `not_ready` when the file is already open, here or in another process (which the message names),
 * `storage_full` when there is no space to open it, and `internal` when it cannot be read or written, is damaged,
 * or comes from a later version.
 */
export async function openEngine(options: OpenOptions): Promise<Engine> {
  const file = resolve(options.file);
  if (openFiles.has(file)) {
    throw new ApiError('not_ready', `Cannot open the database ${JSON.stringify(file)}: this process has it open.`);
  }
  openFiles.add(file);
  try {
    return await openFile(file, partsOf(options));
  } catch (error) {
    openFiles.delete(file);
    throw error;
  }
}

async function openFile(file: string, parts: EngineParts): Promise<Engine> {
  const { limits, log } = parts;
  const catalog = createCatalog();
  const store = await FileStore.open({
    file,
    limits,
    log,
    async load(transaction, isReadOnly) {
      if (!isReadOnly) await createSchema(transaction);
      await loadCatalog(catalog, transaction);
    },
  });
  // Its folders only now: until the file is open it may be another process that reads these.
  const home = {
    store,
    catalog,
    locks: createLocks(),
    folders: foldersIn(dirname(file)),
    sharing: { ...NOT_SHARED, onRows: () => undefined },
    async copyTo(...[folder, options = {}]: Parameters<Engine['copyTo']>) {
      const copy = await store.still((sql, reader) => copyStored({ file, sql, reader }, folder, options));
      await syncCopy(folder, copy.files);
      return copy;
    },
    closed: () => openFiles.delete(file),
  };
  return compose(home, parts);
}
