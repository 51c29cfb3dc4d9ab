import { ITEM_VALUES_MAX } from '../../../contract/json/json-scan.ts';
import { type DeclaredShape, typedIn } from '../values/declared.ts';
import { timeIn } from '../values/time-text.ts';
import { Kind, type Pattern, type TimePattern } from './pattern.ts';

/**
 * Reads JSON text as bytes, without creating values: checks whether a document is JSON of the shape that its table
 * already has. It says yes only if the text itself can be given to the engine and comes out as the parsed document
 * would: every key once, no number that needs care, no unpaired surrogate. A no means only that the document needs a
 * closer look.
 */
export interface Scanner {
  /** Where the document that starts at `start` ends, if it is JSON that fits; otherwise -1. */
  fits(start: number): number;
  /** The `_id` of the last document that fitted; null if it has none. */
  readonly id: string | null;
  /** Its `_event_time`, or the value of the field that is its event time; null if it has neither. */
  readonly eventTime: EventTimeText | null;
}

/** An event time as a document has it; `isField`: in the field that is its event time. */
export interface EventTimeText {
  value: string | number;
  isField: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Integers of up to this many digits are exact as doubles. */
const DIGITS_MAX = 15;
/** Integers of up to this many digits have 64 bits, if one of so many does not begin with a 9. */
const LONG_DIGITS_MAX = 19;
/**
 * With an exponent of at most `EXPONENT_DIGITS_MAX` digits, `DIGITS_MAX` digits never become infinity, and a fraction
 * of at most `FRACTION_DIGITS_MAX` digits never becomes zero.
 */
const EXPONENT_DIGITS_MAX = 2;
const FRACTION_DIGITS_MAX = 200;
/** A longer `_id` is not checked here. */
const ID_BYTES_MAX = 255;

/** What may follow a backslash, except `u`: " / \ b f n r t. */
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"/\\bfnrt'));

/** The first byte from `at` on that is not white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let to = at;
  for (;;) {
    const byte = bytes[to];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return to;
    to += 1;
  }
}

const INTEGER = /^-?\d+$/;
const YEAR_DIGITS = 4;

const DATE_LENGTH = '0000-00-00'.length;

/** `Z`, or `+00:00`, at the end of a template. */
function zoneLength(template: Uint8Array): number {
  if (template.length <= DATE_LENGTH) return 0;
  if (template.at(-1) === 0x5a) return 1;
  const sign = template.at(-6);
  return sign === MINUS || sign === 0x2b ? 6 : 0;
}

/** Counts objects, to tell whether a field was already seen in the current one. */
let objects = 0;

/** A scanner of text, which must be valid UTF-8. */
export function createScanner(bytes: Buffer, documents: Pattern): Scanner {
  let id: string | null = null;
  let eventTime: EventTimeText | null = null;
  /** Values in the document so far. */
  let values = 0;

  /** All of these functions return where the value ends, or -1. */
  function value(of: Pattern, at: number): number {
    values += 1;
    const byte = bytes[at];
    if (byte === 0x6e && of.kind !== Kind.Id) return word(at, 'null');
    switch (of.kind) {
      case Kind.String:
        return byte === QUOTE ? text(at) : -1;
      case Kind.FirstText:
        return byte === QUOTE && !mayBeTime(at + 1) ? text(at) : -1;
      case Kind.Integer:
        return number(at, false);
      case Kind.Long:
        return number(at, false, LONG_DIGITS_MAX);
      case Kind.Double:
        return number(at, true);
      case Kind.Object:
        return byte === OPEN ? object(of, at) : -1;
      case Kind.List:
        return byte === OPEN_LIST && of.element !== null ? list(of.element, at) : -1;
      case Kind.Boolean:
        return boolean(at);
      case Kind.Json:
        return byte === QUOTE ? text(at) : byte === 0x74 || byte === 0x66 ? boolean(at) : number(at, false);
      case Kind.Time:
        return byte === QUOTE && of.time !== null ? time(of.time, at) : -1;
      case Kind.Declared:
        return of.declared === null ? -1 : declared(of.declared, at);
      case Kind.Id:
        return idText(at);
      case Kind.EventTime:
        return timeOfEvent(at);
      case Kind.Map:
        return byte === OPEN && of.element !== null ? map(of, of.element, at) : -1;
      default:
        return -1;
    }
  }

  function word(at: number, expected: string): number {
    for (let index = 1; index < expected.length; index += 1) {
      if (bytes[at + index] !== expected.charCodeAt(index)) return -1;
    }
    return at + expected.length;
  }

  function boolean(at: number): number {
    if (bytes[at] === 0x74) return word(at, 'true');
    return bytes[at] === 0x66 ? word(at, 'false') : -1;
  }

  /** Returns the position after the closing quote. */
  function text(start: number): number {
    for (let at = start + 1; ; at += 1) {
      const byte = bytes[at];
      if (byte === undefined) return -1;
      if (byte === QUOTE) return at + 1;
      if (byte < 0x20) return -1;
      if (byte !== BACKSLASH) continue;
      at = escaped(at + 1);
      if (at < 0) return -1;
    }
  }

  /** Whether a text begins with a year, or with what may be one of its digits. */
  function mayBeTime(start: number): boolean {
    for (let at = start; at < start + YEAR_DIGITS; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === BACKSLASH) return true;
      if (byte < ZERO || byte > NINE) return false;
    }
    return true;
  }

