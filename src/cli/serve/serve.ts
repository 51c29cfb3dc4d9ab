import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { BUILD, VERSION } from '../../config.ts';
import { ApiError, isOutOfSpace } from '../../contract/errors.ts';
import type { EngineLimits } from '../../engine/engine.ts';
import { findRecords } from '../../local/audit-log.ts';
import { closeToOthers, type DataFolder, openFolder, refuseHalfRestored, refuseOtherData } from '../../local/folder.ts';
import { boundLog } from '../../local/service-log.ts';
import { DATABASE_HELD_EXIT_CODE, DISK_FULL_EXIT_CODE } from '../../local/spawn.ts';
import { nativeThreads } from '../../native-threads.ts';
import type { TlsFiles } from '../../service/app/listen.ts';
import type { Service } from '../../service/start.ts';
import type { Config } from '../../settings.ts';
import { ownCommand } from '../connect-lines.ts';
import { GUARD_OFF } from '../guard-notice.ts';
import { createLog, errorLine } from '../log.ts';
import { lakeOf } from './lake-settings.ts';
import { reachedUrl } from './reached-url.ts';
import type { McpMount } from './serve-mcp.ts';
import { givenSettings } from './service-settings.ts';
import { type ServiceMessage, SIGNAL_EXIT_CODES, type StopMessage } from './supervise.ts';
import { inPlaceOfLocal, isHeld } from './take-folder.ts';
import { readTlsFiles } from './tls-files.ts';

const MCP_PATH = '/mcp';
const LOG_LOOK_MS = 60_000;
const MEGABYTE = 1024 * 1024;
/** Tool calls shown on the page. */
const CALLS_SHOWN = 50;
const QUERIES_MAX = 16;
/** A query occupies a native thread while it runs; writes need some as well. */
const SPARE_THREADS = 2;

/** How the service was started. */
export interface ServeRole {
  /** As the shared local service. */
  local: boolean;
  /** The one command that the local service was started for, as in `COMMAND_HEADER`. */
  command: string | undefined;
  /** Started by `supervise`, with the TCP port of the service before this one, or 0; undefined: by somebody else. */
  supervised: number | undefined;
}

/**
 * Runs the data service until it is told to stop. `local`: as the shared service that MCP processes start, which exits
 * when idle, limits its log, and quietly gives way to a service that came first.
 */
export async function serve(config: Config, role: ServeRole, bin: string): Promise<number> {
  const { local, command, supervised } = role;
  const log = createLog({ logLevel: levelOf(config, local, process.stderr.isTTY) });
  process.stdout.on('error', () => {});
  try {
    const folder = await openFolder(config.dataDir);
    await closeToOthers(folder);
    await refuseHalfRestored(folder);
    const lake = await lakeOf(config);
    refuseOtherData(folder, lake !== undefined);
    if (local) setInterval(() => boundLog(folder.logFile).catch(() => {}), LOG_LOOK_MS).unref();
    const tls = await readTlsFiles(config);
    const mounts = await mountsOf(config, local, folder, bin, log);
    const { startService } = await import('../../service/start.ts');
    const start = () =>
      startService({
        databaseFile: lake === undefined ? folder.databaseFile : folder.nodeFile,
        lake,
        adminKeyFile: folder.adminKeyFile,
        secretKeyFile: folder.secretKeyFile,
        listen: addressesOf(config, folder, tls, supervised || undefined),
        mounts,
        limits: limitsOf(config),
        supervision: folder,
        onClosing: () => tell({ is: 'closing' }),
        idleMs: local && config.idleSecs > 0 ? config.idleSecs * 1000 : undefined,
        sourcesRest: config.sources === 'rest',
        trustProxy: config.trustProxy,
        trashDays: config.trashDays,
        recentCalls: () => findRecords(folder.path, () => true, CALLS_SHOWN),
        version: VERSION,
        build: BUILD,
        settings: givenSettings(config),
        isForeground: !local,
        command,
        log,
      });
    const { host, port } = config;
    const ready = async () => {
      const { requireFree } = await import('../../service/app/listen.ts');
      if (port !== undefined) await requireFree({ host, port });
    };
    const service = await (local ? start() : inPlaceOfLocal(folder, log, { ready, start }));
    stopWhenTold(service);
    if (config.lambdaTools !== undefined) await beginAll(mounts, folder);
    tell({ is: 'ready', endNoteFile: folder.endNoteFile, port: portOf(service) });
    if (!local) process.stdout.write(welcome(config, service, folder, ownCommand(config, bin)));
    await service.closed;
  } catch (error) {
    process.stderr.write(errorLine(error));
    return local ? exitCodeOf(error) : 1;
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
  if (isHeld(error)) return DATABASE_HELD_EXIT_CODE;
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof ApiError && one.code === 'storage_full') return DISK_FULL_EXIT_CODE;
    if (isOutOfSpace(one)) return DISK_FULL_EXIT_CODE;
  }
  return 1;
}

