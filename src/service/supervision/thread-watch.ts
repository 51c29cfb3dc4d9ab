import { url as debuggerUrl } from 'node:inspector';
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
  /** Most requests that the message names. */
  shownMax: number;
  endNoteFile: string;
  tickMs: number;
  ticksMax: number;
}

const SHOWN_MAX = 5;
const TICK_MS = 500;
/** Ticks without a beat after which the process ends: 6 seconds. Nothing that is allowed holds the thread for one. */
const TICKS_MAX = 12;
/** It needs next to nothing, and must not take what the service needs. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/**
 * Watches the calling thread from another one, and ends the process when it does not answer: a thread that hangs can
 * hold no time limit, its own least of all. Returns how to stop watching. Beside a debugger, which may hold the thread for
 * as long as it wants, nothing is watched.
 */
export function watchThread({ flights, endNoteFile, onError }: ThreadWatchOptions): () => void {
  if (debuggerUrl() !== undefined) return () => {};
  const { board, fd } = flights;
  const data: WatchData = {
    board,
    fd,
    slotBytes: SLOT_BYTES,
    shownMax: SHOWN_MAX,
    endNoteFile,
    tickMs: TICK_MS,
    ticksMax: TICKS_MAX,
  };
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
  const { board, fd, slotBytes, shownMax, endNoteFile, tickMs, ticksMax } = workerData as WatchData;
  let last = -1;
  let silent = 0;

  /** What is in a slot; undefined: there is no such slot, or it cannot be read. */
  const read = (slot: number): Record<string, unknown>[] | undefined => {
    const bytes = Buffer.alloc(slotBytes);
    try {
      if (fd === undefined || readSync(fd, bytes, 0, slotBytes, slot * slotBytes) === 0) return undefined;
    } catch {
      return undefined;
    }
    const length = bytes.readUInt32LE(0);
    try {
      return length === 0 ? [] : [JSON.parse(bytes.toString('utf8', 4, 4 + length))];
    } catch {
      return [];
    }
  };
  const readAll = () => {
    const works: Record<string, unknown>[] = [];
    for (let slot = 1, found = read(slot); found !== undefined; found = read(++slot)) works.push(...found);
    return works;
  };
  const say = (works: readonly Record<string, unknown>[]) => {
    const shown = works.map(({ traceId, operation, caller }) =>
      JSON.stringify({ trace_id: traceId, operation, caller }),
    );
    const on = `${shown.length > 1 ? 'one of these: ' : ''}${shown.slice(0, shownMax).join(', ') || 'nothing known'}`;
    const message = `the service has not answered for ${(silent * tickMs) / 1000} s, and works on ${on}. It ends and starts again; what was acknowledged is on disk.`;
    try {
      writeSync(2, `colloquy: ${message}\n`);
    } catch {
      // Nobody reads standard error.
    }
  };
  const end = (by: readonly object[]) => {
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
    const slot = Atomics.load(board, 1);
    const seen = slot > 0 ? (read(slot) ?? []) : [];
    say(slot > 0 ? seen : readAll());
    // Both may have waited for whoever reads standard error, a person who paused it for example. Then it goes on now.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, tickMs);
    if (Atomics.load(board, 0) === beat) end(seen);
  }, tickMs);
}
