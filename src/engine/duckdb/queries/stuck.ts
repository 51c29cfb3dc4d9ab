import type { StuckStatement } from '../../engine.ts';

/** How long a statement that was told to stop may go on: the longest steps of honest ones take a second or two. */
export const STUCK_AFTER_MS = 10_000;

/** Share of a processor core above which the process is busy; a busy machine may leave it no more than this. */
const BUSY_SHARE = 0.05;

/**
 * Calls `onStuck` once, with the time since `signal` aborted, if `afterMs` later the returned function was not called
 * and the process was busy: otherwise the statement only waits, for example for the disk, and is looked at again.
 */
export function watchStop(signal: AbortSignal, afterMs: number, onStuck: (toldMs: number) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    const toldAt = performance.now();
    let lookedAt = toldAt;
    let before = process.cpuUsage();
    timer = setInterval(() => {
      const { user, system } = process.cpuUsage(before);
      const now = performance.now();
      const isBusy = user + system >= (now - lookedAt) * 1_000 * BUSY_SHARE;
      [lookedAt, before] = [now, process.cpuUsage()];
      if (!isBusy) return;
      clearInterval(timer);
      onStuck(now - toldAt);
    }, afterMs).unref();
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return () => {
    clearInterval(timer);
    signal.removeEventListener('abort', onAbort);
  };
}

/** Why the process ends, for the log: without the statement, which may contain secrets. */
export function stuckMessage({ toldMs, requestId }: StuckStatement): string {
  const which = requestId === undefined ? '' : ` (of request ${requestId})`;
  const seconds = Math.round(toldMs / 1_000);
  return `a statement${which} was told to stop ${seconds} s ago and does not, so this service ends. What was written is safe.`;
}
