import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** Tokens of o200k; what looks like a token with a special meaning is text. */
export function tokensOf(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}
