import { once } from 'node:events';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../src/http/client.ts';
import { largeWorker, readAlong } from './large.ts';
import {
  documentsWorker,
  lambdaWorker,
  metadataWorker,
  type Random,
  randomFrom,
  type State,
  type Step,
  WORKSPACE,
  type Worker,
} from './load.ts';
import { lookInside } from './look.ts';
import { retentionWorker, userWorker } from './more.ts';
import { handOver, isFree, isMade, openAlone, spawnBackup, startAhead } from './operations.ts';
import { kill, restore, type Served, spawnService, start } from './service.ts';

export interface RoundsOptions {
  /** The built program. */
  bin: string;
  /** An empty folder with a short path. */
  folder: string;
  rounds: number;
  seed: number;
  /** Number of documents of the large collection. The engine divides a table into pieces of 122,880 rows. */
  documents: number;
  /** Maximum time of writing between two kills. */
  loadMs: number;
  /** Share of the rounds that end in a pause, long enough for what the engine does when nothing is written. */
  quietShare: number;
  /** Share of the rounds in which a backup is made; complete backups are restored and compared. */
  backupShare: number;
  /** Share of the rounds in which `colloquy backup` runs beside the kill. */
  commandShare: number;
  /** Share of the rounds that are followed by a start with a clock that is wrong. */
  clockShare: number;
  /** Share of the rounds before which a local service serves, and a `serve` takes its place. */
  handOverShare: number;
  /** Called with progress. */
  report?: (line: string) => void;
}

export interface RoundsReport {
  rounds: number;
  /** Calls answered before a kill, and calls cut off by one. */
  acknowledged: number;
  cutOff: number;
  /** How many of those cut off turned out to be stored. */
  cutOffStored: number;
  /** How often a service was killed while it opened the database. */
  killedOpening: number;
  /** Queries answered while others wrote. */
  queries: number;
  /** Backups that were complete before the kill, and were restored; and those that the kill cut off. */
  backups: number;
  backupsCutOff: number;
  /** How often a service took the place of another, and was started with a wrong clock. */
  handedOver: number;
  startedAhead: number;
  /** Violations: each text says where and what. */
  lost: string[];
  half: string[];
}

const OPENING_MS = 1_500;
/** Share of the starts that are killed as well. */
const OPENING_SHARE = 0.3;
/**
 * A pause lasts this long and up to `QUIET_MORE_MS` more: about as long as the engine waits before it merges its log,
 * which depends on the log's length.
 */
const QUIET_MS = 950;
const QUIET_MORE_MS = 5_000;
/** Share of the rounds in which a copy of the files is inspected. */
const LOOK_SHARE = 0.2;

/** The state of one run. */
interface Game {
  options: RoundsOptions;
  random: Random;
  workers: readonly Worker[];
  states: Map<Worker, State>;
  /** Each worker's states since the round began, to compare a backup with. */
  past: Map<Worker, State[]>;
  result: RoundsReport;
}

/**
 * Kills a service at random moments of a mixed load, restarts it, and compares what is stored with what was
 * acknowledged.
 */
export async function playRounds(options: RoundsOptions): Promise<RoundsReport> {
  const { bin, folder, rounds, seed, documents, report } = options;
  const random = randomFrom(seed);
  const result: RoundsReport = {
    rounds: 0,
    acknowledged: 0,
    cutOff: 0,
    cutOffStored: 0,
    killedOpening: 0,
    queries: 0,
    backups: 0,
    backupsCutOff: 0,
    handedOver: 0,
    startedAhead: 0,
    lost: [],
    half: [],
  };
  const workers = [
    documentsWorker('docs', 'a', random, true),
    documentsWorker('docs', 'b', random, false),
    documentsWorker('others', 'c', random, true),
    metadataWorker(random),
    lambdaWorker(random),
    retentionWorker(random),
    userWorker(random),
    largeWorker({ collection: 'large', documents, isRemade: false }, random),
    largeWorker({ collection: 'second', documents: Math.ceil(documents / 20), isRemade: true }, random),
  ];
  const game: Game = { options, random, workers, states: new Map(), past: new Map(), result };
  const data = join(folder, 'd');
  let served = await start(bin, data);
  try {
    await served.client.createWorkspace({ name: WORKSPACE });
    for (const worker of workers) await worker.prepare(served.client);
    // After an orderly exit, everything is in the main file.
    await served.client.close();
    served.child.kill('SIGTERM');
    await once(served.child, 'exit');
    served = await start(bin, data);
    for (const worker of workers) game.states.set(worker, await worker.read(served.client));
    for (let round = 1; round <= rounds; round++) {
      const where = (what: string) => (error: unknown) => {
        throw new Error(`round ${round} from seed ${seed}, ${what}`, { cause: error });
      };
      if (random() < options.handOverShare)
        served = await playHandOver(game, served, round).catch(where('while one service took the place of another'));
      served = await playRound(game, served, round).catch(where('up to its kill and the next start'));
      result.rounds += 1;
      if (round % 10 === 0) report?.(`${summary(result)}, ${databaseSize(data)}`);
    }
  } finally {
    await served.client.close();
    await kill(served.child);
  }
  return result;
}

