import type { Logger } from 'pino';
import type { JsonValue } from '../contract/json/json.ts';
import type { Engine } from '../engine/engine.ts';
import type { Principal } from './access/auth.ts';
import type { KeyAccess } from './access/key-access.ts';
import type { Origin } from './app/origin.ts';
import type { ApprovalDesk } from './approvals/approval-desk.ts';
import type { Backups } from './backups/backups.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Clock } from './clock.ts';
import type { Selections } from './collections/selections.ts';
import type { Compute } from './compute/compute.ts';
import type { Usage } from './compute/usage.ts';
import type { Secrets } from './integrations/secrets.ts';
import type { LambdaStates } from './lambdas/lambda-states.ts';
import type { LambdaStats } from './lambdas/lambda-stats.ts';
import type { PageServer } from './pages/page-server.ts';
import type { PairedBrowsers } from './pages/paired-browsers.ts';
import type { QueryLog } from './queries/query-log.ts';
import type { CollectionFiles } from './results/collection-files.ts';
import type { KeptResults } from './results/kept-results.ts';
import type { ResultFiles } from './results/result-files.ts';
import type { Sources } from './sources/sources.ts';
import type { Supervision } from './supervision/supervision.ts';
import type { Told, Trash } from './trash/trash-entries.ts';

/** What the whole service shares. */
export interface ServiceContext {
  engine: Engine;
  catalog: Catalog;
  usage: Usage;
  keyAccess: KeyAccess;
  compute: Compute;
  secrets: Secrets;
  lambdaStates: LambdaStates;
  lambdaStats: LambdaStats;
  approvals: ApprovalDesk;
  pageServer: PageServer;
  pairedBrowsers: PairedBrowsers;
  queryLog: QueryLog;
  trash: Trash;
  supervision: Supervision;
  clock: Clock;
  backups: Backups;
  results: KeptResults;
  resultFiles: ResultFiles;
  collectionFiles: CollectionFiles;
  selections: Selections;
  sources: Sources;
  log: Logger;
  version: string;
  /** Build time (ISO-8601); undefined if run from the sources. */
  build: string | undefined;
  /** The settings that the service was started with, by name. */
  settings?: Readonly<Record<string, string>> | undefined;
  /** Returns the next `last_offset`: text that sorts after every earlier one, even across restarts. */
  nextOffset: () => string;
}

/** A list of documents that has not been parsed yet. */
export interface DocumentList {
  /** Valid UTF-8. */
  bytes: Buffer;
  /** Offset of the list's `[`; `end` is that of the byte after its `]`. */
  start: number;
  end: number;
  /** Throws `invalid_input` for anything but a JSON list, and names the limit for what is over one. */
  parse(): Promise<readonly JsonValue[]>;
}

/** What one call of an operation may use. */
export interface CallContext extends ServiceContext {
  caller: Principal;
  origin: Origin;
  /** The documents to add, unparsed; the input then contains none. */
  text?: DocumentList | undefined;
  /** Most rows in the answer if the whole result is to be kept, 0 also if it is small; absent if it is not. */
  keepRows?: number | undefined;
  /** Default parameters as they were given (default: as `textDefaults`). */
  exactDefaults?: boolean | undefined;
  /** Told where the call's deletion goes, if its answer is to say so. */
  trashed?: Told | undefined;
  /** Aborted if the caller hangs up before the answer, or the service closes. */
  signal: AbortSignal;
}
