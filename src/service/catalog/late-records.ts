import type { Logger } from 'pino';
import type { RecordChange } from '../../engine/engine.ts';
import type { Catalog } from './catalog.ts';

/** After a failure. */
const RETRY_MS = 30_000;
/** Most values stored in one step, since other changes wait for it. */
const STEP_MAX = 100;

interface Options<Value> {
  catalog: Catalog;
  log: Logger;
  /** Completes "cannot store …". */
  what: string;
  /** How late values are stored, in milliseconds. */
  delayMs: number;
  /** What stores these values; called within the change, so what was deleted meanwhile can be left out. */
  changesOf: (values: ReadonlyMap<string, Value>) => RecordChange[];
}

/**
 * Values that are stored some time late, and on close: a durable step for each would cost more than what it tells of.
 * A service that is killed loses those of that time; values that could not be stored are tried again.
 */
export interface LateRecords<Value> {
  /** The latest value, if it is not stored yet. */
  get(key: string): Value | undefined;
  /** The latest value, if it is not being stored yet either. */
  waiting(key: string): Value | undefined;
  /** `isNow`: stores it at once. */
  set(key: string, value: Value, isNow?: boolean): void;
  forget(key: string): void;
  /** Stores what is not stored yet; a failure is logged. */
  flush(): Promise<void>;
  /** Stores them a last time: nothing is stored after it, nor tried again. */
  close(): Promise<void>;
}

export function createLateRecords<Value>({
  catalog,
  log,
  what,
  delayMs,
  changesOf,
}: Options<Value>): LateRecords<Value> {
  const pending = new Map<string, Value>();
  /** Being stored. */
  let storing = new Map<string, Value>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const storeIn = (ms: number) => {
    if (!isClosed) timer = setTimeout(() => void flush(), ms).unref();
  };

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // What is set meanwhile waits for its own time: requests that never pause would else be stored one by one.
    for (let steps = Math.max(1, Math.ceil(pending.size / STEP_MAX)); steps > 0; steps--) {
      let taken = new Map<string, Value>();
      try {
        await catalog.change(() => {
          taken = new Map([...pending].slice(0, STEP_MAX));
          storing = taken;
          for (const key of taken.keys()) pending.delete(key);
          return { changes: changesOf(taken), result: undefined };
        });
      } catch (error) {
        for (const [key, value] of taken) if (!pending.has(key)) pending.set(key, value);
        log.error({ err: error }, `cannot store ${what}`);
        if (timer === undefined) storeIn(RETRY_MS);
        return;
      } finally {
        // The next may have begun.
        if (storing === taken) storing = new Map();
      }
    }
  }

  return {
    get: (key) => pending.get(key) ?? storing.get(key),
    waiting: (key) => pending.get(key),
    set(key, value, isNow = false) {
      pending.set(key, value);
      if (isNow) clearTimeout(timer);
      else if (timer !== undefined) return;
      storeIn(isNow ? 0 : delayMs);
    },
    forget(key) {
      pending.delete(key);
      storing.delete(key);
    },
    flush,
    close() {
      isClosed = true;
      return flush();
    },
  };
}
