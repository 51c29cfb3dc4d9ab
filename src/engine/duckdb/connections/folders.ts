import { join } from 'node:path';

/** Where the engine puts files that do not outlive it, below its data folder. */
export interface Folders {
  /** Files whose rows are being added. */
  spool: string;
  /** Results and collections that are exported: the only folder that statements may write to. */
  exports: string;
  /** Kept results that do not fit into memory. */
  results: string;
  /** What statements need beyond their memory. */
  temp: string;
}

export function foldersIn(folder: string): Folders {
  return {
    spool: join(folder, 'spool'),
    exports: join(folder, 'exports'),
    results: join(folder, 'results'),
    temp: join(folder, 'temp'),
  };
}
