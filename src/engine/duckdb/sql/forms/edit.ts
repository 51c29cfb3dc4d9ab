import type { Token } from '../tokens.ts';

/** A part of SQL text, in UTF-16 units, and what stands there instead. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

export const wordOf = (token: Token | undefined) => (token?.kind === 'word' ? token.text.toLowerCase() : '');
export const isMark = (token: Token | undefined, text: string) => token?.kind === 'punctuation' && token.text === text;

/** What stands in the place of tokens: from the start of the first to the end of the last. */
export function replacing(first: Token | undefined, last: Token | undefined, text: string): Edit[] {
  return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end, text }];
}
