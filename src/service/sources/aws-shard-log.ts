import type { Collecting } from './items.ts';
import type { SourceError } from './source.ts';

/** What reading a log in shards needs to know of a service: a stream of Kinesis, or of a table of DynamoDB. */

export interface Shard {
  id: string;
  parents: readonly string[];
}

/** How far one shard is read. */
export interface ShardPlace {
  /** The sequence number of the last record that was; undefined: none, from where the source begins. */
  after?: string | undefined;
  /** Until when everything that came was read, in milliseconds since 1970. */
  seen?: number | undefined;
}

/** Records of a shard, and how to ask for the next; `next` undefined: it has ended. */
export interface ShardPage<R> {
  records: readonly R[];
  next: string | undefined;
  /** How far behind the newest this is, in milliseconds, if the service says so. */
  behindMs?: number | undefined;
}

export interface ShardLog<R> {
  list(signal: AbortSignal): Promise<Shard[]>;
  /** How to ask for records from a place on. Rejects a `SourceError` with `lost` if they are not all there any more. */
  iterator(shard: string, place: ShardPlace, signal: AbortSignal): Promise<string>;
  /** `expired`: the iterator is too old; `busy`: not now. */
  page(iterator: string, max: number, signal: AbortSignal): Promise<ShardPage<R> | 'expired' | 'busy'>;
  /** Makes of a record what a batch gets of it. */
  take(record: R, shard: string, into: Collecting): Promise<void> | void;
  sequenceOf(record: R): string;
  bytesOf(record: R): number;
  timeOf(record: R): number | undefined;
  /** Whether records behind this place may be gone by now. */
  isDoubtful?(place: ShardPlace): boolean;
  /** What is said of a shard that was not read to its end and is no more. */
  lost(shard: string): SourceError;
  busy(shard: string): SourceError;
  /** Most records of a page. */
  pageMax: number;
  /** Between two looks at a shard, and at one that has nothing new, in milliseconds. */
  paceMs: number;
  idleMs: number;
}
