import type { Logger } from 'pino';
import { BUILD, nativeThreads, VERSION } from '../config.ts';
import { ApiError, isOutOfSpace } from '../contract/errors.ts';
import { endProcess } from '../engine/duckdb/storage/end-process.ts';
import type { EngineLimits } from '../engine/engine.ts';
import { newestRecords } from '../local/audit-log.ts';
import { type DataFolder, openFolder, refuseHalfRestored } from '../local/folder.ts';
import { boundLog } from '../local/service-log.ts';
import { DATABASE_HELD_EXIT_CODE, DISK_FULL_EXIT_CODE } from '../local/spawn.ts';
import type { TlsFiles } from '../service/app/listen.ts';
import type { Mount } from '../service/app/mounts.ts';
import type { Service } from '../service/start.ts';
import type { Config } from '../settings.ts';
import { ownCommand } from './connect-lines.ts';
import { GUARD_OFF } from './guard-notice.ts';
import { createLog, errorLine } from './log.ts';
import { mountedLater } from './mounted-later.ts';
import { reachedUrl } from './reached-url.ts';
import { givenSettings } from './service-settings.ts';
import { readTlsFiles } from './tls-files.ts';

const MCP_PATH = '/mcp';
const LOG_LOOK_MS = 60_000;
const MEGABYTE = 1024 * 1024;
/** Tool calls shown on the page. */
const CALLS_SHOWN = 50;
const QUERIES_MAX = 4;
/** A query occupies a native thread while it runs; writes need some as well. */
const SPARE_THREADS = 2;
const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs the data service until it is told to stop. `local`: as the shared service that MCP processes start, which exits
 * when idle, limits its log, and quietly gives way to a service that came first.
 */
export async function serve(config: Config, local: boolean, bin: string): Promise<number> {
  const log = createLog({ logLevel: levelOf(config, local, process.stderr.isTTY) });
  process.stdout.on('error', () => {});
  try {
    const folder = await openFolder(config.dataDir);
    await refuseHalfRestored(folder);
    if (local) setInterval(() => boundLog(folder.logFile).catch(() => {}), LOG_LOOK_MS).unref();
    const { startService } = await import('../service/start.ts');
    const service = await startService({
      databaseFile: folder.databaseFile,
      adminKeyFile: folder.adminKeyFile,
      secretKeyFile: folder.secretKeyFile,
      listen: addressesOf(config, folder, await readTlsFiles(config)),
      mounts: mountsOf(config, local, folder, bin, log),
      limits: limitsOf(config),
      giveUp: (message) => endProcess(`${message} ${startsAgain(local)}`),
      idleMs: local && config.idleSecs > 0 ? config.idleSecs * 1000 : undefined,
      trustProxy: config.trustProxy,
      trashDays: config.trashDays,
      recentCalls: () => newestRecords(folder.path, CALLS_SHOWN),
      version: VERSION,
      build: BUILD,
      settings: givenSettings(config),
      isForeground: !local,
      log,
    });
    stopOnSignals(service);
    if (!local) process.stdout.write(welcome(config, service, folder, ownCommand(config, bin)));
    await service.closed;
  } catch (error) {
    process.stderr.write(errorLine(error));
    if (local) return exitCodeOf(error);
    if (exitCodeOf(error) === DATABASE_HELD_EXIT_CODE) {
      process.stderr.write(
        `colloquy: Where that is the local service, which assistants started: ${ownCommand(config, bin)} stop\n`,
      );
    }
    return 1;
  }
  // A timer or a worker of a library must not keep a closed service running.
  process.exit(0);
}

/** A person at a terminal reads the welcome text, and of the log only what went wrong, unless more was asked for. */
export function levelOf({ logLevel }: Pick<Config, 'logLevel'>, local: boolean, isTerminal: boolean) {
  return logLevel ?? (!local && isTerminal ? 'warn' : 'info');
}

/** Tells the process that started the local service why it ended, even if no log can be written. */
function exitCodeOf(error: unknown): number {
  for (let one = error; one instanceof Error; one = one.cause) {
    // The engine's code for a database that another process has open.
    if (one instanceof ApiError && one.code === 'not_ready') return DATABASE_HELD_EXIT_CODE;
    if (one instanceof ApiError && one.code === 'storage_full') return DISK_FULL_EXIT_CODE;
    if (isOutOfSpace(one)) return DISK_FULL_EXIT_CODE;
  }
  return 1;
}

function addressesOf({ socket, port, host }: Config, folder: DataFolder, tls: TlsFiles | undefined) {
  return [
    { path: folder.socketPath },
    ...(socket === undefined ? [] : [{ path: socket }]),
    ...(port === undefined ? [] : [{ host, port, tls }]),
  ];
}

/** What to mount; nothing for the shared local service, whose clients are processes that speak MCP themselves. */
function mountsOf(config: Config, local: boolean, { socketPath }: DataFolder, bin: string, log: Logger): Mount[] {
  if (local || !config.mcp) return [];
  if (config.guard === 'off') log.warn({}, GUARD_OFF);
  const load = async () => (await import('./serve-mcp.ts')).mcpMount(MCP_PATH, { config, socketPath, bin, log });
  return [mountedLater(MCP_PATH, load)];
}

/** What happens after the process ends itself. */
export function startsAgain(local: boolean): string {
  return local ? 'The service starts again with the next request.' : 'Its supervisor has to start it again.';
}

/** How many queries run at once, and how many more may fail to stop, given the number of native threads. */
export function placesOf(threads: number): Pick<EngineLimits, 'queriesMax' | 'stuckMax'> {
  const queriesMax = Math.max(1, Math.min(QUERIES_MAX, threads - SPARE_THREADS));
  return { queriesMax, stuckMax: Math.max(1, Math.min(queriesMax, threads - SPARE_THREADS - queriesMax)) };
}

function limitsOf({ queryTimeoutMs, rowsMax, memoryMb, threads }: Config): Partial<EngineLimits> {
  return {
    ...placesOf(nativeThreads()),
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
    ...(rowsMax === undefined ? {} : { resultRowsMax: rowsMax }),
    ...(memoryMb === undefined ? {} : { memoryBytes: memoryMb * MEGABYTE }),
    ...(threads === undefined ? {} : { threads }),
  };
}

/** The first signal closes the service cleanly; a second one ends the process at once. */
function stopOnSignals(service: Service): void {
  let stopping = false;
  for (const [signal, exitCode] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.on(signal, () => {
      if (stopping) process.exit(exitCode);
      stopping = true;
      service.close().catch((error: unknown) => {
        process.stderr.write(errorLine(error));
        process.exit(1);
      });
    });
  }
}

function welcome(config: Config, { addresses }: Service, folder: DataFolder, command: string): string {
  const urls = config.mcp ? addresses.filter((address) => address.startsWith('http')) : [];
  return [
    `Colloquy ${VERSION} serves "${folder.path}" at:`,
    ...addresses.map((address) => `  ${address}`),
    `Clients send the header "Authorization: ApiKey <key>"; the admin's key is in ${folder.adminKeyFile}`,
    ...urls.map(
      (url) => `MCP clients connect to ${reachedUrl(url, config)}/mcp with the header "Authorization: Bearer <key>"`,
    ),
    `What goes on there is shown in a browser by: ${command} open`,
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}
