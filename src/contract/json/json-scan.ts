import { ApiError } from '../errors.ts';
import { createPace } from '../turns/turns.ts';
import { DEPTH_MAX, KEYS_MAX, NUMBER_CHARS_MAX } from './json-reader.ts';

/*
 * What JSON from outside may hold, so that neither parsing it nor walking over what was parsed takes long, in time or
 * memory.
 */

/** Values in one body, beside its `data`; and in one item of that. */
export const VALUES_MAX = 200_000;
export const ITEM_VALUES_MAX = 100_000;
/** Bytes of one document: as many as a body of documents may have. */
export const ITEM_BYTES_MAX = 10 * 1024 * 1024;

/** How much is scanned between two looks at the clock. */
const STEP_BYTES = 256 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** The two bytes of a bracket differ by this. */
const TO_CLOSE = CLOSE - OPEN;

const DATA = Buffer.from('"data"');

/** What a scan is told. */
export interface ScanOptions {
  /** What is scanned, to begin a sentence about it. */
  what: string;
  /** Looks for the list `data` of the outermost object; for more items, what this returns is thrown. */
  data?: { max: number; tooMany: () => Error };
}

/** A list in a text: the offset of its `[` and of the byte after its `]`, and where each of its items begins. */
export interface ListPlace {
  start: number;
  end: number;
  /** Where items begin and end: that of `index` from `2 * index` on. */
  items: readonly number[];
}

/** Scans JSON text bit by bit. */
interface Scan {
  /** Where it is. */
  readonly at: number;
  /** Scans about as many bytes more; returns whether all is scanned. Throws `ApiError` for what is over a limit. */
  scan(bytes: number): boolean;
  readonly data: ListPlace | undefined;
}

/**
 * Counts what JSON text holds, before anything is parsed: one pass that makes no values and takes a nanosecond per byte.
 * It sees only strings, numbers and brackets, so that a text that passes need not be JSON. Throws `invalid_input` or
 * `content_too_large`, naming the limit; returns the place of the last `data` list, if it was to look for one.
 */
