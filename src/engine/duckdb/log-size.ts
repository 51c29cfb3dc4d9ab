/**
 * Size of the log at which `Store` has everything written into the main file; it does so earlier when nothing is
 * written. Measured with documents of 1 kB: what is written before a row group (122,880 rows) is full is written again
 * with the next part, so that 64 MB takes half as much processor time again as 256 MB for a whole load, and no less than
 * that is gained by more. A start after a kill replays the log: three seconds for as much. Until then it also takes
 * memory, so that it is never more than a quarter of that.
 */
const LOG_BYTES_MAX = 256 * 1024 * 1024;

/** Bytes of the log from which on it goes into the main file by itself, for an engine with so much memory. */
export function logBytesMax(memoryBytes: number): number {
  return Math.min(LOG_BYTES_MAX, Math.floor(memoryBytes / 4));
}

/**
 * How long writes wait for queries that keep a log from going into the main file, which has `bytes` and may have `max`. The
 * longer it is, the more it is worth: where there is always a query from before the last write, it would grow, and with
 * it what the engine keeps in memory, until nothing can be written.
 */
const PATIENCE_MS = 1_000;
const PATIENCE_MS_MAX = 30_000;

export function patienceMsOf(bytes: number, max: number): number {
  return Math.min(PATIENCE_MS * 4 ** Math.max(0, bytes / max - 1), PATIENCE_MS_MAX);
}

/**
 * A log of so many bytes goes into the main file when nothing was written for a while: no start has to replay it then, and
 * the memory that it takes is given back. What comes to be written meanwhile waits for it, and it cannot be stopped: measured,
 * some 15 ms of processor time for each MiB. So a short log goes at the first pause, before it is long, and a long one only
 * when a pause has lasted for many times what it takes.
 */
export const QUIET_LOG_BYTES = 4 * 1024 * 1024;
/** With a longer log a merge moves no rows, for which queries have to wait: it takes a quarter of a second. */
export const SHORT_LOG_BYTES = 16 * 1024 * 1024;
/** The shortest pause. */
export const QUIET_MS = 1_000;
const QUIET_MS_PER_MIB = 250;
const QUIET_MS_MAX = 15_000;

/** How long nothing is to be written before a log of so many bytes goes into the main file; undefined: it is left. */
export function quietMsOf(logBytes: number): number | undefined {
  if (logBytes < QUIET_LOG_BYTES) return undefined;
  return Math.min(Math.max(QUIET_MS, Math.round((logBytes / 1024 / 1024) * QUIET_MS_PER_MIB)), QUIET_MS_MAX);
}
