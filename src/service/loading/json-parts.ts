import { ApiError } from '../../contract/errors.ts';
import { endOfItem, ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';

/** Cuts a stream of JSON into parts of whole documents, by its bytes. */

/** Documents one after the other, with white space between them. */
export interface JsonPart {
  /** Valid until the part after the next is asked for. */
  bytes: Buffer;
  /** Number of the line in which it begins. */
  line: number;
  /** Whether each line is one document, whatever is on it. */
  isLines: boolean;
}

/** A first part that is small tells soon what the documents are like: those of a shape that is known go in faster. */
const FIRST_BYTES = 512 * 1024;
/** One transaction's: nobody else writes to the collection for about half a second. */
const PART_BYTES = 16 * 1024 * 1024;

interface Sizes {
  firstBytes: number;
  partBytes: number;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_FEED = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];
export const isSpace = (byte: number | undefined) =>
  byte === SPACE || byte === LINE_FEED || byte === 0x0d || byte === 0x09;

/**
 * A list of documents, or documents one after the other; if the first one is alone on its line, each line is one, up to
 * one that goes on in the next; with `isLines`, all are. A document that is over a limit has a part of its own, with no
 * more of it than shows that it is too long. Throws `invalid_input`, with the line, where the stream is neither, after the
 * parts before that.
 */
export async function* jsonParts(
  body: AsyncIterable<Buffer>,
  { isLines = false, line = 1, ...sizes }: { isLines?: boolean; line?: number } & Partial<Sizes> = {},
): AsyncGenerator<JsonPart> {
  const cutter = new Cutter(isLines, line, { firstBytes: FIRST_BYTES, partBytes: PART_BYTES, ...sizes });
  for await (const chunk of body) {
    cutter.add(chunk);
    if (cutter.isFull) yield* cutter.parts(false);
  }
  yield* cutter.parts(true);
}

class Cutter {
  #room: Buffer = Buffer.alloc(0);
  /** The room of the part before. */
  #other: Buffer = Buffer.alloc(0);
  #filled = 0;
  #wanted: number;
  readonly #partBytes: number;
  /** Of the first byte in the room. */
  #line: number;
  #form: 'unknown' | 'lines' | 'list' | 'values';
  /** In a list: what may come next. */
  #expected: 'value or end' | 'value' | 'comma or end' | 'nothing' = 'value or end';
  #hasBegun = false;
  /** Whether lines are what the first one looks like. */
  #isGuess = false;
  /** What is too long, and of which the beginning was a part already. */
  #passing: Passing | undefined;

  constructor(isLines: boolean, line: number, { firstBytes, partBytes }: Sizes) {
    this.#form = isLines ? 'lines' : 'unknown';
    this.#line = line;
    this.#wanted = firstBytes;
    this.#partBytes = partBytes;
  }

  add(whole: Buffer): void {
    const chunk = this.#passing === undefined ? whole : this.#behind(this.#passing, whole);
    if (this.#filled + chunk.length > this.#room.length) {
      const wider = Buffer.allocUnsafe(Math.max(2 * this.#room.length, this.#filled + chunk.length));
      this.#room.copy(wider, 0, 0, this.#filled);
      this.#room = wider;
    }
    this.#filled += chunk.copy(this.#room, this.#filled);
  }

  /** What is left of a chunk behind what is too long. */
  #behind({ endIn }: Passing, chunk: Buffer): Buffer {
    const found = endIn(chunk);
    if (found >= 0) this.#passing = undefined;
    const end = found < 0 ? chunk.length : found;
    this.#line += linesIn(chunk, 0, end);
    return chunk.subarray(end);
  }

  /** Goes on in the other room, with what is left of this one. */
  #turnOver(rest: Buffer): void {
    const used = this.#room;
    this.#room = this.#other.length >= used.length ? this.#other : Buffer.allocUnsafe(used.length);
    this.#other = used;
    this.#filled = rest.copy(this.#room);
  }

  get isFull(): boolean {
    return this.#filled >= this.#wanted;
  }

  /** The whole documents in the room; `isEnd`: nothing more comes. */
  *parts(isEnd: boolean): Generator<JsonPart> {
    if (isEnd && this.#passing?.line !== undefined) throw this.#broken(this.#filled, unended(this.#passing.line));
    while ((yield* this.#part(isEnd)) && isEnd);
  }

  /** The first of them; returns whether there was one. */
  *#part(isEnd: boolean): Generator<JsonPart, boolean> {
    const all = this.#room.subarray(0, this.#filled);
    const begin = this.#begin(isEnd);
    if (begin === undefined) {
      if (all.length > ITEM_BYTES_MAX) throw this.#tooLong(0);
      this.#wanted = 2 * this.#filled;
      return false;
    }
    let failure: ApiError | undefined;
    let end = this.#form === 'lines' ? this.#endOfLines(all, begin, isEnd) : begin;
    const isLines = this.#form === 'lines' || end > begin;
    if (!isLines) {
      try {
        for (const at of this.#items(all, begin, isEnd)) end = at;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        failure = error;
      }
    }
    if (end > begin) {
      const line = this.#line + linesIn(all, 0, begin);
      yield { bytes: all.subarray(begin, end), line, isLines };
    }
    if (failure !== undefined) throw failure;
    this.#line += linesIn(all, 0, end);
    if (end > begin) this.#turnOver(all.subarray(end));
    else {
      this.#room.copyWithin(0, end, this.#filled);
      this.#filled -= end;
    }
    // What does not end within the part wanted is looked at again when there is twice as much.
    this.#wanted = end > begin ? this.#partBytes : 2 * this.#filled;
    return end > begin;
  }

  /**
   * Where the last line ends that is whole; a line that is too long is cut off, and refused for its length. The first line
   * that goes on in the next ends the lines.
   */
  #endOfLines(all: Buffer, begin: number, isEnd: boolean): number {
    const end = isEnd ? all.length : Math.max(begin, all.lastIndexOf(LINE_FEED) + 1);
    const isLong = all.length - begin > ITEM_BYTES_MAX;
    const unended = this.#isGuess ? unendedLine(all.subarray(0, end), begin, isEnd || isLong) : undefined;
    if (unended !== undefined) {
      if (unended.goesOn) this.#form = 'values';
      return unended.start;
    }
    if (end > begin || !isLong) return end;
    this.#passing = { endIn: (chunk) => chunk.indexOf(LINE_FEED), line: undefined };
    return all.length;
  }

  /**
   * Where the documents begin; at first, what comes before them is passed over, and what form they have is found.
   * Undefined: that takes more bytes.
   */
  #begin(isEnd: boolean): number | undefined {
    if (this.#hasBegun) return 0;
    const all = this.#room.subarray(0, this.#filled);
    if (all.length < BYTE_ORDER_MARK.length && !isEnd) return undefined;
    let at = all.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    if (this.#form === 'unknown') {
      while (at < all.length && isSpace(all[at])) at += 1;
      if (all[at] === OPEN_LIST) {
        this.#form = 'list';
        at += 1;
      } else {
        const isAlone = isAloneOnLine(all, at, isEnd);
        if (isAlone === undefined) return undefined;
        this.#form = isAlone ? 'lines' : 'values';
        this.#isGuess = true;
      }
    }
    this.#hasBegun = true;
    return at;
  }

  /**
   * Where each document ends that is whole, up to one that is over a limit, or that one alone; commas between them become
   * spaces.
   */
  *#items(all: Buffer, begin: number, isEnd: boolean): Generator<number> {
    const isList = this.#form === 'list';
    let isFirst = true;
    for (let at = begin; ; ) {
      while (at < all.length && isSpace(all[at])) at += 1;
      if (at >= all.length) break;
      const byte = all[at];
      if (isList && this.#isMark(byte, at)) {
        all[at] = SPACE;
        at += 1;
        yield at;
        continue;
      }
      const whole = endOf(all, at, isEnd);
      const isOver = whole < 0;
      if (isOver && ((!isEnd && all.length - at <= ITEM_BYTES_MAX) || !isFirst)) return;
      const end = isOver ? this.#endOfLong(all, at, isEnd) : whole;
      if (isList) this.#expected = 'comma or end';
      yield end;
      if (isOver) return;
      isFirst = false;
      at = end;
    }
    if (isEnd && isList && this.#expected !== 'nothing')
      throw this.#broken(all.length, 'the file ends before its list does');
  }

  /** Whether a byte of a list is one between documents. */
  #isMark(byte: number | undefined, at: number): boolean {
    const expected = this.#expected;
    if (byte === COMMA && expected === 'comma or end') this.#expected = 'value';
    else if (byte === CLOSE_LIST && (expected === 'comma or end' || expected === 'value or end'))
      this.#expected = 'nothing';
    else if (expected === 'value' || expected === 'value or end') {
      if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE) throw this.#misplaced(byte, at, 'a document');
      return false;
    } else throw this.#misplaced(byte, at, expected === 'nothing' ? 'nothing more' : '"," or "]"');
    return true;
  }

  #misplaced(byte: number | undefined, at: number, meant: string): ApiError {
    return this.#broken(at, `${JSON.stringify(String.fromCharCode(byte ?? SPACE))} stands where ${meant} should`);
  }

  /** Where a document ends that is over a limit; what is still to come of it is passed over. */
  #endOfLong(all: Buffer, at: number, isEnd: boolean): number {
    const endIn = valueEnd();
    const end = endIn(all.subarray(at));
    if (end >= 0) return at + end;
    if (isEnd) throw this.#broken(this.#filled, unended(this.#lineAt(at)));
    this.#passing = { endIn, line: this.#lineAt(at) };
    return all.length;
  }

  #tooLong(at: number): ApiError {
    const line = this.#lineAt(at);
    return this.#broken(
      at,
      `the document that begins on line ${line} does not end within ${ITEM_BYTES_MAX} bytes, the most that one may have, or is nested too deeply, or holds too many values`,
    );
  }

  #broken(at: number, why: string): ApiError {
    return new ApiError('invalid_input', `The file is not JSON, at line ${this.#lineAt(at)}: ${why}.`);
  }

  #lineAt(at: number): number {
    return this.#line + linesIn(this.#room, 0, at);
  }
}