  /** The last byte of an escape, given the byte after its backslash. */
  function escaped(at: number): number {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x75) return ESCAPES.has(byte) ? at : -1;
    const unit = hex(at + 1);
    if (unit < 0xd800) return unit < 0 ? -1 : at + 4;
    if (unit >= 0xe000) return at + 4;
    // A surrogate pair; a single surrogate is not a character.
    const isPair = unit < 0xdc00 && bytes[at + 5] === BACKSLASH && bytes[at + 6] === 0x75;
    const low = isPair ? hex(at + 7) : -1;
    return low >= 0xdc00 && low < 0xe000 ? at + 10 : -1;
  }

  function hex(at: number): number {
    let unit = 0;
    for (let index = at; index < at + 4; index += 1) {
      const byte = bytes[index] ?? 0;
      const lower = byte | 0x20;
      if (byte >= ZERO && byte <= NINE) unit = unit * 16 + byte - ZERO;
      else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57;
      else return -1;
    }
    return unit;
  }

  function digits(start: number): number {
    let at = start;
    for (let byte = bytes[at] ?? 0; byte >= ZERO && byte <= NINE; byte = bytes[at] ?? 0) at += 1;
    return at;
  }

  /** `allowFraction` is for columns of doubles. Minus zero is refused here: it has to lose its sign. */
  function number(start: number, allowFraction: boolean, digitsMax = DIGITS_MAX): number {
    const isNegative = bytes[start] === MINUS;
    const first = isNegative ? start + 1 : start;
    const end = digits(first);
    const count = end - first;
    const isZero = bytes[first] === ZERO;
    if (count === 0 || count > digitsMax || (isZero && count > 1)) return -1;
    if (count === LONG_DIGITS_MAX && bytes[first] === NINE) return -1;
    const next = bytes[end];
    if (next !== DOT && next !== 0x65 && next !== 0x45) return isNegative && isZero ? -1 : end;
    return allowFraction ? fraction(end, isNegative && isZero) : -1;
  }

  function fraction(start: number, mustBeOther: boolean): number {
    let at = start;
    let isOther = !mustBeOther;
    if (bytes[at] === DOT) {
      at = digits(start + 1);
      if (at === start + 1 || at - start > FRACTION_DIGITS_MAX) return -1;
      for (let index = start + 1; !isOther && index < at; index += 1) isOther = bytes[index] !== ZERO;
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const sign = bytes[at + 1];
      const first = sign === MINUS || sign === 0x2b ? at + 2 : at + 1;
      at = digits(first);
      if (at === first || at - first > EXPONENT_DIGITS_MAX) return -1;
    }
    return isOther ? at : -1;
  }

  function idText(start: number): number {
    const end = bytes[start] === QUOTE ? text(start) : -1;
    const length = end - start - 2;
    if (end < 0 || length < 1 || length > ID_BYTES_MAX) return -1;
    const found = bytes.toString('utf8', start + 1, end - 1);
    if (found.includes('\\')) return -1;
    id = found;
    return end;
  }

  function timeOfEvent(start: number): number {
    const end = bytes[start] === QUOTE ? text(start) : number(start, false);
    return end >= 0 && noteTime(start, end, false) ? end : -1;
  }

  /** Notes the value of a field that is something else, too; false: it cannot be that. */
  function note(is: 'id' | 'time', start: number, end: number): boolean {
    if (is === 'time') return bytes[start] === 0x6e || noteTime(start, end, true);
    if (bytes[start] === QUOTE) return idText(start) === end;
    id = bytes.toString('latin1', start, end);
    return INTEGER.test(id);
  }

  /** The field comes before `_event_time`, wherever it stands. */
  function noteTime(start: number, end: number, isField: boolean): boolean {
    if (!isField && eventTime?.isField === true) return true;
    const isText = bytes[start] === QUOTE;
    const found = bytes.toString('latin1', isText ? start + 1 : start, isText ? end - 1 : end);
    eventTime = { value: isText ? found : Number(found), isField };
    return isText || (INTEGER.test(found) && Number.isSafeInteger(eventTime.value));
  }

  /** A time that its column gives back as it is spelled. */
  function time({ shape, template }: TimePattern, start: number): number {
    const end = start + 1 + template.length;
    if (bytes[end] !== QUOTE) return -1;
    if (isUsualTime(template, start + 1)) return end + 1;
    const found = bytes.toString('latin1', start + 1, end);
    return timeIn(found, shape) === found ? end + 1 : -1;
  }

  /** A value of a declared type that its column gives back as it is. */
  function declared(shape: DeclaredShape, start: number): number {
    const isText = bytes[start] === QUOTE;
    const end = isText ? text(start) : decimal(start);
    if (end < 0) return -1;
    // What is beyond ASCII fits none of these types, however it is read.
    const found = bytes.toString('latin1', isText ? start + 1 : start, isText ? end - 1 : end);
    const value = isText ? found : Number(found);
    return typedIn(value, shape) === value ? end : -1;
  }

  /** A number without an exponent whose digits a double has. */
  function decimal(start: number): number {
    const first = bytes[start] === MINUS ? start + 1 : start;
    const point = digits(first);
    const end = number(start, true);
    const isShort = end - first <= (bytes[point] === DOT ? DIGITS_MAX + 1 : DIGITS_MAX);
    return isShort && (end === point || digits(point + 1) === end) ? end : -1;
  }

  /** Most times need no closer look: up to the 28th of a month, and not at an end of all years. */
  function isUsualTime(template: Uint8Array, start: number): boolean {
    const zone = template.length - zoneLength(template);
    for (let index = 0; index < template.length; index += 1) {
      const byte = bytes[start + index] ?? 0;
      const isSame = template[index] === ZERO && index < zone ? byte >= ZERO && byte <= NINE : byte === template[index];
      if (!isSame) return false;
    }
    const [century, month, day] = [twoDigits(start), twoDigits(start + 5), twoDigits(start + 8)];
    if (century < 1 || century > 98 || month < 1 || month > 12 || day < 1 || day > 28) return false;
    if (template.length <= DATE_LENGTH) return true;
    return twoDigits(start + 11) < 24 && twoDigits(start + 14) < 60 && twoDigits(start + 17) < 60;
  }

  function twoDigits(at: number): number {
    return ((bytes[at] ?? 0) - ZERO) * 10 + (bytes[at + 1] ?? 0) - ZERO;
  }

  function list(element: Pattern, start: number): number {
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_LIST) return at + 1;
    for (;;) {
      at = value(element, at);
      if (at < 0) return -1;
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE_LIST) return at + 1;
      if (bytes[at] !== COMMA) return -1;
      at = skipSpace(bytes, at + 1);
    }
  }

  function object(of: Pattern, start: number): number {
    objects += 1;
    const mark = objects;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE) return at + 1;
    for (let next = 0; ; next += 1) {
      if (bytes[at] !== QUOTE) return -1;
      let end = keyEnd(of.keys[next], at + 1);
      if (end < 0) {
        // Keys nearly always come in the same order, with some left out.
        end = text(at);
        if (end < 0) return -1;
        next = of.index.get(bytes.toString('utf8', at + 1, end - 1)) ?? -1;
        if (next < 0) return -1;
      }
      const field = of.fields[next];
      if (field === undefined || of.seen[next] === mark) return -1;
      of.seen[next] = mark;
      at = skipSpace(bytes, end);
      if (bytes[at] !== COLON) return -1;
      const begin = skipSpace(bytes, at + 1);
      at = value(field, begin);
      if (at < 0 || (field.is !== null && !note(field.is, begin, at))) return -1;
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE) return at + 1;
      if (bytes[at] !== COMMA) return -1;
      at = skipSpace(bytes, at + 1);
    }
  }

  /** Each key once; one whose value is null has to be left out. */
  function map(of: Pattern, element: Pattern, start: number): number {
    objects += 1;
    const mark = objects;
    const isListed = of.keys.length > 0;
    const others = isListed ? undefined : new Set<string>();
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE) return at + 1;
    for (;;) {
      const end = bytes[at] === QUOTE ? text(at) : -1;
      if (end < 0) return -1;
      const key = bytes.toString('utf8', at + 1, end - 1);
      const known = of.index.get(key);
      if (key.includes('\\') || (isListed ? known === undefined || of.seen[known] === mark : others?.has(key)))
        return -1;
      if (known !== undefined) of.seen[known] = mark;
      others?.add(key);
      at = skipSpace(bytes, end);
      if (bytes[at] !== COLON) return -1;
      at = skipSpace(bytes, at + 1);
      at = bytes[at] === 0x6e ? -1 : value(element, at);
      if (at < 0) return -1;
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE) return at + 1;
      if (bytes[at] !== COMMA) return -1;
      at = skipSpace(bytes, at + 1);
    }
  }

  /** The position after the quote that ends a key, if it is the expected one. */
  function keyEnd(key: Uint8Array | undefined, start: number): number {
    if (key === undefined) return -1;
    const { length } = key;
    for (let index = 0; index < length; index += 1) if (bytes[start + index] !== key[index]) return -1;
    return bytes[start + length] === QUOTE ? start + length + 1 : -1;
  }

  return {
    fits(start) {
      id = null;
      eventTime = null;
      values = 0;
      const end = bytes[start] === OPEN ? object(documents, start) : -1;
      return values > ITEM_VALUES_MAX ? -1 : end;
    },
    get id() {
      return id;
    },
    get eventTime() {
      return eventTime;
    },
  };
}
