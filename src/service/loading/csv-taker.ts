import { typesByPlace } from '../../contract/column-types.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { KEYS_MAX } from '../../contract/json/json-reader.ts';
import { cut } from '../../contract/text.ts';
import type { CsvRows, RefusedRow } from '../../engine/engine.ts';
import { isSeparatorLine, SAMPLE_BYTES } from '../ingest/csv-dialect.ts';
import {
  CsvError,
  CsvRecords,
  cellsOf,
  type Dialect,
  faultOf,
  namesOf,
  type RawRecord,
  tooManyColumns,
} from '../ingest/csv-records.ts';
import type { TableNote } from '../ingest/seen-rows.ts';
import { CsvLook } from './csv-look.ts';
import type { PartWriter } from './csv-parts.ts';
import type { LoadOptions } from './loading.ts';

const REFUSED_SHOWN = 100;
const SHORT_SHOWN = 5;
const LINE_DIGITS_MAX = 16;
const LF = 10;
const TYPED_TWICE = 'The types of the columns are given twice: in "types", and in "columnTypes". Leave one out.';

export interface CsvOptions extends Pick<LoadOptions, 'csv' | 'types' | 'skip' | 'headerRow'> {
  /** Whether the records in the spool have the numbers of rows, from 1 on, instead of those of their lines. */
  isByRow?: boolean | undefined;
}

/** A CSV file in the spool, and what was found while it came in. */
export interface SpooledCsv {
  rows: CsvRows;
  /** Records of the file, those that were left out or refused included. */
  entries: number;
  refused: RefusedRow[];
  refusedCount: number;
  bytes: number;
  notes: string[];
  /** Those of the notes that are true as long as the rows are there. */
  lasting: TableNote[];
}

const ADVISED_RECORDS = 50;

/** Says in which line the names seem to be: the first that has as many cells with text as any. */
export function headerAdvice(bytes: Buffer, dialect: Dialect): string {
  let [best, named, seen] = [0, 1, 0];
  const records = new CsvRecords(dialect, (record) => {
    seen += 1;
    if (seen > ADVISED_RECORDS || record.why !== undefined) return;
    const count = cellsOf(record, dialect).filter((cell) => cell !== null).length;
    if (count > named) [best, named] = [record.line, count];
  });
  records.write(bytes.subarray(0, SAMPLE_BYTES));
  records.end();
  return adviceOf(best);
}

/** What to do about a line of names that is none; 0: it is not known in which line they are. */
function adviceOf(line: number): string {
  return line === 0
    ? 'if their names are further down, give the number of that line as "header_row"'
    : `their names seem to be in line ${line}: give "header_row": ${line}, and what is above it is left out`;
}

/** Decides what becomes of each record. */
export class RecordTaker {
  readonly dialect: Dialect;
  readonly #separatorText: string;
  readonly #typesOf: (names: readonly string[]) => CsvRows['types'];
  readonly #skip: number;
  readonly #isByRow: boolean;
  /** Records in the spool. */
  #spooled = 0;
  readonly #headerRow: number;
  readonly #parts: PartWriter;
  #columns: Pick<CsvRows, 'names' | 'types'> | undefined;
  #isHeaderDue: boolean;
  #namesNote: string | undefined;
  /** Whether the file names its columns. */
  #isNamed = false;
  /** Rows with several cells where there is one name, and the first of those with the most. */
  #wide = 0;
  #widest = { line: 0, cells: 0 };
  #entries = 0;
  #recordBytes = 0;
  #refused: RefusedRow[] = [];
  #refusedCount = 0;
  #short = 0;
  readonly #shortLines: number[] = [];
  readonly #look: CsvLook;
  /** Cells that are a text in a formula, and the first of them. */
  #formulas = 0;
  #formula: string | undefined;

  constructor(
    dialect: Dialect,
    { csv = {}, types = 'infer', skip, headerRow = 1, isByRow = false }: CsvOptions,
    parts: PartWriter,
  ) {
    this.#isByRow = isByRow;
    this.dialect = dialect;
    this.#headerRow = headerRow;
    this.#separatorText = dialect.separator.toString();
    const { columnTypes = [] } = csv;
    if (columnTypes.length > 0 && types !== 'infer') throw new ApiError('invalid_input', TYPED_TWICE);
    this.#typesOf = (names) =>
      columnTypes.length === 0 ? typesByPlace(types, names) : names.map((_, at) => columnTypes[at]);
    this.#skip = skip;
    this.#parts = parts;
    const { columnNames = [], firstLineAsColumnNames = columnNames.length === 0 } = csv;
    this.#isHeaderDue = firstLineAsColumnNames;
    if (columnNames.length > 0) this.#columns = this.#columnsOf(columnNames);
    this.#look = new CsvLook(dialect);
  }

  #columnsOf(names: readonly string[]) {
    return { names, types: this.#typesOf(names) };
  }

  /** Rows so far, those that were left out or refused included. */
  get rows(): number {
    return this.#entries;
  }

