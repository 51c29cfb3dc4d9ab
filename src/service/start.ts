import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import { endProcess, engineVersion, type OpenOptions, openEngine } from '../engine/duckdb/open.ts';
import type { LakeOptions } from '../engine/duckdb/open-lake.ts';
import type { Engine, EngineLimits } from '../engine/engine.ts';
import { ensureAdminKey } from './access/admin-key.ts';
import { openKeyAccess } from './access/key-access.ts';
import { type AddressRange, parseRange } from './app/addresses.ts';
import type { buildApp } from './app/app.ts';
import { createLifecycle } from './app/lifecycle.ts';
import { type ListenAddress, type Listener, listen, quiet, stopAccepting, stopListening } from './app/listen.ts';
import type { Mount } from './app/mounts.ts';
import { createApprovalDesk } from './approvals/approval-desk.ts';
import { createBackups } from './backups/backups.ts';
import { type Catalog, openCatalog } from './catalog/catalog.ts';
import { createOffsets, prepareMetadata, startToCount } from './catalog/metadata.ts';
import { createClock, type Watches } from './clock.ts';
import { startRetention } from './collections/retention.ts';
import { createSelections } from './collections/selections.ts';
import { openCompute } from './compute/compute.ts';
import { openUsage } from './compute/usage.ts';
import { connectionOf } from './integrations/integrations.ts';
import { openSecrets } from './integrations/secrets.ts';
import { createLambdaStates } from './lambdas/lambda-states.ts';
import { openLambdaStats } from './lambdas/lambda-stats.ts';
import { type CallRecord, createOverview } from './pages/overview.ts';
import { createPageServer } from './pages/page-server.ts';
import { createPairedBrowsers } from './pages/paired-browsers.ts';
import { createQueryLog } from './queries/query-log.ts';
import { createCollectionFiles } from './results/collection-files.ts';
import { createKeptResults, type ResultLimits } from './results/kept-results.ts';
import { createResultFiles, type FileLimits } from './results/result-files.ts';
import { createSources } from './sources/sources.ts';
import {
  createOutlasting,
  createSupervision,
  noteEnd,
  type Supervision,
  type SupervisionFiles,
} from './supervision/supervision.ts';
import { createTrash } from './trash/trash-entries.ts';

export interface ServiceOptions {
  /** With a lake, the node's own file. */
  databaseFile: string;
  /** Where the data are; undefined: in the database file. */
  lake?: LakeOptions | undefined;
  /** Contains the admin's API key; created at the first start, readable only by its owner. */
  adminKeyFile: string;
  /** Contains the key that encrypts the secrets of integrations; created with the first of them. */
  secretKeyFile: string;
  listen: readonly ListenAddress[];
  limits?: Partial<EngineLimits> | undefined;
  /** As in the engine's `OpenOptions`, for measurements. */
  shortcutsOff?: OpenOptions['shortcutsOff'];
  /** The service closes by itself after this time without requests, in milliseconds. Default: never. */
  idleMs?: number | undefined;
  /** The one command that it is started for, as in `COMMAND_HEADER`: unless others call, it leaves when that is done. */
  command?: string | undefined;
  /** Absent: nothing that a request does ends the process, and nothing is refused for what it did before. */
  supervision?: SupervisionFiles | undefined;
  /** Called when the service begins to close, for whatever reason. */
  onClosing?: (() => void) | undefined;
  version: string;
  /** Build time of this program (ISO-8601). Default: run from the sources. */
  build?: string | undefined;
  /** The settings that the service was started with, by name, reported to clients (default: none). */
  settings?: Readonly<Record<string, string>> | undefined;
  /** Whoever started it also ends it: a newer program does not take its place (default false). */
  isForeground?: boolean | undefined;
  log: Logger;
  /** How often expired documents and trash entries are removed, in milliseconds (default 60,000). */
  purgeEveryMs?: number | undefined;
  /** The clocks (default: the system's). */
  watches?: Watches | undefined;
  /** How many days deleted things can be restored (default 7); 0: they are removed at once. */
  trashDays?: number | undefined;
  /** Limits on kept query results, and on their exports. */
  results?: Partial<ResultLimits> | undefined;
  exports?: Partial<FileLimits> | undefined;
  /** The sources of collections do not keep an idle service from leaving: they rest until the next start (default false). */
  sourcesRest?: boolean | undefined;
  /** Answer cross-origin requests from browsers (default false). */
  cors?: boolean | undefined;
  /** Proxies whose `X-Forwarded-For` is believed: IP addresses, or ranges in CIDR notation (default: none). */
  trustProxy?: readonly string[] | undefined;
  /** Handlers mounted beside the API, on the same addresses (default: none). */
  mounts?: readonly Mount[] | undefined;
  /** Returns the latest recorded tool calls, newest first, for the page (default: the page shows none). */
  recentCalls?: (() => Promise<readonly CallRecord[]>) | undefined;
}

