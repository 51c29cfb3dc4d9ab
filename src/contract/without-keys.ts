/** What looks like an API key of this service, wherever it stands. */
const KEY = /(?<![A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])/g;
const KEY_CHARS = 64;

/** The first characters, and how many are missing; keys in them are masked, also one that the cut would halve. */
export function cutWithoutKeys(text: string, charsMax: number): string {
  const head = text.slice(0, charsMax + KEY_CHARS).replace(KEY, (key) => `${key.slice(0, 4)}…`);
  return text.length <= charsMax ? head : `${head.slice(0, charsMax)}…[+${text.length - charsMax}]`;
}
