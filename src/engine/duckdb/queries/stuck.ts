import { readdirSync, readFileSync } from 'node:fs';
import type { GiveUp } from '../../engine.ts';

/** How long a statement that was told to stop may go on: the longest steps of honest ones take a second or two. */
export const STUCK_AFTER_MS = 10_000;

/** Share of a processor core above which the process is busy; a busy machine may leave it no more than this. */
const BUSY_SHARE = 0.05;

/** How often it is looked whether a thread waits for the disk, from one look at the processor to the next. */
const SAMPLES = 10;
/** After that many looks a busy process counts, whatever waits for the disk: something may always do. */
const LOOKS_MAX = 6;

/**
 * Whether a thread of this process waits for a disk just now. Nothing tells which statement a thread works for, nor
 * what it does; only Linux tells that it waits.
 */
function waitsForDisk(): boolean {
  if (process.platform !== 'linux') return false;
  return readdirSync('/proc/self/task').some((task) => {
    try {
      const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1');
      return stat.charAt(stat.lastIndexOf(')') + 2) === 'D';
    } catch {
      return false;
    }
  });
}

/**
 * To be called when a statement is told to stop. Calls `onStuck` once, with the time since, if `afterMs` later the
 * returned function was not called and the process was busy without waiting for a disk most of the time: otherwise the
 * statement may only wait for that, beside others, and is looked at again.
 */
export function watchStopping(afterMs: number, onStuck: (toldMs: number) => void, isWaiting = waitsForDisk) {
  const toldAt = performance.now();
  let lookedAt = toldAt;
  let before = process.cpuUsage();
  let samples = 0;
  let waiting = 0;
  const timer = setInterval(() => {
    samples += 1;
    waiting += Number(isWaiting());
    if (samples % SAMPLES > 0) return;
    const { user, system } = process.cpuUsage(before);
    const now = performance.now();
    const isBusy = user + system >= (now - lookedAt) * 1_000 * BUSY_SHARE;
    const isForDisk = waiting > SAMPLES / 2 && samples < SAMPLES * LOOKS_MAX;
    [lookedAt, before, waiting] = [now, process.cpuUsage(), 0];
    if (!isBusy || isForDisk) return;
    clearInterval(timer);
    onStuck(now - toldAt);
  }, afterMs / SAMPLES).unref();
  return () => clearInterval(timer);
}

/** Why the process ends, for the log: without the statement, which may contain secrets. */
export function stuck(toldMs: number, requestId: string | undefined): GiveUp {
  const which = requestId === undefined ? '' : ` (of request ${requestId})`;
  const seconds = Math.round(toldMs / 1_000);
  return {
    why: 'stuck',
    message: `a statement${which} was told to stop ${seconds} s ago and does not, so this service ends. What was written is safe.`,
    requestIds: requestId === undefined ? [] : [requestId],
  };
}