/** A running service. */
export interface Service {
  /** In the order of `listen`: socket paths as given, TCP addresses as URLs with the actual port. */
  addresses: string[];
  /** Resolves when the service is closed, for whatever reason. */
  closed: Promise<void>;
  /** Finishes running requests (for at most 10 seconds; queries are aborted), makes everything durable and closes. */
  close(): Promise<void>;
}

const DRAIN_MS = 10_000;
/** Time for a caller that has connected to send its request, and to be told that it was not carried out. */
const HAND_OVER_MS = 3_000;
const PURGE_EVERY_MS = 60_000;
const TRASH_DAYS = 7;
/** A step of metadata costs a lake as much as any other, and all nodes look at what it changed. */
const LAKE_FIGURES_MS = 10_000;
/** Fields that must not appear in the log, whatever is passed to it. */
const SECRETS = [
  'headers',
  'authorization',
  'apiKey',
  'key',
  'parameters',
  'password',
  'cloud_secret_access_key',
  'gcp_service_account',
  'connection_uri',
];

/**
 * Starts the service: opens the database (which locks it), prepares metadata and the admin's key, and listens. If any
 * of it fails, rejects with an `ApiError` and leaves nothing behind.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const log = options.log.child(
    {},
    { redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' } },
  );
  const trustedProxies = rangesOf(options.trustProxy ?? []);
  const { supervision: files } = options;
  const outlasting = createOutlasting();
  let isClosing = false;
  const onClosing = () => {
    isClosing = true;
    options.onClosing?.();
  };
  const opening = openData(options, {
    file: options.databaseFile,
    limits: options.limits,
    shortcutsOff: options.shortcutsOff,
    log,
    giveUp: (reason) => {
      const note = isClosing ? undefined : files?.endNoteFile;
      endProcess(note === undefined ? reason.message : noteEnd(note, outlasting, reason));
    },
  });
  // The code that answers requests loads while the engine's own threads open the database.
  const loading = import('./app/app.ts');
  loading.catch(() => undefined);
  const engine = await opening;
  const listeners: Listener[] = [];
  try {
    const { buildApp } = await loading;
    const versions = `${options.version} ${engineVersion()}`;
    const supervision = createSupervision({ files, engine, outlasting, versions, log });
    try {
      return await startOn(engine, supervision, listeners, log, { ...options, onClosing, buildApp, trustedProxies });
    } catch (error) {
      supervision.close();
      throw error;
    }
  } catch (error) {
    await stopListening(listeners);
    await engine.close();
    throw error;
  }
}

async function openData({ lake }: Pick<ServiceOptions, 'lake'>, options: OpenOptions): Promise<Engine> {
  if (lake === undefined) return openEngine(options);
  const { openLake } = await import('../engine/duckdb/open-lake.ts');
  return openLake({ ...options, lake });
}

/** Differs from that of every other node, and is the same at its next start. */
function nodeName(file: string): string {
  return `${hostname()}-${createHash('sha256').update(resolve(file)).digest('hex').slice(0, 6)}`;
}

function rangesOf(texts: readonly string[]): AddressRange[] {
  return texts.map((text) => {
    const range = parseRange(text);
    if (range !== undefined) return range;
    throw new ApiError(
      'invalid_input',
      `Cannot trust the proxy "${text}": it is neither an IP address nor a range in CIDR notation.`,
    );
  });
}

async function closeMount(mount: Mount, log: Logger): Promise<void> {
  try {
    await mount.close();
  } catch (error) {
    log.error({ err: error, path: mount.path }, 'a mounted handler did not close cleanly');
  }
}

/**
 * Prepares metadata and counts this start. If the disk is full but everything else is there, the service still serves
 * reads: the start is counted once a write has succeeded.
 */
async function prepare(catalog: Catalog, log: Logger): Promise<() => string> {
  try {
    return createOffsets(await prepareMetadata(catalog));
  } catch (error) {
    const start = startToCount(catalog);
    if (start === undefined || !(error instanceof ApiError && error.code === 'storage_full')) throw error;
    log.warn({ err: error }, 'this start could not be counted; the service goes on, and writes are refused for now');
    return createOffsets(start, () => prepareMetadata(catalog));
  }
}

