/*
 * Plain work on text, without a pattern: one pass each, however long the text is. What a text from outside has to be
 * searched for more than that is scanned or parsed; every pattern in use is proven linear by `test/structure`.
 */

const NUMERAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** A double needs 17 digits and an integer of 128 bits 39; a fraction may be written out a little further. */
export const NUMERAL_CHARS_MAX = 1_000;

/** Whether a text is a decimal number, as CSV, SQL and JSON write it, a sign included, and of a sane length. */
export function isNumeral(text: string): boolean {
  return text.length <= NUMERAL_CHARS_MAX && NUMERAL.test(text);
}

/** The text without spaces of any kind and these characters at its end. */
export function withoutTrailing(text: string, marks: string): string {
  let end = text.length;
  for (; end > 0; end--) {
    const character = text[end - 1] ?? '';
    if (!marks.includes(character) && character.trim() !== '') break;
  }
  return text.slice(0, end);
}

/** What stands after `before`, with which the text has to begin, up to the next `after`; undefined without either. */
export function between(text: string, before: string, after: string): string | undefined {
  if (!text.startsWith(before)) return undefined;
  const end = text.indexOf(after, before.length);
  return end === -1 ? undefined : text.slice(before.length, end);
}

/** The start of a longer text, with a mark that it goes on. */
export function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}

/** A sentence with its full stop, unless it asks. */
export function ended(sentence: string): string {
  return sentence.endsWith('?') ? sentence : `${sentence}.`;
}

/** A text as a sentence, whether or not it ends like one. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** A row's title for use after "Cannot": `Add documents` becomes `add documents`. */
export function lowerFirst(title: string): string {
  return title.charAt(0).toLowerCase() + title.slice(1);
}

const ASCII = /^[\x20-\x7e]*$/;

/** Compares texts by their bytes in UTF-8, as the engine and stores of objects do. */
export function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  if (!ASCII.test(a) || !ASCII.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}

/** A text in quotes of a kind, of which each within it is written twice, as in SQL and in CSV. */
export function inQuotes(text: string, quote: '"' | "'"): string {
  return quote + text.replaceAll(quote, quote + quote) + quote;
}

/** A name within others, as SQL: `"ws"."name"`. */
export const quotedPath = (...names: readonly string[]): string => names.map((name) => inQuotes(name, '"')).join('.');

/** What an error says, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
