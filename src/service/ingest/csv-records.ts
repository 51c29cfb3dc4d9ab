import { isUtf8 } from 'node:buffer';
import { counted } from '../../contract/in-words.ts';
import type { Cell } from '../../contract/json/csv-cells.ts';
import { KEYS_MAX } from '../../contract/json/json-reader.ts';
import { ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { type DistinctNames, distinctNames } from './column-names.ts';

/** Text that is no CSV; the message is a clause saying what is wrong. */
export class CsvError extends Error {}

/** The first line is a title rather than the names of columns. */
export class TitleError extends CsvError {
  readonly what: string;
  constructor(what: string, instead: string) {
    super(`${what}; ${instead}`);
    this.what = what;
  }
}

/** How the text of a CSV file is divided. */
export interface Dialect {
  separator: Buffer;
  quote: number;
  escaping: number;
  /** Whether a carriage return alone ends a line. */
  isCarriageReturn: boolean;
  /** Whether spaces around a cell, or its quotes, do not belong to it. */
  isSpaced: boolean;
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
const [LF, CR, SPACE, EQUALS] = [10, 13, 32, 61];
const RECORD_BYTES_MAX = ITEM_BYTES_MAX;

/**
 * Divides a stream of bytes into records, one pass over each byte: `take` is called with each, in order. Empty lines are
 * none. Throws a `CsvError` for text that is not UTF-8, a quote that is never closed, and a record that is too long.
 */
export class CsvRecords {
  readonly #dialect: Dialect;
  readonly #take: (record: RawRecord) => void;
  readonly #classes: Uint8Array;
  readonly #separatorRest: Buffer;
  /** Bytes that may have to be seen to tell what comes behind a quote: a separator, or a line break. */
  readonly #behindBytes: number;
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
    this.#behindBytes = Math.max(2, dialect.separator.length);
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
      if (at === cellStart && this.#dialect.isSpaced) {
        at = afterSpaces(bytes, at);
        cellStart = at;
        if (at === size) break;
      }
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
    // A formula that is a text: its cell is not what is there.
    if (bytes[from] === EQUALS && bytes[from + 1] === escaping) this.#isOdd = true;
    for (let at = from; at < size; at++) {
      const byte = bytes[at] as number;
      if (byte === escaping && (bytes[at + 1] === quote || bytes[at + 1] === escaping)) at += 1;
      else if (byte === quote) {
        const end = this.#dialect.isSpaced ? afterSpaces(bytes, at + 1) : at + 1;
        if (end + this.#behindBytes > size && !isEnd) return -1;
        if (!this.#endsCell(bytes, end)) this.#why ??= QUOTE_WHY;
        return end;
      } else if (byte === escaping)
        // The engine leaves it out before another character.
        this.#isOdd = true;
      else if (byte === LF) this.#lines += 1;
      else if (byte === CR && bytes[at + 1] !== LF) {
        this.#lines += 1;
        this.#isOdd = true;
      } else if (byte === 0) this.#why ??= NUL_WHY;
    }
    return -1;
  }

  /** Whether a separator or a line break is there, or the end. */
  #endsCell(bytes: Buffer, at: number): boolean {
    if (at >= bytes.length) return true;
    const kind = this.#classes[bytes[at] as number];
    if (kind === SEPARATOR) return this.#separatorAt(bytes, at) > 0;
    if (kind !== CARRIAGE_RETURN || this.#dialect.isCarriageReturn)
      return kind === LINE_FEED || kind === CARRIAGE_RETURN;
    return at + 1 === bytes.length || bytes[at + 1] === LF;
  }

  #emit(bytes: Buffer, start: number, end: number, cells: number): void {
    if (end - start > RECORD_BYTES_MAX)
      this.#why ??= `has more than ${RECORD_BYTES_MAX} bytes, which no document may have`;
    if (end > start) {
      const { line, lines, why } = { line: this.#line, lines: this.#lines, why: this.#why };
      const isOdd = this.#isOdd || this.#dialect.isSpaced;
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

/** Why a record is no row of so many columns, to follow its name; undefined if it is one. */
export function faultOf({ why, cells }: RawRecord, columns: number): string | undefined {
  return why ?? (cells > columns ? `has ${cells} values for ${counted(columns, 'columns')}` : undefined);
}

/** The names of columns that a first record has, each once, and without spaces around them. Throws a `CsvError`. */
export function namesOf(record: RawRecord, dialect: Dialect): DistinctNames {
  if (record.why !== undefined) throw new CsvError(`its first line, which names the columns, ${record.why}`);
  if (record.cells > KEYS_MAX) throw tooManyColumns(record.cells);
  const given = cellsOf(record, dialect).map((name) => (name === null ? null : withoutSpaces(name)));
  // Empty and within quotes, a name is one.
  const named = given.filter((name) => name !== null).length;
  // Behind the last name there may be any number of empty ones.
  const width = given.findLastIndex((name) => name !== null) + 1;
  if (given.length > 2 && (named < 2 || 2 * named < width)) {
    throw new TitleError(
      `its first line names ${named} of ${given.length} columns`,
      'if their names are further down, say what they are ("columnNames"), and leave out the lines up to there ("skip")',
    );
  }
  return distinctNames(given.map((name, at) => name ?? unnamed(at, given)));
}

/** Spaces alone are no name, unlike nothing within quotes. */
function withoutSpaces(name: string): Cell {
  const trimmed = name.trim();
  return trimmed === '' && name !== '' ? null : trimmed;
}

/** What a column without a name is called, as many exports have one: by its place. */
function unnamed(at: number, names: readonly Cell[]): string {
  let name = `column_${at + 1}`;
  while (names.includes(name)) name += '_';
  return name;
}

/** The place of the first byte from there on that is no space. */
function afterSpaces(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at += 1;
  return at;
}

/** The text before a place without spaces at its end, given where it begins. */
function withoutLastSpaces(text: string, from: number, to: number): string {
  let end = to;
  while (end > from && text[end - 1] === ' ') end -= 1;
  return text.slice(from, end);
}

/** A formula that is a text, as programs write digits that spreadsheets are to leave alone: `="00123"`. */
const FORMULA = /^="([^"]*)"$/;

/** The cells of a record that is one, without their quotes; of `="00123"` the text. `onFormula` is told of each such cell. */
export function cellsOf(record: RawRecord, dialect: Dialect, onFormula?: (cell: string) => void): Cell[] {
  const cells = writtenCells(record, dialect);
  for (const [at, cell] of cells.entries()) {
    if (cell === null || !cell.startsWith('="')) continue;
    const [, text] = FORMULA.exec(cell) ?? [];
    if (text === undefined) continue;
    cells[at] = text;
    onFormula?.(cell);
  }
  return cells;
}

function writtenCells({ bytes, start, end }: RawRecord, { separator, quote, escaping, isSpaced }: Dialect): Cell[] {
  const cells: Cell[] = [];
  const between = separator.toString('latin1');
  // Byte by byte: the characters that count are all ASCII but for a separator.
  const text = bytes.toString('latin1', start, end);
  let unquoted: Unquoted | undefined;
  for (let at = 0; at <= text.length; ) {
    let found: number;
    if (isSpaced) at = Math.min(afterSpaces(bytes, start + at) - start, text.length);
    if (bytes[start + at] === quote && at < text.length) {
      unquoted ??= new Unquoted(bytes.subarray(start, end), quote, escaping);
      cells.push(unquoted.cellAt(at + 1));
      found = text.indexOf(between, unquoted.at);
    } else {
      found = text.indexOf(between, at);
      const to = found < 0 ? text.length : found;
      const cell = isSpaced ? withoutLastSpaces(text, at, to) : text.slice(at, to);
      cells.push(cell === '' ? null : decoded(cell));
    }
    if (found < 0) break;
    at = found + between.length;
  }
  return cells;
}

/** The texts within quotes of one record, each read once, into memory as large as the record. */
class Unquoted {
  readonly #bytes: Buffer;
  readonly #quote: number;
  readonly #escaping: number;
  readonly #texts: Buffer;
  #used = 0;
  /** The place behind the last quote. */
  at = 0;

  constructor(bytes: Buffer, quote: number, escaping: number) {
    this.#bytes = bytes;
    this.#quote = quote;
    this.#escaping = escaping;
    this.#texts = Buffer.allocUnsafe(bytes.length);
  }

  /** The text that begins at a place. */
  cellAt(from: number): string {
    const [bytes, quote, escaping] = [this.#bytes, this.#quote, this.#escaping];
    const begin = this.#used;
    let at = from;
    for (; at < bytes.length; at++) {
      const next = bytes[at + 1];
      if (bytes[at] === escaping && (next === quote || next === escaping)) at += 1;
      else if (bytes[at] === quote) break;
      this.#texts[this.#used++] = bytes[at] as number;
    }
    this.at = at + 1;
    return this.#texts.toString('utf8', begin, this.#used);
  }
}

const NOT_LATIN = /[\x80-\xff]/;

function decoded(bytes: string): string {
  return NOT_LATIN.test(bytes) ? Buffer.from(bytes, 'latin1').toString() : bytes;
}

const inWords = (count: number) => count.toLocaleString('en-US');

export function tooManyColumns(count: number): CsvError {
  return new CsvError(`it has ${inWords(count)} columns, and at most ${inWords(KEYS_MAX)} are read`);
}

function notClosed(line: number): CsvError {
  return new CsvError(`a quote that opens in the record of line ${inWords(line)} is never closed`);
}

function tooLong(line: number): CsvError {
  return new CsvError(
    `the record of line ${inWords(line)} does not end within ${RECORD_BYTES_MAX} bytes, which no document may have; perhaps a quote in it is never closed`,
  );
}

/** What text that is not UTF-8 mostly is. */
const ENCODING_OF_WINDOWS = '"windows-1252" for one of a Windows program in Western Europe';

function notText(bytes: Buffer, from: number): CsvError {
  const [valid = ''] = bytes.toString().split('\ufffd', 1);
  const line = from + (valid.split('\n').length - 1);
  return new CsvError(
    `it is not valid UTF-8 at line ${inWords(line)}. Name its "encoding" beside the separator, as a rule ${ENCODING_OF_WINDOWS}, or convert it first (iconv)`,
  );
}
