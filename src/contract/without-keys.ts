/** What looks like an API key of this service, wherever it stands. */
const KEY = /(?<![A-Za-z0-9])[A-Za-z0-9]{64}(?![A-Za-z0-9])/g;
const KEY_CHARS = 64;

/**
 * The first characters of a text, and how many are missing. Keys are masked, and one that the cut would halve is
 * masked whole. It costs as much as what is shown, however long the text is.
 */
export function cutWithoutKeys(text: string, charsMax: number): string {
  let shown = '';
  let end = 0;
  // Counted in the text as it is: masks shorten it, and a cut of what is masked would let in what was not looked at.
  for (const { 0: key, index } of text.slice(0, charsMax + KEY_CHARS).matchAll(KEY)) {
    if (index >= charsMax) break;
    shown += `${text.slice(end, index)}${key.slice(0, 4)}…`;
    end = index + KEY_CHARS;
  }
  const stop = Math.max(end, Math.min(charsMax, text.length));
  shown += text.slice(end, stop);
  return stop < text.length ? `${shown}…[+${text.length - stop}]` : shown;
}