/** A line or document that is passed over: `endIn` is told all of it, chunk by chunk, and returns where it ends, or -1. */
interface Passing {
  endIn(chunk: Buffer): number;
  /** Where it begins; undefined: it need not end. */
  line: number | undefined;
}

function unended(line: number): string {
  return `the document that begins on line ${line} does not end`;
}

/** How a line ends whose document goes on in the next, and how that one begins, if not with white space. */
const GOING_ON: ReadonlySet<number | undefined> = new Set([OPEN, OPEN_LIST, COMMA, COLON]);
const GONE_ON: ReadonlySet<number | undefined> = new Set([QUOTE, CLOSE, CLOSE_LIST]);

/**
 * The first line that ends within its document; `goesOn`: the next one continues it, so that documents are on several lines
 * from here on. Undefined: each line is for itself. `isAll`: what comes next is not waited for.
 */
function unendedLine(all: Buffer, begin: number, isAll: boolean): { start: number; goesOn: boolean } | undefined {
  for (let start = begin; ; ) {
    const feed = all.indexOf(LINE_FEED, start);
    if (feed < 0) return undefined;
    let last = feed - 1;
    while (last > start && isSpace(all[last])) last -= 1;
    if (last >= start && GOING_ON.has(all[last])) {
      let next = feed + 1;
      while (next < all.length && isSpace(all[next])) next += 1;
      const isIndented = all[next - 1] !== LINE_FEED;
      if (next === all.length && !isAll) return { start, goesOn: false };
      if (next < all.length && (isIndented || GONE_ON.has(all[next]))) return { start, goesOn: true };
    }
    start = feed + 1;
  }
}

