import { type Claim, createClaims } from './claims.ts';
import type { RecordChange } from './records.ts';

export type RecordsListener = (changes: readonly RecordChange[], isAll: boolean) => void;

/** Data that other processes may change, too; where only this one can, all of it costs nothing. */
export interface Sharing {
  /**
   * Resolves when everything that others stored before the call is known: what SQL can name, and the records, of which
   * `onRecords` was told.
   */
  refresh(): Promise<void>;

  /** Runs `work`, which reads metadata and commits changes of it, while nobody else does, with everything known. */
  alone<T>(work: () => Promise<T>): Promise<T>;

  /**
   * Claims names, for work too long to be waited for. What others did under theirs before is known; which names there are, and
   * what they stand for, is the caller's.
   */
  claim: Claim;

  /**
   * Calls `listener` with the records that others changed, and with those that were stored with documents, in their order,
   * before anybody can change them again; `isAll`: there are no others any more.
   */
  onRecords(listener: RecordsListener): void;

  /**
   * Runs `work` as long as it is this process that does what is named so, of all that have the data: until `signal` aborts,
   * since another may do it then, or it is to stop. What `work` stores is refused once another does it. It is run again
   * whenever it is this one's turn again, also if it ends by itself.
   */
  lead(name: string, work: (signal: AbortSignal) => Promise<void>): Leading;
}

export interface Leading {
  /** Resolves when `work` has ended, for good. */
  stop(): Promise<void>;
}

/** Data that only this process has. */
export const NOT_SHARED: Sharing = {
  refresh: async () => undefined,
  alone: (work) => work(),
  claim: createClaims(),
  onRecords: () => undefined,
  lead(_, work) {
    const stopping = new AbortController();
    const done = work(stopping.signal);
    done.catch(() => undefined);
    return {
      async stop() {
        stopping.abort();
        await done;
      },
    };
  },
};
