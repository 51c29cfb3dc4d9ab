import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { ExportFormat } from '../../contract/results.ts';
import { mayTake } from '../../contract/turns/shares.ts';
import type { Engine } from '../../engine/engine.ts';
import { exportError, type FileOnDisk } from './result-files.ts';

/** The file of a whole collection, on its way to whoever asked for it. */
export interface CollectionFile extends FileOnDisk {
  id: string;
  /** Hash of the API key that asked for it. */
  owner: string;
  format: ExportFormat;
  /** As `workspace.collection`. */
  collection: string;
  rows: number;
  /** Columns whose type the format lacks. */
  retyped: { name: string; type: string; writtenAs: string }[];
  /** It is removed at this time unless it is read before. */
  expiresAt: number;
}

/** A file that is being written. */
export interface RunningCollectionFile {
  id: string;
  collection: string;
  format: ExportFormat;
  rows: number;
  rowsDone: number | null;
}

/**
 * The files of exported collections. They are as large as the collection, so they last only as long as they are fetched:
 * until they are removed, nobody reads them for some minutes, or the service closes; what a crash leaves goes at the next
 * start.
 */
export interface CollectionFiles {
  write(
    source: { owner: string; collection: string; table: string; rows: number },
    format: ExportFormat,
    signal: AbortSignal,
  ): Promise<CollectionFile>;
  /** The files being written for this key. */
  running(owner: string): RunningCollectionFile[];
  /** Counts as reading it. Undefined if this key has no such file. */
  find(owner: string, id: string, format: string): CollectionFile | undefined;
  remove(file: CollectionFile): Promise<void>;
  stop(): void;
}

/** Most files that exist or are written at a time. */
const FILES_MAX = 8;
/** How long one stays unread. Whoever fetches it slowly reads a byte now and then. */
const UNREAD_MS = 300_000;
const OURS = /^collection-[0-9a-f-]{36}\.(?:csv|jsonl|parquet)$/;

interface Context {
  engine: Pick<Engine, 'results' | 'exportTable'>;
  /** While a file exists, the service does not count as idle. */
  hold: () => () => void;
  log: Logger;
  unreadMs?: number | undefined;
}

export function createCollectionFiles({ engine, hold, log, unreadMs = UNREAD_MS }: Context): CollectionFiles {
  const folder = engine.results.exportsFolder;
  const files = new Map<string, { file: CollectionFile; timer: NodeJS.Timeout; release: () => void }>();
  const writing = new Map<string, { owner: string; state: RunningCollectionFile }>();
  const ready = sweep(folder).catch((error: unknown) => log.warn({ err: error }, 'cannot remove old exports'));

  function take(id: string): CollectionFile | undefined {
    const known = files.get(id);
    if (known === undefined) return undefined;
    files.delete(id);
    clearTimeout(known.timer);
    known.release();
    return known.file;
  }

  function keep(file: CollectionFile): void {
    const forget = () => {
      take(file.id);
      rm(file.path, { force: true }).catch((error: unknown) => log.warn({ err: error }, 'cannot remove an export'));
    };
    files.set(file.id, { file, timer: setTimeout(forget, unreadMs).unref(), release: hold() });
  }

  /** Keys share the files as they share queries: nobody's fetching may hold up everybody's exports. */
  function requirePlace(owner: string): void {
    const owners = [
      ...[...files.values()].map(({ file }) => file.owner),
      ...[...writing.values()].map((one) => one.owner),
    ];
    const own = owners.filter((one) => one === owner).length;
    if (mayTake(own, owners.length, FILES_MAX)) return;
    throw new ApiError(
      'resource_exceeded',
      `Cannot export the collection: ${owners.length} exports are being written or fetched, ${own} of them yours. Try again when one is done.`,
    );
  }

  return {
    async write({ owner, collection, table, rows: expected }, format, signal) {
      requirePlace(owner);
      const id = randomUUID();
      const name = `collection-${id}.${format}`;
      const path = join(folder, name);
      const state = { id, collection, format, rows: expected, rowsDone: format === 'parquet' ? null : 0 };
      writing.set(id, { owner, state });
      try {
        await ready;
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await chmod(folder, 0o700);
        const onRows = (written: number) => {
          state.rowsDone = written;
        };
        const { rows, retyped } = await engine.exportTable({ table, format, name, onRows, signal });
        const { size: bytes } = await stat(path);
        const file = { id, owner, format, collection, rows, retyped, bytes, path, expiresAt: Date.now() + unreadMs };
        // Its reader may have gone in the last moment.
        signal.throwIfAborted();
        keep(file);
        return file;
      } catch (error) {
        await rm(path, { force: true }).catch(() => undefined);
        throw exportError(error, 'the collection');
      } finally {
        writing.delete(id);
      }
    },
    running: (owner) => [...writing.values()].filter((one) => one.owner === owner).map(({ state }) => ({ ...state })),
    find(owner, id, format) {
      const known = files.get(id);
      if (known === undefined || known.file.owner !== owner || known.file.format !== format) return undefined;
      known.timer.refresh();
      return known.file;
    },
    async remove({ id, path }) {
      take(id);
      await rm(path, { force: true });
    },
    stop() {
      for (const id of [...files.keys()]) {
        const file = take(id);
        if (file !== undefined) rmSync(file.path, { force: true });
      }
    },
  };
}

/** Removes what an earlier run has left. */
async function sweep(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => OURS.test(one))) await rm(join(folder, name), { force: true });
}
