import type { Cell } from '../../contract/json/csv-cells.ts';
import { alignedNote } from '../ingest/aligned.ts';
import { cellsOf, type Dialect, type RawRecord } from '../ingest/csv-records.ts';
import { headerlessNote } from '../ingest/headerless.ts';
import { AGAIN_MAX, seenRow, type TableNote } from '../ingest/seen-rows.ts';
import { TableLook, tableNotes } from '../ingest/table-look.ts';

/** A record in a larger buffer is kept by itself, so that its end keeps no more of the file in memory. */
const BUFFER_BYTES_MAX = 1024 * 1024;

/** What is looked at of a CSV file. */
export class CsvLook {
  readonly #dialect: Dialect;
  readonly #look: TableLook<RawRecord>;
  #header: readonly Cell[] | undefined;
  #headerBytes: Buffer = Buffer.alloc(0);
  readonly #again: number[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#look = new TableLook({
      charsOf: ({ start, end }) => end - start,
      kept: (record) => (record.bytes.length > BUFFER_BYTES_MAX ? alone(record) : record),
      seen: (record) => seenRow(record.line, cellsOf(record, dialect)),
    });
  }

  takeHeader(record: RawRecord): void {
    this.#header = cellsOf(record, this.#dialect);
    this.#headerBytes = alone(record).bytes;
  }

  /** Takes a row of a table with so many columns, of which it may lack the last. */
  take(record: RawRecord, columns: number): void {
    const { bytes, start, end } = record;
    const isLong = this.#headerBytes.length === end - start && this.#again.length < AGAIN_MAX;
    if (isLong && this.#headerBytes.compare(bytes, start, end) === 0) this.#again.push(record.line);
    this.#look.take(record, Math.max(record.cells, columns));
  }

  /** What is to be told; `isWhole`: the last row is that of the file. */
  notes(names: readonly string[], isWhole: boolean): { notes: string[]; lasting: TableNote[] } {
    const looked = this.#look.seen({ names, header: this.#header, place: 'line' }, isWhole);
    const seen = this.#header === undefined ? looked : { ...looked, again: this.#again };
    const lasting = tableNotes(seen);
    const texts = [headerlessNote(seen), ...lasting.map(({ text }) => text), alignedNote(seen)];
    return { notes: texts.filter((note) => note !== undefined), lasting };
  }
}

function alone(record: RawRecord): RawRecord {
  const bytes = Buffer.from(record.bytes.subarray(record.start, record.end));
  return { ...record, bytes, start: 0, end: bytes.length };
}