/**
 * Finds where a value ends, of which it is told piece by piece, however long it is and whatever it holds. It does not end
 * where a bracket closes that is not open.
 */
function valueEnd(): (piece: Buffer) => number {
  let [objects, lists] = [0, 0];
  let isFirst = true;
  let [isText, isEscaped] = [false, false];
  return (piece) => {
    for (let at = 0; at < piece.length && objects >= 0 && lists >= 0; at++) {
      const byte = piece[at];
      const isOuter = objects + lists === 0;
      if (isText) {
        isText = isEscaped || byte !== QUOTE;
        isEscaped = !isEscaped && byte === BACKSLASH;
        if (!isText && isOuter) return at + 1;
        continue;
      }
      if (isOuter && !isFirst && endsWord(byte)) return at;
      isFirst = false;
      if (byte === QUOTE) isText = true;
      else if (byte === OPEN) objects += 1;
      else if (byte === OPEN_LIST) lists += 1;
      else if (byte === CLOSE) objects -= 1;
      else if (byte === CLOSE_LIST) lists -= 1;
      else continue;
      if (!isText && !isOuter && objects === 0 && lists === 0) return at + 1;
    }
    return -1;
  };
}

/** Whether the value that begins at a place ends on the same line, with nothing behind it; undefined: not seen yet. */
function isAloneOnLine(all: Buffer, at: number, isEnd: boolean): boolean | undefined {
  const feed = all.indexOf(LINE_FEED, at);
  const isWhole = feed >= 0 || isEnd;
  const lineEnd = feed < 0 ? all.length : feed;
  let end = endOf(all, at, isWhole);
  if (end < 0 && !isWhole) return undefined;
  while (end >= 0 && end < lineEnd && isSpace(all[end])) end += 1;
  return end === lineEnd ? isWhole || undefined : false;
}

