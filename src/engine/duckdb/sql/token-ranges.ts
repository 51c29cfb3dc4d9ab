import { isMark, wordOf } from './forms/edit.ts';
import type { TokenList } from './token-list.ts';
import type { Token } from './tokens.ts';

/** Tokens, from the index of the first to that behind the last. */
export type Range = [start: number, end: number];

/** Indexes of the tokens of a range that are in no bracket there. */
export function topLevel(list: TokenList, start: number, end: number): number[] {
  const found: number[] = [];
  for (let at = start; at < end; at = list.closeOf(at) + 1) found.push(at);
  return found;
}

/** The ranges between those that part them, in no bracket; nothing behind the last is none. */
function partsOf(list: TokenList, [start, end]: Range, parts: (token: Token | undefined) => boolean): Range[] {
  const found: Range[] = [];
  let from = start;
  for (const at of topLevel(list, start, end)) {
    if (!parts(list[at])) continue;
    found.push([from, at]);
    from = at + 1;
  }
  return from < end ? [...found, [from, end]] : found;
}

/** The items between the commas of a range. The engine allows a comma behind the last one. */
export function itemsIn(list: TokenList, start: number, end: number): Range[] {
  return partsOf(list, [start, end], (token) => isMark(token, ','));
}

/** The conditions that AND joins in a range; that of a BETWEEN joins none. */
export function conjunctsIn(list: TokenList, start: number, end: number): Range[] {
  let isBetween = false;
  return partsOf(list, [start, end], (token) => {
    const word = wordOf(token);
    if (word === 'between') isBetween = true;
    if (word !== 'and') return false;
    const joins = !isBetween;
    isBetween = false;
    return joins;
  });
}
