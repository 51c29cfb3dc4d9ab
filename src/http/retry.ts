import { ApiError } from '../contract/errors.ts';
import type { Effect } from '../contract/row.ts';
import { wasNeverSent } from './transport.ts';

export interface RetryOptions {
  /** Tries of one call, the first included (default 3). */
  triesMax?: number | undefined;
  /** Longest pause before the second try, in milliseconds; it doubles with each further try (default 250). */
  baseMs?: number | undefined;
  /** Maximum pause, in milliseconds (default 5,000). */
  pauseMaxMs?: number | undefined;
  /** If the service asks for a longer wait than this, the call is not retried; in milliseconds (default 30,000). */
  retryAfterMaxMs?: number | undefined;
  /** Jitter, from 0 up to 1 (default `Math.random`). */
  random?: (() => number) | undefined;
  /** Waits; rejects with the signal's reason when it aborts. */
  pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

const RETRIED_STATUSES: ReadonlySet<number | undefined> = new Set([502, 503, 504]);

/**
 * Whether repeating a call after this error is harmless and may help.
 *
 * Reads are repeated after a lost connection and after 502, 503 and 504; after 429 only if the service says when to
 * come back, since a query that needs too much would fail again. Anything else changes data, so it is repeated only if
 * its request certainly was not sent; if the connection broke later, it may have been carried out.
 */
export function mayRepeat(effect: Effect, error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (wasNeverSent(error)) return true;
  if (effect !== 'read') return false;
  if (error.status === 429) return error.details.retryAfterMs !== undefined;
  return error.code === 'connection_failed' || RETRIED_STATUSES.has(error.status);
}

/**
 * The pause before the next try, in milliseconds; undefined: do not retry. `tries` counts the tries made so far. The
 * service's own `Retry-After` takes precedence over the backoff.
 */
export function pauseBeforeRetry(error: ApiError, tries: number, options: RetryOptions): number | undefined {
  if (tries >= (options.triesMax ?? 3)) return undefined;
  const asked = error.details.retryAfterMs;
  if (asked !== undefined) return asked > (options.retryAfterMaxMs ?? 30_000) ? undefined : asked;
  const longest = Math.min((options.baseMs ?? 250) * 2 ** (tries - 1), options.pauseMaxMs ?? 5_000);
  // Half fixed, half random, so that many clients of one service spread out.
  return Math.round(longest * (0.5 + 0.5 * (options.random ?? Math.random)()));
}

/** The milliseconds that a `Retry-After` header (seconds or an HTTP date) asks for; undefined if it has neither. */
export function parseRetryAfter(header: unknown, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Every form of an HTTP date begins with the name of a day.
  const at = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** Resolves after `ms`, or rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
