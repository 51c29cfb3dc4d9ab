import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../contract/errors.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';

/** How the text of a CSV file is divided. */
export interface Dialect {
  separator: Buffer;
  quote: number;
  escaping: number;
  /** Whether a carriage return alone ends a line. */
  isCarriageReturn: boolean;
}

/** A record as it is in the file, in part of a buffer that is used again afterwards. */
export interface RawRecord {
  bytes: Buffer;
  start: number;
  /** Without the line break. */
  end: number;
  /** The number of its first line, and of its lines. */
  line: number;
  lines: number;
  cells: number;
  /** Whether its cells have to be read one by one: the engine would read them otherwise, or not at all. */
  isOdd: boolean;
  /** Why it is none: a quote that ends before its cell does, for example; undefined if it is one. */
  why: string | undefined;
}

const [ORDINARY, SEPARATOR, QUOTE, LINE_FEED, CARRIAGE_RETURN, NUL] = [0, 1, 2, 3, 4, 5];
const [LF, CR] = [10, 13];
export const RECORD_BYTES_MAX = ITEM_BYTES_MAX;

/**
 * Divides a stream of bytes into records, one pass over each byte: `take` is called with each, in order. Empty lines are
 * none. Throws `invalid_input` for text that is not UTF-8, a quote that is never closed, and a record that is too long.
 */
export class CsvRecords {
  readonly #dialect: Dialect;
  readonly #take: (record: RawRecord) => void;
  readonly #classes: Uint8Array;
  readonly #separatorRest: Buffer;
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** Fewer bytes are not looked at: a long record is not looked at again with each piece. */
  #enough = 0;
  /** Of the record that begins next. */
  #line = 1;
  /** Of the record that is being read. */
  #lines = 1;
  #isOdd = false;
  #why: string | undefined;

  constructor(dialect: Dialect, take: (record: RawRecord) => void) {
    this.#dialect = dialect;
    this.#take = take;
    this.#classes = classesOf(dialect);
    this.#separatorRest = dialect.separator.subarray(1);
  }

  write(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes >= this.#enough) this.#read(false);
  }

  end(): void {
    this.#read(true);
  }

  #read(isEnd: boolean): void {
    const bytes = this.#rest.length === 1 ? (this.#rest[0] as Buffer) : Buffer.concat(this.#rest);
    const from = this.#line;
    const end = this.#scan(bytes, isEnd);
    const whole = bytes.subarray(0, end);
    if (!isUtf8(whole)) throw notText(whole, from);
    this.#rest = end < bytes.length ? [bytes.subarray(end)] : [];
    this.#restBytes = bytes.length - end;
    if (this.#restBytes > RECORD_BYTES_MAX) throw tooLong(this.#line);
    this.#enough = end === 0 ? 2 * this.#restBytes : 0;
  }

  /** Returns where the last record begins, if it is not whole. */
  #scan(bytes: Buffer, isEnd: boolean): number {
    const classes = this.#classes;
    const size = bytes.length;
    let start = 0;
    let at = 0;
    let cells = 1;
    let cellStart = 0;
    while (at < size) {
      const kind = classes[bytes[at] as number] as number;
      if (kind === ORDINARY) {
        at += 1;
      } else if (kind === SEPARATOR) {
        at = this.#separatorAt(bytes, at);
        if (at > 0) {
          cells += 1;
          cellStart = at;
        } else at = -at;
      } else if (kind === QUOTE && at === cellStart) {
        at = this.#quoted(bytes, at + 1, isEnd);
        if (at < 0) break;
      } else if (kind === LINE_FEED || (kind === CARRIAGE_RETURN && this.#dialect.isCarriageReturn)) {
        const end = kind === LINE_FEED && at > start && bytes[at - 1] === CR ? at - 1 : at;
        this.#emit(bytes, start, end, cells);
        at += 1;
        start = at;
        cellStart = at;
        cells = 1;
      } else {
        if (kind === CARRIAGE_RETURN && at + 1 === size && !isEnd) break;
        this.#meet(kind, bytes[at + 1]);
        at += 1;
      }
    }
    if (isEnd && at < 0) throw notClosed(this.#line);
    if (isEnd && start < size) {
      this.#emit(bytes, start, bytes[size - 1] === CR ? size - 1 : size, cells);
      return size;
    }
    this.#renew();
    return start;
  }

  /** The place after a separator; if it is none, that after its first byte, as a negative number. */
  #separatorAt(bytes: Buffer, at: number): number {
    const rest = this.#separatorRest;
    for (let index = 0; index < rest.length; index++) if (bytes[at + 1 + index] !== rest[index]) return -at - 1;
    return at + 1 + rest.length;
  }

