import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { version } from '@duckdb/node-api';
import { ApiError } from '../../contract/errors.ts';
import type { Change, Engine, EngineLimits, GiveUp } from '../engine.ts';
import type { Log } from '../log.ts';
import { endProcess } from './connections/end-process.ts';
import { isDamage } from './connections/engine-error.ts';
import { exportsFolder } from './connections/exports-folder.ts';
import { createExports } from './exports/exports.ts';
import { createRowLoads } from './loading/row-loads.ts';
import { createExpressions } from './queries/expressions.ts';
import { createQueries } from './queries/queries.ts';
import { createResults } from './queries/result-reading.ts';
import { writeParquet } from './results/parquet-write.ts';
import { createResultStore } from './results/result-store.ts';
import { createShortcuts, type ShortcutName } from './shortcuts/shortcuts.ts';
import { spoolFolder } from './storage/database.ts';
import { createLocks } from './storage/locks.ts';
import { damageError, resizeError, writeError } from './storage/storage-errors.ts';
import { Store } from './storage/store.ts';
import { createCatalog, loadCatalog, requireTable } from './tables/catalog.ts';
import { planChanges } from './tables/changes.ts';
import { copyStored, countStored, syncCopy } from './tables/copy.ts';
import { readMemory } from './tables/memory.ts';
import { migrate } from './tables/migrations.ts';
import { createStats } from './tables/stats.ts';
import { METADATA_LOCK } from './tables/store-documents.ts';
import { createWrites, tableLock } from './tables/writes.ts';

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
    return await compose(file, withDefaults(options.limits), options);
  } catch (error) {
    openFiles.delete(file);
    throw error;
  }
}

/** Whether nothing else may write to the table of a change meanwhile. */
function isAlone(change: Change) {
  return change.do === 'dropCollection' || change.do === 'trashCollection' || change.do === 'dropDocuments';
}

function isRecord(change: Change) {
  return change.do === 'putRecord' || change.do === 'deleteRecord';
}

async function compose(file: string, limits: EngineLimits, options: OpenOptions): Promise<Engine> {
  const { log = SILENT, giveUp: end = ({ message }) => endProcess(message), shortcutsOff: off } = options;
  const catalog = createCatalog();
  const store = await Store.open({
    file,
    limits,
    log,
    async load(transaction, isReadOnly) {
      if (!isReadOnly) await migrate(transaction);
      await loadCatalog(catalog, transaction);
    },
  });
  const records = catalog.records;
  // Only now: until the file is open it may be another process that reads these.
  const spool = spoolFolder(file);
  rmSync(spool, { recursive: true, force: true });
  const locks = createLocks();
  const stats = createStats(store.read.bind(store));
  const shortcuts = createShortcuts({ names: catalog.names, limits, source: store, log, off });
  const transaction = store.transaction.bind(store);
  const context = { file, catalog, locks, transaction, shortcuts, written: stats.forget };
  const resizes = createLocks();
  const giveUp = (reason: GiveUp) => {
    log.error({ why: reason.why, requests: reason.requestIds }, reason.message);
    end(reason);
  };
  const results = createResultStore(file, limits, log);
  const queries = createQueries({
    connect: () => store.connect(),
    reading: (work, signal) => store.reading(work, signal),
    results,
    names: catalog.names,
    known: shortcuts.knownStatements,
    lookups: shortcuts.lookups,
    limits,
    memoryBytes: () => store.size.memoryBytes,
    giveUp,
  });
  const exports = createExports({ store, folder: exportsFolder(file), writeParquet });
  void queries.warm();
  let closing: Promise<void> | undefined;

  async function commit(changes: readonly Change[]): Promise<void> {
    const tables = changes.flatMap((change) => (isAlone(change) ? [change.table] : []));
    await locks.hold(tables.map(tableLock), () =>
      locks.hold([METADATA_LOCK], async () => {
        const plan = planChanges(catalog, changes);
        await store.transaction(plan.run, { isAside: changes.every(isRecord) }).catch((error: unknown) => {
          throw writeError('store the change', file, error);
        });
        plan.remember();
        // The id of one that was dropped may be used again.
        for (const table of tables) stats.forget(table);
      }),
    );
  }

  return {
    records,
    get namesVersion() {
      return catalog.names.version;
    },
    definitionOf: (names) => hash('sha256', names.map((name) => catalog.names.definitionOf(name)).join('\n'), 'hex'),
    commit,
    spool,
    ...createWrites(context),
    ...createRowLoads({ ...context, connect: () => store.connect(), reading: store.reading.bind(store) }),
    memoryOf: (table, source, after, max) => store.read((sql) => readMemory(sql, table, source, after, max)),
    ...createExpressions(queries, limits),
    async stats(table) {
      const found = catalog.trashed.get(table) ?? requireTable(catalog, table);
      return stats.of(found).catch((error: unknown) => {
        throw writeError('read the statistics of a collection', file, error);
      });
    },
    query: (request) =>
      store
        .attempt(() => queries.query(request))
        .catch((error: unknown) => {
          const cause = error instanceof ApiError ? error.cause : error;
          throw isDamage(cause) ? damageError('run the query', file, cause) : error;
        }),
    inspect: (request) => store.attempt(() => queries.inspect(request)),
    results: createResults({ store: results, queries, limits, file }),
    get size() {
      return store.size;
    },
    async copyTo(folder, options = {}) {
      const copy = await store.still((sql, reader) => copyStored({ file, sql, reader }, folder, options));
      await syncCopy(folder, copy.files);
      return copy;
    },
    exportTable: exports.write,
    counts: () => store.read(countStored),
    resize: (size) =>
      resizes.hold(['size'], () =>
        store.resize(size).catch((error: unknown) => {
          throw resizeError(size, error);
        }),
      ),
    close() {
      closing ??= (async () => {
        await exports.close();
        const stuck = await queries.close();
        // Closing a connection would wait for them, and so would exiting the process normally.
        if (stuck > 0)
          giveUp({
            why: 'stuck',
            message: `${stuck} queries do not stop, so this service ends without them. What was written is safe.`,
            requestIds: [],
          });
        results.close();
        await locks.idle();
        await shortcuts.knownIds.close();
        await store.close();
        openFiles.delete(file);
      })();
      return closing;
    },
  };
}
