import { typesByPlace } from '../../contract/column-types.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { CsvRows } from '../../engine/engine.ts';
import {
  dialectOf,
  endsWithCarriageReturn,
  hasSpaces,
  isSeparatorLine,
  QUOTE,
  SAMPLE_BYTES,
  separatorOf,
  withoutMark,
} from '../ingest/csv-dialect.ts';
import {
  CsvError,
  CsvRecords,
  cellsOf,
  type Dialect,
  faultOf,
  namesOf,
  type RawRecord,
  TitleError,
} from '../ingest/csv-records.ts';
import { totalNote } from '../ingest/totals.ts';
import { decodedAs } from './csv-encoding.ts';
import { PartWriter } from './csv-parts.ts';
import type { LoadOptions, RefusedEntry } from './loading.ts';
import type { Spool } from './spool.ts';

/** How many bytes are read before others get their turn. */
const STEP_BYTES = 128 * 1024;
const REFUSED_SHOWN = 100;
const SHORT_SHOWN = 5;
const LINE_DIGITS_MAX = 16;
/** Of the last row, of which the first cell is looked at. */
const FIRST_BYTES = 64;
const LF = 10;
const TYPED_TWICE = 'The types of the columns are given twice: in "types", and in "columnTypes". Leave one out.';

type CsvOptions = Pick<LoadOptions, 'csv' | 'types' | 'skip' | 'headerRow'>;

/** A CSV file in the spool, and what was found while it came in. */
export interface SpooledCsv {
  rows: CsvRows;
  /** Records of the file, those that were left out or refused included. */
  entries: number;
  refused: RefusedEntry[];
  refusedCount: number;
  bytes: number;
  notes: string[];
}

/**
 * Writes a CSV file to the spool as records that the engine reads without having to guess, in parts. `rowsMax`: the rest is
 * not read once there are so many rows.
 */
export async function spoolCsv(
  body: AsyncIterable<Buffer>,
  spool: Spool,
  options: CsvOptions,
  signal: AbortSignal,
  rowsMax = Number.POSITIVE_INFINITY,
): Promise<SpooledCsv> {
  try {
    return await divide(body, spool, options, signal, rowsMax);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new ApiError('invalid_input', `The file cannot be read as CSV: ${error.message}.`, { cause: error });
  }
}

