import { derivedId } from '../../engine/engine.ts';
import { isSpace } from '../loading/json-parts.ts';
import type { FileRows, SourceBatch, TextChange, TextRows } from './source.ts';

function nameOfRow({ object, first }: TextRows, place: number): string {
  return `${object}/${first + place}`;
}

/** How many rows of a file are stored. */
function rowsIn({ part: { first, last, refused } }: FileRows): number {
  return last - first + 1 - refused.length;
}

/** How many items a batch has, those that are refused included. */
export function itemsIn({ changes, rows = [], file, refused }: SourceBatch): number {
  const others = file === undefined ? changes.length : changes.length + rowsIn(file);
  return rows.reduce((sum, { ends }) => sum + ends.length, others + refused.length);
}

/** What names the last one that was not refused at the source. */
export function lastItemOf({ changes, rows = [], file }: SourceBatch): string | undefined {
  if (file !== undefined) return `${file.object}/${file.part.last}`;
  const last = rows.at(-1);
  return last === undefined ? changes.at(-1)?.item : nameOfRow(last, last.ends.length - 1);
}

export function changesOf(rows: TextRows): TextChange[] {
  const { bytes, ends, prefix, first, storedTo } = rows;
  let { line } = rows;
  let at = 0;
  return ends.map((end, place) => {
    // There may be empty lines before it.
    for (; isSpace(bytes[at]); at += 1) if (bytes[at] === LINE_FEED) line += 1;
    const text = bytes.subarray(at, end);
    at = end;
    const row = first + place;
    return { id: derivedId(prefix, row), text, item: nameOfRow(rows, place), line, isOrGone: row <= storedTo };
  });
}

const LINE_FEED = 0x0a;
const OPEN = 0x7b;

export interface FoundRows extends Pick<TextRows, 'ends' | 'line'> {
  bytes: Buffer;
  /** Where what follows begins, and its line. */
  next: { at: number; line: number };
}

/** Finds up to `max` rows from an offset on; undefined: one of them is no object, or has more than `bytesMax` bytes. */
export function findRows(
  whole: Buffer,
  behind: FoundRows['next'],
  max: number,
  bytesMax: number,
): FoundRows | undefined {
  const ends: number[] = [];
  const next = { ...behind };
  const skipSpaces = () => {
    for (; isSpace(whole[next.at]); next.at += 1) if (whole[next.at] === LINE_FEED) next.line += 1;
  };
  skipSpaces();
  const { at: from, line } = next;
  for (;;) {
    skipSpaces();
    if (next.at === whole.length || ends.length === max) break;
    const feed = whole.indexOf(LINE_FEED, next.at);
    const end = feed < 0 ? whole.length : feed;
    if (whole[next.at] !== OPEN || end - next.at > bytesMax) return undefined;
    ends.push(end - from);
    next.at = end;
  }
  return { bytes: whole.subarray(from, from + (ends.at(-1) ?? 0)), ends, line, next };
}
