import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import type { Engine } from '../engine.ts';
import { compose, type EngineParts } from './compose.ts';
import { foldersIn } from './connections/folders.ts';
import type { Sql } from './connections/store.ts';
import { type CatalogClient, createCatalogClient } from './lake/catalog-client.ts';
import { FENCE } from './lake/fence.ts';
import { createLakeChanges, type LakeChanges, lastSnapshot } from './lake/lake-changes.ts';
import { type LakePlace, onLakeOpened } from './lake/lake-database.ts';
import { lakeError } from './lake/lake-errors.ts';
import { createLakeLocks, type LakeLocks } from './lake/lake-locks.ts';
import { type LakeOptions, lakeCatalogOf, lakeDataOf, type ObjectStore } from './lake/lake-options.ts';
import { LakeStore } from './lake/lake-store.ts';
import { leadOn } from './lake/leading.ts';
import { maintain, TARGET_BYTES } from './lake/maintenance.ts';
import { holdNodeFile } from './lake/node-file.ts';
import { shownColumn } from './lake/shown-columns.ts';
import { SOUND_STATISTICS } from './lake/statistics.ts';
import { type EngineOptions, partsOf } from './parts.ts';
import { CATALOG, quoteName } from './sql/names.ts';
import { createCatalog, loadCatalog } from './tables/catalog.ts';
import { RECORDS_LOCK } from './tables/store-documents.ts';
import { createSchema } from './tables/stored-schema.ts';

export type { LakeOptions, ObjectStore };

export interface OpenLakeOptions extends EngineOptions {
  lake: LakeOptions;
  /** The node's own file, whose lock keeps others out of its folder, and that for what does not outlive it; both are made. */
  file: string;
}

/** Held while the lake is made or brought to this program's version. */
const OPENING = 'opening';

/**
 * Opens the engine on a lake, and makes the lake if there is none. Any number of processes may have it open.
 *
 * Rejects `invalid_input` for options that cannot be, `not_ready` if the catalog or the files cannot be reached, and
 * `internal` if the lake comes from a later version.
 */
export async function openLake(options: OpenLakeOptions): Promise<Engine> {
  const { lake, file } = options;
  const parts = partsOf(options);
  const place: LakePlace = {
    catalog: lakeCatalogOf(lake.catalog),
    data: lakeDataOf(lake.data),
    extensionFolder: lake.extensionFolder,
    objectStore: lake.objectStore,
    folders: foldersIn(dirname(file)),
  };
  const release = await holdNodeFile(file);
  const client = createCatalogClient(place.catalog.client);
  const closing: (() => unknown)[] = [release, () => client.close()];
  try {
    return await openOn(place, parts, { client, release, closing });
  } catch (error) {
    for (const close of closing.reverse()) await close();
    throw lakeError('open the lake', place, error);
  }
}

interface Opening {
  client: CatalogClient;
  /** Lets others have the node's file. */
  release(): void;
  /** What is to be closed, the last first. */
  closing: (() => unknown)[];
}

async function openOn(place: LakePlace, parts: EngineParts, { client, release, closing }: Opening): Promise<Engine> {
  const node = randomUUID();
  const failed = (error: unknown) => lakeError('write to the lake', place, error);
  const catalog = createCatalog(shownColumn);
  const late: { changes?: LakeChanges } = {};
  const listeners: ((tables: readonly string[]) => void)[] = [];
  const locks: LakeLocks = createLakeLocks({
    client: place.catalog.client,
    refresh: async () => late.changes?.refresh(),
    failed,
  });
  closing.push(() => locks.close());
  const looking = <T>(work: Promise<T>) =>
    work.catch((error: unknown): never => {
      throw lakeError('look for changes of the lake', place, error);
    });
  const fits = async (snapshot: number) => late.changes === undefined || (await looking(late.changes.fits(snapshot)));
  const store = await locks.hold([OPENING], async () => {
    const opened = await LakeStore.open({ ...parts, place, client, node, held: () => locks.held(), fits });
    closing.push(() => opened.close());
    await createSchema((work) => opened.transaction(work));
    await opened.transaction(async (sql) => {
      await sql(KEEPS_DOCUMENTS_IN_FILES);
      for (const option of FILES) await sql(option);
    });
    await client.query(FENCE);
    await client.query(SOUND_STATISTICS);
    return opened;
  });
  const from = await lastSnapshot(client);
  await loadCatalog(catalog, (work) => store.read(work));
  const changes = createLakeChanges({
    client,
    read: (work) => store.read(work),
    catalog,
    node,
    from,
    settled: () => store.settled(),
    changed: (tables) => {
      for (const listener of listeners) listener(tables);
    },
  });
  late.changes = changes;
  const home = {
    store,
    catalog,
    locks,
    folders: place.folders,
    sharing: {
      ...changes,
      refresh: () => looking(changes.refresh()),
      alone: <T>(work: () => Promise<T>) => locks.hold([RECORDS_LOCK], work),
      claim: locks.claim,
      lead: (name: string, work: (signal: AbortSignal) => Promise<void>) =>
        leadOn(locks, name, work, (error) =>
          parts.log.warn({ why: failed(error).message, what: name }, 'this node does not lead for now'),
        ),
      onRows: (listener: (tables: readonly string[]) => void) => void listeners.push(listener),
    },
    copyTo: refuseCopy,
    async closed() {
      await maintenance.stop();
      await locks.close();
      await client.close();
      release();
    },
  };
  const opened = (use: (sql: Sql) => Promise<void>) => onLakeOpened(place, { ...parts.limits, ...ASIDE }, use);
  const work = { client, locks, log: parts.log, opened, transaction: store.transaction.bind(store) };
  const maintenance = home.sharing.lead('maintenance', (signal) => maintain(work, signal));
  return compose(home, {
    ...parts,
    // How large a table is takes longer to ask here than a lookup that was not worth it.
    limits: { ...parts.limits, lookupRowsMin: 0 },
    // Another node may add an id that this one has never seen.
    shortcutsOff: [...parts.shortcutsOff, 'knownIds'],
  });
}

/** Unlike other metadata, of which the catalog itself keeps what is new: a document may be large. */
const KEEPS_DOCUMENTS_IN_FILES = `CALL ${quoteName(CATALOG)}.set_option('data_inlining_row_limit', 0, schema => '_meta', table_name => 'trash_documents')`;

/** Of the lake opened once more, for what only deletes. */
const ASIDE = { threads: 1, memoryBytes: 256 * 1024 * 1024 };

/**
 * Of a row that is looked up its whole group is read: with groups of 8,192 rows a document by its id takes a third of the time,
 * and by LZ4, which is read faster, a query of all rows no more than before. By the encodings of version 2, of differences and of
 * the lengths of texts, less is unpacked.
 */
const FILES = [
  "'parquet_version', '2'",
  "'parquet_compression', 'lz4_raw'",
  "'parquet_row_group_size', 8192",
  `'target_file_size', '${TARGET_BYTES}B'`,
].map((option) => `CALL ${quoteName(CATALOG)}.set_option(${option})`);

async function refuseCopy(): Promise<never> {
  throw new ApiError(
    'invalid_input',
    'A lake is not copied by this program. Stop its nodes, and back up its PostgreSQL database and the files of its bucket or folder. While nodes run, files that a dump names are deleted an hour after they were merged into others.',
  );
}
