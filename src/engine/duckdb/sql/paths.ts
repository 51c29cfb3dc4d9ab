import { ITEM } from './names.ts';
import type { TokenList } from './token-list.ts';
import type { Token } from './tokens.ts';

/** Paths to fields in the text of SQL. */

/** The name that a token is; undefined: it is none. */
export function nameOfToken(token: Token | undefined): string | undefined {
  if (token?.kind === 'word') return token.text;
  return token?.kind === 'quoted' ? token.text.slice(1, -1).replaceAll('""', '"') : undefined;
}

/**
 * The steps of the path that ends before the token at an index, a dot, a bracket or the end: `ITEM` for an index. Empty if
 * no name stands there.
 */
export function pathBefore(list: TokenList, end: number): string[] {
  const first = pathStart(list, end);
  const steps: string[] = [];
  for (let at = first; at < end; at++) {
    const token = list[at];
    if (token?.text === '[') {
      const inside = list[at + 1];
      steps.push(inside?.kind === 'string' ? inside.text.slice(1, -1) : ITEM);
      at = list.closeOf(at);
    } else if (token?.text !== '.') steps.push(nameOfToken(token) ?? '');
  }
  return steps;
}

/** Index of the first token of the path that ends before an index; the index itself if there is none. */
export function pathStart(list: TokenList, end: number): number {
  let start = end;
  for (;;) {
    const last = start - 1;
    const open = list[last]?.text === ']' ? list.openOf(last) : last;
    if (open < last) {
      start = open;
      continue;
    }
    if (nameOfToken(list[last]) === undefined) return list[start]?.text === '[' ? end : start;
    start = last;
    if (list[start - 1]?.text !== '.') return start;
    start -= 1;
  }
}
