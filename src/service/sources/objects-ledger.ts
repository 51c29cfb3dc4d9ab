import type { JsonObject } from '../../contract/json/json.ts';
import { createCollecting } from './items.ts';
import type { ObjectPlace } from './objects-documents.ts';
import { idsKey } from './objects-memory.ts';
import { BATCH_ITEMS_MAX, type RefusedItem, type SourceBatch, type SourceChange, type TextRows } from './source.ts';

/** How far the objects of a bucket are read: the checkpoint. */
export interface Place {
  /** How often an object was read so far, which numbers its readings. */
  readings: number;
  /** Whether all objects that there were at the beginning are read. */
  isThrough: boolean;
  isWalked: boolean;
  /** Whether documents may be left that no object has any more. */
  hasStale: boolean;
  /** The key of the last object that was dealt with. */
  after: string | null;
  object?: Unfinished | undefined;
  documents: number;
  figures: {
    object_count_total: number;
    object_count_downloaded: number;
    object_bytes_total: number;
    object_bytes_downloaded: number;
  };
}

/** An object of which a part is read, or removed. */
export interface Unfinished {
  key: string;
  /** Null: it is gone. */
  version: string | null;
  reading: number;
  place: ObjectPlace;
  /** The last row of this reading whose document has a derived id. */
  derived: number;
  /** That of the readings before. */
  high: number;
  /** Whether this reading has documents with ids of their own. */
  hasOwn: boolean;
  /** Whether readings before had. */
  hadOwn: boolean;
  /** The row up to which documents of readings before are removed; absent: it is being read. */
  trimmed?: number | undefined;
}

const NEW_PLACE: Place = {
  readings: 0,
  isThrough: false,
  isWalked: false,
  hasStale: false,
  after: null,
  documents: 0,
  figures: {
    object_count_total: 0,
    object_count_downloaded: 0,
    object_bytes_total: 0,
    object_bytes_downloaded: 0,
  },
};

/** Something is told at least so often, and what changes nothing not more often. */
const TELL_MS = 1_000;
const MEMORY_ENTRIES_MAX = 5_000;
/** Text of ids that is one entry of the memory. */
const IDS_CHARS = 64 * 1024;

/** What becomes the next batch. */
export class Ledger {
  readonly place: Place;
  readonly #started: string | undefined;
  readonly #collecting = createCollecting();
  #put = new Map<string, string>();
  #forget = new Set<string>();
  /** Ids of documents that are not in the memory yet, and the key under which they will be. */
  #ids: string[] = [];
  #idsChars = 0;
  #idsKey = '';
  #hasTold = false;
  #changes = 0;
  /** When the first of it was read; of nothing, when something was told. */
  #since = performance.now();
  /** When the object was written from which the documents are. */
  changedMs: number | undefined;

  constructor(from: Place | undefined) {
    this.#started = from && JSON.stringify(from);
    this.place = structuredClone(from ?? NEW_PLACE);
  }

  /** Whether it is time for a batch. */
  get isDue(): boolean {
    if (this.#collecting.isFull || this.#put.size + this.#forget.size >= MEMORY_ENTRIES_MAX) return true;
    return performance.now() - this.#since >= TELL_MS;
  }

  /** Whether so many changes, of at most a batch, go into the next batch with those that are in it. */
  hasRoomFor(changes: number): boolean {
    return this.#changes + changes <= BATCH_ITEMS_MAX;
  }

  /** Whether there has been nothing to store yet. */
  get isUntouched(): boolean {
    return !this.#hasTold && this.#collecting.isEmpty && this.#put.size + this.#forget.size === 0;
  }

  /** Whether nothing is collected for the next batch. */
  get isEmpty(): boolean {
    return this.#collecting.isEmpty && this.#put.size + this.#forget.size + this.#ids.length === 0;
  }

  /** Whether nothing is other than at the beginning. */
  get isSame(): boolean {
    return this.isUntouched && JSON.stringify(this.place) === this.#started;
  }

  add(change: SourceChange, bytes: number): void {
    if (this.#collecting.isEmpty) this.#since = performance.now();
    this.#collecting.add(change, bytes);
    this.#changes += 1;
  }

  addRows(rows: TextRows): void {
    if (this.#collecting.isEmpty) this.#since = performance.now();
    this.#collecting.addRows(rows);
    this.#changes += rows.ends.length;
  }

  refuse(item: RefusedItem): void {
    this.#collecting.refuse(item);
  }

  /** Remembers that a row of an object has a document with this id. */
  own({ key, reading }: Unfinished, row: number, id: string): void {
    if (this.#ids.length === 0) this.#idsKey = idsKey(key, reading, row);
    this.#ids.push(id);
    this.#idsChars += id.length;
    if (this.#idsChars >= IDS_CHARS) this.storeIds();
  }

  /** To be called when an object ends. */
  storeIds(): void {
    if (this.#ids.length === 0) return;
    this.put(this.#idsKey, JSON.stringify(this.#ids));
    this.#ids = [];
    this.#idsChars = 0;
  }

  put(key: string, value: string): void {
    this.#forget.delete(key);
    this.#put.set(key, value);
  }

  forget(key: string): void {
    this.#put.delete(key);
    this.#forget.add(key);
  }

  take(): SourceBatch {
    this.storeIds();
    const { isThrough, documents } = this.place;
    const batch = this.#collecting.take(structuredClone(this.place) as unknown as JsonObject, {
      phase: isThrough ? 'changes' : 'scan',
      scanned: documents,
      itemTimeMs: this.changedMs,
    });
    if (this.#put.size + this.#forget.size > 0) batch.memory = { put: this.#put, forget: [...this.#forget] };
    this.#put = new Map();
    this.#forget = new Set();
    this.#since = performance.now();
    this.#hasTold = true;
    this.#changes = 0;
    return batch;
  }
}
