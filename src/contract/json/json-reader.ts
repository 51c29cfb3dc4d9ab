import { type JsonValue, setField } from './value.ts';

/** Text that is not JSON, or holds what is not read. */
export class JsonTextError extends SyntaxError {
  /** Offset of what is wrong, in UTF-16 units. */
  readonly position: number;

  constructor(why: string, position: number) {
    super(why);
    this.position = position;
  }
}

/** Reads a number's text, which is one of JSON. */
export type ReadNumber = (text: string) => JsonValue;

/** Reads JSON text bit by bit. */
export interface JsonReader {
  /** Reads about as many characters more; returns whether it has read all. Throws `JsonTextError`. */
  read(characters: number): boolean;
  /** Where it is. */
  readonly position: number;
  /** The value, once all is read. */
  readonly value: JsonValue;
}

/** Longest number, in characters: turning its digits into an integer takes time that grows with their square. */
export const NUMBER_CHARS_MAX = 1_000;

/** Deeper JSON from outside is refused, so that no recursion over what was read runs out of stack. */
export const DEPTH_MAX = 2_000;
/** Keys of one object: to list those of half a million takes half a second, which nothing can divide. */
export const KEYS_MAX = 20_000;

/** What a reader refuses to read, and what it leaves out. */
export interface ReadLimits {
  depthMax: number;
  keysMax: number;
  /** Leaves out keys whose value is null; absent: no. */
  withoutNulls?: boolean;
}

const LIMITS: ReadLimits = { depthMax: DEPTH_MAX, keysMax: Number.POSITIVE_INFINITY };

type Container = JsonValue[] | { [key: string]: JsonValue };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** A shorter text without escapes is copied by `slice`; of a longer one that would keep the whole JSON text alive. */
const COPIED_CHARS_MAX = 12;
const WORDS: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * What may come next: a value, a value or the end of its list, a key or the end of its object, a key, what follows, the
 * colon after a key.
 */
const Next = { Value: 0, ItemOrEnd: 1, KeyOrEnd: 2, Key: 3, Rest: 4, Colon: 5 } as const;
type Next = (typeof Next)[keyof typeof Next];

/**
 * A reader that keeps its place, and its containers in a list instead of on the stack: a long
 * text need not be read in one go. Reads what `JSON.parse` reads, at a third of its speed; as there, the last of
 * several equal keys counts. Without `readNumber`, it only checks that the text is JSON, and makes no values.
 */
export function createJsonReader(text: string, readNumber?: ReadNumber, limits = LIMITS): JsonReader {
  /** The containers around the one that is open, and their keys. */
  const outer: { container: Container; key: string; keys: number }[] = [];
  let open: Container | undefined;
  let key = '';
  /** How many keys the open object has so far, equal ones included. */
  let keys = 0;
  let next: Next = Next.Value;
  let value: JsonValue = null;
  let at = 0;
  /** Where the string begins that it is in; -1 outside of one. */
  let textStart = -1;
  let hasEscape = false;

  function fail(why: string, position = at): never {
    throw new JsonTextError(position >= text.length ? 'it ends too early' : why, position);
  }

  function skipSpace(): number {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      at += 1;
    }
  }

  function take(one: JsonValue): void {
    next = Next.Rest;
    if (readNumber === undefined) return;
    if (open === undefined) value = one;
    else if (Array.isArray(open)) open.push(one);
    else if (one !== null || limits.withoutNulls !== true) setField(open, key, one);
  }

  function enter(container: Container): void {
    const depth = open === undefined ? 0 : outer.length + 1;
    if (depth >= limits.depthMax) fail('it is nested too deeply');
    at += 1;
    if (open !== undefined) outer.push({ container: open, key, keys });
    open = container;
    keys = 0;
    next = Array.isArray(container) ? Next.ItemOrEnd : Next.KeyOrEnd;
  }

  function leave(): void {
    at += 1;
    const closed = open as Container;
    const around = outer.pop();
    open = around?.container;
    key = around?.key ?? '';
    keys = around?.keys ?? 0;
    take(closed);
  }

  function enterText(): void {
    textStart = at;
    hasEscape = false;
    at += 1;
  }

  /** Stops at `until`, even within the string. */
  function readText(until: number): void {
    for (; at < until; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        at += 1;
        endText();
        return;
      }
      if (code === BACKSLASH) {
        ESCAPE.lastIndex = at;
        if (!ESCAPE.test(text)) fail('a backslash begins no escape');
        hasEscape = true;
        at = ESCAPE.lastIndex - 1;
      } else if (!(code >= 0x20)) fail('a control character in a string');
    }
  }

  function endText(): void {
    const start = textStart;
    textStart = -1;
    const isKey = next === Next.Key || next === Next.KeyOrEnd;
    const isShort = !hasEscape && at - start - 2 <= COPIED_CHARS_MAX;
    let one = '';
    if (readNumber !== undefined) one = isShort ? text.slice(start + 1, at - 1) : JSON.parse(text.slice(start, at));
    if (!isKey) {
      take(one);
      return;
    }
    key = one;
    keys += 1;
    if (keys > limits.keysMax) fail(`an object of more than ${limits.keysMax} keys`);
    next = Next.Colon;
  }

  function readScalar(code: number): JsonValue {
    const word = WORDS.find(([name]) => name.charCodeAt(0) === code);
    if (word !== undefined) {
      if (!text.startsWith(word[0], at)) fail('unexpected character');
      at += word[0].length;
      return word[1];
    }
    NUMBER.lastIndex = at;
    if (!NUMBER.test(text)) fail('unexpected character', code === 0x2d ? at + 1 : at);
    const start = at;
    at = NUMBER.lastIndex;
    if (at - start <= NUMBER_CHARS_MAX) return readNumber?.(text.slice(start, at)) ?? null;
    throw new JsonTextError(`a number of more than ${NUMBER_CHARS_MAX} characters`, start);
  }

  function readValue(code: number): void {
    if (code === OPEN) enter({});
    else if (code === OPEN_LIST) enter([]);
    else if (code === QUOTE) enterText();
    else take(readScalar(code));
  }

  function readKey(code: number): void {
    if (code !== QUOTE) fail('expected a key in quotes');
    enterText();
  }

  function readColon(code: number): void {
    if (code !== COLON) fail('expected ":" after a key');
    at += 1;
    next = Next.Value;
  }

  function readRest(code: number): void {
    if (open === undefined) fail('unexpected text after the value');
    const isList = Array.isArray(open);
    if (code === (isList ? CLOSE_LIST : CLOSE)) {
      leave();
      return;
    }
    if (code !== COMMA) fail(`expected "," or "${isList ? ']' : '}'}"`);
    at += 1;
    next = isList ? Next.Value : Next.Key;
  }

  function step(code: number): void {
    if (next === Next.Rest) readRest(code);
    else if (next === Next.Value) readValue(code);
    else if (next === Next.Key) readKey(code);
    else if (next === Next.Colon) readColon(code);
    else if (code === (next === Next.ItemOrEnd ? CLOSE_LIST : CLOSE)) leave();
    else if (next === Next.ItemOrEnd) readValue(code);
    else readKey(code);
  }

  return {
    read(characters) {
      const until = at + characters;
      while (at < until) {
        if (textStart >= 0) {
          readText(until);
          continue;
        }
        const code = skipSpace();
        if (at >= text.length && next === Next.Rest && open === undefined) return true;
        if (at >= text.length) fail('');
        step(code);
      }
      return false;
    },
    get position() {
      return at;
    },
    get value() {
      return value;
    },
  };
}