/** One service takes the place of another under load, and no call fails; returns the one that runs then. */
async function playHandOver(game: Game, served: Served, round: number): Promise<Served> {
  const { options, random, workers, states, result } = game;
  const first = workers[0] as Worker;
  const place = { bin: options.bin, folder: join(options.folder, 'd'), random };
  const next = await handOver(place, served, {
    step: (client) => change(game, first, first.next(states.get(first) ?? {}), client),
    loads(client) {
      let stop: 'goOn' | 'rest' = 'goOn';
      const all = Promise.all(workers.map((worker) => load(game, worker, client, () => stop)));
      // Whoever stops them is told.
      all.catch(() => undefined);
      return {
        async stop() {
          stop = 'rest';
          await all;
        },
      };
    },
  });
  for (const worker of workers) judge(game, worker, undefined, await worker.read(next.client), round);
  result.handedOver += 1;
  return next;
}

/** Writes and kills; returns the service that runs afterwards, once everything stored was compared. */
async function playRound(game: Game, { client, child }: Served, round: number): Promise<Served> {
  const { options, random, workers, states, result } = game;
  const { bin, folder, loadMs, quietShare, backupShare } = options;
  const data = join(folder, 'd');
  // Drawn first, so that they do not depend on what happens meanwhile.
  const [writeMs, isQuiet, quietMs] = [40 + random() * loadMs, random() < quietShare, random() * QUIET_MORE_MS];
  const backupAfterMs = random() < backupShare ? random() * writeMs : undefined;
  const isBackupAwaited = random() < 0.5;
  const commandAfterMs = random() < options.commandShare ? random() * writeMs : undefined;
  const commandTo = join(folder, 'kept');
  let stop: 'goOn' | 'rest' | 'killed' = 'goOn';
  const backupTo = join(folder, 'backup');
  for (const worker of workers) game.past.set(worker, [states.get(worker) ?? {}]);
  const loads = workers.map((worker) => load(game, worker, client, () => stop));
  const reading = readWhile(game, client, () => stop === 'killed');
  const backup =
    backupAfterMs === undefined
      ? undefined
      : sleep(backupAfterMs).then(() =>
          client.createBackup({ path: backupTo }).then(
            () => true,
            (error: unknown) => {
              if (stop !== 'killed') throw error;
              return false;
            },
          ),
        );
  const command =
    commandAfterMs === undefined ? undefined : sleep(commandAfterMs).then(() => spawnBackup(bin, data, commandTo));
  const all = [...loads, reading, ...(backup === undefined ? [] : [backup])];
  await Promise.race([sleep(writeMs), failureOf(all)]);
  if (isBackupAwaited && backup !== undefined) await Promise.race([backup, failureOf(all)]);
  if (isQuiet) {
    stop = 'rest';
    await Promise.race([Promise.all(loads).then(() => sleep(QUIET_MS + quietMs)), failureOf(all)]);
  }
  stop = 'killed';
  await kill(child);
  const pending = await Promise.all(loads);
  await reading;
  await client.close();
  if (backup !== undefined) {
    const isWhole = await backup;
    if (isWhole) await compareBackup(game, backupTo, pending, round);
    else result.backupsCutOff += 1;
    rmSync(backupTo, { recursive: true, force: true });
  }
  // The command may start a service of its own, in whose place the next one takes the folder.
  const isBeside = command !== undefined && random() < 0.5;
  if (command !== undefined && !isBeside) await isMade(await command);
  if (!isBeside && random() < LOOK_SHARE) {
    await isFree(data);
    const wrong = [...(await openAlone(data, join(folder, 'copy'))), ...(await lookInside(data, join(folder, 'copy')))];
    result.lost.push(...wrong.map((text) => `round ${round}: ${text}`));
  }
  while (random() < OPENING_SHARE) {
    const opening = spawnService(bin, data);
    await sleep(random() * OPENING_MS);
    await kill(opening);
    result.killedOpening += 1;
  }
  if (random() < options.clockShare) {
    await startAhead(bin, data, random);
    result.startedAhead += 1;
  }
  const served = await start(bin, data);
  if (command !== undefined) {
    if (await isMade(await command)) await compareBackup(game, commandTo, pending, round);
    else result.backupsCutOff += 1;
    rmSync(commandTo, { recursive: true, force: true });
  }
  for (const [index, worker] of workers.entries()) {
    const actual = await worker.read(served.client);
    judge(game, worker, pending[index], actual, round);
    states.set(worker, actual);
  }
  return served;
}

export function summary(report: RoundsReport): string {
  const { rounds, acknowledged, cutOff, cutOffStored, killedOpening, queries, backups, backupsCutOff } = report;
  const { handedOver, startedAhead, lost, half } = report;
  return `${rounds} rounds: ${acknowledged} changes acknowledged, ${cutOff} cut off (${cutOffStored} of them stored), ${killedOpening} killed while opening, ${queries} queries meanwhile, ${backups} backups restored, ${backupsCutOff} cut off, ${handedOver} handed over, ${startedAhead} started with a wrong clock; ${lost.length} lost, ${half.length} half applied`;
}

