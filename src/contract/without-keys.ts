/** Anything that looks like an API key of this service. */
const KEY = /(?<![A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])/g;
const KEY_CHARS = 64;

/**
 * The first characters of a text, and the number of missing ones. Keys are masked, including one that the cut would
 * split. The cost depends on what is shown, not on the length of the text.
 */
export function cutWithoutKeys(text: string, charsMax: number): string {
  let shown = '';
  let end = 0;
  // Cut by positions in the original text: masks are shorter, so a cut of masked text would include unexamined text.
  for (const { 0: key, index } of text.slice(0, charsMax + KEY_CHARS).matchAll(KEY)) {
    if (index >= charsMax) break;
    shown += `${text.slice(end, index)}${key.slice(0, 4)}…`;
    end = index + KEY_CHARS;
  }
  const stop = Math.max(end, Math.min(charsMax, text.length));
  shown += text.slice(end, stop);
  return stop < text.length ? `${shown}…[+${text.length - stop}]` : shown;
}