export async function scanJson(bytes: Buffer, options: ScanOptions): Promise<ListPlace | undefined> {
  const scan = createScan(bytes, 0, options);
  const pace = createPace();
  while (!scan.scan(STEP_BYTES)) {
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  return scan.data;
}

/**
 * Where the object or list that starts at `start` ends, assuming that it is JSON; -1 if it does not end, or is over a
 * limit. Up to `ITEM_BYTES_MAX` are read, in a few milliseconds.
 */
export function endOfItem(bytes: Buffer, start: number): number {
  try {
    const scan = createScan(bytes, start, { what: '' }, true);
    return scan.scan(ITEM_BYTES_MAX) ? scan.at : -1;
  } catch (error) {
    if (error instanceof ApiError) return -1;
    throw error;
  }
}

function createScan(bytes: Buffer, start: number, { what, data }: ScanOptions, isOne = false): Scan {
  /** By depth, from 1 on: the bracket that is open, and how many keys its object has so far. */
  const opened: number[] = [0];
  const keys: number[] = [0];
  let at = start;
  let depth = 0;
  let values = 0;
  /** Where the last string began; it ends at `textEnd`. */
  let textStart = 0;
  let textEnd = 0;
  let isInString = false;
  let isData = false;
  let list: { start: number; items: number[] } | undefined;
  let itemStart = 0;
  let found: ListPlace | undefined;

  const subject = () => (list === undefined ? what : `"data[${list.items.length / 2}]"`);

  function tooMuch(why: string): ApiError {
    const fix = list === undefined ? 'Send fewer at once.' : 'Split it into several.';
    return new ApiError('content_too_large', `${subject()} ${why}. ${fix}`);
  }

  function count(): void {
    values += 1;
    const max = isOne || list !== undefined ? ITEM_VALUES_MAX : VALUES_MAX;
    // Of the values of a list, or object, all but one come after a comma.
    if (values >= max) throw tooMuch(`holds more than ${inWords(max)} values`);
  }

  /** Stops at `until`, even within the string. */
  function passString(until: number): void {
    while (at < until) {
      const byte = bytes[at];
      at += byte === BACKSLASH ? 2 : 1;
      if (byte !== QUOTE) continue;
      isInString = false;
      textEnd = at;
      return;
    }
  }

  function passNumber(): void {
    const from = at;
    // Digits, signs, points and exponents.
    for (let byte = bytes[at] ?? 0; isOfNumber(byte); byte = bytes[at] ?? 0) {
      at += 1;
      if (at - from > NUMBER_CHARS_MAX) throw tooLongNumber(from);
    }
  }

  function tooLongNumber(from: number): ApiError {
    return new ApiError(
      'invalid_input',
      `${subject()} holds a number of more than ${inWords(NUMBER_CHARS_MAX)} characters (position ${from}). Send it as a string.`,
    );
  }

  function open(byte: number): void {
    count();
    if (isData && byte === OPEN_LIST) {
      list = { start: at, items: [] };
      itemStart = at + 1;
    }
    depth += 1;
    if (depth > DEPTH_MAX) {
      throw new ApiError('invalid_input', `${subject()} is nested more than ${inWords(DEPTH_MAX)} levels deep.`);
    }
    opened[depth] = byte;
    keys[depth] = 0;
  }

  function endItem(): void {
    if (list === undefined || data === undefined) return;
    list.items.push(itemStart, at);
    if (list.items.length / 2 > data.max) throw data.tooMany();
    itemStart = at + 1;
    values = 0;
  }

  /** Brackets that do not match end the scan: whoever parses the text finds where. */
  function close(byte: number): boolean {
    if (depth === 0 || byte - (opened[depth] ?? 0) !== TO_CLOSE) return false;
    if (list !== undefined && depth === 2) {
      if (list.items.length > 0 || !isBlank(bytes, itemStart, at)) endItem();
      found = { ...list, end: at + 1 };
      list = undefined;
    }
    depth -= 1;
    return true;
  }

  function colon(): void {
    if (opened[depth] !== OPEN) return;
    keys[depth] = (keys[depth] ?? 0) + 1;
    if ((keys[depth] ?? 0) > KEYS_MAX) throw tooMuch(`holds an object of more than ${inWords(KEYS_MAX)} keys`);
    isData =
      data !== undefined &&
      depth === 1 &&
      DATA.length === textEnd - textStart &&
      DATA.compare(bytes, textStart, textEnd) === 0;
  }

  return {
    scan(size) {
      const until = Math.min(bytes.length, at + size);
      while (at < until) {
        if (isInString) {
          passString(until);
          continue;
        }
        const byte = bytes[at] ?? 0;
        if (byte <= 0x20) {
          at += 1;
          continue;
        }
        if (byte === QUOTE) {
          textStart = at;
          at += 1;
          isInString = true;
        } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) passNumber();
        else {
          if (byte === OPEN || byte === OPEN_LIST) open(byte);
          else if (byte === COMMA && list !== undefined && depth === 2) endItem();
          else if (byte === COMMA) count();
          else if ((byte === CLOSE || byte === CLOSE_LIST) && !close(byte)) return !isOne;
          at += 1;
          if (byte === COLON) {
            colon();
            continue;
          }
          if (isOne && depth === 0) return true;
        }
        isData = false;
      }
      return !isOne && at >= bytes.length;
    },
    get at() {
      return at;
    },
    get data() {
      return found;
    },
  };
}

function isOfNumber(byte: number): boolean {
  return (
    (byte >= ZERO && byte <= NINE) || byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === MINUS || byte === 0x2b
  );
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if ((bytes[at] ?? 0) > 0x20) return false;
  return true;
}

function inWords(count: number): string {
  return count.toLocaleString('en-US');
}
