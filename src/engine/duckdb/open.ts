import { availableParallelism, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { version } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import type { Engine, EngineLimits, GiveUp } from '../engine.ts';
import type { Log } from '../log.ts';
import { compose } from './compose.ts';
import { endProcess } from './connections/end-process.ts';
import { foldersIn } from './connections/folders.ts';
import { createLocks } from './connections/locks.ts';
import type { ShortcutName } from './shortcuts/shortcuts.ts';
import { FileStore } from './storage/file-store.ts';
import { createCatalog, loadCatalog } from './tables/catalog.ts';
import { copyStored, syncCopy } from './tables/copy.ts';
import { migrate } from './tables/migrations.ts';

export interface OpenOptions {
  /** Path of the database file; it and its folder are created if they do not exist. */
  file: string;
  /** Limits left out have the defaults documented in `EngineLimits`. */
  limits?: Partial<EngineLimits> | undefined;
  log?: Log | undefined;
  /** Called when the only thing left is to end the process; default: ends it at once, with the message. */
  giveUp?: ((reason: GiveUp) => void) | undefined;
  /** Shortcuts that are not used; everything works as with them, only slower (default: none). */
  shortcutsOff?: readonly ShortcutName[] | undefined;
}

export { endProcess };
/** Of the engine's own program. */
export const engineVersion = version;

const MIB = 1024 * 1024;

function withDefaults(limits: Partial<EngineLimits> = {}): EngineLimits {
  return {
    queryTimeoutMs: limits.queryTimeoutMs ?? 120_000,
    resultRowsMax: limits.resultRowsMax ?? 100_000,
    resultBytesMax: limits.resultBytesMax ?? 64 * MIB,
    queriesMax: limits.queriesMax ?? 4,
    queueMax: limits.queueMax ?? 128,
    // Measured against a lookup: scanning a thousand documents takes half the time, a million seven times as long.
    lookupRowsMin: limits.lookupRowsMin ?? 50_000,
    memoryBytes: limits.memoryBytes ?? Math.max(Math.floor(totalmem() / 4), 512 * MIB),
    threads: limits.threads ?? availableParallelism(),
    tempBytesMax: limits.tempBytesMax ?? 4 * 1024 * MIB,
  };
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

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
    return await openFile(file, withDefaults(options.limits), options);
  } catch (error) {
    openFiles.delete(file);
    throw error;
  }
}

async function openFile(file: string, limits: EngineLimits, options: OpenOptions): Promise<Engine> {
  const { log = SILENT, giveUp = ({ message }) => endProcess(message), shortcutsOff = [] } = options;
  const catalog = createCatalog();
  const store = await FileStore.open({
    file,
    limits,
    log,
    async load(transaction, isReadOnly) {
      if (!isReadOnly) await migrate(transaction);
      await loadCatalog(catalog, transaction);
    },
  });
  // Its folders only now: until the file is open it may be another process that reads these.
  const home = {
    store,
    catalog,
    locks: createLocks(),
    folders: foldersIn(dirname(file)),
    async copyTo(...[folder, options = {}]: Parameters<Engine['copyTo']>) {
      const copy = await store.still((sql, reader) => copyStored({ file, sql, reader }, folder, options));
      await syncCopy(folder, copy.files);
      return copy;
    },
    closed: () => openFiles.delete(file),
  };
  return compose(home, { limits, log, giveUp, shortcutsOff });
}
