import type { Cell } from '../../contract/json/csv-cells.ts';
import { alignedNote } from '../ingest/aligned.ts';
import { cellsOf, type Dialect, type RawRecord } from '../ingest/csv-records.ts';
import { groupNote } from '../ingest/group-values.ts';
import { headerlessNote } from '../ingest/headerless.ts';
import { isEnough, LAST_ROWS, type SeenRow, type SeenRows, seenRow } from '../ingest/seen-rows.ts';
import { summingNote } from '../ingest/summing-rows.ts';

/** A record in a larger buffer is kept by itself, so that its end keeps no more of the file in memory. */
const BUFFER_BYTES_MAX = 1024 * 1024;
/** A longer record is not looked at: a person would not see all of it either. */
const RECORD_BYTES_MAX = 64 * 1024;

/** Looks at the first and the last rows of a CSV file, as a person would before reading it. */
export class CsvLook {
  readonly #dialect: Dialect;
  readonly #first: SeenRow[] = [];
  #header: readonly Cell[] | undefined;
  #last: RawRecord[] = [];
  #rows = 0;
  #cells = 0;
  #chars = 0;
  #isEnough = false;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  takeHeader(record: RawRecord): void {
    this.#header = cellsOf(record, this.#dialect);
  }

  /** Takes a row of a table with so many columns, of which it may lack the last. */
  take(record: RawRecord, columns: number): void {
    this.#rows += 1;
    if (this.#last.length >= 2 * LAST_ROWS) this.#last = this.#last.slice(LAST_ROWS);
    this.#last.push(record.bytes.length > BUFFER_BYTES_MAX ? alone(record) : record);
    if (this.#isEnough) return;
    const size = record.end - record.start;
    if (size <= RECORD_BYTES_MAX) this.#first.push(this.#seen(record));
    // What is asked of rows is asked of all columns.
    this.#cells += Math.max(record.cells, columns);
    this.#chars += size;
    this.#isEnough = isEnough({ rows: this.#first.length, cells: this.#cells, chars: this.#chars });
  }

  #seen(record: RawRecord): SeenRow {
    return seenRow(record.line, cellsOf(record, this.#dialect));
  }

  /** What is to be told; `isWhole`: the last row is that of the file. */
  notes(names: readonly string[], isWhole: boolean): string[] {
    const last = this.#last.slice(-LAST_ROWS).filter(({ start, end }) => end - start <= RECORD_BYTES_MAX);
    const seen: SeenRows = {
      names,
      header: this.#header,
      first: this.#first,
      rows: this.#rows,
      last: isWhole ? last.map((record) => this.#seen(record)) : undefined,
    };
    return [headerlessNote(seen), summingNote(seen), groupNote(seen), alignedNote(seen)].filter(
      (note) => note !== undefined,
    );
  }
}

/** A record with no bytes but its own; of one that is too long to be looked at, with the first too many. */
function alone(record: RawRecord): RawRecord {
  const bytes = Buffer.from(
    record.bytes.subarray(record.start, Math.min(record.end, record.start + RECORD_BYTES_MAX + 1)),
  );
  return { ...record, bytes, start: 0, end: bytes.length };
}
