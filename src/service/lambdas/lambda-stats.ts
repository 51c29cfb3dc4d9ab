import type { Logger } from 'pino';
import { type Catalog, put } from '../catalog/catalog.ts';
import { createLateRecords } from '../catalog/late-records.ts';
import type { LambdaVersionRecord, RecordOf } from '../catalog/records.ts';
import { versionKey } from './lambda-records.ts';

const STORE_DELAY_MS = 5_000;
/** Longer error messages are cut. */
const MESSAGE_BYTES_MAX = 1_024;

export type RunFigures = RecordOf<'lambdaStats'>;

/** The latest runs of versions, stored some seconds late, so that a run needs no durable step. */
export interface LambdaStats {
  of(version: LambdaVersionRecord): RunFigures;
  /** A run has ended, with `error` if it failed. `by` is an e-mail. */
  ran(version: LambdaVersionRecord, by: string, error?: Error): void;
  /** The version was deleted; if it is posted again, its figures start from nothing. */
  forget(version: LambdaVersionRecord): void;
  /** Stores what is not stored yet; nothing is stored after it. */
  close(): Promise<void>;
}

const NONE: RunFigures = { lastExecuted: null, lastExecutedBy: null, lastError: null, lastErrorMessage: null };

export function openLambdaStats(catalog: Catalog, log: Logger): LambdaStats {
  /** By version, only what its runs here tell. */
  const late = createLateRecords<RunFigures>({
    catalog,
    log,
    what: 'figures of Query Lambdas',
    delayMs: STORE_DELAY_MS,
    changesOf(values) {
      // No figures may remain of a version deleted meanwhile.
      const versions = catalog.all('lambdaVersion');
      return [...values]
        .filter(([key]) => versions.has(key))
        .map(([key, own]) => put('lambdaStats', key, withOwn(key, own)));
    },
  });

  /** What is stored, perhaps by another node, and the runs here that are not yet. */
  function withOwn(key: string, own: RunFigures = NONE): RunFigures {
    const stored = catalog.all('lambdaStats').get(key) ?? NONE;
    const { lastExecuted, lastExecutedBy } = isBefore(stored.lastExecuted, own.lastExecuted) ? own : stored;
    const { lastError, lastErrorMessage } = isBefore(stored.lastError, own.lastError) ? own : stored;
    return { lastExecuted, lastExecutedBy, lastError, lastErrorMessage };
  }

  return {
    of(version) {
      const key = versionKey(version);
      return withOwn(key, late.get(key));
    },
    ran(version, by, error) {
      const key = versionKey(version);
      const now = new Date().toISOString();
      const failure = error === undefined ? {} : { lastError: now, lastErrorMessage: shortened(error.message) };
      late.set(key, { ...(late.get(key) ?? NONE), lastExecuted: now, lastExecutedBy: by, ...failure });
    },
    forget: (version) => late.forget(versionKey(version)),
    close: late.close,
  };
}

/** Whether a time, as ISO 8601 in UTC, is before another one, or not after it; null is before all. */
function isBefore(one: string | null, other: string | null): boolean {
  return other !== null && (one === null || one <= other);
}

/** Cuts between characters; the limit includes the mark of the cut. */
function shortened(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MESSAGE_BYTES_MAX) return bytes.toString();
  // A character split by the cut is dropped.
  const text = new TextDecoder().decode(bytes.subarray(0, MESSAGE_BYTES_MAX - 3), { stream: true });
  return `${text}…`;
}
