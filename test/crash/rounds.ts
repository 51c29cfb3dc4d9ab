import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '../../src/http/client.ts';
import { probe } from '../../src/local/probe.ts';
import {
  documentsWorker,
  lambdaWorker,
  metadataWorker,
  randomFrom,
  type State,
  type Step,
  WORKSPACE,
  type Worker,
} from './load.ts';

export interface RoundsOptions {
  /** The built program. */
  bin: string;
  /** An empty folder with a short path. */
  folder: string;
  rounds: number;
  seed: number;
  /** Hears how it goes. */
  report?: (line: string) => void;
}

export interface RoundsReport {
  rounds: number;
  /** Calls that were answered before a kill, and calls that one cut off. */
  acknowledged: number;
  cutOff: number;
  /** Of those that were cut off, those found to be stored. */
  cutOffStored: number;
  /** Times that a service was killed while it opened the database. */
  killedOpening: number;
  /** What must not be: each a text that says where and what. */
  lost: string[];
  half: string[];
}

const LOAD_MS = 1_200;
const OPENING_MS = 500;
/** So many of the starts are killed as well. */
const OPENING_SHARE = 0.2;
const READY_MS = 60_000;

/** Kills a service at random moments of a mixed load, starts it again, and compares what is stored with what it said. */
export async function playRounds({ bin, folder, rounds, seed, report }: RoundsOptions): Promise<RoundsReport> {
  const random = randomFrom(seed);
  const result: RoundsReport = {
    rounds: 0,
    acknowledged: 0,
    cutOff: 0,
    cutOffStored: 0,
    killedOpening: 0,
    lost: [],
    half: [],
  };
  const workers = [
    documentsWorker('docs', 'a', random, true),
    documentsWorker('docs', 'b', random, false),
    documentsWorker('others', 'c', random, true),
    metadataWorker(random),
    lambdaWorker(random),
  ];
  const states = new Map<Worker, State>();
  let served = await start(bin, folder);
  try {
    await served.client.createWorkspace({ name: WORKSPACE });
    for (const worker of workers) await worker.prepare(served.client);
    for (const worker of workers) states.set(worker, await worker.read(served.client));
    for (let round = 0; round < rounds; round++) {
      const { client, child } = served;
      let isKilled = false;
      const loads = workers.map((worker) => load(worker, states, client, () => isKilled, result));
      await Promise.race([sleep(40 + random() * LOAD_MS), failureOf(loads)]);
      isKilled = true;
      await kill(child);
      const pending = await Promise.all(loads);
      await client.close();
      while (random() < OPENING_SHARE) {
        const opening = spawnService(bin, folder);
        await sleep(random() * OPENING_MS);
        await kill(opening);
        result.killedOpening += 1;
      }
      served = await start(bin, folder);
      for (const [index, worker] of workers.entries()) {
        const before = states.get(worker) ?? {};
        const actual = await worker.read(served.client);
        judge(worker, before, pending[index], actual, round, result);
        states.set(worker, actual);
      }
      result.rounds += 1;
      if ((round + 1) % 10 === 0) report?.(`${summary(result)}, ${databaseSize(folder)}`);
    }
  } finally {
    await served.client.close();
    await kill(served.child);
  }
  return result;
}

export function summary({
  rounds,
  acknowledged,
  cutOff,
  cutOffStored,
  killedOpening,
  lost,
  half,
}: RoundsReport): string {
  return `${rounds} rounds: ${acknowledged} changes acknowledged, ${cutOff} cut off (${cutOffStored} of them stored), ${killedOpening} killed while opening; ${lost.length} lost, ${half.length} half applied`;
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

/** Makes changes until the service is killed; resolves to the one that was not answered. */
async function load(
  worker: Worker,
  states: Map<Worker, State>,
  client: Client,
  isKilled: () => boolean,
  result: RoundsReport,
): Promise<Step | undefined> {
  while (!isKilled()) {
    const step = worker.next(states.get(worker) ?? {});
    try {
      const answer = await step.run(client);
      refuseErrors(worker, step, answer);
    } catch (error) {
      if (!isKilled()) throw new Error(`${worker.name}: ${step.name} failed before the kill`, { cause: error });
      return step;
    }
    states.set(worker, step.after);
    result.acknowledged += 1;
  }
  return undefined;
}

/** A document that was refused would make the model wrong. */
function refuseErrors(worker: Worker, step: Step, answer: unknown): void {
  const { data } = (answer ?? {}) as { data?: { status?: string; error?: unknown }[] };
  const failed = Array.isArray(data) ? data.find(({ status }) => status === 'ERROR') : undefined;
  if (failed !== undefined) throw new Error(`${worker.name}: ${step.name}: ${JSON.stringify(failed)}`);
}

/** What is stored must be what was acknowledged, with or without the one change that was cut off. */
function judge(
  worker: Worker,
  before: State,
  pending: Step | undefined,
  actual: State,
  round: number,
  result: RoundsReport,
): void {
  if (pending !== undefined) result.cutOff += 1;
  if (isEqual(actual, before)) return;
  const after = pending?.after ?? before;
  if (pending !== undefined && isEqual(actual, after)) {
    result.cutOffStored += 1;
    return;
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after), ...Object.keys(actual)])];
  const wrong = keys.filter((key) => actual[key] !== before[key] && actual[key] !== after[key]);
  const where = `round ${round + 1}, ${worker.name}, cut off: ${pending?.name ?? 'nothing'}`;
  const shown = wrong.slice(0, 5).map((key) => `${key}: ${before[key]} or ${after[key]}, found ${actual[key]}`);
  if (wrong.length > 0) result.lost.push(`${where}: ${wrong.length} differ: ${shown.join('; ')}`);
  else result.half.push(where);
}

function isEqual(a: State, b: State): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function spawnService(bin: string, folder: string): ChildProcess {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, COLLOQUY_DATA_DIR: folder, COLLOQUY_LOG_LEVEL: 'warn' };
  return spawn(process.execPath, [bin, 'serve', '--mcp', 'off'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function start(bin: string, folder: string): Promise<{ child: ChildProcess; client: Client }> {
  const child = spawnService(bin, folder);
  const socketPath = join(folder, 'service.sock');
  for (const endsAt = performance.now() + READY_MS; ; await sleep(20)) {
    const found = await probe(socketPath);
    if (found.state === 'ready' && found.pid === child.pid) break;
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} while it started`);
    if (performance.now() > endsAt) throw new Error('the service does not get ready');
  }
  const apiKey = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
  return { child, client: createClient({ target: { socketPath }, apiKey }) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
