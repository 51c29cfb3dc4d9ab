import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Principal } from '../access/auth.ts';
import { shortened } from '../catalog/not-found.ts';

/** A result that the engine keeps, and its owner. */
export interface KeptEntry {
  queryId: string;
  /** Hash of the API key that ran the query. */
  owner: string;
  rows: number;
  bytes: number;
  isWhole: boolean;
  columns: readonly string[];
  createdAt: number;
  expiresAt: number;
}

const LIMITS = {
  /** Most results per API key. */
  perKeyMax: 100,
  /** Most bytes of all results together, as measured in memory. */
  bytesMax: 512 * 1024 * 1024,
  /** How long a result is kept at most, in milliseconds; none outlives the service. */
  ageMs: 3_600_000,
};
export type ResultLimits = typeof LIMITS;

/** Which results are kept, for whom and until when. The least recently used one is dropped first. */
export interface KeptResults {
  add(entry: Omit<KeptEntry, 'createdAt' | 'expiresAt'>): KeptEntry;
  /** Counts as a use. Throws `not_found` if it is not kept, or belongs to another key. */
  require(caller: Principal, queryId: string): KeptEntry;
  /** Runs `work` on a result; if the engine turns out not to have it, it is forgotten. */
  use<T>(caller: Principal, queryId: string, work: (entry: KeptEntry) => Promise<T>): Promise<T>;
  /** The results of the caller's key, newest first. */
  list(caller: Principal): KeptEntry[];
  stop(): void;
}

const SWEEP_MS = 60_000;

export function resultGone(queryId: string): ApiError {
  return new ApiError(
    'not_found',
    `The result of query "${shortened(queryId)}" is no longer kept: run the query again. Large results are kept for up to an hour while the service runs, for the API key that ran the query.`,
    { messageKey: 'QUERY_NOT_FOUND' },
  );
}

export function createKeptResults(
  engine: Pick<Engine, 'results'>,
  log: Logger,
  limits: Partial<ResultLimits> = {},
): KeptResults {
  const { perKeyMax, bytesMax, ageMs } = { ...LIMITS, ...limits };
  /** The least recently used first. */
  const entries = new Map<string, KeptEntry>();

  function forget(queryId: string): void {
    if (!entries.delete(queryId)) return;
    engine.results.drop(queryId).catch((error: unknown) => log.warn({ err: error }, 'cannot drop a kept result'));
  }

  function sweep(): void {
    const now = Date.now();
    for (const entry of [...entries.values()]) if (entry.expiresAt <= now) forget(entry.queryId);
  }

  function makeRoom(added: KeptEntry): void {
    const own = [...entries.values()].filter(({ owner }) => owner === added.owner);
    for (const entry of own.slice(0, Math.max(0, own.length - perKeyMax))) forget(entry.queryId);
    let bytes = [...entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const entry of [...entries.values()]) {
      if (bytes <= bytesMax || entry === added) break;
      bytes -= entry.bytes;
      forget(entry.queryId);
    }
  }

  function require(caller: Principal, queryId: string): KeptEntry {
    sweep();
    const entry = entries.get(queryId);
    if (entry === undefined || entry.owner !== caller.keyHash) throw resultGone(queryId);
    entries.delete(queryId);
    entries.set(queryId, entry);
    return entry;
  }

  const timer = setInterval(sweep, SWEEP_MS).unref();
  return {
    add(added) {
      const createdAt = Date.now();
      const entry = { ...added, createdAt, expiresAt: createdAt + ageMs };
      entries.set(entry.queryId, entry);
      makeRoom(entry);
      return entry;
    },
    require,
    async use(caller, queryId, work) {
      const entry = require(caller, queryId);
      try {
        return await work(entry);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
        forget(queryId);
        throw resultGone(queryId);
      }
    },
    list(caller) {
      sweep();
      const own = [...entries.values()].filter(({ owner }) => owner === caller.keyHash);
      return own.sort((a, b) => b.createdAt - a.createdAt);
    },
    stop: () => clearInterval(timer),
  };
}
