import { type ChildProcess, spawn } from 'node:child_process';
import { endedBy, noteCrash } from '../../local/crash-note.ts';
import { withServiceThreads } from '../../native-threads.ts';

// This file, and what it imports, loads only what Node.js brings along: the process exists for nothing but to start
// another one, and stays as small as it can.

/** What the service tells the process that started it. */
export type ServiceMessage =
  /** It serves: where its end is noted, and on which TCP port it listens. */
  | { is: 'ready'; endNoteFile: string; port: number | undefined }
  /** It closes, and means to end. */
  | { is: 'closing' };

/** What it is told: how often a signal to end has come. */
export interface StopMessage {
  stops: number;
  exitCode: number;
}

export const SIGNAL_EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const STABLE_MS = 60_000;
const PAUSE_MS_MAX = 30_000;
/** Failures in a row, none of which got ready, after which nothing is tried any more. */
const FAILURES_MAX = 5;
/** Time for a process that was told twice to end at once, by a second signal. */
const STOP_MS = 1_000;

/** One run of the service, from its start to its end. */
export interface Run {
  wasReady: boolean;
  /** It was told to end, or meant to. */
  isStopping: boolean;
  ranMs: number;
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The runs so far that ended too soon. */
export interface Failures {
  /** In a row, each within a minute of being ready. */
  early: number;
  /** In a row, without getting ready. */
  unready: number;
  /** Whether the service has ever been ready. */
  wasReady: boolean;
}

export const NO_FAILURES: Failures = { early: 0, unready: 0, wasReady: false };

/**
 * What follows the end of the service: it starts again, at once the first time, or this process ends with `code`.
 * What ends with a code of its own before it was ever ready has said why, and would again.
 */
export function afterRun(
  { wasReady, isStopping, ranMs, code, signal }: Run,
  before: Failures,
): { code: number } | { pauseMs: number; failures: Failures } {
  const own = code ?? (signal === null ? 1 : endedBy(signal));
  if (isStopping || (wasReady && code === 0) || (code !== null && !wasReady && !before.wasReady)) return { code: own };
  const failures = {
    early: wasReady && ranMs >= STABLE_MS ? 0 : before.early + 1,
    unready: wasReady ? 0 : before.unready + 1,
    wasReady: wasReady || before.wasReady,
  };
  if (failures.unready >= FAILURES_MAX) return { code: own };
  const pauseMs = failures.early <= 1 ? 0 : Math.min(1_000 * 2 ** (failures.early - 2), PAUSE_MS_MAX);
  return { pauseMs, failures };
}

/**
 * Runs `serve` in a process of its own, with these arguments, and starts it again when it ends otherwise than by being
 * told to. Resolves to the exit code.
 */
export async function supervise(bin: string, args: readonly string[]): Promise<number> {
  const state: State = { child: undefined, isReady: false, stops: 0, port: 0 };
  for (const [name, exitCode] of Object.entries(SIGNAL_EXIT_CODES)) {
    process.on(name, () => stop(state, name as NodeJS.Signals, exitCode));
  }
  for (let failures = NO_FAILURES; ; ) {
    const run = await runOnce(state, bin, args);
    const next = state.forcedCode === undefined ? afterRun(run, failures) : { code: state.forcedCode };
    if ('code' in next) return next.code;
    failures = next.failures;
    process.stderr.write(
      `colloquy: the service ended by ${run.signal ?? `exit code ${run.code}`}, and starts again.\n`,
    );
    await new Promise<void>((resolve) => {
      state.wake = resolve;
      setTimeout(resolve, next.pauseMs);
    });
    if (state.stops > 0) return 0;
  }
}

interface State {
  child: ChildProcess | undefined;
  isReady: boolean;
  /** How many signals to end have come. */
  stops: number;
  /** That the service listened on; 0: not known. */
  port: number;
  /** Ends the pause before the next start. */
  wake?: () => void;
  /** Set when the service had to be ended by force. */
  forcedCode?: number;
}

/** The service gets the signals itself if they go to the whole group, as those of a terminal: so it is told the count. */
function stop(state: State, signal: NodeJS.Signals, exitCode: number): void {
  state.stops += 1;
  state.wake?.();
  const { child } = state;
  // Before it is ready there is nothing to close.
  if (!state.isReady) child?.kill(signal);
  else if (child?.connected) child.send({ stops: state.stops, exitCode } satisfies StopMessage, () => {});
  if (state.stops < 2) return;
  setTimeout(() => {
    state.forcedCode = exitCode;
    child?.kill('SIGKILL');
  }, STOP_MS).unref();
}

function runOnce(state: State, bin: string, args: readonly string[]): Promise<Run> {
  const startedAt = performance.now();
  let readyAt: number | undefined;
  let endNoteFile: string | undefined;
  let isClosing = false;
  const given = [...process.execArgv, bin, ...args, '--supervised', String(state.port)];
  const child = spawn(process.execPath, given, {
    env: withServiceThreads(),
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  state.child = child;
  state.isReady = false;
  child.on('message', (message: ServiceMessage) => {
    if (message.is === 'closing') isClosing = true;
    else {
      readyAt = performance.now();
      state.isReady = true;
      endNoteFile = message.endNoteFile;
      state.port = message.port ?? 0;
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (endNoteFile !== undefined) noteCrash(endNoteFile, child.pid, code, signal);
      const ranMs = performance.now() - (readyAt ?? startedAt);
      const isStopping = isClosing || state.stops > 0;
      resolve({ wasReady: readyAt !== undefined, isStopping, ranMs, code, signal });
    });
  });
}
