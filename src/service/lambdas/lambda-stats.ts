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
  const late = createLateRecords<RunFigures>({
    catalog,
    log,
    what: 'figures of Query Lambdas',
    delayMs: STORE_DELAY_MS,
    changesOf(values) {
      // No figures may remain of a version deleted meanwhile.
      const versions = catalog.all('lambdaVersion');
      return [...values].filter(([key]) => versions.has(key)).map(([key, figures]) => put('lambdaStats', key, figures));
    },
  });

  function of(version: LambdaVersionRecord): RunFigures {
    const key = versionKey(version);
    return late.get(key) ?? catalog.all('lambdaStats').get(key) ?? NONE;
  }

  return {
    of,
    ran(version, by, error) {
      const now = new Date().toISOString();
      const failure = error === undefined ? {} : { lastError: now, lastErrorMessage: shortened(error.message) };
      late.set(versionKey(version), { ...of(version), lastExecuted: now, lastExecutedBy: by, ...failure });
    },
    forget: (version) => late.forget(versionKey(version)),
    close: late.close,
  };
}

/** Cuts between characters; the limit includes the mark of the cut. */
function shortened(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MESSAGE_BYTES_MAX) return bytes.toString();
  // A character split by the cut is dropped.
  const text = new TextDecoder().decode(bytes.subarray(0, MESSAGE_BYTES_MAX - 3), { stream: true });
  return `${text}…`;
}