  /** A byte that is none of its cell's text, or that the engine takes for something else. */
  #meet(kind: number, next: number | undefined): void {
    if (kind === NUL) this.#why ??= NUL_WHY;
    else if (kind === QUOTE || next !== LF) this.#isOdd = true;
  }

  /** The place after the quote that ends a cell, whose text begins at `from`; negative: there is none so far. */
  #quoted(bytes: Buffer, from: number, isEnd: boolean): number {
    const { quote, escaping } = this.#dialect;
    const size = bytes.length;
    for (let at = from; at < size; at++) {
      const byte = bytes[at] as number;
      if (byte === escaping && (bytes[at + 1] === quote || bytes[at + 1] === escaping)) at += 1;
      else if (byte === quote) {
        if (at + 1 === size && !isEnd) return -1;
        const next = at + 1 < size ? this.#classes[bytes[at + 1] as number] : LINE_FEED;
        if (next !== SEPARATOR && next !== LINE_FEED && next !== CARRIAGE_RETURN) this.#why ??= QUOTE_WHY;
        return at + 1;
      } else if (byte === LF) this.#lines += 1;
      else if (byte === CR && bytes[at + 1] !== LF) {
        this.#lines += 1;
        this.#isOdd = true;
      } else if (byte === 0) this.#why ??= NUL_WHY;
    }
    return -1;
  }

  #emit(bytes: Buffer, start: number, end: number, cells: number): void {
    if (end - start > RECORD_BYTES_MAX)
      this.#why ??= `has more than ${RECORD_BYTES_MAX} bytes, which no document may have`;
    if (end > start) {
      const { line, lines, isOdd, why } = { line: this.#line, lines: this.#lines, isOdd: this.#isOdd, why: this.#why };
      this.#take({ bytes, start, end, line, lines, cells, isOdd, why });
    }
    this.#line += this.#lines;
    this.#renew();
  }

  #renew(): void {
    this.#lines = 1;
    this.#isOdd = false;
    this.#why = undefined;
  }
}

const NUL_WHY = 'holds a NUL character, which cannot be stored';
const QUOTE_WHY = 'has text after the quote that ends a cell: a quote within a cell is written twice';

function classesOf({ separator, quote }: Dialect): Uint8Array {
  const classes = new Uint8Array(256);
  classes[0] = NUL as number;
  classes[LF] = LINE_FEED as number;
  classes[CR] = CARRIAGE_RETURN as number;
  classes[separator[0] as number] = SEPARATOR as number;
  classes[quote] = QUOTE as number;
  return classes;
}

/** The cells of a record, without their quotes. */
export function cellsOf(
  { bytes, start, end }: RawRecord,
  { separator, quote, escaping }: Dialect,
): { text: string; isQuoted: boolean }[] {
  const cells: { text: string; isQuoted: boolean }[] = [];
  const [between, mark, escaped] = [
    separator.toString('latin1'),
    String.fromCharCode(quote),
    String.fromCharCode(escaping),
  ];
  // Byte by byte: the characters that count are all ASCII but for a separator.
  const text = bytes.subarray(start, end).toString('latin1');
  for (let at = 0; at <= text.length; ) {
    if (text[at] !== mark) {
      const found = text.indexOf(between, at);
      const stop = found < 0 ? text.length : found;
      cells.push({ text: decoded(text.slice(at, stop)), isQuoted: false });
      at = stop + between.length;
      continue;
    }
    let cell = '';
    at += 1;
    for (; at < text.length; at++) {
      const next = text[at + 1];
      if (text[at] === escaped && (next === mark || next === escaped)) {
        cell += next;
        at += 1;
      } else if (text[at] === mark) break;
      else cell += text[at];
    }
    at += 1;
    const found = text.indexOf(between, at);
    const stop = found < 0 ? text.length : found;
    cells.push({ text: decoded(cell + text.slice(at, stop)), isQuoted: true });
    at = stop + between.length;
  }
  return cells;
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}

const inWords = (line: number) => line.toLocaleString('en-US');

function notClosed(line: number): ApiError {
  return new ApiError(
    'invalid_input',
    `The file is no CSV: a quote that opens in the record of line ${inWords(line)} is never closed.`,
  );
}

function tooLong(line: number): ApiError {
  return new ApiError(
    'invalid_input',
    `The record of line ${inWords(line)} does not end within ${RECORD_BYTES_MAX} bytes, which no document may have. Perhaps a quote in it is never closed.`,
  );
}

function notText(bytes: Buffer, from: number): ApiError {
  const [valid = ''] = bytes.toString().split('\ufffd', 1);
  const line = from + (valid.split('\n').length - 1);
  return new ApiError(
    'invalid_input',
    `The file is not valid UTF-8 at line ${inWords(line)}. Convert it first (iconv -f LATIN1 -t UTF-8 FILE > NEW), or name its "encoding" beside the separator.`,
  );
}
