/**
 * Size of the log at which `Store` merges it into the main file; it does so earlier when nothing is written. Writes wait
 * meanwhile, so it is short. Measured with 400,000 documents of 1 kB: at 64 MB a merge takes at most 0.7 s of CPU time, at
 * 256 MB 4.6 s, and the whole load as much either way (25 s); a row group (122,880 rows) that is written before it is
 * full is written again with the next part, so at 32 MB the load takes a quarter more. A start after a kill replays the
 * log: less than a second for this size. The log also takes memory, so it is limited to a quarter of that.
 */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

/** Size in bytes at which the log is merged, for an engine with this much memory. */
export function logBytesMax(memoryBytes: number): number {
  return Math.min(LOG_BYTES_MAX, Math.floor(memoryBytes / 4));
}

/**
 * How long writes wait for queries that block merging a log of `bytes`, which may have `max`. The longer the log, the
 * longer the wait: if there is always a query from before the last write, the log would grow, and with it what the
 * engine keeps in memory, until nothing can be written.
 */
const PATIENCE_MS = 1_000;
const PATIENCE_MS_MAX = 30_000;

export function patienceMsOf(bytes: number, max: number): number {
  return Math.min(PATIENCE_MS * 4 ** Math.max(0, bytes / max - 1), PATIENCE_MS_MAX);
}

/**
 * A log of at least this many bytes is merged when nothing was written for a while: then no start has to replay it, and
 * its memory is freed. Writes that arrive meanwhile wait, and a merge cannot be stopped: measured, it takes some 15 ms
 * of CPU time per MiB. So a short log is merged at the first pause, before it grows, and a long one only after a pause
 * of many times what the merge takes.
 */
export const QUIET_LOG_BYTES = 4 * 1024 * 1024;
/**
 * With a longer log a merge does not move rows, since queries wait for that: at this size it takes a quarter of a
 * second.
 */
export const SHORT_LOG_BYTES = 16 * 1024 * 1024;
/** The shortest pause. */
export const QUIET_MS = 1_000;
const QUIET_MS_PER_MIB = 250;
const QUIET_MS_MAX = 15_000;

/** How long nothing must have been written before a log of this size is merged; undefined: it is not. */
export function quietMsOf(logBytes: number): number | undefined {
  if (logBytes < QUIET_LOG_BYTES) return undefined;
  return Math.min(Math.max(QUIET_MS, Math.round((logBytes / 1024 / 1024) * QUIET_MS_PER_MIB)), QUIET_MS_MAX);
}