async function divide(
  body: AsyncIterable<Buffer>,
  spool: Spool,
  options: CsvOptions,
  signal: AbortSignal,
  rowsMax: number,
): Promise<SpooledCsv> {
  const { csv = {} } = options;
  const isFull = () => (reading?.take.rows ?? 0) >= rowsMax;
  const parts = new PartWriter(spool);
  const sample: Buffer[] = [];
  let sampleBytes = 0;
  let bytes = 0;
  let reading: { take: RecordTaker; records: CsvRecords } | undefined;
  const begin = (isWhole: boolean) => {
    const first = withoutMark(Buffer.concat(sample));
    const text = first.subarray(placeOfLine(first, options.headerRow), SAMPLE_BYTES).toString();
    const { quoteChar = QUOTE, separator = separatorOf(text, isWhole, quoteChar) } = csv;
    const dialect = dialectOf(
      { ...csv, separator },
      {
        isCarriageReturn: endsWithCarriageReturn(text, quoteChar),
        // Whoever says what the separator is says what it is not.
        isSpaced: csv.separator === undefined && hasSpaces(text, separator, quoteChar),
      },
    );
    const take = new RecordTaker(dialect, options, parts);
    const records = new CsvRecords(take.dialect, (record) => take.take(record));
    reading = { take, records };
    return { first, ...reading };
  };
  const pace = createPace();
  const read = async (records: CsvRecords, piece: Buffer) => {
    for (let at = 0; at < piece.length; at += STEP_BYTES) {
      signal.throwIfAborted();
      try {
        records.write(piece.subarray(at, at + STEP_BYTES));
      } catch (error) {
        throw error instanceof TitleError && reading !== undefined
          ? new CsvError(`${error.what}; ${headerAdvice(piece, reading.take.dialect)}`)
          : error;
      }
      await parts.flush();
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  };
  for await (const piece of decodedAs(csv.encoding, body)) {
    bytes += piece.length;
    if (isFull()) break;
    if (reading !== undefined) {
      await read(reading.records, piece);
      continue;
    }
    sample.push(piece);
    sampleBytes += piece.length;
    if (sampleBytes < SAMPLE_BYTES) continue;
    const { first, records } = begin(false);
    await read(records, first);
  }
  signal.throwIfAborted();
  if (reading === undefined) {
    const { first, records } = begin(true);
    await read(records, first);
  }
  const { take, records } = reading as unknown as { take: RecordTaker; records: CsvRecords };
  const isWhole = !isFull();
  if (isWhole) records.end();
  await parts.end();
  return take.result(bytes, isWhole);
}

/** Where a line of bytes begins: behind the first of them, if they have so many. */
function placeOfLine(bytes: Buffer, line = 1): number {
  let at = 0;
  for (let left = line - 1; left > 0 && at < SAMPLE_BYTES; left--) {
    const end = bytes.indexOf(LF, at);
    if (end < 0) return 0;
    at = end + 1;
  }
  return at;
}

const ADVISED_RECORDS = 50;

/** Says in which line the names seem to be: the first that has as many cells with text as any. */
function headerAdvice(bytes: Buffer, dialect: Dialect): string {
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
class RecordTaker {
  readonly dialect: Dialect;
  readonly #separatorText: string;
  readonly #typesOf: (names: readonly string[]) => CsvRows['types'];
  readonly #skip: number;
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
  #refused: RefusedEntry[] = [];
  #refusedCount = 0;
  #last: RawRecord | undefined;
  #short = 0;
  readonly #shortLines: number[] = [];

  constructor(dialect: Dialect, { csv = {}, types = 'infer', skip, headerRow = 1 }: CsvOptions, parts: PartWriter) {
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
    else if (!firstLineAsColumnNames) {
      throw new ApiError(
        'invalid_input',
        'The columns of the file have no names: name them, or let its first line do so.',
      );
    }
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
      return;
    }
    const { names = [] } = this.#columns ?? {};
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
    this.#last = record;
    const bytes = record.isOdd ? this.#respelled(record) : record.bytes;
    const [from, to] = record.isOdd ? [0, bytes.length] : [start, end];
    this.#put(record, bytes, { from, to, isShort: cells < names.length });
  }

  #put(record: RawRecord, bytes: Buffer, { from, to, isShort }: { from: number; to: number; isShort: boolean }): void {
    const { separator } = this.dialect;
    const size = to - from + LINE_DIGITS_MAX + separator.length + 1;
    const { chunk, at } = this.#parts.room(size);
    let end = at + writeNumber(chunk, at, record.line);
    end += separator.copy(chunk, end);
    end += bytes.copy(chunk, end, from, to);
    chunk[end] = LF;
    end += 1;
    if (end - at > this.#recordBytes) this.#recordBytes = end - at;
    this.#parts.put(end - at, record, { entries: this.#entries, isShort });
  }

  /** The record as the engine reads it: each cell within quotes, but for those that are empty. */
  #respelled(record: RawRecord): Buffer {
    const [quote, escaping] = [String.fromCharCode(this.dialect.quote), String.fromCharCode(this.dialect.escaping)];
    const cells = cellsOf(record, this.dialect).map((text) => {
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
    if (!this.#isNamed || 2 * this.#wide <= this.#entries - this.#skip) return;
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
    const { quote, escaping } = this.dialect;
    const lines = this.#shortLines.map((line) => line.toLocaleString('en-US'));
    const rest = this.#short > lines.length ? ' and others' : '';
    const { bytes: last, start = 0, end = 0, line = 0 } = this.#last ?? {};
    const [first = ''] =
      last?.toString('utf8', start, Math.min(end, start + FIRST_BYTES)).split(this.#separatorText, 1) ?? [];
    const total = isWhole && totalNote(first.replaceAll('"', ''), `line ${line.toLocaleString('en-US')}`);
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
              `${counted(this.#short, 'rows')} have fewer values than there are columns (lines ${lines.join(', ')}${rest}): they lack the last fields.`,
            ]),
        ...(total ? [total] : []),
      ],
    };
  }
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
