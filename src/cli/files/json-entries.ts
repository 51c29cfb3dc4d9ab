import { WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonValue, parseJson } from '../../contract/json/json.ts';
import type { CsvRows, FileEntry } from '../../mcp/tools/file.ts';

/** An entry of a file, with its size there in bytes. */
export interface SizedEntry {
  entry: FileEntry;
  bytes: number;
}

/** The entries found; after a `failure` the rest cannot be read. */
export interface Found {
  entries: SizedEntry[];
  failure?: ApiError | undefined;
}

/** Parses the pieces of one file, in order, into entries. */
export interface EntryReader {
  /** For CSV: how the rows so far fit the columns. */
  rows?(): CsvRows;
  read(piece: Buffer): Found | Promise<Found>;
  /** The remaining entries, at the end of the file. */
  end(): Found | Promise<Found>;
}

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number) => byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09;
const isOpening = (byte: number) => byte === OPEN_LIST || byte === OPEN_OBJECT;
const isClosing = (byte: number) => byte === CLOSE_LIST || byte === CLOSE_OBJECT;

const TOO_LARGE = `has more than ${WRITE_BYTES_MAX} bytes (10 MiB), the most that one document may have`;

/** The bytes of one value or line, which may come in pieces; if it is too large, only its size is kept. */
class Gathered {
  bytes = 0;
  #pieces: Buffer[] = [];

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.bytes <= WRITE_BYTES_MAX) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** Returns the text and becomes empty again. Throws if the text is too large or not UTF-8. */
  take(): string {
    const [pieces, isTooLarge] = [this.#pieces, this.bytes > WRITE_BYTES_MAX];
    this.#pieces = [];
    this.bytes = 0;
    if (isTooLarge) throw new RangeError(TOO_LARGE);
    const [only] = pieces;
    return utf8(only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces));
  }
}

/** What to do about text that is not UTF-8. */
export const NOT_UTF8 =
  'and may be Latin-1 (Windows-1252): convert the file with iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW';

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RangeError(`is not valid UTF-8, ${NOT_UTF8}`);
  }
}

function entryOf(at: number, value: JsonValue): FileEntry {
  return isObject(value) ? { at, document: value } : { at, problem: 'is no JSON object' };
}

/** JSON lines: a line that is not a document becomes an entry with a problem, and reading goes on after it. */
export function linesReader(): EntryReader {
  const line = new Gathered();
  let at = 1;
  const take = (): SizedEntry[] => {
    const { bytes } = line;
    try {
      const text = line.take();
      return text.trim() === '' ? [] : [{ bytes, entry: entryOf(at, parseJson(text)) }];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return [{ bytes, entry: { at, problem: error instanceof RangeError ? why : `is no JSON: ${why}` } }];
    }
  };
  return {
    read(piece) {
      const entries: SizedEntry[] = [];
      let from = 0;
      for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
        line.add(piece.subarray(from, end));
        for (const entry of take()) entries.push(entry);
        at += 1;
        from = end + 1;
      }
      if (from < piece.length) line.add(piece.subarray(from));
      return { entries };
    },
    end: () => ({ entries: take() }),
  };
}

/**
 * JSON: an array of documents, or documents one after the other. An error makes the rest unreadable, since nothing says
 * where the next document begins. `line`: the number of the first one.
 */
export function jsonReader(line = 1): EntryReader {
  const scanner = new JsonScanner(line);
  const found = (scan: (entries: SizedEntry[]) => void): Found => {
    const entries: SizedEntry[] = [];
    try {
      scan(entries);
      return { entries };
    } catch (error) {
      if (error instanceof ApiError) return { entries, failure: error };
      throw error;
    }
  };
  return {
    read: (piece) => found((entries) => scanner.read(piece, entries)),
    end: () => found((entries) => scanner.end(entries)),
  };
}

/** What may come next between values. */
type Expected = 'start' | 'value' | 'value or end' | 'comma or end' | 'document' | 'nothing';

class JsonScanner {
  #line: number;
  #expected: Expected = 'start';
  #value = new Gathered();
  /** Line in which the current value begins; 0 between values. */
  #begunAt = 0;
  /** Number of its open lists and objects; 0 for a value that is neither. */
  #depth = 0;
  #isString = false;
  #isEscaped = false;

