/** Limits of one answer; the first one that is reached cuts it. */
export interface Budget {
  rowsMax: number;
  bytesMax: number;
  tokensMax: number;
}

/** Estimated number of tokens of a text, rather too high: words count by length, digits and signs nearly one each. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const part of text.match(/[A-Za-z]+|[0-9]+|\s+|[^\sA-Za-z0-9]/g) ?? []) {
    if (/^[A-Za-z]/.test(part)) tokens += Math.ceil(part.length / 6);
    else if (/^[0-9]/.test(part)) tokens += Math.ceil(part.length / 3);
    else if (/^\s/.test(part)) tokens += part === ' ' ? 0 : 1;
    else tokens += part.charCodeAt(0) < 128 ? 0.6 : 1;
  }
  return Math.ceil(tokens);
}

/** The rest of a budget. */
export class Room {
  #bytes: number;
  #tokens: number;

  constructor(budget: Pick<Budget, 'bytesMax' | 'tokensMax'>) {
    this.#bytes = budget.bytesMax;
    this.#tokens = budget.tokensMax;
  }

  /** Uses up the room that `text` needs; returns false, without using any, if there is not enough. */
  take(text: string): boolean {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > this.#bytes) return false;
    const tokens = estimateTokens(text);
    if (tokens > this.#tokens) return false;
    this.#bytes -= bytes;
    this.#tokens -= tokens;
    return true;
  }
}

/** As many of the texts as fit, the first in any case, and how many are left out: `a, b, +3`. */
export function listWithin(texts: readonly string[], tokensMax: number): string {
  let tokens = 0;
  const shown: string[] = [];
  for (const text of texts) {
    tokens += estimateTokens(text) + 1;
    if (tokens > tokensMax && shown.length > 0) break;
    shown.push(text);
  }
  const left = texts.length - shown.length;
  return left === 0 ? shown.join(', ') : `${shown.join(', ')}, +${left}`;
}

export function cutText(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…[+${text.length - charsMax} characters]`;
}
