import { Worker } from 'node:worker_threads';
import { BEAT, type Flights, SLOT_BYTES } from './flights.ts';

export interface ThreadWatchOptions {
  flights: Flights;
  endNoteFile: string;
  onError: (error: unknown) => void;
}

interface WatchData {
  board: Int32Array<SharedArrayBuffer>;
  fd: number | undefined;
  slotBytes: number;
  endNoteFile: string;
  tickMs: number;
  ticksMax: number;
}

const TICK_MS = 500;
/** Ticks without a beat after which the process ends: 6 seconds. Nothing that is allowed holds the thread for one. */
const TICKS_MAX = 12;
/** It needs next to nothing, and must not take what the service needs. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/**
 * Watches the calling thread from another one, and ends the process when it does not answer: a thread that hangs can
 * hold no time limit, its own least of all. Returns how to stop watching.
 */
export function watchThread({ flights, endNoteFile, onError }: ThreadWatchOptions): () => void {
  const { board, fd } = flights;
  const data: WatchData = { board, fd, slotBytes: SLOT_BYTES, endNoteFile, tickMs: TICK_MS, ticksMax: TICKS_MAX };
  const beat = setInterval(() => Atomics.add(board, BEAT, 1), TICK_MS).unref();
  // From its text, since a bundle has no file for it; so it may use nothing but what it is given.
  const worker = new Worker(`(${watch.toString()})()`, { eval: true, workerData: data, resourceLimits: LIMITS });
  worker.on('error', onError);
  worker.unref();
  return () => {
    clearInterval(beat);
    void worker.terminate();
  };
}

/**
 * Runs in the other thread. It counts its own ticks, not the time: a process that is suspended, or gets no processor,
 * gets no ticks either.
 */
function watch(): void {
  const { readSync, openSync, writeSync, fsyncSync, closeSync } = process.getBuiltinModule('node:fs');
  const { workerData } = process.getBuiltinModule('node:worker_threads');
  const { board, fd, slotBytes, endNoteFile, tickMs, ticksMax } = workerData as WatchData;
  let last = -1;
  let silent = 0;

  const read = (slot: number): Record<string, unknown> | undefined => {
    if (fd === undefined || slot === 0) return undefined;
    try {
      const bytes = Buffer.alloc(slotBytes);
      readSync(fd, bytes, 0, slotBytes, slot * slotBytes);
      return JSON.parse(bytes.toString('utf8', 4, 4 + bytes.readUInt32LE(0)));
    } catch {
      return undefined;
    }
  };
  const say = (work: Record<string, unknown> | undefined) => {
    const { startedAt, fingerprints, ...shown } = work ?? {};
    const on = work === undefined ? 'nothing known' : JSON.stringify(shown);
    const message = `the service has not answered for ${(silent * tickMs) / 1000} s, and works on ${on}. It ends and starts again; what was acknowledged is on disk.`;
    try {
      writeSync(2, `colloquy: ${message}\n`);
    } catch {
      // Nobody reads standard error.
    }
  };
  const end = (by: unknown[]) => {
    try {
      const note = openSync(endNoteFile, 'w', 0o600);
      writeSync(note, JSON.stringify({ pid: process.pid, at: new Date().toISOString(), why: 'hung', by }));
      fsyncSync(note);
      closeSync(note);
    } catch {
      // A full disk; the process has to end all the same.
    }
    process.kill(process.pid, 'SIGKILL');
  };

  setInterval(() => {
    const beat = Atomics.load(board, 0);
    silent = beat === last ? silent + 1 : 0;
    last = beat;
    if (silent < ticksMax) return;
    const work = read(Atomics.load(board, 1));
    say(work);
    // Both may have waited for whoever reads standard error, a person who paused it for example. Then it goes on now.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, tickMs);
    if (Atomics.load(board, 0) === beat) end(work === undefined ? [] : [work]);
  }, tickMs);
}