function addressesOf(
  { socket, port, host }: Config,
  folder: DataFolder,
  tls: TlsFiles | undefined,
  earlierPort: number | undefined,
) {
  const rather = port === 0 ? earlierPort : undefined;
  return [
    { path: folder.socketPath },
    ...(socket === undefined ? [] : [{ path: socket }]),
    ...(port === undefined ? [] : [{ host, port, rather, tls }]),
  ];
}

/** What to mount; nothing for the shared local service, whose clients are processes that speak MCP themselves. */
async function mountsOf(
  config: Config,
  local: boolean,
  { socketPath }: DataFolder,
  bin: string,
  log: Logger,
): Promise<McpMount[]> {
  if (local || !config.mcp) return [];
  if (config.guard === 'off') log.warn({}, GUARD_OFF);
  const { mcpMount } = await import('./serve-mcp.ts');
  return [mcpMount(MCP_PATH, { config, socketPath, bin, log })];
}

/** The service makes the key when it starts, if there is none. */
async function beginAll(mounts: readonly McpMount[], { adminKeyFile }: DataFolder): Promise<void> {
  for (const mount of mounts) await mount.begin((await readFile(adminKeyFile, 'utf8')).trim());
}

/** How many queries run at once, given the number of native threads. */
export function placesOf(threads: number): number {
  return Math.max(1, Math.min(QUERIES_MAX, threads - SPARE_THREADS));
}

function limitsOf({ queryTimeoutMs, rowsMax, memoryMb, threads }: Config): Partial<EngineLimits> {
  return {
    queriesMax: placesOf(nativeThreads()),
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
    ...(rowsMax === undefined ? {} : { resultRowsMax: rowsMax }),
    ...(memoryMb === undefined ? {} : { memoryBytes: memoryMb * MEGABYTE }),
    ...(threads === undefined ? {} : { threads }),
  };
}

/** Says something to the process that started this one to supervise it, if that is so. */
function tell(message: ServiceMessage): void {
  if (process.connected) process.send?.(message, undefined, {}, () => {});
}

function portOf({ addresses }: Service): number | undefined {
  const url = addresses.find((address) => address.startsWith('http'));
  return url === undefined ? undefined : Number(new URL(url).port);
}

/**
 * The first signal closes the service cleanly; a second one ends the process at once. The process that supervises this
 * one tells how many it got: of those to a whole group, such as a terminal's, both have got one. Without it, nobody
 * would end this one.
 */
function stopWhenTold(service: Service): void {
  let signals = 0;
  const stop = ({ stops, exitCode }: StopMessage) => {
    if (stops > 1) process.exit(exitCode);
    service.close().catch((error: unknown) => {
      process.stderr.write(errorLine(error));
      process.exit(1);
    });
  };
  for (const [signal, exitCode] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.on(signal, () => stop({ stops: ++signals, exitCode }));
  }
  process.on('message', stop);
  process.on('disconnect', () => stop({ stops: 1, exitCode: 1 }));
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
