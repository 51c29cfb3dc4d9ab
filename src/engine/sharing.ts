import type { RecordChange } from './records.ts';

/** Data that other processes may change, too; where only this one can, all of it costs nothing. */
export interface Sharing {
  /**
   * Resolves when everything that others stored before the call is known: what SQL can name, and the records, of which
   * `onRecords` was told.
   */
  refresh(): Promise<void>;

  /** Runs `work`, which reads metadata and commits changes of it, while nobody else does, with everything known. */
  alone<T>(work: () => Promise<T>): Promise<T>;

  /** Calls `listener` with the records that others changed, in their order. */
  onRecords(listener: (changes: readonly RecordChange[]) => void): void;
}

/** Data that only this process has. */
export const NOT_SHARED: Sharing = {
  refresh: async () => undefined,
  alone: (work) => work(),
  onRecords: () => undefined,
};
