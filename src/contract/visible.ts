/**
 * Text as it may be shown to a model or a human: nothing in it is invisible, and nothing is lost.
 *
 * What the spelling of a script or an emoji needs is kept: a single joiner between letters that join, or within an
 * emoji sequence, and one variation selector of an emoji. Everything else that is invisible or controls how other text
 * is displayed becomes an escape: `\u200b`, `\u{e0041}`; `\u{200b×5000}` for a run of the same character; `\u{…+4968}`
 * for the rest of a long run of different ones. Showing a text twice changes nothing.
 */

// Control characters except tab and line feed; soft hyphen, fillers, zero-width and bidirectional controls, separators
// that break lines invisibly, variation selectors and the tag block.
const HIDDEN = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\p{Noncharacter_Code_Point}`;

/** In these scripts letters join, and a joiner or non-joiner between two of them is a part of the spelling. */
const JOINING_SCRIPTS = [
  ...['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Mandaic', 'Adlam', 'Hanifi_Rohingya', 'Sogdian', 'Phags_Pa'],
  ...['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'],
  ...['Khmer', 'Myanmar', 'Tibetan', 'Balinese', 'Javanese', 'Tai_Tham'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('');
const JOINING = new RegExp(`^[${JOINING_SCRIPTS}]`, 'u');
/** After a virama a joiner decides how the consonant is drawn, also at the end of a word. */
const VIRAMA = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]$/;
const JOINER = /^[\u200c\u200d]$/;

const PICTOGRAPH = String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?`;
const tags = (region: string) => String.raw`\u{1f3f4}${[...region].map(tag).join('')}\u{e007f}`;
const tag = (letter: string) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`;
/** The three flags that are written with tags: England, Scotland and Wales. */
const FLAGS = ['gbeng', 'gbsct', 'gbwls'].map(tags).join('|');

const KEPT = [FLAGS, String.raw`${PICTOGRAPH}(?:\u200d${PICTOGRAPH})*`, String.raw`[#*0-9]\ufe0f\u20e3`].join('|');

/** Tested on every text, so it is a single character class; only texts that match are examined closer. */
const SUSPECT = new RegExp(String.raw`[${HIDDEN}\p{Surrogate}]`, 'u');
const SHOWN = new RegExp(String.raw`(?:${KEPT})|([${HIDDEN}]+)|\p{Surrogate}`, 'gu');
/** Everything that could make two texts look the same, except line breaks and tabs. */
const DISTINCT = new RegExp(String.raw`[${HIDDEN}]+|[^\P{C}\n\t]+|[^\P{Z} ]+`, 'gu');
const JSON_HIDDEN = new RegExp(`[${HIDDEN}]`, 'gu');

/** How many different hidden characters of a run are shown one by one. */
const RUN_SHOWN_MAX = 32;
/** How many equal ones are repeated; more are counted. */
const SAME_SHOWN_MAX = 3;

/** `text` with invisible characters as escapes; a lone surrogate becomes U+FFFD. */
export function visibleText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(SHOWN, (found, hidden: string | undefined, at: number) => {
    if (hidden !== undefined) return isSpelling(text, at, hidden) ? hidden : escapes(hidden);
    return isHalf(found) ? '\ufffd' : found;
  });
}

/** Marks on a letter between which and the next letter a joiner stands. */
const MARKS_MAX = 4;

/** Whether hidden characters belong to the spelling of a word, or to the end of a line. */
function isSpelling(text: string, at: number, hidden: string): boolean {
  const end = at + hidden.length;
  if (hidden === '\r') return text[end] === '\n';
  if (!JOINER.test(hidden)) return false;
  // The longest letter and mark have two units.
  const before = [...text.slice(Math.max(0, at - 2 * (MARKS_MAX + 1)), at)].slice(-MARKS_MAX - 1);
  if (VIRAMA.test(before.at(-1) ?? '')) return true;
  if (!JOINING.test(text.slice(end, end + 2))) return false;
  // The marks of these scripts are of the script, too.
  const letter = before.findLastIndex((character) => JOINING.test(character) && /\p{L}/u.test(character));
  // One that is hidden will be an escape, and then stands between.
  const isMark = (character: string) => /\p{M}/u.test(character) && !SUSPECT.test(character);
  return letter !== -1 && before.slice(letter + 1).every(isMark);
}

/**
 * `text` for a human who has to tell one thing from another: also escapes joiners and selectors, characters that this
 * server does not know to be visible, and all spaces except the ordinary one.
 */
export function distinctText(text: string): string {
  return text.replace(DISTINCT, escapes);
}

/** JSON text with invisible characters as JSON's own escapes, so that its values remain the same for a program. */
export function visibleJson(text: string): string {
  return text.replace(JSON_HIDDEN, (found) => (/[\r\n\t]/.test(found) ? found : [...units(found)].join('')));
}

function* units(text: string): Generator<string> {
  for (let at = 0; at < text.length; at++) yield `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

function isHalf(text: string): boolean {
  return text.length === 1 && /[\ud800-\udfff]/.test(text);
}

/** The escapes of a run of hidden characters, limited in length. */
function escapes(run: string): string {
  let shown = '';
  let count = 0;
  const points = [...run];
  for (let at = 0; at < points.length; count++) {
    const point = points[at] ?? '';
    if (count === RUN_SHOWN_MAX) return `${shown}\\u{…+${points.length - at}}`;
    let end = at + 1;
    while (points[end] === point) end++;
    const code = (point.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    const times = end - at;
    if (times > SAME_SHOWN_MAX) shown += `\\u{${code}×${times}}`;
    else shown += (code.length > 4 ? `\\u{${code}}` : `\\u${code}`).repeat(times);
    at = end;
  }
  return shown;
}

const ESCAPE = /\\u(?:\{(?:([0-9a-f]{4,6})(?:×\d+)?|…\+\d+)\}|([0-9a-f]{4}))/gi;

/** The first escape in `text` of the kind that `distinctText` makes; undefined if there is none. */
export function shownEscape(text: string): string | undefined {
  for (const [found, long, short] of text.matchAll(ESCAPE)) {
    const code = Number.parseInt(long ?? short ?? '200b', 16);
    if (code <= 0x10ffff && distinctText(String.fromCodePoint(code)) !== String.fromCodePoint(code)) return found;
  }
  return undefined;
}
