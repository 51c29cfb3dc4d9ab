import { type Token, tokens } from '../sql/tokens.ts';

/** The tokens of a statement's text, found by the byte offsets that the engine's parser gives. */
export interface TextIndex {
  tokens: readonly Token[];
  /** Index of the token that starts at this byte; undefined if none does. */
  indexAt(offset: number): number | undefined;
  startOf(token: Token): number;
  endOf(token: Token): number;
}

/** Reads the text on first use. */
export function createTextIndex(text: string): TextIndex {
  let list: Token[] | undefined;
  const starts = new Map<number, number>();
  /** Byte offsets of the tokens' starts, by their positions in the text. */
  const offsets = new Map<number, number>();
  const read = (): Token[] => {
    if (list !== undefined) return list;
    list = [...tokens(text)];
    let [at, bytes] = [0, 0];
    for (const [index, { start }] of list.entries()) {
      bytes += Buffer.byteLength(text.slice(at, start));
      at = start;
      starts.set(bytes, index);
      offsets.set(start, bytes);
    }
    return list;
  };
  const startOf = ({ start }: Token) => offsets.get(start) ?? 0;
  return {
    get tokens() {
      return read();
    },
    indexAt(offset) {
      read();
      return starts.get(offset);
    },
    startOf,
    endOf: (token) => startOf(token) + Buffer.byteLength(token.text),
  };
}

/**
 * Index of the token that ends an expression which begins at `from`: a bracket that closes, a comma, or one of these
 * words.
 */
export function endOfExpression(list: readonly Token[], from: number, words: ReadonlySet<string>): number | undefined {
  let depth = 0;
  for (let index = from; index < list.length; index++) {
    const { kind, text } = list[index] ?? { kind: 'punctuation', text: ';' };
    const isMark = kind === 'punctuation';
    if (depth === 0 && (isMark ? ')]},'.includes(text) : kind === 'word' && words.has(text.toLowerCase())))
      return index;
    if (isMark && '([{'.includes(text)) depth += 1;
    else if (isMark && ')]}'.includes(text)) depth -= 1;
  }
  return undefined;
}
