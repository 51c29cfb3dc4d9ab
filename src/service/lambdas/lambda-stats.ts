import type { Logger } from 'pino';
import { type Catalog, put } from '../catalog.ts';
import type { LambdaVersionRecord, RecordOf } from '../records.ts';
import { versionKey } from './lambda-records.ts';

const STORE_DELAY_MS = 5_000;
/** A longer error message is cut. */
const MESSAGE_BYTES_MAX = 1_024;

export type RunFigures = RecordOf<'lambdaStats'>;

/**
 * What is known of the runs of versions. Stored as `Usage` is: some seconds late and on close, so that a run costs no
 * durable step.
 */
export interface LambdaStats {
  of(version: LambdaVersionRecord): RunFigures;
  /** A run ended now, with `error` where it failed. `by` is an e-mail. */
  ran(version: LambdaVersionRecord, by: string, error?: Error): void;
  /** The version was deleted: one that is posted again starts anew. */
  forget(version: LambdaVersionRecord): void;
  /** Stores what is not stored yet. */
  flush(): Promise<void>;
}

const NONE: RunFigures = { lastExecuted: null, lastExecutedBy: null, lastError: null, lastErrorMessage: null };

export function openLambdaStats(catalog: Catalog, log: Logger): LambdaStats {
  const pending = new Map<string, RunFigures>();
  let timer: NodeJS.Timeout | undefined;

  function of(version: LambdaVersionRecord): RunFigures {
    const key = versionKey(version);
    return pending.get(key) ?? catalog.all('lambdaStats').get(key) ?? NONE;
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await catalog.change(() => {
      // A version deleted in the meantime must not leave figures behind.
      const versions = catalog.all('lambdaVersion');
      const changes = [...pending].filter(([key]) => versions.has(key)).map(([key, f]) => put('lambdaStats', key, f));
      pending.clear();
      return { changes, result: undefined };
    });
  }

  return {
    of,
    ran(version, by, error) {
      const now = new Date().toISOString();
      const failure = error === undefined ? {} : { lastError: now, lastErrorMessage: shortened(error.message) };
      pending.set(versionKey(version), { ...of(version), lastExecuted: now, lastExecutedBy: by, ...failure });
      timer ??= setTimeout(() => {
        flush().catch((cause: unknown) => log.error({ err: cause }, 'cannot store figures of Query Lambdas'));
      }, STORE_DELAY_MS).unref();
    },
    forget(version) {
      pending.delete(versionKey(version));
    },
    flush,
  };
}

/** Cut between characters; the mark of the cut included. */
function shortened(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MESSAGE_BYTES_MAX) return bytes.toString();
  // A character that the cut halves is dropped.
  const text = new TextDecoder().decode(bytes.subarray(0, MESSAGE_BYTES_MAX - 3), { stream: true });
  return `${text}…`;
}