/** Where the value that begins at a place ends, assuming that it is JSON; -1: not here. */
function endOf(all: Buffer, at: number, isEnd: boolean): number {
  const byte = all[at];
  if (byte === OPEN || byte === OPEN_LIST) return endOfItem(all, at);
  let end = at + 1;
  if (byte === QUOTE) {
    while (end < all.length && all[end] !== QUOTE) end += all[end] === BACKSLASH ? 2 : 1;
    return end < all.length ? end + 1 : -1;
  }
  while (end < all.length && !endsWord(all[end])) end += 1;
  return end < all.length || isEnd ? end : -1;
}

function endsWord(byte: number | undefined): boolean {
  return (
    isSpace(byte) || byte === COMMA || byte === CLOSE_LIST || byte === CLOSE || byte === OPEN || byte === OPEN_LIST
  );
}

/** One document of a part. */
export interface JsonItem {
  start: number;
  end: number;
  line: number;
}

/** The documents of a part. */
export function* itemsOf({ bytes, line, isLines }: JsonPart): Generator<JsonItem> {
  let [at, current] = [0, line];
  while (at < bytes.length) {
    if (isSpace(bytes[at])) {
      if (bytes[at] === LINE_FEED) current += 1;
      at += 1;
      continue;
    }
    const feed = isLines ? bytes.indexOf(LINE_FEED, at) : endOf(bytes, at, true);
    const end = feed < 0 ? bytes.length : feed;
    yield { start: at, end, line: current };
    current += linesIn(bytes, at, end);
    at = end;
  }
}

export function linesIn(bytes: Buffer, from: number, to: number): number {
  // Of the part alone: a search would go on behind it, to the next line, for each document.
  const part = bytes.subarray(from, to);
  let count = 0;
  for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}
