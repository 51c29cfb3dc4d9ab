import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { Engine, EngineSize } from '../../engine/engine.ts';
import type { ApprovalDesk, Asked } from '../approvals/approval-desk.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { createCollectionFigures, type WorkspaceFigures } from '../collections/collection-figures.ts';
import type { Compute } from '../compute/compute.ts';
import type { EndedQuery, QueryLog, RunningQuery } from '../queries/query-log.ts';

/** A record of the audit log, as written by other processes and unchecked. */
export type CallRecord = Readonly<Record<string, unknown>>;

/** What a person sees of the service at one moment; contains no secret. Times are milliseconds since 1970. */
export interface Overview {
  now: number;
  version: string;
  pid: number;
  folder: string;
  startedAt: number;
  addresses: readonly string[];
  size: { name: string } & EngineSize;
  memoryBytes: number;
  /** Size of the database's files; null if they cannot be read. */
  diskBytes: number | null;
  questions: readonly Asked[];
  running: readonly RunningQuery[];
  recent: readonly EndedQuery[];
  workspaces: readonly WorkspaceFigures[];
  /** Newest first; undefined if this service does not know the audit log. */
  calls: readonly CallRecord[] | undefined;
}

export interface OverviewOptions {
  engine: Pick<Engine, 'stats' | 'size'>;
  catalog: Catalog;
  compute: Pick<Compute, 'size'>;
  approvals: ApprovalDesk;
  queryLog: QueryLog;
  databaseFile: string;
  version: string;
  log: Logger;
  /** Where the service listens; empty until it does. */
  addresses: () => readonly string[];
  /** The latest recorded tool calls, newest first. */
  recentCalls?: (() => Promise<readonly CallRecord[]>) | undefined;
}

/** Reads the state of the whole service, each time an open page asks for it. */
export function createOverview(options: OverviewOptions): () => Promise<Overview> {
  const { engine, catalog, compute, approvals, queryLog, databaseFile, log, recentCalls } = options;
  const startedAt = Date.now();
  const figures = createCollectionFigures(engine, catalog, log);

  /** If the log cannot be read, the rest is shown nevertheless. */
  async function calls(): Promise<readonly CallRecord[] | undefined> {
    try {
      return await recentCalls?.();
    } catch (error) {
      log.warn({ err: error }, 'the audit log cannot be read');
      return undefined;
    }
  }

  return async () => {
    const [workspaces, recorded, diskBytes] = await Promise.all([
      figures(),
      calls(),
      sizeOnDisk(databaseFile).catch(() => null),
    ]);
    return {
      now: Date.now(),
      version: options.version,
      pid: process.pid,
      folder: dirname(databaseFile),
      startedAt,
      addresses: options.addresses(),
      size: { name: compute.size, ...engine.size },
      memoryBytes: process.memoryUsage.rss(),
      diskBytes,
      questions: approvals.pending(),
      running: queryLog.running(),
      recent: queryLog.recent(),
      workspaces,
      calls: recorded,
    };
  };
}

/** The database file and those that the engine keeps beside it. */
async function sizeOnDisk(databaseFile: string): Promise<number> {
  const folder = dirname(databaseFile);
  const names = (await readdir(folder)).filter((name) => name.startsWith(basename(databaseFile)));
  const found = await Promise.all(names.map((name) => stat(join(folder, name))));
  return found.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}
