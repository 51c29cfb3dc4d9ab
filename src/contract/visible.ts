/**
 * Text as it may be shown to a model or a human: nothing in it is invisible, and nothing of it is lost.
 *
 * What belongs to how a script or an emoji is written stays: a single joiner between letters that join, inside an emoji
 * sequence, one variation selector of an emoji. Everything else that cannot be seen or that controls how other text is
 * shown becomes an escape: `\u200b`, `\u{e0041}`; `\u{200b×5000}` for a run of the same; `\u{…+4968}` ends a long run of
 * different ones. To show a text twice changes nothing.
 */

// Control characters except tab and line feed; soft hyphen, fillers, zero-width and bidirectional controls, separators
// that break lines invisibly, variation selectors and the tag block.
const HIDDEN = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\p{Noncharacter_Code_Point}`;

/** Letters of these scripts join, and a joiner or a non-joiner between two of them is a part of spelling. */
const JOINING = [
  ...['Arabic', 'Syriac', 'Mongolian', 'Nko', 'Mandaic', 'Adlam', 'Hanifi_Rohingya', 'Sogdian', 'Phags_Pa'],
  ...['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala'],
  ...['Khmer', 'Myanmar', 'Tibetan', 'Balinese', 'Javanese', 'Tai_Tham'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('');
/** Behind a virama a joiner says how the consonant is drawn, also at the end of a word. */
const VIRAMA = String.raw`\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca`;

const PICTOGRAPH = String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?`;
const tags = (region: string) => String.raw`\u{1f3f4}${[...region].map(tag).join('')}\u{e007f}`;
const tag = (letter: string) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`;
/** The three flags that are written with tags: of England, Scotland and Wales. */
const FLAGS = ['gbeng', 'gbsct', 'gbwls'].map(tags).join('|');

const KEPT = [
  FLAGS,
  String.raw`${PICTOGRAPH}(?:\u200d${PICTOGRAPH})*`,
  String.raw`[#*0-9]\ufe0f\u20e3`,
  String.raw`\r(?=\n)`,
  String.raw`(?<=[${JOINING}]\p{M}{0,4})[\u200c\u200d](?=[${JOINING}])`,
  String.raw`(?<=[${VIRAMA}])[\u200c\u200d](?![${HIDDEN}])`,
].join('|');

/** Every text is asked this, so it is one class of characters; emoji are looked at again only where there is a selector. */
const SUSPECT = new RegExp(String.raw`[${HIDDEN}\p{Surrogate}]`, 'u');
const SHOWN = new RegExp(String.raw`(?:${KEPT})|([${HIDDEN}]+)|\p{Surrogate}`, 'gu');
/** Nothing that could make two texts look the same, but for line breaks between the lines of a question. */
const DISTINCT = new RegExp(String.raw`[${HIDDEN}]+|[^\P{C}\n\t]+|[^\P{Z} ]+`, 'gu');
const JSON_HIDDEN = new RegExp(`[${HIDDEN}]`, 'gu');

/** Different hidden characters of one run that are shown one by one. */
const RUN_SHOWN_MAX = 32;
/** As many of the same are written out; more are counted. */
const SAME_SHOWN_MAX = 3;

/** `text` with what is invisible as escapes; half of a character becomes U+FFFD. */
export function visibleText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(SHOWN, (found, hidden: string | undefined) => {
    if (hidden !== undefined) return escapes(hidden);
    return isHalf(found) ? '\ufffd' : found;
  });
}

/**
 * `text` for a human who is to tell a thing from others: joiners and selectors too are escapes, and what this server
 * does not know to be visible, and other spaces than the plain one.
 */
export function distinctText(text: string): string {
  return text.replace(DISTINCT, escapes);
}

/** JSON text with what is invisible as JSON's own escapes: the same values, and the same file to a program. */
export function visibleJson(text: string): string {
  return text.replace(JSON_HIDDEN, (found) => (/[\r\n\t]/.test(found) ? found : [...units(found)].join('')));
}

function* units(text: string): Generator<string> {
  for (let at = 0; at < text.length; at++) yield `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

function isHalf(text: string): boolean {
  return text.length === 1 && /[\ud800-\udfff]/.test(text);
}

/** A run of hidden characters, in a length that does not grow with it. */
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

/** The first escape that `text` holds as such texts are shown; undefined where it is no text that is only shown so. */
export function shownEscape(text: string): string | undefined {
  for (const [found, long, short] of text.matchAll(ESCAPE)) {
    const code = Number.parseInt(long ?? short ?? '200b', 16);
    if (code <= 0x10ffff && distinctText(String.fromCodePoint(code)) !== String.fromCodePoint(code)) return found;
  }
  return undefined;
}
