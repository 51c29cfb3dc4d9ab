import { counted } from '../../contract/in-words.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { isSpace, type JsonPart, linesIn } from './json-parts.ts';

/** NaN and infinities in files of JSON: Python and others write them, and JSON has no such numbers. */

const [LF, QUOTE, MINUS, BACKSLASH] = [0x0a, 0x22, 0x2d, 0x5c];
const [N, I] = [0x4e, 0x49];
const NULL = Buffer.from('null');
const WORDS = [Buffer.from('NaN'), Buffer.from('Infinity')] as const;
/** Bytes that stand before and after a value. */
const BEFORE: ReadonlySet<number | undefined> = new Set(Buffer.from(':,['));
const BEHIND: ReadonlySet<number | undefined> = new Set(Buffer.from(',]}'));
/** How many bytes are looked at before others get their turn. */
const STEP_BYTES = 64 * 1024;

/** How many values were NaN or infinite, and the line of the first. */
export interface NotNumbers {
  count: number;
  line: number;
}

/** What is told of them. */
export function notNumbersWarnings({ count, line }: NotNumbers): string[] {
  if (count === 0) return [];
  const [are, they] = count === 1 ? ['is', 'it is'] : ['are', 'they are'];
  const first = line.toLocaleString('en-US');
  return [
    `${counted(count, 'values')} ${are} NaN or infinite, which JSON has not: ${they} null (first in line ${first}).`,
  ];
}

/** A part with null for each NaN and infinity that is a value; undefined: it has none. One pass over its bytes. */
export async function withoutNotNumbers(part: JsonPart): Promise<({ part: JsonPart } & NotNumbers) | undefined> {
  const { bytes } = part;
  if (WORDS.every((word) => bytes.indexOf(word) < 0)) return undefined;
  // Of "NaN," one byte more is written for four.
  const written = Buffer.allocUnsafe(bytes.length + (bytes.length >> 2) + NULL.length);
  let [to, copied, count, line] = [0, 0, 0, 0];
  let isText = false;
  const pace = createPace();
  for (let at = 0, end = 0; at < bytes.length; ) {
    if (at >= end) {
      end = at + STEP_BYTES;
      const turn = pace();
      if (turn !== undefined) await turn;
    }
    const byte = bytes[at];
    // No text goes on in the next line, so that one that is never closed hides no more than its line.
    if (byte === LF) isText = false;
    else if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at += 1;
    else if (!isText && (byte === N || byte === I)) {
      const [start, behind] = placeOf(bytes, at);
      if (behind > at) {
        if (count === 0) line = part.line + linesIn(bytes, 0, start);
        count += 1;
        to += bytes.copy(written, to, copied, start);
        to += NULL.copy(written, to);
        copied = behind;
        at = behind;
        continue;
      }
    }
    at += 1;
  }
  if (count === 0) return undefined;
  to += bytes.copy(written, to, copied);
  return { part: { ...part, bytes: written.subarray(0, to) }, count, line };
}

/** Where a value begins and ends whose first letter is there; the end is 0 if it is another word. */
function placeOf(bytes: Buffer, at: number): [start: number, end: number] {
  const word = WORDS[bytes[at] === N ? 0 : 1];
  const end = at + word.length;
  const start = bytes[at] === I && bytes[at - 1] === MINUS ? at - 1 : at;
  const [before, behind] = [bytes[start - 1], bytes[end]];
  const isValue =
    (BEFORE.has(before) || isSpace(before)) && (end >= bytes.length || BEHIND.has(behind) || isSpace(behind));
  return [start, isValue && bytes.subarray(at, end).equals(word) ? end : 0];
}