function databaseSize(folder: string): string {
  const size = (name: string) => Math.round((statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) / 1e6);
  return `database ${size('_colloquy.duckdb')} MB, log ${size('_colloquy.duckdb.wal')} MB`;
}

/** Rejects as soon as one of them does. */
function failureOf(loads: readonly Promise<unknown>[]): Promise<never> {
  return new Promise((_, reject) => {
    for (const one of loads) one.catch(reject);
  });
}

/**
 * Makes changes until the service is killed or is to rest; resolves to the change that was not answered, if any.
 */
async function load(
  game: Game,
  worker: Worker,
  client: Client,
  stop: () => 'goOn' | 'rest' | 'killed',
): Promise<Step | undefined> {
  while (stop() === 'goOn') {
    const step = worker.next(game.states.get(worker) ?? {});
    try {
      await change(game, worker, step, client);
    } catch (error) {
      if (stop() !== 'killed') throw new Error(`${worker.name}: ${step.name} failed before the kill`, { cause: error });
      return step;
    }
  }
  return undefined;
}

/** Makes one change; when it is acknowledged, it counts. */
async function change({ states, past, result }: Game, worker: Worker, step: Step, client: Client): Promise<void> {
  refuseErrors(worker, step, await step.run(client));
  states.set(worker, step.after);
  past.get(worker)?.push(step.after);
  result.acknowledged += 1;
}

async function readWhile({ options, random, result }: Game, client: Client, isKilled: () => boolean): Promise<void> {
  while (!isKilled()) {
    try {
      const wrong = await readAlong(client, { collection: 'large', documents: options.documents }, random);
      if (wrong !== undefined) result.lost.push(`a query met what nobody wrote: ${wrong}`);
      result.queries += 1;
    } catch (error) {
      if (!isKilled()) throw new Error('a query failed before the kill', { cause: error });
    }
    await sleep(random() * 100);
  }
}

/** A refused document would invalidate the model. */
function refuseErrors(worker: Worker, step: Step, answer: unknown): void {
  const { data } = (answer ?? {}) as { data?: { status?: string; error?: unknown }[] };
  const failed = Array.isArray(data) ? data.find(({ status }) => status === 'ERROR') : undefined;
  if (failed !== undefined) throw new Error(`${worker.name}: ${step.name}: ${JSON.stringify(failed)}`);
}

/** For each worker, a backup must hold one of the states since the round began. */
async function compareBackup(
  { options: { bin, folder }, workers, past, result }: Game,
  backup: string,
  pending: readonly (Step | undefined)[],
  round: number,
): Promise<void> {
  const restored = join(folder, 'r');
  mkdirSync(restored, { mode: 0o700 });
  await restore(bin, restored, backup);
  const served = await start(bin, restored);
  try {
    for (const [index, worker] of workers.entries()) {
      const actual = await worker.read(served.client);
      const known = [...(past.get(worker) ?? []), ...(pending[index] === undefined ? [] : [pending[index].after])];
      if (!known.some((state) => isEqual(actual, state)))
        result.half.push(`round ${round}, ${worker.name}: its backup is of no moment`);
    }
  } finally {
    await served.client.close();
    await kill(served.child);
    rmSync(restored, { recursive: true, force: true });
  }
  result.backups += 1;
}

/** What is stored must be what was acknowledged, with or without the one change that was cut off. */
function judge(
  { states, result }: Game,
  worker: Worker,
  pending: Step | undefined,
  actual: State,
  round: number,
): void {
  const before = states.get(worker) ?? {};
  if (pending !== undefined) result.cutOff += 1;
  if (isEqual(actual, before)) return;
  const after = pending?.after ?? before;
  if (pending !== undefined && isEqual(actual, after)) {
    result.cutOffStored += 1;
    return;
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after), ...Object.keys(actual)])];
  const wrong = keys.filter((key) => actual[key] !== before[key] && actual[key] !== after[key]);
  const where = `round ${round}, ${worker.name}, cut off: ${pending?.name ?? 'nothing'}`;
  const shown = wrong.slice(0, 5).map((key) => `${key}: ${difference(before[key], after[key], actual[key])}`);
  if (wrong.length > 0) result.lost.push(`${where}: ${wrong.length} differ: ${shown.join('; ')}`);
  else result.half.push(where);
}

const SHOWN_MAX = 400;

/** The texts from just before where they begin to differ. */
function difference(before = '(none)', after = '(none)', actual = '(none)'): string {
  let from = 0;
  while (from < actual.length && actual[from] === before[from] && actual[from] === after[from]) from += 1;
  const [a, b, found] = [before, after, actual].map((text) => text.slice(Math.max(0, from - 20), from + SHOWN_MAX));
  return `${a} or ${b}, found ${found}`;
}

function isEqual(a: State, b: State): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