async function startOn(
  engine: Engine,
  supervision: Supervision,
  listeners: Listener[],
  log: Logger,
  options: ServiceOptions & {
    buildApp: typeof buildApp;
    trustedProxies: readonly AddressRange[];
  },
): Promise<Service> {
  const { mounts = [] } = options;
  const catalog = openCatalog(engine);
  const nextOffset = await prepare(catalog, log);
  await ensureAdminKey(catalog, options.adminKeyFile, options.lake && nodeName(options.adminKeyFile));
  const usage = openUsage(catalog, log, options.lake && LAKE_FIGURES_MS);
  const keyAccess = openKeyAccess(catalog, log);
  const lambdaStats = openLambdaStats(catalog, log);
  const lambdaStates = createLambdaStates({
    engine: supervision.engine,
    catalog,
    versions: `${options.version} ${options.build ?? ''} ${engineVersion()}`,
    log,
  });
  const clock = createClock(catalog, log, options.watches);
  const trash = createTrash(options.trashDays ?? TRASH_DAYS, clock.notBefore, engine);
  const compute = await openCompute(engine, catalog, options.limits, log);
  let closing: Promise<void> | undefined;
  let markClosed: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    markClosed = resolve;
  });
  const closeInBackground = (why: string) => {
    log.info({ why }, 'the service leaves');
    close().catch((error: unknown) => log.error({ err: error }, 'the service did not close cleanly'));
  };
  const lifecycle = createLifecycle({
    idleMs: options.idleMs,
    isForCommand: options.command !== undefined,
    onIdle: () => closeInBackground('idle'),
  });
  const approvals = createApprovalDesk({ hold: () => lifecycle.hold() });
  const place = options.databaseFile;
  const pairedBrowsers = createPairedBrowsers({ catalog, place, hold: () => lifecycle.hold() });
  const queryLog = createQueryLog();
  const look = createOverview({
    ...options,
    engine,
    catalog,
    compute,
    approvals,
    queryLog,
    log,
    addresses: () => listeners.map(({ address }) => address),
  });
  // Viewing the page counts as use: the idle time starts again.
  const inUse = () => {
    lifecycle.called(false);
    lifecycle.hold()();
  };
  const pageServer = createPageServer({ desk: approvals, browsers: pairedBrowsers, queryLog, look, inUse, log });
  const results = createKeptResults(engine, log, options.results);
  const resultFiles = createResultFiles(engine, log, options.exports);
  const collectionFiles = createCollectionFiles({ engine, log, hold: () => lifecycle.hold() });
  const selections = createSelections({ hold: () => lifecycle.hold() });
  const secrets = openSecrets(options.secretKeyFile);
  const sources = createSources({
    engine,
    catalog,
    usage,
    connectionOf: async (name) => (await connectionOf({ catalog, secrets }, name)).config,
    hold: options.sourcesRest === true ? undefined : () => lifecycle.hold(),
    log,
  });
  const localSockets = new WeakSet<Socket>();
  const backups = createBackups({ ...options, engine, log });
  const app = options.buildApp({
    engine,
    catalog,
    usage,
    keyAccess,
    compute,
    secrets,
    sources,
    supervision,
    lambdaStates,
    lambdaStats,
    trash,
    clock,
    backups,
    results,
    resultFiles,
    collectionFiles,
    selections,
    approvals,
    pageServer,
    pairedBrowsers,
    queryLog,
    log,
    version: options.version,
    build: options.build,
    settings: options.settings,
    nextOffset,
    lifecycle,
    isForeground: options.isForeground ?? false,
    command: options.command,
    cors: options.cors ?? false,
    trustedProxies: options.trustedProxies,
    localSockets,
    leave: () => closeInBackground('asked to'),
    mounts,
  });
  await app.ready();
  for (const address of options.listen) {
    listeners.push(
      await listen(
        address,
        (req, res) => app.routing(req, res),
        (socket) => localSockets.add(socket),
      ),
    );
  }
  const retention = startRetention(
    { engine, catalog, clock, usage, trash, log },
    options.purgeEveryMs ?? PURGE_EVERY_MS,
  );
  sources.start();
  lifecycle.ready();
  supervision.watch();
  const addresses = listeners.map((listener) => listener.address);
  log.info({ addresses, version: options.version }, 'the service is ready');

  function close(): Promise<void> {
    closing ??= closeAll().finally(markClosed);
    return closing;
  }

  async function closeAll(): Promise<void> {
    options.onClosing?.();
    lifecycle.close();
    approvals.close();
    selections.close();
    pairedBrowsers.close();
    // The socket files are removed first. Whoever has connected by then is answered: that the request was not carried
    // out, and may be sent to the next service.
    stopAccepting(listeners);
    await Promise.all([lifecycle.drained(DRAIN_MS), ...mounts.map((mount) => closeMount(mount, log))]);
    await quiet(listeners, HAND_OVER_MS);
    await lifecycle.drained(HAND_OVER_MS);
    await stopListening(listeners);
    await pageServer.close();
    await sources.close();
    await retention.stop();
    results.stop();
    resultFiles.stop();
    collectionFiles.stop();
    await keyAccess.close();
    await usage.close();
    await lambdaStats.close();
    await lambdaStates.close();
    await app.close();
    // The engine may take its time to merge its log.
    supervision.close();
    await engine.close();
    log.info('the service is closed');
  }

  return { addresses, closed, close };
}
