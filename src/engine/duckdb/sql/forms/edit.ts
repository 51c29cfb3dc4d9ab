import type { Token } from '../tokens.ts';

/** A part of SQL text, in UTF-16 units, and what stands there instead. */
export interface Edit {
  start: number;
  end: number;
  text: string;
  /** Belongs to what ends there: of several, that of the innermost comes first. */
  isEnd?: true;
}

/** What is put in after a token, or before one that ends a bracket. */
export const closing = (at: number, text: string): Edit => ({ start: at, end: at, text, isEnd: true });

/** In the order of the text: of those at the same place, ends come first, the last found of them; then what is put in. */
export function inOrder(edits: readonly Edit[]): Edit[] {
  return edits
    .map((edit, index) => ({ edit, index }))
    .sort((a, b) => {
      const [one, other] = [a.edit, b.edit];
      if (one.start !== other.start) return one.start - other.start;
      if (one.isEnd !== other.isEnd) return one.isEnd ? -1 : 1;
      if (one.isEnd) return b.index - a.index;
      return Number(one.end > one.start) - Number(other.end > other.start) || a.index - b.index;
    })
    .map(({ edit }) => edit);
}

export const wordOf = (token: Token | undefined) => (token?.kind === 'word' ? token.text.toLowerCase() : '');
export const isMark = (token: Token | undefined, text: string) => token?.kind === 'punctuation' && token.text === text;

/** What stands in the place of tokens: from the start of the first to the end of the last. */
export function replacing(first: Token | undefined, last: Token | undefined, text: string): Edit[] {
  return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end, text }];
}