  constructor(line: number) {
    this.#line = line;
  }

  read(piece: Buffer, entries: SizedEntry[]): void {
    const isFirst = this.#expected === 'start' && this.#line === 1 && this.#begunAt === 0;
    let index = isFirst && piece.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
    let from = this.#begunAt > 0 ? 0 : -1;
    for (; index < piece.length; index++) {
      const byte = piece[index] ?? 0;
      if (this.#begunAt === 0 && this.#begins(byte)) from = index;
      else if (this.#begunAt > 0 && !this.#isString && this.#depth === 0 && endsScalar(byte)) {
        entries.push(this.#take(piece.subarray(from, index)));
        this.#between(byte);
      }
      if (byte === LINE_FEED) this.#line += 1;
      if (this.#begunAt > 0 && this.#isLast(byte)) {
        entries.push(this.#take(piece.subarray(from, index + 1)));
      }
    }
    if (this.#begunAt > 0) this.#value.add(piece.subarray(from));
  }

  end(entries: SizedEntry[]): void {
    if (this.#begunAt > 0 && this.#depth === 0 && !this.#isString) entries.push(this.#take(Buffer.alloc(0)));
    if (this.#begunAt > 0) throw this.#broken(`the file ends inside the value that begins on line ${this.#begunAt}`);
    if (this.#expected === 'value' || this.#expected === 'value or end' || this.#expected === 'comma or end') {
      throw this.#broken('the file ends before its list does');
    }
  }

  /** Whether a value begins at this byte; any other byte is consumed. */
  #begins(byte: number): boolean {
    if (isSpace(byte)) return false;
    const isMark = byte === COMMA || isClosing(byte) || (byte === OPEN_LIST && this.#expected === 'start');
    if (isMark || this.#expected === 'comma or end' || this.#expected === 'nothing') {
      this.#between(byte);
      return false;
    }
    this.#begunAt = this.#line;
    return true;
  }

  /** Consumes a byte between values. */
  #between(byte: number): void {
    if (isSpace(byte)) return;
    const next = NEXT[this.#expected]?.[String.fromCharCode(byte)];
    if (next === undefined) {
      throw this.#broken(`${JSON.stringify(String.fromCharCode(byte))} stands where ${MEANT[this.#expected]} should`);
    }
    this.#expected = next;
  }

  /** Follows the value; true at its last byte, except for a number or a word, which end with the byte after them. */
  #isLast(byte: number): boolean {
    if (this.#isString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isString = false;
        return this.#depth === 0;
      }
      return false;
    }
    if (byte === QUOTE) this.#isString = true;
    else if (isOpening(byte)) this.#depth += 1;
    else if (isClosing(byte)) {
      this.#depth -= 1;
      return this.#depth === 0;
    }
    return false;
  }

  #take(last: Buffer): SizedEntry {
    const at = this.#begunAt;
    this.#value.add(last);
    const { bytes } = this.#value;
    this.#begunAt = 0;
    this.#expected = this.#expected === 'value' || this.#expected === 'value or end' ? 'comma or end' : 'document';
    try {
      return { bytes, entry: entryOf(at, parseJson(this.#value.take())) };
    } catch (error) {
      if (error instanceof RangeError) return { bytes, entry: { at, problem: error.message } };
      throw this.#broken(`the value that begins on line ${at} is no JSON: ${(error as Error).message}`);
    }
  }

  #broken(why: string): ApiError {
    return new ApiError('invalid_input', `The file is not JSON, at line ${this.#line}: ${why}.`);
  }
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const endsScalar = (byte: number) => isSpace(byte) || byte === COMMA || isClosing(byte);

/** What may come after a mark between values. */
const NEXT: Partial<Record<Expected, Record<string, Expected>>> = {
  start: { '[': 'value or end' },
  'value or end': { ']': 'nothing' },
  'comma or end': { ',': 'value', ']': 'nothing' },
};

const MEANT: Record<Expected, string> = {
  start: 'a list or a document',
  value: 'a document',
  'value or end': 'a document or "]"',
  'comma or end': '"," or "]"',
  document: 'a document',
  nothing: 'nothing more',
};
