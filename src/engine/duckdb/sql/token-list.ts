import { type Token, tokens } from './tokens.ts';

/**
 * The tokens of SQL text, with what is asked about them again and again: it is found in one pass over all of them, since
 * calls stand in each other, and each would be searched for its end.
 */
export interface TokenList extends ReadonlyArray<Token> {
  /** Index of the token that closes the bracket at `open`; the number of tokens if none does; `open` if it is no bracket. */
  closeOf(open: number): number;
  /** Index of the token that opens the bracket closed at `close`; `close` if none does. */
  openOf(close: number): number;
  /** Indexes of the tokens that end a call's arguments: its commas, and the bracket that closes it. */
  endsOf(open: number): readonly number[];
  /** Whether the text uses the column name `unnest`, which the engine gives if nobody names the column. */
  namesUnnest: boolean;
}

function isUnnest(name: string): boolean {
  return (name.length === 6 || name.length === 8) && /^"?unnest"?$/i.test(name);
}

export function tokenList(sql: string): TokenList {
  const list = [...tokens(sql)];
  /** By index of the opening bracket. */
  const ends = new Map<number, number[]>();
  const opens = new Map<number, number>();
  const open: number[] = [];
  let namesUnnest = false;
  for (let index = 0; index < list.length; index++) {
    const { kind, text } = list[index] as Token;
    if (kind !== 'punctuation') {
      if (isUnnest(text) && list[index + 1]?.text !== '(') namesUnnest = true;
      continue;
    }
    if ('([{'.includes(text)) {
      open.push(index);
      ends.set(index, []);
    } else if (')]}'.includes(text)) {
      const opened = open.pop();
      if (opened === undefined) continue;
      ends.get(opened)?.push(index);
      opens.set(index, opened);
    } else if (text === ',') ends.get(open.at(-1) ?? -1)?.push(index);
  }
  for (const index of open) ends.get(index)?.push(list.length);
  const endsOf = (index: number) => ends.get(index) ?? [index];
  const closeOf = (index: number) => endsOf(index).at(-1) ?? index;
  return Object.assign(list, { namesUnnest, endsOf, closeOf, openOf: (index: number) => opens.get(index) ?? index });
}
