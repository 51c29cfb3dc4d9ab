import type { CsvPart } from '../../engine/engine.ts';
import type { Spool, SpoolFile } from './spool.ts';

/**
 * A part is stored in one transaction, of which each second keeps other writes to its collection waiting. Fewer rows than a row
 * group of the engine (122,880) would go through the log, and to merge that keeps writes to all collections waiting.
 */
const PART_BYTES = 24 * 1024 * 1024;
const PART_ROWS = 125_000;
const CHUNK_BYTES = 1024 * 1024;

/** What is known of a record: the number that it has there, its lines, and how many there were up to it. */
interface PutRecord {
  number: number;
  lines: number;
  entries: number;
  isShort: boolean;
}

/** Divides records over files. */
export class PartWriter {
  readonly parts: CsvPart[] = [];
  readonly #spool: Spool;
  #file: SpoolFile | undefined;
  /** What is to be written; null: the part ends. */
  #queue: (Buffer | null)[] = [];
  #chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  #used = 0;
  #part: (Omit<CsvPart, 'path'> & { bytes: number }) | undefined;
  #ended: Omit<CsvPart, 'path'>[] = [];

  constructor(spool: Spool) {
    this.#spool = spool;
  }

  /** The place for a record of so many bytes at most; `put` says how many it has. */
  room(bytes: number): { chunk: Buffer; at: number } {
    if (this.#used + bytes > this.#chunk.length) {
      this.#queue.push(this.#chunk.subarray(0, this.#used));
      this.#chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, bytes));
      this.#used = 0;
    }
    return { chunk: this.#chunk, at: this.#used };
  }

  put(bytes: number, { number, lines, entries, isShort }: PutRecord): void {
    this.#used += bytes;
    this.#part ??= { rows: 0, first: number, last: number, hasBreaks: false, hasShort: false, entries, bytes: 0 };
    const part = this.#part;
    part.rows += 1;
    part.last = number;
    part.entries = entries;
    part.hasBreaks ||= lines > 1;
    part.hasShort ||= isShort;
    part.bytes += bytes;
    if (part.bytes >= PART_BYTES || part.rows >= PART_ROWS) this.#cut();
  }

  #cut(): void {
    if (this.#part === undefined) return;
    const { bytes: _, ...part } = this.#part;
    this.#ended.push(part);
    this.#part = undefined;
    this.#queue.push(this.#chunk.subarray(0, this.#used), null);
    this.#chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    this.#used = 0;
  }

  async flush(): Promise<void> {
    for (const bytes of this.#queue.splice(0)) {
      if (bytes === null) {
        const part = this.#ended.shift();
        if (this.#file === undefined || part === undefined) continue;
        await this.#file.close();
        this.parts.push({ path: this.#file.path, ...part });
        this.#file = undefined;
      } else if (bytes.length > 0) {
        this.#file ??= await this.#spool.create();
        await this.#file.write(bytes);
      }
    }
  }

  async end(): Promise<void> {
    this.#cut();
    await this.flush();
  }
}