  take(record: RawRecord): void {
    const { line, cells, start, end } = record;
    if (line < this.#headerRow) return;
    if (
      line === 1 &&
      isSeparatorLine(record.bytes.toString('utf8', start, Math.min(end, start + 16)), this.#separatorText)
    )
      return;
    if (this.#isHeaderDue) {
      this.#isHeaderDue = false;
      if (this.#columns !== undefined) return;
      const { names, note } = namesOf(record, this.dialect);
      this.#namesNote = note;
      this.#isNamed = true;
      this.#columns = this.#columnsOf(names);
      this.#look.takeHeader(record);
      return;
    }
    this.#columns ??= this.#columnsOf(numbered(cells));
    const { names } = this.#columns;
    this.#entries += 1;
    if (this.#entries <= this.#skip) return;
    const fault = faultOf(record, names.length);
    if (fault !== undefined) {
      if (cells > 2 && names.length === 1) this.#noteWide(record);
      this.#refuse(line, fault);
      return;
    }
    if (cells < names.length) {
      this.#short += 1;
      if (this.#shortLines.length < SHORT_SHOWN) this.#shortLines.push(line);
    }
    this.#look.take(record, names.length);
    const bytes = record.isOdd ? this.#respelled(record) : record.bytes;
    const [from, to] = record.isOdd ? [0, bytes.length] : [start, end];
    this.#put(record, bytes, { from, to, isShort: cells < names.length });
  }

  #put(record: RawRecord, bytes: Buffer, { from, to, isShort }: { from: number; to: number; isShort: boolean }): void {
    const { separator } = this.dialect;
    this.#spooled += 1;
    const number = this.#isByRow ? this.#spooled : record.line;
    const size = to - from + LINE_DIGITS_MAX + separator.length + 1;
    const { chunk, at } = this.#parts.room(size);
    let end = at + writeNumber(chunk, at, number);
    end += separator.copy(chunk, end);
    end += bytes.copy(chunk, end, from, to);
    chunk[end] = LF;
    end += 1;
    if (end - at > this.#recordBytes) this.#recordBytes = end - at;
    this.#parts.put(end - at, { number, lines: record.lines, entries: this.#entries, isShort });
  }

  /** The record as the engine reads it: each cell within quotes, but for those that are empty. */
  #respelled(record: RawRecord): Buffer {
    const [quote, escaping] = [String.fromCharCode(this.dialect.quote), String.fromCharCode(this.dialect.escaping)];
    const onFormula = (cell: string) => {
      this.#formulas += 1;
      this.#formula ??= cell;
    };
    const cells = cellsOf(record, this.dialect, onFormula).map((text) => {
      if (text === null) return '';
      const escaped = quote === escaping ? text : text.replaceAll(escaping, escaping + escaping);
      return quote + escaped.replaceAll(quote, escaping + quote) + quote;
    });
    return Buffer.from(cells.join(this.#separatorText));
  }

  #noteWide({ line, cells }: RawRecord): void {
    this.#wide += 1;
    if (cells > this.#widest.cells && this.#wide <= ADVISED_RECORDS) this.#widest = { line, cells };
  }

  /** Most rows have several cells, and the line that was to name the columns has one: it is a title then. */
  #requireNoTitle(): void {
    // All of the file may be skipped.
    if (!this.#isNamed || 2 * this.#wide <= Math.max(0, this.#entries - this.#skip)) return;
    throw new CsvError(`its first line names 1 column, most rows have more; ${adviceOf(this.#widest.line)}`);
  }

  #refuse(at: number, why: string): void {
    this.#refusedCount += 1;
    if (this.#refused.length < REFUSED_SHOWN) this.#refused.push({ at, id: null, why });
  }

  /** `isWhole`: the last row is that of the file. */
  result(bytes: number, isWhole: boolean): SpooledCsv {
    if (this.#columns === undefined)
      throw new ApiError('invalid_input', 'The file is empty: it has no line that names its columns.');
    this.#requireNoTitle();
    const { notes, lasting } = this.#look.notes(this.#columns.names, isWhole);
    const { quote, escaping } = this.dialect;
    const lines = this.#shortLines.map((line) => line.toLocaleString('en-US'));
    const rest = this.#short > lines.length ? ' and others' : '';
    return {
      rows: {
        kind: 'csv',
        parts: this.#parts.parts,
        ...this.#columns,
        separator: this.#separatorText,
        quote: String.fromCharCode(quote),
        escaping: String.fromCharCode(escaping),
        recordBytes: this.#recordBytes,
      },
      entries: this.#entries,
      refused: this.#refused,
      refusedCount: this.#refusedCount,
      bytes,
      notes: [
        ...(this.#namesNote === undefined ? [] : [this.#namesNote]),
        ...(this.#short === 0
          ? []
          : [
              this.#short === 1
                ? `1 row has fewer values than there are columns (line ${lines.join()}): it lacks the last fields.`
                : `${counted(this.#short, 'rows')} have fewer values than there are columns (lines ${lines.join(', ')}${rest}): they lack the last fields.`,
            ]),
        ...(this.#formula === undefined ? [] : [formulaNote(this.#formulas, this.#formula)]),
        ...notes,
      ],
      lasting,
    };
  }
}

const FORMULA_CHARS_MAX = 40;

function formulaNote(count: number, cell: string): string {
  return `${counted(count, 'cells')} such as ${cut(cell, FORMULA_CHARS_MAX)}, a formula for spreadsheets, ${count === 1 ? 'is' : 'are'} read as the text in it.`;
}

/** The names of columns that have none. */
function numbered(cells: number): string[] {
  if (cells > KEYS_MAX) throw tooManyColumns(cells);
  return Array.from({ length: cells }, (_, at) => `column_${at + 1}`);
}

/** Returns how many digits a number has. */
function writeNumber(chunk: Buffer, at: number, value: number): number {
  let size = 1;
  for (let power = 10; power <= value; power *= 10) size += 1;
  let left = value;
  for (let index = at + size - 1; index >= at; index--) {
    chunk[index] = 0x30 + (left % 10);
    left = Math.floor(left / 10);
  }
  return size;
}
