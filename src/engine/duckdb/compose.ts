import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Change, Engine, EngineLimits, GiveUp, RecordChange, RecordsListener, Sharing } from '../engine.ts';
import type { Log } from '../log.ts';
import type { Folders } from './connections/folders.ts';
import { createLocks, type Locks } from './connections/locks.ts';
import type { Store } from './connections/store.ts';
import { createExports } from './exports/exports.ts';
import { createRowLoads } from './loading/row-loads.ts';
import { createExpressions } from './queries/expressions.ts';
import { createQueries } from './queries/queries.ts';
import { createResults } from './queries/result-reading.ts';
import { writeParquet } from './results/parquet-write.ts';
import { createResultStore } from './results/result-store.ts';
import { createShortcuts, type ShortcutName } from './shortcuts/shortcuts.ts';
import { type Catalog, requireTable } from './tables/catalog.ts';
import { planChanges } from './tables/changes.ts';
import { countStored } from './tables/copy.ts';
import { readMemory } from './tables/memory.ts';
import { createStats } from './tables/stats.ts';
import { METADATA_LOCK } from './tables/store-documents.ts';
import { createWrites, tableLock } from './tables/writes.ts';

/** Where an engine's data are, and what is particular to that. */
export interface Home {
  store: Store;
  catalog: Catalog;
  locks: Locks;
  folders: Folders;
  sharing: HomeSharing;
  copyTo: Engine['copyTo'];
  /** Called once everything is closed. */
  closed(): unknown;
}

/** Other processes with the same data. */
export interface HomeSharing extends Sharing {
  /** Calls `listener` with the tables whose rows others changed. */
  onRows(listener: (tables: readonly string[]) => void): void;
}

export interface EngineParts {
  limits: EngineLimits;
  log: Log;
  giveUp(reason: GiveUp): void;
  shortcutsOff: readonly ShortcutName[];
}

/** Whether nothing else may write to the table of a change meanwhile. */
function isAlone(change: Change) {
  return change.do === 'dropCollection' || change.do === 'trashCollection' || change.do === 'dropDocuments';
}

function isRecord(change: Change) {
  return change.do === 'putRecord' || change.do === 'deleteRecord';
}

/** Puts an engine together. Its folders are its own: what an earlier one left there is removed. */
export function compose(home: Home, { limits, log, giveUp: end, shortcutsOff: off }: EngineParts): Engine {
  const { store, catalog, locks, folders, sharing } = home;
  rmSync(folders.spool, { recursive: true, force: true });
  const stats = createStats(store.read.bind(store));
  sharing.onRows((tables) => {
    for (const table of tables) stats.forget(table);
  });
  const shortcuts = createShortcuts({ names: catalog.names, shown: catalog.shown, limits, source: store, log, off });
  const transaction = store.transaction.bind(store);
  const listeners: RecordsListener[] = [];
  const recordsStored = (changes: readonly RecordChange[]) => {
    for (const listener of listeners) listener(changes, false);
  };
  const context = { store, catalog, locks, transaction, shortcuts, written: stats.forget, recordsStored };
  const resizes = createLocks();
  const giveUp = (reason: GiveUp) => {
    log.error({ why: reason.why, requests: reason.requestIds }, reason.message);
    end(reason);
  };
  const results = createResultStore(folders, limits, log);
  const queries = createQueries({
    connect: () => store.connect(),
    begun: (connection, begin) => store.begun(connection, begin),
    reading: (work, signal) => store.reading(work, signal),
    results,
    names: catalog.names,
    known: shortcuts.knownStatements,
    lookups: shortcuts.lookups,
    waitsToStart: store.waitsToStart,
    limits,
    memoryBytes: () => store.size.memoryBytes,
    giveUp,
  });
  const exports = createExports({ store, folder: folders.exports, writeParquet });
  void queries.warm();
  let closing: Promise<void> | undefined;

  async function commit(changes: readonly Change[]): Promise<void> {
    const tables = changes.flatMap((change) => (isAlone(change) ? [change.table] : []));
    await locks.hold(tables.map(tableLock), () =>
      locks.hold([METADATA_LOCK], async () => {
        const plan = planChanges(catalog, changes);
        await store.transaction(plan.run, { isAside: changes.every(isRecord) }).catch((error: unknown) => {
          throw store.writeError('store the change', error);
        });
        plan.remember();
        // The id of one that was dropped may be used again.
        for (const table of tables) stats.forget(table);
      }),
    );
  }

  return {
    records: catalog.records,
    get namesVersion() {
      return catalog.names.version;
    },
    definitionOf: (names) => hash('sha256', names.map((name) => catalog.names.definitionOf(name)).join('\n'), 'hex'),
    commit,
    spool: folders.spool,
    ...createWrites(context),
    ...createRowLoads(context),
    memoryOf: (table, source, after, max) => store.read((sql) => readMemory(sql, table, source, after, max)),
    ...createExpressions(queries, limits),
    async stats(table) {
      const found = catalog.trashed.get(table) ?? requireTable(catalog, table);
      return stats.of(found).catch((error: unknown) => {
        throw store.writeError('read the statistics of a collection', error);
      });
    },
    query: (request) => store.attempt(() => queries.query(request)),
    inspect: (request) => store.attempt(() => queries.inspect(request)),
    results: createResults({ store: results, queries, limits, exportsFolder: folders.exports }),
    get size() {
      return store.size;
    },
    copyTo: home.copyTo,
    refresh: () => sharing.refresh(),
    alone: (work) => sharing.alone(work),
    claim: (names, work) => sharing.claim(names, work),
    onRecords(listener) {
      listeners.push(listener);
      sharing.onRecords(listener);
    },
    lead: (name, work) => sharing.lead(name, work),
    exportTable: exports.write,
    counts: () => store.read(countStored),
    resize: (size) => resizes.hold(['size'], () => store.resize(size)),
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
        await home.closed();
      })();
      return closing;
    },
  };
}
